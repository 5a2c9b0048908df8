"""What bounds leave to gain, on Result and Compare."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.store import Store
from dlsched.studies.simulation import simulate
from dlsched.ui.results.overview import badges
from tests.support.page_text import shown
from tests.support.runs_for_store import small_scenario

RESULT, COMPARE = "results/run_details.py", "results/compare.py"
Open = Callable[..., AppTest]


@pytest.fixture
def scenario() -> Scenario:
    """Twelve jobs on four GPUs; restarts keep the compiled loop away, which would take long to compile here."""
    return small_scenario(jobs=12, options=SimulationRules(restart_s=1.0))


def saved(store: Store, scenario: Scenario, policy: str) -> str:
    return store.save_run(simulate(scenario, policy).record())


def test_numbers_tell_what_is_left_to_gain(store: Store, scenario: Scenario, open_page: Open):
    run = saved(store, scenario, "fifo")
    app = open_page(RESULT, run=run, part="Numbers")
    assert not app.exception
    assert "Bounds" in [heading.value for heading in app.subheader]
    text = shown(app)
    bounds = next(frame.value for frame in app.dataframe if "What it says" in frame.value).set_index("Number")
    turnaround = str(bounds.loc["Mean turnaround time", "What it says"])
    assert turnaround.startswith("Could be up to ")
    assert "lower: no policy can complete these jobs in less than" in turnaround
    assert "no policy can do it for less than $" in str(bounds.loc["Total cost", "What it says"])
    assert "never more" in text
    assert "did not complete here" not in text


def test_jobs_that_did_not_complete_are_named(store: Store, open_page: Open):
    given = small_scenario(jobs=12, options=SimulationRules(restart_s=1.0, horizon_s=150.0))
    app = open_page(RESULT, run=saved(store, given, "fifo"), part="Numbers")
    assert not app.exception
    assert "did not complete here: bounds on turnaround time are about the others" in shown(app)


def test_badges_are_few_and_the_sentence_is_not_said_twice():
    metrics = {
        "jct_mean": 10.0, "jct_mean_bound": 5.0, "utility_total": 1.0, "utility_total_bound": 2.0, "total_cost": 4.0,
        "total_cost_bound": 3.0,
    }  # fmt: skip
    assert [one.limit.key for one in badges(metrics, without_cost=False)] == ["total_cost", "utility_total"]
    assert [one.limit.key for one in badges(metrics, without_cost=True)] == ["utility_total", "jct_mean"]
    assert badges({}, without_cost=False) == []


def test_a_number_of_all_runs_beside_its_bound(store: Store, scenario: Scenario, open_page: Open):
    base, other = saved(store, scenario, "fifo"), saved(store, scenario, "sjf")
    app = open_page(COMPARE, runs=f"{base},{other}", base=base, part="Bounds")
    assert not app.exception
    choice = app.segmented_control(key="bound-number")
    assert choice.options[0] == "Mean turnaround time"
    assert "Mean turnaround time: FIFO " in shown(app)
    assert "could be up to" in shown(app)
    assert "no policy can beat it" in shown(app)
    assert "a line of its own" not in shown(app)
    app = choice.set_value("total_cost").run()
    assert not app.exception
    assert "Total cost: FIFO $" in shown(app)


def test_runs_of_an_older_version_say_so(
    store: Store, scenario: Scenario, open_page: Open, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("dlsched.ui.results.compare_tabs.LIMITS", ())
    base, other = saved(store, scenario, "fifo"), saved(store, scenario, "sjf")
    app = open_page(COMPARE, runs=f"{base},{other}", base=base, part="Bounds")
    assert not app.exception
    assert "run them again" in app.info[0].value
