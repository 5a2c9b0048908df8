"""The parts Range and Sensitivity: presets, the form, computing in batches, cancelling, resuming, links, pictures."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.runner.background import Runner
from dlsched.store import Store
from dlsched.store.record import ExperimentRecord
from dlsched.studies import cells
from dlsched.studies.design import Futures
from dlsched.studies.design import run as cases_run
from dlsched.studies.design.run import RunResult, VariantTask
from dlsched.studies.simulation import Progress
from dlsched.studies.sweep import STUDY, read_spec, run_sweep
from dlsched.ui.pending import PendingTasks
from dlsched.ui.plan.sweep_form import METRICS
from tests.support.page_text import kept, shown
from tests.support.runs_for_store import small_scenario

PAGE = "plan/capacity.py"
WAIT_S = 60
OpenPage = Callable[..., AppTest]
NODES = {"key": "nodes", "values": [1, 2, 3]}
ARRIVALS = {"key": "arrivals", "values": [0.5, 2.0]}


@cache
def scenario() -> Scenario:
    return small_scenario(12)


@cache
def answered(mode: str = "grid", axes: int = 2, policies: tuple[str, ...] = ("fifo", "las"), futures: int = 0) -> Any:
    """Return the record of a small sweep over nodes and arrivals."""
    plain = {
        "scenario": scenario().content_hash, "mode": mode, "axes": [NODES, ARRIVALS][:axes], "policies": policies,
        "futures": Futures.first(futures, {"run_time_spread": 0.3} if futures else {}).model_dump(),
        "metrics": METRICS,
    }  # fmt: skip
    spec = read_spec(plain)
    answer = run_sweep(spec, scenario()).answer
    return ExperimentRecord("sweep", spec.model_dump(mode="json"), answer.to_plain(), STUDY.version, "mine")


def saved(store: Store, record: ExperimentRecord) -> str:
    store.save_scenario(scenario())
    return store.save_experiment(record)


def opened(store: Store, open_page: OpenPage, part: str = "Range") -> AppTest:
    return open_page(PAGE, scenario=store.save_scenario(scenario()).scenario_hash, part=part)


def keys(app: AppTest) -> set[str | None]:
    return {button.key for button in app.button}


def tag() -> str:
    return scenario().content_hash[:8]


def picture(app: AppTest) -> Any:
    return next(one for one in app.segmented_control if str(one.key).startswith("sweep-part"))


def typed(app: AppTest, key: str, values: str, mode: str = "grid") -> AppTest:
    return app.text_input(key=f"sweep-values-{mode}-{key}-{tag()}").set_value(values).run()


def done(app: AppTest, runner: Runner) -> AppTest:
    assert runner.wait(WAIT_S)
    return app.run()


@pytest.fixture
def hands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave following to the test, so that a page comes to its end while work is under way."""
    monkeypatch.setattr(PendingTasks, "follow", lambda self, places: None)


def test_the_first_screen_asks_how_many_nodes_with_the_count_of_runs(store: Store, open_page: OpenPage) -> None:
    app = opened(store, open_page)
    assert not app.exception
    assert "which policy is the safe choice?" in app.header[0].value
    assert "How do 5 policies compare from 1 node to 4 nodes?" in shown(app)
    assert app.button(key="range-ask").label == "Run 20 runs, about 1 s"
    assert not app.metric
    assert not app.warning
    assert "Market" in shown(app)
    assert "needs costs of lateness" in shown(app)


