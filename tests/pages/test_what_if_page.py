"""The page What if: moving controls, undoing, links, futures, slow answers, options, what cannot be computed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dlsched.domain.cluster import Cluster, Pool, Terms, VmType
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.workload import Workload
from dlsched.metrics.kpi import KPIS
from dlsched.runner.background import Runner
from dlsched.store import Store
from dlsched.studies import registry
from dlsched.studies.design import Futures, Variant, factors, run, usual_futures
from dlsched.studies.simulation import simulate
from dlsched.studies.study import Study
from dlsched.studies.what_if import WhatIfSpec, run_what_if, unchanged
from dlsched.studies.what_if.answer import comparison_of
from dlsched.studies.what_if.words import sentence
from dlsched.ui.plan import what_if_row, what_if_state
from tests.support.page_text import shown
from tests.support.recorded_jobs import recorded_scenario
from tests.support.runs_for_store import small_scenario

PAGE = "plan/what_if.py"
WAIT_S = 60
DAY_S = 86_400.0
ODD = "<b>a100</b> [x](y) $5"
OpenPage = Callable[..., AppTest]


def queued(**changes: Any) -> Scenario:
    """Return 12 jobs of 2 GPUs and 60 s, 10 s apart, on two nodes of 2 GPUs: they wait."""
    jobs = 12
    columns = {
        "job_id": [f"job {number}" for number in range(jobs)],
        "submit_s": 10.0 * np.arange(jobs),
        "work": np.full(jobs, 60.0),
        "workers": [2] * jobs,
        "due_s": 10.0 * np.arange(jobs) + 90,
        "user": ["ann", "bob"] * 6,
    }
    cluster = Cluster(pools=(Pool(vm=VmType(name="two", gpus=2, usd_per_h=3.6), count=2),))
    values: dict[str, Any] = {"workload": Workload.from_columns(columns), "cluster": cluster, "name": "queued"}
    return Scenario(**values | changes)


def opened(
    store: Store, open_page: OpenPage, scenario: Scenario, futures: Futures | None = None, **params: Any
) -> AppTest:
    """Open the page about a scenario, whose futures were chosen before where they are given."""
    info = store.save_scenario(scenario)
    if futures is not None:
        store.set_setting(f"futures/{info.lineage}", {"count": futures.count, "vary": futures.vary})
    app = open_page(PAGE, scenario=info.scenario_hash, **params)
    assert not app.exception
    return app


def said(app: AppTest) -> str:
    return str(app.header[0].value).replace("\\", "")


def cards(app: AppTest) -> list[str]:
    """Return what stands on the cards below their values, without the escapes of markdown."""
    marks = (":small[:gray[", ":blue[**", ":orange[**")
    return [text for one in app.markdown if (text := one.value.replace("\\", "")).startswith(marks)]


def link(app: AppTest) -> dict[str, list[str]]:
    return {name: [value] if isinstance(value, str) else value for name, value in app.query_params.items()}


def keys(app: AppTest) -> set[str | None]:
    return {button.key for button in app.button}


def blue(app: AppTest) -> list[str | None]:
    """Return the keys of the primary buttons: one a page, the next step."""
    return [button.key for button in app.button if button.proto.type == "primary"]


def expected(scenario: Scenario, changed: Variant, futures: Futures | None = None, **condition: Any) -> str:
    futures = futures or usual_futures(scenario)
    spec = unchanged(scenario, "fifo", futures=futures).model_copy(update={"changed": changed, "condition": condition})
    answer = run_what_if(spec, scenario)
    return sentence(answer, comparison_of(answer))


@pytest.mark.usefixtures("runner")
def test_rented_nodes_are_reserved_or_fetched_later_by_one_click(store: Store, open_page: OpenPage) -> None:
    own, cloud = (Pool(vm=VmType(name=name, gpus=2, usd_per_h=3.6), count=1) for name in ("own", "cloud"))
    rented = cloud.model_copy(update={"terms": Terms(kind="on-demand", boot_s=20)})
    given = queued(cluster=Cluster(pools=(own, rented)))
    app = opened(store, open_page, given).button(key="whatif-try-reserved").click().run()
    assert said(app) == expected(given, Variant(policy="fifo", changes={"terms.cloud": "reserved"}))
    assert app.selectbox(key="whatif-terms.cloud").value == "reserved"
    later = opened(store, open_page, given).button(key="whatif-try-burst").click().run()
    assert said(later) == expected(given, Variant(policy="fifo", changes={"burst_wait": 1800.0}))
    assert later.text_input(key="whatif-burst_wait").value == "30 min"
    assert "whatif-try-burst" not in keys(opened(store, open_page, queued()))


@pytest.mark.usefixtures("runner")
def test_a_moved_control_changes_the_answer_and_the_link(store: Store, open_page: OpenPage) -> None:
    app = opened(store, open_page, queued())
    assert said(app).startswith("Today, under FIFO: late jobs ")
    assert "exact for this trace, not a forecast" in said(app)
    assert app.number_input(key="whatif-nodes").label == "Nodes, today 2"
    app = app.button(key="whatif-try-nodes").click().run()
    assert said(app) == expected(queued(), Variant(policy="fifo", changes={"nodes": 3}))
    assert said(app).startswith("One more node cuts late jobs from ")
    assert app.number_input(key="whatif-nodes").value == 3
    assert app.number_input(key="whatif-nodes").label == ":violet[**Nodes, today 2**]"
    assert (app.metric[0].label, app.metric[3].label) == ("Share of late jobs", "Cost per month")
    assert any(line.startswith(":orange[**+$") and line.endswith("], worse") for line in cards(app))
    assert any(line.startswith(":blue[**−") and line.endswith("], better") for line in cards(app))
    assert link(app)["set"] == ["nodes:3"]
    app = app.slider(key="whatif-demand").set_value(0.5).run()
    assert link(app)["set"] == ["demand:0.5", "nodes:3"]  # what happens comes first
    app = app.selectbox(key="whatif-policy").set_value("sjf").run()
    assert link(app)["to"] == ["sjf"]
    assert said(app) == expected(queued(), Variant(policy="sjf", changes={"nodes": 3}), demand=0.5)
    assert "With:" in shown(app)  # what happens stands apart from what is chosen
    assert "Option:" in shown(app)
    assert app.button(key="whatif-drop-demand").label == "50% fewer jobs ✕"
    assert any(line.startswith(":small[:gray[Doing nothing ") and ", today " in line for line in cards(app))
    assert not app.exception


@pytest.mark.usefixtures("runner")
def test_changes_are_taken_back_one_by_one_in_turn_and_all_at_once(store: Store, open_page: OpenPage) -> None:
    app = opened(store, open_page, queued(), set=["nodes:3", "demand:1.5"], to="las", param=["quantum_s:120"])
    both = said(app)
    assert both.startswith("With 50% more jobs, one more node, LAS instead of FIFO and LAS, quantum ")
    app = app.button(key="whatif-drop-param.quantum_s").click().run()
    assert "param" not in app.query_params
    app = app.button(key="whatif-drop-demand").click().run()
    assert link(app)["set"] == ["nodes:3"]
    assert app.slider(key="whatif-demand").value == 1
    app = app.button(key="whatif-drop-policy").click().run()
    assert said(app) == expected(queued(), Variant(policy="fifo", changes={"nodes": 3}))
    for _ in range(3):
        app = app.button(key="whatif-undo").click().run()
    assert said(app) == both
    assert app.button(key="whatif-undo").disabled
    app = app.button(key="whatif-reset").click().run()
    assert said(app).startswith("Today, under FIFO")
    assert app.button(key="whatif-reset").disabled
    assert "set" not in app.query_params


@pytest.mark.usefixtures("runner")
def test_a_link_reopens_exactly_this_view(store: Store, open_page: OpenPage) -> None:
    app = opened(store, open_page, queued())
    app = app.number_input(key="whatif-nodes").set_value(4).run()
    app = app.slider(key="whatif-demand").set_value(1.5).run()
    first, named = said(app), link(app)
    assert named["set"] == ["demand:1.5", "nodes:4"]
    again = open_page(PAGE, **{name: values for name, values in named.items() if name != "scenario"},
                      scenario=queued().content_hash[:8])  # fmt: skip
    assert said(again) == first
    assert again.number_input(key="whatif-nodes").value == 4
    assert len(store.list_experiments("what-if")) == 3  # as it was, four nodes, more jobs too: nothing new is asked


@pytest.mark.usefixtures("runner")
def test_same_seed_same_numbers_on_the_page_and_in_two_runs(store: Store, open_page: OpenPage) -> None:
    app = opened(store, open_page, queued(), set=["durations:2"])
    run = simulate(queued(), "fifo")
    late = run.metrics["late_share"]
    assert late is not None
    assert f"from {100 * late:.1f}".removesuffix(".0") in said(app)


@pytest.mark.usefixtures("runner")
def test_nothing_random_is_exact_until_something_varies(store: Store, open_page: OpenPage) -> None:
    app = opened(store, open_page, queued(), set=["nodes:3"])
    assert "exact for this trace, not a forecast" in said(app)
    assert "±" not in shown(app)
    assert not any(" in all " in line for line in cards(app))  # no range where there is one future
    varied = Futures.first(3, {"run_time_spread": 0.3})
    app = opened(store, open_page, queued(), varied, set=["nodes:3"])
    assert "this month as recorded and 3 simulated versions of it" in said(app)
    assert any(line.endswith(", in all simulated versions]]") for line in cards(app))
    assert said(app) == expected(queued(), Variant(policy="fifo", changes={"nodes": 3}), varied)


@pytest.mark.usefixtures("runner")
def test_a_trace_of_days_is_told_as_recorded_first_with_its_range_over_futures(
    store: Store, open_page: OpenPage
) -> None:
    jobs = queued().workload
    days = jobs.with_columns(submit_s=jobs.submit_s + DAY_S * np.repeat(np.arange(6), [1, 1, 1, 2, 3, 4]), due_s=None)
    weeks = queued(workload=days.with_columns(workers=np.array([4] * 12)))
    app = opened(store, open_page, weeks, set=["durations:2"])
    assert "this month as recorded and 40 months reshuffled from its days" in said(app)
    doubled = weeks.workload.with_columns(work=2 * weeks.workload.work)
    wait_s = simulate(weeks.replace(workload=doubled), "fifo").metrics["wait_p95"]
    assert app.metric[1].value == KPIS["wait_p95"].show(wait_s)  # as recorded, exactly
    assert any(line.endswith(", in 8 of 10 months]]") for line in cards(app))


@pytest.mark.usefixtures("runner")
def test_under_slurm_a_recorded_log_is_told_by_the_mean_of_its_replays_until_other_futures_are_chosen(
    store: Store, open_page: OpenPage
) -> None:
    given = recorded_scenario("fifo", jobs=60)
    app = opened(store, open_page, given, policy=["slurm"], set=["nodes:3"])
    changed = Variant(policy="slurm", changes={"nodes": 3})
    answer = run_what_if(unchanged(given, "slurm").model_copy(update={"changed": changed}), given)
    assert said(app) == sentence(answer, comparison_of(answer))
    assert "mean of 20 replays of this log" in said(app)
    alone = opened(store, open_page, given, Futures.first(0), policy=["slurm"], set=["nodes:3"])
    assert "exact for this trace, not a forecast" in said(alone)


@pytest.mark.usefixtures("runner")
def test_doing_nothing_is_the_option_where_only_conditions_are_set(store: Store, open_page: OpenPage) -> None:
    app = opened(store, open_page, queued(), set=["demand:1.5"])
    assert "Option: **do nothing**" in shown(app)
    assert "whatif-keep" not in keys(app)  # what happens to you is no option
    assert app.button(key="whatif-report").disabled
    assert "cheaper" not in said(app)
    app = app.button(key="whatif-try-nodes").click().run()
    assert said(app) == expected(queued(), Variant(policy="fifo", changes={"nodes": 3}), demand=1.5)
    assert not app.button(key="whatif-report").disabled


@pytest.mark.usefixtures("runner")
def test_the_policy_of_today_is_said_once_and_never_follows_the_run_looked_at(
    store: Store, open_page: OpenPage
) -> None:
    ran = store.save_run(simulate(queued(), "sjf").record("SJF"))
    app = opened(store, open_page, queued(), run=ran)
    assert said(app).startswith("Today, under FIFO: ")
    assert "FIFO, assumed" in what_if_row.baseline_words(app.session_state[what_if_state.SPEC], queued())
    app = app.selectbox(key="whatif-baseline").set_value("las").run()
    assert said(app).startswith("Today, under LAS: ")
    assert what_if_row.baseline_words(app.session_state[what_if_state.SPEC], queued()) == "Today: LAS"
    later = open_page(PAGE, scenario=queued().content_hash)
    assert said(later).startswith("Today, under LAS: ")
    other = open_page(PAGE, scenario=queued().content_hash, policy="sjf")
    assert what_if_row.baseline_words(other.session_state[what_if_state.SPEC], queued()) == "Compared with SJF"
    other = other.button(key="whatif-say-today").click().run()
    assert what_if_row.baseline_words(other.session_state[what_if_state.SPEC], queued()) == "Today: SJF"


@pytest.mark.usefixtures("runner")
def test_further_changes_get_controls_of_their_own(store: Store, open_page: OpenPage) -> None:
    app = opened(store, open_page, queued())
    app = app.selectbox(key="whatif-add").set_value("restart_s").run()
    app = app.button(key="whatif-add-now").click().run()
    assert app.text_input(key="whatif-restart_s").label == "Restart (min), today 0 s"
    app = app.text_input(key="whatif-restart_s").set_value("0.5").run()
    assert link(app)["set"] == ["restart_s:30"]
    assert said(app).startswith("Restart 30 s instead of 0 s ")
    app = app.button(key="whatif-remove-restart_s").click().run()
    assert "set" not in app.query_params
    assert not app.exception


@pytest.mark.usefixtures("runner")
def test_a_failure_at_a_given_time_is_typed_and_a_bad_one_can_be_taken_back(store: Store, open_page: OpenPage) -> None:
    app = opened(store, open_page, queued(), set=["failure_at:0@0.01for2"])
    assert said(app).startswith("A failure of node 0 after 36 s for 2 h raises late jobs ")
    app = app.text_input(key="whatif-failure_at").set_value("9@1for1").run()
    assert "there is no node 9, the last one is node 1" in shown(app)
    assert not app.header
    app = app.button(key="whatif-back").click().run()
    assert said(app).startswith("A failure of node 0 ")


def test_what_takes_long_is_computed_when_the_reader_says_so(
    store: Store, runner: Runner, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(what_if_state, "SLOW_S", 0.0)
    monkeypatch.setattr(what_if_state, "ROUGH_S", 0.0)
    futures = Futures.first(4, {"run_time_spread": 0.3})
    app = opened(store, open_page, queued(), futures, set=["nodes:3"])
    assert app.button(key="whatif-apply").label.startswith("Confirm with 4 futures, about ")
    assert store.list_experiments("what-if") == []
    app = app.button(key="whatif-apply").click().run()
    assert runner.wait(WAIT_S)
    app = app.run()
    assert said(app) == expected(queued(), Variant(policy="fifo", changes={"nodes": 3}), futures)
    assert len(store.list_experiments("what-if")) == 2  # future 0, and all of them
    assert "whatif-apply" not in keys(app)
    # another value of the same control waits for the word, and shows meanwhile what was there
    app = app.number_input(key="whatif-nodes").set_value(4).run()
    assert "whatif-apply" in keys(app)
    assert "Below is the answer to the previous question." in shown(app)
    assert said(app).startswith("One more node ")
    # what was answered is there at once
    app = app.number_input(key="whatif-nodes").set_value(3).run()
    assert "whatif-apply" not in keys(app)


@pytest.mark.usefixtures("runner")
def test_where_one_future_is_quick_the_recorded_month_comes_by_itself(
    store: Store, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(what_if_state, "plan_s", lambda plan, *_: 1.0 * len(plan.spec.futures.seeds))
    futures = Futures.first(4, {"run_time_spread": 0.3})
    app = opened(store, open_page, queued(), futures, set=["nodes:3"])
    assert "this month as recorded" in said(app)
    assert app.button(key="whatif-apply").label == "Confirm with 4 futures, about 5 s"
    assert blue(app) == ["whatif-apply"]
    assert app.button(key="whatif-report").disabled
    (info,) = store.list_experiments("what-if")
    assert len(store.get_experiment(info.experiment_id).spec["futures"]["seeds"]) == 1
    recorded = [metric.value for metric in app.metric]
    app = app.button(key="whatif-apply").click().run()
    app = app.run()
    assert "this month as recorded and 4 simulated versions of it" in said(app)
    assert [metric.value for metric in app.metric] == recorded  # the recorded value stays; its range is added
    assert "whatif-apply" not in keys(app)
    other = Futures.first(4, {"run_time_spread": 0.4})
    assert blue(opened(store, open_page, queued(), other)) == ["whatif-try-nodes"]


@pytest.mark.usefixtures("runner")
def test_one_future_of_what_is_drawn_is_a_rough_preview_without_verdicts(
    store: Store, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(what_if_state, "plan_s", lambda plan, *_: 1.0 * len(plan.spec.futures.seeds))
    drawn = queued(options=SimulationRules(estimate_error=0.3))
    app = opened(store, open_page, drawn, set=["nodes:3"], policy="sjf")
    assert "rough preview" in said(app)
    assert not any(one.value.startswith((":blue[", ":orange[")) for one in app.markdown)


@pytest.mark.usefixtures("runner")
def test_an_answer_is_kept_as_an_option_listed_opened_and_removed(store: Store, open_page: OpenPage) -> None:
    app = opened(store, open_page, queued())
    assert "whatif-keep" not in keys(app)  # nothing is changed yet
    app = app.button(key="whatif-try-nodes").click().run()
    kept = said(app)
    app = app.button(key="whatif-keep").click().run()
    assert "whatif-unkeep" in keys(app)
    (option,) = store.get_setting(f"options/{queued().content_hash}")
    assert store.get_experiment(option).kind == "what-if"
    app = app.button(key="whatif-reset").click().run()
    assert kept in shown(app)
    app = app.button(key=f"whatif-open-{option}").click().run()
    assert said(app) == kept
    app = app.button(key=f"whatif-forget-{option}").click().run()
    assert store.get_setting(f"options/{queued().content_hash}") is None
    assert "whatif-keep" in keys(app)


@pytest.mark.usefixtures("runner")
def test_a_run_that_cannot_be_is_told_in_a_box(store: Store, open_page: OpenPage) -> None:
    jobs = queued().workload.with_columns(workers=np.array([4] * 12))
    app = opened(store, open_page, queued(workload=jobs), set=["nodes:1"])
    assert "A run did not come to its end" in shown(app)
    assert "can never fit" in shown(app)
    assert said(app) == "The comparison is not complete: not every run finished."
    assert not app.metric
    assert "whatif-keep" not in keys(app) or app.button(key="whatif-keep").disabled


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"set": ["nods:3"]}, "link, set=nods:3"),
        ({"policy": "fof"}, "fof"),
    ],
    ids=("change", "policy"),
)
@pytest.mark.usefixtures("runner")
def test_a_bad_link_says_what_is_wrong_and_begins_anew(
    store: Store, open_page: OpenPage, params: dict[str, Any], words: str
) -> None:
    app = opened(store, open_page, queued(), **params)
    assert words in shown(app)
    (way_out,) = {"whatif-anew"} & keys(app)
    app = app.button(key=way_out).click().run()
    assert not app.exception
    assert said(app).startswith("Today, under FIFO")


@pytest.mark.usefixtures("runner")
def test_a_stored_answer_opens_by_its_id(store: Store, open_page: OpenPage) -> None:
    scenario = queued()
    store.save_scenario(scenario)
    spec = WhatIfSpec(scenario=scenario.content_hash, baseline=Variant(policy="fifo"), changed=Variant(policy="sjf"))
    record = registry.compute("what-if", spec.model_dump(mode="json"), subject=scenario)
    app = open_page(PAGE, experiment=store.save_experiment(record))
    assert not app.exception
    assert app.session_state["scenario_hash"] == scenario.content_hash
    assert app.selectbox(key="whatif-policy").value == "sjf"
    assert "experiment" not in app.query_params
    missing = open_page(PAGE, experiment="0" * 12)
    assert "Experiment 000000000000 is not in this store" in shown(missing)
    assert said(missing)  # the page goes on without it


@pytest.mark.usefixtures("runner")
def test_names_that_users_gave_are_shown_letter_by_letter(store: Store, open_page: OpenPage) -> None:
    pools = (Pool(vm=VmType(name=ODD, gpus=2, usd_per_h=3.6), count=2),
             Pool(vm=VmType(name="other", gpus=2, usd_per_h=3.6), count=1))  # fmt: skip
    app = opened(store, open_page, queued(cluster=Cluster(pools=pools)), set=[f"nodes.{ODD}:3"])
    assert ODD in said(app)
    assert "\\<b\\>" in app.header[0].value
    assert app.number_input(key=f"whatif-nodes.{ODD}").value == 3
    assert app.number_input(key="whatif-nodes.other").value == 1


@pytest.mark.usefixtures("runner")
def test_free_slots_and_random_scenarios_open_too(store: Store, open_page: OpenPage) -> None:
    slots = Cluster(slots=3, catalogue=(VmType(name="two", gpus=2, usd_per_h=3.6), VmType(name="four", gpus=4)))
    app = opened(store, open_page, queued(cluster=slots), set=["vm_types:two"])
    assert said(app).startswith("Only the VM types two ")
    app = opened(store, open_page, queued(options=SimulationRules(estimate_error=0.3)), to="sjf")
    assert "21 simulated versions of the workload" in said(app)


@pytest.mark.usefixtures("runner")
def test_another_scenario_begins_with_a_question_of_its_own(store: Store, open_page: OpenPage) -> None:
    app = opened(store, open_page, queued(), set=["nodes:3"])
    other = store.save_scenario(small_scenario())
    app.query_params["scenario"] = other.scenario_hash
    app = app.run()
    assert not app.exception
    assert said(app).startswith("Today, under FIFO")
    assert "set" not in app.query_params


@pytest.mark.parametrize("page", ["results/run_details.py", "results/compare.py"])
@pytest.mark.usefixtures("runner")
def test_result_and_compare_lead_here_with_their_run_as_the_baseline(
    store: Store, open_page: OpenPage, page: str
) -> None:
    scenario = queued()
    runs = [simulate(scenario, policy, params) for policy, params in (("las", {"quantum_s": 120.0}), ("sjf", {}))]
    ids = [store.save_run(run.record(run.policy)) for run in runs]
    named = {"run": ids[0]} if page.endswith("run_details.py") else {"runs": ",".join(ids), "base": ids[0]}
    app = open_page(page, scenario=scenario.content_hash, **named)
    key = "result-whatif" if page.endswith("run_details.py") else "compare-whatif"
    app = app.button(key=key).click().run()
    assert not app.exception
    assert app.title[0].value == "What if"
    assert said(app).startswith("Today, under LAS: " if page.endswith("run_details.py") else "Two more nodes")
    assert link(app).get("set", []) == (
        [] if page.endswith("run_details.py") else [f"nodes:{scenario.cluster.num_nodes + 2}"]
    )
    assert link(app)["with"] == ["quantum_s:120.0"]


@pytest.mark.usefixtures("runner")
def test_a_moved_control_edits_the_scenario_once_and_the_question_is_never_read_again(
    store: Store, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    edits: list[Any] = []
    reads: list[Any] = []
    edit, read = factors.changed, Study.read_spec

    def by_page() -> bool:  # and not by the worker, which is a thread here
        return not threading.current_thread().name.startswith("ThreadPool")

    def edited(scenario: Scenario, changes: Any, seed: int = 0) -> Scenario:
        if by_page():
            edits.append(dict(changes))
        return edit(scenario, changes, seed)

    def was_read(study: Any, plain: Any) -> Any:
        if by_page():
            reads.append(study.kind)
        return read(study, plain)

    app = opened(store, open_page, queued(), set=["nodes:3"])
    for module in (what_if_state, factors, run):
        monkeypatch.setattr(module, "changed", edited)
    monkeypatch.setattr(Study, "read_spec", was_read)
    app = app.slider(key="whatif-demand").set_value(1.5).run()
    assert not app.exception
    assert link(app)["set"] == ["demand:1.5", "nodes:3"]
    assert edits == [{"demand": 1.5}, {"demand": 1.5, "nodes": 3}]  # doing nothing under the condition, the option
    assert reads == []  # the question travels as it is
    app = app.run()
    assert said(app).startswith("With 50% more jobs, one more node ")
    assert (len(edits), len(reads)) == (2, 0)  # nothing is changed: nothing is edited
    app = app.button(key="whatif-undo").click().run()
    assert (len(edits), len(reads)) == (2, 0)  # nor what was seen before
