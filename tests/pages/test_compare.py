"""The Compare page: differences in words, the same jobs, what is refused."""

from __future__ import annotations

import pytest

from dlsched.domain.scenario import SimulationRules
from dlsched.policies.registry import find
from dlsched.report.alternatives import condition_of
from dlsched.report.compared import named_variants, run_compared
from dlsched.runner.background import StudyTask
from dlsched.studies import cells as cells_study
from dlsched.studies.design import Futures, RunResult, Variant
from dlsched.studies.design.run import carry_out
from dlsched.studies.simulation import simulate
from dlsched.ui.frame import futures, futures_numbers
from dlsched.ui.simulate.run import plan_of
from tests.support.known import known
from tests.support.recorded_jobs import recorded_scenario
from tests.support.recorded_week import recorded_week
from tests.support.runs_for_store import small_scenario
from tests.support.waiting import PATIENCE_S

ENGINE = {"restart_s": 1.0}
PAGE = "results/compare.py"


@pytest.fixture
def scenario():
    """Twelve jobs on four GPUs, of 60 s each but the first ones of 600 s, so that orders matter."""
    given = small_scenario(jobs=12, options=SimulationRules(**ENGINE))
    work = given.workload.work.copy()
    work[[0, 5]] = 600.0
    columns = {"job_id": given.workload.job_id, "submit_s": given.workload.submit_s, "work": work,
               "user": given.workload.user, "due_s": given.workload.due_s}  # fmt: skip
    return given.replace(workload=given.workload.from_columns(columns))


def run(store, scenario, policy="fifo", seed=0):
    return store.save_run(simulate(scenario, policy, seed=seed).record())


def plain(element) -> str:
    return element.value.replace("\\", "")


def cells(app):
    """The table as metric -> run -> text."""
    return app.table[0].value.set_index("Metric")


def texts(app) -> str:
    return " ".join(plain(text) for text in app.markdown)


def test_differences_from_the_baseline_in_words(store, scenario, open_page):
    base, other = run(store, scenario), run(store, scenario, "sjf")
    app = open_page(PAGE, runs=f"{base},{other}", base=base)
    assert not app.exception
    assert plain(app.header[0]).endswith("(exact for this trace, not a forecast).")
    table = cells(app)
    assert list(table.columns) == ["FIFO (B)", "SJF"]
    assert table.loc["Completed", "SJF"] == "12  \n:small[:gray[same]]"
    told = table.loc["Mean turnaround time", "SJF"]
    assert told.startswith("**")
    assert told.endswith(" ★**  \n:small[:blue[better]]")  # the value first, and the best with a star
    assert "±" not in "".join(table.loc["Mean turnaround time"])
    assert "Rejected 0" in texts(app)  # what is the same in all runs is told in one line
    assert "Rejected" not in table.index
    assert app.button(key="compare-next").label == "Open SJF"


def test_the_baseline_can_be_changed(store, scenario, open_page):
    base, other = run(store, scenario), run(store, scenario, "sjf")
    app = open_page(PAGE, runs=f"{base},{other}", base=base)
    app = app.selectbox(key=f"baseline-{base}").set_value("SJF").run()
    assert not app.exception
    assert app.query_params["base"] == other
    assert list(cells(app).columns) == ["SJF (B)", "FIFO"]


def test_a_difference_that_draws_do_not_tell_is_never_better(store, scenario, open_page):
    given = scenario.replace(options=SimulationRules(bug_share=0.4, bug_within_s=50.0, **ENGINE))
    runs = {policy: [run(store, given, policy, seed) for seed in range(2)] for policy in ("fifo", "sjf")}
    app = open_page(PAGE, runs=f"{runs['fifo'][0]},{runs['sjf'][0]}", base=runs["fifo"][0])
    assert not app.exception
    assert plain(app.header[0]).endswith("(2 of 21 futures so far).")
    for text in cells(app)["SJF"]:
        assert not ("not clear" in text and (":blue[" in text or ":orange[" in text))


def test_all_parts_open(store, scenario, open_page):
    base, other = run(store, scenario), run(store, scenario, "sjf")
    app = open_page(PAGE, runs=f"{base},{other}", base=base)
    for part in ("Distributions", "Over time", "Who wins, who loses", "What differs", "Differences"):
        app = app.segmented_control(key="part").set_value(part).run()
        assert not app.exception, part
    app = open_page(PAGE, runs=f"{base},{other}", base=base, part="What differs")
    assert "policy" in list(app.dataframe[0].value["Setting"])


