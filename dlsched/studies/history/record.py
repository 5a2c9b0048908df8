"""The recorded starts and ends of a log as columns: when each job waited and ran, what it held, how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import CPU, GPU, Floats, Ints, Texts, Workload
from dlsched.metrics.idle_and_wanted import held_from_s
from dlsched.studies.history.answer import OUTCOMES, WITHOUT_SUCCESS
from dlsched.workload.import_report import in_seconds

Bools = NDArray[np.bool_]
COLUMNS = ("started", "ran", "start_s", "end_s", "wait_s", "held_s", "gpus", "cores", "outcome")

NO_START = InputError(
    "what happened",
    "the log has no recorded start times, so it does not say how long jobs waited",
    "Upload a log with start times, such as the output of sacct, or simulate the jobs",
)
STARTS_OF: Mapping[str, tuple[str, ...]] = {
    "completed": ("complet", "succe", "finish", "done", "pass", "terminated"),
    "failed": ("fail", "error", "out_of_m", "oom", "exit", "partial", "abort", "crash"),
    "cancelled": ("cancel", "kill", "delet", "revoked", "stopped"),
    "timed out": ("timeout", "time_out", "timed", "deadline", "walltime"),
    "preempted": ("preempt", "requeue", "evict"),
    "node failure": ("node_fail", "nodefail", "node fail", "boot_fail", "node lost"),
    "still running": ("run", "suspend"),
}
"""How recorded statuses start, in small letters, by outcome; what is none of these is not told."""


@dataclass(frozen=True, eq=False)
class Record:
    """Columns over the jobs of a log, shape (jobs,).

    ``started``: the start is recorded, at or after the arrival; ``wait_s`` is NaN for other jobs. ``ran``: started, or
    already running when the log becomes complete, which is when the reader lets such a job arrive; ``start_s`` is NaN
    for other jobs, and ``end_s`` when they left, NaN where that is not known. ``gpus`` and ``cores`` are what a job
    held while it ran; ``outcome`` indexes OUTCOMES.
    """

    jobs: Workload
    started: Bools
    ran: Bools
    early: int
    start_s: Floats
    end_s: Floats
    wait_s: Floats
    held_s: Floats
    gpus: Floats
    cores: Floats
    outcome: Ints
    first_s: float
    last_s: float

    def select(self, rows: Bools) -> Record:
        """Return the record of these jobs; first and last instant stay those of the log."""
        mine = {one.name: getattr(self, one.name)[rows] for one in fields(self) if one.name in COLUMNS}
        return replace(self, jobs=self.jobs.select(rows), **mine)

    @property
    def run_h(self) -> Floats:
        """Hours each job ran; 0 for jobs that did not."""
        return np.where(self.ran, np.nan_to_num(self.end_s - self.start_s) / HOUR_S, 0.0)

    @property
    def lost(self) -> Bools:
        """Whether a job ended without success."""
        return np.isin(self.outcome, [OUTCOMES.index(name) for name in WITHOUT_SUCCESS])


def record_of(scenario: Scenario) -> Record:
    """Return what is recorded of the jobs of a scenario; InputError where no start is recorded."""
    jobs = in_seconds(scenario)
    if not jobs.has_recorded_starts or jobs.recorded_start_s is None:
        raise NO_START
    started = jobs.recorded_start_s >= jobs.submit_s
    outcome = _outcomes(jobs.recorded_status, len(jobs))
    left_s = np.full(len(jobs), np.nan) if jobs.recorded_end_s is None else jobs.recorded_end_s
    ran_before = np.isnan(jobs.recorded_start_s) & np.isfinite(held_from_s(jobs))
    start_s = np.where(started, jobs.recorded_start_s, np.where(ran_before, jobs.submit_s, np.nan))
    ran = started | ran_before
    end_s = np.where(ran, np.where(left_s > start_s, left_s, start_s + jobs.work), left_s)
    last_s = float(np.nanmax([jobs.submit_s[-1], np.nanmax(end_s)]))
    end_s = np.where(ran & (outcome == OUTCOMES.index("still running")), last_s, end_s)
    servers = np.zeros(len(jobs), dtype=np.int64) if jobs.servers is None else jobs.servers
    held = jobs.workers[:, None] * jobs.demand + servers[:, None] * jobs.server_demand
    return Record(
        jobs,
        started,
        ran,
        int(np.sum(jobs.recorded_start_s < jobs.submit_s)),
        start_s,
        np.where(ran | (end_s >= jobs.submit_s), end_s, np.nan),
        np.where(started, start_s - jobs.submit_s, np.nan),
        np.zeros(len(jobs)) if jobs.held_s is None else jobs.held_s,
        held[:, GPU],
        held[:, CPU],
        outcome,
        float(jobs.submit_s[0]),
        last_s,
    )


def _outcomes(statuses: Texts | None, jobs: int) -> Ints:
    """Return the outcome of each job by the start of its recorded status."""
    if statuses is None:
        return np.full(jobs, OUTCOMES.index("not told"))
    codes, names = pd.factorize(statuses)
    return np.array([OUTCOMES.index(_outcome(str(name))) for name in names], dtype=np.int64)[codes]


def _outcome(status: str) -> str:
    word = status.strip().lower().replace("-", "_")
    for outcome in ("node failure", *STARTS_OF):  # a status that starts with "node_fail" is no failure of the job
        if word.startswith(STARTS_OF[outcome]):
            return outcome
    return "not told"
