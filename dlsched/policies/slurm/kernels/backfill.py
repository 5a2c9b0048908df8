"""The backfill pass: jobs get whole nodes booked for later, others start now where no booking is in the way."""

from __future__ import annotations

import numpy as np

from dlsched.policies.slurm.kernels.compiled import compiled
from dlsched.policies.slurm.kernels.life import (
    BACKFILL_DIRTY,
    QUEUE,
    STARTED,
    WAITING,
    hours_closed,
    over_limit,
    start,
    tidy_queue,
)
from dlsched.policies.slurm.kernels.main_pass import PASSES, RESERVATIONS, open_to
from dlsched.policies.slurm.kernels.placing import (
    fewest_ready,
    find_ready,
    has_room,
    has_room_in_mask,
    least_start,
    may_have_room,
    ready_after,
    will_run,
)
from dlsched.policies.slurm.kernels.tables import Clock, Core, Count

SLOTS = int(Count.SLOTS)
VALID_TO = int(Clock.VALID_TO)


@compiled
def last_candidate(core: Core, now: float, before: int) -> int:
    """Return the last place of the queue before another with a job that has room now and may start; -1 = none."""
    for place in range(before - 1, -1, -1):
        row = core.queue[place]
        job = core.jobs[row]
        if job.state != WAITING or job.eligible_s > now or not has_room(core, job.kind):
            continue
        if not (over_limit(core, row) or hours_closed(core, row, now)):
            return place
    return -1


@compiled
def backfill_pass(core: Core, now: float) -> None:
    """Make one pass (Slurm's backfill plug-in), up to the last job that could start.

    Bookings and starts only ever take room away, so a job they leave none now need not be reached, nor those before it
    that have no room anyway: what these would book is in the way of no start.

    ``clock[VALID_TO]`` becomes the time up to which the pass would come to the same result if nothing happens: the
    first at which a comparison with the clock would turn out otherwise.
    """
    core.counts[PASSES] += 1
    core.clock[VALID_TO] = np.inf
    rule, before = core.rule[0], core.counts[STARTED]
    last = last_candidate(core, now, core.counts[QUEUE])
    first = core.slots[0]
    first.begin_s, first.end_s, first.previous, first.next = now, now + rule.window_s, -1, -1
    for node in range(len(core.up)):
        core.slot_free[0, node] = 1
    core.counts[SLOTS] = 1
    counts_users = rule.max_user > 0 or rule.max_partition > 0 or rule.max_user_partition > 0
    if counts_users:
        for user in range(core.by_user.shape[0]):
            for partition in range(core.by_user.shape[1]):
                core.by_user[user, partition] = 0
    tested, place = 0, -1
    while place < last:
        place += 1
        row = core.queue[place]
        job = core.jobs[row]
        if job.state != WAITING or job.eligible_s > now:
            _valid_to(core, job.eligible_s)
            continue
        if over_limit(core, row) or hours_closed(core, row, now):
            continue
        if counts_users and not _counted(core, row):
            continue
        tested += 1
        if tested > rule.max_test:
            break
        from_s = _book_or_start(core, row, now)
        while place < last and from_s < now + core.jobs[core.queue[last]].limit_s:
            if _has_room_until_its_limit(core, core.queue[last], now):
                break
            last, from_s = last_candidate(core, now, last), now
        if rule.max_start > 0 and core.counts[STARTED] - before >= rule.max_start:
            break
    tidy_queue(core)
    core.counts[BACKFILL_DIRTY] = int(core.counts[STARTED] > before)


@compiled
def _counted(core: Core, row: int) -> bool:
    """Count a job for its user and partition; whether it is within the limits of jobs that are tried.

    The last row and column of ``by_user`` hold the sums.
    """
    rule, by_user = core.rule[0], core.by_user
    user, partition = core.jobs[row].user, core.kinds[core.jobs[row].kind].partition
    of_user, of_all = by_user.shape[1] - 1, by_user.shape[0] - 1
    if rule.max_user > 0 and by_user[user, of_user] >= rule.max_user:
        return False
    if rule.max_partition > 0 and by_user[of_all, partition] >= rule.max_partition:
        return False
    if rule.max_user_partition > 0 and by_user[user, partition] >= rule.max_user_partition:
        return False
    by_user[user, partition] += 1
    by_user[user, of_user] += 1
    by_user[of_all, partition] += 1
    return True


