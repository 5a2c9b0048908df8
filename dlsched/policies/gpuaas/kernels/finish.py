"""The end of a search: the nodes that must be open, and the GPUs each job is given."""

from __future__ import annotations

import numpy as np
from numba import njit

from dlsched.policies.gpuaas.kernels.score import idle_gpus, score, score_node, widened
from dlsched.policies.gpuaas.kernels.state import add, blank_node, copy_node, open_node, put, remove
from dlsched.policies.gpuaas.kernels.tables import Search

compiled = njit(nogil=True, error_model="numpy")


@compiled
def open_more(s: Search, wanted: int) -> None:
    """Open nodes until ``wanted`` are: for jobs that wait, by pressure, then for jobs that share a node."""
    for job in s.order:
        if s.rule[0].num_closed == 0 or _num_open(s) >= wanted:
            break
        if s.node[job] < 0:
            config = s.ranked[job, 0]
            add(s, job, open_node(s, s.configs[config].family), config)
    while s.rule[0].num_closed > 0 and _num_open(s) < wanted and _spread(s):
        pass


@compiled
def _num_open(s: Search) -> int:
    return len(s.closed) - s.rule[0].num_closed


@compiled
def _spread(s: Search) -> bool:
    """Give one job of the node with most jobs a node of its own, the one that costs least; False = nobody shares."""
    crowded = 0
    for node in range(len(s.closed)):
        if s.nodes[node].count > s.nodes[crowded].count:
            crowded = node
    if s.nodes[crowded].count < 2:
        return False
    best, most, a = -1, -np.inf, len(s.closed)
    for k in range(s.nodes[crowded].count):
        job, gpus = s.held[crowded, k].job, s.held[crowded, k].gpus
        copy_node(s, crowded, job, a)
        blank_node(s, a + 1, s.nodes[crowded].family)
        put(s, job, a + 1, gpus)
        value = score_node(s, a) + score_node(s, a + 1)
        if value > most:
            best, most = job, value
    config = s.config[best]
    remove(s, best)
    add(s, best, open_node(s, s.configs[config].family), config)
    return True


@compiled
def finish(s: Search) -> float:
    """Give idle paid GPUs away and write down the GPUs of each job; return the score."""
    total = score(s)
    s.gpus[:] = 0
    for node in range(len(s.closed)):
        here = s.nodes[node]
        if here.count == 0:
            continue
        idle = idle_gpus(s, node)
        place = widened(s, node, idle) if idle > 0 else -1
        if place >= 0:
            s.held[node, place].gpus += idle
            here.used += idle
        for k in range(here.count):
            s.gpus[s.held[node, k].job] = s.held[node, k].gpus
    return total
