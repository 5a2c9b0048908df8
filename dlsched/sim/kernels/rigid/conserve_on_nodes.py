"""Conservative backfill on nodes, compiled; the rule of ``dlsched.policies.baselines.conservative``.

Each node has a list of slots: what is free there from each time on. Bookings are made anew, in order, but only those
that can matter to a start now (decision 070). A node is open from now until the first time at which it has no room for
any job that waits. No booking goes across that time, so that a job which is too long for all open nodes leaves them as
they are and is passed over. So is one that may go to an open node or elsewhere, but then what is free on that node is
exact only until it may be there. All these are booked only if a job would start now for longer than that.
"""

from __future__ import annotations

import numpy as np

from dlsched.domain.workload import GPU, Ints
from dlsched.placement.rules import ROOM_TOLERANCE
from dlsched.sim.kernels.compiled import compiled, inlined
from dlsched.sim.kernels.rigid.conserve import booked_ticks, most_work, next_short_enough
from dlsched.sim.kernels.rigid.lanes import ANY, first_at_most, next_waiting
from dlsched.sim.kernels.rigid.moves import STAMP, TICKS, start
from dlsched.sim.kernels.rigid.room import counted_on, find, fits, is_empty, left_after
from dlsched.sim.kernels.rigid.tables import NUM_RESOURCES, Fit, Run

_EMPTY, _ROOM, _WHOLE = int(Fit.EMPTY), int(Fit.ROOM), int(Fit.WHOLE)
NOW = -np.inf
"""The time of a node's first slot: now, before anything that ends now is gone."""


@compiled
def book_on_nodes(run: Run, queue: int, now: float) -> None:
    """Start the waiting rows of a queue that are booked for now."""
    jobs, kinds = run.jobs, run.kinds
    mine = run.members[run.queues[queue].first_kind : run.queues[queue].past_kind]
    if not _open_waiting(run, mine):
        return
    now_ticks, lane, booked = np.rint(now * TICKS), len(kinds) + queue, 0
    num_slots = _slots_of_running(run, queue, now_ticks)
    for node in range(len(run.nodes)):
        run.nodes[node].exact_until = np.inf
        if run.nodes[node].queue == queue:
            for k in range(run.queues[queue].first_measure, run.queues[queue].past_measure):
                measure = run.members[k]
                run.first_room[measure, node] = NOW if run.allowed[run.measures[measure].kind, node] else np.inf
            _look_at(run, queue, node, now_ticks)
    _tell_kinds(run, queue, mine)
    while _may_start(run, mine, now_ticks):
        row = next_short_enough(jobs, kinds, mine, run.lanes, run.lane_rows, run.tree)
        kind = jobs[row].kind
        kinds[kind].cur += 1
        at, is_sure = _earliest(run, kind, booked_ticks(run, row), now_ticks)
        booked = _first_not_booked(run, lane, booked)
        if booked < jobs[row].place and not is_sure:
            if at > NOW:
                _pass_over(run, row, at, now_ticks)
                continue
            while booked < jobs[row].place:
                other = run.lane_rows[run.lanes[lane].first + booked]
                earliest, _ = _earliest(run, jobs[other].kind, booked_ticks(run, other), now_ticks)
                num_slots = _book(run, queue, other, earliest, now_ticks, num_slots)[1]
                booked = _first_not_booked(run, lane, booked + 1)
            for node in range(len(run.nodes)):
                run.nodes[node].exact_until = np.inf
            at, _ = _earliest(run, kind, booked_ticks(run, row), now_ticks)
        count, num_slots = _book(run, queue, row, at, now_ticks, num_slots)
        if at == NOW:
            start(run, row, now, count)
        _tell_kinds(run, queue, mine)


@inlined
def _open_waiting(run: Run, mine: Ints) -> bool:
    """Open each of the kinds that wait, from its first job on; return whether any has room now."""
    kinds, has_room = run.kinds, False
    for kind in mine:
        run.measures[kinds[kind].measure].waits = 0
    for kind in mine:
        kinds[kind].is_open, kinds[kind].cur = kinds[kind].num_waiting > 0, 0
        if kinds[kind].is_open:
            run.measures[kinds[kind].measure].waits = 1
            has_room |= fits(run, kind)
    return has_room


@compiled
def _first_not_booked(run: Run, lane: int, index: int) -> int:
    """Return the place of the first waiting row from a place on that has not been booked; there is one."""
    index = next_waiting(run, lane, index, ANY)
    while run.jobs[run.lane_rows[run.lanes[lane].first + index]].booked == run.counts[STAMP]:
        index = next_waiting(run, lane, index + 1, ANY)
    return index


