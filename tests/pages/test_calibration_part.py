"""The part Calibration of the page Workload: replaying in the background, the answer kept, and the chip for others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dlsched.domain.scenario import Scenario
from dlsched.runner.background import Runner
from dlsched.store import Store
from dlsched.store.record import ExperimentRecord
from dlsched.studies import registry
from dlsched.studies.calibration.answer import Calibration
from dlsched.studies.calibration.words import times_words, trust_caveat
from dlsched.ui.frame import session
from dlsched.ui.scenario import trust
from tests.support.assumptions import read
from tests.support.page_text import shown
from tests.support.recorded_jobs import recorded_scenario
from tests.support.runs_for_store import small_scenario

PAGE = "scenario/jobs.py"
WAIT_S = 60
OpenPage = Callable[..., AppTest]
POLICIES = ["sjf", "fifo"]
MEASURED = "typical factor 1.00x, rank correlation 1.00 on the second half (n = 74, FIFO)"


@cache
def answered() -> ExperimentRecord:
    """Return the replays of jobs that FIFO recorded."""
    scenario = recorded_scenario("fifo")
    spec = {"scenario": scenario.content_hash, "policies": POLICIES}
    return registry.compute("calibration", spec, subject=scenario)


def opened(store: Store, open_page: OpenPage, scenario: Scenario) -> AppTest:
    return open_page(PAGE, scenario=store.save_scenario(scenario).scenario_hash, part="Trust")


def keys(app: AppTest) -> set[str | None]:
    return {button.key for button in app.button}


def card(app: AppTest, label: str) -> str:
    return str({metric.label: metric.value for metric in app.metric}[label])


def test_jobs_without_recorded_starts_have_no_such_part(store: Store, open_page: OpenPage) -> None:
    app = opened(store, open_page, small_scenario())
    assert not app.exception
    assert "calibration-compute" not in keys(app)
    assert "Calibration" not in [part.value for part in app.subheader]


def test_one_button_replays_the_usual_policies_and_the_answer_stays(
    store: Store, runner: Runner, open_page: OpenPage
) -> None:
    scenario = recorded_scenario("fifo")
    app = opened(store, open_page, scenario)
    assert trust.known_trust(scenario) is None
    assert "This trace has recorded start times." in shown(app)
    assert app.button(key="calibration-compute").label.startswith("Replay 4 policies, about ")
    app.button(key="calibration-compute").click().run()
    assert runner.wait(WAIT_S)
    app = app.run()
    assert not app.exception
    assert "Replays the log: typical factor 1.00x, rank correlation 1.00 on the second half" in shown(app)
    assert card(app, "Typical factor") == "1.00x"
    assert card(app, "Rank correlation") == "1.00"
    assert len(store.list_experiments("calibration")) == 1
    chip = trust.known_trust(scenario)
    assert chip is not None
    assert (chip.label, chip.where) == (f"replays the log: {MEASURED}", "Jobs, Trust")
    assert trust.known_trust(session.demo()) is None


def test_a_stored_answer_opens_with_the_page_and_other_policies_can_be_looked_at(
    store: Store, open_page: OpenPage
) -> None:
    store.save_experiment(answered())
    app = opened(store, open_page, recorded_scenario("fifo"))
    assert not app.exception
    tag = store.list_experiments("calibration")[0].experiment_id[:8]
    assert app.selectbox(key=f"calibration-policy-{tag}").value == "fifo"
    assert "140 of 150 jobs compared; 10 too early to judge" in shown(app)
    app = app.selectbox(key=f"calibration-policy-{tag}").set_value("sjf").run()
    assert not app.exception
    sjf = Calibration.from_plain(answered().answer).of("sjf")
    assert sjf.second.mean_factor > 1
    assert card(app, "Mean wait, replayed / recorded") == times_words(sjf.second.mean_ratio)
    app = app.segmented_control(key=f"calibration-by-{tag}").set_value("group").run()
    tables = [frame.value for frame in app.dataframe if "what-ifs" in frame.value.columns]
    assert [sorted(table["group"]) for table in tables] == [["vc1", "vc7"]]
    app = app.toggle(key="table-calibration").set_value(True).run()
    assert not app.exception
    replayed_s = [group.wait.replayed.mean_s for group in sjf.groups["group"]]
    (table,) = [frame.value for frame in app.dataframe if "replayed mean wait, s" in frame.value.columns]
    assert table["replayed mean wait, s"].tolist() == pytest.approx(replayed_s)


def test_nothing_chosen_cannot_be_replayed(store: Store, open_page: OpenPage) -> None:
    scenario = recorded_scenario("fifo")
    app = opened(store, open_page, scenario)
    app = app.multiselect(key=f"calibration-policies-{scenario.content_hash[:8]}").set_value([]).run()
    assert app.button(key="calibration-compute").disabled
    assert app.button(key="calibration-compute").label == "Choose a policy"


def test_jobs_that_can_never_fit_are_told_and_the_page_goes_on(
    store: Store, runner: Runner, open_page: OpenPage
) -> None:
    scenario = recorded_scenario("fifo")
    workers = scenario.workload.workers.copy()
    workers[0] = 500
    app = opened(store, open_page, scenario.replace(workload=scenario.workload.with_columns(workers=workers)))
    app.button(key="calibration-compute").click().run()
    assert runner.wait(WAIT_S)
    app = app.run()
    assert not app.exception
    assert "The computation stopped" in shown(app)
    assert "calibration-compute" in keys(app)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"code_version": "0.0.0"}, "Computed by another version of this program."),
        ({"answer": {"of": "another version"}}, "This trace has recorded start times."),
    ],
    ids=["older-code", "unreadable"],
)
def test_answers_of_older_code_are_marked_and_unreadable_ones_are_none(
    changes: dict[str, Any], told: str, store: Store, open_page: OpenPage
) -> None:
    store.save_experiment(replace(answered(), **changes))
    app = opened(store, open_page, recorded_scenario("fifo"))
    assert not app.exception
    assert told in shown(app)


def test_a_default_cluster_and_a_broken_replay_are_banners(store: Store, open_page: OpenPage) -> None:
    scenario = recorded_scenario("fifo").replace(assumptions=read("Default cluster: 2 nodes"))
    record = registry.compute(
        "calibration", {"scenario": scenario.content_hash, "policies": ["fifo"]}, subject=scenario
    )
    answer = Calibration.from_plain(record.answer)
    broken = answer.best.model_copy(update={"audit": ("node 0 holds too much",)})
    plain = answer.model_copy(update={"replays": (broken,)}).to_plain()
    store.save_experiment(replace(record, answer=plain))
    app = opened(store, open_page, scenario)
    assert not app.exception
    assert "The cluster is our default, not the recorded one" in shown(app)
    assert "The audit found violations in 1 replay. First, FIFO: node 0 holds too much" in shown(app)


def test_names_of_groups_are_shown_letter_by_letter(store: Store, open_page: OpenPage) -> None:
    jobs = recorded_scenario("fifo").workload
    assert jobs.recorded_start_s is not None
    late = np.where(np.arange(len(jobs)) % 2 == 0, 50_000.0, 0.0)
    odd = jobs.with_columns(
        group=["**[x](http://y)**", "plain"] * (len(jobs) // 2), recorded_start_s=jobs.recorded_start_s + late
    )
    scenario = recorded_scenario("fifo").replace(workload=odd)
    spec = {"scenario": scenario.content_hash, "policies": ["fifo"]}
    record = registry.compute("calibration", spec, subject=scenario)
    store.save_experiment(record)
    app = opened(store, open_page, scenario)
    assert not app.exception
    answer = Calibration.from_plain(record.answer)
    assert answer.default_by == "group"
    assert "x](http" in trust_caveat(answer).why
    told = next(part.value for part in app.markdown if part.value.startswith("**Does not replay"))
    assert "\\[x\\]\\(http\\:" in told
