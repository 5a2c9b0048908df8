"""The page Size: form, search in the background, answers of every kind, headroom, months ahead, links, next steps."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.experiments import computations
from dlsched.experiments.background import Runner
from dlsched.experiments.run import Progress
from dlsched.store import Store
from dlsched.store.record import ExperimentRecord
from dlsched.ui import options
from dlsched.workload.modelarts import sample_elastic
from dlsched.workload.server_jobs import sample_server_jobs
from dlsched.workload.service import sample_scenario
from dlsched.workload.slotted_jobs import sample_slotted_jobs
from dlsched.workload.streams import sample_stream
from tests.support.page_text import kept, shown
from tests.support.runs_for_store import small_scenario

PAGE = "decide/size.py"
WAIT_S = 60
OpenPage = Callable[..., AppTest]
WAIT = {"metric": "wait_p95", "limit": 30.0}
COST = {"metric": "cost_month", "limit": 10.0}


@cache
def scenario() -> Scenario:
    """Return twelve jobs on two nodes of 2 GPUs, on which some wait."""
    return small_scenario(24)


@cache
def two_types() -> Scenario:
    prices = {"a": 3.6, "b": 4.8}
    pools = tuple(Pool(vm=VmType(name=name, gpus=2, gpu_type=name, usd_per_h=usd), count=1)
                  for name, usd in prices.items())  # fmt: skip
    return small_scenario(24, name="two types").replace(cluster=Cluster(pools=pools))


@cache
def answered(
    *targets: tuple[str, float],
    spread: float = 0.0,
    claim: str = "average",
    about: str = "scenario",
    most: int = 8,
    least: int = 1,
) -> ExperimentRecord:
    """Return a search of a small scenario."""
    what = {"scenario": scenario, "two_types": two_types}[about]()
    spec: dict[str, Any] = {
        "scenario": what.content_hash, "targets": [{"metric": key, "limit": limit} for key, limit in targets],
        "claim": claim, "draws": 3, "confirm": 4, "vary": {"run_time_spread": spread} if spread else {},
        "types": [{"key": key, "least": 0 if "." in key else least, "most": most}
                  for key in (["nodes"] if about == "scenario" else ["nodes.a", "nodes.b"])],
    }  # fmt: skip
    return computations.compute("size", spec, subject=what)


def months(percent: float = 10.0, **spec: Any) -> ExperimentRecord:
    plain = {"scenario": scenario().content_hash, "policy": "fifo", "targets": [WAIT], "percent": percent, "months": 4,
             "begin": "2026-11", "seeds": [0]}  # fmt: skip
    return computations.compute("growth", plain | spec, subject=scenario())


def saved(store: Store, record: ExperimentRecord, about: Scenario | None = None) -> str:
    store.save_scenario(about or scenario())
    return store.save_experiment(record)


def keys(app: AppTest) -> set[str | None]:
    return {button.key for button in app.button}


def tag(about: Scenario | None = None) -> str:
    return (about or scenario()).content_hash[:8]


def opened(store: Store, open_page: OpenPage, about: Scenario | None = None, **params: str) -> AppTest:
    return open_page(PAGE, scenario=store.save_scenario(about or scenario()).scenario_hash, **params)


def typed(app: AppTest, metric: str, text: str, about: Scenario | None = None) -> AppTest:
    return app.text_input(key=f"goal-limit-{metric}-{tag(about)}").set_value(text).run()


def primary(app: AppTest) -> list[str | None]:
    return [button.key for button in app.button if button.proto.type == "primary"]


# ---- the form ----------------------------------------------------------------------------------------


def test_the_first_screen_asks_for_waits_and_late_jobs_on_up_to_four_times_the_nodes(
    store: Store, open_page: OpenPage
) -> None:
    app = opened(store, open_page)
    assert not app.exception
    assert app.header[0].value == "What is the cheapest cluster that meets my targets?"
    text = shown(app)
    assert "Wait, p95 at most 1 h and Late jobs, share at most 5%, under FIFO; 1 to 8 nodes" in text
    assert "the answer is exact for this trace, and no forecast" in text
    assert app.button(key="size-find").label.startswith("Find the cheapest size, about ")
    assert primary(app) == ["size-find"]


def test_without_due_times_or_prices_there_are_no_such_targets_and_a_way_to_them(
    store: Store, open_page: OpenPage
) -> None:
    plain = scenario()
    bare = VmType(name="two", gpus=2)
    plain = plain.replace(
        workload=plain.workload.with_columns(due_s=np.full(len(plain.workload), np.nan)),
        cluster=Cluster(pools=(Pool(vm=bare, count=2),)),
    )
    app = opened(store, open_page, plain)
    assert not app.exception
    assert "Question**: Wait, p95 at most 1 h, under FIFO" in shown(app)
    offered = app.multiselect(key=f"goal-metrics-{tag(plain)}").options
    assert not [label for label in offered if "Late" in label or "ost" in label]
    assert "Late jobs need due times." in shown(app)
    assert "Costs need prices." in shown(app)
    app = app.button(key="goal-fill-PRICE").click().run()
    assert not app.exception
    assert kept(store).cluster.usd_per_h is not None
    assert "Costs need prices." not in shown(app)


@pytest.mark.parametrize("part", ["Size", "Growth"])
@pytest.mark.parametrize(
    "sample", [sample_elastic, sample_server_jobs, sample_slotted_jobs, sample_stream, sample_scenario]
)
def test_every_kind_of_scenario_can_be_asked_about(
    sample: Callable[[], Scenario], part: str, store: Store, open_page: OpenPage
) -> None:
    app = opened(store, open_page, sample(), part=part)
    assert not app.exception
    assert not app.error
    assert "size-find" in keys(app)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("60", "needs a unit of its kind, got none"),
        ("an hour", "'an hour' is not a number with a unit"),
        ("", "is not a number with a unit"),
        ("5%", "got '%'"),
    ],
)
def test_a_bad_target_is_told_and_cannot_be_asked(text: str, complaint: str, store: Store, open_page: OpenPage) -> None:
    app = typed(opened(store, open_page), "wait_p95", text)
    assert not app.exception
    (box,) = app.error
    assert "**Target Wait, p95**" in box.value.replace("\\", "")
    assert complaint in box.value.replace("\\", "")
    assert "as in 1 h, 30 min or 2 d" in box.value.replace("\\", "")
    assert "it cannot be computed as it stands" in shown(app)
    assert "size-find" not in keys(app)
    app = typed(app, "wait_p95", "2 h")
    assert not app.error
    assert "Wait, p95 at most 2 h" in shown(app)


def test_targets_are_added_with_what_is_so_in_the_newest_run_and_taken_away(
    store: Store, runner: Runner, open_page: OpenPage
) -> None:
    from dlsched.experiments.background import Task

    store.save_scenario(scenario())
    runner.submit([Task(scenario(), "fifo", {}, 0, "FIFO")])
    assert runner.wait(WAIT_S)
    app = opened(store, open_page)
    metrics = app.multiselect(key=f"goal-metrics-{tag()}")
    assert metrics.value == ["wait_p95", "late_share"]
    assert app.text_input(key=f"goal-limit-wait_p95-{tag()}").value == "2 min"  # as good as now
    app = metrics.set_value(["wait_p95", "cost_month"]).run()
    assert app.text_input(key=f"goal-limit-cost_month-{tag()}").value == "$5,300"
    assert "Cost per month at most $5,300/month" in shown(app)
    app = app.multiselect(key=f"goal-metrics-{tag()}").set_value([]).run()
    assert "there is none, so every size would do" in shown(app)


def test_claim_draws_and_what_varies_are_part_of_the_question(store: Store, open_page: OpenPage) -> None:
    app = opened(store, open_page)
    assert app.number_input(key=f"goal-draws-{tag()}").disabled
    app = app.button_group(key=f"goal-vary-{tag()}").set_value(["run_time_spread"]).run()
    assert not app.number_input(key=f"goal-draws-{tag()}").disabled
    app = app.segmented_control(key=f"goal-claim-{tag()}").set_value("nearly-every").run()
    app = app.number_input(key=f"goal-level-{tag()}").set_value(90.0).run()
    assert not app.exception
    assert "in nearly every month (90% of draws), under FIFO" in shown(app)


def test_nodes_are_asked_by_type_where_there_are_several(store: Store, open_page: OpenPage) -> None:
    app = opened(store, open_page, two_types())
    assert "0 to 8 a nodes and 0 to 8 b nodes" in shown(app)
    app = app.multiselect(key=f"size-types-{tag(two_types())}").set_value(["nodes.b"]).run()
    assert "under FIFO; 0 to 8 b nodes" in shown(app)
    app = app.number_input(key=f"size-least-nodes.b-{tag(two_types())}").set_value(9).run()
    assert "the least number must not be above the most, got 9 to 8" in shown(app)
    app = app.multiselect(key=f"size-types-{tag(two_types())}").set_value([]).run()
    assert "there is none, so there is only one size" in shown(app)


# ---- a search ----------------------------------------------------------------------------------------


def test_a_size_is_found_in_the_background_kept_and_opens_by_itself(
    store: Store, runner: Runner, open_page: OpenPage
) -> None:
    app = typed(opened(store, open_page), "wait_p95", "30 s")
    app = app.button(key="size-find").click().run()
    assert runner.wait(WAIT_S)
    app = app.run()
    assert not app.exception
    (info,) = store.list_experiments("size")
    assert app.query_params["experiment"] == info.experiment_id
    assert "the cheapest we tried that meet both targets: $" in app.header[0].value.replace("\\", "")
    assert [card.label for card in app.metric][:2] == ["Nodes", "Cost per month"]
    assert len(app.metric) == 4
    assert "exact for this trace, not a forecast" in shown(app)
    assert primary(app) == ["size-keep"]
    # Another question is asked beside the answer, and its own answer takes its place.
    app = typed(app, "wait_p95", "1 h")
    assert "Below is the answer to another question than the form asks." in shown(app)
    assert primary(app) == ["size-find"]
    app = typed(app, "wait_p95", "30 s")
    assert primary(app) == ["size-keep"]


def test_a_search_says_which_size_is_under_way_and_can_be_cancelled(
    store: Store, runner: Runner, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(spec: Any, subject: Any, progress: Progress | None) -> dict[str, Any]:
        while progress is not None:
            progress(0.3, "3 nodes: 4 of 10 runs")
            time.sleep(0.01)
        return {}

    slow = replace(computations.find("size"), answer=slowly)
    monkeypatch.setattr(
        computations, "COMPUTATIONS", tuple(slow if one.kind == "size" else one for one in computations.COMPUTATIONS)
    )
    app = opened(store, open_page)
    monkeypatch.setattr("dlsched.ui.waiting.Waiting.follow", lambda self, places: None)
    app = app.button(key="size-find").click().run()
    until_s = time.monotonic() + 10
    while "3 nodes" not in _progress(app) and time.monotonic() < until_s:
        app = app.run()
    assert "Size, four jobs: 3 nodes: 4 of 10 runs" in _progress(app)
    assert app.button(key="size-find").disabled
    app = app.button(key="size-cancel").click().run()
    assert runner.wait(WAIT_S)
    app = app.run()
    assert "Cancelled. Nothing was kept." in shown(app)
    assert not app.button(key="size-find").disabled


def _progress(app: AppTest) -> str:
    return " ".join(str(one.proto.text) for one in app.get("progress")).replace("\\", "")


def test_a_target_that_has_no_number_here_ends_with_its_reason(
    store: Store, runner: Runner, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(spec: Any, subject: Any, progress: Progress | None) -> dict[str, Any]:
        raise InputError("target tardiness_cost", "Cost of lateness has no number on these jobs", "Take another target")

    bad = replace(computations.find("size"), answer=refused)
    monkeypatch.setattr(
        computations, "COMPUTATIONS", tuple(bad if one.kind == "size" else one for one in computations.COMPUTATIONS)
    )
    app = opened(store, open_page).button(key="size-find").click().run()
    assert runner.wait(WAIT_S)
    app = app.run()
    assert "Cost of lateness has no number on these jobs" in shown(app)
    assert "size-find" in keys(app)


# ---- answers -----------------------------------------------------------------------------------------


def test_an_answer_opens_by_its_link_with_its_scenario_and_its_question(store: Store, open_page: OpenPage) -> None:
    record = answered(("wait_p95", 30.0), ("late_share", 0.5), spread=0.3, claim="nearly-every")
    app = open_page(PAGE, experiment=saved(store, record))
    assert not app.exception
    assert app.session_state["scenario_hash"] == scenario().content_hash
    assert app.text_input(key=f"goal-limit-wait_p95-{tag()}").value == "30 s"
    assert app.segmented_control(key=f"goal-claim-{tag()}").value == "nearly-every"
    assert app.number_input(key=f"goal-confirm-{tag()}").value == 4
    assert app.number_input(key=f"size-most-nodes-{tag()}").value == 8
    assert "size-find" not in keys(app)  # the form asks exactly what was answered
    assert "in nearly every month" in app.header[0].value
    assert "Held in" in app.header[0].value
    assert "Just below: " in shown(app)
    assert "One node more, $" in shown(app)
    assert "One node more, \\\\$" not in "\n".join(one.value for one in app.markdown)
    app = app.segmented_control(key="size-metric-wait_p95-late_share").set_value("late_share").run()
    app = app.toggle(key="table-size-frontier").set_value(True).run()
    assert not app.exception
    assert "Late jobs, share" in app.dataframe[0].value.columns


def test_nothing_feasible_says_so_with_the_lowest_that_was_reached(store: Store, open_page: OpenPage) -> None:
    app = open_page(PAGE, experiment=saved(store, answered(("late_share", 0.0), ("cost_month", 10.0))))
    assert not app.exception
    assert app.header[0].value.replace("\\", "").startswith("No size we tried, up to 4 nodes, meets both targets")
    assert "Cost per month: the lowest mean reached is $" in shown(app)
    assert "lowest reached" in app.metric[1].label
    assert not {"size-keep", "size-memo", "size-save", "size-what-if"} & keys(app)


def test_without_prices_the_smallest_is_told_in_gpus(store: Store, open_page: OpenPage) -> None:
    plain = scenario()
    pools = (Pool(vm=VmType(name="two", gpus=2), count=2),)
    plain = plain.replace(cluster=Cluster(pools=pools))
    spec = {"scenario": plain.content_hash, "targets": [WAIT], "types": [{"key": "nodes", "least": 1, "most": 8}]}
    record = computations.compute("size", spec, subject=plain)
    app = open_page(PAGE, experiment=saved(store, record, plain))
    assert not app.exception
    assert "the smallest we tried" in app.header[0].value
    assert app.metric[1].label == "GPUs"


def test_several_types_are_named_in_cards_and_table(store: Store, open_page: OpenPage) -> None:
    app = open_page(PAGE, experiment=saved(store, answered(("wait_p95", 30.0), about="two_types"), two_types()))
    assert not app.exception
    assert " a + " in app.metric[0].value
    assert app.multiselect(key=f"size-types-{tag(two_types())}").value == ["nodes.a", "nodes.b"]
    assert "size-find" not in keys(app)


def test_an_answer_of_older_code_or_about_another_scenario_says_so(store: Store, open_page: OpenPage) -> None:
    old = replace(answered(("wait_p95", 30.0)), code_version="0.0.0-older")
    app = open_page(PAGE, experiment=saved(store, old))
    assert "Computed by another version of this program." in shown(app)
    assert primary(app) == ["size-find"]
    elsewhere = store.save_experiment(answered(("wait_p95", 30.0), about="two_types"))
    app = open_page(PAGE, experiment=elsewhere)
    assert "which is not in this store" in shown(app)
    assert "size-keep" not in keys(app)


@pytest.mark.parametrize("part", ["Size", "Growth"])
def test_a_link_to_nothing_says_so_and_there_is_a_way_on(part: str, store: Store, open_page: OpenPage) -> None:
    app = opened(store, open_page, experiment="f" * 12, part=part)
    assert not app.exception
    assert len(app.error) == 1
    app = app.button(key="size-without").click().run()
    assert not app.error
    assert "size-find" in keys(app)


# ---- next steps --------------------------------------------------------------------------------------


def test_todays_cluster_is_no_option(store: Store, open_page: OpenPage) -> None:
    record = answered(("jct_p99", 3600.0), most=2, least=2)
    assert record.answer["answer"] == record.answer["today"]
    app = open_page(PAGE, experiment=saved(store, record))
    assert app.button(key="size-keep").disabled
    assert app.button(key="size-memo").disabled


def test_an_answer_is_kept_as_an_option_and_taken_off_again(store: Store, open_page: OpenPage, runner: Runner) -> None:
    experiment = saved(store, answered(("wait_p95", 30.0), spread=0.3))
    app = open_page(PAGE, experiment=experiment)
    app = app.button(key="size-keep").click().run()
    (asked,) = runner.questions("what-if")  # so that a memo has all numbers of it
    assert asked.name.startswith("Option: ")
    assert store.get_setting(options.PREFIX + scenario().content_hash) == [experiment]
    assert primary(app) == ["size-memo"]
    app = app.button(key="size-unkeep").click().run()
    assert store.get_setting(options.PREFIX + scenario().content_hash) is None
    assert primary(app) == ["size-keep"]


def test_the_size_opens_in_what_if_against_today(store: Store, open_page: OpenPage) -> None:
    record = answered(("wait_p95", 30.0), spread=0.3)
    app = open_page(PAGE, experiment=saved(store, record))
    app = app.button(key="size-what-if").click().run()
    assert not app.exception
    assert app.title[0].value == "What if"
    assert app.query_params["set"] == f"nodes:{record.answer['answer'][0]}"
    assert app.query_params["draws"] == "3"
    assert app.query_params["vary"] == "run_time_spread:0.3"


def test_the_size_becomes_a_version_of_the_scenario(store: Store, open_page: OpenPage) -> None:
    record = answered(("wait_p95", 30.0))
    app = open_page(PAGE, experiment=saved(store, record))
    app = app.button(key="size-save").click().run()
    assert not app.exception
    assert app.title[0].value == "Run"
    made = kept(store)
    assert made.cluster.num_nodes == record.answer["answer"][0]
    info = store.scenario_info(made.content_hash)
    assert info is not None
    assert info.based_on == scenario().content_hash
    assert made.name == scenario().name


# ---- headroom and growth -----------------------------------------------------------------------------


def test_headroom_shows_the_loads_of_the_same_answer(store: Store, open_page: OpenPage) -> None:
    app = open_page(PAGE, experiment=saved(store, answered(("wait_p95", 30.0))), part="Headroom")
    assert not app.exception
    assert " the load" in app.header[0].value
    assert app.metric[0].label == "Headroom, answer"
    assert "Load" in app.dataframe[0].value.columns
    none = replace(answered(("wait_p95", 30.0)), answer={**answered(("wait_p95", 30.0)).answer, "headroom": []})
    app = open_page(
        PAGE, experiment=saved(store, replace(none, spec={**none.spec, "headroom": False})), part="Headroom"
    )
    assert "This answer has no headroom" in app.header[0].value


def test_months_are_played_in_the_background_with_the_targets_of_the_size(
    store: Store, runner: Runner, open_page: OpenPage
) -> None:
    app = typed(opened(store, open_page), "wait_p95", "40 s")
    app = app.segmented_control(key="part").set_value("Growth").run()
    assert not app.exception
    assert app.header[0].value.startswith("Until when does the cluster meet my targets")
    assert app.text_input(key=f"goal-limit-wait_p95-{tag()}").value == "40 s"
    app = app.number_input(key=f"growth-months-{tag()}").set_value(2).run()
    assert app.button(key="size-find").label.startswith("Play 3 months, about ")
    app = app.button(key="size-find").click().run()
    assert runner.wait(WAIT_S)
    app = app.run()
    assert not app.exception
    assert len(app.metric) == 4
    (info,) = store.list_experiments("growth")
    assert app.query_params["experiment"] == info.experiment_id
    assert len(app.dataframe[-1].value) == 3
    app = app.segmented_control(key="part").set_value("Size").run()
    assert "experiment" not in app.query_params
    assert app.text_input(key=f"goal-limit-wait_p95-{tag()}").value == "40 s"


def test_a_growth_link_opens_its_part_with_its_question(store: Store, open_page: OpenPage) -> None:
    record = months(30.0, steps=({"month": 2, "key": "nodes", "nodes": 3},), lead_months=2)
    app = open_page(PAGE, experiment=saved(store, record))
    assert not app.exception
    assert app.segmented_control(key="part").value == "Growth"
    assert app.text_input(key=f"growth-begin-{tag()}").value == "2026-11"
    assert app.number_input(key=f"growth-percent-{tag()}").value == 30.0
    assert "1 delivery or retirement" in shown(app)
    assert app.metric[1].label == "Order by, late"
    assert "size-find" not in keys(app)
    assert app.dataframe[-1].value["Nodes"].tolist() == ["2", "2", "5", "5", "5"]


@pytest.mark.parametrize(
    ("field", "value", "complaint"),
    [
        ("growth-begin", "November", "must be a year and a month, got 'November'"),
        ("growth-percent", 100.0, "times today's, at most 100"),
    ],
)
def test_a_growth_that_cannot_be_played_is_told(
    field: str, value: Any, complaint: str, store: Store, open_page: OpenPage
) -> None:
    app = opened(store, open_page, part="Growth")
    inputs = app.text_input if isinstance(value, str) else app.number_input
    app = inputs(key=f"{field}-{tag()}").set_value(value).run()
    assert not app.exception
    assert complaint in shown(app)
    assert "size-find" not in keys(app)


def test_months_can_begin_with_the_size_that_was_found(store: Store, open_page: OpenPage) -> None:
    record = answered(("wait_p95", 30.0))
    saved(store, record)
    app = opened(store, open_page, part="Growth")
    app = app.button(key="growth-from-size").click().run()
    assert not app.exception
    assert "1 delivery or retirement" in shown(app)
    held: pd.DataFrame = app.session_state[f"growth-steps-{tag()}-now"]
    assert held["Nodes ±"].tolist() == [record.answer["answer"][0] - 2]


def test_the_replay_of_a_trace_says_how_far_to_trust_the_answer(
    store: Store, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dlsched.metrics.chips import Chip
    from dlsched.ui import calibration_work

    monkeypatch.setattr(
        calibration_work, "known_trust", lambda _: Chip("replay explains 82% of waits", "why", "Workload")
    )
    app = open_page(PAGE, experiment=saved(store, answered(("wait_p95", 30.0))))
    assert "replay explains 82% of waits" in shown(app)
