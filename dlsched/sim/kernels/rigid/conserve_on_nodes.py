"""Conservative backfill on nodes, compiled; the rule of ``dlsched.policies.baselines.conservative``.

Each node has a list of slots: what is free there from each time on. Bookings are made anew, in order, but only those
that can matter to a start now (decision 070). A node is open from now until the first time at which it has no room for
any job that waits. No booking goes across that time, so that a job which is too long for all open nodes leaves them as
they are and is passed over. So is one that may go to an open node or elsewhere, but then what is free on that node is
exact only until it may be there. All these are booked only if a job would start now for longer than that. Bookings are
kept while jobs only come, unless a job has started from behind others.
"""

from __future__ import annotations

import numpy as np

from dlsched.domain.workload import GPU, Ints
from dlsched.placement.rules import ROOM_TOLERANCE
from dlsched.sim.kernels.compiled import compiled, inlined
from dlsched.sim.kernels.rigid.conserve import booked_ticks, most_work, next_short_enough
from dlsched.sim.kernels.rigid.lanes import ANY, first_at_most, next_waiting
from dlsched.sim.kernels.rigid.moves import CHANGES, ENDED, STAMP, SUBMITTED, TICKS, start
from dlsched.sim.kernels.rigid.room import counted_on, find, fits, is_empty, left_after
from dlsched.sim.kernels.rigid.tables import NUM_RESOURCES, Count, Fit, Run

LOOKS = int(Count.LOOKS)
_EMPTY, _ROOM, _WHOLE = int(Fit.EMPTY), int(Fit.ROOM), int(Fit.WHOLE)
NOW = -np.inf
"""The time of a node's first slot: now, before anything that ends now is gone."""


@compiled
def book_on_nodes(run: Run, queue: int, now: float) -> None:
    """Start the waiting rows of a queue that are booked for now."""
    jobs, kinds, state = run.jobs, run.kinds, run.queues[queue]
    mine = run.members[state.first_kind : state.past_kind]
    now_ticks, lane = np.rint(now * TICKS), len(kinds) + queue
    if not _still_holds(run, queue, now_ticks):
        state.booked_after = -1
        if not _open_waiting(run, mine):
            return
        _begin(run, queue, now_ticks)
    _tell_kinds(run, queue, mine)
    holds = True
    while _may_start(run, mine, now_ticks):
        row = next_short_enough(jobs, kinds, mine, run.lanes, run.lane_rows, run.tree)
        kind, ticks = jobs[row].kind, booked_ticks(run, row)
        kinds[kind].cur += 1
        at, is_sure, num_nodes = _earliest(run, kind, ticks, now_ticks)
        state.booked = _first_not_booked(run, queue, lane, state.booked)
        if state.booked < jobs[row].place and not is_sure:
            if at > NOW:
                _pass_over(run, row, at, now_ticks)
                continue
            while state.booked < jobs[row].place:
                other = run.lane_rows[run.lanes[lane].first + state.booked]
                earliest, _, num_nodes = _earliest(run, jobs[other].kind, booked_ticks(run, other), now_ticks)
                _book(run, queue, other, earliest, now_ticks, num_nodes)
                state.booked = _first_not_booked(run, queue, lane, state.booked + 1)
            for node in range(len(run.nodes)):
                if run.nodes[node].queue == queue:
                    run.nodes[node].exact_until = np.inf
            at, _, num_nodes = _earliest(run, kind, ticks, now_ticks)
        count = _book(run, queue, row, at, now_ticks, num_nodes)
        if at == NOW:
            is_head = next_waiting(run, lane, 0, ANY) == jobs[row].place
            start(run, row, now, count)
            holds &= is_head and jobs[row].end_ticks == now_ticks + ticks
        _tell_kinds(run, queue, mine)
    state.booked_after = run.counts[ENDED] + run.counts[CHANGES] if holds else -1


