"""Node choice: lowest weight first, then by name; with switches, the smallest one that has enough."""

from __future__ import annotations

import numpy as np

from dlsched.policies.slurm.kernels.compiled import compiled
from dlsched.policies.slurm.kernels.tables import Bytes, Core, Count, Floats

ROOM = 1e-9
SNAP = 1e-6
LEAVES, FREE, RUNNING, STAMP = int(Count.LEAVES), int(Count.FREE), int(Count.RUNNING), int(Count.STAMP)
TOGETHER, APART = 0, 1


@compiled
def units_on(core: Core, kind: int, node: int, free: Floats) -> int:
    """Return how many units of a kind of jobs a node has room for, at most all of them."""
    most = core.kinds[kind].units
    if core.kinds[kind].exclusive:
        for resource in range(free.shape[1]):
            if free[node, resource] < core.capacity[node, resource] - ROOM:
                return 0
    for resource in range(free.shape[1]):
        amount = core.demand[kind, resource]
        if amount > 0:
            most = min(most, int(min(float(most), (free[node, resource] + ROOM) / amount)))
    return max(0, most)


@compiled
def pick(core: Core, kind: int, mask: Bytes, free: Floats) -> int:
    """Choose nodes of the mask for a job with these free resources; return how many, 0 = no room.

    The choice is in ``pick`` and ``pick_units``.

    Together: on one node where an empty node could hold the job, else on as few as an empty cluster would take.
    """
    split = core.rule[0].may_split
    if split != APART:
        count = _pick(core, kind, mask, free, True)
        if count > 0 or split == TOGETHER:
            return count
    return _pick(core, kind, mask, free, False)


@compiled
def _pick(core: Core, kind: int, mask: Bytes, free: Floats, together: bool) -> int:
    units = core.kinds[kind].units
    whole = together and core.kinds[kind].whole == 1
    leaves = core.counts[LEAVES]
    if leaves <= 1:
        return _fill(core, kind, mask, free, together, whole, -1, 0, units)[0]
    usable, room = core.by_leaf[:leaves], core.by_leaf[leaves : 2 * leaves]
    for leaf in range(leaves):
        usable[leaf] = room[leaf] = 0
    for node in range(len(mask)):
        if mask[node]:
            here = units_on(core, kind, node, free)
            if here >= _least(core, kind, node, together, whole, units):
                usable[core.leaf[node]] += 1
                room[core.leaf[node]] += here
    best = -1
    for leaf in range(leaves):
        if usable[leaf] > 0 and (whole or room[leaf] >= units) and (best < 0 or usable[leaf] < usable[best]):
            best = leaf
    if best >= 0:
        count, left = _fill(core, kind, mask, free, together, whole, best, 0, units)
        if left == 0:
            return count
    count, left = 0, units
    while left > 0:
        best = -1
        for leaf in range(leaves):
            if usable[leaf] > 0 and (best < 0 or usable[leaf] > usable[best]):
                best = leaf
        if best < 0:
            return 0
        usable[best] = 0
        count, left = _fill(core, kind, mask, free, together, whole, best, count, left)
    return count


@compiled
def _least(core: Core, kind: int, node: int, together: bool, whole: bool, left: int) -> int:
    """Return how many units a node must have room for to be used at all."""
    if whole:
        return core.kinds[kind].units
    return max(1, min(left, units_on(core, kind, node, core.capacity))) if together else 1


@compiled
def _fill(
    core: Core, kind: int, mask: Bytes, free: Floats, together: bool, whole: bool, leaf: int, count: int, left: int
) -> tuple[int, int]:
    """Add nodes of a leaf switch (-1 = any) to the choice; return how many it has now, and units without a place.

    Without switches an incomplete choice counts as none.
    """
    for place in range(len(core.order)):
        node = core.order[place]
        if not mask[node] or (leaf >= 0 and core.leaf[node] != leaf):
            continue
        here = units_on(core, kind, node, free)
        if here == 0 or here < _least(core, kind, node, together, whole, left):
            continue
        core.pick[count], core.pick_units[count] = node, min(here, left)
        left -= core.pick_units[count]
        count += 1
        if left == 0:
            return count, 0
    return (count if leaf >= 0 else 0), left


