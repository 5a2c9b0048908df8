"""The Run page: what can be ticked, what a run takes, what happens to it."""

import pytest

from dlsched.domain.scenario import SimulationRules
from dlsched.policies.registry import POLICIES, find
from dlsched.runner.background import RunTask, StudyTask
from dlsched.studies import cells
from dlsched.studies.design import Futures, Variant
from dlsched.studies.estimate import LEAST_S
from dlsched.ui.fields import policy_and_params
from dlsched.ui.frame import futures, futures_numbers, run_state, session
from dlsched.ui.simulate import policy_dialog, queue, run
from dlsched.workload.studies.smd import sample_server_jobs
from tests.support.assumptions import words_of
from tests.support.page_text import kept
from tests.support.recorded_week import recorded_week
from tests.support.runs_for_store import record, small_scenario
from tests.support.waiting import PATIENCE_S

ENGINE = SimulationRules(horizon_s=1e9)
"""A horizon is beyond the compiled loops, which would take long to compile here."""


@pytest.fixture
def page(open_page, store):
    """The page on four jobs without priorities."""
    saved = store.save_scenario(small_scenario(options=ENGINE))
    return open_page("simulate/run.py", scenario=saved.scenario_hash[:8])


def ticked(app) -> list[str]:
    return [box.label.strip("*") for box in app.checkbox if box.value and str(box.key).startswith("policy-")]


def untick(app, *keys: str):
    for key in keys:
        app.checkbox(key=f"policy-{key}").set_value(False)
    return app.run()


def test_recommended_policies_are_ticked_and_the_sentence_says_what_it_takes(page):
    assert not page.exception
    assert ticked(page) == ["FIFO", "SJF", "Gittins", "EDF", "SRTF"]
    assert page.header[0].value.replace("\\", "").startswith("Run 5 policies on 4 jobs: about ")
    assert page.button(key="run-now").label == "Run 5 policies"
    assert "policies" not in page.query_params
    told = [part.value for part in page.markdown]
    assert sum("Needs no run-time estimates." in text for text in told) == 3
    assert sum("Needs run-time estimates." in text for text in told) == 2


def test_a_link_names_the_policies_where_they_are_not_the_usual_ones(page, open_page):
    app = untick(page, "sjf", "gittins")
    assert app.query_params["policies"] == "fifo,edf,srtf"
    tag = app.query_params["scenario"]
    app = open_page("simulate/run.py", scenario=tag, policies="drf,fifo,sjf")
    assert ticked(app) == ["FIFO", "SJF"]
    assert app.button(key="run-now").label == "Run 3 policies"
    assert app.button(key="remove-drf").click().run().button(key="run-now").label == "Run 2 policies"
    app = open_page("simulate/run.py", scenario=tag, policies="none")
    assert app.button(key="run-now").disabled
    assert app.header[0].value.replace("\\", "") == "Run 0 policies on 4 jobs: choose at least one."
    app = open_page("simulate/run.py", scenario=tag, policies="fifo,sjff")
    assert not app.exception
    assert "sjf" in app.error[0].value


def test_more_policies_are_added_and_removed(page):
    app = page.button(key="more-policies").click().run()
    assert not app.exception
    assert app.checkbox(key="more-fifo").value
    assert not app.checkbox(key="more-dlas").value
    assert "more-priority" not in {box.key for box in app.checkbox}
    app = app.checkbox(key="more-dlas").set_value(True).run()
    assert app.button(key="run-now").label == "Run 6 policies"
    app = app.button(key="remove-dlas").click().run()
    assert app.button(key="run-now").label == "Run 5 policies"


def test_the_search_finds_policies_by_what_they_do():
    assert [spec.key for spec in POLICIES if policy_dialog.matches(spec, "backfill")] == [
        "easy-backfill",
        "conservative",
        "slurm",
    ]
    assert [spec.key for spec in POLICIES if policy_dialog.matches(spec, "no such thing")] == []


def test_changed_parameters_are_chips_and_wrong_ones_stop_the_button(page):
    page.query_params["policies"] = "fifo,dlas"
    app = page.run()
    field = "param-dlas-thresholds_gpu_s"
    app = app.text_input(key=field).set_value("7200, 3600").run()
    assert "LAS in queues, Thresholds (GPU-s)" in app.error[0].value.replace("\\", "")
    assert app.button(key="run-now").disabled
    app = app.text_input(key=field).set_value("3600, 7200").run()
    assert not app.error
    assert not app.button(key="run-now").disabled
    assert any("= 3600, 7200" in part.value.replace("\\", "") for part in app.markdown)


