"""When a job fits on nodes for as long as it is believed to run, beside those that run and are booked; compiled.

Of a node without bookings it is known when a measure is ready there, and the nodes are kept in that order: only the
first are looked at, and nodes with bookings. Of these no room for so long begins before a bound, see
:func:`bounded_length`.
"""

from __future__ import annotations

import numpy as np

from dlsched.domain.workload import Floats
from dlsched.sim.kernels.compiled import inlined, merged
from dlsched.sim.kernels.rigid.node_slots import NOW, has_room, slot_during
from dlsched.sim.kernels.rigid.room import counted_on
from dlsched.sim.kernels.rigid.tables import Count, Fit, Run

LOOKS = int(Count.LOOKS)
_WHOLE, _EMPTY = int(Fit.WHOLE), int(Fit.EMPTY)


@merged
def earliest(run: Run, kind: int, ticks: float, now_ticks: float) -> tuple[float, bool, int]:
    """Return the earliest time at which a kind fits for so long, infinity = never, and whether that is sure.

    It is while no job that was passed over can change it: where all nodes that have room then are open, and what is
    free there is exact until the job ends. Also returns how many nodes have room then, noted in ``with_room``.
    """
    measure, queue = run.kinds[kind].measure, run.kinds[kind].queue
    length = bounded_length(run, queue, measure, ticks)
    if run.kinds[kind].need == 1:
        at, num_nodes = _earliest_on_one(run, queue, measure, length, ticks, now_ticks)
    else:
        at, num_nodes = _earliest_on_many(run, queue, kind, length, ticks, now_ticks)
    until, is_sure = max(at, now_ticks) + ticks, True
    for k in range(num_nodes):
        node = run.nodes[run.nodes[k].with_room]
        is_sure &= node.closes_ticks > at and until <= node.exact_until
    return at, is_sure, num_nodes


@inlined
def _earliest_on_one(
    run: Run, queue: int, measure: int, length: int, ticks: float, now_ticks: float
) -> tuple[float, int]:
    """Return when a job that needs one node fits, and how many nodes have room then; the latest pick is tried first."""
    nodes, windows, bounds, ready = run.nodes, run.windows, run.bounds[measure, length], run.ready[measure]
    order, place, first_node = run.order[measure], _first_not_booked(run, queue, measure), run.queues[queue].first_node
    at, num_nodes, tried = np.inf, 0, run.bounded[measure, length].tried
    if place < len(order):
        at = ready[order[place]].ticks
    not_booked_at = at
    for k in range(-1, run.queues[queue].num_booked):
        node = nodes[first_node + k].booked if k >= 0 else tried
        if bounds[node].ticks <= at and bounds[node].ticks < np.inf and (k < 0 or node != tried):
            if k < 0 and not nodes[node].is_booked:
                continue
            _first_window(run, measure, length, node, ticks, now_ticks, at)
            if windows[node].since_ticks <= at and windows[node].since_ticks < np.inf:
                if windows[node].since_ticks < at:
                    at, num_nodes = windows[node].since_ticks, 0
                nodes[num_nodes].with_room = node
                num_nodes += 1
    if num_nodes > 0:
        run.bounded[measure, length].tried = nodes[0].with_room
    if at == not_booked_at and at < np.inf:
        while place < len(order) and ready[order[place]].ticks == at:
            node = order[place]
            if not nodes[node].is_booked:
                windows[node].since_slot = ready[node].slot
                nodes[num_nodes].with_room = node
                num_nodes += 1
            place += 1
    return at, num_nodes


