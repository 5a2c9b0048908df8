"""The queue at an instant: which jobs run and which wait then, by what is known at that instant and nothing later."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.workload import Floats, Ints, Workload
from dlsched.metrics.idle_and_wanted import held_from_s
from dlsched.workload.readers.waiting import HELD, PENDING, reasons_of, waiting_of

Bools = NDArray[np.bool_]
STILL_RUNNING = ("running", "suspended", "stopped", "completing", "configuring")
"""Recorded statuses, in small letters, of jobs whose end is not known yet."""
CUT_SHORT = ("preempted", "requeued", "node_fail", "boot_fail")
"""Recorded statuses, in small letters, of jobs that would have run longer."""


@dataclass(frozen=True, eq=False)
class Record:
    """What a file says of each job, shape (jobs,): NaN for a start or an end that it does not have.

    ``pending``: has not started at the end of the file; ``on_hold``: neither, and cannot start before it is released or
    another job has ended. ``whole``: its run time is that from its start to its own end.
    """

    jobs: Workload
    start_s: Floats
    end_s: Floats
    pending: Bools
    on_hold: Bools
    whole: Bools

    @classmethod
    def of(cls, jobs: Workload) -> Record:
        """Return the record of jobs whose ``work`` is in seconds."""
        missing = np.full(len(jobs), np.nan)
        status = _statuses(jobs)
        start_s = held_from_s(jobs)
        end_s = missing if jobs.recorded_end_s is None else jobs.recorded_end_s
        runs = np.isin(status, STILL_RUNNING)
        end_s = np.where(runs, np.nan, np.where(np.isnan(end_s), start_s + jobs.work, end_s))
        own_start = np.zeros(len(jobs), bool) if jobs.recorded_start_s is None else np.isfinite(jobs.recorded_start_s)
        whole = own_start & (end_s > start_s) & ~np.isin(status, CUT_SHORT)
        waits = np.isnan(start_s)
        return cls(jobs, start_s, end_s, waits & waiting_of(status, PENDING), waits & waiting_of(status, HELD), whole)

    @property
    def last_s(self) -> float:
        """The last instant of which the file tells."""
        known = np.concatenate([self.jobs.submit_s, self.start_s, self.end_s])
        return float(np.max(known, where=np.isfinite(known), initial=0.0))

    @property
    def now_s(self) -> float | None:
        """When the queue was written, in seconds of the file; None for a log without jobs that wait at its end."""
        if not (self.pending | self.on_hold).any():
            return None
        return written_s(self.jobs) or self.last_s

    def select(self, rows: Ints) -> Record:
        """Return the record of these jobs."""
        return Record(self.jobs.select(rows), self.start_s[rows], self.end_s[rows], self.pending[rows],
                      self.on_hold[rows], self.whole[rows])  # fmt: skip


def _statuses(jobs: Workload) -> NDArray[np.str_]:
    if jobs.recorded_status is None:
        return np.full(len(jobs), "", dtype=str)
    return np.array([str(text).strip().lower() for text in jobs.recorded_status], dtype=str)


def written_s(jobs: Workload) -> float | None:
    """Return when a queue says that it was written, in seconds of the file; None if it does not."""
    try:
        written, zero = (datetime.fromisoformat(jobs.meta.get(name, "")) for name in ("snapshot", "time_zero"))
        return (written.replace(tzinfo=None) - zero.replace(tzinfo=None)).total_seconds()
    except ValueError:
        return None


@dataclass(frozen=True, eq=False)
class QueueAt:
    """The jobs that run or wait at ``at_s``, in order of their arrival, and nothing of what is recorded after it.

    ``start_s``: NaN for jobs that wait. ``reason``: why they wait, where the file says it. ``on_hold``: jobs that wait
    for something else than room. ``ended``: rows of the record that had run and ended by then. ``unknown``: jobs in the
    file of which it is not known whether they had started. ``is_now``: it is the queue with which the file ends.
    """

    at_s: float
    jobs: Workload
    start_s: Floats
    reason: tuple[str, ...]
    on_hold: Workload
    on_hold_reason: tuple[str, ...]
    ended: Ints
    unknown: int
    is_now: bool

    @property
    def running(self) -> Bools:
        """Which jobs run."""
        return np.isfinite(self.start_s)


def queue_at(record: Record, at_s: float) -> QueueAt:
    """Return the queue of a record at an instant.

    Jobs that are pending at the end of a file and may start later than that are in the queue it ends with.
    """
    jobs, start_s, end_s = record.jobs, record.start_s, record.end_s
    arrived = jobs.submit_s <= at_s
    now_s = record.now_s
    known = arrived | (record.pending & (now_s is not None and at_s >= now_s))
    runs = (start_s <= at_s) & ~(end_s <= at_s)
    waits = known & ((start_s > at_s) | record.pending)
    rows = np.flatnonzero(runs | waits)
    held = np.flatnonzero(arrived & record.on_hold)
    unknown = arrived & np.isnan(start_s) & ~record.pending & ~record.on_hold & ~(end_s <= at_s)
    return QueueAt(
        at_s,
        jobs.select(rows),
        np.where(runs, start_s, np.nan)[rows],
        _reasons(jobs, rows, record.pending),
        jobs.select(held),
        _reasons(jobs, held, record.on_hold),
        np.flatnonzero(record.whole & (end_s <= at_s)),
        int(unknown.sum()),
        now_s is not None and at_s >= now_s,
    )


def _reasons(jobs: Workload, rows: Ints, waits: Bools) -> tuple[str, ...]:
    if jobs.recorded_status is None:
        return ("",) * len(rows)
    return tuple(reasons_of(np.where(waits, jobs.recorded_status, "")[rows]))
