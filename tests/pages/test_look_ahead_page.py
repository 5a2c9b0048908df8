"""The Look-ahead page: a decision of a stored run, steps between decisions, links, work in the background."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dlsched.runner.background import Runner, StudyTask
from dlsched.store import Store
from dlsched.studies.inspect.look_ahead import StoredRun
from dlsched.studies.inspect.look_ahead.answer import changes_at, decisions_of
from dlsched.studies.simulation import simulate
from dlsched.ui.results import look_ahead
from tests.support.look_ahead_runs import (
    GREEDY,
    OPTIMAL,
    POLICIES,
    crowded_scenario,
    elastic_run,
    elastic_scenario,
    window,
)

PAGE = "results/run_details.py"
OpenPage = Callable[..., AppTest]


@pytest.fixture
def saved(store: Store) -> dict[str, str]:
    return {policy: store.save_run(elastic_run(policy).record()) for policy in POLICIES}


def busiest(policy: str) -> int:
    """Return the decision at which most workers change hands."""
    run = elastic_run(policy)
    return int(np.argmax(changes_at(run.segments, decisions_of(run.decisions)["time_s"].to_numpy(float)))) + 1


def said(app: AppTest) -> str:
    texts = [part.value for part in [*app.header, *app.markdown, *app.warning, *app.error, *app.info]]
    return "\n".join(texts).replace("\\", "")


def test_a_decision_opens_by_its_link_with_both_plans(
    saved: dict[str, str], runner: Runner, open_page: OpenPage
) -> None:
    app = open_page(PAGE, part="Inside", run=saved[OPTIMAL], decision="1")
    assert not app.exception
    assert app.number_input(key=f"look-number-{saved[OPTIMAL]}").value == 1
    assert app.header[0].value.replace("\\", "") == (
        "job 0 gets 2 nodes instead of 4, so that 2 jobs can start. Greedy would do the same with it."
    )
    assert [card.label for card in app.metric] == ["Objective", "Bound, gap", "CPU, whole call", "Jobs waiting"]
    assert app.metric[0].value == "3.12"
    assert app.metric[1].value == "3.12, proven"
    assert app.metric[3].value == "0"
    assert "greedy: scenario 3" in said(app)
    app = app.toggle(key="table-look-plan").set_value(True).run()
    table = app.dataframe[0].value
    assert table["before"].tolist() == [4, 2, 0, 0]
    assert table["step 1"].tolist() == [2, 2, 1, 1]
    assert table["greedy"].tolist() == [2, 2, 2, 0]
    assert table["change now"].tolist() == [-2, 0, 1, 1]


def test_steps_between_decisions_are_kept_in_the_address(
    saved: dict[str, str], runner: Runner, open_page: OpenPage
) -> None:
    key = f"look-number-{saved[OPTIMAL]}"
    app = open_page(PAGE, part="Inside", run=saved[OPTIMAL], decision="2")
    app = app.button(key="look-next").click().run()
    assert app.number_input(key=key).value == 3
    assert app.query_params["decision"] == "3"
    app = app.button(key="look-previous").click().run()
    app = app.button(key="look-previous").click().run()
    assert app.number_input(key=key).value == 1
    assert app.button(key="look-previous").disabled
    app = app.button(key="look-largest").click().run()
    assert not app.exception
    assert app.button(key="look-largest").disabled
    assert app.number_input(key=key).value == busiest(OPTIMAL)
    app = app.number_input(key=key).set_value(55).run()  # the last one, in another block
    assert not app.exception
    assert len(app.metric) == 4
    assert app.button(key="look-next").disabled
    blocks = [status.name.rpartition("decisions ")[2] for status in runner.questions()]
    assert blocks == ["1 to 25", "26 to 50", "51 to 55"]  # the largest change is in the middle one


def test_a_block_of_decisions_is_worked_out_once(
    saved: dict[str, str], runner: Runner, open_page: OpenPage, store: Store
) -> None:
    open_page(PAGE, part="Inside", run=saved[OPTIMAL], decision="3")
    assert len(store.list_experiments("look-ahead")) == 1
    again = open_page(PAGE, part="Inside", run=saved[OPTIMAL], decision="25")
    assert not again.exception
    assert len(store.list_experiments("look-ahead")) == 1


def test_in_a_greedy_run_the_plan_is_what_would_have_been(
    saved: dict[str, str], runner: Runner, open_page: OpenPage
) -> None:
    app = open_page(PAGE, part="Inside", run=saved[GREEDY], decision="1")
    assert app.header[0].value.replace("\\", "") == (
        "job 0 gets 2 nodes instead of 4, so that 1 job can start. The optimal allocator would do the same with it."
    )
    assert app.metric[3].value == "1"
    assert app.dataframe[0].value["reason recorded"].tolist() == ["not enough GPUs free"]
    assert app.dataframe[0].value["with the plan"].tolist() == [1]


def test_both_views_of_the_whole_run_open(saved: dict[str, str], runner: Runner, open_page: OpenPage) -> None:
    app = open_page(PAGE, part="Inside", run=saved[OPTIMAL], decision="1")
    assert "CPU time of 55 decisions" in said(app)
    app = app.segmented_control(key="look-at").set_value("widths").run()
    assert not app.exception
    assert "Nodes allocated of 6, mean over the run" in said(app)


def test_an_odd_decision_in_the_link_becomes_the_nearest_or_the_largest_change(
    saved: dict[str, str], runner: Runner, open_page: OpenPage
) -> None:
    key = f"look-number-{saved[OPTIMAL]}"
    assert open_page(PAGE, part="Inside", run=saved[OPTIMAL], decision="999").number_input(key=key).value == 55
    assert open_page(PAGE, part="Inside", run=saved[OPTIMAL], decision="0").number_input(key=key).value == 1
    largest = busiest(OPTIMAL)
    assert open_page(PAGE, part="Inside", run=saved[OPTIMAL], decision="x").number_input(key=key).value == largest


def test_without_a_run_that_plans_ahead_the_demo_is_offered_and_opens(
    store: Store, runner: Runner, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(look_ahead, "sample_elastic", lambda: elastic_scenario(jobs=5))
    app = open_page(PAGE, part="Inside")
    assert not app.exception
    assert "No run of this scenario shows how its policy decided" in said(app)
    app = app.button(key="look-empty").click().run()
    assert not app.exception
    assert len(app.metric) == 4
    assert sorted(store.list_runs()["policy"]) == sorted(POLICIES)


def test_a_run_of_another_policy_leads_to_the_newest_that_plans_ahead(
    saved: dict[str, str], store: Store, runner: Runner, open_page: OpenPage
) -> None:
    other = store.save_run(simulate(elastic_scenario(), "fifo").record())
    app = open_page(PAGE, part="Inside", run=other)
    assert not app.exception
    assert app.query_params["run"] in saved.values()


def test_an_unknown_run_is_told_with_a_way_on(saved: dict[str, str], runner: Runner, open_page: OpenPage) -> None:
    app = open_page(PAGE, part="Inside", run="abcdefabcdef", scenario=elastic_scenario().content_hash[:8])
    assert not app.exception
    assert "abcdef" in said(app)
    app = app.button(key="result-newest").click().run()
    assert not app.exception
    assert len(app.metric) == 4


def test_a_computation_that_fails_is_told_and_can_be_tried_again(
    saved: dict[str, str], runner: Runner, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = StoredRun
    monkeypatch.setattr(look_ahead, "StoredRun", lambda _scenario, known: real(elastic_scenario(jobs=3), known))
    app = open_page(PAGE, part="Inside", run=saved[OPTIMAL], decision="1")
    assert not app.exception
    assert "asks about scenario" in said(app)
    monkeypatch.setattr(look_ahead, "StoredRun", real)
    app = app.button(key="look-again").click().run()
    assert not app.exception
    assert len(app.metric) == 4


def test_cancelled_work_is_told_and_can_be_started_again(
    saved: dict[str, str], runner: Runner, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = runner.submit

    def cancelled(questions: Iterable[StudyTask]) -> list[str]:
        monkeypatch.setattr(runner, "_fill", lambda: None)  # they stay in the queue
        ids = real(questions)
        runner.cancel(ids)
        return ids

    monkeypatch.setattr(runner, "submit", cancelled)
    app = open_page(PAGE, part="Inside", run=saved[OPTIMAL], decision="1")
    assert not app.exception
    assert "Cancelled. Nothing was kept." in said(app)
    monkeypatch.setattr(runner, "submit", real)
    runner._fill = type(runner)._fill.__get__(runner)  # type: ignore[method-assign]
    app = app.button(key="look-again").click().run()
    assert not app.exception
    assert len(app.metric) == 4


def test_where_nodes_are_shared_the_page_says_what_jobs_got(store: Store, runner: Runner, open_page: OpenPage) -> None:
    run = simulate(crowded_scenario("unequal nodes"), OPTIMAL)
    found = window(run.scenario, OPTIMAL, 1, 30)
    number = next(one.number for one in found if one.got != one.first)
    app = open_page(PAGE, part="Inside", run=store.save_run(run.record()), decision=str(number))
    assert not app.exception
    assert "not as decided" in said(app)
    app = app.toggle(key="table-look-plan").set_value(True).run()
    table = app.dataframe[0].value
    assert table["carried out"].tolist() == list(found[number - 1].got)
    assert table["change now"].tolist() == (table["carried out"] - table["before"]).tolist()


def test_from_a_decision_to_the_story_of_a_job_and_back(
    saved: dict[str, str], runner: Runner, open_page: OpenPage
) -> None:
    app = open_page(PAGE, part="Inside", run=saved[OPTIMAL], decision="1")
    job = app.selectbox(key=f"look-job-{saved[OPTIMAL]}-1")
    assert job.value == "job 0"  # the sentence names it
    job.set_value("job 2").run()
    app = app.button(key="look-story").click().run()
    assert not app.exception
    assert app.title[0].value == "Run details"
    assert app.query_params["run"] == saved[OPTIMAL]
    assert app.query_params["job"] == "2"
    assert app.header[0].value.replace("\\", "").startswith("Job job 2:")
    app = app.segmented_control(key="part").set_value("Inside").run()
    assert not app.exception
    assert app.number_input(key=f"look-number-{saved[OPTIMAL]}").value == 1
    assert app.query_params["run"] == saved[OPTIMAL]


def test_only_runs_that_plan_ahead_have_an_inside(saved: dict[str, str], store: Store, open_page: OpenPage) -> None:
    other = store.save_run(simulate(elastic_scenario(), "fifo").record())
    assert "Inside" in open_page(PAGE, run=saved[GREEDY]).segmented_control(key="part").options
    assert "Inside" not in open_page(PAGE, run=other).segmented_control(key="part").options


def test_from_inside_to_a_policy_without_one_the_overview_opens(
    saved: dict[str, str], store: Store, runner: Runner, open_page: OpenPage
) -> None:
    other = store.save_run(simulate(elastic_scenario(), "fifo").record())
    app = open_page(PAGE, run=saved[OPTIMAL], part="Inside", decision="2")
    app = app.segmented_control(key=f"result-policy-{saved[OPTIMAL]}").set_value("FIFO").run()
    assert not app.exception
    assert app.query_params["run"] == other
    assert "decision" not in app.query_params
    assert app.segmented_control(key="part").value == "Overview"
    assert app.header[0].value.replace("\\", "").startswith("FIFO: ")


def test_beyond_forty_jobs_the_rest_is_folded(store: Store, runner: Runner, open_page: OpenPage) -> None:
    run = store.save_run(simulate(elastic_scenario(jobs=60, nodes=64), OPTIMAL).record())
    app = open_page(PAGE, part="Inside", run=run, decision="13")
    app = app.toggle(key="table-look-plan").set_value(True).run()
    few = len(app.dataframe[0].value)
    assert 0 < few <= 40
    app = app.toggle(key="look-all").set_value(True).run()
    assert not app.exception
    assert len(app.dataframe[0].value) > 40
