"""The page When jobs start: a queue of a log, one job that asks for less, an uploaded queue, and the score."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dlsched.domain.scenario import Scenario
from dlsched.runner.background import Runner
from dlsched.store import Store
from dlsched.studies.when_starts import SCORE_STUDY, ScoreSpec
from dlsched.ui.frame import uploads
from tests.support.page_text import shown
from tests.support.queues_now import cluster, past, squeue, true_log, with_queue
from tests.support.runs_for_store import small_scenario

PAGE = "plan/when.py"
OpenPage = Callable[..., AppTest]
AT_S = 10_000.0


def queue() -> Scenario:
    rows: list[dict[str, Any]] = [
        {"job_id": "a", "submit_s": AT_S - 500, "recorded_start_s": AT_S - 60, "workers": 4, "limit_s": 1000.0},
        {"job_id": "<b>w</b>", "submit_s": AT_S - 50, "workers": 8, "limit_s": 1000.0},
        {"job_id": "x", "submit_s": AT_S, "workers": 4, "limit_s": 1000.0},
    ]
    return with_queue(past([0.25, 0.5, 0.75, 1.0]), *rows, nodes=cluster(1)).replace(name="now")


def opened(store: Store, open_page: OpenPage, scenario: Scenario) -> AppTest:
    app = open_page(PAGE, scenario=store.save_scenario(scenario).scenario_hash)
    assert not app.exception
    return app


def pressed(app: AppTest, label: str) -> AppTest:
    app = next(button for button in app.button if button.label.startswith(label)).click().run()
    assert not app.exception
    return app


def test_without_starts_it_says_what_to_upload(store: Store, open_page: OpenPage) -> None:
    app = opened(store, open_page, small_scenario())
    assert "Upload the queue as it is now" in shown(app)
    assert any("squeue --json" in code.value for code in app.code)


def test_the_queue_that_a_file_ends_with_is_asked_by_itself(store: Store, open_page: OpenPage, runner: Runner) -> None:
    app = opened(store, open_page, queue())
    app = pressed(app, "Simulate 200 futures")
    text = shown(app)
    assert "2 jobs wait" in text
    assert "of the same user" in text
    table = next(frame.value for frame in app.dataframe if "80% interval" in frame.value.columns)
    assert table["Job"].tolist() == ["<b>w</b>", "x"]
    assert table["Why it waits"].tolist() == ["not enough GPUs free", "the free GPUs are reserved for another job"]
    assert "see the score below" in text


def test_one_job_asks_for_less(store: Store, open_page: OpenPage, runner: Runner) -> None:
    app = opened(store, open_page, queue())
    app = next(box for box in app.selectbox if "asked for less" in box.label).set_value("<b>w</b>").run()
    app = pressed(app, "Simulate 200 futures")
    assert "With 4 instead of 8 GPUs it would start now" in shown(app)
    assert any("Ask for" in frame.value.columns for frame in app.dataframe)


def test_a_log_is_scored_and_every_answer_shows_it(store: Store, open_page: OpenPage, runner: Runner) -> None:
    log = true_log(120, seed=5).replace(name="log")
    store.save_scenario(log)
    spec = ScoreSpec(scenario=log.content_hash)
    app = opened(store, open_page, log)
    assert any(button.label.startswith("Score at 25 instants") for button in app.button)
    store.save_experiment(SCORE_STUDY.compute(spec.model_copy(update={"futures": 60}), log))
    app = opened(store, open_page, log)
    app = pressed(app, "Simulate 200 futures")
    assert shown(app).count("started within the 80% interval") + shown(app).count("Too few jobs of the log") == 2


def test_a_queue_is_put_on_the_log_of_the_scenario(
    store: Store, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = uploads.File("queue.json", json.dumps(squeue()).encode(), "tag")
    monkeypatch.setattr("dlsched.ui.plan.when.kept_file", lambda *_: file)
    app = opened(store, open_page, true_log(60).replace(name="log"))
    assert "3 running jobs, 6 waiting jobs" in shown(app)
    app = pressed(app, "Use this queue")
    assert "Question" in shown(app)
    names = next(box for box in app.selectbox if "asked for less" in box.label).options
    assert [name for name in names if name != "no job"] == ["4", "7", "5", "6", "9"]


def test_a_bad_instant_is_named(store: Store, open_page: OpenPage) -> None:
    app = opened(store, open_page, queue())
    app = next(field for field in app.text_input if field.label == "Instant").set_value("tomorrow").run()
    assert any("is written as day 26" in error.value for error in app.error)
