"""Slots: what is free on each node from each time on, beside the jobs that run and those that are booked; compiled.

A node's slots are kept from pass to pass until something starts or ends on it or is booked there: only then is the
node *stale* and gets new ones. Beside the jobs that run alone, more and more is free: the first slot with room for a
measure begins when it is *ready* there, however long a job is.
"""

from __future__ import annotations

import numpy as np

from dlsched.placement.rules import ROOM_TOLERANCE
from dlsched.sim.kernels.compiled import inlined, merged
from dlsched.sim.kernels.rigid.room import left_after
from dlsched.sim.kernels.rigid.tables import Fit, Run

_EMPTY = int(Fit.EMPTY)
NOW = -np.inf
"""The time of a node's first slot: now, before anything that ends now is gone."""


@merged
def renew_slots(run: Run, queue: int, now_ticks: float) -> None:
    """Forget all bookings of a queue: write what is free on stale nodes now and from each believed end on.

    Jobs whose believed end has passed are gone from the second slot on, which moves with time: their nodes are stale.
    """
    jobs, nodes, slots, first = run.jobs, run.nodes, run.slots, run.queues[queue].end_first
    past = first + run.queues[queue].num_running
    for k in range(past - 1, first - 1, -1):
        job = jobs[run.by_end[k]]
        if job.end_ticks >= now_ticks:
            break
        for share in range(job.first_share, job.first_share + job.num_shares):
            nodes[run.shares[share].node].is_stale = 1
    for node in range(len(nodes)):
        if nodes[node].queue == queue:
            nodes[node].is_stale |= nodes[node].is_booked
            nodes[node].is_booked = 0
            if nodes[node].is_stale:
                _drop_slots(run, queue, node)
    run.queues[queue].num_booked = 0
    for k in range(past - 1, first - 1, -1):
        job = jobs[run.by_end[k]]
        for share in range(job.first_share, job.first_share + job.num_shares):
            node = run.shares[share].node
            if nodes[node].is_stale:
                end = max(job.end_ticks, now_ticks)
                if slots[nodes[node].last_slot].ticks != end:
                    nodes[node].last_slot = _add_slot(run, queue, nodes[node].last_slot, end)
                take_in_slot(run, job.kind, node, nodes[node].last_slot, -run.shares[share].workers)
    for node in range(len(nodes)):
        if nodes[node].queue == queue and nodes[node].is_stale:
            nodes[node].is_stale = 0
            _note_when_ready(run, queue, node)


@inlined
def _drop_slots(run: Run, queue: int, node: int) -> None:
    """Leave a node with its first slot alone, which is now."""
    nodes, slots, slot = run.nodes, run.slots, run.slots[node].next
    while slot >= 0:
        following = slots[slot].next
        slots[slot].next, run.queues[queue].spare_slot = run.queues[queue].spare_slot, slot
        slot = following
    slots[node].ticks, slots[node].next, nodes[node].last_slot = NOW, -1, node
    for resource in range(run.rule[0].num_limited):
        slots[node].free[resource] = nodes[node].free[resource]


@inlined
def _note_when_ready(run: Run, queue: int, node: int) -> None:
    """Note from which slot on each measure has room on a node beside the jobs that run, and whether any has now."""
    run.nodes[node].has_room = 0
    for k in range(run.queues[queue].first_measure, run.queues[queue].past_measure):
        measure, slot = run.members[k], -1
        if run.allowed[run.measures[measure].kind, node]:
            slot = node
            while slot >= 0 and not has_room(run, measure, node, slot):
                slot = run.slots[slot].next
        run.ready[measure, node].ticks = run.slots[slot].ticks if slot >= 0 else np.inf
        run.ready[measure, node].slot = slot
        run.nodes[node].has_room |= slot == node


@inlined
def _add_slot(run: Run, queue: int, before: int, ticks: float) -> int:
    """Write a slot like the one before it, from ``ticks`` on; return its number."""
    slots, new = run.slots, run.queues[queue].spare_slot
    if new >= 0:
        run.queues[queue].spare_slot = slots[new].next
    else:
        new = run.queues[queue].first_slot + run.queues[queue].num_slots
        run.queues[queue].num_slots += 1
    slots[new].ticks, slots[new].next, slots[before].next = ticks, slots[before].next, new
    for resource in range(run.rule[0].num_limited):
        slots[new].free[resource] = slots[before].free[resource]
    return new


@inlined
def take_in_slot(run: Run, kind: int, node: int, slot: int, workers: int) -> None:
    """Take room for workers of a kind in a slot of a node, or give it back (below 0)."""
    demand, free, capacity = run.kinds[kind].demand, run.slots[slot].free, run.nodes[node].capacity
    for resource in range(run.rule[0].num_limited):
        if demand[resource] > 0 and free[resource] < np.inf:
            free[resource] = left_after(run.rule, free[resource], capacity[resource], workers * demand[resource])


@inlined
def slot_at(run: Run, queue: int, slot: int, ticks: float) -> int:
    """Return the slot that begins at a time, made if need be, from the one that the time is in."""
    return slot if run.slots[slot].ticks == ticks else _add_slot(run, queue, slot, ticks)


@inlined
def slot_during(run: Run, slot: int, ticks: float) -> int:
    """Return the slot that a time is in, from one that begins by then."""
    while run.slots[slot].next >= 0 and run.slots[run.slots[slot].next].ticks <= ticks:
        slot = run.slots[slot].next
    return slot


@inlined
def has_room(run: Run, measure: int, node: int, slot: int) -> bool:
    """Whether a measure counts anything on an allowed node in a slot."""
    of, free = run.measures[measure], run.slots[slot].free
    for resource in range(run.rule[0].num_limited):
        if of.binding[resource] and free[resource] + ROOM_TOLERANCE < of.asked[resource]:
            return False
    if of.fit == _EMPTY:
        capacity, limited = run.nodes[node].capacity, run.rule[0].limited
        for resource in range(run.rule[0].num_limited):
            if limited[resource] and free[resource] < capacity[resource] - ROOM_TOLERANCE:
                return False
    return True
