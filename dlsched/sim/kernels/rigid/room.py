"""Room on nodes for kinds of jobs, compiled: the picks of ``dlsched.placement.rules``, and tallies of who fits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.plan import WaitReason
from dlsched.domain.workload import GPU, Floats, Ints
from dlsched.placement.rules import ROOM_TOLERANCE
from dlsched.sim.kernels.compiled import allocating, compiled, inlined, merged
from dlsched.sim.kernels.rigid.tables import MANY, NUM_RESOURCES, Fit, Places
from dlsched.sim.kernels.tables import Placement, Table

_POOL, _BEST_FIT, _PACK = int(Placement.POOL), int(Placement.BEST_FIT), int(Placement.PACK)
_ROOM, _WHOLE = int(Fit.ROOM), int(Fit.WHOLE)
_NO_ROOM, _SPLIT, _NO_NODE = int(WaitReason.NO_ROOM), int(WaitReason.SPLIT), int(WaitReason.NO_NODE)
SNAP = 1e-6


# ---- what a node holds --------------------------------------------------------------------------------


@inlined
def _parts(free: Floats, asked: Floats, binding: Ints) -> int:
    """Return how many parts that ask for so much there is room for."""
    parts = MANY
    for resource in range(NUM_RESOURCES):
        if binding[resource]:
            parts = min(parts, (free[resource] + ROOM_TOLERANCE) / asked[resource])
    return int(parts)


@inlined
def is_empty(nodes: Table, rule: Table, node: int, free: Floats) -> bool:
    """Whether nothing is taken of a node of which so much is free."""
    empty = True
    for resource in range(NUM_RESOURCES):
        if rule[0].limited[resource] and free[resource] < nodes[node].capacity[resource] - ROOM_TOLERANCE:
            empty = False
    return empty


@inlined
def counted_on(run: Places, measure: int, node: int, free: Floats) -> int:
    """Return what a measure counts on a node where so much is free, see :class:`Fit`."""
    return _counted(run.measures, run.allowed, run.nodes, run.rule, measure, node, free)


@merged
def _counted(
    measures: Table, allowed: NDArray[np.uint8], nodes: Table, rule: Table, measure: int, node: int, free: Floats
) -> int:
    of = measures[measure]
    if not allowed[of.kind, node]:
        return 0
    parts = _parts(free, of.asked, of.binding)
    if of.fit == _ROOM:
        return parts
    if of.fit == _WHOLE:
        return min(parts, 1)
    return parts if is_empty(nodes, rule, node, free) else 0


@inlined
def fits(run: Places, kind: int) -> bool:
    """Whether a kind has room now."""
    return run.measures[run.kinds[kind].measure].tally >= run.kinds[kind].need


@inlined
def why_no_room(run: Places, kind: int) -> int:
    """Return why a kind that does not fit waits: no node, room in pieces, or too little of what counts in all."""
    resource = run.kinds[kind].counted
    free = run.queues[run.kinds[kind].queue].free[resource]
    if not run.kinds[kind].whole_queue:
        free = 0.0
        for node in range(len(run.nodes)):
            if run.allowed[kind, node]:
                free += run.nodes[node].free[resource]
    is_enough = free >= run.kinds[kind].workers * run.kinds[kind].demand[resource] - ROOM_TOLERANCE
    reason = _SPLIT if is_enough else _NO_ROOM
    return reason if run.kinds[kind].num_up > 0 else _NO_NODE


@merged
def change(run: Places, kind: int, node: int, workers: int) -> None:
    """Take room for workers of a kind on a node, or give it back (below 0), and bring the tallies up to date."""
    take(run.nodes, run.queues, run.rule, run.kinds[kind].demand, node, workers)
    recount(run.nodes, run.queues, run.measures, run.members, run.on_node, run.allowed, run.rule, node)


@compiled
def take(nodes: Table, queues: Table, rule: Table, demand: Floats, node: int, workers: int) -> None:
    """Take room for workers with this demand on a node, or give it back (below 0)."""
    here, queue = nodes[node], queues[nodes[node].queue]
    for resource in range(NUM_RESOURCES):
        amount = demand[resource]
        if amount > 0 and here.free[resource] < np.inf:
            left = left_after(rule, here.free[resource], here.capacity[resource], workers * amount)
            queue.free[resource] += left - here.free[resource]
            here.free[resource] = left


@compiled
def recount(
    nodes: Table,
    queues: Table,
    measures: Table,
    members: Ints,
    on_node: Ints,
    allowed: NDArray[np.uint8],
    rule: Table,
    node: int,
) -> None:
    """Bring the tallies up to date with what is free on a node.

    Plain arrays: handing on all arrays of a run costs more than the counting.
    """
    queue = queues[nodes[node].queue]
    for at in range(queue.first_measure, queue.past_measure):
        measure = members[at]
        counted = _counted(measures, allowed, nodes, rule, measure, node, nodes[node].free)
        measures[measure].tally += counted - on_node[measure, node]
        on_node[measure, node] = counted


@compiled
def left_after(rule: Table, free: float, capacity: float, amount: float) -> float:
    """Return what is left of a resource of a node without this amount.

    Rounding errors of fractions are undone, as in ``dlsched.placement.trial``.
    """
    left = free - amount
    if rule[0].whole_amounts:
        return left
    if abs(left - capacity) < SNAP:
        return capacity
    return 0.0 if abs(left) < SNAP else round(left, 9)


# ---- the rules ------------------------------------------------------------------------------------------


@compiled
def find(run: Places, kind: int) -> int:
    """Pick nodes for a kind that fits into ``pick`` and ``pick_workers`` of the node table; return how many."""
    nodes, rule, job = run.nodes, run.rule[0].placement, run.kinds[kind]
    if rule in (_BEST_FIT, _PACK) and not job.outgrows:
        if _fullest_single(run, kind):
            return 1
        if rule == _BEST_FIT:
            return 0
    for node in range(len(nodes)):
        nodes[node].size = 0
        if run.allowed[kind, node] and (rule != _BEST_FIT or is_empty(nodes, run.rule, node, nodes[node].free)):
            nodes[node].size = min(job.workers, _parts(nodes[node].free, job.demand, job.binding))
    if rule == _PACK:
        return _pack(nodes, job.workers)
    if rule == _POOL or rule == _BEST_FIT:  # noqa: SIM109 - faster compiled
        return fill(run, job.workers)
    return _spread(nodes, job.workers)


@merged
def _fullest_single(run: Places, kind: int) -> bool:
    """Pick the node with the fewest free GPUs that holds the whole job."""
    nodes, job = run.nodes, run.kinds[kind]
    best, fewest = -1, np.inf
    gpus = job.workers * job.demand[GPU] if job.binding[GPU] else 0.0
    least = gpus if run.rule[0].whole_amounts else gpus - ROOM_TOLERANCE  # no node that holds the job has fewer free
    for node in range(len(nodes)):
        if least <= nodes[node].free[GPU] < fewest and run.allowed[kind, node]:
            holds = True
            for resource in range(NUM_RESOURCES):
                whole = job.workers * job.demand[resource]
                if job.binding[resource] and nodes[node].free[resource] < whole - ROOM_TOLERANCE:
                    holds = False
            if holds:
                best, fewest = node, nodes[node].free[GPU]
                if fewest == least:
                    break
    if best < 0:
        return False
    nodes[0].pick, nodes[0].pick_workers = best, job.workers
    return True


@compiled
def fill(run: Places, workers: int) -> int:
    """Pick the first nodes with a size above 0 that hold so many workers; return how many."""
    nodes, count, missing = run.nodes, 0, workers
    for node in range(len(nodes)):
        if nodes[node].size > 0:
            nodes[count].pick, nodes[count].pick_workers = node, min(nodes[node].size, missing)
            missing -= nodes[count].pick_workers
            count += 1
            if missing == 0:
                return count
    return 0


@allocating
def _pack(nodes: Table, workers: int) -> int:
    sizes, free = np.empty(len(nodes), np.int64), np.empty(len(nodes))
    for node in range(len(nodes)):
        sizes[node], free[node] = nodes[node].size, nodes[node].free[GPU]
    order = np.argsort(free, kind="mergesort")
    order = order[np.argsort(sizes[order], kind="mergesort")]
    while len(order) > 0 and sizes[order[0]] == 0:
        order = order[1:]
    roomiest = np.zeros(len(order) + 1, np.int64)  # roomiest[k] = what the k roomiest nodes hold
    for k in range(len(order)):
        roomiest[k + 1] = roomiest[k] + sizes[order[len(order) - 1 - k]]
    if roomiest[-1] < workers:
        return 0
    count, others, missing, low = 0, 0, workers, 0
    while roomiest[others + 1] < workers:
        others += 1
    while others >= 0:
        while sizes[order[low]] < missing - roomiest[others]:
            low += 1
        nodes[count].pick, nodes[count].pick_workers = order[low], min(sizes[order[low]], missing)
        missing -= nodes[count].pick_workers
        count, low, others = count + 1, low + 1, others - 1
    return count


@allocating
def _spread(nodes: Table, workers: int) -> int:
    total, rounds, placed = 0, 0, 0
    fullest = np.empty(len(nodes))
    for node in range(len(nodes)):
        total += nodes[node].size
        fullest[node] = -nodes[node].free[GPU]
    if total < workers:
        return 0
    while True:  # whole rounds of one worker a node
        one_more = 0
        for node in range(len(nodes)):
            if nodes[node].size > rounds:
                one_more += 1
        if placed + one_more >= workers:
            break
        placed += one_more
        rounds += 1
    order = np.argsort(fullest, kind="mergesort")
    count, last_round = 0, workers - placed
    for node in order:
        given = min(nodes[node].size, rounds)
        if nodes[node].size > rounds and last_round > 0:
            given += 1
            last_round -= 1
        if given > 0:
            nodes[count].pick, nodes[count].pick_workers = node, given
            count += 1
    return count
