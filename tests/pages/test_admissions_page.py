"""The Admissions page: an interval of a stored run, steps between intervals, links, work in the background."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from dlsched.runner.background import Runner
from dlsched.store import Store
from dlsched.studies.inspect.admissions.words import FIXED, cards_of, sentence_of
from dlsched.studies.simulation import simulate
from dlsched.ui.results import admissions
from tests.support.admission_runs import POLICIES, at, batch_run, batches, window
from tests.support.page_text import kept, shown

PAGE = "results/run_details.py"
OpenPage = Callable[..., AppTest]


@pytest.fixture
def saved(store: Store) -> dict[str, str]:
    return {policy: store.save_run(batch_run(policy).record()) for policy in POLICIES}


@pytest.mark.parametrize("policy", POLICIES)
def test_an_interval_opens_by_its_link_as_it_was(
    policy: str, saved: dict[str, str], runner: Runner, open_page: OpenPage
) -> None:
    app = open_page(PAGE, part="Inside", run=saved[policy], interval="2")
    assert not app.exception
    one = at(batches(), policy, {}, 2)
    assert app.number_input(key=f"admit-number-{saved[policy]}").value == 2
    assert app.header[0].value.replace("\\", "") == sentence_of(one)
    assert [(card.label, card.value) for card in app.metric] == [card[:2] for card in cards_of(one)]
    assert FIXED in shown(app)
    jobs, besides = app.dataframe[0].value, app.dataframe[1].value
    assert sorted(jobs["Job"]) == sorted(one.jobs)
    assert (jobs["Outcome"] == "admitted").sum() == one.count("in")
    assert besides["Workers and servers by"].tolist() == ["SMD", "ESW", "Optimus"]
    assert not app.warning  # worked out again it is what the run has stored


def test_steps_between_intervals_are_kept_in_the_address(
    saved: dict[str, str], runner: Runner, open_page: OpenPage, store: Store
) -> None:
    key = f"admit-number-{saved['smd']}"
    app = open_page(PAGE, part="Inside", run=saved["smd"], interval="2")
    app = app.button(key="admit-next").click().run()
    assert app.number_input(key=key).value == 3
    assert app.query_params["interval"] == "3"
    app = app.button(key="admit-previous").click().run()
    app = app.button(key="admit-previous").click().run()
    assert app.number_input(key=key).value == 1
    assert app.button(key="admit-previous").disabled
    app = app.button(key="admit-largest").click().run()
    assert not app.exception
    assert app.button(key="admit-largest").disabled
    assert len(store.list_experiments("admissions")) == 1  # one block


def test_another_rule_is_shown_beside(saved: dict[str, str], runner: Runner, open_page: OpenPage) -> None:
    app = open_page(PAGE, part="Inside", run=saved["smd"], interval="1")
    app = app.selectbox(key="admit-beside").select(("esw", "first-come")).run()
    assert not app.exception
    table = app.dataframe[0].value
    one = at(batches(), "smd", {}, 1)
    rows = one.beside("esw", "first-come").rows
    inside = {job for job, row in zip(one.jobs, one.row, strict=True) if row in rows}
    assert set(table["Job"][table["ESW, first come"] == "admitted"]) == inside


def test_the_story_of_a_job_and_its_workers_and_servers_are_a_click_away(
    saved: dict[str, str], runner: Runner, open_page: OpenPage
) -> None:
    app = open_page(PAGE, part="Inside", run=saved["smd"], interval="1")
    job = app.selectbox(key=f"admit-job-{saved['smd']}-1")
    chosen = str(job.options[1])
    job.select(chosen).run()
    story = app.button(key="admit-story").click().run()
    assert not story.exception
    assert story.title[0].value == "Run details"
    assert story.header[0].value.replace("\\", "").startswith(f"Job {chosen}:")
    back = story.segmented_control(key="part").set_value("Inside").run()
    assert back.number_input(key=f"admit-number-{saved['smd']}").value == 1
    assert back.query_params["run"] == saved["smd"]
    number = back.number_input(key=f"admit-number-{saved['smd']}").value
    job = back.selectbox(key=f"admit-job-{saved['smd']}-{number}")
    place = batches().workload.job_id.tolist().index(str(job.value))
    servers = back.button(key="admit-servers").click().run()
    assert servers.title[0].value == "Speed-up"
    assert servers.segmented_control(key="part").value == "Parameter servers"
    assert servers.query_params["job"] == str(place)


def test_in_seconds_every_job_is_worth_0_and_hours_are_a_click_away(
    store: Store, runner: Runner, open_page: OpenPage
) -> None:
    given = batches()
    seconds = given.replace(options=given.options.model_copy(update={"utility_unit_s": 1.0}))
    run = store.save_run(simulate(seconds, "smd").record())
    app = open_page(PAGE, part="Inside", run=run, interval="1")
    assert not app.exception
    assert "Every job is worth 0 in this time unit (seconds): use hours." in shown(app)
    app = app.button(key="admit-unit").click().run()
    assert not app.exception
    assert app.title[0].value == "Run"
    assert kept(store).options.utility_unit_s == 3600.0


def test_without_a_run_that_admits_jobs_the_sample_is_offered_and_opens(
    store: Store, runner: Runner, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admissions, "sample_server_jobs", lambda: batches(jobs=5))
    app = open_page(PAGE, part="Inside")
    assert not app.exception
    assert "No run of this scenario shows how its policy decided" in shown(app)
    app = app.button(key="admit-empty").click().run()
    assert not app.exception
    assert len(app.metric) == 4
    assert sorted(store.list_runs()["policy"]) == sorted(POLICIES)


def test_an_unknown_run_is_told_with_a_way_on(saved: dict[str, str], runner: Runner, open_page: OpenPage) -> None:
    app = open_page(PAGE, part="Inside", run="abcdefabcdef", scenario=batches().content_hash[:8])
    assert not app.exception
    assert "abcdef" in shown(app)
    app = app.button(key="result-newest").click().run()
    assert not app.exception
    assert len(app.metric) == 4


def test_an_odd_interval_in_the_link_becomes_the_nearest_or_the_one_with_most_jobs(
    saved: dict[str, str], runner: Runner, open_page: OpenPage
) -> None:
    key = f"admit-number-{saved['esw']}"
    last = len(window(batches(), "esw", {}, 1, 999))
    assert open_page(PAGE, part="Inside", run=saved["esw"], interval="999").number_input(key=key).value == last
    app = open_page(PAGE, part="Inside", run=saved["esw"], interval="x")
    assert app.button(key="admit-largest").disabled


def test_other_runs_offer_no_admissions(store: Store, open_page: OpenPage) -> None:
    other = store.save_run(simulate(batches(jobs=5), "fifo").record())
    assert "Inside" not in open_page(PAGE, run=other).segmented_control(key="part").options