@compiled
def _pass_over(run: Run, row: int, at: float, now_ticks: float) -> None:
    """Leave a row that is booked at ``at`` or later, not known where: it may change open nodes from then on."""
    nodes, windows, kind, ticks = run.nodes, run.windows, run.jobs[row].kind, booked_ticks(run, row)
    for node in range(len(nodes)):
        if nodes[node].closes_ticks > NOW and run.allowed[kind, node]:
            _next_window(run, run.kinds[kind].measure, node, node, ticks, now_ticks, np.inf)
            while windows[node].latest_ticks < at:
                _next_window(run, run.kinds[kind].measure, node, windows[node].past_slot, ticks, now_ticks, np.inf)
            nodes[node].exact_until = min(nodes[node].exact_until, max(at, windows[node].since_ticks))


# ---- slots ----------------------------------------------------------------------------------------------


@compiled
def _slots_of_running(run: Run, queue: int, now_ticks: float) -> int:
    """Write what is free on each node now and from each believed end on; return how many slots there are.

    Jobs whose believed end has passed are gone from the second slot on.
    """
    jobs, nodes, slots = run.jobs, run.nodes, run.slots
    for node in range(len(nodes)):
        slots[node].ticks, slots[node].next, nodes[node].last_slot = NOW, -1, node
        for resource in range(NUM_RESOURCES):
            slots[node].free[resource] = nodes[node].free[resource]
    count, first = len(nodes), run.queues[queue].end_first
    for k in range(first + run.queues[queue].num_running - 1, first - 1, -1):
        job = jobs[run.by_end[k]]
        end = max(job.end_ticks, now_ticks)
        for share in range(job.first_share, job.first_share + job.num_shares):
            node = run.shares[share].node
            if slots[nodes[node].last_slot].ticks != end:
                _add_slot(run, nodes[node].last_slot, count, end)
                nodes[node].last_slot = count
                count += 1
            _take_in_slot(run, job.kind, node, nodes[node].last_slot, -run.shares[share].workers)
    return count


@compiled
def _add_slot(run: Run, before: int, new: int, ticks: float) -> None:
    """Write a slot like the one before it, from ``ticks`` on."""
    slots = run.slots
    slots[new].ticks, slots[new].next, slots[before].next = ticks, slots[before].next, new
    for resource in range(NUM_RESOURCES):
        slots[new].free[resource] = slots[before].free[resource]


@compiled
def _take_in_slot(run: Run, kind: int, node: int, slot: int, workers: int) -> None:
    """Take room for workers of a kind in a slot of a node, or give it back (below 0)."""
    demand, free, capacity = run.kinds[kind].demand, run.slots[slot].free, run.nodes[node].capacity
    for resource in range(NUM_RESOURCES):
        if demand[resource] > 0 and free[resource] < np.inf:
            free[resource] = left_after(run.rule, free[resource], capacity[resource], workers * demand[resource])


@compiled
def _book(run: Run, queue: int, row: int, at: float, now_ticks: float, num_slots: int) -> tuple[int, int]:
    """Take room for a row from a time on, infinity = never; return how many nodes are picked, and the slots used."""
    kind, slots = run.jobs[row].kind, run.slots
    run.jobs[row].booked = run.counts[STAMP]
    if at == np.inf:
        return 0, num_slots
    until = max(at, now_ticks) + booked_ticks(run, row)
    count = _find_throughout(run, kind, at, until)
    for k in range(count):
        node = run.nodes[k].pick
        slot, num_slots = _slot_at(run, node, at, num_slots)
        past, num_slots = _slot_at(run, slot, until, num_slots)
        while slot != past:
            _take_in_slot(run, kind, node, slot, run.nodes[k].pick_workers)
            slot = slots[slot].next
        if run.nodes[node].closes_ticks > at:
            _look_at(run, queue, node, now_ticks)
    return count, num_slots


@compiled
def _slot_at(run: Run, slot: int, ticks: float, num_slots: int) -> tuple[int, int]:
    """Return the slot that begins at a time, made if need be, from one that begins by then; and the slots used."""
    slots = run.slots
    while slots[slot].next >= 0 and slots[slots[slot].next].ticks <= ticks:
        slot = slots[slot].next
    if slots[slot].ticks == ticks:
        return slot, num_slots
    _add_slot(run, slot, num_slots, ticks)
    return num_slots, num_slots + 1


