"""The page Pool size: the form, computing in the background, links, old answers, other scenarios, ways on."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario, SpeedSpec
from dlsched.runner.background import Runner
from dlsched.store import Store
from dlsched.store.record import ExperimentRecord
from dlsched.studies import registry
from dlsched.studies.simulation import Progress
from dlsched.ui.plan import pool_size_work
from tests.support import studies
from tests.support.look_ahead_runs import elastic_scenario
from tests.support.page_text import kept, shown
from tests.support.runs_for_store import small_scenario

PAGE = "plan/pool_size.py"
WAIT_S = 60
OpenPage = Callable[..., AppTest]


@cache
def answered(variants: tuple[str, ...] = ("own",), draws: int = 3) -> ExperimentRecord:
    """Return a small sweep of the given jobs with both allocators."""
    scenario = elastic_scenario()
    spec = {"scenario": scenario.content_hash, "nodes": [3, 6], "variants": list(variants), "draws": draws}
    return registry.compute("pool-sizes", spec, subject=scenario)


def saved(store: Store, record: ExperimentRecord) -> str:
    store.save_scenario(elastic_scenario())
    return store.save_experiment(record)


def keys(app: AppTest) -> set[str | None]:
    return {button.key for button in app.button}


def typed(app: AppTest, scenario: Scenario, text: str) -> AppTest:
    return app.text_input(key=f"pool-nodes-{scenario.content_hash[:8]}").set_value(text).run()


def opened(store: Store, open_page: OpenPage, scenario: Scenario) -> AppTest:
    return open_page(PAGE, scenario=store.save_scenario(scenario).scenario_hash)


def test_the_first_screen_asks_about_the_scenario_in_hand_with_sizes_around_its_own(
    store: Store, open_page: OpenPage
) -> None:
    app = opened(store, open_page, elastic_scenario())
    assert not app.exception
    assert "fewer and on more nodes" in app.header[0].value
    assert "12 jobs on 3, 4, 6, 9, 12 nodes, ModelArts, optimal, ModelArts, greedy" in shown(app)
    assert app.button(key="pool-compute").label.startswith("Compute 10 runs, about ")
    assert "Nothing is random here: exact for these jobs, without intervals." in shown(app)
    assert not app.warning


def test_a_question_is_computed_kept_and_opens_by_itself(store: Store, runner: Runner, open_page: OpenPage) -> None:
    scenario = elastic_scenario()
    app = typed(opened(store, open_page, scenario), scenario, "6, 3")
    assert app.button(key="pool-compute").label.startswith("Compute 4 runs")
    app.button(key="pool-compute").click().run()
    assert runner.wait(WAIT_S)
    app = app.run()
    assert not app.exception
    (info,) = store.list_experiments("pool-sizes")
    assert app.query_params["experiment"] == info.experiment_id
    assert app.header[0].value.startswith("From 3 to 6 nodes the mean total time goes from")
    assert "longer under greedy ModelArts than under optimal ModelArts" in app.header[0].value
    assert [card.label for card in app.metric] == [
        "Gain", "Total time, mean, 6 nodes", "Queueing time, mean, 6 nodes", "Decisions proven",
    ]  # fmt: skip
    assert app.metric[3].value.startswith("all of ")
    assert "pool-compute" not in keys(app)
    app = typed(app, scenario, "3, 6, 9")
    assert "answer to another question than the form asks" in shown(app)
    app = typed(app, scenario, "3, 6")
    assert "pool-compute" not in keys(app)
    # The next one opens in the place of the one that is open.
    app = typed(app, scenario, "6")
    app = app.button(key="pool-compute").click().run()
    assert runner.wait(WAIT_S)
    app = app.run()
    assert app.query_params["experiment"] != info.experiment_id
    assert app.header[0].value.startswith("On 6 nodes jobs take")


def test_an_answer_opens_by_its_link_with_its_scenario_and_its_question(store: Store, open_page: OpenPage) -> None:
    experiment = saved(store, answered(("baseline", "estimates"), 3))
    app = open_page(PAGE, experiment=experiment)
    assert not app.exception
    tag = elastic_scenario().content_hash[:8]
    assert app.session_state["scenario_hash"] == elastic_scenario().content_hash
    assert app.text_input(key=f"pool-nodes-{tag}").value == "3, 6"
    assert app.multiselect(key=f"pool-variants-{tag}").value == ["baseline", "estimates"]
    assert app.number_input(key=f"pool-draws-{tag}").value == 3
    assert "Change of the gain against “nothing”, in points, on the same draws" in shown(app)
    app = app.segmented_control(key="pool-variant-baseline-estimates").set_value("estimates").run()
    assert not app.exception
    assert "3 draws" in app.header[0].value


@pytest.mark.parametrize("measure", ["wait", "p95", "additional", "completed", "workers", "held"])
def test_every_number_can_be_looked_at_by_size(measure: str, store: Store, open_page: OpenPage) -> None:
    app = open_page(PAGE, experiment=saved(store, answered()))
    app = app.segmented_control(key="pool-measure-7").set_value(measure).run()
    app = app.toggle(key="table-pool-by-size").set_value(True).run()
    assert not app.exception
    assert app.dataframe[0].value["nodes"].tolist() == [3, 3, 6, 6]


def test_the_newest_answer_about_a_scenario_opens_with_it(store: Store, open_page: OpenPage) -> None:
    experiment = saved(store, answered())
    app = opened(store, open_page, elastic_scenario())
    assert app.query_params["experiment"] == experiment
    assert len(app.metric) == 4


def test_another_scenario_puts_the_answer_away(store: Store, open_page: OpenPage) -> None:
    other = store.save_scenario(elastic_scenario(jobs=5)).scenario_hash
    app = open_page(PAGE, experiment=saved(store, answered()))
    app.query_params["scenario"] = other
    app = app.run()
    assert not app.exception
    assert "experiment" not in app.query_params
    assert "5 jobs on 3, 4, 6, 9, 12 nodes" in shown(app)
    assert not app.metric


def test_an_answer_whose_scenario_is_elsewhere_is_shown_and_says_so(store: Store, open_page: OpenPage) -> None:
    app = open_page(PAGE, experiment=store.save_experiment(answered()))
    assert not app.exception
    assert "about the scenario elastic, which is not in this store" in shown(app)
    assert len(app.metric) == 4
    assert "pool-see" not in keys(app)


def test_an_old_answer_says_so_and_can_be_computed_anew(store: Store, open_page: OpenPage) -> None:
    app = open_page(PAGE, experiment=saved(store, replace(answered(), code_version="old")))
    assert not app.exception
    assert "Computed by another version of this program" in shown(app)
    assert app.button(key="pool-compute").label.startswith("Compute 4 runs")


def test_a_known_question_is_answered_from_the_store(store: Store, open_page: OpenPage) -> None:
    scenario = elastic_scenario()
    first = saved(store, answered())
    app = open_page(PAGE, experiment=saved(store, answered(("baseline", "estimates"), 3)))
    tag = scenario.content_hash[:8]
    app = app.multiselect(key=f"pool-variants-{tag}").set_value(["own"]).run()
    assert app.button(key="pool-compute").label == "Show 4 runs from the store"
    app = app.button(key="pool-compute").click().run()
    assert app.query_params["experiment"] == first


def test_a_link_to_an_unknown_answer_says_so_and_goes_on(store: Store, open_page: OpenPage) -> None:
    app = open_page(PAGE, experiment="abc")
    assert not app.exception
    assert "is not in this store" in app.error[0].value
    app = app.button(key="pool-without").click().run()
    assert not app.error
    other = store.save_experiment(ExperimentRecord("else", {}, {"a": 1}, "v", "other"))
    app = open_page(PAGE, experiment=other)
    assert "is no pool size" in app.error[0].value


def replied_by(monkeypatch: pytest.MonkeyPatch, reply: Callable[..., dict[str, Any]]) -> None:
    studies.replied_by(monkeypatch, "pool-sizes", reply)
    monkeypatch.setattr(type(pool_size_work.WORK), "follow", lambda self, places: None)


def test_progress_is_shown_and_a_cancelled_sweep_leaves_nothing(
    store: Store, runner: Runner, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(spec: Mapping[str, Any], subject: Any, progress: Progress | None) -> dict[str, Any]:
        until = time.monotonic() + WAIT_S
        while progress is not None and time.monotonic() < until:
            progress(0.5, "6 nodes, draw 1")
            time.sleep(0.02)
        raise AssertionError("nobody cancelled")

    replied_by(monkeypatch, slow)
    app = opened(store, open_page, elastic_scenario()).button(key="pool-compute").click().run()
    assert "You can leave this page" in shown(app)
    assert app.button(key="pool-compute").disabled
    app = app.button(key="pool-sizes-cancel").click().run()
    assert not app.exception
    assert "Cancelled. Nothing was kept." in shown(app)
    assert runner.wait(WAIT_S)
    assert store.list_experiments("pool-sizes") == []
    assert not app.button(key="pool-compute").disabled


def test_a_failure_is_told_in_one_box_and_the_page_stays_usable(
    store: Store, runner: Runner, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(spec: Mapping[str, Any], subject: Any, progress: Progress | None) -> dict[str, Any]:
        raise InputError("policy x", "cannot run <b>these</b> jobs", "Choose others")

    replied_by(monkeypatch, fail)
    app = opened(store, open_page, elastic_scenario()).button(key="pool-compute").click().run()
    assert runner.wait(WAIT_S)
    app = app.run()
    assert not app.exception
    (box,) = app.error
    assert "policy x: cannot run <b>these</b> jobs" in box.value.replace("\\", "")
    assert "<b>" not in box.value
    assert not app.button(key="pool-compute").disabled


@pytest.mark.parametrize(
    ("text", "message"),
    [("3, x", "must be whole numbers"), ("", "must be whole numbers"), ("0", "greater than or equal to 1")],
)
def test_sizes_that_are_none_are_refused(text: str, message: str, store: Store, open_page: OpenPage) -> None:
    scenario = elastic_scenario()
    app = typed(opened(store, open_page, scenario), scenario, text)
    assert not app.exception
    assert message in app.error[0].value.replace("\\", "")
    assert "it cannot be computed as it stands" in shown(app)
    assert "pool-compute" not in keys(app)


def test_rigid_jobs_are_offered_whole_nodes(store: Store, open_page: OpenPage) -> None:
    app = opened(store, open_page, small_scenario())
    assert not app.exception
    assert "Every job has one fixed width here" in shown(app)
    assert "pool-compute" in keys(app)
    app = app.button(key="pool-whole").click().run()
    assert not app.exception
    made = kept(store)
    assert made.speed.kind == "scaling"
    assert made.name.endswith(", whole nodes")
    assert not app.warning


def test_clusters_without_one_size_offer_ways_on(
    store: Store, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_size_work, "sample_elastic", lambda: elastic_scenario(jobs=7))
    mixed = Cluster(pools=(Pool(vm=VmType(name="a", gpus=8), count=2), Pool(vm=VmType(name="b", gpus=8), count=4)))
    scenario = elastic_scenario().replace(cluster=mixed, speed=SpeedSpec(kind="scaling"))
    app = opened(store, open_page, scenario)
    assert not app.exception
    assert "has 2 pools of different nodes" in app.error[0].value
    assert "pool-compute" not in keys(app)
    app = app.button(key="pool-whole").click().run()
    assert not app.error
    assert kept(store).cluster.num_nodes == 6
    app = opened(store, open_page, scenario.replace(name="again"))
    app = app.button(key="pool-demo").click().run()
    assert not app.exception
    assert "7 jobs on" in shown(app)


def test_the_runs_behind_a_size_open_on_result(store: Store, runner: Runner, open_page: OpenPage) -> None:
    app = open_page(PAGE, experiment=saved(store, answered()))
    app = app.selectbox(key="pool-run-[3, 6]").set_value(3).run()
    app.button(key="pool-see").click().run()
    assert runner.wait(WAIT_S)
    app = app.run()
    assert not app.exception
    runs = store.list_runs()
    assert sorted(runs["policy"]) == ["modelarts-greedy", "modelarts-optimal"]
    assert set(runs["state"]) == {"stored"}
    made = kept(store)
    assert (made.cluster.num_nodes, made.name) == (3, "elastic, 3 nodes")
    draw = answered().answer["cells"][0]["draws"][0]
    optimal = runs[runs["policy"] == "modelarts-optimal"].iloc[0]
    assert store.metrics(str(optimal["run_id"]))["jct_mean"] == pytest.approx(draw["total_mean_s"])