def test_who_wins_by_user_size_and_length_with_fairness(store, scenario, open_page):
    base, other = run(store, scenario), run(store, scenario, "sjf")
    app = open_page(PAGE, runs=f"{base},{other}", base=base, ctab="Who wins, who loses")
    assert not app.exception
    assert app.selectbox(key="wins-by").options == ["User", "Size class", "Length class"]
    assert "with SJF in place of FIFO" in texts(app)
    assert "(exact for this trace, not a forecast)." in texts(app)
    rows = app.dataframe[-1].value
    assert set(rows["User"][1:]) == {"ann", "bob"}
    assert list(rows["Jobs compared"]) == ["12", "6", "6"]
    fairness = app.table[-1].value.set_index("Measure")
    assert list(fairness.columns) == ["FIFO (B)", "SJF", "Difference", "Better is", "Over"]
    assert fairness.loc["Gini of users' waits", "Over"] == "2 users"
    app = app.checkbox(key="wins-hide").check().run()
    assert set(app.dataframe[-1].value["User"]) == {"all jobs", "A", "B"}
    app = app.selectbox(key="wins-by").set_value("length_class").run()
    assert not app.exception
    assert list(app.dataframe[-1].value["Length class"]) == ["all jobs", "1 min", "10 min"]
    app = app.selectbox(key="wins-quantity").set_value("slowdown").run()
    assert not app.exception
    assert "more than 0.5x of mean slowdown" in texts(app)
    app = app.selectbox(key="wins-noticed-slowdown").set_value(1.0).run()
    assert "more than 1.0x of mean slowdown" in texts(app)


def test_who_wins_over_draws_has_intervals_and_says_who_is_left_out(store, scenario, open_page):
    given = scenario.replace(options=SimulationRules(bug_share=0.4, bug_within_s=50.0, **ENGINE))
    runs = {policy: [run(store, given, policy, seed) for seed in range(3)] for policy in ("fifo", "sjf")}
    app = open_page(PAGE, runs=f"{runs['fifo'][0]},{runs['sjf'][0]}", base=runs["fifo"][0], part="Who gains, who loses")
    assert not app.exception
    assert "95% interval over 3 simulated versions" in texts(app)
    app = app.selectbox(key="wins-quantity").set_value("jct_s").run()
    assert not app.exception
    assert "completed under neither" in texts(app)


def test_unlike_sets_of_jobs_are_said_and_can_be_made_alike(store, scenario, open_page):
    given = scenario.replace(options=SimulationRules(horizon_s=250.0, **ENGINE))
    base, other = run(store, given), run(store, given, "sjf")
    app = open_page(PAGE, runs=f"{base},{other}", base=base)
    assert not app.exception
    assert "completed different jobs" in plain(app.warning[-1])
    assert "Cost per month" in cells(app).index or "Cost per month" in texts(app)
    app = app.toggle(key="only-common").set_value(True).run()
    assert not app.exception
    assert not any("completed different jobs" in plain(warning) for warning in app.warning)
    done = cells(app).loc["Completed"]
    assert done["SJF"].endswith(":small[:gray[same]]")
    assert int(done["FIFO (B)"]) < 12
    assert "Machine cost" not in cells(app).index  # a machine is not up for some of the jobs only


def test_other_jobs_are_refused_unless_some_are_common(store, scenario, open_page):
    fewer = small_scenario(jobs=4, name="fewer", options=SimulationRules(**ENGINE))
    base, other = run(store, scenario), run(store, fewer)
    app = open_page(PAGE, runs=f"{base},{other}", base=base)
    assert not app.exception
    assert "different workloads" in plain(app.error[0])
    assert not app.header
    app = app.toggle(key="only-common").set_value(True).run()
    assert not app.exception
    assert cells(app).loc["Completed"].iloc[0] == "4"


def test_the_bar_names_the_scenario_of_the_runs(store, scenario, open_page):
    base, other = run(store, scenario), run(store, scenario, "sjf")
    store.save_scenario(small_scenario(jobs=3, name="another"))
    app = open_page(PAGE, runs=f"{base},{other}", base=base)
    assert app.query_params["scenario"] == scenario.content_hash[:8]


@pytest.mark.parametrize("policies", [["fifo"], []])
def test_one_run_or_none_is_no_comparison(store, scenario, open_page, policies):
    store.save_scenario(scenario)
    for policy in policies:
        run(store, scenario, policy)
    app = open_page(PAGE, scenario=scenario.content_hash[:8])
    assert not app.exception
    assert app.button(key="compare-empty").label == "Go to Run"


def test_unknown_runs_say_so(store, scenario, open_page):
    base, other = run(store, scenario), run(store, scenario, "sjf")
    app = open_page(PAGE, runs=f"{base},7f3a", base=base)
    assert "Run 7f3a is not in this store" in plain(app.error[0])
    app = app.button(key="compare-instead").click().run()
    assert not app.exception
    assert set(app.query_params["runs"].split(",")) == {base, other}