@compiled
def _find_throughout(run: Run, kind: int, at: float, until: float) -> int:
    """Pick nodes for a kind among what is free from ``at`` until ``until``, as :func:`find`; return how many."""
    nodes, slots = run.nodes, run.slots
    if run.measures[run.kinds[kind].measure].fit == _WHOLE:
        return _fullest_throughout(run, kind, at, until)
    for node in range(len(nodes)):
        if not run.allowed[kind, node]:
            continue
        free = nodes[node].free
        for resource in range(NUM_RESOURCES):
            nodes[node].shadow[resource] = free[resource]
            free[resource] = 0.0
        if run.windows[node].since_ticks <= at:
            slot = _slot_during(run, run.windows[node].since_slot, at)
            for resource in range(NUM_RESOURCES):
                free[resource] = slots[slot].free[resource]
            slot = slots[slot].next
            while slot >= 0 and slots[slot].ticks < until:
                for resource in range(NUM_RESOURCES):
                    free[resource] = min(free[resource], slots[slot].free[resource])
                slot = slots[slot].next
    count = find(run, kind)
    for node in range(len(nodes)):
        if run.allowed[kind, node]:
            for resource in range(NUM_RESOURCES):
                nodes[node].free[resource] = nodes[node].shadow[resource]
    return count


@compiled
def _fullest_throughout(run: Run, kind: int, at: float, until: float) -> int:
    """Pick the node with the fewest free GPUs among those that hold the whole job for so long."""
    nodes, slots, best, fewest = run.nodes, run.slots, 0, np.inf
    for node in range(len(nodes)):
        if run.allowed[kind, node] and run.windows[node].since_ticks <= at:
            slot = _slot_during(run, run.windows[node].since_slot, at)
            free = slots[slot].free[GPU]
            slot = slots[slot].next
            while slot >= 0 and slots[slot].ticks < until:
                free = min(free, slots[slot].free[GPU])
                slot = slots[slot].next
            if free < fewest:
                best, fewest = node, free
    nodes[0].pick, nodes[0].pick_workers = best, run.kinds[kind].workers
    return 1


@inlined
def _slot_during(run: Run, slot: int, ticks: float) -> int:
    """Return the slot that a time is in, from one that begins by then."""
    while run.slots[slot].next >= 0 and run.slots[run.slots[slot].next].ticks <= ticks:
        slot = run.slots[slot].next
    return slot


# ---- when a job fits ------------------------------------------------------------------------------------


@compiled
def _earliest(run: Run, kind: int, ticks: float, now_ticks: float) -> tuple[float, bool]:
    """Return the earliest time at which a kind fits for so long, infinity = never, and whether that is sure.

    It is while no job that was passed over can change it: where all nodes that have room then are open, and what is
    free there is exact until the job ends.
    """
    nodes, windows, measure, at = run.nodes, run.windows, run.kinds[kind].measure, NOW
    for node in range(len(nodes)):
        windows[node].since_ticks, windows[node].latest_ticks, windows[node].past_slot = np.inf, np.nan, node
    if run.kinds[kind].need == 1:
        at = np.inf
        for node in range(len(nodes)):
            if run.first_room[measure, node] <= at and run.first_room[measure, node] < np.inf:
                _next_window(run, measure, node, node, ticks, now_ticks, at)
                at = min(at, windows[node].since_ticks)
    while at < np.inf:
        tally, is_sure, following = 0, True, np.inf
        for node in range(len(nodes)):
            if run.first_room[measure, node] > at:
                following = min(following, run.first_room[measure, node])
                continue
            while not windows[node].latest_ticks >= at:  # none has been looked for, or the last one is over
                _next_window(run, measure, node, windows[node].past_slot, ticks, now_ticks, np.inf)
            if windows[node].since_ticks > at:
                following = min(following, windows[node].since_ticks)
                continue
            until = max(at, now_ticks) + ticks
            is_sure &= nodes[node].closes_ticks > at and until <= nodes[node].exact_until
            counted, more_at = _counted_throughout(run, measure, node, at, until)
            tally, following = tally + counted, min(following, more_at)
        if tally >= run.kinds[kind].need:
            return at, is_sure
        at = following
    return np.inf, True


