"""EASY backfill: the head of the queue gets a promise, later jobs may start where they do not break it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.plan import Share
from dlsched.domain.state import State
from dlsched.domain.workload import Floats, Ints
from dlsched.policies.baselines.disciplines import Left, split
from dlsched.policies.baselines.orders import Order, in_ticks, remaining_s
from dlsched.policies.baselines.state_adapter import StateAdapter
from dlsched.policies.baselines.totals import Totals
from dlsched.policies.baselines.walks import Beside, walk_beside
from dlsched.policies.shared.first_fit import first_fit


def easy_backfill(adapter: StateAdapter, rows: Ints, order: Order, totals: Totals) -> Left:
    """Start the waiting in order up to the first that does not fit, the head; then backfill beside its promise."""
    waiting, running = split(adapter, rows, order)
    started = first_fit(waiting, adapter.facts.kind_of(waiting), adapter.start, blocking=True)
    left = waiting[len(started) :]
    behind = fitting(adapter, left[1:])
    if len(behind):
        running = np.concatenate([running, np.array(started, dtype=np.int64)])
        backfill(adapter, behind, Shadow(adapter, int(left[0]), running))
        left = adapter.waiting(left)
    return left, adapter.reasons_in_order(left)


def fitting(adapter: StateAdapter, rows: Ints) -> Ints:
    """Return the rows whose kind has room now."""
    kinds = adapter.facts.kind_of(rows)
    distinct, first = np.unique(kinds, return_index=True)
    fits = [adapter.placer.fits(row, adapter.facts.kind(row).workers) for row in rows[first].tolist()]
    return rows[np.isin(kinds, distinct[np.array(fits, dtype=bool)])]


def backfill(adapter: StateAdapter, rows: Ints, shadow: Shadow) -> None:
    """Start those of the rows that end before the shadow time or leave the head its place."""

    def offer(row: int) -> Beside:
        if not adapter.start(row):
            return Beside.NO_ROOM
        end = in_ticks(believed_ends_s(adapter, np.array([row])))[0]
        if end <= shadow.at_ticks or shadow.bears(row, adapter.started[row]):
            return Beside.TAKEN
        adapter.undo(row)
        return Beside.IN_THE_WAY

    fastest = max(adapter.speeds())
    surely_late = in_ticks(_ends_s(adapter.state, rows, fastest)) > shadow.at_ticks
    walk_beside(rows, adapter.facts.kind_of(rows), surely_late, offer)


class Shadow:
    """The nodes as they will be when the head can start: at ``at_ticks``, the earliest believed end at which it fits.

    The time is in millionths of a second, infinite when the head never fits on the nodes that are up. A job whose
    believed end has passed counts as ending now; jobs that end at the same instant are gone together.
    """

    def __init__(self, adapter: StateAdapter, head: int, running: Ints) -> None:
        self._adapter, self._head = adapter, head
        self._trial = adapter.placer.copy()
        self.at_ticks = np.inf
        ends = in_ticks(believed_ends_s(adapter, running))
        for end in np.unique(ends):
            for row in running[ends == end].tolist():
                self._trial.release(row, adapter.shares(row))
            if self._head_fits():
                self.at_ticks = float(end)
                break

    def bears(self, row: int, shares: tuple[Share, ...]) -> bool:
        """Whether the head still fits with these shares taken; if so they stay taken."""
        self._adapter.open_in(self._trial)
        self._trial.take(row, shares)
        if self._head_fits():
            return True
        self._trial.release(row, shares)
        return False

    def _head_fits(self) -> bool:
        return self._trial.fits(self._head, self._adapter.facts.kind(self._head).workers)


def believed_ends_s(adapter: StateAdapter, rows: Ints) -> Floats:
    """Return when rows that have shares are believed to end.

    A gang is as fast as its slowest node, and its steps take longer where it is on several.
    """
    speeds, shares = adapter.speeds(), [adapter.shares(row) for row in rows.tolist()]
    slowest = np.array([min(speeds[share.node] for share in held) for held in shares])
    apart = np.array([len(held) > 1 for held in shares], dtype=bool)
    return _ends_s(adapter.state, rows, slowest, spread_s(adapter.state, rows, apart))


def spread_s(state: State, rows: Ints, apart: NDArray[np.bool_]) -> Floats | float:
    """Return the seconds that the steps left take longer where a gang is apart, on nodes of speed 1."""
    if not state.updates or state.jobs.spread_s is None:
        return 0.0
    steps = state.remaining(rows) / (state.requested(rows) if state.updates == "async" else 1)
    return np.where(apart, steps * state.jobs.spread_s[rows], 0.0)


def _ends_s(state: State, rows: Ints, speed: Floats | float, spread_s: Floats | float = 0.0) -> Floats:
    return np.asarray(state.now_s + state.restart_ahead_s(rows) + (remaining_s(state, rows) + spread_s) / speed)
