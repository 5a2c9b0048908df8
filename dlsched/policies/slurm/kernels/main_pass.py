"""The main pass, the try at submission, and preemption."""

from __future__ import annotations

from dlsched.policies.slurm.kernels.compiled import compiled
from dlsched.policies.slurm.kernels.life import (
    MAIN_DIRTY,
    QUEUE,
    RUNNING,
    STARTED,
    WAITING,
    hours_closed,
    over_limit,
    start,
    stir,
    stop,
    tidy_queue,
)
from dlsched.policies.slurm.kernels.placing import FREE, copy_nodes, hold, pick, units_on
from dlsched.policies.slurm.kernels.tables import Clock, Core, Count

STOPPED, RESERVATIONS, PASSES = int(Count.STOPPED), int(Count.RESERVATIONS), int(Count.PASSES)
QUICK = int(Clock.QUICK)
BY_TIER = 1
STARTS_AFTER_S = 2.0
"""A job for which others were stopped starts so much later."""


@compiled
def open_to(core: Core, row: int, from_s: float, to_s: float) -> None:
    """Set the mask to the nodes a job may use from one time to another: up and not reserved for others."""
    job, mask = core.jobs[row], core.mask
    claim = core.kinds[job.kind].claim
    for node in range(len(mask)):
        mask[node] = core.claims[claim, node] & core.up[node]
    for number in range(core.counts[RESERVATIONS]):
        kept = core.reservations[number]
        if kept.start_s < to_s and kept.end_s > from_s and not core.reserved_for[job.keeper, number]:
            for node in range(len(mask)):
                mask[node] &= 1 - core.reserved[number, node]


@compiled
def _start_if_room(core: Core, row: int, now: float, shut: bool) -> bool:
    """Start a row where it has room now; ``shut``: not on nodes that this pass has closed."""
    job = core.jobs[row]
    if core.kinds[job.kind].no_room == core.counts[FREE]:
        return False
    open_to(core, row, now, now + job.limit_s)
    if shut:
        for node in range(len(core.mask)):
            core.mask[node] &= 1 - core.shut[node]
    count = pick(core, job.kind, core.mask, core.free)
    if count == 0:
        return False
    start(core, row, now, count)
    return True


@compiled
def try_alone(core: Core, row: int, now: float) -> None:
    """Try a job at its submission, if no job that waits for the same nodes goes before it.

    In plain order of submission every earlier job does; else one of the same partition with a higher priority, or of a
    higher tier (or the same and a higher priority) in a partition that shares nodes.
    """
    job = core.jobs[row]
    partition = core.kinds[job.kind].partition
    for place in range(core.counts[QUEUE]):
        other = core.jobs[core.queue[place]]
        if core.queue[place] == row:
            break
        if other.state != WAITING or other.eligible_s > now:
            continue
        theirs = core.kinds[other.kind].partition
        if theirs != partition and not _share_nodes(core, theirs, partition):
            continue
        ahead = core.rule[0].in_order == 1 or other.tier > job.tier or other.priority > job.priority
        if ahead and not over_limit(core, core.queue[place]):
            return
    if not over_limit(core, row) and not hours_closed(core, row, now):
        _start_if_room(core, row, now, False)


@compiled
def _share_nodes(core: Core, one: int, other: int) -> bool:
    for node in range(core.partitions.shape[1]):  # noqa: SIM110  (numba knows no generators)
        if core.partitions[one, node] & core.partitions[other, node]:
            return True
    return False


@compiled
def main_pass(core: Core, now: float, depth: int) -> None:
    """Start jobs in order; the first that cannot start closes its partition and all nodes of it for this pass.

    A job over a limit, or one that may not start at this hour, is passed over. ``depth``: jobs looked at, at most.
    """
    core.counts[PASSES] += 1
    for node in range(len(core.shut)):
        core.shut[node] = 0
    for partition in range(len(core.shut_partitions)):
        core.shut_partitions[partition] = core.by_partition[partition] = 0
    tested, cut, before = 0, False, core.counts[STARTED]
    for place in range(core.counts[QUEUE]):
        row = core.queue[place]
        job = core.jobs[row]
        partition = core.kinds[job.kind].partition
        if job.state != WAITING or job.eligible_s > now or core.shut_partitions[partition]:
            continue
        if tested >= depth:
            cut = True
            break
        if core.rule[0].partition_depth > 0 and core.by_partition[partition] >= core.rule[0].partition_depth:
            cut = True
            continue
        if over_limit(core, row) or hours_closed(core, row, now):
            continue
        tested += 1
        core.by_partition[partition] += 1
        if _start_if_room(core, row, now, True):
            continue
        if core.rule[0].preempts > 0:
            _preempt(core, row, now)
        core.shut_partitions[partition] = 1
        for node in range(len(core.shut)):
            core.shut[node] |= core.partitions[partition, node]
    tidy_queue(core)
    core.counts[MAIN_DIRTY] = int(cut and core.counts[STARTED] > before)


