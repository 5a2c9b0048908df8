"""The page Run details: what a run says, the view in the URL, moves without a mouse, one job's story."""

from __future__ import annotations

from unittest.mock import Mock

import pytest
import streamlit as st

from dlsched.domain.cluster import Cluster, VmType
from dlsched.domain.scenario import SimulationRules
from dlsched.figures import result
from dlsched.studies.design import Futures, Variant, run_variants
from dlsched.studies.simulation import simulate
from dlsched.ui.frame import futures
from dlsched.ui.results import jobs
from dlsched.wording.formats import duration
from tests.support.recorded_week import recorded_week
from tests.support.runs_for_store import small_scenario

ENGINE = {"restart_s": 1.0}
PAGE = "results/run_details.py"


@pytest.fixture
def scenario():
    """Twelve jobs on four GPUs: the later ones wait, and those with due times are late."""
    return small_scenario(jobs=12, options=SimulationRules(**ENGINE))


def run(store, scenario, policy="fifo", seed=0):
    return store.save_run(simulate(scenario, policy, seed=seed).record())


def plain(element) -> str:
    return element.value.replace("\\", "")


def test_the_sentence_the_cards_and_the_next_step(store, scenario, open_page):
    app = open_page(PAGE, run=run(store, scenario))
    assert not app.exception
    assert plain(app.header[0]).startswith("FIFO: half of the jobs started within ")
    assert [card.label for card in app.metric] == ["p95 wait", "Share of late jobs", "Total cost", "GPUs allocated"]
    assert app.metric[1].value == "33.3% (2)"  # jobs 8 and 10 end at 183 and 203 s, due at 170 and 190 s
    assert app.button(key="result-next").label == "Run another policy"


def test_without_due_times_and_prices_other_cards(store, open_page):
    given = small_scenario(jobs=3, options=SimulationRules(**ENGINE))
    free = Cluster(slots=2, catalogue=(VmType(name="two", gpus=2), VmType(name="four", gpus=4)))
    jobs = given.workload.from_columns(
        {"job_id": ["a", "b", "c"], "submit_s": [0.0, 1.0, 2.0], "work": [60.0] * 3, "workers": [2, 4, 2]}
    )
    saved = run(store, given.replace(workload=jobs, cluster=free))
    app = open_page(PAGE, run=saved)
    assert not app.exception
    assert [card.label for card in app.metric] == ["p95 wait", "Mean slowdown", "GPUs allocated"]
    app = open_page(PAGE, run=saved, part="Cost")
    assert not app.exception
    assert "No price is set" in app.info[0].value


def test_the_policy_is_switched_in_the_header_and_the_part_stays(store, scenario, open_page):
    base, other = run(store, scenario), run(store, scenario, "sjf")
    app = open_page(PAGE, run=other, part="Cost")
    assert not app.exception
    assert plain(app.header[0]).startswith("SJF: ")
    assert app.button(key="result-next").label == "Compare both"
    switch = app.segmented_control(key=f"result-policy-{other}")
    assert switch.options == ["FIFO", "SJF"]
    app = switch.set_value("FIFO").run()
    assert not app.exception
    assert app.query_params["run"] == base
    assert app.query_params["part"] == "Cost"
    assert plain(app.header[0]).startswith("FIFO: ")


def test_charts_of_a_run_are_made_once_for_all_sessions(store, scenario, open_page, monkeypatch):
    saved, other = run(store, scenario), run(store, small_scenario(jobs=8, options=SimulationRules(**ENGINE)))
    make = Mock(wraps=result.held_and_queue)
    monkeypatch.setattr(result, "held_and_queue", make)
    charts = [open_page(PAGE, run=one).get("plotly_chart") for one in (saved, saved, other, saved)]
    assert make.call_count == 2  # one for each of the two runs
    specs = [[chart.proto.spec for chart in shown] for shown in charts]
    assert specs[0] == specs[1] == specs[3] != specs[2]
    assert all(len(shown) >= 3 for shown in specs)


