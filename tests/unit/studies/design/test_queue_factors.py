"""Changes of queues: quotas, limits, rules, one queue or all."""

from __future__ import annotations

from typing import Any

import pytest

from dlsched.domain.errors import InputError
from dlsched.domain.queue_tree import QueueTree
from dlsched.domain.scenario import Scenario
from dlsched.studies.design.factors import changed, factor_of, factors_for, options_of, without_neutral
from dlsched.studies.sweep.presets import low_and_high, range_of
from dlsched.studies.sweep.run import read_axis
from dlsched.wording.formats import capital
from dlsched.wording.settings import is_plural, setting_words, value_words
from tests.support.runs_for_store import small_scenario

TREE = QueueTree.model_validate(
    {
        "cohorts": {
            "research": {"parent": "company", "quota": [{"flavor": "A100", "nominal": 4}]},
            "sales": {"parent": "company"},
        },
        "tree": {
            "vision": {
                "parent": "research",
                "quota": [{"flavor": "A100", "nominal": 32, "borrow": 16}, {"flavor": "H100", "nominal": 8}],
            },
            "nlp.chat": {
                "parent": "research", "reclaim": "any",
                "quota": [{"flavor": "A100", "nominal": 8}, {"flavor": "A100", "resource": "cpus", "nominal": 64}],
            },
            "tests": {"parent": "sales"},
        },
    }
)  # fmt: skip


def scenario() -> Scenario:
    return small_scenario().replace(queues=TREE)


def tree_with(**changes: Any) -> QueueTree:
    after = changed(scenario(), {key.replace("__", "."): value for key, value in changes.items()}).queues
    assert after is not None
    return after


def nominal(tree: QueueTree, queue: str, place: int = 0) -> float:
    return tree.tree[queue].quota[place].nominal


@pytest.mark.parametrize(("value", "expected"), [("+16", 48), ("-8", 24), (-8, 24), ("40", 40), (40, 40), ("+0", 32)])
def test_a_sign_changes_a_quota_and_a_plain_number_sets_it(value: str | float, expected: float) -> None:
    after = tree_with(quota__vision=value)
    assert nominal(after, "vision") == expected
    assert nominal(after, "vision", 1) == 8
    assert after.tree["nlp.chat"] == TREE.tree["nlp.chat"]


def test_flavors_and_resources_are_named_after_the_queue_and_points_in_names_do_no_harm() -> None:
    assert nominal(tree_with(quota__vision__H100="+4"), "vision", 1) == 12
    chat = changed(scenario(), {"quota.nlp.chat.A100.cpus": "+16"}).queues
    assert chat is not None
    assert [quota.nominal for quota in chat.tree["nlp.chat"].quota] == [8, 80]
    new = changed(scenario(), {"quota.nlp.chat.H100": 4}).queues
    assert new is not None
    assert new.tree["nlp.chat"].quota[-1].model_dump(include={"flavor", "resource", "nominal"}) == {
        "flavor": "H100", "resource": "gpus", "nominal": 4,
    }  # fmt: skip
    assert tree_with(quota__research="+4").cohorts["research"].quota[0].nominal == 8


def test_limits_of_borrowing_and_lending() -> None:
    assert [quota.borrow for quota in tree_with(borrow__vision=0).tree["vision"].quota] == [0, 0]
    assert [quota.borrow for quota in tree_with(borrow__vision__A100="none").tree["vision"].quota] == [None, None]
    assert [quota.borrow for quota in tree_with(borrow__vision__A100="+4").tree["vision"].quota] == [20, None]
    assert [quota.lend for quota in tree_with(lend__vision=4).tree["vision"].quota] == [4, 4]
    off = tree_with(borrowing="off")
    assert {q.borrow for node in (*off.tree.values(), *off.cohorts.values()) for q in node.quota} == {0}
    assert tree_with(borrowing="allowed") == TREE


def test_rules_of_one_queue_and_of_all() -> None:
    lower = changed(scenario(), {"reclaim.*": "lower"}).queues
    assert lower is not None
    assert {queue.reclaim for queue in lower.tree.values()} == {"lower"}
    assert [queue.within for queue in tree_with(within__vision="lower").tree.values()] == ["lower", "never", "never"]
    assert tree_with(strategy__tests="strict").tree["tests"].strategy == "strict"
    assert tree_with(fair_sharing="on").fair_sharing
    assert tree_with(weight__vision=2).tree["vision"].weight == 2


