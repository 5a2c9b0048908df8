"""Jobs that book machines on the pages Start and Workload."""

import pytest

from dlsched.ui.scenario import samples
from dlsched.ui.scenario.drawn import SLOTTED
from dlsched.workload.studies.pd_ors import (
    SlottedJobsSpec,
    sample_slotted_jobs,
    slotted_jobs_scenario,
    with_arrivals_of,
)
from tests.support.assumptions import words_of
from tests.support.page_text import kept, shown
from tests.support.runs_for_store import small_scenario


@pytest.fixture
def form(open_page, store):
    store.save_scenario(small_scenario())
    app = open_page("scenario/jobs.py", source="Generate")
    return app.segmented_control(key="gen-kind").set_value(SLOTTED.label).run()


def test_the_sample_is_two_clicks_away(open_page, store):
    app = open_page("home/home.py").button(key="start-slotted").click().run()
    assert not app.exception
    assert app.title[0].value == "Jobs"
    app = app.switch_page("pages/scenario/jobs.py").run()  # the test's next click would go to Start
    assert app.radio(key="sample").value == samples.SLOTTED.label
    assert "some lose all value after their hour" in shown(app)
    app = app.button(key="use-jobs").click().run()
    assert kept(store).content_hash == sample_slotted_jobs().content_hash


def test_the_form_makes_a_whole_scenario(form, store):
    assert not form.exception
    assert not form.error
    assert form.button(key="use-jobs").label == "Use these 50 jobs"
    numbers = {
        "jobs": 30, "machines": 7, "slots": 12, "slot_s": 30.0, "seed": 6, "insensitive": 20.0, "critical": 50.0,
        "slowest_mb_per_slot": 1e5, "fastest_mb_per_slot": 3e5, "inside_factor": 5.0,
    }  # fmt: skip
    app = form
    for name, value in numbers.items():
        if name in ("slot_s", "insensitive", "critical"):
            app = app.text_input(key=f"slotted-{name}").set_value(f"{value:g}").run()
        else:
            app = app.number_input(key=f"slotted-{name}").set_value(value).run()
    assert not app.exception
    assert not app.error
    app = app.button(key="use-jobs").click().run()
    assert app.title[0].value == "Cluster"
    spec = SlottedJobsSpec(
        jobs=30, machines=7, slots=12, slot_s=1800, insensitive=0.2, critical=0.5, slowest_mb_per_slot=1e5,
        fastest_mb_per_slot=3e5, inside_factor=5,
    )  # fmt: skip
    assert kept(store).content_hash == slotted_jobs_scenario(spec, 6).content_hash


def test_jobs_arrive_as_those_of_the_scenario_in_hand(open_page, store):
    saved = store.save_scenario(small_scenario())
    app = open_page("scenario/jobs.py", source="Generate", scenario=saved.scenario_hash[:8])
    app = app.segmented_control(key="gen-kind").set_value(SLOTTED.label).run()
    app = app.segmented_control(key="slotted-arrivals").set_value("current").run()
    assert not app.exception
    assert not app.error
    app = app.button(key="use-jobs").click().run()
    wanted = with_arrivals_of(small_scenario(), SlottedJobsSpec(machines=30), 1)
    assert kept(store).content_hash == wanted.content_hash
    assert kept(store).generator is None
    assert any("jobs arrive as those of" in text for text in words_of(kept(store)))


def test_shares_above_all_are_refused_with_a_way_out(form):
    app = form.text_input(key="slotted-insensitive").set_value("80%").run()
    assert not app.exception
    assert "at most 100%" in app.error[0].value
    assert app.button(key="use-none").disabled