@compiled
def _has_room_until_its_limit(core: Core, row: int, now: float) -> bool:
    """Whether a job has room now on nodes without bookings up to its limit."""
    job = core.jobs[row]
    if job.state != WAITING:
        return False
    _open_between(core, row, now, now + job.limit_s, now, 0)
    return has_room_in_mask(core, job.kind)


@compiled
def _valid_to(core: Core, time_s: float) -> None:
    core.clock[VALID_TO] = min(core.clock[VALID_TO], time_s)


@compiled
def _book_or_start(core: Core, row: int, now: float) -> float:
    """Start a job, book whole nodes for it, or leave it if it would start beyond the window.

    A try whose nodes can have no room before the next one is due is left out: it would only lead to that next one.
    Return from when on that takes room away; never is infinite.
    """
    job, rule = core.jobs[row], core.rule[0]
    kind, try_s = job.kind, now
    least_s = least_start(core, kind, now)
    _valid_to(core, core.kinds[kind].first_s - 1.0)
    if least_s > now + rule.window_s:
        _valid_to(core, least_s - rule.window_s)
        return np.inf
    line = find_ready(core, kind)
    if core.counts[RESERVATIONS] == 0:
        try_s = _last_end_before(core, now, least_s)
    at = 0
    while True:
        while core.slots[at].end_s <= try_s and core.slots[at].next >= 0:
            at = core.slots[at].next
        if try_s > now and core.counts[RESERVATIONS] == 0:
            _valid_to(core, core.slots[0].end_s)
            full = _open_backwards(core, row, line, at, try_s + job.limit_s)
            if full >= 0 and core.slots[full].next < 0:
                return np.inf
            if full >= 0:
                at, try_s = core.slots[full].next, core.slots[full].end_s
                continue
            later_s = core.slots[at].end_s if core.slots[at].next >= 0 else np.inf
        else:
            later_s = _open_between(core, row, try_s, try_s + job.limit_s, now, at)
        until = min(later_s, now + rule.window_s)
        if least_s > until:
            start_s = least_s
        elif may_have_room(core, kind, line, until):
            start_s, first_end_s = will_run(core, row, line, now, until)
            _valid_to(core, first_end_s - 1.0)
        elif later_s <= now + rule.window_s:
            start_s = np.inf
        else:
            start_s = ready_after(core, kind, line, until)
        start_s = max(start_s, try_s)
        if start_s <= now:
            start(core, row, now, _num_picked(core, kind))
            return now
        if start_s > later_s or start_s == np.inf:
            if later_s > now + rule.window_s:
                _valid_to(core, later_s - rule.window_s)
                return np.inf
            try_s = later_s
            continue
        if start_s > now + rule.window_s:
            _valid_to(core, start_s - rule.window_s)
            return np.inf
        begin_s = np.floor((start_s - rule.grid_from_s) / rule.grid_s) * rule.grid_s + rule.grid_from_s
        end_s = np.floor((start_s + job.limit_s - rule.grid_from_s) / rule.grid_s) * rule.grid_s + rule.grid_from_s
        if start_s > try_s and _taken(core, row, start_s, start_s + job.limit_s):
            try_s = start_s
            continue
        _book(core, kind, begin_s, end_s)
        return float(begin_s)


@compiled
def _open_backwards(core: Core, row: int, line: int, first: int, to_s: float) -> int:
    """Set the mask to the nodes free of bookings from a slot on until a time, from the last slot back to the first.

    Return the slot with which too few were left, -1 = none: a job that starts in it or in one before it needs as many
    nodes until that time or longer, so the next try is at its end.
    """
    open_to(core, row, core.slots[first].begin_s, to_s)
    mask, ready, at, nodes = core.mask, core.ready[line], first, fewest_ready(core, core.jobs[row].kind)
    while core.slots[at].next >= 0 and core.slots[core.slots[at].next].begin_s < to_s:
        at = core.slots[at].next
    while True:
        count, until, is_free = 0, core.slots[at].end_s, core.slot_free[at]
        for node in range(len(mask)):
            mask[node] &= is_free[node]
            count += mask[node] * (ready[node] <= until)
        if count < nodes:
            return at
        if at == first:
            return -1
        at = core.slots[at].previous


