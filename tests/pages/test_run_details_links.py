"""Links of earlier versions to Result and to the views into decisions, opened cold: the same content on Run details."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from dlsched.runner.background import Runner
from dlsched.store import Store
from dlsched.studies.simulation import simulate
from dlsched.ui.frame import session
from tests.support.admission_runs import batch_run
from tests.support.look_ahead_runs import OPTIMAL, elastic_run
from tests.support.page_text import shown
from tests.support.priced_runs import HORIZON, four_jobs
from tests.support.runs_for_store import small_scenario

Open = Callable[..., AppTest]


@pytest.mark.parametrize(
    ("query", "part"),
    [
        ({"tab": "Gantt", "from": "30", "to": "90", "rows": "1-1"}, "Timeline"),
        ({"tab": "Job", "job": "2"}, "Jobs"),
        ({"tab": "Cost"}, "Cost"),
        ({}, "Overview"),
    ],
)
def test_a_link_to_result_opens_its_part(store: Store, open_old: Open, query: dict[str, str], part: str) -> None:
    saved = store.save_run(simulate(small_scenario(), "las").record())
    app = open_old("result", run=saved, **query)
    assert not app.exception
    assert app.title[0].value == "Run details"
    assert app.segmented_control(key="part").value == part
    for name in query.keys() - {"tab"}:
        assert app.query_params[name] in (query[name], [query[name]])


def test_links_to_the_views_into_decisions_open_inside_with_what_they_named(
    store: Store, runner: Runner, open_old: Open
) -> None:
    planned = store.save_run(elastic_run(OPTIMAL).record())
    app = open_old("look-ahead", run=planned, decision="3")
    assert not app.exception
    assert app.number_input(key=f"look-number-{planned}").value == 3

    admitted = store.save_run(batch_run("smd").record())
    app = open_old("admissions", run=admitted, interval="2")
    assert not app.exception
    assert app.number_input(key=f"admit-number-{admitted}").value == 2

    priced = store.save_run(simulate(four_jobs(), "pd-ors", HORIZON).record())
    for address in ("dual-prices", "prices"):
        app = open_old(address, run=priced, job="1")
        assert not app.exception
        assert app.subheader[0].value.replace("\\", "").startswith("b: worth")
        assert app.segmented_control(key="part").value == "Inside"


def test_prices_of_today_opens_within_the_app_whatever_run_is_looked_at(store: Store, open_page: Open) -> None:
    saved = store.save_run(simulate(four_jobs(), "pd-ors", HORIZON).record())
    app = open_page("results/run_details.py", run=saved)
    app.query_params["run"] = saved  # a link within the app carries it
    app = app.switch_page("pages/scenario/prices.py").run()
    assert not app.exception
    assert app.title[0].value == "Prices"
    assert "run" not in app.query_params  # or a reload would open Run details
    assert app.session_state[session.RUN] == saved


def test_a_link_to_inside_of_a_scenario_without_such_a_run_offers_three_samples(store: Store, open_old: Open) -> None:
    saved = store.save_run(simulate(small_scenario(), "las").record())
    app = open_old("admissions", run=saved)
    assert not app.exception
    assert "No run of this scenario shows how its policy decided" in shown(app)
    assert {"look-empty", "admit-empty", "price-empty"} <= {button.key for button in app.button}