@compiled
def _still_holds(run: Run, queue: int, now_ticks: float) -> bool:
    """Whether the bookings of the last pass still hold, so that only new rows need to be looked at; open their kinds.

    They do if only heads of the queue were started in it, as those that run come before all bookings from then on,
    nothing has ended or changed since, no running row is past its believed end, and the new rows are behind all others.
    What was booked then is booked for later than now, and room from now on is room from then on.
    """
    jobs, kinds, state = run.jobs, run.kinds, run.queues[queue]
    holds = state.booked_after == run.counts[ENDED] + run.counts[CHANGES]
    if state.num_running > 0:
        holds &= jobs[run.by_end[state.end_first + state.num_running - 1]].end_ticks > now_ticks
    for row in range(state.num_seen, run.counts[SUBMITTED]):
        kind = jobs[row].kind
        if kinds[kind].queue == queue:
            holds &= jobs[row].place > state.last_place and run.measures[kinds[kind].measure].waits > 0
            state.last_place = max(state.last_place, jobs[row].place)
            kinds[kind].is_open = 1
    state.num_seen = run.counts[SUBMITTED]
    return holds


@compiled
def _begin(run: Run, queue: int, now_ticks: float) -> None:
    """Forget all bookings."""
    run.queues[queue].pass_stamp, run.queues[queue].booked = run.counts[STAMP], 0
    _slots_of_running(run, queue, now_ticks)
    for node in range(len(run.nodes)):
        if run.nodes[node].queue == queue:
            run.nodes[node].exact_until = np.inf
            _look_at(run, queue, node, now_ticks)


@inlined
def _open_waiting(run: Run, mine: Ints) -> bool:
    """Open each of the kinds that wait, from its first job on; return whether any has room now."""
    kinds, has_room = run.kinds, False
    for kind in mine:
        run.measures[kinds[kind].measure].waits, run.measures[kinds[kind].measure].is_told = 0, 0
    for kind in mine:
        kinds[kind].is_open, kinds[kind].cur = kinds[kind].num_waiting > 0, 0
        if kinds[kind].is_open:
            run.measures[kinds[kind].measure].waits = 1
            has_room |= fits(run, kind)
    return has_room


@compiled
def _first_not_booked(run: Run, queue: int, lane: int, index: int) -> int:
    """Return the place of the first waiting row from a place on that has not been booked; there is one."""
    index = next_waiting(run, lane, index, ANY)
    while run.jobs[run.lane_rows[run.lanes[lane].first + index]].booked == run.queues[queue].pass_stamp:
        index = next_waiting(run, lane, index + 1, ANY)
    return index


@compiled
def _pass_over(run: Run, row: int, at: float, now_ticks: float) -> None:
    """Leave a row that is booked at ``at`` or later, not known where: it may change open nodes from then on."""
    nodes, kinds, windows, kind, ticks = run.nodes, run.kinds, run.windows, run.jobs[row].kind, booked_ticks(run, row)
    measure = kinds[kind].measure
    length = _bounded_length(run, kinds[kind].queue, measure, ticks)
    for node in range(len(nodes)):
        bound = run.bounds[measure, length, node]
        if bound.ticks < nodes[node].closes_ticks:
            _next_window(run, measure, node, bound.slot, ticks, now_ticks, np.inf)
            while windows[node].latest_ticks < at:
                _next_window(run, measure, node, windows[node].past_slot, ticks, now_ticks, np.inf)
            nodes[node].exact_until = min(nodes[node].exact_until, max(at, windows[node].since_ticks))


# ---- slots ----------------------------------------------------------------------------------------------


