"""Conservative backfill where only totals count, compiled; the rule of ``dlsched.policies.baselines.conservative``.

All bookings are made anew, in order, but only those that can matter to a start now. The barrier is the first time at
which less is free than any waiting job needs: a job that is booked before it ends by then, and what is booked behind
it changes nothing before it. So jobs that are too long for what is free before the barrier are passed over, found by
trees over the queue, and the pass ends with the last job that might start now.
"""

from __future__ import annotations

import numpy as np

from dlsched.domain.workload import Floats, Ints
from dlsched.sim.kernels.compiled import compiled, inlined
from dlsched.sim.kernels.rigid.lanes import ANY, first_at_most
from dlsched.sim.kernels.rigid.moves import TICKS, believed_ticks, start
from dlsched.sim.kernels.rigid.room import find
from dlsched.sim.kernels.rigid.tables import Run
from dlsched.sim.kernels.tables import Table


@compiled
def book_in_order(run: Run, queue: int, now: float) -> None:
    """Start the waiting rows of a queue that are booked for now."""
    jobs, kinds, lanes, tree, rule, profile = run.jobs, run.kinds, run.lanes, run.tree, run.rule, run.profile
    mine = run.members[run.queues[queue].first_kind : run.queues[queue].past_kind]
    least = _open_waiting(kinds, mine)
    if run.measures[run.members[run.queues[queue].first_measure]].tally < least:
        return
    length = _profile_of_running(run, queue, now)
    first, past = 0, length
    while True:
        while first < past and profile[first].free >= least:
            first += 1
        if first < past:  # the barrier
            length, most = first + 1, most_work(rule, profile[first].ticks - profile[0].ticks)
            for kind in mine:
                kinds[kind].most = min(kinds[kind].most, most)
        if not _may_start(kinds, mine, profile, length, lanes, tree, rule):
            return
        row = next_short_enough(jobs, kinds, mine, lanes, run.lane_rows, tree)
        kind = jobs[row].kind
        first, past, length = _book(profile, length, kinds[kind].workers, booked_ticks(run, row))
        if first == 0:
            start(run, row, now, find(run, kind))
        elif first < 0:
            kinds[kind].most = most_work(rule, _longest_gap(profile, length, kinds[kind].workers))
            past = first
        kinds[kind].cur += 1


@inlined
def _open_waiting(kinds: Table, mine: Ints) -> int:
    """Open each of the kinds that wait, from its first job on; return the fewest workers of any."""
    least = np.iinfo(np.int64).max
    for kind in mine:
        kinds[kind].is_open, kinds[kind].cur, kinds[kind].most = kinds[kind].num_waiting > 0, 0, ANY
        if kinds[kind].is_open:
            least = min(least, kinds[kind].workers)
    return least


@inlined
def _profile_of_running(run: Run, queue: int, now: float) -> int:
    """Write what is free now, and from each believed end on; return how many times there are.

    Jobs whose believed end has passed are gone from the second time on, which is now too.
    """
    jobs, kinds, by_end, profile, queues = run.jobs, run.kinds, run.by_end, run.profile, run.queues
    profile[0].ticks = np.rint(now * TICKS)
    profile[0].free = run.measures[run.members[queues[queue].first_measure]].tally
    count = 1
    first = queues[queue].end_first
    for k in range(first + queues[queue].num_running - 1, first - 1, -1):
        row = by_end[k]
        end = max(jobs[row].end_ticks, profile[0].ticks)
        if count == 1 or end > profile[count - 1].ticks:
            profile[count].ticks, profile[count].free = end, profile[count - 1].free
            count += 1
        profile[count - 1].free += kinds[jobs[row].kind].workers
    return count


@inlined
def _may_start(kinds: Table, mine: Ints, profile: Table, length: int, lanes: Table, tree: Floats, rule: Table) -> bool:
    """Whether a job that has not been looked at might start now."""
    for kind in mine:
        workers = kinds[kind].workers
        if kinds[kind].is_open and profile[0].free >= workers:
            k = 1
            while k < length and profile[k].free >= workers:
                k += 1
            most = ANY if k == length else most_work(rule, profile[k].ticks - profile[0].ticks)
            if first_at_most(tree, lanes[kind].base, lanes[kind].size, kinds[kind].cur, most) >= 0:
                return True
    return False


@inlined
def next_short_enough(jobs: Table, kinds: Table, mine: Ints, lanes: Table, lane_rows: Ints, tree: Floats) -> int:
    """Return the first row in order that is short enough for its kind; close kinds that have none."""
    best = -1
    for kind in mine:
        if kinds[kind].is_open:
            index = first_at_most(tree, lanes[kind].base, lanes[kind].size, kinds[kind].cur, kinds[kind].most)
            if index < 0:
                kinds[kind].is_open = 0
                continue
            kinds[kind].cur = index
            row = lane_rows[lanes[kind].first + index]
            if best < 0 or jobs[row].place < jobs[best].place:
                best = row
    return best


@inlined
def booked_ticks(run: Run, row: int) -> float:
    """Return for how long a row is booked, in ticks: as long as it is believed to run, at least one."""
    return max(1.0, np.rint(believed_ticks(run, row)))


@inlined
def _longest_gap(profile: Table, length: int, workers: int) -> float:
    """Return for how long, in ticks, so many workers find room at most; below 0 = never, infinity = for ever."""
    since, longest = np.inf, -np.inf
    for k in range(length):
        if profile[k].free < workers:
            longest, since = max(longest, profile[k].ticks - since), np.inf
        elif since == np.inf:
            since = profile[k].ticks
    return longest if since == np.inf else np.inf


@inlined
def most_work(rule: Table, ticks: float) -> float:
    """Return the most believed work that may take at most so long, a tick too much rather than too little."""
    return ANY if ticks == np.inf else ((ticks + 1) / TICKS - rule[0].restart_s) * rule[0].speed


@inlined
def _book(profile: Table, length: int, workers: int, wanted: float) -> tuple[int, int, int]:
    """Take room for so many workers at the earliest time; return the first time, the first behind it, and the number.

    The first is -1 where it never fits.
    """
    first = 0
    while first < length:
        if profile[first].free < workers:
            first += 1
            continue
        until, past = profile[first].ticks + wanted, first + 1
        while past < length and profile[past].ticks < until and profile[past].free >= workers:
            past += 1
        if past < length and profile[past].ticks < until:
            first = past + 1
            continue
        if past == length or profile[past].ticks > until:
            for k in range(length, past, -1):
                profile[k].ticks, profile[k].free = profile[k - 1].ticks, profile[k - 1].free
            profile[past].ticks, profile[past].free = until, profile[past - 1].free
            length += 1
        for k in range(first, past):
            profile[k].free -= workers
        return first, past, length
    return -1, -1, length
