"""The adapter: what has happened since the last decision goes to the passes, their answer becomes a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dlsched.domain.journal import Loses
from dlsched.domain.plan import Allocation, Plan, Share, run_on
from dlsched.domain.policy import ReviewRule, SlurmRule
from dlsched.domain.slurm import SlurmSetup
from dlsched.domain.state import State
from dlsched.domain.workload import Ints, Workload
from dlsched.policies.slurm.kernels.tables import Core, Count
from dlsched.policies.slurm.kernels.tables import State as JobState
from dlsched.policies.slurm.params import SlurmParams

if TYPE_CHECKING:
    from dlsched.policies.slurm.book import Book


class SlurmPolicy:
    """Slurm's main and backfill passes over queues in order of priority.

    Every event updates the arrays of the passes; these are made at their own times, of which those are left out that
    cannot change anything.
    """

    def __init__(self, params: SlurmParams) -> None:
        self.review = ReviewRule()
        self.kernel_rule = SlurmRule(params)
        self._params = params
        self._book: Book | None = None
        self._seen = 0
        self._cancels: list[int] = []

    def plan(self, state: State) -> Plan:
        """Return the starts and stops of the passes that are due, and when the next one is."""
        from dlsched.policies.slurm.book import Book  # loads numba
        from dlsched.policies.slurm.kernels.step import advance

        book = self._book = self._book or Book(self._params, state)
        rejected = tuple(row for row in self._cancels if row in set(state.waiting.tolist()))
        self._cancels = []
        new = np.arange(self._seen, len(state.jobs))
        if len(new):
            book.add(state, new)
            if not self._seen and len(state.running):
                book.adopt(state, state.running)
            self._seen = len(state.jobs)
        book.make_room()
        core, active = book.core, state.active
        known = np.concatenate([core.queue[: core.counts[Count.QUEUE]], core.running[: core.counts[Count.RUNNING]]])
        ended = np.union1d(np.setdiff1d(known, active), np.array(rejected, dtype=np.int64))
        lost = state.waiting[core.jobs["state"][state.waiting] == JobState.RUNNING]
        core.jobs["limit_s"][lost] = book.limits_s(state, lost)
        gone, back = np.flatnonzero((core.up == 1) & ~state.nodes.up), np.flatnonzero((core.up == 0) & state.nodes.up)
        arrived = new[np.isin(new, active) & (core.jobs["state"][new] != JobState.RUNNING)]
        wake_s = advance(*core, state.now_s, ended, lost, gone, back, arrived)
        told = core.told[: core.counts[Count.TOLD]]
        evicted, again_s = self._stopped(state, core)
        return Plan(
            allocations=self._started(book),
            rejected=rejected,
            wake_at_s=min(wake_s, again_s) if min(wake_s, again_s) < np.inf else None,
            reasons=(told.copy(), core.jobs["reason"][told].astype(np.int64)),
            evicted=evicted,
        )

    def _started(self, book: Book) -> dict[int, Allocation]:
        core, starts = book.core, dict[int, Allocation]()
        for row in started_rows(core):
            job = core.jobs[row]
            shares = slice(job["first_share"], job["first_share"] + job["num_shares"])
            workers, servers = book.per_unit[job["kind"]]
            pairs = zip(core.share_node[shares].tolist(), core.share_units[shares].tolist(), strict=True)
            starts[row] = run_on(tuple(Share(node, units * workers, units * servers) for node, units in pairs))
        return starts

    def _stopped(self, state: State, core: Core) -> tuple[dict[int, Loses], float]:
        """Return the running rows stopped for others with what they lose, and when those that are cancelled leave."""
        rows: Ints = core.stopped[: core.counts[Count.STOPPED]]
        if not len(rows):
            return {}, np.inf
        setup = state.slurm or SlurmSetup()
        self._cancels = [row for row in rows.tolist() if is_cancelled(self._params, setup, state.jobs, row)]
        held = rows[np.isin(rows, state.running)]
        return dict.fromkeys(held.tolist(), "all"), state.now_s if self._cancels else np.inf


def started_rows(core: Core) -> list[int]:
    """Return the rows that the passes start and do not stop for others at the same instant."""
    stopped = set(core.stopped[: core.counts[Count.STOPPED]].tolist())
    return [row for row in core.started[: core.counts[Count.STARTED]].tolist() if row not in stopped]


def is_cancelled(params: SlurmParams, setup: SlurmSetup, jobs: Workload, row: int) -> bool:
    """Whether a job that is stopped for another ends: by the mode of its partition or QOS, else the general one."""
    settings = params.over(setup.options)
    by_qos = settings.PreemptType == "preempt/qos"
    column = jobs.job_class if by_qos else jobs.partition
    name = "" if column is None else str(column[row])
    modes = {one.name: one.PreemptMode for one in (setup.qos if by_qos else setup.partitions)}
    return (modes.get(name) or settings.PreemptMode) == "CANCEL"
