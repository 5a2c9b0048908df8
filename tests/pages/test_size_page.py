"""The part Size: the form, a search in the background with progress and cancel."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dlsched.domain.cluster import Cluster, Pool, Terms, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.runner.background import Runner
from dlsched.store import Store
from dlsched.studies.simulation import Progress
from dlsched.ui.frame.futures import PREFIX
from dlsched.workload.studies.gpu_as_a_service import sample_gpuaas
from dlsched.workload.studies.hell_knee import sample_stream
from dlsched.workload.studies.modelarts import sample_elastic
from dlsched.workload.studies.pd_ors import sample_slotted_jobs
from dlsched.workload.studies.smd import sample_server_jobs
from tests.support.page_text import kept, shown
from tests.support.size_page import (
    WAIT_S,
    OpenPage,
    keys,
    opened,
    primary,
    scenario,
    tag,
    two_types,
    typed,
)
from tests.support.studies import replied_by

# ---- the form ----------------------------------------------------------------------------------------


def test_the_first_screen_asks_for_waits_within_an_hour_on_up_to_four_times_the_nodes(
    store: Store, open_page: OpenPage
) -> None:
    app = opened(store, open_page)
    assert not app.exception
    assert app.header[0].value == "How many nodes do I need?"
    text = shown(app)
    assert "How many nodes keep p95 wait at most 1 h, under FIFO? Search from 1 to 8 nodes." in text
    assert "exact for this trace, not a forecast" in text
    assert app.button(key="size-ask").label.startswith("Find the cheapest size, about ")
    assert primary(app) == ["size-ask"]


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
    assert "Question**: How many nodes keep p95 wait at most 1 h, under FIFO?" in shown(app)
    offered = app.multiselect(key=f"goal-metrics-{tag(plain)}").options
    assert not [label for label in offered if "Late" in label or "ost" in label]
    assert "Late jobs need due dates." in shown(app)
    assert "Costs need prices." in shown(app)
    app = app.button(key="goal-fill-PRICE").click().run()
    assert not app.exception
    assert kept(store).cluster.usd_per_h is not None
    assert "Costs need prices." not in shown(app)


@pytest.mark.parametrize(("part", "question"), [
    ("Size", "How many nodes keep p95 wait at most 1 h, under FIFO? Search from 0 to 20 nodes of two."),
    ("Headroom", "How many more jobs can today's cluster and the cheapest size handle"),
    ("Growth", "Until when does the cluster keep p95 wait at most 1 h"),
])  # fmt: skip
def test_beside_rented_nodes_those_that_stay_are_asked_about(
    store: Store, open_page: OpenPage, part: str, question: str
) -> None:
    plain = scenario()
    (owned,) = plain.cluster.pools
    rented = Pool(vm=owned.vm.model_copy(update={"name": "more"}), count=3, terms=Terms(kind="on-demand"))
    app = opened(store, open_page, plain.replace(cluster=Cluster(pools=(owned, rented))), part=part)
    assert not app.exception
    assert not app.error
    assert question in shown(app)


@pytest.mark.parametrize("part", ["Size", "Growth"])
@pytest.mark.parametrize(
    "sample", [sample_elastic, sample_server_jobs, sample_slotted_jobs, sample_stream, sample_gpuaas]
)
def test_every_kind_of_scenario_can_be_asked_about(
    sample: Callable[[], Scenario], part: str, store: Store, open_page: OpenPage
) -> None:
    app = opened(store, open_page, sample(), part=part)
    assert not app.exception
    assert not app.error
    assert f"{part.lower()}-ask" in keys(app)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("60", "needs a unit of its kind, got none"),
        ("an hour", "is not a number with a unit, got 'an hour'"),
        ("", "is not a number with a unit"),
        ("5%", "got '%'"),
    ],
)
def test_a_bad_target_is_told_and_cannot_be_asked(text: str, complaint: str, store: Store, open_page: OpenPage) -> None:
    app = typed(opened(store, open_page), "wait_p95", text)
    assert not app.exception
    (box,) = app.error
    assert "**Target p95 wait**" in box.value.replace("\\", "")
    assert complaint in box.value.replace("\\", "")
    assert "as 1 h, 30 min or 1 d 12 h" in box.value.replace("\\", "")
    assert "it cannot be computed yet" in shown(app)
    assert "size-ask" not in keys(app)
    app = typed(app, "wait_p95", "2 h")
    assert not app.error
    assert "p95 wait at most 2 h" in shown(app)


def test_targets_are_added_with_what_is_so_in_the_newest_run_and_taken_away(
    store: Store, runner: Runner, open_page: OpenPage
) -> None:
    from dlsched.runner.background import RunTask

    store.save_scenario(scenario())
    runner.submit([RunTask(scenario(), "fifo", {}, 0, "FIFO")])
    assert runner.wait(WAIT_S)
    app = opened(store, open_page)
    metrics = app.multiselect(key=f"goal-metrics-{tag()}")
    assert metrics.value == ["wait_p95"]
    assert app.text_input(key=f"goal-limit-wait_p95-{tag()}").value == "1 h"  # the same question after any run
    app = metrics.set_value(["wait_p95", "wait_p50", "cost_month"]).run()
    assert app.text_input(key=f"goal-limit-wait_p50-{tag()}").value == "1 min"  # as good as now
    assert app.text_input(key=f"goal-limit-cost_month-{tag()}").value == "$5,300/month"
    assert "Cost per month at most $5,300/month" in shown(app)
    app = app.multiselect(key=f"goal-metrics-{tag()}").set_value([]).run()
    assert "there is none, so every size would do" in shown(app)


def test_how_often_it_must_hold_is_part_of_the_question(store: Store, open_page: OpenPage) -> None:
    info = store.save_scenario(scenario())
    store.set_setting(PREFIX + info.lineage, {"count": 6, "vary": {"run_time_spread": 0.3}})
    app = opened(store, open_page)
    assert "p95 wait at most 1 h on average, under FIFO" in shown(app)
    app = app.segmented_control(key=f"goal-claim-{tag()}").set_value("nearly-every").run()
    app = app.number_input(key=f"goal-level-{tag()}").set_value(90.0).run()
    assert not app.exception
    assert " in 90% of months, under FIFO" in shown(app)


def test_nodes_are_asked_by_type_where_there_are_several(store: Store, open_page: OpenPage) -> None:
    app = opened(store, open_page, two_types())
    assert "Search from 0 to 8 nodes of a and 0 to 8 nodes of b." in shown(app)
    app = app.multiselect(key=f"size-types-{tag(two_types())}").set_value(["nodes.b"]).run()
    assert "under FIFO? Search from 0 to 8 nodes of b." in shown(app)
    app = app.number_input(key=f"size-least-nodes.b-{tag(two_types())}").set_value(9).run()
    assert "the least number must not be above the most, got 9 to 8" in shown(app)
    app = app.multiselect(key=f"size-types-{tag(two_types())}").set_value([]).run()
    assert "there is none, so there is only one size" in shown(app)


# ---- a search ----------------------------------------------------------------------------------------


def test_a_size_is_found_in_the_background_kept_and_opens_by_itself(
    store: Store, runner: Runner, open_page: OpenPage
) -> None:
    app = typed(opened(store, open_page), "wait_p95", "30 s")
    app = app.button(key="size-ask").click().run()
    assert runner.wait(WAIT_S)
    app = app.run()
    assert not app.exception
    (info,) = store.list_experiments("size")
    assert app.query_params["experiment"] == info.experiment_id
    said = "the cheapest size tried that would have met the target (p95 wait at most 30 s) in this trace: $"
    assert said in app.header[0].value.replace("\\", "")
    assert [card.label for card in app.metric][:2] == ["Nodes", "Cost per month"]
    assert len(app.metric) == 4
    assert "exact for this trace, not a forecast" in shown(app)
    assert primary(app) == ["size-keep"]
    # Another question is asked beside the answer, and its own answer takes its place.
    app = typed(app, "wait_p95", "1 h")
    assert "Below is the answer to another question than the form asks." in shown(app)
    assert primary(app) == ["size-ask"]
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

    replied_by(monkeypatch, "size", slowly)
    app = opened(store, open_page)
    monkeypatch.setattr("dlsched.ui.pending.PendingTasks.follow", lambda self, places: None)
    app = app.button(key="size-ask").click().run()
    until_s = time.monotonic() + 120
    while "3 nodes" not in _progress(app) and time.monotonic() < until_s:
        app = app.run()
    assert "Size, four jobs: 3 nodes: 4 of 10 runs" in _progress(app)
    assert app.button(key="size-ask").disabled
    # A tab that is opened anew finds the search again.
    other = opened(store, open_page)
    assert "Size, four jobs: 3 nodes: 4 of 10 runs" in _progress(other)
    assert other.button(key="size-ask").disabled
    app = app.button(key="size-cancel").click().run()
    assert runner.wait(WAIT_S)
    app = app.run()
    assert "Cancelled. Nothing was kept." in shown(app)
    assert not app.button(key="size-ask").disabled


def _progress(app: AppTest) -> str:
    return " ".join(str(one.proto.text) for one in app.get("progress")).replace("\\", "")


def test_a_target_that_has_no_number_here_ends_with_its_reason(
    store: Store, runner: Runner, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(spec: Any, subject: Any, progress: Progress | None) -> dict[str, Any]:
        raise InputError("target tardiness_cost", "Cost of lateness has no number on these jobs", "Take another target")

    replied_by(monkeypatch, "size", refused)
    app = opened(store, open_page).button(key="size-ask").click().run()
    assert runner.wait(WAIT_S)
    app = app.run()
    assert "Cost of lateness has no number on these jobs" in shown(app)
    assert "size-ask" in keys(app)