def test_some_futures_are_said_to_be_some_and_replaced_by_all(store, open_page, runner):
    week, asked = recorded_week(), Futures.first(12, {"days": 1.0})
    futures.choose(week, asked)
    base, other = run(store, week), run(store, week, "sjf")
    tasks = futures_numbers.futures_numbers([(week, Variant(policy=key)) for key in ("fifo", "sjf")]).missing
    some = {key: task for key, task in tasks.items() if task.seed in (1, 2)}
    runner.ask(StudyTask(cells_study.KIND, cells_study.spec_of(some), "some", week))
    assert runner.wait(PATIENCE_S)
    app = open_page(PAGE, runs=f"{base},{other}", base=base)
    assert plain(app.header[0]).endswith("(3 of 13 futures so far).")
    before = cells(app).loc["p95 wait", "SJF"]
    assert "better in this month" in before
    assert app.button(key="compare-compute").label.startswith("Compute the other 10 futures (about ")
    app = app.button(key="compare-compute").click().run()
    assert not app.exception
    assert plain(app.header[0]).endswith("(this month as recorded and 12 months reshuffled from its days).")
    assert "compare-compute" not in {button.key for button in app.button}
    after = cells(app).loc["p95 wait", "SJF"]
    assert after.partition("  \n")[0] == before.partition("  \n")[0]  # what was recorded stays
    assert "better in 12 of 12" in after
    assert not [status for status in futures_numbers.statuses() if not status.state.is_over]


def test_a_future_that_fails_while_the_page_is_drawn_is_not_asked_for_again(store, open_page, runner, monkeypatch):
    week, is_busy = recorded_week(), futures_numbers.under_way
    futures.choose(week, Futures.first(1, {"days": 1.0}))
    base, other = run(store, week), run(store, week, "sjf")

    def when_over(numbers):
        assert runner.wait(PATIENCE_S)
        return is_busy(numbers)

    monkeypatch.setattr(cells_study, "carry_out", lambda task, progress=None: RunResult(error="by hand"))
    monkeypatch.setattr(futures_numbers, "under_way", when_over)
    app = open_page(PAGE, runs=f"{base},{other}", base=base).button(key="compare-compute").click().run()
    assert not app.exception
    assert "compare-compute" not in {button.key for button in app.button}


def test_a_future_that_fails_is_not_asked_for_again_and_again(store, open_page, runner, monkeypatch):
    week, real = recorded_week(), carry_out
    futures.choose(week, Futures.first(3, {"days": 1.0}))
    base, other = run(store, week), run(store, week, "sjf")

    def broken(task, progress=None):
        return RunResult(error="by hand") if task.seed == 2 and task.policy == "sjf" else real(task, progress)

    monkeypatch.setattr(cells_study, "carry_out", broken)
    app = open_page(PAGE, runs=f"{base},{other}", base=base).button(key="compare-compute").click().run()
    assert not app.exception
    assert "compare-compute" not in {button.key for button in app.button}
    assert plain(app.header[0]).endswith("(3 of 4 futures so far).")
    assert any("SJF failed in 1 future: by hand" in plain(warning) for warning in app.warning)


def test_under_slurm_the_page_tells_what_compare_tells_once_replays_are_chosen(store, open_page, runner):
    log, replays = recorded_scenario("fifo", jobs=60), Futures.first(19, {"shaking": 1.0})
    base, other = run(store, log, "slurm"), run(store, log)
    app = open_page(PAGE, runs=f"{base},{other}", base=base)
    assert "What if and `dlsched compare` tell means of 20" in texts(app)
    futures.choose(log, replays)
    app = open_page(PAGE, runs=f"{base},{other}", base=base)
    app = app.button(key="compare-compute").click().run()
    assert runner.wait(PATIENCE_S)
    app = open_page(PAGE, runs=f"{base},{other}", base=base)
    assert not app.exception
    assert "tell means of 20" not in texts(app)
    assert "mean of 20 replays of this log" in plain(app.header[0])
    found = run_compared(log, named_variants(log, ["slurm", "fifo"], [], {}), condition_of(log, {}), replays)
    shown = futures_numbers.futures_numbers([(log, Variant(policy=key)) for key in ("slurm", "fifo")])
    for place, draws in enumerate(found.draws.values()):
        assert [one["wait_mean"] for one in shown.metrics(place)] == [known(one.metrics)["wait_mean"] for one in draws]


def test_a_run_keeps_what_was_recorded_and_leaves_no_replay_out(store, open_page):
    log = recorded_scenario("fifo", jobs=60)
    futures.choose(log, Futures.first(19, {"shaking": 1.0}))
    plan = plan_of(log, [find("slurm")], {})
    assert [task.seed for task in plan.tasks] == [0]
    assert not futures_numbers.keys_at(plan.numbers, plan.in_full)
    assert len(plan.numbers.missing) == 20