def test_a_sweep_is_computed_kept_and_opens_by_itself(store: Store, runner: Runner, open_page: OpenPage) -> None:
    app = typed(opened(store, open_page), "nodes", "1, 3")
    app = app.multiselect(key=f"sweep-policies-grid-{tag()}").set_value(["fifo", "las"]).run()
    app = done(app.button(key="range-ask").click().run(), runner)
    assert not app.exception
    (info,) = store.list_experiments("sweep")
    assert app.query_params["experiment"] == info.experiment_id
    assert "LAS is best in both situations; FIFO can be" in app.header[0].value.replace("\\", "")
    assert "at 1 node (exact for this trace, not a forecast)" in app.header[0].value.replace("\\", "")
    assert [card.label for card in app.metric] == ["Safe choice", "Behind the best by at most", "Completed jobs"]
    assert "range-ask" not in keys(app)
    assert store.get_setting(f"sweep-interrupted/grid/{scenario().content_hash}") is None
    assert len(store.list_runs()) == 0  # numbers alone are kept
    # A larger one computes only what is new; until then the answer says that it is another one's.
    app = typed(app, "nodes", "1, 2, 3")
    assert app.button(key="range-ask").label == "Run 2 of 6 runs, about 1 s"
    assert "answer to another question than the form asks" in shown(app)
    app = done(app.button(key="range-ask").click().run(), runner)
    assert app.query_params["experiment"] != info.experiment_id
    assert "in all 3 situations" in app.header[0].value
    # Back by the list of earlier ones.
    app = app.button(key=f"range-open-{info.experiment_id}").click().run()
    assert app.query_params["experiment"] == info.experiment_id
    assert app.text_input(key=f"sweep-values-grid-nodes-{tag()}").value == "1, 3"


@pytest.mark.parametrize("preset", ["load", "assumptions", "situations"])
def test_each_preset_fills_the_form_and_runs(preset: str, store: Store, runner: Runner, open_page: OpenPage) -> None:
    mode, name = ("grid", "Range") if preset == "load" else ("one-at-a-time", "Sensitivity")
    app = opened(store, open_page, name)
    app = app.button(key=f"sweep-preset-{preset}").click().run()
    assert not app.error
    policies = app.multiselect(key=f"sweep-policies-{mode}-{tag()}")
    assert (len(policies.value) == 1) == (preset == "assumptions")  # which of them matters under today's policy
    app = policies.set_value(policies.value[:2]).run()
    app = done(app.button(key=f"{name.lower()}-ask").click().run(), runner)
    assert not app.exception
    for name in picture(app).options:
        app = picture(app).set_value(name).run()
        assert not app.exception, name
        assert not app.error, name
    first = {"load": "Lines", "assumptions": "Tornado", "situations": "Behind the best"}[preset]
    assert picture(app).options[0] == first


def test_cancelling_keeps_finished_runs_shows_them_and_resuming_computes_the_rest(
    store: Store, runner: Runner, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch, hands: None
) -> None:
    real, allowed, go_on = cases_run.carry_out, 6, threading.Event()
    count = iter(range(1000))

    def slow(task: VariantTask, progress: Progress | None = None) -> RunResult:
        if next(count) >= allowed:
            while progress is not None and not go_on.wait(0.02):
                progress(0.0, "waiting")
        return real(task, progress)

    monkeypatch.setattr(cells, "carry_out", slow)
    monkeypatch.setattr(
        "dlsched.ui.plan.sweep_runs.batches", lambda missing, seconds, workers: [[key] for key in missing]
    )
    app = opened(store, open_page).button(key="range-ask").click().run()
    assert "You can leave this page" in shown(app)
    assert app.button(key="range-ask").disabled
    while sum(status.state.value == "stored" for status in runner.questions("cells")) < allowed:
        pass
    app = app.run()
    # A tab that is opened anew finds the sweep again.
    other = open_page(PAGE, scenario=scenario().content_hash, part="Range")
    assert "You can leave this page" in shown(other)
    app = app.button(key="range-cancel").click().run()
    assert runner.wait(WAIT_S)
    app = app.run()
    assert not app.exception
    assert "Cancelled. 6 of 20 runs are kept, 14 are missing." in shown(app)
    assert "14 of 20 runs are missing" in shown(app)
    assert app.button(key="range-ask").label == "Resume 14 missing, about 1 s"
    assert store.list_experiments("sweep") == []
    app = picture(app).set_value("Map").run()
    assert "• not run yet" in shown(app)
    # The next day, in another tab: the same question, what there is, and the way on.
    later = open_page(PAGE, scenario=scenario().content_hash, part="Range")
    assert "This answer is not complete" in shown(later)
    assert later.button(key="range-ask").label == "Resume 14 missing, about 1 s"
    go_on.set()
    later = done(later.button(key="range-ask").click().run(), runner)
    assert not later.exception
    assert "in all 4 situations" in later.header[0].value
    assert len(store.list_experiments("sweep")) == 1