def test_values_are_of_the_recorded_month_with_their_range_over_the_others(store, open_page, runner):
    week = recorded_week()
    done = simulate(week, "fifo")
    saved = store.save_run(done.record())
    futures.choose(week, Futures.first(12, {"days": 1}))
    app = open_page(PAGE, run=saved)
    assert not app.exception
    assert not app.metric[0].delta  # one future has no range
    assert app.button(key="result-compute").label.startswith("Compute the other 12 futures (about ")
    app = app.button(key="result-compute").click().run()
    assert not app.exception
    assert "result-compute" not in {button.key for button in app.button}
    batch = run_variants(week, [Variant(policy="fifo")], Futures.first(12, {"days": 1}))
    waits = [float((of.metrics or {})["wait_p95"] or 0) for of in batch.results[0]]
    assert waits[0] == done.metrics["wait_p95"]
    low, high = sorted(waits[1:])[1], sorted(waits[1:])[-2]  # the middle 8 of 10, one of 12 left out on each side
    assert app.metric[0].value == duration(waits[0])
    assert app.metric[0].delta == f"{duration(low)} to {duration(high)}"
    assert sum("values are of the recorded month" in plain(text).lower() for text in app.markdown) == 1


def test_drawn_jobs_show_their_mean_over_futures(store, open_page, runner):
    given = small_scenario(jobs=12, options=SimulationRules(bug_share=0.5, bug_within_s=20.0, **ENGINE))
    saved = store.save_run(simulate(given, "fifo").record())
    futures.choose(given, Futures.first(4))
    app = open_page(PAGE, run=saved).button(key="result-compute").click().run()
    assert not app.exception
    waits = [float(simulate(given, "fifo", seed=seed).metrics["wait_p95"] or 0) for seed in range(5)]
    assert app.metric[0].value == duration(sum(waits) / 5)


def test_runs_in_full_are_chosen_one_by_one(store, open_page):
    given = small_scenario(jobs=12, options=SimulationRules(bug_share=0.5, bug_within_s=20.0, **ENGINE))
    runs = [run(store, given, seed=seed) for seed in range(3)]
    app = open_page(PAGE, run=runs[0])
    chooser = app.selectbox(key=f"future-{runs[0]}")
    assert chooser.options == ["Future 0", "Future 1", "Future 2"]
    app = chooser.select_index(2).run()
    assert not app.exception
    assert app.query_params["run"] == runs[2]
    assert app.selectbox(key=f"future-{runs[2]}").value == 2


def test_unknown_run_says_so_with_two_ways_out(store, scenario, open_page):
    run(store, scenario)
    app = open_page(PAGE, run="7f3a", scenario=scenario.content_hash[:8])
    assert not app.exception
    assert "Run 7f3a is not in this store" in plain(app.error[0])
    app = app.button(key="result-newest").click().run()
    assert plain(app.header[0]).startswith("FIFO: ")


def test_the_newest_run_is_named_in_the_url_because_there_may_be_a_newer_one(store, scenario, open_page):
    saved = run(store, scenario)
    app = open_page(PAGE, scenario=scenario.content_hash[:8])
    assert app.query_params["run"] == saved


def test_no_run_yet(store, scenario, open_page):
    saved = store.save_scenario(scenario)
    app = open_page(PAGE, scenario=saved.scenario_hash[:8])
    assert not app.exception
    assert app.button(key="result-empty").label == "Go to Run"


def test_too_much_load_is_said_before_anything(store, scenario, open_page):
    app = open_page(PAGE, run=run(store, scenario))
    assert "Jobs ask for 164% of what 4 GPUs can do" in plain(app.warning[0])


@pytest.fixture
def gantt(store, scenario, open_page):
    """The Gantt of a run of two and a half minutes or so."""
    return open_page(PAGE, run=run(store, scenario), part="Timeline")


def window_of(app) -> tuple[str, ...]:
    return tuple(app.query_params.get(name, "") for name in ("from", "to", "rows"))


def test_moves_without_a_mouse_are_in_the_url(gantt):
    assert not gantt.exception
    assert window_of(gantt) == ("", "", "")
    assert gantt.text_input(key="g-from").value == "day 0, 00:00:00"
    app = gantt.button(key="g-in").click().run()
    # The run of 213 s, from a quarter of it to three.
    assert window_of(app) == ("53", "160", "0-1")
    app = app.text_input(key="g-to").set_value("day 0, 00:01:40").run()
    assert window_of(app) == ("53", "100", "0-1")
    app = app.text_input(key="g-to").set_value("soon").run()
    assert "is written as day 26, 08" in app.warning[-1].value
    assert window_of(app) == ("53", "100", "0-1")
    app = app.text_input(key="g-nodes").set_value("1").run()
    assert window_of(app)[2] == "1-1"
    app = app.text_input(key="g-nodes").set_value("one").run()
    assert app.warning[-1].value == "Nodes are written first-last, as 0-7."
    assert window_of(app)[2] == "1-1"
    assert app.text_input(key="g-nodes").value == "1-1"
    app = app.button(key="g-all").click().run()
    assert window_of(app) == ("", "", "")


