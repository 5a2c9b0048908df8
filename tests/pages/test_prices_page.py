"""The view into prices and admissions: a stored run, one job, ways to its story and back, the best in hindsight."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from dlsched.runner.background import Runner
from dlsched.store import Store
from dlsched.studies.simulation import simulate
from dlsched.ui.frame import loaders
from dlsched.ui.results import dual_prices
from tests.support.page_text import shown
from tests.support.priced_runs import HORIZON, drawn, four_jobs

PAGE = "results/run_details.py"
OpenPage = Callable[..., AppTest]


@pytest.fixture
def saved(store: Store) -> str:
    return store.save_run(simulate(four_jobs(), "pd-ors", HORIZON).record())


def subheaders(app: AppTest) -> list[str]:
    return [part.value.replace("\\", "") for part in app.subheader]


def test_a_run_opens_with_sentence_cards_prices_and_the_job_that_is_named(
    saved: str, runner: Runner, open_page: OpenPage
) -> None:
    app = open_page(PAGE, part="Inside", run=saved, job="1")
    assert not app.exception
    assert app.header[0].value.replace("\\", "") == (
        "2 of 4 jobs admitted; 1 could not finish in time, 1 found no room in time. "
        "When b came, GPUs on machine n0 were most expensive, slots 1 to 2."
    )
    assert [(card.label, card.value) for card in app.metric] == [
        ("Admitted", "2 of 4"), ("Rejected by price", "0"), ("Utility", "100"), ("On a single machine", "100%"),
    ]  # fmt: skip
    assert subheaders(app)[0] == "b: worth 50 − price 3.12 = +46.9 → admitted."
    assert "price bounds from the jobs seen so far" in shown(app)
    app = app.toggle(key="table-price-map").set_value(True).run()
    assert app.dataframe[0].value["slot"].tolist() == [1, 2, 3, 4]


def test_another_job_is_looked_at_and_the_address_says_so(saved: str, runner: Runner, open_page: OpenPage) -> None:
    app = open_page(PAGE, part="Inside", run=saved, job="1")
    app = app.selectbox(key=f"price-job-{saved}-1").set_value(3).run()
    assert not app.exception
    assert app.query_params["job"] == "3"
    assert subheaders(app)[0] == "d: rejected, it could not finish in time even alone."
    assert "No prices were looked at for d" in shown(app)


def test_from_a_job_to_its_story_and_back(saved: str, runner: Runner, open_page: OpenPage) -> None:
    app = open_page(PAGE, part="Inside", run=saved, job="1")
    app = app.button(key="price-story").click().run()
    assert not app.exception
    assert app.title[0].value == "Run details"
    assert app.header[0].value.replace("\\", "").startswith("Job b:")
    app = app.button(key="job-price").click().run()
    assert not app.exception
    assert app.query_params["part"] == "Inside"
    assert (app.query_params["run"], app.query_params["job"]) == (saved, "1")
    assert subheaders(app)[0].startswith("b: worth")


def test_other_runs_do_not_offer_prices(store: Store, open_page: OpenPage) -> None:
    other = store.save_run(simulate(four_jobs(), "pd-ors-fifo").record())
    app = open_page(PAGE, run=other, part="Jobs", job="1")
    assert "Inside" not in app.segmented_control(key="part").options
    assert "job-price" not in [button.key for button in app.button]


def test_the_best_in_hindsight_is_computed_when_asked_for_and_kept(
    saved: str, runner: Runner, open_page: OpenPage, store: Store
) -> None:
    app = open_page(PAGE, part="Inside", run=saved)
    assert "the best possible plan" not in shown(app)
    app = app.button(key="price-hindsight").click().run()
    assert not app.exception
    assert "1x: the best possible plan is worth 100 (proven), this run 100" in shown(app)
    again = open_page(PAGE, part="Inside", run=saved)
    assert "the best possible plan is worth 100 (proven)" in shown(again)
    assert len(store.list_experiments("hindsight")) == len(store.list_experiments("prices")) == 1


def test_a_large_run_says_why_there_is_no_best_in_hindsight(store: Store, runner: Runner, open_page: OpenPage) -> None:
    app = open_page(PAGE, part="Inside", run=store.save_run(simulate(drawn(), "oasis").record()))
    assert not app.exception
    assert "This comparison needs a very small run. Jobs arrive over" in shown(app)
    assert "price-hindsight" not in [button.key for button in app.button]
    assert "bandwidths are ours" in shown(app)


def test_without_such_a_run_the_sample_is_offered_and_opens(
    store: Store, runner: Runner, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dual_prices, "sample_slotted_jobs", four_jobs)
    app = open_page(PAGE, part="Inside")
    assert "No run of this scenario shows how its policy decided" in shown(app)
    app = app.button(key="price-empty").click().run()
    assert not app.exception
    assert len(app.metric) == 4
    assert sorted(store.list_runs()["policy"]) == ["oasis", "pd-ors", "pd-ors-drf", "pd-ors-fifo"]


def test_an_unknown_run_is_told_with_a_way_on(saved: str, runner: Runner, open_page: OpenPage) -> None:
    app = open_page(PAGE, part="Inside", run="abcdefabcdef", scenario=four_jobs().content_hash[:8])
    assert not app.exception
    app = app.button(key="result-newest").click().run()
    assert not app.exception
    assert len(app.metric) == 4


def test_a_computation_that_fails_is_told_and_can_be_tried_again(
    saved: str, runner: Runner, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = loaders.scenario_of
    monkeypatch.setattr(loaders, "scenario_of", lambda _run: drawn())
    app = open_page(PAGE, part="Inside", run=saved)
    assert not app.exception
    assert "asks about scenario" in shown(app)
    monkeypatch.setattr(loaders, "scenario_of", real)
    app = app.button(key="price-again").click().run()
    assert not app.exception
    assert len(app.metric) == 4


def test_the_other_run_can_be_picked(saved: str, store: Store, runner: Runner, open_page: OpenPage) -> None:
    other = store.save_run(simulate(four_jobs(), "oasis", HORIZON).record())
    app = open_page(PAGE, part="Inside", run=saved)
    app = app.segmented_control(key=f"result-policy-{saved}").set_value("OASiS").run()
    assert not app.exception
    assert app.query_params["run"] == other
    assert app.metric[0].value == "0 of 4"  # workers and servers need two machines
