"""Who runs: each discipline decides one queue on a desk and returns the rows left waiting with their codes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dlsched.domain.plan import WaitReason
from dlsched.domain.workload import Floats, Ints
from dlsched.policies.baselines.desk import Desk
from dlsched.policies.baselines.orders import Order, sorted_rows
from dlsched.policies.baselines.totals import Totals
from dlsched.policies.baselines.walks import walk, walk_fairly

Left = tuple[Ints, Ints]
Discipline = Callable[[Desk, Ints, Order, Totals], Left]


def split(desk: Desk, rows: Ints, order: Order) -> tuple[Ints, Ints]:
    """Return the rows that hold nothing, in order, and those that run."""
    running = np.isin(rows, desk.state.running, assume_unique=True)
    waiting = rows[~running]
    return sorted_rows(waiting, order(desk.state, waiting)), rows[running]


def head_of_line(desk: Desk, rows: Ints, order: Order, totals: Totals) -> Left:
    """Start the waiting in order and stop at the first that does not fit."""
    waiting, _ = split(desk, rows, order)
    started = walk(waiting, desk.facts.kind_of(waiting), desk.start, blocking=True)
    left = waiting[len(started) :]
    codes = np.full(len(left), int(WaitReason.BEHIND))
    codes[:1] = desk.reasons(left[:1])
    return left, codes


def with_skip(desk: Desk, rows: Ints, order: Order, totals: Totals) -> Left:
    """Start the waiting in order, past those that do not fit."""
    waiting, _ = split(desk, rows, order)
    walk(waiting, desk.facts.kind_of(waiting), desk.start)
    left = desk.waiting(waiting)
    return left, desk.reasons(left)


def preemptive(desk: Desk, rows: Ints, order: Order, totals: Totals) -> Left:
    """Select by totals in order, keep the selected where they are, stop the rest, then place (decision 001).

    Steps: selected who run keep their nodes; the other running jobs are stopped; selected who wait are placed in
    order; whatever is left goes to the rest in order, a stopped job getting its own nodes back where it can.
    """
    rows = sorted_rows(rows, order(desk.state, rows))
    selected = set(walk(rows, desk.facts.kind_of(rows), totals.take))
    running = set(desk.state.running.tolist())
    for row in rows.tolist():
        if row in running and row not in selected:
            desk.stop(row)
    newcomers = np.array([row for row in rows.tolist() if row in selected and row not in running], dtype=np.int64)
    walk(newcomers, desk.facts.kind_of(newcomers), desk.start)
    for row in rows.tolist():
        if row not in selected and not desk.resume(row):
            desk.start(row)
    left = desk.waiting(rows)
    return left, desk.reasons(left)


def fair_shares(desk: Desk, rows: Ints, order: Order, totals: Totals) -> Left:
    """Start the next job of the user with the lowest dominant share, past those that do not fit (DRF)."""
    waiting, running = split(desk, rows, order)
    jobs = desk.state.jobs
    names = jobs.user if jobs.user is not None else jobs.group
    capacity = totals.capacity(desk.facts.kind(int(rows[0])).partition)

    def share_of(row: int) -> float:
        return dominant_share(desk.facts.kind(row).need, capacity)

    def user(row: int) -> str:
        return "" if names is None else str(names[row])

    shares: dict[str, float] = {}
    for row in running.tolist():
        shares[user(row)] = shares.get(user(row), 0.0) + share_of(row)
    queues: dict[str, list[int]] = {}
    for row in waiting.tolist():
        queues.setdefault(user(row), []).append(row)
    walk_fairly({name: np.array(queue) for name, queue in queues.items()}, shares, share_of, desk.start)
    left = desk.waiting(waiting)
    return left, desk.reasons(left)


def dominant_share(need: Floats, capacity: Floats) -> float:
    """Return the largest share of any modelled resource; what is not there (0) or not a limit does not count."""
    counts = np.isfinite(capacity) & (capacity > 0)
    return float((need[counts] / capacity[counts]).max(initial=0.0))