@compiled
def _slots_of_running(run: Run, queue: int, now_ticks: float) -> None:
    """Write what is free on each node now and from each believed end on.

    Jobs whose believed end has passed are gone from the second slot on.
    """
    jobs, nodes, slots, first = run.jobs, run.nodes, run.slots, run.queues[queue].end_first
    for node in range(len(nodes)):
        if nodes[node].queue == queue:
            slots[node].ticks, slots[node].next, nodes[node].last_slot = NOW, -1, node
            for resource in range(NUM_RESOURCES):
                slots[node].free[resource] = nodes[node].free[resource]
    run.queues[queue].num_slots = 0
    for k in range(first + run.queues[queue].num_running - 1, first - 1, -1):
        job = jobs[run.by_end[k]]
        end = max(job.end_ticks, now_ticks)
        for share in range(job.first_share, job.first_share + job.num_shares):
            node = run.shares[share].node
            if slots[nodes[node].last_slot].ticks != end:
                nodes[node].last_slot = _add_slot(run, queue, nodes[node].last_slot, end)
            _take_in_slot(run, job.kind, node, nodes[node].last_slot, -run.shares[share].workers)


@inlined
def _add_slot(run: Run, queue: int, before: int, ticks: float) -> int:
    """Write a slot like the one before it, from ``ticks`` on; return its number."""
    slots, new = run.slots, run.queues[queue].first_slot + run.queues[queue].num_slots
    run.queues[queue].num_slots += 1
    slots[new].ticks, slots[new].next, slots[before].next = ticks, slots[before].next, new
    for resource in range(NUM_RESOURCES):
        slots[new].free[resource] = slots[before].free[resource]
    return new


@inlined
def _take_in_slot(run: Run, kind: int, node: int, slot: int, workers: int) -> None:
    """Take room for workers of a kind in a slot of a node, or give it back (below 0)."""
    demand, free, capacity = run.kinds[kind].demand, run.slots[slot].free, run.nodes[node].capacity
    for resource in range(NUM_RESOURCES):
        if demand[resource] > 0 and free[resource] < np.inf:
            free[resource] = left_after(run.rule, free[resource], capacity[resource], workers * demand[resource])


@compiled
def _book(run: Run, queue: int, row: int, at: float, now_ticks: float, num_nodes: int) -> int:
    """Take room for a row from a time on, infinity = never, on some of the nodes noted; return how many are picked."""
    kind, slots = run.jobs[row].kind, run.slots
    run.jobs[row].booked = run.queues[queue].pass_stamp
    if at == np.inf:
        return 0
    until = max(at, now_ticks) + booked_ticks(run, row)
    if run.measures[run.kinds[kind].measure].fit == _WHOLE:
        _pick_fullest(run, kind, at, until, num_nodes)
        count = 1
    else:
        count = _find_throughout(run, kind, at, until, num_nodes)
    for k in range(count):
        node = run.nodes[k].pick
        slot = _slot_at(run, queue, _slot_during(run, run.windows[node].since_slot, at), at)
        past = _slot_at(run, queue, _slot_during(run, slot, until), until)
        while slot != past:
            _take_in_slot(run, kind, node, slot, run.nodes[k].pick_workers)
            slot = slots[slot].next
        if run.nodes[node].closes_ticks > at:
            _look_at(run, queue, node, now_ticks)
    return count


@inlined
def _slot_at(run: Run, queue: int, slot: int, ticks: float) -> int:
    """Return the slot that begins at a time, made if need be, from the one that the time is in."""
    return slot if run.slots[slot].ticks == ticks else _add_slot(run, queue, slot, ticks)


@inlined
def _find_throughout(run: Run, kind: int, at: float, until: float, num_nodes: int) -> int:
    """Pick nodes for a kind among what is free from ``at`` until ``until``, as :func:`find`; return how many."""
    nodes, slots = run.nodes, run.slots
    for node in range(len(nodes)):
        if run.allowed[kind, node]:
            for resource in range(NUM_RESOURCES):
                nodes[node].shadow[resource] = nodes[node].free[resource]
                nodes[node].free[resource] = 0.0
    for k in range(num_nodes):
        free = nodes[nodes[k].with_room].free
        slot = _slot_during(run, run.windows[nodes[k].with_room].since_slot, at)
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


