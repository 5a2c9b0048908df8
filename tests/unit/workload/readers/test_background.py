"""Logs cut out of a longer one: where they are complete from, and what ran or waited then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dlsched.domain.workload import Workload
from dlsched.workload.import_report import Ledger, Report
from dlsched.workload.readers.canonical import Draft, finish
from dlsched.workload.readers.convert import from_python
from dlsched.workload.readers.options import ReadOptions

DAY = 86_400.0


def read(jobs: dict[str, tuple[float, float, float]], *, absolute: bool = True, **more: Any) -> tuple[Workload, Report]:
    """Read jobs of (submission, start, end) as a log that may have been cut out of a longer one."""
    submit_s, start_s, end_s = np.array(list(jobs.values()), dtype=float).T
    count = len(jobs)
    draft = Draft(
        Ledger(count), submit_s, end_s - start_s, np.ones(count), np.ones(count),
        texts={"job_id": from_python(list(jobs)), "recorded_nodes": from_python(["n1"] * count)},
        floats={"recorded_start_s": start_s, "recorded_end_s": end_s, **more}, absolute=absolute, is_window=True,
    )  # fmt: skip
    return finish(draft, ReadOptions())


LATER = {f"later{n}": (100 * DAY + n * 60.0, 100 * DAY + n * 60.0, 100 * DAY + n * 60.0 + 30) for n in range(1, 200)}
CUT = {
    "ends": (90 * DAY, 90 * DAY, 100 * DAY),
    "ran": (80 * DAY, 81 * DAY, 101 * DAY),
    "waited": (99 * DAY, 100 * DAY + 600, 100 * DAY + 900),
    **LATER,
}


def test_what_ran_holds_its_nodes_and_what_waited_arrives_then() -> None:
    """The first end is on day 100: from then on the log is complete, time zero is a second before."""
    limit_s = np.array([np.nan, 30 * DAY, *[np.nan] * (len(CUT) - 2)])
    jobs, report = read(CUT, limit_s=limit_s)
    assert jobs.job_id.tolist()[:4] == ["ends", "ran", "waited", "later1"]
    assert jobs.submit_s[:4].tolist() == [0.0, 0.0, 1.0, 61.0]
    assert jobs.work[:3].tolist() == [1.0, DAY + 1, 300.0]
    assert jobs.recorded_start_s is not None
    assert jobs.limit_s is not None
    assert np.isnan(jobs.recorded_start_s[:2]).all()
    assert jobs.recorded_start_s[2:4].tolist() == [601.0, 61.0]
    assert jobs.limit_s[1] == 11 * DAY + 1  # 30 days from its start, 19 days less a second before time zero
    assert jobs.meta["time_zero"] == "1970-04-10T23:59:59"
    counts = {finding.reason: finding.count for finding in report.findings if "complete" in finding.reason}
    assert counts == {
        "already running when the log becomes complete": 2,
        "already waiting when the log becomes complete": 1,
    }


def test_times_of_a_log_without_dates_move_too() -> None:
    jobs, _ = read(CUT, absolute=False)
    assert jobs.submit_s[:4].tolist() == [0.0, 0.0, 1.0, 61.0]
    assert jobs.recorded_start_s is not None
    assert jobs.recorded_start_s[2] == 601.0


def test_a_log_that_is_complete_from_its_first_job_stays_as_it_is() -> None:
    """Jobs arrive as often before the first end as after it."""
    steady = {f"j{n}": (n * 60.0, n * 60.0, n * 60.0 + 3600) for n in range(300)}
    jobs, report = read(steady)
    assert len(jobs) == 300
    assert not any("complete" in finding.reason for finding in report.findings)


@pytest.mark.parametrize("limit_days", [5.0, 20.0])
def test_a_limit_that_has_passed_is_believed_to_end_now(limit_days: float) -> None:
    jobs, _ = read(CUT, limit_s=np.full(len(CUT), limit_days * DAY))
    assert jobs.limit_s is not None
    assert jobs.limit_s[1] == max(1.0, limit_days * DAY - 19 * DAY + 1)
