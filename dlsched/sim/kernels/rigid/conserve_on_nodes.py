"""Conservative backfill on nodes, compiled; the rule of ``dlsched.policies.baselines.conservative``.

Bookings are made anew, in order, but only those that can matter to a start now (decision 070). A node is open from now
until the first time at which it has no room for any job that waits. No booking goes across that time, so that a job
which is too long for all open nodes leaves them as they are and is passed over. So is one that may go to an open node
or elsewhere, but then what is free on that node is exact only until it may be there. All these are looked at again only
if a job would start now for longer than that. Bookings are kept while jobs only come, unless a job has started from
behind others.
"""

from __future__ import annotations

import numpy as np

from dlsched.domain.workload import GPU, Ints
from dlsched.sim.kernels.compiled import compiled, inlined, merged
from dlsched.sim.kernels.rigid.conserve import booked_ticks, most_work, next_short_enough
from dlsched.sim.kernels.rigid.earliest import bounded_length, earliest, next_window
from dlsched.sim.kernels.rigid.lanes import ANY, first_at_most, index_behind, next_waiting
from dlsched.sim.kernels.rigid.moves import CHANGES, ENDED, STAMP, SUBMITTED, TICKS, start
from dlsched.sim.kernels.rigid.node_slots import NOW, has_room, renew_slots, slot_at, slot_during, take_in_slot
from dlsched.sim.kernels.rigid.room import counted_on, fill, find, fits
from dlsched.sim.kernels.rigid.tables import Fit, Run

_WHOLE, _EMPTY = int(Fit.WHOLE), int(Fit.EMPTY)


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
        at, is_sure, num_nodes = earliest(run, kind, ticks, now_ticks)
        state.booked = _first_not_booked(run, queue, lane, state.booked)
        if state.booked < jobs[row].place and not is_sure:
            if at == NOW:
                at = _book_ahead(run, queue, mine, row, now_ticks)
            if at > NOW:
                _pass_over(run, row, at, now_ticks)
                continue
            at, _, num_nodes = earliest(run, kind, ticks, now_ticks)
        count = _book(run, queue, row, at, now_ticks, num_nodes)
        if at == NOW:
            is_head = next_waiting(run, lane, 0, ANY) == jobs[row].place
            start(run, row, now, count)
            holds &= is_head and jobs[row].end_ticks == now_ticks + ticks
        _tell_kinds(run, queue, mine)
    state.booked_after = run.counts[ENDED] + run.counts[CHANGES] if holds else -1


@compiled
def _book_ahead(run: Run, queue: int, mine: Ints, row: int, now_ticks: float) -> float:
    """Book the rows ahead of one that has room now, as far as they may take it; return when it begins at the earliest.

    What begins before the horizon, the end of the row at first, is booked, in order. Where one begins at the horizon or
    later, so do all of its kind behind it that are no shorter, and are left out. These may keep from its place what
    begins before the horizon and ends behind it: its end is the horizon of all up to it, which are looked at again. It
    is over when the row has lost its room.
    """
    jobs, kinds, state, lane = run.jobs, run.kinds, run.queues[queue], len(run.kinds) + queue
    kind, ticks, at, up_to = jobs[row].kind, booked_ticks(run, row), NOW, -1
    end = horizon = now_ticks + ticks
    for other in mine:
        kinds[other].kept_cur, kinds[other].was_open = kinds[other].cur, kinds[other].is_open
    _look_again(run, queue, mine)
    ahead = next_short_enough(jobs, kinds, mine, run.lanes, run.lane_rows, run.tree)
    while at == NOW and ahead >= 0 and jobs[ahead].place < jobs[row].place:
        other = jobs[ahead].kind
        kinds[other].cur += 1
        if jobs[ahead].place > up_to:
            horizon = end
        if jobs[ahead].booked != state.pass_stamp:
            begins, _, num_nodes = earliest(run, other, booked_ticks(run, ahead), now_ticks)
            until = max(begins, now_ticks) + booked_ticks(run, ahead)
            state.booked = _first_not_booked(run, queue, lane, state.booked)
            if horizon <= begins < np.inf:
                kinds[other].most = np.nextafter(jobs[ahead].believed, -np.inf)
            elif horizon < until < np.inf and state.booked < jobs[ahead].place:
                horizon, up_to = until, max(up_to, jobs[ahead].place)
                _look_again(run, queue, mine)
            else:
                _book(run, queue, ahead, begins, now_ticks, num_nodes)
                if begins < end:
                    at, _, _ = earliest(run, kind, ticks, now_ticks)
        ahead = next_short_enough(jobs, kinds, mine, run.lanes, run.lane_rows, run.tree)
    if at == NOW:
        state.booked = _first_not_booked(run, queue, lane, state.booked)
        until = np.inf if state.booked == jobs[row].place else end
        for node in range(len(run.nodes)):
            if run.nodes[node].queue == queue:
                run.nodes[node].exact_until = max(run.nodes[node].exact_until, until)
    for other in mine:
        kinds[other].cur, kinds[other].is_open = kinds[other].kept_cur, kinds[other].was_open
    _tell_kinds(run, queue, mine)
    return at


