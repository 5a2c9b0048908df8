"""The page Load test: the bundled answer, the form, computing in the background, links."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dlsched.domain.errors import InputError
from dlsched.runner.background import Runner
from dlsched.store import Store
from dlsched.store.record import ExperimentRecord
from dlsched.studies import registry
from dlsched.studies.simulation import Progress
from dlsched.studies.steady import SteadySpec
from dlsched.ui.lab import stream_network
from dlsched.ui.pending import PendingTasks
from dlsched.workload.studies.hell_knee import TABLE_III, StreamSpec
from tests.support import studies
from tests.support.steady_answers import HELL, KNEE, answer, point, three_policies

PAGE = "lab/steady_state.py"
WAIT_S = 60


Reply = Callable[[Mapping[str, Any], Progress | None], dict[str, Any]]


def replied_by(monkeypatch: pytest.MonkeyPatch, reply: Reply) -> None:
    """Let questions be answered by another function."""
    studies.replied_by(monkeypatch, "steady", lambda spec, _, told: reply(spec, told))


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Questions that were computed; each gets the answer of the three policies, its own question in it, at once."""
    asked: list[Any] = []

    def reply(spec: Mapping[str, Any], progress: Progress | None) -> dict[str, Any]:
        asked.append(spec)
        return three_policies().to_plain() | {"spec": spec}

    replied_by(monkeypatch, reply)
    return asked


def stored(store: Store, **changes: Any) -> str:
    """Keep the answer of the three policies and return its id."""
    found = three_policies()
    found = found.model_copy(update={"spec": found.spec.model_copy(update=changes)})
    version = registry.find("steady").version
    plain = found.to_plain()
    return store.save_experiment(ExperimentRecord("steady", plain["spec"], plain, version, "steady"))


def said(app: AppTest) -> str:
    texts = [part.value for part in [*app.header, *app.markdown, *app.warning, *app.error, *app.info]]
    return "\n".join(texts).replace("\\", "")


def keys(app: AppTest) -> set[str | None]:
    return {button.key for button in app.button}


def test_the_page_opens_with_the_bundled_answer_and_a_next_step(open_page: Callable[..., AppTest]) -> None:
    app = open_page(PAGE)
    assert not app.exception
    assert (
        app.header[0].value.replace("\\", "").startswith("At load 0.7 malleable HELL has a mean turnaround time of 3 d")
    )
    assert len(app.metric) == 4
    assert "four example networks on 100 nodes, load 0.1 to 0.9, 20 points" in said(app)
    assert "steady-next" in keys(app)
    assert "steady-ask" not in keys(app)
    assert "experiment" not in app.query_params


def test_every_view_of_one_load_opens(open_page: Callable[..., AppTest]) -> None:
    app = open_page(PAGE)
    for view, words in {
        "early": "Mean time until 40% of a job's work is done at load 0.7",
        "nodes": "Nodes of a running job, mean at load 0.7",
        "jobs": "Most jobs in the system, by stretch of time at load 0.7",
        "spread": "Half of the jobs are done within",
    }.items():
        app = app.segmented_control(key="steady-look").set_value(view).run()
        assert not app.exception
        assert words in said(app)
    assert {"about the same", "clearly different"} >= set(app.dataframe[-1].value["Verdict"])
    app = app.segmented_control(key="steady-load").set_value(0.9).run()
    assert not app.exception
    assert "Every queue grows at this load" in said(app)


def test_a_load_of_one_is_refused_in_the_form_with_the_reason(open_page: Callable[..., AppTest]) -> None:
    app = open_page(PAGE).number_input(key="steady-last_load").set_value(1.1).run()
    assert not app.exception
    assert "queue grows without end" in app.error[0].value
    assert "steady-ask" not in keys(app)
    assert app.header[0].value  # the answer stays
    app = app.number_input(key="steady-last_load").set_value(0.5).run()
    assert not app.error
    assert app.button(key="steady-ask").label == "Compute 12 points, about 36 s"
    assert "the answer to another question than the form asks" in said(app)


def test_a_new_question_is_computed_kept_and_opens_by_itself(
    open_page: Callable[..., AppTest], store: Store, runner: Runner, answers: list[Any]
) -> None:
    app = open_page(PAGE).multiselect(key="steady-policies").set_value(["hell-malleable", "srpt-all-nodes"]).run()
    app = app.number_input(key="steady-nodes").set_value(20).run()
    app.button(key="steady-ask").click().run()
    assert runner.wait(WAIT_S)
    app = app.run()
    assert not app.exception
    (asked,) = answers
    assert asked["stream"]["nodes"] == 20
    (kept,) = store.list_experiments("steady")
    assert app.query_params["experiment"] == kept.experiment_id
    assert "At load 0.7 malleable HELL has a mean turnaround time of 3 d 8 h" in said(app)
    assert "steady-next" in keys(app)
    # The same question again is answered from the store.
    app = app.number_input(key="steady-nodes").set_value(21).run()
    app = app.number_input(key="steady-nodes").set_value(20).run()
    assert "steady-next" in keys(app)
    assert len(answers) == 1


def test_a_link_opens_an_answer_and_fills_the_form(open_page: Callable[..., AppTest], store: Store) -> None:
    kept = stored(store, seed=7, target=0.1)
    app = open_page(PAGE, experiment=kept)
    assert not app.exception
    assert "At load 0.7 malleable HELL has a mean turnaround time of 3 d 8 h" in said(app)
    assert app.number_input(key="steady-seed").value == 7
    assert app.selectbox(key="steady-target").value == 0.1
    assert app.query_params["experiment"] == kept


