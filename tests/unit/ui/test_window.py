"""The window of a Gantt: moves stay inside the run, what is typed is understood or refused."""

from __future__ import annotations

import pandas as pd
import pytest
import streamlit as st
from hypothesis import given
from hypothesis import strategies as some

from dlsched.ui.results import window
from dlsched.ui.results.timeline import around_job, crowd_words, next_late_s, node_blocks, worst_queue_s
from dlsched.ui.results.window import Window, parse_nodes

WHOLE = Window(100.0, 1_100.0, 0, 7)
times = some.floats(-1e9, 1e9)


@given(times, times, some.integers(-5, 20), some.integers(-5, 20))
def test_a_window_pushed_inside_is_inside_and_not_empty(from_s, to_s, first, last):
    shown = Window(from_s, to_s, first, last).inside(WHOLE)
    assert WHOLE.from_s <= shown.from_s < shown.to_s <= WHOLE.to_s
    assert 0 <= shown.first_node <= shown.last_node <= 7
    assert shown.inside(WHOLE) == shown


@given(some.floats(200, 500), some.floats(1, 300), some.integers(0, 7))
def test_closer_and_farther_undo_each_other(from_s, length_s, node):
    shown = Window(from_s, from_s + length_s, node, node)
    there_and_back = shown.zoomed(0.5).zoomed(2)
    assert there_and_back.from_s == pytest.approx(shown.from_s)
    assert shown.zoomed(0.5).length_s == pytest.approx(length_s / 2)
    assert shown.moved(0.5).moved(-0.5).to_s == pytest.approx(shown.to_s)
    assert shown.around(400.0).length_s == pytest.approx(length_s)


@pytest.mark.parametrize(
    ("text", "nodes"),
    [("0-7", (0, 7)), ("n2–n5", (2, 5)), (" 3 ", (3, 3)), ("5-2", None), ("", None), ("a", None), ("1-2-3", None),
     ("-1", None), ("²", None), ("9" * 30, None)],
)  # fmt: skip
def test_nodes_as_typed(text, nodes):
    assert parse_nodes(text) == nodes


@pytest.mark.parametrize(
    ("params", "shown"),
    [
        ({"from": "200", "to": "300", "rows": "1-2"}, Window(200, 300, 1, 2)),
        ({"from": "200", "to": "300"}, Window(200, 300, 0, 7)),
        ({"from": "200", "to": "300", "rows": "x"}, Window(200, 300, 0, 7)),
        ({"from": "-inf", "to": "inf", "rows": "0-99"}, WHOLE),
        ({"from": "nan", "to": "300", "rows": "1-2"}, WHOLE),
        ({"from": "300", "to": "200", "rows": "1-2"}, WHOLE),
        ({"from": "one", "to": "2"}, WHOLE),
        ({}, WHOLE),
    ],
)
def test_the_window_of_a_url(monkeypatch, params, shown):
    monkeypatch.setattr(st, "query_params", params)
    assert window.from_url(WHOLE) == shown


def test_what_is_shown_is_remembered_and_in_the_url(monkeypatch):
    monkeypatch.setattr(st, "query_params", {})
    monkeypatch.setattr(st, "session_state", {})
    window.show("r", Window(200.4, 300.0, 1, 2), WHOLE)
    assert st.query_params == {"from": "200", "to": "300", "rows": "1-2"}
    assert window.current("r", WHOLE) == Window(200.4, 300.0, 1, 2)
    assert window.current("another", WHOLE) == Window(200.0, 300.0, 1, 2)
    window.show("r", WHOLE, WHOLE)
    assert st.query_params == {}


def test_jumps():
    series = pd.DataFrame({"time_s": [0.0, 10.0, 20.0], "waiting": [1, 5, 5]})
    assert worst_queue_s(series) == 10.0
    jobs = pd.DataFrame({"due_s": [50.0, 20.0, 90.0, 70.0], "tardiness_s": [1.0, 2.0, 0.0, 3.0]})
    assert [next_late_s(jobs, after) for after in (0.0, 20.0, 50.0, 70.0)] == [20.0, 50.0, 70.0, 20.0]
    assert next_late_s(jobs[jobs["tardiness_s"] == 0], 0.0) is None


PIECES = pd.DataFrame(
    {"row": [7, 7, 8], "node": [70, 72, 3], "start_s": [40_000.0, 40_000.0, 0.0], "end_s": [47_200.0, 47_200.0, 9e5]}
)
JOB = pd.Series({"row": 7, "submit_s": 30_000.0, "first_start_s": 40_000.0, "left_s": 47_200.0})
LARGE = Window(0.0, 10 * 86_400.0, 0, 99)


def test_a_found_job_is_in_the_middle_of_the_window_on_nodes_around_its_own() -> None:
    found = around_job(JOB, PIECES, LARGE, LARGE)
    assert (found.from_s + found.to_s) / 2 == pytest.approx(43_600.0)
    assert found.length_s == pytest.approx(8 * 7_200.0)
    assert found.num_nodes == 64
    assert found.first_node <= 70
    assert found.last_node >= 72
    close = around_job(JOB, PIECES, Window(43_000.0, 43_060.0, 0, 99), LARGE)
    assert close.length_s == pytest.approx(2.5 * 7_200.0)  # a window that is too close is widened


def test_where_a_window_would_hold_too_many_pieces_it_shows_fewer_nodes() -> None:
    crowd = pd.DataFrame({"row": 9, "node": [*range(100)] * 40, "start_s": 41_000.0, "end_s": 42_000.0})
    found = around_job(JOB, pd.concat([PIECES, crowd]), LARGE, LARGE)
    assert found.num_nodes == 16
    assert found.first_node <= 70
    assert found.last_node >= 72


def test_a_job_that_never_started_is_shown_from_its_submission_on_all_nodes() -> None:
    never = JOB.copy()
    never["row"], never["first_start_s"], never["left_s"] = 1, float("nan"), float("nan")
    found = around_job(never, PIECES, LARGE, LARGE)
    assert found.num_nodes == 100
    assert found.from_s <= 30_000.0


def test_blocks_of_nodes_are_offered_where_a_picture_does_not_hold_all() -> None:
    assert node_blocks(Window(0, 1, 0, 63), Window(0, 1, 0, 63)) == {}
    assert [*node_blocks(LARGE, LARGE)] == ["Show nodes 0–63"]
    first = node_blocks(LARGE, LARGE)["Show nodes 0–63"][1]
    assert [*node_blocks(first, LARGE)] == ["Show nodes 64–99", "Show all 100 nodes"]
    last = node_blocks(first, LARGE)["Show nodes 64–99"][1]
    assert [*node_blocks(last, LARGE)] == ["Show nodes 0–63", "Show all 100 nodes"]


def test_crowded_windows_say_why_single_jobs_are_not_drawn() -> None:
    assert crowd_words(100, 64) == ""
    assert crowd_words(100, 65) == "65 nodes: single jobs are drawn for up to 64 nodes."
    assert crowd_words(3_001, 8) == "3,001 jobs: single jobs are drawn for up to 3,000 in a window."
