"""The loop for the policy slurm: events in plain Python around its compiled passes; the same log as the engine.

The engine asks a policy through a view of the world that is made anew at each instant; here the arrays of the passes
are all there is of the world.
"""

from __future__ import annotations

import heapq
import math
from typing import NamedTuple

import numpy as np

from dlsched.domain.journal import Evicted
from dlsched.domain.plan import Share
from dlsched.domain.policy import EventKind, Policy, ReviewRule, SlurmRule
from dlsched.domain.randomness import stream
from dlsched.domain.workload import Ints
from dlsched.policies.slurm.kernels.tables import Count
from dlsched.policies.slurm.params import SlurmParams
from dlsched.policies.slurm.policy import is_cancelled, started_rows
from dlsched.sim.capacity import capacity_changes
from dlsched.sim.engine import IDLE_CALLS
from dlsched.sim.event_queue import EventQueue, instant_s
from dlsched.sim.kernels.drive import Progress
from dlsched.sim.kernels.rigid.start import nothing_happens_before_it_is_joined
from dlsched.sim.ledger import DecisionRecord, Piece, RunLedger
from dlsched.sim.log import JobStatus, PieceEnd, RunLog
from dlsched.sim.prepare import Prepared
from dlsched.sim.state import PolicyView
from dlsched.sim.world import World, gang_width

TELL_EVERY = 4096
_NO_ROWS: Ints = np.zeros(0, dtype=np.int64)


class _Held(NamedTuple):
    """What a running row holds; it progresses at ``rate`` from ``from_s`` on."""

    start_s: float
    from_s: float
    rate: float
    shares: tuple[Share, ...]

    def gained(self, at_s: float) -> float:
        """Return the work done up to a time; in the order of ``dlsched.sim.progress``."""
        return self.rate * max(0.0, at_s - self.from_s)


class _Happened(NamedTuple):
    """The events of an instant, rows ascending: ``lost`` wait again, ``arrived`` wait, ``ended`` have left."""

    latest_s: float
    cause: EventKind
    ended: list[int]
    lost: list[int]
    arrived: list[int]


def eligible(prepared: Prepared, policy: Policy) -> bool:
    """Whether the loop can run this: the policy slurm on owned nodes.

    Not covered: in runs that are joined in the middle what happens to nodes and jobs before.
    """
    rule, scenario = policy.kernel_rule, prepared.scenario
    return (
        isinstance(rule, SlurmRule)
        and isinstance(rule.params, SlurmParams)
        and not scenario.cluster.free_slots
        and len(scenario.workload) > 0
        and nothing_happens_before_it_is_joined(prepared)
    )


def run_slurm(prepared: Prepared, params: SlurmParams, progress: Progress | None = None) -> RunLog:
    """Return the log of the policy on a prepared scenario for which :func:`eligible` holds."""
    return _Loop(prepared, params).run(progress)