def test_a_known_question_is_shown_and_not_computed(
    open_page: Callable[..., AppTest], store: Store, runner: Runner, answers: list[Any]
) -> None:
    app = open_page(PAGE).number_input(key="steady-seed").set_value(7).run()
    spec = SteadySpec.model_validate(
        {**three_policies().spec.model_dump(), "loads": (0.1, 0.3, 0.5, 0.7, 0.9), "seed": 7,
         "policies": [{"key": key} for key in ("hell-malleable", "knee-malleable", "srpt-all-nodes", "jsq-chunk")]}
    )  # fmt: skip
    plain = three_policies().to_plain() | {"spec": spec.model_dump(mode="json")}
    version = registry.find("steady").version
    kept = store.save_experiment(ExperimentRecord("steady", spec.model_dump(mode="json"), plain, version, "steady"))
    app = app.run()
    assert app.button(key="steady-ask").label == "Show 20 points from the store"
    app = app.button(key="steady-ask").click().run()
    assert not app.exception
    assert app.query_params["experiment"] == kept
    assert answers == []


def test_a_link_to_an_unknown_answer_says_so_and_goes_on(open_page: Callable[..., AppTest], store: Store) -> None:
    app = open_page(PAGE, experiment="abc")
    assert not app.exception
    assert "is not in this store" in app.error[0].value
    app = app.button(key="steady-without").click().run()
    assert "At load 0.7 malleable HELL has a mean turnaround time of 3 d" in said(app)
    other = store.save_experiment(ExperimentRecord("else", {}, {"a": 1}, "v", "other"))
    app = open_page(PAGE, experiment=other)
    assert "is no load test" in app.error[0].value


def test_a_failure_is_told_in_one_box_and_the_page_stays_usable(
    open_page: Callable[..., AppTest], runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(spec: Mapping[str, Any], progress: Progress | None) -> dict[str, Any]:
        raise InputError("policy jsq-chunk", "cannot run <b>these</b> jobs", "Choose others")

    replied_by(monkeypatch, fail)
    monkeypatch.setattr(PendingTasks, "follow", lambda self, places: None)
    app = open_page(PAGE).number_input(key="steady-nodes").set_value(20).run()
    app.button(key="steady-ask").click().run()
    assert runner.wait(WAIT_S)
    app = app.run()
    assert not app.exception
    (box,) = app.error
    assert "policy jsq-chunk: cannot run <b>these</b> jobs" in box.value.replace("\\", "")
    assert "<b>" not in box.value
    assert app.header[0].value


def test_progress_is_shown_and_a_computation_can_be_cancelled(
    open_page: Callable[..., AppTest], runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(spec: Mapping[str, Any], progress: Progress | None) -> dict[str, Any]:
        until = time.monotonic() + WAIT_S
        while progress is not None and time.monotonic() < until:
            progress(0.7, "SRPT at load 0.5: 4,000 jobs")
            time.sleep(0.02)
        raise AssertionError("nobody cancelled")

    replied_by(monkeypatch, slow)
    monkeypatch.setattr(PendingTasks, "follow", lambda self, places: None)
    app = open_page(PAGE).number_input(key="steady-nodes").set_value(20).run()
    app = app.button(key="steady-ask").click().run()
    assert "You can leave this page" in said(app)
    app = app.button(key="steady-cancel").click().run()
    assert not app.exception
    assert "Cancelled. Nothing was kept." in said(app)
    assert "You can leave this page" not in said(app)
    assert runner.wait(WAIT_S)
    assert runner.questions()[0].experiment_id is None


def test_a_network_of_ones_own_can_be_chosen(open_page: Callable[..., AppTest]) -> None:
    app = open_page(PAGE)
    assert len(app.segmented_control(key="steady-networks").options) == 2
    app.session_state[stream_network.KEY] = StreamSpec(networks=TABLE_III[2:3], network_model="exact")
    app = app.run()
    options = app.segmented_control(key="steady-networks").options
    assert [option.replace("\\", "") for option in options][2:] == ["AlexNet (Speed-up)"]
    app = app.segmented_control(key="steady-networks").set_value("own").run()
    assert not app.exception
    assert "AlexNet on 100 nodes" in said(app)
    assert "steady-links" not in {box.key for box in app.selectbox}  # it comes with the network


def test_the_next_step_makes_a_scenario_of_these_jobs(open_page: Callable[..., AppTest], store: Store) -> None:
    app = open_page(PAGE).button(key="steady-next").click().run()
    assert not app.exception
    newest = store.list_scenarios().iloc[0]
    made = store.get_scenario(newest["scenario_hash"])
    assert len(made.workload) == 400
    assert made.cluster.num_nodes == 100
    assert app.title[0].value == "Run"


def test_names_in_an_answer_are_shown_letter_by_letter(open_page: Callable[..., AppTest], store: Store) -> None:
    bad = answer([point("[x](http://y) <b>", 0.5, 10.0), point(KNEE, 0.5, 20.0)],
                 {("[x](http://y) <b>", KNEE, 0.5): (-10.0, 1.0)})  # fmt: skip
    record = ExperimentRecord("steady", bad.to_plain()["spec"], bad.to_plain(), "old", "steady")
    app = open_page(PAGE, experiment=store.save_experiment(record))
    assert not app.exception
    assert "](http://" not in "\n".join(part.value for part in [*app.header, *app.markdown])
    assert "Computed by another version" in said(app)
    assert HELL not in said(app)
