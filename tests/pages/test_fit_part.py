"""The part of Jobs, Trust, that fits a scheduler: computed in the background, kept, and made what runs today."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from streamlit.testing.v1 import AppTest

from dlsched.runner.background import Runner
from dlsched.store import Store
from dlsched.store.record import ExperimentRecord
from dlsched.studies import registry
from dlsched.ui.fields.policy_and_params import todays_policy, usual, usual_variant
from dlsched.ui.scenario import trust
from tests.support.page_text import shown
from tests.support.recorded_jobs import recorded_scenario
from tests.support.runs_for_store import small_scenario

PAGE = "scenario/jobs.py"
WAIT_S = 120
OpenPage = Callable[..., AppTest]
SCENARIO = recorded_scenario("easy-backfill", jobs=300)


@cache
def answered() -> ExperimentRecord:
    return registry.compute("fitting", {"scenario": SCENARIO.content_hash, "replays": 2}, subject=SCENARIO)


def opened(store: Store, open_page: OpenPage) -> AppTest:
    return open_page(PAGE, scenario=store.save_scenario(SCENARIO).scenario_hash, part="Trust")


def test_jobs_without_recorded_starts_say_so(store: Store, open_page: OpenPage) -> None:
    app = open_page(PAGE, scenario=store.save_scenario(small_scenario()).scenario_hash, part="Trust")
    assert not app.exception
    assert "there are no waits to fit a scheduler to" in shown(app)


def test_one_button_fits_and_the_answer_stays(store: Store, runner: Runner, open_page: OpenPage) -> None:
    app = opened(store, open_page)
    assert app.button(key="fit-compute").label.startswith("Fit to the first half, about ")
    app.button(key="fit-compute").click().run()
    assert runner.wait(WAIT_S)
    app = app.run()
    assert not app.exception
    assert "Replays the log: typical factor 1.00x" in shown(app)
    assert len(store.list_experiments("fitting")) == 1
    chip = trust.known_trust(SCENARIO, "easy-backfill")
    assert chip is not None
    assert "fitted EASY backfill" in chip.label


def test_the_fitted_policy_becomes_what_runs_today(store: Store, open_page: OpenPage) -> None:
    store.save_experiment(answered())
    app = opened(store, open_page)
    assert not app.exception
    assert todays_policy(SCENARIO) is None
    assert usual(SCENARIO)[0] == "fifo"
    app = app.button(key="fit-keep").click().run()
    assert not app.exception
    assert usual_variant(SCENARIO).policy == "easy-backfill"
    assert usual(SCENARIO)[0] == "easy-backfill"
    assert "fit-keep" not in {button.key for button in app.button}
    run = open_page("simulate/run.py", scenario=SCENARIO.content_hash)
    assert not run.exception
    assert "Runs today: the baseline that the others are compared with." in shown(run)


def test_each_group_has_its_own_trust(store: Store, open_page: OpenPage) -> None:
    store.save_experiment(answered())
    app = opened(store, open_page)
    tables = {tuple(frame.value.columns[:3]) for frame in app.dataframe}
    assert ("Group", "Jobs", "What-ifs") in tables or ("GPUs", "Jobs", "What-ifs") in tables
    assert "Policy" in {frame.value.columns[0] for frame in app.dataframe}