def test_a_vm_type_is_asked_for_where_slots_are_free_only(page):
    assert not [field for field in page.selectbox if "VM type" in field.label]


def test_what_was_set_up_is_still_there_after_another_page(page):
    untick(page, "sjf")
    page.switch_page("pages/scenario/cluster.py").run()
    app = page.switch_page("pages/simulate/run.py").run()
    assert "SJF" not in ticked(app)


def test_rules_make_a_new_version(page, store):
    tag = session.store().list_scenarios()["scenario_hash"].iloc[0][:8]
    page.text_input(key=f"opt-{tag}-restart_s").set_value("0.5 min")
    save = next(button for button in page.button if button.label == "Save these rules")
    app = save.click().run()
    assert not app.exception
    newest = store.list_scenarios().iloc[0]
    assert store.get_scenario(newest["scenario_hash"]).options.restart_s == 30


def test_a_new_version_is_looked_at_although_the_address_names_a_run(open_page, store):
    scenario = small_scenario(options=ENGINE)
    run_id = store.save_run(record(scenario))
    app = open_page("simulate/run.py", run=run_id)
    tag = scenario.content_hash[:8]
    app.text_input(key=f"opt-{tag}-restart_s").set_value("0.5 min")
    app = next(button for button in app.button if button.label == "Save these rules").click().run()
    assert app.session_state["scenario_hash"] == store.list_scenarios()["scenario_hash"].iloc[0]
    assert kept(store).options.restart_s == 30


def test_saving_rules_keeps_the_times_of_training_steps(open_page, store):
    before = sample_server_jobs().replace(generator=None)
    tag = store.save_scenario(before).scenario_hash[:8]
    app = open_page("simulate/run.py", scenario=tag)
    assert not app.exception
    assert f"speed-{tag}-kind" not in {box.key for box in app.selectbox}  # steps are no seconds
    app.selectbox(key=f"speed-{tag}-updates").set_value("sync")
    app.text_input(key=f"opt-{tag}-restart_s").set_value("30")
    app = next(button for button in app.button if button.label == "Save these rules").click().run()
    assert not app.exception
    assert kept(store).options.restart_s == 30
    assert kept(store).speed == before.speed.model_copy(update={"updates": "sync"})


def test_drawn_jobs_keep_the_updates_they_were_drawn_for(open_page, store):
    tag = store.save_scenario(sample_server_jobs()).scenario_hash[:8]
    app = open_page("simulate/run.py", scenario=tag)
    assert not [box.key for box in app.selectbox if str(box.key).startswith("speed-")]
    assert any("parameter servers, asynchronous" in part.value for part in app.markdown)


def test_runs_are_made_and_compare_opens(page, store, runner):
    app = untick(page, "gittins", "edf", "srtf")
    assert app.button(key="run-now").label == "Run 2 policies"
    app = app.button(key="run-now").click().run()
    assert not app.exception
    assert app.title[0].value == "Compare"
    assert list(store.list_runs()["policy"].sort_values()) == ["fifo", "sjf"]
    assert store.run_info(app.session_state["run_id"]).policy == "fifo"
    assert len(app.session_state["ticked_runs"]) == 2
    again = app.switch_page("pages/simulate/run.py").run()
    assert "2 of 2 simulations answered from the store" in again.header[0].value


def test_one_policy_opens_its_result(page, runner):
    app = untick(page, "gittins", "edf", "srtf", "sjf").button(key="run-now").click().run()
    assert app.title[0].value == "Run details"