@inlined
def _pick_fullest(run: Run, kind: int, at: float, until: float, num_nodes: int) -> None:
    """Pick the node with the fewest free GPUs, the first of these, among those that hold the whole job for so long."""
    nodes, slots, best, fewest = run.nodes, run.slots, -1, np.inf
    for k in range(num_nodes):
        node = nodes[k].with_room
        slot = _slot_during(run, run.windows[node].since_slot, at)
        free = slots[slot].free[GPU]
        slot = slots[slot].next
        while slot >= 0 and slots[slot].ticks < until:
            free = min(free, slots[slot].free[GPU])
            slot = slots[slot].next
        if best < 0 or free < fewest or (free == fewest and node < best):
            best, fewest = node, free
    nodes[0].pick, nodes[0].pick_workers = best, run.kinds[kind].workers


@inlined
def _slot_during(run: Run, slot: int, ticks: float) -> int:
    """Return the slot that a time is in, from one that begins by then."""
    while run.slots[slot].next >= 0 and run.slots[run.slots[slot].next].ticks <= ticks:
        slot = run.slots[slot].next
    return slot


# ---- when a job fits ------------------------------------------------------------------------------------


@compiled
def _earliest(run: Run, kind: int, ticks: float, now_ticks: float) -> tuple[float, bool, int]:
    """Return the earliest time at which a kind fits for so long, infinity = never, and whether that is sure.

    It is while no job that was passed over can change it: where all nodes that have room then are open, and what is
    free there is exact until the job ends. Also returns how many nodes have room then, noted in ``with_room``.
    """
    measure, queue = run.kinds[kind].measure, run.kinds[kind].queue
    length = _bounded_length(run, queue, measure, ticks)
    if run.kinds[kind].need == 1:
        at, num_nodes = _earliest_on_one(run, measure, length, ticks, now_ticks)
    else:
        at, num_nodes = _earliest_on_many(run, kind, length, ticks, now_ticks)
    until, is_sure = max(at, now_ticks) + ticks, True
    for k in range(num_nodes):
        node = run.nodes[run.nodes[k].with_room]
        is_sure &= node.closes_ticks > at and until <= node.exact_until
    return at, is_sure, num_nodes


@inlined
def _earliest_on_one(run: Run, measure: int, length: int, ticks: float, now_ticks: float) -> tuple[float, int]:
    """Return when a job that needs one node fits, and how many nodes have room then; the latest pick is tried first."""
    nodes, windows, bounds = run.nodes, run.windows, run.bounds[measure, length]
    at, num_nodes, tried = np.inf, 0, run.bounded[measure, length].tried
    for k in range(-1, len(nodes)):
        node = k if k >= 0 else tried
        if bounds[node].ticks <= at and bounds[node].ticks < np.inf and k != tried:
            _first_window(run, measure, length, node, ticks, now_ticks, at)
            if windows[node].since_ticks <= at and windows[node].since_ticks < np.inf:
                if windows[node].since_ticks < at:
                    at, num_nodes = windows[node].since_ticks, 0
                nodes[num_nodes].with_room = node
                num_nodes += 1
    if num_nodes > 0:
        run.bounded[measure, length].tried = nodes[0].with_room
    return at, num_nodes


