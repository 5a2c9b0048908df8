"""Life of a job: it waits in the order of the queue, holds nodes, counts against limits, and leaves."""

from __future__ import annotations

import numpy as np

from dlsched.policies.slurm.kernels.compiled import compiled
from dlsched.policies.slurm.kernels.fairness import use_of
from dlsched.policies.slurm.kernels.placing import hold
from dlsched.policies.slurm.kernels.tables import Core, Count, State

WAITING, RUNNING_STATE, GONE = int(State.WAITING), int(State.RUNNING), int(State.GONE)
QUEUE, RUNNING, SHARES, FREE = int(Count.QUEUE), int(Count.RUNNING), int(Count.SHARES), int(Count.FREE)
MAIN_DIRTY, BACKFILL_DIRTY, STARTED = int(Count.MAIN_DIRTY), int(Count.BACKFILL_DIRTY), int(Count.STARTED)
ROOM = 1e-9
HOUR_S = 3600.0


@compiled
def goes_before(core: Core, a: int, b: int) -> bool:
    """Whether row a is ahead of row b: partition tier, priority, submission, number."""
    one, other = core.jobs[a], core.jobs[b]
    if one.tier != other.tier:
        return one.tier > other.tier
    if one.priority != other.priority:
        return one.priority > other.priority
    if one.submit_s != other.submit_s:
        return one.submit_s < other.submit_s
    return a < b


@compiled
def enqueue(core: Core, row: int) -> None:
    """Put a row into the sorted queue."""
    low, high = 0, core.counts[QUEUE]
    while low < high:
        middle = (low + high) // 2
        if goes_before(core, row, core.queue[middle]):
            high = middle
        else:
            low = middle + 1
    for place in range(core.counts[QUEUE], low, -1):
        core.queue[place] = core.queue[place - 1]
    core.queue[low] = row
    core.counts[QUEUE] += 1
    core.jobs[row].state = WAITING
    stir(core)


@compiled
def sort_queue(core: Core) -> bool:
    """Sort the queue by its priorities, which are nearly sorted; return whether the order has changed."""
    changed = False
    for place in range(1, core.counts[QUEUE]):
        row, at = core.queue[place], place
        while at > 0 and goes_before(core, row, core.queue[at - 1]):
            core.queue[at] = core.queue[at - 1]
            at -= 1
        core.queue[at] = row
        changed = changed or at != place
    return changed


@compiled
def tidy_queue(core: Core) -> None:
    """Take rows out of the queue that no longer wait."""
    kept = 0
    for place in range(core.counts[QUEUE]):
        row = core.queue[place]
        if core.jobs[row].state == WAITING:
            core.queue[kept] = row
            kept += 1
    core.counts[QUEUE] = kept


@compiled
def stir(core: Core) -> None:
    """Something has changed that both passes must look at."""
    core.counts[MAIN_DIRTY] = core.counts[BACKFILL_DIRTY] = 1


@compiled
def over_limit(core: Core, row: int) -> bool:
    """Whether a start would break a limit of the user, an account or a QOS.

    A job that is larger than a limit counts as within it while no other job counts against the limit: it has run
    somewhere, so the limit was another. That is so of limits learned from a log; a job that is larger than a limit
    that was given counts against one of no jobs too. A limit of 0 lets nothing start.
    """
    job = core.jobs[row]
    for at in range(job.first_limit, job.first_limit + job.num_limits):
        limit = core.limits_of[at]
        for column in range(core.caps.shape[1]):
            amount, cap = core.amounts[job.kind, column], core.caps[limit, column]
            too_large = amount > cap + ROOM and cap > 0 and column > 0
            over = amount > 0 and core.used[limit, column] + amount > cap + ROOM
            if over and not (too_large and core.used[limit, 0] == 0):
                return True
    return False


@compiled
def beyond_limit(core: Core, row: int) -> bool:
    """Whether a limit of 0 lets nothing of this kind start, whatever runs."""
    job = core.jobs[row]
    for at in range(job.first_limit, job.first_limit + job.num_limits):
        for column in range(core.caps.shape[1]):
            if core.caps[core.limits_of[at], column] == 0 and core.amounts[job.kind, column] > 0:
                return True
    return False


@compiled
def hours_closed(core: Core, row: int, now: float) -> bool:
    """Whether jobs as long as this one do not start in this hour of the week."""
    hours = core.jobs[row].hours
    if hours < 0:
        return False
    return core.closed[hours, int(np.floor((now - core.rule[0].monday_s) / HOUR_S)) % core.closed.shape[1]] == 1


@compiled
def start(core: Core, row: int, now: float, count: int) -> None:
    """Start a row on the nodes in ``pick``; it stays in the queue until that is tidied."""
    job = core.jobs[row]
    job.first_share, job.num_shares = core.counts[SHARES], count
    for k in range(count):
        share = job.first_share + k
        core.share_node[share], core.share_units[share] = core.pick[k], core.pick_units[k]
        hold(core, job.kind, core.pick[k], core.pick_units[k], -1, core.free)
    core.counts[SHARES] += count
    core.counts[FREE] += 1
    job.state, job.start_s, job.end_s, job.used_to_s = RUNNING_STATE, now, now + job.limit_s, now
    job.stopped = 0
    _count_use(core, row, 1.0)
    place = core.counts[RUNNING]
    while place > 0 and core.jobs[core.running[place - 1]].end_s > job.end_s:
        core.running[place] = core.running[place - 1]
        place -= 1
    core.running[place] = row
    core.counts[RUNNING] += 1
    core.started[core.counts[STARTED]] = row
    core.counts[STARTED] += 1
    core.counts[BACKFILL_DIRTY] = 1


@compiled
def _count_use(core: Core, row: int, sign: float) -> None:
    job = core.jobs[row]
    for at in range(job.first_limit, job.first_limit + job.num_limits):
        for column in range(core.used.shape[1]):
            core.used[core.limits_of[at], column] += sign * core.amounts[job.kind, column]


@compiled
def add_use(core: Core, row: int, until: float) -> None:
    """Account for the use of a running row since the last time, in its association and all above."""
    job = core.jobs[row]
    run_s = until - job.used_to_s
    if run_s > 0:
        use = use_of(run_s, job.billing, core.rule[0].decay)
        one = job.assoc
        while one > 0:
            core.assocs[one].usage += use
            one = core.assocs[one].parent
        core.assocs[0].usage += use
    job.used_to_s = until


@compiled
def stop(core: Core, row: int, now: float) -> None:
    """A running row gives back what it holds; what becomes of it is said by the caller."""
    job = core.jobs[row]
    if core.rule[0].weight_fairshare > 0:
        add_use(core, row, now)
    for share in range(job.first_share, job.first_share + job.num_shares):
        node = core.share_node[share]
        if core.up[node]:
            hold(core, job.kind, node, core.share_units[share], 1, core.free)
    core.counts[FREE] += 1
    _count_use(core, row, -1.0)
    place = 0
    while core.running[place] != row:
        place += 1
    for at in range(place + 1, core.counts[RUNNING]):
        core.running[at - 1] = core.running[at]
    core.counts[RUNNING] -= 1
    job.state = GONE
    stir(core)


@compiled
def leave(core: Core, row: int, now: float) -> None:
    """A row ends, whatever it did."""
    if core.jobs[row].state == RUNNING_STATE:
        stop(core, row, now)
    core.jobs[row].state = GONE
