"""The schedule at hand: nodes by GPUs free, jobs come and go; every step takes constant time.

A node counts as the largest machine of its GPU type while the search goes on; what it becomes in the end is
decided in :mod:`dlsched.policies.gpuaas.kernels.score`.
"""

from __future__ import annotations

from dlsched.policies.gpuaas.kernels.compiled import compiled
from dlsched.policies.gpuaas.kernels.tables import SCRATCH, Ints, Table


@compiled
def clear(nodes: Table, families: Table, buckets: Ints, closed: Ints, most_gpus: int) -> None:
    """Empty every node and close those that may be closed."""
    buckets[:, :, 0] = 0
    for family in range(len(families)):
        families[family].widest = families[family].roomy = 0
    for node in range(len(nodes) - SCRATCH):
        here = nodes[node]
        here.family = -1
        here.count = here.used = 0
        if here.fixed_family >= 0:
            open_as(nodes, families, buckets, node, here.fixed_family, most_gpus)
    list_closed(nodes, closed)


@compiled
def list_closed(nodes: Table, closed: Ints) -> None:
    """Put the nodes that may be opened on their stack, the lowest number on top."""
    closed[0] = 0
    for node in range(len(nodes) - SCRATCH - 1, -1, -1):
        if nodes[node].family < 0 and nodes[node].may_open:
            closed[0] += 1
            closed[closed[0]] = node


@compiled
def open_as(nodes: Table, families: Table, buckets: Ints, node: int, family: int, most_gpus: int) -> None:
    """Open a node as the largest machine of a GPU type that it may be; it must not be on the stack."""
    here = nodes[node]
    here.family = family
    here.first = family * most_gpus - 1
    here.free = families[family].largest if here.fixed_family < 0 else min(here.fixed_gpus, most_gpus)
    enter(nodes, families, buckets, node)


@compiled
def open_node(nodes: Table, families: Table, buckets: Ints, closed: Ints, family: int, most_gpus: int) -> int:
    """Open the closed node on top of the stack; return its number."""
    node = closed[closed[0]]
    closed[0] -= 1
    open_as(nodes, families, buckets, node, family, most_gpus)
    return node


@compiled
def enter(nodes: Table, families: Table, buckets: Ints, node: int) -> None:
    """Put an open node into its bucket."""
    here = nodes[node]
    place = buckets[here.family, here.free, 0] + 1
    buckets[here.family, here.free, 0] = place
    buckets[here.family, here.free, place] = node
    here.place = place
    families[here.family].roomy += here.free > 0
    if here.free > families[here.family].widest:
        families[here.family].widest = here.free


@compiled
def leave(nodes: Table, families: Table, buckets: Ints, node: int) -> None:
    """Take an open node out of its bucket; :func:`narrow` must follow."""
    here = nodes[node]
    last = buckets[here.family, here.free, 0]
    moved = buckets[here.family, here.free, last]
    buckets[here.family, here.free, here.place] = moved
    nodes[moved].place = here.place
    buckets[here.family, here.free, 0] = last - 1
    families[here.family].roomy -= here.free > 0


@compiled
def narrow(families: Table, buckets: Ints, family: int) -> None:
    """Correct ``widest`` downwards."""
    widest = families[family].widest
    while widest > 0 and buckets[family, widest, 0] == 0:
        widest -= 1
    families[family].widest = widest


@compiled
def add(nodes: Table, held: Table, families: Table, buckets: Ints, job: int, node: int, gpus: int) -> None:
    """Start a job on an open node that has the GPUs free."""
    here = nodes[node]
    settle(nodes, held, families, buckets, here.family, here.free, here.place, job, gpus)


@compiled
def settle(
    nodes: Table,
    held: Table,
    families: Table,
    buckets: Ints,
    family: int,
    free: int,
    place: int,
    job: int,
    gpus: int,
) -> None:
    """Start a job on the node at a place of a bucket; nothing is looked up that the caller knows."""
    size, left = buckets[family, free, 0], free - gpus
    node, last = buckets[family, free, place], buckets[family, free, size]
    buckets[family, free, place] = last
    buckets[family, free, 0] = size - 1
    nodes[last].place = place
    entered = buckets[family, left, 0] + 1
    buckets[family, left, 0] = entered
    buckets[family, left, entered] = node
    here = nodes[node]
    here.place = entered
    put(nodes, held, node, job, gpus)
    families[family].roomy -= left == 0
    if size == 1 and free == families[family].widest:
        narrow(families, buckets, family)


@compiled
def put(nodes: Table, held: Table, node: int, job: int, gpus: int) -> None:
    """Write a job into the list of a node."""
    here = nodes[node]
    held[node, here.count].job = job
    held[node, here.count].gpus = gpus
    here.count += 1
    here.used += gpus
    here.free -= gpus


@compiled
def remove(nodes: Table, held: Table, families: Table, buckets: Ints, closed: Ints, job: int, node: int) -> None:
    """Take a job from its node; a node that is left without jobs closes if it may."""
    here, k = nodes[node], 0
    leave(nodes, families, buckets, node)
    while held[node, k].job != job:
        k += 1
    here.count -= 1
    here.used -= held[node, k].gpus
    here.free += held[node, k].gpus
    held[node, k].job = held[node, here.count].job
    held[node, k].gpus = held[node, here.count].gpus
    if here.count == 0 and here.fixed_family < 0:
        narrow(families, buckets, here.family)
        here.family = -1
        closed[0] += 1
        closed[closed[0]] = node
    else:
        enter(nodes, families, buckets, node)
        narrow(families, buckets, here.family)


@compiled
def best_fit(buckets: Ints, family: int, gpus: int) -> int:
    """Return the open node with the fewest GPUs free that fit, lowest number on ties; one must fit."""
    free = gpus
    while buckets[family, free, 0] == 0:
        free += 1
    node = buckets[family, free, 1]
    for place in range(2, buckets[family, free, 0] + 1):
        node = min(node, buckets[family, free, place])
    return node


# ---- scratch nodes ------------------------------------------------------------------------------------------


@compiled
def copy_node(nodes: Table, held: Table, node: int, without: int, to: int) -> None:
    """Copy a node to a scratch node, without one of its jobs (-1 = with all)."""
    here, copy = nodes[node], nodes[to]
    copy.family, copy.first, copy.free = here.family, here.first, here.free + here.used
    copy.fixed_family, copy.fixed_gpus, copy.fixed_price = here.fixed_family, here.fixed_gpus, here.fixed_price
    copy.count = copy.used = 0
    for k in range(here.count):
        if held[node, k].job != without:
            put(nodes, held, to, held[node, k].job, held[node, k].gpus)


@compiled
def blank_node(nodes: Table, families: Table, node: int, family: int, most_gpus: int) -> None:
    """Make a scratch node a new one without jobs."""
    here = nodes[node]
    here.family, here.first, here.fixed_family = family, family * most_gpus - 1, -1
    here.count = here.used = 0
    here.free = families[family].largest