@inlined
def _earliest_on_many(run: Run, kind: int, length: int, ticks: float, now_ticks: float) -> tuple[float, int]:
    """Return when a job that may need several nodes fits, and how many nodes have room then."""
    nodes, windows, measure = run.nodes, run.windows, run.kinds[kind].measure
    bounds, first, stamp = run.bounds[measure, length], run.first_start[kind], run.bounded[measure, length].stamp
    run.counts[LOOKS] += 1
    look, at = run.counts[LOOKS], NOW
    for shorter in range(length + 1):
        if first[shorter].stamp == stamp:
            at = max(at, first[shorter].ticks)
    while at < np.inf:
        tally, following, num_nodes = 0, np.inf, 0
        until = max(at, now_ticks) + ticks
        for node in range(len(nodes)):
            if bounds[node].ticks > at:
                following = min(following, bounds[node].ticks)
                continue
            if windows[node].look != look:
                windows[node].look = look
                _first_window(run, measure, length, node, ticks, now_ticks, np.inf)
            while windows[node].latest_ticks < at:
                _next_window(run, measure, node, windows[node].past_slot, ticks, now_ticks, np.inf)
            if windows[node].since_ticks > at:
                following = min(following, windows[node].since_ticks)
                continue
            counted, more_at = _counted_throughout(run, measure, node, at, until)
            tally, following = tally + counted, min(following, more_at)
            nodes[num_nodes].with_room = node
            num_nodes += 1
        if tally >= run.kinds[kind].need:
            break
        at = following
    longer = length if run.lengths[length] == ticks else length + 1
    if longer < len(run.lengths):
        first[longer].ticks = max(at, first[longer].ticks) if first[longer].stamp == stamp else at
        first[longer].stamp = stamp
    return (at, num_nodes) if at < np.inf else (at, 0)


@inlined
def _bounded_length(run: Run, queue: int, measure: int, ticks: float) -> int:
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
            bounds[measure, 0, node].ticks = NOW if run.allowed[run.measures[measure].kind, node] else np.inf
            bounds[measure, 0, node].slot = node
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
    """Note the first window of a node for so long, as :func:`_next_window`, and raise the bounds of what is as long."""
    any_room, slot = run.bounds[measure, 0, node], run.bounds[measure, length, node].slot
    if slot == any_room.slot:
        while slot >= 0 and not _has_room(run, measure, node, slot):
            slot = run.slots[slot].next
        any_room.ticks, any_room.slot = run.slots[slot].ticks if slot >= 0 else np.inf, slot
    slot = _next_window(run, measure, node, slot, ticks, now_ticks, latest)
    since = run.slots[slot].ticks if slot >= 0 else np.inf
    for longer in range(length if run.lengths[length] == ticks else length + 1, len(run.lengths)):
        if run.bounded[measure, longer].stamp == run.bounded[measure, length].stamp:
            bound = run.bounds[measure, longer, node]
            if bound.ticks >= since:
                break
            bound.ticks, bound.slot = since, slot


@inlined
def _next_window(run: Run, measure: int, node: int, slot: int, ticks: float, now_ticks: float, latest: float) -> int:
    """Note the first time from a slot on for which a node has room for so long: when it begins, and latest start.

    Infinity = there is none that begins by ``latest``. Return the slot before which none begins; -1 = there is none.
    """
    slots, window = run.slots, run.windows[node]
    while slot >= 0:
        while slot >= 0 and not _has_room(run, measure, node, slot):
            slot = slots[slot].next
        if slot < 0 or slots[slot].ticks > latest:
            break
        since = slot
        while slot >= 0 and _has_room(run, measure, node, slot):
            slot = slots[slot].next
        past_ticks = slots[slot].ticks if slot >= 0 else np.inf
        if max(slots[since].ticks, now_ticks) + ticks <= past_ticks:
            window.since_ticks, window.latest_ticks = slots[since].ticks, past_ticks - ticks
            window.since_slot, window.past_slot = since, slot
            return since
    window.since_ticks, window.latest_ticks, window.past_slot = np.inf, np.inf, -1
    return slot


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
        longest, until = run.longest_room[measure, node], run.room_until[measure, node]
        if longest == measures[measure].longest_room or until == measures[measure].room_until:
            measures[measure].is_told &= longest == -np.inf
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
        if measures[measure].waits and not measures[measure].is_told:
            longest, until = -np.inf, -np.inf
            for node in range(len(run.nodes)):
                longest = max(longest, run.longest_room[measure, node])
                until = max(until, run.room_until[measure, node])
            measures[measure].longest_room, measures[measure].room_until = longest, until
            measures[measure].is_told = 1
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
