"""The page Home: the demo first, own runs first later."""

from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest

from dlsched.ui.home import home
from tests.support.runs_for_store import record, small_scenario


def primary(app) -> list[str]:
    return [button.key for button in app.button if button.proto.type == "primary"]


def test_first_session_has_the_demo_ready_and_one_next_step(open_page, store):
    app = open_page("home/home.py")
    assert not app.exception
    assert list(store.list_scenarios()["data_kind"]) == ["example"]
    assert primary(app) == ["run-demo"]
    assert "SJF cuts late jobs from" in app.header[0].value
    assert any("No run yet" in part.value for part in app.markdown)


def test_own_runs_come_first_and_comparing_them_is_the_next_step(open_page, store):
    for policy in ("fifo", "sjf"):
        store.save_run(record(policy=policy))
    app = open_page("home/home.py")
    assert not app.exception
    assert primary(app) == ["start-compare"]
    assert next(app.button(key=key).label for key in ("start-compare",)) == "Compare the 2"
    assert app.columns[0].subheader[0].value == "Recent runs"
    app.button(key="start-compare").click().run()
    assert len(app.session_state["ticked_runs"]) == 2


def test_recent_lines_take_the_runs_of_a_policy_together(store):
    scenario = small_scenario()
    for seed in range(3):
        store.save_run(record(scenario, seed=seed))
    store.save_run(record(scenario, policy="a-policy-of-another-version"))
    lines = home.recent_of(store.list_runs(), datetime.now(UTC).replace(tzinfo=None))
    assert len(lines) == 2
    assert [line.title for line in lines] == ["a-policy-of-another-version on four jobs v1", "FIFO on four jobs v1"]
    assert lines[1].numbers.startswith("wait p95 12 s · no price set · ")
    assert [line.run_id for line in home.same_question(lines)] == [line.run_id for line in lines[::-1]]


def test_recent_of_nothing(store):
    assert home.recent_of(store.list_runs(), datetime(2026, 1, 1)) == []
    assert home.same_question([]) == []


@pytest.mark.parametrize(
    ("gone", "text"),
    [
        (timedelta(seconds=3), "just now"),
        (timedelta(minutes=2, seconds=59), "2 min ago"),
        (timedelta(hours=25), "1 d ago"),
        (timedelta(hours=23, minutes=59), "23 h ago"),
    ],
)
def test_age_in_its_largest_unit(gone, text):
    assert home.age(pd.Timedelta(gone).total_seconds()) == text
