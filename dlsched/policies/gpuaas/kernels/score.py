"""What a node adds to the score of a schedule after post-processing; larger is better under both guides.

Post-processing: the node becomes the machine that holds the GPUs in use; paid GPUs that would be idle go all at once
to the job whose residual time falls by most, to none if no time falls.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dlsched.policies.gpuaas.kernels.tables import Search

compiled = njit(nogil=True, error_model="numpy")


@compiled
def idle_gpus(s: Search, node: int) -> int:
    """Return the paid GPUs of a node with jobs that none of them was given."""
    here = s.nodes[node]
    if here.fixed_family >= 0:
        return here.fixed_gpus - here.used
    return s.configs[s.families[here.family].first + here.used].holder_gpus - here.used


@compiled
def widened(s: Search, node: int, idle: int) -> int:
    """Return the place of the job the idle GPUs go to, -1 = none."""
    here, place, most = s.nodes[node], -1, 0.0
    for k in range(here.count):
        held = s.held[node, k]
        if held.gpus + idle <= s.rule[0].most_gpus:
            config = s.families[here.family].first + held.gpus
            fall = s.options[held.job, config].time - s.options[held.job, config + idle].time
            if fall > most:
                place, most = k, fall
    return place


@compiled
def score_node(s: Search, node: int) -> float:
    """Return what a node adds: its part of Eq. (1), or minus its part of (P1a) relative to an empty schedule."""
    here, rule = s.nodes[node], s.rule[0]
    if here.count == 0:
        return 0.0 if rule.by_proxy or here.fixed_family < 0 else -rule.idle_penalty * here.fixed_gpus
    idle = idle_gpus(s, node)
    place = widened(s, node, idle) if idle > 0 else -1
    first = s.families[here.family].first
    price = here.fixed_price if here.fixed_family >= 0 else s.configs[first + here.used].holder_price
    if not rule.by_proxy:
        return -_cost(s, node, place, idle, price)
    used = here.used + (idle if place >= 0 else 0)
    total, gpu_price = 0.0, price / used
    for k in range(here.count):
        held = s.held[node, k]
        gpus = held.gpus + (idle if k == place else 0)
        option = s.options[held.job, first + gpus]
        total += s.jobs[held.job].scale / (option.time * gpus * gpu_price + rule.free_price + option.late_cost)
    return total


@compiled
def _cost(s: Search, node: int, place: int, idle: int, price: float) -> float:
    here, rule = s.nodes[node], s.rule[0]
    first, first_end = s.families[here.family].first, np.inf
    cost = 0.0 if place >= 0 else rule.idle_penalty * idle
    for k in range(here.count):
        held = s.held[node, k]
        option = s.options[held.job, first + held.gpus + (idle if k == place else 0)]
        cost += option.late_cost - s.jobs[held.job].postponed
        first_end = min(first_end, option.time)
    return cost + first_end * price


@compiled
def score(s: Search) -> float:
    """Score all nodes; return the sum."""
    total = 0.0
    for node in range(len(s.closed)):
        s.nodes[node].value = score_node(s, node)
        total += s.nodes[node].value
    return total
