"""Which jobs run: a discipline decides one queue through the adapter and returns the rows left waiting, with codes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dlsched.domain.plan import WaitReason
from dlsched.domain.workload import Floats, Ints
from dlsched.policies.baselines.orders import Order, sorted_rows
from dlsched.policies.baselines.state_adapter import StateAdapter
from dlsched.policies.baselines.totals import Totals
from dlsched.policies.baselines.walks import walk_fairly
from dlsched.policies.shared.first_fit import first_fit

Left = tuple[Ints, Ints]
Discipline = Callable[[StateAdapter, Ints, Order, Totals], Left]
_PART_BITS, _SHARE_BITS = 60, 40


def split(adapter: StateAdapter, rows: Ints, order: Order) -> tuple[Ints, Ints]:
    """Return the rows that hold nothing, in order, and those that run."""
    waiting = adapter.waiting(rows)
    return sorted_rows(waiting, order(adapter.state, waiting)), adapter.running(rows)


def head_of_line(adapter: StateAdapter, rows: Ints, order: Order, totals: Totals) -> Left:
    """Start the waiting in order and stop at the first that does not fit."""
    waiting, _ = split(adapter, rows, order)
    started = first_fit(waiting, adapter.facts.kind_of(waiting), adapter.start, blocking=True)
    left = waiting[len(started) :]
    codes = np.full(len(left), int(WaitReason.BEHIND))
    codes[:1] = adapter.reasons(left[:1])
    return left, codes


def with_skip(adapter: StateAdapter, rows: Ints, order: Order, totals: Totals) -> Left:
    """Start the waiting in order, past those that do not fit."""
    waiting, _ = split(adapter, rows, order)
    first_fit(waiting, adapter.facts.kind_of(waiting), adapter.start)
    left = adapter.waiting(waiting)
    return left, adapter.reasons_in_order(left)


def start_nothing(adapter: StateAdapter, rows: Ints, order: Order, totals: Totals) -> Left:
    """Start nothing; say why each job waits."""
    waiting, _ = split(adapter, rows, order)
    return waiting, adapter.reasons_in_order(waiting)


def preemptive(adapter: StateAdapter, rows: Ints, order: Order, totals: Totals, *, makes_room: bool = False) -> Left:
    """Select by totals in order, keep the selected where they are, stop the rest, then place (decision 001).

    Steps: selected jobs that run keep their nodes; the other running jobs are stopped; selected who wait are placed in
    order; whatever is left goes to the rest in order, a stopped job getting its own nodes back where it can.
    ``makes_room``: a selected job that has no room on single nodes takes it from selected jobs behind it, which are
    then of the rest (decision 078).
    """
    rows = sorted_rows(rows, order(adapter.state, rows))
    kinds = adapter.facts.kind_of(rows)
    selected = np.isin(rows, np.array(first_fit(rows, kinds, totals.take), dtype=np.int64), assume_unique=True)
    for row in adapter.running(rows[~selected]).tolist():
        adapter.stop(row)
    chosen = rows[selected]
    newcomers, keepers = adapter.waiting(chosen), adapter.running(chosen)

    def place(row: int) -> bool:
        return adapter.start(row) or (makes_room and _make_room(adapter, row, behind(row)))

    def behind(row: int) -> Ints:
        past = chosen[int(np.flatnonzero(chosen == row)[0]) + 1 :]
        return adapter.running(past[np.isin(past, keepers, assume_unique=True)])

    first_fit(newcomers, adapter.facts.kind_of(newcomers), place)
    others = rows[~selected | np.isin(rows, np.array(list(adapter.stopped), dtype=np.int64), assume_unique=True)]
    first_fit(others, _kinds_but_stopped(adapter, others), lambda row: adapter.resume(row) or adapter.start(row))
    left = adapter.waiting(rows)
    return left, adapter.reasons(left)


def _make_room(adapter: StateAdapter, row: int, behind: Ints) -> bool:
    """Stop running rows, the last first, until a row has room, and start it; return whether it has.

    Those whose nodes are still free then go on there, the first first: all of them where the room was not enough.
    """
    given_up: list[int] = []
    has_room = False
    for other in behind[::-1].tolist():
        adapter.stop(other)
        given_up.append(other)
        if has_room := adapter.start(row):
            break
    for other in reversed(given_up):
        adapter.resume(other)
    return has_room


def _kinds_but_stopped(adapter: StateAdapter, rows: Ints) -> Ints:
    """Return the kinds of rows, stopped ones each a kind of its own: one may get its nodes back where others fail."""
    kinds = adapter.facts.kind_of(rows)
    stopped = np.isin(rows, np.array(list(adapter.stopped), dtype=np.int64), assume_unique=True)
    kinds[stopped] = -1 - np.arange(int(stopped.sum()))
    return kinds


def fair_shares(adapter: StateAdapter, rows: Ints, order: Order, totals: Totals) -> Left:
    """Start the next job of the user with the lowest dominant share, past those that do not fit (DRF).

    A dominant share is the largest part of any resource that all jobs of the user hold together:
    :func:`share_parts`.
    """
    waiting, running = split(adapter, rows, order)
    facts = adapter.facts
    capacity = totals.capacity(facts.queue(int(rows[0])))
    part = share_parts(facts.need, capacity)
    held = np.zeros((facts.num_users, part.shape[1]), dtype=np.int64)
    np.add.at(held, facts.user_of(running), part[facts.kind_of(running)])

    def share_of(user: int) -> int:
        return share_steps(int(held[user].max()))

    def take(row: int) -> bool:
        started = adapter.start(row)
        if started:
            held[facts.user_of(np.array(row))] += part[facts.number_of(row)]
        return started

    walk_fairly(waiting, facts.user_of(waiting), facts.kind_of(waiting), share_of, take)
    left = adapter.waiting(waiting)
    return left, adapter.reasons(left)


def share_parts(need: Floats, capacity: Floats) -> Ints:
    """Return what jobs hold as parts of a capacity, whole numbers of 2**-60, so that sums do not depend on their order.

    What is not there or not a limit does not count: its part is 0. ``need`` (kinds, resources), ``capacity``
    (resources,).
    """
    counts = np.isfinite(capacity) & (capacity > 0)
    part = np.zeros(need.shape)
    part[:, counts] = np.minimum(1.0, need[:, counts] / capacity[counts])
    return np.rint(part * 2.0**_PART_BITS).astype(np.int64)


def share_steps(part: int) -> int:
    """Return a sum of parts in steps of 2**-40, in which shares are compared: each part was rounded."""
    dropped = _PART_BITS - _SHARE_BITS
    return (part + (1 << (dropped - 1))) >> dropped
