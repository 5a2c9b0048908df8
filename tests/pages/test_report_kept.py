"""Kept answers of What if and Size as options of the memo: on the same draws, computed again where they are not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.workload import Workload
from dlsched.report.memo import Memo
from dlsched.store import Store
from dlsched.studies import registry
from dlsched.studies.design import Futures, Variant, changed
from dlsched.studies.simulation import simulate
from dlsched.studies.what_if import WhatIfSpec
from dlsched.ui.plan import memo as memo_page
from dlsched.ui.plan import memo_options
from tests.support.page_text import shown

PAGE = "plan/memo.py"
OpenPage = Callable[..., AppTest]
SPREAD = {"run_time_spread": 0.3}
TEN = Futures(seeds=(0, 1, 2), vary=SPREAD)


def queued(**more: Any) -> Scenario:
    """Return 24 jobs of 2 GPUs and 60 s, 10 s apart, on two nodes of 2 GPUs: they wait."""
    jobs = 24
    columns = {"job_id": [f"job {number}" for number in range(jobs)], "submit_s": 10.0 * np.arange(jobs),
               "work": np.full(jobs, 60.0), "workers": [2] * jobs, "due_s": 10.0 * np.arange(jobs) + 90,
               "user": ["ann", "bob"] * 12}  # fmt: skip
    cluster = Cluster(pools=(Pool(vm=VmType(name="two", gpus=2, usd_per_h=3.6), count=2),))
    values: dict[str, Any] = {"workload": Workload.from_columns(columns), "cluster": cluster, "name": "queued",
                              "options": SimulationRules(restart_s=1.0)}  # fmt: skip
    return Scenario(**values | more)


def what_if(
    store: Store,
    changes: Mapping[str, float] | None = None,
    policy: str = "fifo",
    futures: Futures = TEN,
    baseline: str = "fifo",
    scenario: Scenario | None = None,
    condition: Mapping[str, float] | None = None,
) -> str:
    """Store the answer of a what-if and keep it as an option."""
    about = scenario or queued()
    spec = WhatIfSpec(
        scenario=about.content_hash, baseline=Variant(policy=baseline), futures=futures,
        condition=dict(condition or {}),
        changed=Variant(policy=policy, changes=dict(changes or {})),
    )  # fmt: skip
    record = registry.compute("what-if", spec.model_dump(mode="json"), subject=about)
    return kept(store, store.save_experiment(record), about)


def size(store: Store, **more: Any) -> str:
    """Store a search for a size and keep it as an option."""
    spec = {"scenario": queued().content_hash, "targets": [{"metric": "wait_p95", "limit": 60.0}],
            "futures": TEN.model_dump(mode="json"), "types": [{"key": "nodes", "least": 1, "most": 9}]}  # fmt: skip
    return kept(store, store.save_experiment(registry.compute("size", spec | more, subject=queued())), queued())


def kept(store: Store, experiment_id: str, scenario: Scenario) -> str:
    store.save_scenario(scenario)
    ids = store.get_setting(memo_options.PREFIX + scenario.content_hash, [])
    store.set_setting(memo_options.PREFIX + scenario.content_hash, [*ids, experiment_id])
    return experiment_id


@pytest.fixture
def memos(monkeypatch: pytest.MonkeyPatch) -> list[Memo]:
    """Collect the memos the page writes."""
    seen: list[Memo] = []
    monkeypatch.setattr(st, "iframe", lambda *_, **__: None)

    monkeypatch.setattr(memo_page, "downloads", lambda memo, _: seen.append(memo))
    return seen


def names(memo: Memo) -> list[str]:
    return list(memo.comparison.names)


def opened(open_page: OpenPage, **params: str) -> AppTest:
    app = open_page(PAGE, scenario=queued().content_hash, **params)
    assert not app.exception
    return app


def test_a_kept_what_if_is_an_option_against_today(store: Store, open_page: OpenPage, memos: list[Memo]) -> None:
    what_if(store, {"nodes": 4})
    app = opened(open_page)
    assert not app.error
    memo = memos[-1]
    assert names(memo) == ["Today", "Two more nodes"]
    assert "under FIFO, in 3 futures with run times ± 30%" in shown(app)
    for place, changes in enumerate(({}, {"nodes": 4.0})):
        runs = [
            simulate(changed(queued(), {**changes, **(SPREAD if seed else {})}, seed), "fifo", seed=seed)
            for seed in range(3)
        ]
        told = [draw["wait_mean"] for draw in memo.options[place].draws]
        assert told == pytest.approx([run.metrics["wait_mean"] for run in runs])
    assert [(found.baseline, found.other) for found in memo.winners] == [("Today", "Two more nodes")]
    assert "run times ± 30%" in [chip.label for chip in memo.assumptions]
    assert memo.commands[0].endswith("--policies fifo --futures 2 --set nodes=4 --vary run_time_spread=0.3")


def test_several_options_share_draws_and_names_can_be_letters(
    store: Store, open_page: OpenPage, memos: list[Memo]
) -> None:
    what_if(store, {"nodes": 4})
    what_if(store, policy="sjf")
    app = opened(open_page)
    assert names(memos[-1]) == ["Today", "Two more nodes", "SJF instead of FIFO"]
    assert {group.name for group in memos[-1].winners[1].groups} == {"ann", "bob"}
    app = app.segmented_control(key="memo-names").set_value("A, B, C").run()
    assert {group.name for group in memos[-1].winners[1].groups} == {"A", "B"}
    assert memos[-1].winners[1].other == "SJF instead of FIFO"
    app.multiselect[0].set_value(["SJF instead of FIFO"]).run()
    assert names(memos[-1]) == ["Today", "SJF instead of FIFO"]


@pytest.mark.usefixtures("runner")
def test_other_draws_are_refused_and_computed_again(store: Store, open_page: OpenPage, memos: list[Memo]) -> None:
    what_if(store, {"nodes": 4})
    other = what_if(store, {"nodes": 3}, futures=Futures(seeds=(0, 1)))
    app = opened(open_page)
    assert not memos
    (error,) = app.error
    assert "One more node" in error.value
    assert "has no numbers for this memo" in error.value
    assert app.button(key="report-compute").label == "Compute 1 option in 3 futures"
    app = app.button(key="report-compute").click().run()
    assert not app.exception
    assert not app.error
    assert names(memos[-1]) == ["Today", "Two more nodes", "One more node"]
    assert len(memos[-1].options[2].draws) == 3
    assert other in store.get_setting(memo_options.PREFIX + queued().content_hash)  # what was kept stays
    runs = [
        simulate(changed(queued(), {"nodes": 3, **(SPREAD if seed else {})}, seed), "fifo", seed=seed)
        for seed in range(3)
    ]
    assert [draw["wait_mean"] for draw in memos[-1].options[2].draws] == pytest.approx(
        [run.metrics["wait_mean"] for run in runs]
    )


@pytest.mark.usefixtures("runner")
def test_another_policy_today_is_computed_against_the_same_today(
    store: Store, open_page: OpenPage, memos: list[Memo]
) -> None:
    what_if(store, {"nodes": 4})
    what_if(store, {"nodes": 3}, policy="las", baseline="las")
    app = opened(open_page)
    app = app.button(key="report-compute").click().run()
    assert not app.error
    memo = memos[-1]
    assert [option.policy for option in memo.options] == ["fifo", "fifo", "las"]
    told = [draw["wait_mean"] for draw in memo.options[2].draws]
    runs = [
        simulate(changed(queued(), {"nodes": 3, **(SPREAD if seed else {})}, seed), "las", seed=seed)
        for seed in range(3)
    ]
    assert told == pytest.approx([run.metrics["wait_mean"] for run in runs])


@pytest.mark.usefixtures("runner")
def test_all_options_are_asked_under_the_condition_of_the_newest(
    store: Store, open_page: OpenPage, memos: list[Memo]
) -> None:
    what_if(store, {"nodes": 3})
    what_if(store, {"nodes": 4}, condition={"durations": 1.5})
    app = opened(open_page)
    assert "run times +50%" in shown(app)
    app = app.button(key="report-compute").click().run()
    assert not app.exception
    assert not app.error
    memo = memos[-1]
    assert names(memo) == ["Do nothing", "One more node", "Two more nodes"]
    assert memo.question.startswith("With run times +50%, which should we choose: do nothing, one more node or two")
    longer = {"durations": 1.5, **SPREAD}
    for place, changes in enumerate(({}, {"nodes": 3.0}, {"nodes": 4.0})):
        runs = [simulate(changed(queued(), {**changes, **(longer if seed else {"durations": 1.5})}, seed), "fifo",
                         seed=seed) for seed in range(3)]  # fmt: skip
        told = [draw["wait_mean"] for draw in memo.options[place].draws]
        assert told == pytest.approx([run.metrics["wait_mean"] for run in runs])
    box = next(one for one in app.selectbox if one.label == "Condition")
    assert box.options == ["run times +50%", "No condition"]
    app = box.set_value("No condition").run()
    app = app.button(key="report-compute").click().run()
    assert names(memos[-1]) == ["Today", "One more node", "Two more nodes"]


def test_a_condition_alone_is_no_option(store: Store, open_page: OpenPage, memos: list[Memo]) -> None:
    what_if(store, {}, condition={"durations": 1.5})
    app = open_page(PAGE, scenario=queued().content_hash)
    assert not app.exception
    assert not memos
    what_if(store, {"nodes": 4}, condition={"durations": 1.5})
    opened(open_page)
    assert names(memos[-1]) == ["Do nothing", "Two more nodes"]


@pytest.mark.usefixtures("runner")
def test_a_size_is_compared_by_itself_and_says_its_claim(store: Store, open_page: OpenPage, memos: list[Memo]) -> None:
    experiment = size(store, claim="nearly-every", level=0.6)
    answer = store.get_experiment(experiment).answer
    app = opened(open_page)
    assert not app.error
    memo = memos[-1]
    nodes = answer["answer"][0]
    assert memo.best == f"{nodes} nodes"
    assert memo.recommendation.startswith(
        f"Choose {nodes} nodes: the cheapest size tried that would have met the target (p95 wait at most 1 min) in "
        "this month and "
    )
    assert memo.service == "wait_p95"
    assert memo.sizes is not None
    assert memo.sizes.option == f"{nodes} nodes"
    assert {point.counts for point in memo.sizes.points if point.answer} == {(nodes,)}
    command = next(text for text in memo.commands if " size " in text)
    assert "--target 'wait_p95<=1 min' --policy fifo --types nodes=1:9 --claim nearly-every" in command


def test_runs_stand_beside_kept_answers_where_they_have_the_draws(
    store: Store, open_page: OpenPage, memos: list[Memo]
) -> None:
    given = queued(options=SimulationRules(bug_share=0.4, bug_within_s=50.0, restart_s=1.0))
    runs = [store.save_run(simulate(given, policy, seed=seed).record())
            for policy in ("fifo", "sjf") for seed in (0, 1)]  # fmt: skip
    what_if(store, {"nodes": 4}, futures=Futures(seeds=(0, 1)), scenario=given)
    app = open_page(PAGE, scenario=given.content_hash, runs=",".join(runs), base=runs[0])
    assert not app.exception
    assert not app.error
    memo = memos[-1]
    assert names(memo) == ["Today", "Two more nodes", "SJF"]
    stored = [store.metrics(run)["wait_mean"] for run in runs[2:]]
    assert [draw["wait_mean"] for draw in memo.options[2].draws] == stored
    assert [draw["wait_mean"] for draw in memo.options[0].draws] == [
        store.metrics(run)["wait_mean"] for run in runs[:2]
    ]
    assert [found.other for found in memo.winners] == ["Two more nodes", "SJF"]
    choice = next(one for one in app.segmented_control if str(one.key).startswith("memo-source"))
    choice.set_value("Runs").run()
    assert names(memos[-1]) == ["FIFO", "SJF"]


@pytest.mark.usefixtures("runner")
def test_ticked_runs_of_other_draws_come_alone_until_they_are_asked_for(
    store: Store, open_page: OpenPage, memos: list[Memo]
) -> None:
    runs = [store.save_run(simulate(queued(), policy).record()) for policy in ("fifo", "sjf")]
    what_if(store, {"nodes": 4})
    app = open_page(PAGE, scenario=queued().content_hash, runs=",".join(runs), base=runs[0])
    assert names(memos.pop()) == ["FIFO", "SJF"]  # the page of runs alone
    source = next(one for one in app.segmented_control if str(one.key).startswith("memo-source"))
    assert source.value == "Runs"
    app = source.set_value("Kept answers").run()
    assert names(memos[-1]) == ["Today", "Two more nodes"]
    app = app.multiselect[0].set_value(["Two more nodes", "SJF"]).run()
    app = app.button(key="report-compute").click().run()
    assert not app.error
    assert names(memos[-1]) == ["Today", "Two more nodes", "SJF"]


@pytest.mark.usefixtures("runner")
def test_what_if_leads_here_with_its_option_ticked(store: Store, open_page: OpenPage, memos: list[Memo]) -> None:
    store.save_scenario(queued())
    app = open_page("plan/what_if.py", scenario=queued().content_hash)
    app = app.button(key="whatif-try-nodes").click().run()
    app = app.button(key="whatif-report").click().run()
    assert not app.exception
    assert app.title[0].value == "Memo"
    assert names(memos[-1]) == ["Today", "One more node"]
    assert "exact for this trace" in memos[-1].certainty
    app = app.switch_page(f"pages/{PAGE}").run()
    app = app.multiselect[0].set_value([]).run()
    assert "include no kept answer" in shown(app)
    app = app.switch_page("pages/plan/what_if.py").run()
    app = app.button(key="whatif-report").click().run()
    assert names(memos[-1]) == ["Today", "One more node"]


def test_what_is_gone_or_fails_is_left_out_or_refused(store: Store, open_page: OpenPage, memos: list[Memo]) -> None:
    kept(store, "f" * 16, queued())
    what_if(store, {"nodes": 4})
    app = opened(open_page)
    assert names(memos[-1]) == ["Today", "Two more nodes"]
    wide = queued().workload.with_columns(workers=np.array([4] * 24))
    broken = queued(
        workload=wide, name="wide", cluster=Cluster(pools=(Pool(vm=queued().cluster.pools[0].vm, count=2),))
    )
    what_if(store, {"nodes": 1}, scenario=broken)
    seen = len(memos)
    app = open_page(PAGE, scenario=broken.content_hash)
    assert not app.exception
    assert "has a run that did not come to its end" in shown(app)
    assert len(memos) == seen
