"""Conservative backfill: every waiting job is booked in order, each as early as its whole believed time fits."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from dlsched.domain.plan import Share
from dlsched.domain.state import Placer
from dlsched.domain.workload import Floats, Ints
from dlsched.policies.baselines.disciplines import Left, split
from dlsched.policies.baselines.easy import believed_ends_s, fitting, spread_s
from dlsched.policies.baselines.orders import Order, in_ticks, remaining_s
from dlsched.policies.baselines.state_adapter import StateAdapter
from dlsched.policies.baselines.totals import Totals


def conservative(adapter: StateAdapter, rows: Ints, order: Order, totals: Totals) -> Left:
    """Book the waiting anew in order and start those booked for now; the rest of the bookings is forgotten.

    Mu'alem, Feitelson 2001, with all bookings made again at every event. Behind the last job that has room now nothing
    needs to be booked.
    """
    waiting, running = split(adapter, rows, order)
    with_room = fitting(adapter, waiting)
    if len(with_room):
        schedule = Schedule(adapter, running)
        to_book = waiting[: int(np.flatnonzero(waiting == with_room[-1])[0]) + 1]
        for row, length in zip(to_book.tolist(), _lengths(adapter, to_book).tolist(), strict=True):
            schedule.book(row, length)
    left = adapter.waiting(waiting)
    return left, adapter.reasons_in_order(left)


def _lengths(adapter: StateAdapter, rows: Ints) -> Floats:
    """Return how long rows are believed to run on the slowest node, apart if their rule may part them, in ticks.

    At least one, for those that are believed to have nothing left.
    """
    state = adapter.state
    apart = np.ones(len(rows), dtype=bool)
    work_s = (remaining_s(state, rows) + spread_s(state, rows, apart)) / float(adapter.speeds().min())
    return np.maximum(1.0, in_ticks(state.restart_ahead_s(rows) + work_s))


class Schedule:
    """What is free from each time on: ``rooms[k]`` during [times[k], times[k + 1]), the last one for ever.

    Times in millionths of a second. The first is now, as it is; jobs whose believed end has passed are gone from the
    second on, which may be now too. In a pool only totals count, so that a job may lie on other nodes later; under
    the other rules it is booked on nodes that are free for its whole time.
    """

    def __init__(self, adapter: StateAdapter, running: Ints) -> None:
        self._adapter = adapter
        now = float(in_ticks(np.array([adapter.state.now_s]))[0])
        self.times: list[float] = [now]
        self.rooms: list[Placer] = [adapter.placer.copy()]
        ends = in_ticks(believed_ends_s(adapter, running))
        for end in np.unique(ends).tolist():
            room = self.rooms[-1].copy()
            for row in running[ends == end].tolist():
                room.release(row, adapter.shares(row))
            self.times.append(end)
            self.rooms.append(room)

    def book(self, row: int, length: float) -> None:
        """Book a row for ``length`` at the earliest time; start it if that is now.

        A row that will not fit on the nodes that are up is not booked.
        """
        workers = self._adapter.facts.kind(row).workers
        for first in range(len(self.times)):
            if not self.rooms[first].fits(row, workers):
                continue
            until = self.times[first] + length
            past = bisect_left(self.times, until, lo=first + 1)
            span = self.rooms[first:past]
            shares = None if self.rooms[first].is_pool else _room_throughout(span).place(row, workers)
            if shares is None and not (self.rooms[first].is_pool and all(r.fits(row, workers) for r in span)):
                continue
            if past == len(self.times) or self.times[past] > until:
                self.times.insert(past, until)
                self.rooms.insert(past, self.rooms[past - 1].copy())
            for room in self.rooms[first:past]:
                _take(room, row, workers, shares)
            if first == 0:
                self._start(row, shares)
            return

    def _start(self, row: int, shares: tuple[Share, ...] | None) -> None:
        if shares is None:
            self._adapter.start(row)
        else:
            self._adapter.take(row, shares)


def _room_throughout(rooms: list[Placer]) -> Placer:
    """Return a trial of what is free on each node in all of the rooms."""
    trial = rooms[0].copy()
    for room in rooms[1:]:
        np.minimum(trial.free, room.free, out=trial.free)
    return trial


def _take(room: Placer, row: int, workers: int, shares: tuple[Share, ...] | None) -> None:
    if shares is None:
        room.place(row, workers)
    else:
        room.take(row, shares)
