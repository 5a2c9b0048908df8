"""An independent recomputation of who pays which part of the bill, and of what the bill was for."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dlsched.domain.workload import CPU, GPU, Floats, Ints
from dlsched.sim.audit.facts import SECONDS_PER_H, Facts, last_before

HOURS_OF_MONTH = 30.4 * 24.0
GRAIN = 2.0**-30
"""Amounts are rounded to this: sums of such numbers are exact, so that a node that empties is empty."""


class Spans(NamedTuple):
    """Times at which nodes are billed or there: node, index into Cluster.vm_types, from and to."""

    node: Ints
    vm: Ints
    start_s: Floats
    end_s: Floats


class BillSplit(NamedTuple):
    """Who pays (``job_usd`` by row) and what for: machines without jobs, spare GPUs beside jobs, restarts."""

    job_usd: Floats
    idle_usd: float
    spare_usd: float
    restart_usd: float


class _Moments(NamedTuple):
    """The times at which the load of a node changes, by node and time; one entry for each change.

    ``first`` and ``last``: the entry at which each share begins and ends. ``length_s`` lasts until the next entry.
    """

    node: Ints
    time_s: Floats
    length_s: Floats
    first: Ints
    last: Ints

    def level(self, amount: Floats) -> Floats:
        """Return the sum of the amounts of the shares that are there from each entry on."""
        change = np.zeros(len(self.node))
        np.add.at(change, self.first, amount)
        np.add.at(change, self.last, -amount)
        return np.cumsum(change)

    def spent(self, usd: Floats, level: Floats, amount: Floats) -> Floats:
        """Return what each share pays where ``usd`` is divided by ``level``."""
        each = np.divide(usd, level, out=np.zeros(len(usd)), where=level > 0)
        so_far = np.append(0.0, np.cumsum(each))
        return np.asarray(amount * (so_far[self.last] - so_far[self.first]))


def split_bill(facts: Facts, billed: Spans, usd: Floats) -> BillSplit:
    """Return the split of the bill; ``usd`` is the bill of each span, all with a price."""
    log, owner = facts.log, facts.piece_of_share
    price = np.array([vm.usd_per_h or 0.0 for vm in facts.vm_types]) / SECONDS_PER_H
    paid, busy = _paid_by_shares(facts, billed, price)
    length_s = (log.piece_end_s - log.piece_start_s)[owner]
    on_vm = facts.vm_of_share
    own = paid.copy()  # of a machine with nothing to count, jobs use all they pay
    for number, kind in enumerate(facts.vm_types):
        what = facts.counted_on(kind)
        size, here = facts.vm_capacity[number, what], on_vm == number
        if 0 < size < math.inf:
            own[here] = facts.held(here)[:, what] / size * length_s[here] * price[number]
    job_usd = np.zeros(len(facts.scenario.workload))
    np.add.at(job_usd, facts.row_of_share, paid)
    wasted = wasted_s(facts) / np.maximum(log.piece_end_s - log.piece_start_s, np.finfo(float).tiny)
    return BillSplit(
        job_usd=job_usd,
        idle_usd=max(math.fsum(usd) - busy, 0.0),
        spare_usd=max(busy - math.fsum(own), 0.0),
        restart_usd=math.fsum(own * wasted[owner]),
    )


def _paid_by_shares(facts: Facts, billed: Spans, price: Floats) -> tuple[Floats, float]:
    """Return what each share pays, shape (shares,), and what nodes cost while anything is on them.

    ``price`` is $/s by machine type.
    """
    log, owner = facts.log, facts.piece_of_share
    moments = _moments(log.share_node, log.piece_start_s[owner], log.piece_end_s[owner])
    stay = last_before(billed.node, billed.start_s, moments.node, moments.time_s + moments.length_s / 2)
    vm = billed.vm[stay] if len(billed.vm) else np.zeros(len(stay), dtype=np.int64)

    gpus, rest = _grained(facts.held()[:, GPU]), _dominant(facts)
    count, in_use, other = (moments.level(amount) for amount in (np.ones(len(gpus)), gpus, rest))
    spent = np.where(count > 0, moments.length_s * price[vm], 0.0)
    paid = moments.spent(np.where(in_use > 0, spent, 0.0), in_use, gpus)
    paid += moments.spent(np.where((in_use > 0) | (other <= 0), 0.0, spent), other, rest)
    paid += moments.spent(np.where((in_use > 0) | (other > 0), 0.0, spent), count, np.ones(len(rest)))
    return paid, math.fsum(spent)


def wasted_s(facts: Facts) -> Floats:
    """Return the time of each piece that moved no work forward: restarts, and what made work that was lost."""
    log = facts.log
    fast_s = np.maximum(log.piece_end_s - np.maximum(log.piece_progress_from_s, log.piece_start_s), 0.0)
    slow_s = log.piece_end_s - log.piece_start_s - fast_s
    fast_s, idle_fast_s = np.where(log.piece_rate > 0, fast_s, 0.0), np.where(log.piece_rate > 0, 0.0, fast_s)
    slow_s, idle_slow_s = (
        np.where(log.piece_restart_rate > 0, slow_s, 0.0),
        np.where(log.piece_restart_rate > 0, 0.0, slow_s),
    )
    lost_fast = np.minimum(log.piece_lost_work, fast_s * log.piece_rate)
    lost_slow = log.piece_lost_work - lost_fast
    with np.errstate(divide="ignore", invalid="ignore"):
        back_s = np.where(lost_fast > 0, lost_fast / log.piece_rate, 0.0)
        back_s += np.where(lost_slow > 0, lost_slow / log.piece_restart_rate, 0.0)
    return np.where(np.isfinite(back_s), back_s, 0.0) + idle_fast_s + idle_slow_s


def useful_unit_s(facts: Facts) -> float:
    """Return the GPU-seconds (core-seconds, ...) held that moved work forward."""
    log, owner = facts.log, facts.piece_of_share
    useful_s = log.piece_end_s - log.piece_start_s - wasted_s(facts)
    return math.fsum(facts.counted_held() * useful_s[owner])


def month_usd(facts: Facts, billed: Spans, usd: Floats) -> float | None:
    """Return the bill of the time in which jobs arrive, scaled to a month; None when all arrive at once."""
    submit_s = facts.scenario.workload.submit_s
    if not len(submit_s) or submit_s.max() <= submit_s.min():
        return None
    from_s, to_s = float(submit_s.min()), float(submit_s.max())
    there_s = np.minimum(billed.end_s, to_s) - np.maximum(billed.start_s, from_s)
    lasts_s = billed.end_s - billed.start_s
    part = np.where(lasts_s > 0, np.maximum(there_s, 0.0) / np.where(lasts_s > 0, lasts_s, 1.0), 0.0)
    return math.fsum(usd * part) * SECONDS_PER_H * HOURS_OF_MONTH / (to_s - from_s)


def _moments(node: Ints, start_s: Floats, end_s: Floats) -> _Moments:
    shares = len(node)
    both, time_s = np.tile(node, 2), np.concatenate([start_s, end_s])
    order = np.lexsort((time_s, both))
    place = np.empty(2 * shares, dtype=np.int64)
    place[order] = np.arange(2 * shares)
    both, time_s = both[order], time_s[order]
    lasts_s = np.append(np.diff(time_s), 0.0)
    lasts_s[np.append(both[1:] != both[:-1], True)[: len(lasts_s)]] = 0.0
    return _Moments(both, time_s, lasts_s, place[:shares], place[shares:])


def _dominant(facts: Facts) -> Floats:
    """Return the larger of the parts of a node's CPUs and memory that a share holds; its CPUs where neither counts."""
    room = facts.vm_capacity[facts.vm_of_share][:, CPU:]
    held = facts.held()[:, CPU:]
    counts = np.isfinite(room) & (room > 0)
    part = np.where(counts, held / np.where(counts, room, 1.0), 0.0)
    found = np.where(counts.any(axis=1), part.max(axis=1, initial=0.0), held[:, 0])
    return _grained(found)


def _grained(amount: Floats) -> Floats:
    return np.rint(amount / GRAIN) * GRAIN
