"""Two sets of jobs as one: a queue with the log of the jobs before it, or with jobs that arrive later."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import numpy as np

from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import COLUMN, RESOURCES, Workload
from dlsched.studies.when_starts.queue_at import Record, written_s
from dlsched.workload.import_report import in_seconds

ZERO_WHERE_MISSING = ("held_s", "nice", *(f"{resource}_per_worker" for resource in RESOURCES))
TIMES = ("submit_s", "due_s", "recorded_start_s", "recorded_end_s")


def joined(one: Workload, other: Workload) -> Workload:
    """Return the jobs of both; ``order`` counts those of the first first. What one of them lacks is missing there."""
    mine, theirs = one.columns(), other.columns()
    columns: dict[str, Any] = {"order": np.arange(len(one) + len(other))}
    for name in mine.keys() | theirs.keys():
        if COLUMN[name].kind == "int" and not (name in mine and name in theirs):
            continue  # widths and servers that only some jobs have
        parts = (mine.get(name, _missing(name, len(one))), theirs.get(name, _missing(name, len(other))))
        columns[name] = np.concatenate(parts)
    return Workload.from_columns(columns, one.meta)


def _missing(name: str, count: int) -> np.ndarray[tuple[int], np.dtype[Any]]:
    if COLUMN[name].kind == "text":
        return np.full(count, "", dtype=object)
    return np.full(count, 0.0 if name in ZERO_WHERE_MISSING else np.nan)


def with_history(queue: Scenario, log: Scenario) -> Scenario:
    """Return a queue together with the log of the jobs before it, so that it tells how long jobs run.

    Of the log, jobs that had run and ended count, without those that the queue has. The log is moved to end with the
    queue where it has no dates, or ends after it by them: clocks of logs are local, those of queues are in UTC. The
    cluster is that of the queue's file where that was described, else that of the log.
    """
    jobs, past = in_seconds(queue), Record.of(in_seconds(log))
    rows = np.flatnonzero(past.whole & ~np.isin(past.jobs.job_id.astype(str), jobs.job_id.astype(str)))
    ended, last_s = past.jobs.select(rows), float(past.end_s[rows].max(initial=0.0))
    now_s = Record.of(jobs).now_s
    now_s = float(jobs.submit_s.max(initial=0.0)) if now_s is None else now_s
    shift_s = _apart_s(jobs, ended)
    if shift_s is None or last_s + shift_s > now_s:
        shift_s = now_s - last_s
    first_s = min(0.0, float(ended.submit_s.min(initial=0.0)) + shift_s)
    together = joined(_moved(jobs, -first_s), _moved(ended, shift_s - first_s))
    meta = dict(jobs.meta)
    if (zero := _zero(jobs)) is not None:
        meta["time_zero"] = (zero + timedelta(seconds=first_s)).isoformat()
    elif written_s(jobs) is None:
        meta.pop("snapshot", None)
    together = Workload.from_columns({**together.columns(), "order": together.order}, meta)
    is_described = any(one.kind == "found-cluster" and "from the log" not in one.text for one in queue.assumptions)
    base = queue if is_described else log
    return base.replace(
        workload=together, name=queue.name, data_kind="trace", generator=None, queues=queue.queues or log.queues,
        slurm=queue.slurm or log.slurm,
    )  # fmt: skip


def _zero(jobs: Workload) -> datetime | None:
    try:
        return datetime.fromisoformat(jobs.meta.get("time_zero", "")).replace(tzinfo=None)
    except ValueError:
        return None


def _apart_s(jobs: Workload, other: Workload) -> float | None:
    """Return what is added to times of the other jobs to make them times of these; None without dates."""
    mine, theirs = _zero(jobs), _zero(other)
    return None if mine is None or theirs is None else (theirs - mine).total_seconds()


def _moved(jobs: Workload, by_s: float) -> Workload:
    columns = {name: values + by_s if name in TIMES else values for name, values in jobs.columns().items()}
    return Workload.from_columns(columns, jobs.meta)
