"""What a node adds to the score of a schedule after post-processing; larger is better under both guides.

Post-processing: the node becomes the machine that holds the GPUs in use; paid GPUs that would be idle go all at once
to the job whose residual time falls by most, to none if no time falls.
"""

from __future__ import annotations

import numpy as np

from dlsched.policies.gpuaas.kernels.compiled import compiled
from dlsched.policies.gpuaas.kernels.tables import SCRATCH, Table


@compiled
def idle_gpus(nodes: Table, holders: Table, node: int) -> int:
    """Return the paid GPUs of a node with jobs that none of them was given."""
    here = nodes[node]
    if here.fixed_family >= 0:
        return here.fixed_gpus - here.used
    return holders[here.first + here.used].gpus - here.used


@compiled
def widened(nodes: Table, held: Table, options: Table, node: int, idle: int, most_gpus: int) -> int:
    """Return the place of the job the idle GPUs go to, -1 = none."""
    here, place, most = nodes[node], -1, 0.0
    for k in range(here.count):
        gpus, job = held[node, k].gpus, held[node, k].job
        if gpus + idle <= most_gpus:
            fall = options[job, here.first + gpus].time - options[job, here.first + gpus + idle].time
            if fall > most:
                place, most = k, fall
    return place


@compiled
def score_node(nodes: Table, held: Table, options: Table, holders: Table, rule: Table, node: int) -> float:
    """Return what a node adds: its part of Eq. (1), or minus its part of (P1a) relative to an empty schedule."""
    here = nodes[node]
    if here.count == 0:
        return 0.0 if rule[0].by_proxy or here.fixed_family < 0 else -rule[0].idle_penalty * here.fixed_gpus
    idle, place = idle_gpus(nodes, holders, node), -1
    if idle > 0:
        place = widened(nodes, held, options, node, idle, rule[0].most_gpus)
    price = here.fixed_price if here.fixed_family >= 0 else holders[here.first + here.used].price
    if rule[0].by_proxy:
        used = here.used + (idle if place >= 0 else 0)
        return _efficiency(nodes, held, options, node, place, idle, price / used)
    unused = 0 if place >= 0 else idle
    return -rule[0].idle_penalty * unused - _cost(nodes, held, options, node, place, idle, price)


@compiled
def _efficiency(nodes: Table, held: Table, options: Table, node: int, place: int, idle: int, price: float) -> float:
    """Return the node's part of Eq. (1); ``price`` is per GPU in use."""
    here, total = nodes[node], 0.0
    for k in range(here.count):
        gpus = held[node, k].gpus + (idle if k == place else 0)
        option = options[held[node, k].job, here.first + gpus]
        total += option.scale / (option.gpu_time * price + option.late)
    return total


@compiled
def _cost(nodes: Table, held: Table, options: Table, node: int, place: int, idle: int, price: float) -> float:
    """Return lateness and the bill until the first job ends."""
    here, cost, first_end = nodes[node], 0.0, np.inf
    for k in range(here.count):
        gpus = held[node, k].gpus + (idle if k == place else 0)
        option = options[held[node, k].job, here.first + gpus]
        cost += option.late
        first_end = min(first_end, option.time)
    return cost + first_end * price


@compiled
def score(nodes: Table, held: Table, options: Table, holders: Table, rule: Table) -> float:
    """Score all nodes; return the sum."""
    total = 0.0
    for node in range(len(nodes) - SCRATCH):
        nodes[node].value = score_node(nodes, held, options, holders, rule, node)
        total += nodes[node].value
    return total
