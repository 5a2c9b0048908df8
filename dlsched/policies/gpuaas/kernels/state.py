"""The schedule at hand: nodes by GPUs free, jobs come and go; every step takes constant time.

A node counts as the largest machine of its GPU type while the search goes on; what it becomes in the end is
decided in :mod:`dlsched.policies.gpuaas.kernels.score`.
"""

from __future__ import annotations

from numba import njit

from dlsched.policies.gpuaas.kernels.tables import Search

compiled = njit(nogil=True, error_model="numpy")


@compiled
def clear(s: Search) -> None:
    """Put every job back to the queue and close every node that may be closed."""
    rule, num_nodes = s.rule[0], len(s.closed)
    s.node[:] = -1
    s.config[:] = -1
    s.bucket_size[:] = 0
    rule.num_closed = rule.num_free = 0
    for family in range(len(s.families)):
        s.families[family].widest = 0
    for node in range(num_nodes - 1, -1, -1):  # the lowest number is on top of the stack
        here = s.nodes[node]
        here.count = here.used = 0
        if here.fixed_family >= 0:
            _be_open(s, node, here.fixed_family)
        else:
            _be_closed(s, node)


@compiled
def _be_closed(s: Search, node: int) -> None:
    s.nodes[node].family = -1
    s.closed[s.rule[0].num_closed] = node
    s.rule[0].num_closed += 1


@compiled
def _be_open(s: Search, node: int, family: int) -> None:
    here = s.nodes[node]
    here.family = family
    here.free = room(s, node, family)
    s.rule[0].num_free += here.free
    _enter(s, node)


@compiled
def room(s: Search, node: int, family: int) -> int:
    """Return the GPUs of a node as the largest machine of a GPU type that it may be."""
    if s.nodes[node].fixed_family >= 0:
        return min(s.nodes[node].fixed_gpus, s.rule[0].most_gpus)
    return s.families[family].largest


@compiled
def _enter(s: Search, node: int) -> None:
    """Put an open node into its bucket."""
    here = s.nodes[node]
    here.place = s.bucket_size[here.family, here.free]
    s.buckets[here.family, here.free, here.place] = node
    s.bucket_size[here.family, here.free] += 1
    if here.free > s.families[here.family].widest:
        s.families[here.family].widest = here.free


@compiled
def _leave(s: Search, node: int) -> None:
    """Take an open node out of its bucket; whoever changes it next corrects ``widest``."""
    here = s.nodes[node]
    last = s.bucket_size[here.family, here.free] - 1
    moved = s.buckets[here.family, here.free, last]
    s.buckets[here.family, here.free, here.place] = moved
    s.nodes[moved].place = here.place
    s.bucket_size[here.family, here.free] = last


@compiled
def _narrow(s: Search, family: int) -> None:
    """Correct ``widest`` downwards."""
    widest = s.families[family].widest
    while widest > 0 and s.bucket_size[family, widest] == 0:
        widest -= 1
    s.families[family].widest = widest


@compiled
def open_node(s: Search, family: int) -> int:
    """Open the closed node on top of the stack as the largest machine of a GPU type; return its number."""
    s.rule[0].num_closed -= 1
    node = s.closed[s.rule[0].num_closed]
    _be_open(s, node, family)
    return node


@compiled
def add(s: Search, job: int, node: int, config: int) -> None:
    """Start a waiting job on an open node with enough GPUs free."""
    here, gpus = s.nodes[node], s.configs[config].gpus
    _leave(s, node)
    here.free -= gpus
    _enter(s, node)
    _narrow(s, here.family)
    put(s, job, node, gpus)
    s.rule[0].num_free -= gpus
    s.node[job] = node
    s.config[job] = config


@compiled
def put(s: Search, job: int, node: int, gpus: int) -> None:
    """Write a job into the list of a node."""
    here = s.nodes[node]
    s.held[node, here.count].job = job
    s.held[node, here.count].gpus = gpus
    here.count += 1
    here.used += gpus


@compiled
def remove(s: Search, job: int) -> None:
    """Put a job that runs back to the queue; a node that is left without jobs closes if it may."""
    node = s.node[job]
    here, gpus = s.nodes[node], s.configs[s.config[job]].gpus
    _leave(s, node)
    _take(s, job, node)
    here.free += gpus
    s.rule[0].num_free += gpus
    if here.count == 0 and here.fixed_family < 0:
        s.rule[0].num_free -= here.free
        _narrow(s, here.family)
        _be_closed(s, node)
    else:
        _enter(s, node)
        _narrow(s, here.family)
    s.node[job] = -1
    s.config[job] = -1


@compiled
def _take(s: Search, job: int, node: int) -> None:
    here, k = s.nodes[node], 0
    while s.held[node, k].job != job:
        k += 1
    here.count -= 1
    here.used -= s.held[node, k].gpus
    s.held[node, k].job = s.held[node, here.count].job
    s.held[node, k].gpus = s.held[node, here.count].gpus


@compiled
def best_fit(s: Search, family: int, gpus: int) -> int:
    """Return the open node with the fewest GPUs free that fit, lowest number on ties; one must fit."""
    free = gpus
    while s.bucket_size[family, free] == 0:
        free += 1
    node = s.buckets[family, free, 0]
    for place in range(1, s.bucket_size[family, free]):
        node = min(node, s.buckets[family, free, place])
    return node


# ---- scratch nodes -------------------------------------------------------------------------------------


@compiled
def copy_node(s: Search, node: int, without: int, to: int) -> None:
    """Copy a node to a scratch node, without one of its jobs (-1 = with all)."""
    here, copy = s.nodes[node], s.nodes[to]
    copy.family, copy.free = here.family, here.free
    copy.fixed_family, copy.fixed_gpus, copy.fixed_price = here.fixed_family, here.fixed_gpus, here.fixed_price
    copy.count = copy.used = 0
    for k in range(here.count):
        if s.held[node, k].job == without:
            copy.free += s.held[node, k].gpus
        else:
            put(s, s.held[node, k].job, to, s.held[node, k].gpus)


@compiled
def blank_node(s: Search, node: int, family: int) -> None:
    """Make a scratch node a new one without jobs."""
    here = s.nodes[node]
    here.family, here.fixed_family = family, -1
    here.count = here.used = 0
    here.free = room(s, node, family)