class _Loop:
    """Running jobs, nodes that are away and the log; everything else is in the arrays of the passes."""

    def __init__(self, prepared: Prepared, params: SlurmParams) -> None:
        from dlsched.policies.slurm.book import Book  # loads numba

        self.prepared, self.params, self.options = prepared, params, prepared.scenario.options
        self.jobs, self.truth = prepared.scenario.workload, prepared.truth
        self.submit_s: list[float] = self.jobs.submit_s.tolist()
        self.cancel_s: list[float] = self.truth.cancel_s.tolist()
        self.waits = np.zeros(len(self.jobs), dtype=bool)
        self.work: list[float] = self.truth.work.tolist()
        self.done = [0.0] * len(self.jobs)
        self.held: dict[int, _Held] = {}
        self.finish: list[tuple[float, int, float]] = []  # finish, row, start
        self.cancels: list[tuple[float, int]] = []
        self.ledger = RunLedger(len(self.jobs))
        self.capacity = capacity_changes(prepared.scenario.cluster)
        self.submitted = self.changed = self.told = self.num_ended = 0  # told: changes that the passes know of
        self.to_reject = list[int]()
        world = self._world()
        self.speed, self.vm_of = world.speed, prepared.scenario.cluster.nodes.vm.tolist()
        self.away = np.zeros(len(self.vm_of), dtype=np.int64)
        view = _view(world, 0.0)
        self.book = Book(params, view)
        if prepared.underway is None:
            self.book.add(view, np.arange(len(self.jobs)))  # row by row, as if each were seen at its submission
        self.book.make_room()

    def run(self, progress: Progress | None) -> RunLog:
        """Handle instant after instant, see :mod:`dlsched.sim.engine`."""
        start_s, now_s, wake_s, idle_calls, total = self.submit_s[0], 0.0, math.inf, 0, len(self.submit_s)
        horizon_s, missed, instants = self.options.horizon_s or math.inf, EventKind.NONE, 0
        asked_from_s = start_s
        if self.prepared.underway is not None:
            asked_from_s = wake_s = self.prepared.underway.at_s
            missed = self._join()
        while self.num_ended < total:
            while self.finish and self._is_old(self.finish[0]):
                heapq.heappop(self.finish)
            if idle_calls >= IDLE_CALLS:
                wake_s = math.inf
            first_s = min(self._next_event_s(), wake_s)
            if first_s == math.inf:
                return self._log(start_s, now_s, stalled=True)
            if first_s > horizon_s:
                return self._log(start_s, horizon_s, stalled=False)
            until_s = first_s + instant_s(first_s)
            latest_s, cause, *rows = self._events(first_s, until_s)
            if cause:
                idle_calls = 0
            if wake_s <= until_s:
                latest_s, wake_s = max(latest_s, wake_s), math.inf
                cause |= EventKind.TIMER
            now_s, cause, missed = max(now_s, latest_s), cause | missed, EventKind.NONE
            if now_s < asked_from_s:
                continue
            if instants == 0 and self.prepared.underway is not None:
                self._take_over(now_s)
                rows = [[], [], np.flatnonzero(self.waits).tolist()]
            wake_s, changed = self._decide(now_s, cause, *rows)
            idle_calls = idle_calls + 1 if cause == EventKind.TIMER and not changed and not self.held else 0
            instants += 1
            if progress is not None and instants % TELL_EVERY == 0:
                progress(self.num_ended / total, f"{self.num_ended:,} of {total:,} jobs have ended")
        return self._log(start_s, float(self.ledger.end_s.max()), stalled=False)

    # ---- a run that is joined in the middle ---------------------------------------------------------------------

    def _world(self) -> World:
        """Return the world of the engine with all rows submitted; those that are not held wait."""
        everything = EventQueue(self.jobs.submit_s, ReviewRule())
        everything.submitted = len(self.jobs)
        world = World(self.prepared, everything)
        world.is_waiting[:] = True
        world.progress.done[:] = self.done
        for row, held in self.held.items():
            world.submit(row)
            world.room.take(row, held.shares)
            world.change_piece(row, held.shares, held.start_s, PieceEnd.MOVED)
        return world

    def _join(self) -> EventKind:
        """Take in the rows that came before, some of which run; return the cause they are."""
        underway = self.prepared.underway
        assert underway is not None
        before_s = underway.at_s - instant_s(underway.at_s)
        while self.submitted < len(self.submit_s) and self.submit_s[self.submitted] < before_s:
            self._arrive(self.submitted)
            self.submitted += 1
        for row, (start_s, shares) in underway.held.items():
            self._start(row, start_s, shares)
        return EventKind.ARRIVAL if self.submitted else EventKind.NONE

    def _take_over(self, now_s: float) -> None:
        """Tell the passes at their first decision of all rows, and which of them run."""
        view = _view(self._world(), now_s)
        self.book.add(view, np.arange(len(self.jobs)))
        if self.held:
            self.book.adopt(view, view.running)
        self.book.make_room()

    # ---- events -------------------------------------------------------------------------------------------------

    def _next_event_s(self) -> float:
        first_s = self.finish[0][0] if self.finish else math.inf
        if self.submitted < len(self.submit_s):
            first_s = min(first_s, self.submit_s[self.submitted])
        if self.changed < len(self.capacity):
            first_s = min(first_s, self.capacity[self.changed].time_s)
        while self.cancels and not self._is_active(self.cancels[0][1]):
            heapq.heappop(self.cancels)
        return min(first_s, self.cancels[0][0]) if self.cancels else first_s

    def _is_active(self, row: int) -> bool:
        return bool(self.waits[row]) or row in self.held

    def _is_old(self, entry: tuple[float, int, float]) -> bool:
        held = self.held.get(entry[1])
        return held is None or held.start_s != entry[2]

    def _events(self, latest_s: float, until_s: float) -> _Happened:
        """Handle completions, changes of capacity, arrivals and cancellations."""
        cause, ended, lost, arrived = EventKind.NONE, set[int](), set[int](), set[int]()
        cancelled = list[int]()
        while self.cancels and self.cancels[0][0] <= until_s:  # those that only arrive now come next time
            at_s, row = heapq.heappop(self.cancels)
            if self._is_active(row):
                cancelled.append(row)
                latest_s = max(latest_s, at_s)
        while self.finish and self.finish[0][0] <= until_s:
            entry = heapq.heappop(self.finish)
            if self._is_old(entry):
                continue
            latest_s, row = max(latest_s, entry[0]), entry[1]
            failed = bool(self.truth.is_bug[row])
            self._close(row, entry[0], PieceEnd.FAILED if failed else PieceEnd.COMPLETED)
            self._end(row, JobStatus.FAILED if failed else JobStatus.COMPLETED, entry[0])
            ended.add(row)
            cause |= EventKind.COMPLETION
        while self.changed < len(self.capacity) and self.capacity[self.changed].time_s <= until_s:
            change = self.capacity[self.changed]
            self.changed += 1
            latest_s, node = max(latest_s, change.time_s), change.absence.node
            self.away[node] += -1 if change.comes_back else 1
            cause |= EventKind.CAPACITY
            if not change.comes_back:
                for row in sorted(row for row, held in self.held.items() if any(s.node == node for s in held.shares)):
                    self._close(row, change.time_s, PieceEnd.NODE_LOST, self._since_checkpoint(row, change.time_s))
                    self._wait(row)
                    lost.add(row)
        while self.submitted < len(self.submit_s) and self.submit_s[self.submitted] <= until_s:
            latest_s = max(latest_s, self.submit_s[self.submitted])
            self._arrive(self.submitted)
            if self.waits[self.submitted]:
                arrived.add(self.submitted)
            self.submitted += 1
            cause |= EventKind.ARRIVAL
        for row in sorted(cancelled):
            if self._is_active(row):  # it may have ended at this very instant
                if row in self.held:
                    self._close(row, self.cancel_s[row], PieceEnd.CANCELLED)
                self._end(row, JobStatus.CANCELLED, self.cancel_s[row])
                ended.add(row)
                cause |= EventKind.CANCEL
        return _Happened(latest_s, cause, sorted(ended), sorted(lost - ended), sorted(arrived))

    def _arrive(self, row: int) -> None:
        if row not in self.held:
            self._wait(row)
        if self.cancel_s[row] < math.inf:
            heapq.heappush(self.cancels, (self.cancel_s[row], row))

    def _wait(self, row: int) -> None:
        self.waits[row] = True
        self.ledger.begin_wait(row)

    def _end(self, row: int, status: JobStatus, at_s: float) -> None:
        self.waits[row] = False
        self.ledger.end_job(row, status, at_s)
        self.num_ended += 1

    def _close(self, row: int, at_s: float, end: PieceEnd, lost_work: float = 0.0) -> None:
        held = self.held.pop(row)
        workers, servers = gang_width(held.shares)
        self.ledger.close_piece(
            Piece(row, held.start_s, at_s, workers, servers, held.rate, 0.0, held.from_s, end, lost_work, held.shares)
        )
        self.done[row] += held.gained(at_s) - lost_work

    def _since_checkpoint(self, row: int, at_s: float) -> float:
        """Return the work that a row loses with its node, as in ``dlsched.sim.progress``."""
        held, every_s = self.held[row], self.options.checkpoint_s
        if every_s == 0 or at_s <= held.from_s:
            return 0.0
        saved_s = held.from_s + np.floor((at_s - held.from_s) / every_s) * every_s
        return held.gained(at_s) - held.gained(min(at_s, float(saved_s)))

    # ---- decisions ----------------------------------------------------------------------------------------------

    def _decide(
        self, now_s: float, cause: EventKind, ended: list[int], lost: list[int], arrived: list[int]
    ) -> tuple[float, bool]:
        """Let the passes decide; return when to decide next besides events, and whether anything changed."""
        from dlsched.policies.slurm.kernels.step import advance  # loads numba

        rejected, core = [row for row in self.to_reject if self.waits[row]], self.book.core
        gone = back = _NO_ROWS
        if self.told < self.changed:
            self.told, up = self.changed, self.away == 0
            gone, back = np.flatnonzero((core.up == 1) & ~up), np.flatnonzero((core.up == 0) & up)
        for row in lost:
            left = max(0.0, float(self.truth.believed_work[row]) - self.done[row])
            core.jobs["limit_s"][row] = self.options.restart_s + left / self.book.pace[row]
        out = sorted({*ended, *rejected})
        wake_s = advance(*core, now_s, _rows(out), _rows(lost), gone, back, _rows(arrived))
        stopped = core.stopped[: core.counts[Count.STOPPED]].tolist()
        evicted = [row for row in stopped if row in self.held]
        for row in evicted:
            self._close(row, now_s, PieceEnd.PREEMPTED, self.held[row].gained(now_s))
            self._wait(row)
            self.ledger.journal.append((now_s, Evicted(row, "all")))
        changed = self._start_jobs(now_s) or bool(evicted or rejected)
        for row in rejected:
            self._end(row, JobStatus.REJECTED, now_s)
        self.to_reject = [row for row in stopped if is_cancelled(self.params, self.book.setup, self.jobs, row)]
        told = core.told[: core.counts[Count.TOLD]]
        self.ledger.explain(now_s, self.waits, (told.copy(), core.jobs["reason"][told]))
        self.ledger.decisions.append(DecisionRecord(now_s, cause, math.nan, "", None, None, ""))
        if self.to_reject:
            wake_s = min(wake_s, now_s)
        self.book.make_room()
        return max(wake_s, now_s + 2 * instant_s(now_s)), changed

    def _start_jobs(self, now_s: float) -> bool:
        """Put the rows that the passes start on their nodes; return whether there are any."""
        core, book = self.book.core, self.book
        rows = started_rows(core)
        for row in rows:
            job = core.jobs[row]
            shares = slice(int(job["first_share"]), int(job["first_share"] + job["num_shares"]))
            workers, servers = book.per_unit[int(job["kind"])]
            pairs = zip(core.share_node[shares].tolist(), core.share_units[shares].tolist(), strict=True)
            self._start(row, now_s, tuple(Share(node, units * workers, units * servers) for node, units in pairs))
        return bool(rows)

    def _start(self, row: int, start_s: float, shares: tuple[Share, ...]) -> None:
        rate = self.speed.rate(row, *gang_width(shares), {self.vm_of[share.node] for share in shares}, len(shares))
        from_s = start_s + self.options.restart_s
        self.held[row] = _Held(start_s, from_s, rate, shares)
        self.waits[row] = False
        self.ledger.end_wait(row)
        finish_s = from_s + max(0.0, self.work[row] - self.done[row]) / rate
        heapq.heappush(self.finish, (finish_s, row, start_s))

    def _log(self, start_s: float, end_s: float, *, stalled: bool) -> RunLog:
        for row in sorted(self.held):
            self._close(row, end_s, PieceEnd.RUN_ENDED)
        return self.ledger.finish(min(start_s, end_s), end_s, stalled=stalled)


def _view(world: World, now_s: float) -> PolicyView:
    return PolicyView(world, now_s, EventKind.NONE, stream(world.scenario.seed, "policy"))


def _rows(rows: list[int]) -> Ints:
    return np.array(rows, dtype=np.int64) if rows else _NO_ROWS