@compiled
def _next_window(run: Run, measure: int, node: int, slot: int, ticks: float, now_ticks: float, latest: float) -> None:
    """Note the first time from a slot on for which a node has room for so long: when it begins, and latest start.

    Infinity = there is none that begins by ``latest``.
    """
    slots, window, first = run.slots, run.windows[node], slot == node
    while slot >= 0:
        while slot >= 0 and not _has_room(run, measure, node, slot):
            slot = slots[slot].next
        if first:
            run.first_room[measure, node] = slots[slot].ticks if slot >= 0 else np.inf
            first = False
        if slot < 0 or slots[slot].ticks > latest:
            break
        since = slot
        while slot >= 0 and _has_room(run, measure, node, slot):
            slot = slots[slot].next
        past_ticks = slots[slot].ticks if slot >= 0 else np.inf
        if max(slots[since].ticks, now_ticks) + ticks <= past_ticks:
            window.since_ticks, window.latest_ticks = slots[since].ticks, past_ticks - ticks
            window.since_slot, window.past_slot = since, slot
            return
    window.since_ticks, window.latest_ticks, window.past_slot = np.inf, np.inf, -1


@inlined
def _has_room(run: Run, measure: int, node: int, slot: int) -> bool:
    """Whether a measure counts anything on an allowed node in a slot."""
    asked, binding, free = run.measures[measure].asked, run.measures[measure].binding, run.slots[slot].free
    enough = run.measures[measure].fit != _EMPTY or is_empty(run.nodes, run.rule, node, free)
    for resource in range(NUM_RESOURCES):
        if binding[resource] and free[resource] + ROOM_TOLERANCE < asked[resource]:
            enough = False
    return enough


@inlined
def _counted_throughout(run: Run, measure: int, node: int, at: float, until: float) -> tuple[int, float]:
    """Return what a measure counts on a node that has room from ``at`` until ``until``, and when it may be more."""
    if run.measures[measure].fit == _WHOLE:
        return 1, np.inf
    slot = _slot_during(run, run.windows[node].since_slot, at)
    least = counted_on(run, measure, node, run.slots[slot].free)
    slot = run.slots[slot].next
    more_at = run.slots[slot].ticks if slot >= 0 and run.measures[measure].fit == _ROOM else np.inf
    while slot >= 0 and run.slots[slot].ticks < until:
        least = min(least, counted_on(run, measure, node, run.slots[slot].free))
        slot = run.slots[slot].next
    return least, more_at


# ---- open nodes -----------------------------------------------------------------------------------------


@compiled
def _look_at(run: Run, queue: int, node: int, now_ticks: float) -> None:
    """Note until when a node is open, until when each measure has room there from now on, and for how long at most."""
    measures, slots = run.measures, run.slots
    first, past = run.queues[queue].first_measure, run.queues[queue].past_measure
    for k in range(first, past):
        measure = run.members[k]
        measures[measure].since_ticks = np.inf
        run.room_until[measure, node], run.longest_room[measure, node] = -np.inf, -np.inf
    slot, is_open = node, True
    while is_open:
        is_open, ticks = False, slots[slot].ticks if slot >= 0 else np.inf
        for k in range(first, past):
            measure = run.members[k]
            if not measures[measure].waits or not run.allowed[measures[measure].kind, node]:
                continue
            since = measures[measure].since_ticks
            if slot >= 0 and _has_room(run, measure, node, slot):
                is_open, measures[measure].since_ticks = True, min(since, ticks)
            elif since < np.inf:
                length = ticks - max(since, now_ticks)
                run.longest_room[measure, node] = max(run.longest_room[measure, node], length)
                if since == NOW:
                    run.room_until[measure, node] = ticks
                measures[measure].since_ticks = np.inf
        if is_open:
            slot = slots[slot].next
    run.nodes[node].closes_ticks = slots[slot].ticks if slot >= 0 else np.inf


@compiled
def _tell_kinds(run: Run, queue: int, mine: Ints) -> None:
    """Tell the kinds of a queue what work fits in open nodes, and until when there is room from now on."""
    measures = run.measures
    for k in range(run.queues[queue].first_measure, run.queues[queue].past_measure):
        measure = run.members[k]
        if measures[measure].waits:
            longest, until = -np.inf, -np.inf
            for node in range(len(run.nodes)):
                longest = max(longest, run.longest_room[measure, node])
                until = max(until, run.room_until[measure, node])
            measures[measure].longest_room, measures[measure].room_until = longest, until
    for kind in mine:
        run.kinds[kind].most = most_work(run.rule, measures[run.kinds[kind].measure].longest_room)


@compiled
def _may_start(run: Run, mine: Ints, now_ticks: float) -> bool:
    """Whether a job that has not been looked at might start now."""
    kinds, lanes = run.kinds, run.lanes
    for kind in mine:
        if kinds[kind].is_open and fits(run, kind):
            most = most_work(run.rule, run.measures[kinds[kind].measure].room_until - now_ticks)
            if first_at_most(run.tree, lanes[kind].base, lanes[kind].size, kinds[kind].cur, most) >= 0:
                return True
    return False
