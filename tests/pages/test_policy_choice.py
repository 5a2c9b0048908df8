"""Which policies the Run page offers first, and what they lack."""

import pytest

from dlsched.domain.scenario import SpeedSpec
from dlsched.policies.registry import POLICIES
from dlsched.ui.fields.policy_and_params import ADMITTING_FIVE, BOOKING_FIVE, ELASTIC_FIVE, has_curves, usual
from dlsched.ui.scenario import drawn
from dlsched.workload import fill
from dlsched.workload.studies.gpu_as_a_service import sample_gpuaas
from dlsched.workload.studies.hell_knee import StreamSpec, stream_scenario
from dlsched.workload.studies.pd_ors import sample_slotted_jobs
from dlsched.workload.studies.smd import sample_server_jobs
from tests.support.assumptions import words_of
from tests.support.page_text import kept
from tests.support.runs_for_store import small_scenario
from tests.support.server_scenarios import training, with_servers


@pytest.fixture
def stream(open_page, store):
    """The page on a few jobs with speed curves on fixed nodes."""
    saved = store.save_scenario(stream_scenario(StreamSpec(nodes=8, jobs=10)))
    return open_page("simulate/run.py", scenario=saved.scenario_hash[:8])


def test_jobs_with_speed_curves_are_met_by_elastic_policies_first(stream):
    assert not stream.exception
    assert stream.subheader[0].value == "Elastic: change the width"
    ticked = {key for key in ELASTIC_FIVE if stream.checkbox(key=f"policy-{key}-False-curves").value}
    assert ticked == set(ELASTIC_FIVE)
    assert stream.button(key="run-now").label.startswith("Run 5 policies")


def test_what_a_whole_group_lacks_is_told_once(stream):
    told = [part.value for part in stream.markdown if "Needs due dates" in part.value]
    renting = [box for box in stream.checkbox if box.key.startswith("policy-gpuaas-")]
    assert len(renting) > 5
    assert all(box.disabled for box in renting)
    # once for all who rent, once for EDF of the everyday policies
    assert len(told) == 2
    app = stream.button(key="fill-pay less-DUE").click().run()
    assert not app.exception
    assert not [part.value for part in app.markdown if "Needs due dates" in part.value]


def test_with_fixed_widths_elastic_policies_say_that_they_only_order(open_page, store):
    rigid = small_scenario()
    assert not has_curves(rigid)
    assert "fifo" in usual(rigid)
    saved = store.save_scenario(rigid)
    app = open_page("simulate/run.py", scenario=saved.scenario_hash[:8])
    assert any("can only choose the order" in part.value for part in app.markdown)


def open_run(open_page, store, scenario):
    return open_page("simulate/run.py", scenario=store.save_scenario(scenario).scenario_hash[:8])


def test_jobs_with_servers_are_met_by_the_policies_that_let_jobs_in(open_page, store):
    app = open_run(open_page, store, sample_server_jobs())
    assert not app.exception
    assert app.subheader[0].value == "Who gets in"
    here = {spec.key for spec in POLICIES} & set(ADMITTING_FIVE)
    assert {"fifo", "fifo-skip"} <= here
    ticked = {key for key in here if app.checkbox(key=f"policy-{key}-False-servers").value}
    assert ticked == here


def test_what_admission_needs_has_a_way_out(open_page, store):
    app = open_run(open_page, store, small_scenario())
    assert not app.exception
    told = [part.value for part in app.markdown if "parameter-server demands" in part.value]
    assert len(told) == 1  # once for the group
    app = app.button(key="fill-SMD-POOL").click().run()
    assert not app.exception
    assert kept(store).options.placement == "pool"
    app = app.button(key="fill-who gets in-SERVERS").click().run()
    assert not app.exception
    assert app.title[0].value == "Jobs"
    assert app.segmented_control(key="gen-kind").value == drawn.SERVERS.label


def test_given_step_times_are_used_when_asked_for(open_page, store):
    counted_in_steps = with_servers(training((0, 10, 2, 1), (0, 10, 2, 1)), speed=SpeedSpec(), placement="pool")
    app = open_run(open_page, store, counted_in_steps)
    app = app.button(key="fill-who gets in-SERVERS").click().run()
    assert not app.exception
    assert kept(store).speed == SpeedSpec(kind="parameter-server", updates="sync")
    assert words_of(kept(store)) == (fill.STEP_TIMES_RULE,)
    # of the needs, utilities are left: once for all of SMD's study; PD-ORS and OASiS also lack steps of their own
    told = [part.value for part in app.markdown if "Needs utility functions" in part.value]
    assert len(told) == 3
    assert app.button(key="fill-SMD-UTILITY").label == "Draw jobs that have them"
    assert {"fill-pd-ors-UTILITY", "fill-oasis-UTILITY"}.isdisjoint(button.key for button in app.button)
    told = [
        part.value for part in app.markdown if "steps that take equally long at any number of workers" in part.value
    ]
    assert len(told) == 1
    app = app.button(key="fill-PD-ORS-OWN_STEPS").click().run()
    assert not app.exception
    assert app.segmented_control(key="gen-kind").value == drawn.SLOTTED.label


def test_jobs_that_book_slots_are_met_by_the_policies_that_do(open_page, store):
    app = open_run(open_page, store, sample_slotted_jobs())
    assert not app.exception
    assert app.subheader[0].value == "Who gets in"
    ticked = [spec.key for spec in POLICIES if (box := box_of(app, spec.key)) is not None and box.value]
    assert ticked == sorted(BOOKING_FIVE, key=[spec.key for spec in POLICIES].index)
    assert usual(sample_server_jobs()) == ADMITTING_FIVE


def box_of(app, key):
    return next((box for box in app.checkbox if box.key.startswith(f"policy-{key}-")), None)


def test_free_slots_first_become_fixed_nodes(open_page, store):
    app = open_run(open_page, store, sample_gpuaas())
    assert not app.exception
    assert "fill-who gets in-POOL" not in {button.key for button in app.button}
