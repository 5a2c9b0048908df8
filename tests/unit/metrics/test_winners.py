"""Winners and losers: by hand, what must hold for any two runs, and whether 95% intervals cover 95 of 100 times."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.domain.workload import Floats
from dlsched.metrics.job_classes import Grouping
from dlsched.metrics.winners import QUANTITIES, Group, Tables, Winners, winners
from tests.support.known import known

NAN = math.nan
OPPOSITE = {"better": "worse", "worse": "better"}


def table(users: str, wait_s: Sequence[float] | Floats, **columns: Any) -> pd.DataFrame:
    """One job a letter of ``users``."""
    ids = [str(place) for place in range(len(users))]
    return pd.DataFrame({"job_id": ids, "user": list(users), "wait_s": np.array(wait_s, dtype=float), **columns})


def group(answer: Winners, name: str) -> Group:
    return next(one for one in answer.groups if one.name == name)


# ---- by hand -----------------------------------------------------------------------------------------


def test_one_exact_draw_by_hand() -> None:
    before = table("aaaaabbbbb", [1000, 2000, 3000, 4000, 5000, 100, 100, 100, 100, NAN])
    after = table("aaaaabbbbb", [0, 1000, 2500, 4000, NAN, 800, 100, 900, 100, 7])
    answer = winners([(before, after)], "user", exact=True)
    ann, bob = group(answer, "a"), group(answer, "b")
    # a: changes -1000, -1000, -500, 0; two of four beyond 600 s
    assert (ann.jobs, ann.compared, ann.only_baseline, ann.only_other, ann.neither) == (5, 4, 1, 0, 0)
    assert (ann.baseline, ann.other, ann.change, ann.half_width) == (2500, 1875, -625, 0)
    assert (ann.better_share, ann.worse_share, ann.verdict) == (0.5, 0, "better")
    assert list(known(ann.quartiles)) == [-1000, -750, -375]
    # b: changes 700, 0, 800, 0; its last job started only under the other run
    assert (bob.change, bob.worse_share, bob.verdict) == (375, 0.5, "worse")
    assert (bob.only_baseline, bob.only_other) == (0, 1)
    # all: (4 * -625 + 4 * 375) / 8
    assert (answer.total.change, answer.total.compared) == (-125, 8)


def test_one_draw_of_something_random_is_rough() -> None:
    answer = winners([(table("aaaaa", [9] * 5), table("aaaaa", [1] * 5))], "user")
    assert (answer.groups[0].half_width, answer.groups[0].verdict) == (None, "rough")


def test_several_draws_give_the_t_interval_of_the_ratio_over_draws() -> None:
    """Changes -10 and -20 in two draws of five jobs: -15 +- 12.706 * 5."""
    base = table("aaaaa", [100] * 5)
    answer = winners([(base, base.assign(wait_s=90.0)), (base, base.assign(wait_s=80.0))], "user")
    found = answer.groups[0]
    assert found.change == -15
    assert found.half_width == pytest.approx(12.7062 * 5, rel=1e-5)
    assert (found.draws, found.verdict) == (2, "not clear")


def test_a_group_seen_in_one_of_two_draws_has_no_interval() -> None:
    first = (table("aaaaabbbbbbbbbbb", [5.0] * 16), table("aaaaabbbbbbbbbbb", [9.0] * 16))
    second = (table("aaaaaaaaaaaaaaaa", [5.0] * 16), table("aaaaaaaaaaaaaaaa", [9.0] * 16))
    answer = winners([first, second], "user")
    assert (group(answer, "a").half_width, group(answer, "a").draws) == (0, 2)
    assert (group(answer, "b").half_width, group(answer, "b").verdict) == (None, "rough")


def test_small_groups_are_folded_and_named() -> None:
    before = table("aaaaabbccd", [100] * 10)
    answer = winners([(before, before.assign(wait_s=40.0)), (before, before.assign(wait_s=120.0))], "user")
    assert [one.name for one in answer.groups] == ["a", "3 small groups"]
    assert answer.folded == ("b", "c", "d")
    assert [(one.folded, one.jobs, one.change) for one in answer.groups] == [(0, 5, -20), (3, 5, -20)]
    alone = winners([(table("aaaaab", [1] * 6), table("aaaaab", [1] * 6))], "user")
    assert [one.name for one in alone.groups] == ["a", "b"]  # one small group would be folded with nobody


def test_jobs_are_matched_by_id_and_those_of_one_run_only_are_counted() -> None:
    before = table("aaaaab", [10, 20, 30, 40, 50, 60])
    after = before.assign(wait_s=[11.0, 22, 33, 44, 55, 66]).iloc[[5, 4, 3, 2, 1]]
    more = pd.concat([after, pd.DataFrame({"job_id": ["x"], "user": ["b"], "wait_s": [1.0]})])
    answer = winners([(before, more)], "user")
    assert group(answer, "a").change == 3.5  # 2, 3, 4, 5
    assert (group(answer, "a").only_baseline, group(answer, "b").only_other) == (1, 1)
    assert (group(answer, "b").jobs, group(answer, "b").change) == (2, 6)


def test_more_is_better_of_utility_and_nobody_compared_is_missing() -> None:
    before = table("aaaaabbbbb", [0] * 10, utility=[1.0] * 5 + [NAN] * 5)
    after = before.assign(utility=[4.0] * 10)
    answer = winners([(before, after)], "user", "utility", exact=True)
    assert (group(answer, "a").verdict, group(answer, "a").better_share) == ("better", 1)
    nobody = group(answer, "b")
    assert (nobody.change, nobody.verdict, nobody.only_other, nobody.interval) == (None, "missing", 5, None)


def test_a_job_without_a_name_has_a_group_of_its_own() -> None:
    before = table("aaaaabbbbb", [1] * 10, group=["x"] * 5 + [None, "", None, "", ""])
    assert [one.name for one in winners([(before, before)], "group").groups] == ["(none)", "x"]


def test_groups_of_sizes_and_lengths_are_listed_from_small_to_large() -> None:
    gpus, alone_s = np.repeat([16.0, 1, 8, 32], 5), np.repeat([90_000.0, 60, 7200, 600], 5)
    before = table("a" * 20, [10] * 20, gpus=gpus, jct_s=alone_s + 10, slowdown=(alone_s + 10) / alone_s)
    sizes = winners([(before, before)], "size_class")
    assert [one.name for one in sizes.groups] == ["1 GPU", "5–8 GPUs", "9–16 GPUs", "more than 16 GPUs"]
    # The baseline completed none of the last five: their run time is known from the other run.
    gone = before.assign(jct_s=np.where(gpus == 32, NAN, before["jct_s"]))
    lengths = winners([(gone, before)], "length_class")
    assert [one.name for one in lengths.groups] == ["up to 10 min", "10 min to 2 h", "more than 24 h"]
    assert lengths.groups[0].jobs == 10
    unknown = winners([(gone, gone)], "length_class")
    assert unknown.groups[-1].name == "run time unknown"


@pytest.mark.parametrize(
    ("pairs", "by", "quantity", "says"),
    [
        pytest.param([], "user", "wait_s", "got none", id="no draw"),
        pytest.param([(table("", []), table("", []))], "user", "wait_s", "both runs have none", id="no job"),
        pytest.param([(table("a", [1]), table("a", [1]))], "colour", "wait_s", "Known: user", id="no such grouping"),
        pytest.param([(table("a", [1]), table("a", [1]))], "group", "wait_s", "column group", id="no such column"),
        pytest.param([(table("a", [1]), table("a", [1]))], "user", "wait", "Try 'wait_s'", id="no such quantity"),
        pytest.param(
            [(table("a", [1]), pd.concat([table("a", [1])] * 2))], "user", "wait_s", "an id twice", id="an id twice"
        ),
    ],
)
def test_what_cannot_be_answered_says_why(pairs: list[Tables], by: Grouping, quantity: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        winners(pairs, by, quantity)


def test_an_answer_survives_json() -> None:
    before = table("aaaaabbccd", [100, NAN, *[7] * 8])
    answer = winners([(before, before.assign(wait_s=3.3)), (before, before)], "user", names=("FIFO", "SJF"))
    assert Winners.from_plain(json.loads(json.dumps(answer.to_plain()))) == answer
    with pytest.raises(InputError, match="answer"):
        Winners.from_plain({"by": "user"})


# ---- what holds for any two runs ---------------------------------------------------------------------

VALUES = st.one_of(st.just(NAN), st.integers(0, 5000).map(float))
DRAWS = st.integers(1, 3).flatmap(
    lambda draws: st.integers(1, 25).flatmap(
        lambda jobs: st.lists(
            st.tuples(
                st.text("abc", min_size=jobs, max_size=jobs),
                st.lists(VALUES, min_size=jobs, max_size=jobs),
                st.lists(VALUES, min_size=jobs, max_size=jobs),
            ),
            min_size=draws,
            max_size=draws,
        )
    )
)
Drawn = list[tuple[str, list[float], list[float]]]


def pairs_of(drawn: Drawn) -> list[Tables]:
    return [(table(users, before), table(users, after)) for users, before, after in drawn]


def near(value: float | None) -> Any:
    return None if value is None else pytest.approx(value, rel=1e-9, abs=1e-6)


@given(DRAWS, st.booleans())
def test_swapping_the_runs_flips_every_sign(drawn: Drawn, exact: bool) -> None:
    pairs = pairs_of(drawn)
    there = winners(pairs, "user", exact=exact)
    back = winners([(after, before) for before, after in pairs], "user", exact=exact)
    for one, other in zip((*there.groups, there.total), (*back.groups, back.total), strict=True):
        assert other.change == (None if one.change is None else -one.change)
        assert other.half_width == near(one.half_width)
        assert (other.baseline, other.other) == (one.other, one.baseline)
        assert (other.better_share, other.worse_share) == (one.worse_share, one.better_share)
        assert (other.only_baseline, other.only_other) == (one.only_other, one.only_baseline)
        assert other.verdict == OPPOSITE.get(one.verdict, one.verdict)


@given(DRAWS, st.randoms(use_true_random=False))
def test_the_order_of_jobs_changes_nothing(drawn: Drawn, random: Any) -> None:
    pairs = pairs_of(drawn)
    shuffled = []
    for before, after in pairs:
        orders = [random.sample(range(len(before)), len(before)) for _ in range(2)]
        shuffled.append((before.iloc[orders[0]], after.iloc[orders[1]]))
    there, moved = winners(pairs, "user"), winners(shuffled, "user")
    for one, other in zip((*there.groups, there.total), (*moved.groups, moved.total), strict=True):
        assert (other.name, other.jobs, other.compared) == (one.name, one.jobs, one.compared)
        assert other.change == near(one.change)
        assert other.half_width == near(one.half_width)
        assert other.quartiles == near(one.quartiles)  # type: ignore[arg-type]


@given(DRAWS)
def test_groups_add_up_to_the_whole_and_no_job_is_lost(drawn: Drawn) -> None:
    answer = winners(pairs_of(drawn), "user")
    for one in (*answer.groups, answer.total):
        assert one.jobs == pytest.approx(one.compared + one.only_baseline + one.only_other + one.neither)
    assert sum(one.jobs for one in answer.groups) == pytest.approx(len(drawn[0][0]))
    changes = [one.compared * one.change for one in answer.groups if one.change is not None]
    # Total of all jobs, straight from the drawn values.
    apart = [b - a for _, before, after in drawn for a, b in zip(before, after, strict=True)]
    whole = sum(change for change in apart if not math.isnan(change)) / len(drawn)
    assert sum(changes) == near(whole)
    assert (answer.total.change or 0.0) * answer.total.compared == near(whole)


@given(DRAWS)
def test_equal_runs_leave_everybody_the_same(drawn: Drawn) -> None:
    pairs = [(before, before) for before, _ in pairs_of(drawn)]
    answer = winners(pairs, "user", exact=len(pairs) == 1)
    for one in (*answer.groups, answer.total):
        if one.compared == 0:
            assert one.verdict == "missing"
        elif one.draws == 1 and len(pairs) > 1:
            assert (one.change, one.verdict) == (0, "same")
        else:
            assert (one.change, one.half_width, one.verdict) == (0, 0, "same")
        assert not one.better_share
        assert not one.worse_share


@pytest.mark.parametrize("draws", [3, 10])
def test_intervals_cover_the_true_change_95_of_100_times(draws: int) -> None:
    """Normal changes about -50 s that jobs of one draw share in part: jobs are no independent sample, draws are.

    4,000 groups of 6 jobs at once: the share covered has a standard error of 0.35 percentage points.
    """
    rng, many, jobs = np.random.default_rng(20), 4000, 6
    users = np.repeat([f"u{place}" for place in range(many)], jobs)
    base = pd.DataFrame({"job_id": np.arange(many * jobs).astype(str), "user": users, "wait_s": 1e4})
    pairs = []
    for _ in range(draws):
        shared, own = np.repeat(rng.normal(0, 40, many), jobs), rng.normal(-50, 60, many * jobs)
        pairs.append((base, base.assign(wait_s=1e4 + shared + own)))
    found = winners(pairs, "user").groups
    covered = sum(abs(known(one.change) + 50) <= known(one.half_width) for one in found)
    assert len(found) == many
    assert covered / many == pytest.approx(0.95, abs=0.0105)


@settings(max_examples=20)
@given(st.integers(2, 6), st.integers(0, 10_000))
def test_every_quantity_is_read_from_its_own_column(draws: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = list(QUANTITIES)
    pairs = [
        tuple(
            table("aaaaabbbbb", rng.uniform(1, 9, 10)).assign(**{name: rng.uniform(1, 9, 10) for name in columns})
            for _ in range(2)
        )
        for _ in range(draws)
    ]
    for name in columns:
        answer = winners([(before, after) for before, after in pairs], "user", name)
        mean = np.mean([(after[name] - before[name]).mean() for before, after in pairs])
        assert answer.total.change == pytest.approx(float(mean))