def test_a_sweep_that_was_stopped_can_be_put_away(store: Store, open_page: OpenPage) -> None:
    experiment = saved(store, answered())
    spec = answered(axes=1).spec
    store.set_setting(f"sweep-interrupted/grid/{scenario().content_hash}", spec)
    app = opened(store, open_page)
    assert "6 of 6 runs are missing" in shown(app)
    app = app.button(key="sweep-forget").click().run()
    assert app.query_params["experiment"] == experiment
    store.set_setting(f"sweep-interrupted/grid/{scenario().content_hash}", {"axes": "of another version"})
    assert not opened(store, open_page).exception


def test_a_run_that_fails_is_told_and_the_answer_is_complete(
    store: Store, runner: Runner, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = cases_run.carry_out

    def broken(task: VariantTask, progress: Progress | None = None) -> RunResult:
        if task.policy == "sjf" and task.changes.get("nodes") == 1:
            raise ZeroDivisionError("by <b>hand</b>")
        return real(task, progress)

    monkeypatch.setattr(cells, "carry_out", broken)
    app = done(opened(store, open_page).button(key="range-ask").click().run(), runner)
    assert not app.exception
    assert len(store.list_experiments("sweep")) == 1
    banner, load = [one.value.replace("\\", "") for one in app.warning]
    assert "As the scenario is, jobs ask for " in load
    assert "1 run of 20 failed and count nowhere. First, SJF, 1 node: Unexpected ZeroDivisionError" in banner
    app = picture(app).set_value("Table").run()
    table = app.dataframe[0].value
    assert table.loc[(table["Policy"] == "SJF") & (table["Situation"] == "1 node"), "Failed"].tolist() == ["1"]


def test_when_a_batch_cannot_be_computed_one_box_says_so_and_the_page_stays_usable(
    store: Store, runner: Runner, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise InputError("runs of a sweep", "cannot be <b>computed</b>", "Ask again")

    monkeypatch.setattr(cells, "_task", fail)
    app = done(opened(store, open_page).button(key="range-ask").click().run(), runner)
    assert not app.exception
    (box,) = app.error
    assert "The computation stopped." in box.value
    assert "<b>" not in box.value
    assert "0 of 20 runs are kept, 20 are missing" in box.value.replace("\\", "")
    assert app.button(key="range-ask").label.startswith("Resume 20 missing")


def test_an_answer_opens_by_its_link_with_its_scenario_and_its_question(store: Store, open_page: OpenPage) -> None:
    app = open_page(PAGE, experiment=saved(store, answered(futures=2)))
    assert not app.exception
    assert app.session_state["scenario_hash"] == scenario().content_hash
    assert app.text_input(key=f"sweep-values-grid-arrivals-{tag()}").value == "0.5, 2"
    assert "this month as recorded and 2 simulated versions of it" in app.header[0].value
    assert picture(app).options == ["Lines", "Map", "Behind the best", "Cost against service", "Table"]
    for name in picture(app).options:
        app = picture(app).set_value(name).run()
        assert not app.exception, name
    app = app.selectbox(key="sweep-metric").set_value("late_share").run()
    assert app.header[0].value.startswith("Share of late jobs")


def test_the_tornado_is_of_the_policy_its_sentence_is_about(store: Store, open_page: OpenPage) -> None:
    app = open_page(PAGE, experiment=saved(store, answered("one-at-a-time", policies=("las", "fifo"))))
    app = app.selectbox(key="sweep-metric").set_value("jct_mean").run()
    assert picture(app).value == "Tornado"
    (whose,) = [one for one in app.segmented_control if str(one.key).startswith("sweep-tornado")]
    assert whose.value == "fifo"  # not the first one
    assert "FIFO is best in all 6 situations" in app.header[0].value


def test_cost_is_compared_within_one_situation(store: Store, open_page: OpenPage) -> None:
    app = picture(open_page(PAGE, experiment=saved(store, answered()))).set_value("Cost against service").run()
    (situation,) = [one for one in app.selectbox if str(one.key).startswith("sweep-situation")]
    assert situation.options == ["arrival speed −50%", "arrival speed 2x"]
    (cost,) = [one for one in app.selectbox if str(one.key).startswith("sweep-cost")]
    assert cost.options == ["Cost per month"]


def test_a_clicked_mark_chooses_the_situation_whose_runs_open_in_full(
    store: Store, runner: Runner, open_page: OpenPage
) -> None:
    app = open_page(PAGE, experiment=saved(store, answered()))
    app = app.selectbox(key="sweep-at").set_value(1).run()
    app = done(app.button(key="sweep-see").click().run(), runner)
    assert not app.exception
    runs = store.list_runs()
    assert sorted(runs["policy"]) == ["fifo", "las"]
    made = kept(store)
    assert (made.cluster.num_nodes, made.name) == (1, "four jobs, 1 node, arrival speed 2x")
    cell = next(one for one in answered().answer["cells"] if (one["point"], one["policy"]) == (1, "fifo"))
    run = runs[runs["policy"] == "fifo"].iloc[0]
    assert store.metrics(str(run["run_id"]))["jct_mean"] == pytest.approx(cell["values"]["jct_mean"])


def test_a_parameter_of_a_policy_can_vary(store: Store, runner: Runner, open_page: OpenPage) -> None:
    app = opened(store, open_page)
    app = app.multiselect(key=f"sweep-policies-grid-{tag()}").set_value(["fifo", "las"]).run()
    app = app.selectbox(key=f"sweep-first-{tag()}").set_value("las.quantum_s").run()
    values = app.text_input(key=f"sweep-values-grid-las.quantum_s-{tag()}")
    assert "LAS: quantum" in values.label
    assert str(values.value).count(", ") == 2
    app = app.multiselect(key=f"sweep-policies-grid-{tag()}").set_value(["las"]).run()
    app = done(app.button(key="range-ask").click().run(), runner)
    assert not app.exception
    assert not app.error
    assert "under LAS" in app.header[0].value


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ("", "at least 1"),
        ("1, 1", "is listed twice"),
        ("0", "must be at least 1"),
        ("1:2", "must be a number"),
        ("1:5000:200", "would be"),
    ],
)
def test_what_cannot_be_run_is_refused_with_the_reason(
    values: str, message: str, store: Store, open_page: OpenPage
) -> None:
    app = opened(store, open_page)
    app = typed(app, "nodes", values)
    assert not app.exception
    assert message in app.error[0].value.replace("\\", "")
    assert "it cannot be computed yet" in shown(app)
    assert "range-ask" not in keys(app)


def test_old_unknown_and_foreign_answers_say_so(store: Store, open_page: OpenPage) -> None:
    app = open_page(PAGE, experiment=store.save_experiment(replace(answered(), code_version="old")))
    assert "about the scenario four jobs, which is not in this store" in shown(app)
    assert "Computed by another version of this program" in shown(app)
    assert "sweep-see" not in keys(app)
    app = open_page(PAGE, experiment="abc", part="Range")
    assert "is not in this store" in app.error[0].value
    app = app.button(key="range-without").click().run()
    assert not app.error
    other = store.save_experiment(ExperimentRecord("else", {}, {"a": 1}, "v", "other"))
    assert "is no sweep" in open_page(PAGE, experiment=other, part="Sensitivity").error[0].value
