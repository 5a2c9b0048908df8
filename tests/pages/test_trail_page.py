"""The page Audit trail, and the names of users where their work is shown."""

from datetime import datetime

import pandas as pd
import pytest

from dlsched.access.config import Access
from dlsched.domain.actor import Actor
from dlsched.domain.scenario import SimulationRules
from dlsched.studies.simulation import simulate
from dlsched.ui.frame import identity, navigation
from dlsched.ui.server.trail import NO_NAME, passing, summary, table_of
from tests.support.runs_for_store import record, small_scenario


@pytest.fixture
def changed(store):
    """A store in which two users and a server without a login changed something."""
    run_id = store.acting(Actor("anna")).save_run(record(policy="fifo"))
    store.acting(Actor("ben")).save_run(record(policy="sjf"))
    store.acting(Actor("anna")).set_note(run_id, "=cmd|' /C calc'!A0")
    store.delete_runs([run_id])
    return store


def table(app):
    return app.dataframe[0].value


def test_all_changes_and_filters_by_user_action_and_text(changed, open_page):
    app = open_page("server/trail.py")
    assert not app.exception
    everything = table(app)
    assert set(everything["User"]) == {"anna", "ben", NO_NAME}
    assert list(everything["When (UTC)"]) == sorted(everything["When (UTC)"], reverse=True)
    assert {"saved", "noted", "deleted"} <= set(everything["Action"])
    assert app.header[0].value.replace("\\", "").startswith(f"{len(everything)} changes by 2 users since ")
    app = app.multiselect(key="trail-who").set_value(["anna"]).run()
    assert set(table(app)["User"]) == {"anna"}
    app = app.multiselect(key="trail-action").set_value(["noted"]).run()
    assert list(table(app)["Name or text"]) == ["=cmd|' /C calc'!A0"]
    app = app.text_input(key="trail-text").set_value("nowhere").run()
    assert app.header[0].value == "No change passes these filters\\."


def test_an_empty_trail_says_what_will_be_there(store, open_page):
    app = open_page("server/trail.py")
    assert not app.exception
    text = " ".join(part.value for part in (*app.header, *app.markdown))
    assert "Nothing was changed yet" in text or "change" in text


def test_filters_by_time_and_kind():
    rows = pd.DataFrame(
        {
            "done_at": pd.to_datetime(["2026-11-20 10:00", "2026-11-23 10:00"]),
            "who": ["anna", NO_NAME],
            "action": ["saved", "deleted"],
            "kind": ["run", "scenario"],
            "what": ["ab12", "cd34"],
            "detail": ["FIFO", None],
        }
    )
    assert passing(rows, [], [], [], "", None).equals(rows)
    assert list(passing(rows, [], [], [], "", datetime(2026, 11, 22))["what"]) == ["cd34"]
    assert list(passing(rows, [], [], ["run"], " fif", None)["what"]) == ["ab12"]
    assert list(passing(rows, [], [], [], "CD", None)["what"]) == ["cd34"]
    assert passing(rows, [], [], [], "(", None).empty
    assert summary(rows) == "2 changes by 1 user since 2026-11-20 10:00 UTC."
    assert summary(rows.iloc[1:]) == "1 change since 2026-11-23 10:00 UTC."
    assert list(table_of(rows.iloc[1:])["Id"]) == ["cd34"]


def test_the_sidebar_has_the_trail_where_there_is_a_login(store, open_page, monkeypatch):
    assert "Audit trail" not in [one.proto.label for one in open_page("home/home.py").get("page_link")]
    rules = Access.model_validate({"login": "header", "proxies": ["127.0.0.1"], "others": "reader"})
    monkeypatch.setattr(navigation, "access", lambda: rules)
    assert "Audit trail" in [one.proto.label for one in open_page("home/home.py").get("page_link")]


def test_names_are_shown_where_work_is_shown(store, open_page, monkeypatch):
    scenario = small_scenario(options=SimulationRules(horizon_s=1e9))
    runs = [store.acting(Actor("anna")).save_run(simulate(scenario, one).record()) for one in ("fifo", "sjf")]
    monkeypatch.setattr(identity, "actor", lambda: Actor("ben"))
    history = open_page("simulate/run.py", part="History", scenario=scenario.content_hash[:8])
    assert list(history.dataframe[0].value["User"]) == ["anna"]
    details = open_page("results/run_details.py", run=runs[0])
    assert any("by anna" in part.value for part in details.markdown)
    memo = open_page("plan/memo.py", runs=",".join(runs))
    assert not memo.exception
    assert "written by ben" in str([part.proto for part in memo.get("html")]) + str([one.proto for one in memo.main])


def test_no_names_without_a_login(store, open_page):
    scenario = small_scenario(options=SimulationRules(horizon_s=1e9))
    runs = [store.save_run(simulate(scenario, one).record()) for one in ("fifo", "sjf")]
    history = open_page("simulate/run.py", part="History", scenario=scenario.content_hash[:8])
    assert "User" not in history.dataframe[0].value
    details = open_page("results/run_details.py", run=runs[0])
    assert not any("badge[by " in part.value for part in details.markdown)
