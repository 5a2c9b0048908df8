"""The end of a search: opening the nodes that must be open, and the GPUs each job is given."""

from __future__ import annotations

import numpy as np

from dlsched.policies.gpuaas.kernels.compiled import compiled
from dlsched.policies.gpuaas.kernels.score import idle_gpus, score, score_node, widened
from dlsched.policies.gpuaas.kernels.state import add, blank_node, copy_node, open_node, put, remove
from dlsched.policies.gpuaas.kernels.tables import SCRATCH, Search


@compiled
def open_all(s: Search) -> None:
    """Open every node that may be: for jobs that wait, by pressure, then for jobs whose node stays open anyway."""
    for job in s.order:
        if s.closed[0] > 0 and s.moves[job].node < 0:
            _give_own_node(s, job, s.choices[job, 0].family, s.choices[job, 0].gpus)
    while s.closed[0] > 0 and _spread(s):
        pass


@compiled
def _give_own_node(s: Search, job: int, family: int, gpus: int) -> None:
    node = open_node(s.nodes, s.families, s.buckets, s.closed, family, s.rule[0].most_gpus)
    add(s.nodes, s.held, s.families, s.buckets, job, node, gpus)
    s.moves[job].node = node


@compiled
def _spread(s: Search) -> bool:
    """Give one job of the node that can spare most a node of its own, the one that costs least; False = none can."""
    crowded, most = -1, 0
    for node in range(len(s.nodes) - SCRATCH):
        spare = s.nodes[node].count - (s.nodes[node].fixed_family < 0)  # a node that stays may be left empty
        if spare > most:
            crowded, most = node, spare
    if crowded < 0:
        return False
    family, place = s.nodes[crowded].family, _easiest_to_move(s, crowded)
    job, gpus = s.held[crowded, place].job, s.held[crowded, place].gpus
    remove(s.nodes, s.held, s.families, s.buckets, s.closed, job, crowded)
    _give_own_node(s, job, family, gpus)
    return True


@compiled
def _easiest_to_move(s: Search, node: int) -> int:
    """Return the place of the job whose leaving for a node of its own leaves the best score."""
    a, best, most = len(s.nodes) - SCRATCH, -1, -np.inf
    for k in range(s.nodes[node].count):
        job, gpus = s.held[node, k].job, s.held[node, k].gpus
        copy_node(s.nodes, s.held, node, job, a)
        blank_node(s.nodes, s.families, a + 1, s.nodes[node].family, s.rule[0].most_gpus)
        put(s.nodes, s.held, a + 1, job, gpus)
        value = score_node(s.nodes, s.held, s.options, s.holders, s.rule, a)
        value += score_node(s.nodes, s.held, s.options, s.holders, s.rule, a + 1)
        if best < 0 or value > most:
            best, most = k, value
    return best


@compiled
def write_answer(s: Search) -> float:
    """Give idle paid GPUs away and write down node and GPUs of each job; return the score."""
    total = score(s.nodes, s.held, s.options, s.holders, s.rule)
    s.node[:] = -1
    s.gpus[:] = 0
    for node in range(len(s.nodes) - SCRATCH):
        here = s.nodes[node]
        if here.count == 0:
            continue
        idle, place = idle_gpus(s.nodes, s.holders, node), -1
        if idle > 0:
            place = widened(s.nodes, s.held, s.options, node, idle, s.rule[0].most_gpus)
        if place >= 0:
            s.held[node, place].gpus += idle
            here.used += idle
        for k in range(here.count):
            s.node[s.held[node, k].job] = node
            s.gpus[s.held[node, k].job] = s.held[node, k].gpus
    return total