def test_the_url_brings_the_window_back(store, scenario, open_page):
    app = open_page(PAGE, run=run(store, scenario), part="Timeline", **{"from": "30", "to": "90", "rows": "1-1"})
    assert not app.exception
    assert (app.text_input(key="g-from").value, app.text_input(key="g-to").value) == (
        "day 0, 00:00:30",
        "day 0, 00:01:30",
    )
    assert app.text_input(key="g-nodes").value == "1-1"


def test_a_job_is_found_by_its_name_and_its_story_opens(gantt):
    app = gantt.text_input(key="g-find").set_value("job 7").run()
    assert app.selectbox(key="gantt-job").value == "job 7"
    app = app.text_input(key="g-find").set_value("nobody").run()
    assert app.warning[-1].value == "This run has no job nobody."
    app = app.button(key="gantt-open-job").click().run()
    assert not app.exception
    assert app.query_params["part"] == "Jobs"
    assert app.query_params["job"] == "7"
    assert plain(app.header[0]).startswith("Job job 7: waited ")


@pytest.mark.parametrize("rows", ["jobs", "users"])
def test_rows_by_job_and_by_user(gantt, rows):
    app = gantt.segmented_control(key="gantt-rows").set_value(rows).run()
    assert not app.exception
    assert app.toggle(key="table-job-bars" if rows == "jobs" else "table-users")


def test_colour_by_user_can_highlight_one(gantt):
    app = gantt.segmented_control(key="gantt-colour").set_value("user").run()
    assert app.selectbox(key="gantt-light-user").options == ["all", "ann", "bob"]
    assert not app.selectbox(key="gantt-light-user").set_value("bob").run().exception


def test_the_story_of_the_job_in_the_url_and_a_number_nobody_has(store, scenario, open_page):
    first, _ = run(store, scenario), run(store, scenario, "sjf")
    app = open_page(PAGE, run=first, part="Jobs", job="11")
    assert not app.exception
    assert plain(app.header[0]).startswith("Job job 11: waited ")
    assert [card.label for card in app.metric] == ["Wait", "Run", "Late by", "Cost"]
    assert app.toggle(key="table-job-runs")  # the same job under the other run
    app = open_page(PAGE, run=first, part="Jobs", job="999")
    assert not app.exception
    assert "12 jobs, none with number 999" in app.warning[-1].value


def test_jobs_are_filtered(store, scenario, open_page):
    app = open_page(PAGE, run=run(store, scenario), part="Jobs")
    app = app.text_input(key="jobs-filter").set_value("bob").run()
    assert "6 of 6 jobs shown" in "".join(plain(text) for text in app.markdown)
    app = app.checkbox(key="jobs-late").check().run()
    assert "0 of 0 jobs shown" in "".join(plain(text) for text in app.markdown)
    assert not app.exception


def test_a_story_of_another_scenario_is_not_taken_over(store, scenario, open_page):
    app = open_page(PAGE, run=run(store, scenario), part="Jobs", job="3")
    app.session_state[jobs.CHOSEN] = ("another scenario", 5)
    assert plain(app.run().header[0]).startswith("Job job 3: ")


def test_numbers_and_cost_tabs_show_every_metric(store, scenario, open_page):
    saved = run(store, scenario)
    app = open_page(PAGE, run=saved, part="Numbers")
    assert not app.exception
    assert "wait_p95" in list(app.dataframe[0].value["Name in files"])
    assert len(app.get("download_button")) >= 10
    app = open_page(PAGE, run=saved, part="Cost")
    assert not app.exception
    assert app.subheader[0].value == "2 late jobs, latest first"


def test_a_scenario_opens_at_future_0_and_the_tab_names_the_policy(store, open_page, monkeypatch):
    given = small_scenario(jobs=12, options=SimulationRules(bug_share=0.5, bug_within_s=20.0, **ENGINE))
    runs = [run(store, given, seed=seed) for seed in range(3)]
    named: list[str] = []
    monkeypatch.setattr(st, "set_page_config", lambda **given: named.append(given.get("page_title", "")))
    app = open_page(PAGE, scenario=given.content_hash[:8])
    assert not app.exception
    assert app.query_params["run"] == runs[0]
    assert named[-1] == "FIFO · Run details · four jobs · dlsched"
