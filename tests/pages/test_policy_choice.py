"""Which policies the page Run recommends, what the others lack and the way to it."""

from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dlsched.domain.policy import Need
from dlsched.domain.scenario import SpeedSpec
from dlsched.policies.registry import POLICIES, find, unmet_needs
from dlsched.ui.fields.policy_and_params import usual, usual_variant
from dlsched.ui.fields.recommended import MOST, recommended
from dlsched.ui.frame import session
from dlsched.ui.scenario import drawn
from dlsched.ui.simulate import policy_dialog
from dlsched.workload import fill
from dlsched.workload.studies.gpu_as_a_service import sample_gpuaas
from dlsched.workload.studies.hell_knee import StreamSpec, stream_scenario
from dlsched.workload.studies.modelarts import sample_elastic
from dlsched.workload.studies.pd_ors import sample_slotted_jobs
from dlsched.workload.studies.smd import sample_server_jobs
from tests.support.assumptions import words_of
from tests.support.page_text import kept
from tests.support.runs_for_store import small_scenario
from tests.support.server_scenarios import training, with_servers

SLOW = ("dorm", "gpuaas-exact", "gpuaas-hierarchical")
KINDS = {
    "jobs of one size": small_scenario,
    "demo": lambda: session.demo(),
    "rented": sample_gpuaas,
    "curves": lambda: stream_scenario(StreamSpec(nodes=8, jobs=10)),
    "elastic": sample_elastic,
    "servers": sample_server_jobs,
    "slots": sample_slotted_jobs,
}
BASELINES = {"rented": "gpuaas-fifo", "curves": "fifo-skip", "slots": "pd-ors-fifo"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_handful_that_can_run_with_a_reason_each_and_the_baseline_first(kind):
    scenario = KINDS[kind]()
    found = recommended(scenario)
    assert 3 <= len(found) <= MOST
    assert found[0].key == BASELINES.get(kind, "fifo")
    assert "baseline" in found[0].why
    assert sum("baseline" in one.why for one in found) == 1
    assert len({one.key for one in found}) == len({one.why for one in found}) == len(found)
    assert all(one.why.endswith(".") and len(one.why) <= 100 for one in found)
    assert not [one.key for one in found if unmet_needs(find(one.key), scenario) or one.key in SLOW]


def without(scenario, *columns):
    return scenario.replace(workload=replace(scenario.workload, **dict.fromkeys(columns)), generator=None)


def test_what_the_jobs_have_decides():
    demo = session.demo()
    assert usual(demo) == ("fifo", "easy-backfill", "sjf", "gittins", "edf")
    no_due = without(demo, "due_s", "weight_usd_per_s")
    assert usual(no_due) == ("fifo", "easy-backfill", "sjf", "gittins", "priority")
    assert usual(without(no_due, "priority")) == ("fifo", "easy-backfill", "sjf", "gittins", "fifo-skip")
    law = no_due.replace(speed=SpeedSpec(kind="scaling"))
    assert usual(law) == ("fifo", "easy-backfill", "gittins", "knee-malleable", "modelarts-greedy")
    assert "1 to 32 GPUs" in recommended(demo)[1].why
    assert "easy-backfill" not in usual(small_scenario())  # all jobs ask for as much: there are no gaps


def test_renting_needs_due_dates_to_be_recommended():
    service = sample_gpuaas()
    lacking = np.full(len(service.workload), np.nan)
    assert usual(service.replace(workload=replace(service.workload, due_s=lacking)))[0] == "fifo"


def test_a_question_begins_with_the_baseline(store):
    service = sample_gpuaas()
    store.save_scenario(service)
    assert usual_variant(service).policy == "gpuaas-fifo"


# ---- what is lacking, in the dialog --------------------------------------------------------------------


def of_dialog():
    from dlsched.ui.frame import session
    from dlsched.ui.simulate import policy_dialog

    policy_dialog.content(session.scenario())


@pytest.fixture
def lacking(store):
    """Return a function that shows what the dialog shows of a scenario."""

    def show(scenario):
        store.save_scenario(scenario)
        app = AppTest.from_function(of_dialog, default_timeout=180)
        app.session_state["scenario_hash"] = scenario.content_hash
        return app.run()

    return show


def keys_of(app) -> set[str]:
    return {button.key for button in app.button}


def told_of(app, words: str) -> list[str]:
    return [part.value for part in app.markdown if words in part.value]


def test_what_several_policies_lack_is_told_once(lacking):
    stream = KINDS["curves"]()
    app = lacking(stream)
    assert not app.exception
    cannot = [spec for spec in POLICIES if unmet_needs(spec, stream)]
    assert f"{len(cannot)} policies need data that this scenario lacks" in {box.label for box in app.expander}
    assert sum(len(specs) for specs in policy_dialog.by_needs(cannot, stream).values()) == len(cannot)
    assert len(told_of(app, "costs of lateness")) == 1  # of all policies that rent
    assert len(told_of(app, "**EDF**: due dates.")) == 1
    app = app.button(key="fill-edf-DUE").click().run()
    assert not app.exception
    assert kept_newest(app).workload.due_s is not None


def kept_newest(app):
    return kept(session.store())


def test_policies_that_change_gpus_say_where_they_can_only_order(lacking):
    assert told_of(lacking(small_scenario()), "only choose the order")
    assert not told_of(lacking(KINDS["curves"]()), "only choose the order")


def test_what_admission_control_needs_has_a_way_out(lacking, monkeypatch):
    opened: list[object] = []
    monkeypatch.setattr(drawn, "open_form", opened.append)
    app = lacking(small_scenario())
    app = app.button(key="fill-smd-POOL").click().run()
    assert not app.exception
    assert kept_newest(app).options.placement == "pool"
    app.button(key="fill-smd-SERVERS").click().run()
    assert opened == [drawn.SERVERS]


def test_given_step_times_are_used_when_asked_for(lacking, monkeypatch):
    opened: list[object] = []
    monkeypatch.setattr(drawn, "open_form", opened.append)
    app = lacking(with_servers(training((0, 10, 2, 1), (0, 10, 2, 1)), speed=SpeedSpec(), placement="pool"))
    app = app.button(key="fill-smd-SERVERS").click().run()
    assert not app.exception
    assert kept_newest(app).speed == SpeedSpec(kind="parameter-server", updates="sync")
    assert words_of(kept_newest(app)) == (fill.STEP_TIMES_RULE,)
    app = lacking(kept_newest(app))
    assert app.button(key="fill-smd-UTILITY").label == "Use example jobs"
    # PD-ORS also lacks steps of its own: one way out for both
    assert {"fill-pd-ors-UTILITY", "fill-oasis-UTILITY"}.isdisjoint(keys_of(app))
    app.button(key="fill-pd-ors-OWN_STEPS").click().run()
    assert opened == [drawn.SLOTTED]


def test_prices_and_users_are_no_reason_to_hide_what_needs_neither():
    assert Need.PRICE not in unmet_needs(find("fifo"), small_scenario())


def test_rented_machines_first_become_owned_nodes(lacking):
    assert "fill-smd-POOL" not in keys_of(lacking(sample_gpuaas()))