@compiled
def has_room(core: Core, kind: int) -> bool:
    """Whether a kind of jobs has room now on the nodes it may use, whatever is promised to others; remembered."""
    record, now = core.kinds[kind], core.counts[FREE]
    if record.no_room == now:
        return False
    if record.room == now:
        return True
    mask = core.mask
    for node in range(len(mask)):
        mask[node] = core.claims[record.claim, node] & core.up[node]
    if pick(core, kind, mask, core.free) > 0:
        record.room = now
        return True
    record.no_room = now
    return False


@compiled
def hold(core: Core, kind: int, node: int, units: int, sign: int, free: Floats) -> None:
    """Take units from a node (sign -1) or give them back (sign 1); what is nearly nothing or all is exactly that."""
    if core.kinds[kind].exclusive:
        for resource in range(free.shape[1]):
            free[node, resource] = core.capacity[node, resource] if sign > 0 else 0.0
        return
    for resource in range(free.shape[1]):
        amount = core.demand[kind, resource]
        if amount > 0:
            left = free[node, resource] + sign * units * amount
            capacity = core.capacity[node, resource]
            if abs(left - capacity) < SNAP:
                left = capacity
            elif abs(left) < SNAP:
                left = 0.0
            free[node, resource] = left


@compiled
def copy_nodes(to: Floats, of: Floats) -> None:
    """Copy what is free of each node."""
    for node in range(of.shape[0]):
        for resource in range(of.shape[1]):
            to[node, resource] = of[node, resource]


@compiled
def _on_nodes(core: Core, first: int, count: int) -> bool:
    """Whether the mask has a node among these shares."""
    for share in range(first, first + count):  # noqa: SIM110
        if core.mask[core.share_node[share]]:
            return True
    return False


@compiled
def least_start(core: Core, kind: int, now: float) -> float:
    """Return a time before which no job of a kind can start, whatever else is booked; remembered for this decision.

    Running jobs are taken away in order of believed end, one, two, four, ... at a time, until there is room.
    """
    record = core.kinds[kind]
    if record.least_stamp == core.counts[STAMP]:
        return record.least_s
    record.least_stamp, record.least_s, record.first_s = core.counts[STAMP], now, np.inf
    if has_room(core, kind):
        return now
    mask, count, place, wave = core.mask, core.counts[RUNNING], 0, 1
    for node in range(len(mask)):
        mask[node] = core.claims[record.claim, node] & core.up[node]
    copy_nodes(core.future, core.free)
    while place < count:
        least_s = np.inf
        taken = 0
        while place < count and taken < wave:
            other = core.jobs[core.running[place]]
            place += 1
            if _on_nodes(core, other.first_share, other.num_shares):
                least_s = min(least_s, max(other.end_s, now + 1.0))
                record.first_s = min(record.first_s, other.end_s)
                taken += 1
                for share in range(other.first_share, other.first_share + other.num_shares):
                    hold(core, other.kind, core.share_node[share], core.share_units[share], 1, core.future)
        if taken > 0 and pick(core, kind, mask, core.future) > 0:
            record.least_s = least_s
            return least_s
        wave *= 2
    record.least_s = np.inf
    return np.inf


@compiled
def find_ready(core: Core, kind: int) -> int:
    """Return the line of ``ready`` that says when each node has room for its part of a job of a kind.

    That is as far as running jobs go; infinity = never, minus infinity = now. A node's part: what it must hold at
    least, see :func:`fewest_ready`. A choice is made of what running jobs have left up to some end, in this order, so
    none can have a node earlier.
    """
    record = core.kinds[kind]
    line = record.alike % len(core.ready)
    of, ready = core.ready_of[line], core.ready[line]
    if of[0] == record.alike and of[1] == core.counts[FREE]:
        return line
    of[0], of[1] = record.alike, core.counts[FREE]
    copy_nodes(core.future, core.free)
    for node in range(len(ready)):
        ready[node] = np.inf
        if core.claims[record.claim, node] & core.up[node] and _holds_part(core, kind, node):
            ready[node] = -np.inf
    for place in range(core.counts[RUNNING]):
        other = core.jobs[core.running[place]]
        for share in range(other.first_share, other.first_share + other.num_shares):
            node = core.share_node[share]
            if ready[node] == np.inf and core.claims[record.claim, node] & core.up[node]:
                hold(core, other.kind, node, core.share_units[share], 1, core.future)
                if _holds_part(core, kind, node):
                    ready[node] = other.end_s
    return line