@inlined
def _look_again(run: Run, queue: int, mine: Ints) -> None:
    """Open each of the kinds that wait, from the first job on that may not be booked."""
    for kind in mine:
        run.kinds[kind].is_open, run.kinds[kind].most = run.kinds[kind].num_waiting > 0, ANY
        run.kinds[kind].cur = index_behind(run, kind, run.queues[queue].booked - 1)


@merged
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


@merged
def _begin(run: Run, queue: int, now_ticks: float) -> None:
    """Forget all bookings."""
    nodes, state = run.nodes, run.queues[queue]
    state.pass_stamp, state.booked, state.num_open = run.counts[STAMP], 0, 0
    renew_slots(run, queue, now_ticks)
    for node in range(len(nodes)):
        if nodes[node].queue == queue:
            nodes[node].exact_until, nodes[node].closes_ticks = np.inf, NOW
            if nodes[node].has_room:
                _open_if_wanted(run, queue, node)


@inlined
def _open_if_wanted(run: Run, queue: int, node: int) -> None:
    """Note of a node without bookings what :func:`_look_at` would: room for a job that waits is there for ever."""
    first, past, is_wanted = run.queues[queue].first_measure, run.queues[queue].past_measure, False
    for k in range(first, past):
        measure = run.members[k]
        is_wanted |= run.measures[measure].waits > 0 and run.ready[measure, node].ticks == NOW
    if is_wanted:
        run.nodes[run.queues[queue].first_node + run.queues[queue].num_open].open = node
        run.queues[queue].num_open += 1
        run.nodes[node].closes_ticks = np.inf
        for k in range(first, past):
            measure = run.members[k]
            waits, ticks = run.measures[measure].waits > 0, run.ready[measure, node].ticks
            run.room_until[measure, node] = np.inf if waits and ticks == NOW else -np.inf
            run.longest_room[measure, node] = np.inf if waits and ticks < np.inf else -np.inf


@inlined
def _open_waiting(run: Run, mine: Ints) -> bool:
    """Open each of the kinds that wait, from its first job on; return whether any has room now."""
    kinds, any_fits = run.kinds, False
    for kind in mine:
        run.measures[kinds[kind].measure].waits, run.measures[kinds[kind].measure].is_told = 0, 0
    for kind in mine:
        kinds[kind].is_open, kinds[kind].cur = kinds[kind].num_waiting > 0, 0
        if kinds[kind].is_open:
            run.measures[kinds[kind].measure].waits = 1
            any_fits |= fits(run, kind)
    return any_fits


@merged
def _first_not_booked(run: Run, queue: int, lane: int, index: int) -> int:
    """Return the place of the first waiting row from a place on that has not been booked; there is one."""
    index = next_waiting(run, lane, index, ANY)
    while run.jobs[run.lane_rows[run.lanes[lane].first + index]].booked == run.queues[queue].pass_stamp:
        index = next_waiting(run, lane, index + 1, ANY)
    return index


@merged
def _pass_over(run: Run, row: int, at: float, now_ticks: float) -> None:
    """Leave a row that is booked at ``at`` or later, not known where: it may change open nodes from then on."""
    nodes, kinds, windows, kind, ticks = run.nodes, run.kinds, run.windows, run.jobs[row].kind, booked_ticks(run, row)
    measure = kinds[kind].measure
    length = bounded_length(run, kinds[kind].queue, measure, ticks)
    for node in range(len(nodes)):
        bound = run.bounds[measure, length, node]
        if bound.ticks < nodes[node].closes_ticks:
            next_window(run, measure, node, bound.slot, ticks, now_ticks, np.inf)
            while windows[node].latest_ticks < at:
                next_window(run, measure, node, windows[node].past_slot, ticks, now_ticks, np.inf)
            nodes[node].exact_until = min(nodes[node].exact_until, max(at, windows[node].since_ticks))


# ---- bookings -------------------------------------------------------------------------------------------