@compiled
def _last_end_before(core: Core, now: float, least_s: float) -> float:
    """Return the last end of a slot before a time, else now: tries before it would only lead to the next end."""
    last_s, at = now, 0
    while at >= 0:
        slot = core.slots[at]
        if slot.next < 0 or slot.end_s >= least_s:
            break
        last_s, at = slot.end_s, slot.next
    return last_s


@compiled
def _open_between(core: Core, row: int, from_s: float, to_s: float, now: float, at: int) -> float:
    """Set the mask to the nodes free of bookings and reservations meanwhile; return when to try next: inf = never.

    ``at``: the slot of ``from_s`` or one before it.
    """
    open_to(core, row, from_s, to_s)
    later_s, mask = np.inf, core.mask
    while at >= 0:
        slot = core.slots[at]
        if slot.begin_s >= to_s:
            if from_s == now:
                _valid_to(core, slot.begin_s - (to_s - from_s))
            break
        if slot.end_s > from_s:
            if later_s == np.inf and slot.next >= 0:
                later_s = slot.end_s
            for node in range(len(mask)):
                mask[node] &= core.slot_free[at, node]
        at = slot.next
    if core.slots[0].next >= 0:
        _valid_to(core, core.slots[0].end_s)
    for number in range(core.counts[RESERVATIONS]):
        kept = core.reservations[number]
        if core.reserved_for[core.jobs[row].keeper, number] or kept.end_s <= from_s:
            continue
        if kept.start_s < to_s:
            later_s = min(later_s, kept.end_s)
        if from_s == now:
            _valid_to(core, kept.end_s if kept.start_s < to_s else kept.start_s - (to_s - from_s))
    return later_s


@compiled
def _taken(core: Core, row: int, from_s: float, to_s: float) -> bool:
    """Whether a chosen node is booked or reserved for others between two times."""
    count, at = _num_picked(core, core.jobs[row].kind), 0
    while at >= 0:
        slot = core.slots[at]
        if slot.begin_s < to_s and slot.end_s > from_s:
            for k in range(count):
                if not core.slot_free[at, core.pick[k]]:
                    return True
        at = slot.next
    for number in range(core.counts[RESERVATIONS]):
        kept = core.reservations[number]
        if kept.start_s < to_s and kept.end_s > from_s and not core.reserved_for[core.jobs[row].keeper, number]:
            for k in range(count):
                if core.reserved[number, core.pick[k]]:
                    return True
    return False


@compiled
def _num_picked(core: Core, kind: int) -> int:
    """Return how many nodes the choice for a job has."""
    count, left = 0, core.kinds[kind].units
    while left > 0:
        left -= core.pick_units[count]
        count += 1
    return count


@compiled
def _book(core: Core, kind: int, begin_s: float, end_s: float) -> None:
    """Book the chosen nodes as a whole; where there is no room for more slots nothing is booked."""
    if not (_cut_at(core, begin_s) and _cut_at(core, end_s)):
        return
    count, at = _num_picked(core, kind), 0
    while at >= 0:
        slot = core.slots[at]
        if slot.begin_s >= end_s:
            return
        if slot.end_s > begin_s:
            for k in range(count):
                core.slot_free[at, core.pick[k]] = 0
        at = slot.next


@compiled
def _cut_at(core: Core, time_s: float) -> bool:
    """Make a time the border of two slots; False where there is no room for another slot."""
    at = 0
    while at >= 0:
        slot = core.slots[at]
        if slot.begin_s < time_s < slot.end_s:
            new = core.counts[SLOTS]
            if new == len(core.slots):
                return False
            core.counts[SLOTS] += 1
            core.slots[new].begin_s, core.slots[new].end_s = time_s, slot.end_s
            core.slots[new].previous, core.slots[new].next = at, slot.next
            if slot.next >= 0:
                core.slots[slot.next].previous = new
            slot.end_s, slot.next = time_s, new
            for node in range(len(core.up)):
                core.slot_free[new, node] = core.slot_free[at, node]
            return True
        at = slot.next
    return True