def test_the_recorded_month_is_kept_in_full_and_of_the_other_futures_numbers(open_page, store, runner):
    week = recorded_week()
    tag = store.save_scenario(week).scenario_hash[:8]
    futures.choose(week, Futures.first(3, {"days": 1}))
    app = open_page("simulate/run.py", scenario=tag)
    app = untick(app, "gittins", "edf", "srtf").button(key="run-now").click().run()
    assert not app.exception
    assert runner.wait(PATIENCE_S)
    assert sorted(store.list_runs()["seed"]) == [0, 0]
    fifo = [status for status in run_state.everything() if status.name == "FIFO"]
    assert queue.how_far(fifo) == ("as recorded, then 3 of 3 futures", 1.0)
    numbers = futures_numbers.futures_numbers([(week, Variant(policy=key)) for key in ("fifo", "sjf")])
    assert numbers.places == (0, 1, 2, 3)
    asked = run.plan_of(week, [find("fifo"), find("sjf")], {})
    assert run.expected(asked) == run.Expected(8, 8, 0.0, 1)  # nothing is computed again
    before = len(runner.questions())
    asked.start()
    assert len(runner.questions()) <= before


def test_drawn_jobs_are_kept_in_full_for_the_first_draws(store, runner):
    given = small_scenario(12, options=ENGINE.model_copy(update={"bug_share": 0.4, "bug_within_s": 50.0}))
    store.save_scenario(given)
    futures.choose(given, Futures.first(7))
    plan = run.plan_of(given, [find("fifo")], {})
    assert [task.seed for task in plan.tasks] == [0, 1, 2, 3, 4]
    assert run.expected(plan).asked == 8
    plan.start()
    assert runner.wait(PATIENCE_S)
    assert len(store.list_runs()) == 5
    assert futures_numbers.futures_numbers([(given, Variant(policy="fifo"))]).places == tuple(range(8))
    assert queue.how_far(run_state.everything()) == ("5 of 5 futures with their jobs, then 3 of 3 others", 1.0)


def test_cancelling_keeps_the_futures_that_are_done(store, runner):
    week = recorded_week()
    store.save_scenario(week)
    futures.choose(week, Futures.first(3, {"days": 1}))
    numbers = run.plan_of(week, [find("fifo")], {}).numbers
    some = dict(list(numbers.missing.items())[:2])
    runner.ask(StudyTask(cells.KIND, cells.spec_of(some), "FIFO", week))
    assert runner.wait(PATIENCE_S)
    runner.cancel()
    now = run.plan_of(week, [find("fifo")], {}).numbers
    assert now.known.keys() == some.keys()
    assert now.missing_futures == 2


def test_whoever_leaves_is_not_pulled_away(page, store, runner):
    scenario = store.get_scenario(page.session_state["scenario_hash"])
    keys = policy_and_params.usual(scenario)
    page.session_state["batch"] = runner.submit([RunTask(scenario, key, name=key) for key in keys])
    page.session_state["batch-followed"] = True
    page.switch_page("pages/scenario/cluster.py").run()
    assert runner.wait(PATIENCE_S)
    app = page.switch_page("pages/simulate/run.py").run()
    assert app.title[0].value == "Run"
    assert app.button(key="bar-ready").label == "5 results ready"


def test_a_failure_is_told_and_stops_no_other(page, store, runner):
    scenario = small_scenario(options=ENGINE)
    runner.submit([RunTask(scenario, "priority", name="Priority"), RunTask(scenario, "fifo", name="FIFO")])
    assert runner.wait(PATIENCE_S)
    app = page.run()
    assert "Priority stopped" in app.error[0].value
    assert any("✓ done: FIFO" in part.value for part in app.markdown)
    assert len(store.list_runs()) == 1


def test_a_long_batch_is_asked_about_first(page, monkeypatch, runner):
    monkeypatch.setattr(run, "expected", lambda plan: run.Expected(5, 0, 400.0, 2))
    app = page.run()
    app = app.button(key="run-now").click().run()
    assert runner.status() == []
    assert any("6 min 40 s" in part.value for part in app.markdown)
    assert app.button(key="ask-tenth").disabled  # four jobs have no tenth


def test_the_first_tenth_keeps_the_load(store):
    scenario = small_scenario(100)
    part = run.first_tenth(scenario)
    assert len(part.workload) == 10
    assert list(part.workload.submit_s) == [10.0 * number for number in range(10)]
    assert part.name == "four jobs, first tenth"
    assert words_of(part) == ("first 10 of 100 jobs",)


def test_known_answers_take_no_time(store):
    saved = record(small_scenario(options=ENGINE))
    store.save_run(saved)
    found = run.expected(run.plan_of(saved.scenario, [find("fifo"), find("sjf")], {}))
    assert found.stored == 0  # made by another version of the code
    assert found.seconds == pytest.approx((saved.wall_s + LEAST_S) / found.cores)