@merged
def _book(run: Run, queue: int, row: int, at: float, now_ticks: float, num_nodes: int) -> int:
    """Take room for a row from a time on, infinity = never, on some of the nodes noted; return how many are picked."""
    kind, slots = run.jobs[row].kind, run.slots
    run.jobs[row].booked = run.queues[queue].pass_stamp
    if at == np.inf:
        return 0
    until = max(at, now_ticks) + booked_ticks(run, row)
    fit = run.measures[run.kinds[kind].measure].fit
    if fit == _WHOLE:
        _pick_fullest(run, kind, at, until, num_nodes)
        count = 1
    elif fit == _EMPTY:
        count = _pick_empty(run, kind, num_nodes)
    else:
        count = _find_throughout(run, kind, at, until, num_nodes)
    for k in range(count):
        node = run.nodes[k].pick
        if not run.nodes[node].is_booked:
            run.nodes[node].is_booked = 1
            run.nodes[run.queues[queue].first_node + run.queues[queue].num_booked].booked = node
            run.queues[queue].num_booked += 1
        slot = slot_at(run, queue, slot_during(run, run.windows[node].since_slot, at), at)
        past = slot_at(run, queue, slot_during(run, slot, until), until)
        while slot != past:
            take_in_slot(run, kind, node, slot, run.nodes[k].pick_workers)
            slot = slots[slot].next
        if run.nodes[node].closes_ticks > at:
            _look_at(run, queue, node, now_ticks)
    return count


@inlined
def _find_throughout(run: Run, kind: int, at: float, until: float, num_nodes: int) -> int:
    """Pick nodes for a kind among what is free from ``at`` until ``until``, as :func:`find`; return how many."""
    nodes, slots = run.nodes, run.slots
    for node in range(len(nodes)):
        if run.allowed[kind, node]:
            for resource in range(run.rule[0].num_limited):
                nodes[node].shadow[resource] = nodes[node].free[resource]
                nodes[node].free[resource] = 0.0
    for k in range(num_nodes):
        free = nodes[nodes[k].with_room].free
        slot = slot_during(run, run.windows[nodes[k].with_room].since_slot, at)
        for resource in range(run.rule[0].num_limited):
            free[resource] = slots[slot].free[resource]
        slot = slots[slot].next
        while slot >= 0 and slots[slot].ticks < until:
            for resource in range(run.rule[0].num_limited):
                free[resource] = min(free[resource], slots[slot].free[resource])
            slot = slots[slot].next
    count = find(run, kind)
    for node in range(len(nodes)):
        if run.allowed[kind, node]:
            for resource in range(run.rule[0].num_limited):
                nodes[node].free[resource] = nodes[node].shadow[resource]
    return count


@inlined
def _pick_fullest(run: Run, kind: int, at: float, until: float, num_nodes: int) -> None:
    """Pick the node with the fewest free GPUs, the first of these, among those that hold the whole job for so long."""
    nodes, slots, best, fewest = run.nodes, run.slots, -1, np.inf
    for k in range(num_nodes):
        node = nodes[k].with_room
        slot = slot_during(run, run.windows[node].since_slot, at)
        free = slots[slot].free[GPU]
        slot = slots[slot].next
        while slot >= 0 and slots[slot].ticks < until:
            free = min(free, slots[slot].free[GPU])
            slot = slots[slot].next
        if best < 0 or free < fewest or (free == fewest and node < best):
            best, fewest = node, free
    nodes[0].pick, nodes[0].pick_workers = best, run.kinds[kind].workers


@inlined
def _pick_empty(run: Run, kind: int, num_nodes: int) -> int:
    """Pick as many of the nodes noted, the first ones, as it takes: all are empty for so long; return how many."""
    nodes, measure = run.nodes, run.kinds[kind].measure
    for node in range(len(nodes)):
        nodes[node].size = 0
    for k in range(num_nodes):
        node = nodes[k].with_room
        nodes[node].size = counted_on(run, measure, node, run.slots[run.windows[node].since_slot].free)
    return fill(run, run.kinds[kind].workers)


# ---- open nodes -----------------------------------------------------------------------------------------


@merged
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
            if slot >= 0 and has_room(run, measure, node, slot):
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


@merged
def _tell_kinds(run: Run, queue: int, mine: Ints) -> None:
    """Tell the kinds of a queue what work fits in open nodes, and until when there is room from now on."""
    measures = run.measures
    for k in range(run.queues[queue].first_measure, run.queues[queue].past_measure):
        measure = run.members[k]
        if measures[measure].waits and not measures[measure].is_told:
            longest, until = -np.inf, -np.inf
            for place in range(run.queues[queue].num_open):
                node = run.nodes[run.queues[queue].first_node + place].open
                longest = max(longest, run.longest_room[measure, node])
                until = max(until, run.room_until[measure, node])
            measures[measure].longest_room, measures[measure].room_until = longest, until
            measures[measure].is_told = 1
    for kind in mine:
        run.kinds[kind].most = most_work(run.rule, measures[run.kinds[kind].measure].longest_room)


@merged
def _may_start(run: Run, mine: Ints, now_ticks: float) -> bool:
    """Whether a job that has not been looked at might start now."""
    kinds, lanes = run.kinds, run.lanes
    for kind in mine:
        if kinds[kind].is_open and fits(run, kind):
            most = most_work(run.rule, run.measures[kinds[kind].measure].room_until - now_ticks)
            if first_at_most(run.tree, lanes[kind].base, lanes[kind].size, kinds[kind].cur, most) >= 0:
                return True
    return False