@inlined
def _earliest_on_many(
    run: Run, queue: int, kind: int, length: int, ticks: float, now_ticks: float
) -> tuple[float, int]:
    """Return when a job that may need several nodes fits, and how many nodes have room then.

    Where too little has room, as many more nodes must get room, or more of it, as it takes with the most on each.
    """
    nodes, windows, soonest, measure = run.nodes, run.windows, run.soonest, run.kinds[kind].measure
    bounds, first, stamp = run.bounds[measure, length], run.first_start[kind], run.bounded[measure, length].stamp
    order, ready, need = run.order[measure], run.ready[measure], run.kinds[kind].need
    first_place, first_node = _first_not_booked(run, queue, measure), run.queues[queue].first_node
    most = run.measures[measure].most_on_node
    num_soonest = min(len(soonest), (need - 1) // most + 1)
    run.counts[LOOKS] += 1
    look, at, num_nodes = run.counts[LOOKS], NOW, 0
    for shorter in range(length + 1):
        if first[shorter].stamp == stamp:
            at = max(at, first[shorter].ticks)
    while at < np.inf:
        tally, num_nodes = 0, 0
        until = max(at, now_ticks) + ticks
        soonest[:num_soonest] = np.inf
        for k in range(run.queues[queue].num_booked):
            node = nodes[first_node + k].booked
            since_ticks = bounds[node].ticks
            if since_ticks <= at:
                if windows[node].look != look:
                    windows[node].look = look
                    _first_window(run, measure, length, node, ticks, now_ticks, np.inf)
                while windows[node].latest_ticks < at:
                    next_window(run, measure, node, windows[node].past_slot, ticks, now_ticks, np.inf)
                since_ticks = windows[node].since_ticks
            if since_ticks <= at:
                counted, since_ticks = _counted_throughout(run, measure, node, at, until)
                tally += counted
                nodes[num_nodes].with_room = node
                num_nodes += 1
            _note_if_sooner(soonest, num_soonest, since_ticks)
        for place in range(first_place, len(order)):
            node, since_ticks = order[place], ready[order[place]].ticks
            if since_ticks > at and since_ticks >= soonest[num_soonest - 1]:
                break
            if nodes[node].is_booked:
                continue
            if since_ticks <= at:
                windows[node].since_slot = ready[node].slot
                counted, since_ticks = _counted_throughout(run, measure, node, at, until)
                tally += counted
                nodes[num_nodes].with_room = node
                num_nodes += 1
            _note_if_sooner(soonest, num_soonest, since_ticks)
        if tally >= need:
            break
        at = soonest[min((need - tally - 1) // most, num_soonest - 1)]
    longer = length if run.lengths[length] == ticks else length + 1
    if longer < len(run.lengths):
        first[longer].ticks = max(at, first[longer].ticks) if first[longer].stamp == stamp else at
        first[longer].stamp = stamp
    return (at, num_nodes) if at < np.inf else (at, 0)


@inlined
def _note_if_sooner(soonest: Floats, count: int, ticks: float) -> None:
    """Put a time among the soonest, ascending, if it is one of so many."""
    if ticks < soonest[count - 1]:
        k = count - 1
        while k > 0 and soonest[k - 1] > ticks:
            soonest[k] = soonest[k - 1]
            k -= 1
        soonest[k] = ticks


@inlined
def _first_not_booked(run: Run, queue: int, measure: int) -> int:
    """Return the first place in the order of a measure with a node without bookings; ``len(order)`` = none.

    The order is of the present pass. Few nodes were stale since the last one: it is nearly sorted.
    """
    order, ready, of = run.order[measure], run.ready[measure], run.measures[measure]
    if of.order_stamp != run.queues[queue].pass_stamp:
        of.order_stamp, of.first_not_booked = run.queues[queue].pass_stamp, 0
        for k in range(1, len(order)):
            node, place = order[k], k
            ticks = ready[node].ticks
            while place > 0 and ready[order[place - 1]].ticks > ticks:
                order[place] = order[place - 1]
                place -= 1
            order[place] = node
    while of.first_not_booked < len(order) and run.nodes[order[of.first_not_booked]].is_booked:
        of.first_not_booked += 1
    return of.first_not_booked


# ---- bounds and windows -----------------------------------------------------------------------------------


@inlined
def bounded_length(run: Run, queue: int, measure: int, ticks: float) -> int:
    """Return the last of ``lengths`` that is at most so long, with bounds for it on all nodes.

    No room for so long begins on a node before its bound. What holds for a shorter length holds for a longer one too,
    and bookings only take room: bounds only rise.
    """
    stamp, bounds, bounded, length = run.queues[queue].pass_stamp, run.bounds, run.bounded, len(run.lengths) - 1
    while run.lengths[length] > ticks:
        length -= 1
    if bounded[measure, length].stamp == stamp:
        return length
    if bounded[measure, 0].stamp != stamp:
        bounded[measure, 0].stamp = stamp
        for node in range(len(run.nodes)):
            bounds[measure, 0, node].ticks = run.ready[measure, node].ticks
            bounds[measure, 0, node].slot = run.ready[measure, node].slot
    shorter = length
    while bounded[measure, shorter].stamp != stamp:
        shorter -= 1
    if shorter < length:
        bounded[measure, length].stamp = stamp
        for node in range(len(run.nodes)):
            bounds[measure, length, node].ticks = bounds[measure, shorter, node].ticks
            bounds[measure, length, node].slot = bounds[measure, shorter, node].slot
    return length


@inlined
def _first_window(
    run: Run, measure: int, length: int, node: int, ticks: float, now_ticks: float, latest: float
) -> None:
    """Note the first window of a node for so long, as :func:`next_window`, and raise bounds.

    These are of the bounded length, which is no longer than the job, and of longer ones.
    """
    any_room, slot = run.bounds[measure, 0, node], run.bounds[measure, length, node].slot
    if slot == any_room.slot:
        while slot >= 0 and not has_room(run, measure, node, slot):
            slot = run.slots[slot].next
        any_room.ticks, any_room.slot = run.slots[slot].ticks if slot >= 0 else np.inf, slot
    window, shorter = run.windows[node], run.lengths[length]
    slot = next_window(run, measure, node, slot, shorter, now_ticks, latest)
    since = run.slots[slot].ticks if slot >= 0 else np.inf
    for longer in range(length, len(run.lengths)):
        if run.bounded[measure, longer].stamp == run.bounded[measure, length].stamp:
            bound = run.bounds[measure, longer, node]
            if bound.ticks >= since:
                break
            bound.ticks, bound.slot = since, slot
    if window.since_ticks < np.inf:
        window.latest_ticks -= ticks - shorter
        if window.latest_ticks < max(window.since_ticks, now_ticks):
            next_window(run, measure, node, window.past_slot, ticks, now_ticks, latest)


@inlined
def next_window(run: Run, measure: int, node: int, slot: int, ticks: float, now_ticks: float, latest: float) -> int:
    """Note the first time from a slot on for which a node has room for so long: when it begins, and latest start.

    Infinity = there is none that begins by ``latest``. Return the slot before which none begins; -1 = there is none.
    """
    slots, window = run.slots, run.windows[node]
    while slot >= 0:
        while slot >= 0 and not has_room(run, measure, node, slot):
            slot = slots[slot].next
        if slot < 0 or slots[slot].ticks > latest:
            break
        since = slot
        while slot >= 0 and has_room(run, measure, node, slot):
            slot = slots[slot].next
        past_ticks = slots[slot].ticks if slot >= 0 else np.inf
        if max(slots[since].ticks, now_ticks) + ticks <= past_ticks:
            window.since_ticks, window.latest_ticks = slots[since].ticks, past_ticks - ticks
            window.since_slot, window.past_slot = since, slot
            return since
    window.since_ticks, window.latest_ticks, window.past_slot = np.inf, np.inf, -1
    return slot


@inlined
def _counted_throughout(run: Run, measure: int, node: int, at: float, until: float) -> tuple[int, float]:
    """Return what a measure counts on a node that has room from ``at`` until ``until``, and when it may be more."""
    if run.measures[measure].fit == _WHOLE:
        return 1, np.inf
    slot = run.windows[node].since_slot
    if run.measures[measure].fit == _EMPTY:
        return counted_on(run, measure, node, run.slots[slot].free), np.inf
    slot = slot_during(run, slot, at)
    least = counted_on(run, measure, node, run.slots[slot].free)
    slot = run.slots[slot].next
    more_at = run.slots[slot].ticks if slot >= 0 else np.inf
    while slot >= 0 and run.slots[slot].ticks < until:
        least = min(least, counted_on(run, measure, node, run.slots[slot].free))
        slot = run.slots[slot].next
    return least, more_at