def test_cohorts_can_be_merged() -> None:
    after = tree_with(parent__tests="research")
    assert after.tree["tests"].parent == "research"
    assert tree_with(parent__sales="none").cohorts["sales"].parent is None
    with pytest.raises(InputError, match="form a circle"):
        tree_with(parent__company="research")


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("quota.visoin", 4, r"there is no queue or cohort 'visoin'. Try 'vision'"),
        ("quota.vision.A10", 4, r"there is no flavor 'A10'. Try 'A100'"),
        ("quota.vision", "-64", r"change quota.vision: must be at least 0 and at most 1e\+12, got -32"),
        ("quota.vision", "many", r"must be a number, got 'many'"),
        ("quota.vision", float("nan"), r"must be at least 0"),
        ("quota.tests", 4, r"tests has no quota of GPUs; which flavor is not stated. Write quota.tests.FLAVOR"),
        ("borrow.tests", 4, r"tests has no such quota"),
        ("borrow.vision.H100", "+4", r"has no number that \+4 can be added to"),
        ("borrow.vision", "all", r"must be a number or none, got 'all'"),
        ("reclaim.*", "always", r"must be one of never, lower, any, got 'always'"),
        ("reclaim.research", "any", r"there is no queue 'research'"),
        ("borrowing", "on", r"must be one of allowed, off"),
        ("parent.vision", "nobodys", r"must be one of none, "),
        ("weight.vision.A100", 1, r"there is no queue or cohort 'vision.A100'"),
    ],
)
def test_mistakes_name_the_change_and_the_way_out(key: str, value: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        changed(scenario(), {key: value})


def test_without_queues_it_is_said_where_they_come_from() -> None:
    with pytest.raises(InputError, match=r"no queues with quotas. Add them on the page Cluster"):
        changed(small_scenario(), {"quota.vision": 4})
    assert not any("queue" in factor.label.lower() for factor in factors_for(small_scenario()))


def test_all_that_is_offered_is_an_option_with_the_own_value_of_the_scenario() -> None:
    base = scenario()
    offered = [factor for factor in factors_for(base) if factor not in factors_for(small_scenario())]
    keys = {factor.key for factor in offered}
    assert {"quota.vision.A100", "quota.nlp.chat", "quota.research", "parent.tests", "reclaim.*"} < keys
    assert not {"quota.tests", "borrow.tests", "quota.sales"} & keys
    for factor in offered:
        own = factor.own(base)
        assert factor.help
        if own is not None and factor.key.split(".")[0] in ("quota", "borrow", "lend", "weight", "parent", "reclaim"):
            if factor.key not in ("reclaim.*", "borrow.vision"):  # these differ from queue to queue, or flavor
                assert without_neutral(base, {factor.key: own}) == {}
            assert set(options_of(base, {factor.key: low_and_high(base, factor)[0]})) == {factor.key}


def test_words_of_changes() -> None:
    after = changed(scenario(), {"quota.vision": "+16", "reclaim.*": "lower", "borrowing": "off", "borrow.vision": 0})
    words = [one.text for one in after.assumptions if one.kind == "varied"]
    assert words == [
        "a quota of 48 GPUs for vision on A100", "reclaim from jobs of lower priority", "no borrowing",
        "a borrowing limit of 0 GPUs for vision",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("key", "value", "now", "words"),
    [
        ("reclaim.*", "never", "differs by queue", "no reclaim"),
        ("reclaim.nlp.chat", "lower", "from any job", "reclaim by nlp.chat from jobs of lower priority"),
        ("within.*", "lower", "never", "preemption of jobs of lower priority within each queue"),
        ("within.vision", "lower-or-newer-equal", "never",
         "preemption of jobs of lower priority, or equal and newer within vision"),
        ("strategy.*", "strict", "best effort, others may pass", "strict order in all queues"),
        ("strategy.vision", "best-effort", "best effort, others may pass", "best-effort order in vision"),
        ("fair_sharing", "on", "off", "fair sharing"),
        ("borrowing", "allowed", "allowed", "borrowing allowed"),
        ("parent.tests", "research", "sales", "tests in the cohort research"),
        ("parent.tests", "none", "sales", "tests in no cohort"),
        ("borrow.vision", "none", "differs by flavor", "no borrowing limit for vision"),
        ("lend.vision", 4, "no limit", "a lending limit of 4 GPUs for vision"),
        ("weight.vision", 2, "1", "a weight of 2 for vision"),
        ("quota.research", 8, "4 GPUs", "a quota of 8 GPUs for research on A100"),
    ],
)  # fmt: skip
def test_words_of_each_change_and_of_what_is_so_today(key: str, value: Any, now: str, words: str) -> None:
    factor = factor_of(scenario(), key)
    assert value_words(key, factor.unit, factor.own(scenario())) == now
    assert setting_words(key, factor.label, factor.unit, factor.read(value)) == words
    assert not is_plural(capital(words))


def test_all_typed_values_of_a_rule_are_in_its_help() -> None:
    for family in ("reclaim", "within", "strategy"):
        factor = factor_of(scenario(), f"{family}.*")
        assert all(f"{choice} = " in factor.help or choice == "never" for choice in factor.choices)


def test_borrowing_that_is_off_can_be_allowed() -> None:
    off = changed(scenario(), {"borrowing": "off"})
    on = changed(off, {"borrowing": "allowed"}).queues
    assert on is not None
    assert {q.borrow for node in (*on.tree.values(), *on.cohorts.values()) for q in node.quota} == {None}


def test_quotas_are_axes_of_sweeps() -> None:
    base = scenario()
    assert read_axis(base, "quota.vision", "+4,+8,64") == [36, 40, 64]
    assert read_axis(base, "quota.vision", "0:32:3") == [0, 16, 32]
    assert range_of(base, factor_of(base, "quota.vision"))[0] == pytest.approx(25.6)
    assert low_and_high(base, factor_of(base, "reclaim.nlp.chat")) == ("never", "lower")
