"""The part Range asked about the size of an elastic pool: the preset, its link, the gain, decisions, kept answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streamlit.testing.v1 import AppTest

from dlsched.runner.background import Runner
from dlsched.store import Store
from dlsched.store.record import ExperimentRecord
from dlsched.studies.design import Futures
from dlsched.ui.frame.futures import choose
from tests.support.look_ahead_runs import elastic_scenario
from tests.support.page_text import shown
from tests.support.runs_for_store import small_scenario

PAGE = "plan/capacity.py"
WAIT_S = 60
OpenPage = Callable[..., AppTest]
OPTIMAL, GREEDY = "modelarts-optimal", "modelarts-greedy"


def tag() -> str:
    return elastic_scenario().content_hash[:8]


def picture(app: AppTest) -> Any:
    return next(one for one in app.segmented_control if str(one.key).startswith("sweep-part"))


def test_a_link_to_the_old_page_asks_about_sizes_and_mishaps_and_the_answer_has_gains_and_decisions(
    store: Store, runner: Runner, open_page: OpenPage
) -> None:
    saved = store.save_scenario(elastic_scenario()).scenario_hash
    choose(elastic_scenario(), Futures.first(1))
    app = open_page(PAGE, scenario=saved, preset="pool-size")
    assert not app.exception
    assert "preset" not in app.query_params
    assert app.multiselect(key=f"sweep-policies-grid-{tag()}").value == [OPTIMAL, GREEDY]
    assert app.selectbox(key=f"sweep-gain-grid-{tag()}").value == GREEDY
    assert app.text_input(key=f"sweep-values-grid-nodes-{tag()}").value == "3, 4, 6, 8, 9, 12"
    assert app.text_input(key=f"sweep-values-grid-mishaps-{tag()}").value == "own, mishaps"
    app = app.text_input(key=f"sweep-values-grid-nodes-{tag()}").set_value("3, 6").run()
    app = app.button(key="range-ask").click().run()
    assert runner.wait(WAIT_S)
    app = app.run()
    assert not app.exception
    (info,) = store.list_experiments("sweep")
    assert app.query_params["experiment"] == info.experiment_id
    app = app.selectbox(key="sweep-metric").set_value("gain").run()
    assert "Gain, job by job" in app.header[0].value
    assert picture(app).options == ["Lines", "Map", "Behind the best", "Time of decisions", "Table"]
    for name in picture(app).options:
        app = picture(app).set_value(name).run()
        assert not app.exception, name
        assert not app.error, name
    app = picture(app).set_value("Lines").run()
    beside = next(one for one in app.selectbox if str(one.key).startswith("sweep-beside"))
    app = beside.set_value("each of them").run()
    assert not app.exception
    # The question is that of the answer again when it is opened by its link.
    again = open_page(PAGE, experiment=info.experiment_id)
    assert again.selectbox(key=f"sweep-gain-grid-{tag()}").value == GREEDY
    assert "range-ask" not in {button.key for button in again.button}


def test_jobs_of_one_width_are_told_where_to_get_others(store: Store, open_page: OpenPage) -> None:
    app = open_page(PAGE, scenario=store.save_scenario(small_scenario(12)).scenario_hash, preset="pool-size")
    assert not app.exception
    assert "Every job has a fixed number of GPUs here" in shown(app)
    app = app.selectbox(key=f"sweep-gain-grid-{small_scenario(12).content_hash[:8]}").set_value("").run()
    assert "Every job has a fixed number of GPUs here" not in shown(app)


def test_answers_of_the_earlier_page_stay_in_the_store_and_break_nothing(store: Store, open_page: OpenPage) -> None:
    scenario = store.save_scenario(elastic_scenario()).scenario_hash
    old = store.save_experiment(ExperimentRecord("pool-sizes", {"scenario": scenario}, {"cells": []}, "v", "earlier"))
    app = open_page(PAGE, scenario=scenario, part="Range")
    assert not app.exception
    assert not app.error
    app = open_page(PAGE, experiment=old, part="Range")
    assert not app.exception
    assert "is no sweep" in app.error[0].value
    app = app.button(key="range-without").click().run()
    assert not app.exception
    assert "Run " in shown(app) or app.button
