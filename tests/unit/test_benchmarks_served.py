"""The campaigns in their short form: on a served app, and random runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import kills, random_runs, sessions

pytestmark = pytest.mark.slow


def test_a_few_sessions_lose_no_run_and_leave_no_traceback(tmp_path: Path) -> None:
    measured = {line.what: line for line in sessions.lines(tmp_path, sessions=2, seconds=3)}
    for what in ("page switches that never ended", "runs that were lost", "tracebacks in the log of the app"):
        assert measured[what].ok, measured[what]
    assert next(line for what, line in measured.items() if "memory" in what).ok


def test_a_killed_server_loses_no_run_and_leaves_no_worker(tmp_path: Path) -> None:
    for line in kills.lines(tmp_path, kills=1):
        assert line.ok, line


def test_a_few_random_runs_of_all_policies_find_nothing(tmp_path: Path) -> None:
    for line in random_runs.lines(tmp_path, runs=60):
        assert line.ok, line