@compiled
def _holds_part(core: Core, kind: int, node: int) -> bool:
    units, together = core.kinds[kind].units, core.rule[0].may_split == TOGETHER
    part = _least(core, kind, node, together, together and core.kinds[kind].whole == 1, units)
    return units_on(core, kind, node, core.future) >= part


@compiled
def may_have_room(core: Core, kind: int, line: int, until: float) -> bool:
    """Whether enough nodes of the mask are ready by then for a kind to have room."""
    mask, ready, enough = core.mask, core.ready[line], 0
    for node in range(len(mask)):
        enough += mask[node] * (ready[node] <= until)
    return enough >= fewest_ready(core, kind)


@compiled
def fewest_ready(core: Core, kind: int) -> int:
    """Return how many nodes must have room for their part of a job, at least.

    Where jobs are kept together, the last node of several holds what is left, so its part may be smaller.
    """
    rest = core.rule[0].may_split == TOGETHER and core.kinds[kind].whole == 0
    return core.kinds[kind].num_nodes - int(rest)


@compiled
def ready_after(core: Core, kind: int, line: int, until: float) -> float:
    """Return a time after another before which a kind that has no room by then has none on the nodes of the mask."""
    usable, next_s = 0, np.inf
    for node in range(len(core.mask)):
        if core.mask[node]:
            usable += 1
            if core.ready[line, node] > until:
                next_s = min(next_s, core.ready[line, node])
    return np.inf if usable < core.kinds[kind].num_nodes else next_s


@compiled
def will_run(core: Core, row: int, line: int, now: float, until: float) -> tuple[float, float]:
    """Return when a job could start on the nodes of the mask as far as running jobs go, and the first end looked at.

    After ``until`` any time will do that is not later than the start. ``line``: see :func:`find_ready`.

    Running jobs are taken away in order of believed end, by groups: those within 30 s of the first, then of twice as
    long (or ``group_s`` more) each; the start is the end of the last job of the group that makes room. Jobs that are
    overdue end in a second. The choice of nodes is in ``pick``; infinite = there is never room.
    """
    kind = core.jobs[row].kind
    if may_have_room(core, kind, line, -np.inf) and has_room_in_mask(core, kind):
        return now, np.inf
    copy_nodes(core.future, core.free)
    within, first_s, place, count = 30.0, np.inf, 0, core.counts[RUNNING]
    while place < count:
        group_to, last_s, any_ended = np.inf, 0.0, False
        while place < count:
            other = core.jobs[core.running[place]]
            end_s = max(other.end_s, now + 1.0)
            if any_ended and end_s > group_to:
                break
            if _on_nodes(core, other.first_share, other.num_shares):
                if not any_ended:
                    if end_s > until:
                        return end_s, min(first_s, other.end_s)
                    group_to, any_ended = end_s + within, True
                    first_s = min(first_s, other.end_s)
                for share in range(other.first_share, other.first_share + other.num_shares):
                    node = core.share_node[share]
                    if core.mask[node]:
                        hold(core, other.kind, node, core.share_units[share], 1, core.future)
                last_s = end_s
            place += 1
        if not any_ended:
            break
        if may_have_room(core, kind, line, last_s) and pick(core, kind, core.mask, core.future) > 0:
            return last_s, first_s
        within = within + core.rule[0].group_s if core.rule[0].group_s > 0 else 2.0 * within
    return np.inf, first_s


@compiled
def has_room_in_mask(core: Core, kind: int) -> bool:
    """Whether a kind of jobs has room now on the nodes of the mask; the choice is in ``pick``."""
    if core.kinds[kind].no_room == core.counts[FREE]:
        return False
    return pick(core, kind, core.mask, core.free) > 0