@compiled
def may_stop(core: Core, row: int, other: int) -> bool:
    """Whether a job may stop another one: by partition tier or by QOS."""
    one, victim = core.jobs[row], core.jobs[other]
    if core.rule[0].preempts == BY_TIER:
        return victim.tier < one.tier
    return core.may_stop[one.qos, victim.qos] == 1


@compiled
def _preempt(core: Core, row: int, now: float) -> None:
    """Stop jobs that a row may stop, if it fits then: on the nodes where fewest die, of these the youngest.

    The row starts in the pass two seconds later.
    """
    job, count = core.jobs[row], 0
    open_to(core, row, now, now + job.limit_s)
    copy_nodes(core.future, core.free)
    for place in range(core.counts[RUNNING]):
        other = core.running[place]
        if may_stop(core, row, other) and _on_mask(core, other):
            _add_victim(core, other, count)
            count += 1
            _give_back(core, other)
    if count == 0 or pick(core, job.kind, core.mask, core.future) == 0:
        return
    most = 0
    for node in range(len(core.mask)):
        core.allowed[node] = core.mask[node]
        core.deaths[node] = _deaths_on(core, job.kind, count, node) if core.mask[node] else 0
        most = max(most, core.deaths[node])
    for bound in range(most + 1):  # the fewest deaths a node, by taking only nodes with at most so many
        for node in range(len(core.mask)):
            core.mask[node] = core.allowed[node] if core.deaths[node] <= bound else 0
        picked = pick(core, job.kind, core.mask, core.future)
        if picked > 0:
            _stop_for(core, now, picked, job.kind, count)
            core.clock[QUICK] = now + STARTS_AFTER_S
            stir(core)
            return


@compiled
def _add_victim(core: Core, row: int, count: int) -> None:
    """Put a row among those that may be stopped, the youngest first; they are kept where ``told`` rows will be."""
    place = count
    while place > 0 and core.jobs[core.told[place - 1]].start_s < core.jobs[row].start_s:
        core.told[place] = core.told[place - 1]
        place -= 1
    core.told[place] = row


@compiled
def _on_mask(core: Core, row: int) -> bool:
    job = core.jobs[row]
    for share in range(job.first_share, job.first_share + job.num_shares):  # noqa: SIM110
        if core.mask[core.share_node[share]]:
            return True
    return False


@compiled
def _give_back(core: Core, row: int) -> None:
    job = core.jobs[row]
    for share in range(job.first_share, job.first_share + job.num_shares):
        hold(core, job.kind, core.share_node[share], core.share_units[share], 1, core.future)


@compiled
def _deaths_on(core: Core, kind: int, count: int, node: int) -> int:
    """Return how many jobs die on a node to make as much room as there can be for a kind, youngest first."""
    wanted, deaths = units_on(core, kind, node, core.future), 0
    copy_nodes(core.trial, core.free)
    for k in range(count):
        if units_on(core, kind, node, core.trial) >= wanted:
            break
        victim = core.jobs[core.told[k]]
        for share in range(victim.first_share, victim.first_share + victim.num_shares):
            if core.share_node[share] == node:
                hold(core, victim.kind, node, core.share_units[share], 1, core.trial)
                deaths += 1
    return deaths


@compiled
def _stop_for(core: Core, now: float, picked: int, kind: int, count: int) -> None:
    """Stop the youngest victims on each chosen node until the choice has room."""
    for k in range(picked):
        for at in range(count):
            if units_on(core, kind, core.pick[k], core.free) >= core.pick_units[k]:
                break
            other = core.told[at]
            if core.jobs[other].state == WAITING or not _is_on(core, other, core.pick[k]):
                continue
            stop(core, other, now)
            core.jobs[other].state = WAITING
            core.stopped[core.counts[STOPPED]] = other
            core.counts[STOPPED] += 1


@compiled
def _is_on(core: Core, row: int, node: int) -> bool:
    job = core.jobs[row]
    for share in range(job.first_share, job.first_share + job.num_shares):  # noqa: SIM110
        if core.share_node[share] == node:
            return True
    return False
