"""The placement rules for whole GPUs, compiled; the same picks as ``dlsched.placement.rules``.

Every function gets the free GPUs and the capacity of the nodes, writes nodes and workers into ``pick`` and
``workers`` and returns how many, 0 when there is no room.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dlsched.domain.workload import Ints
from dlsched.sim.kernels.tables import Placement

compiled = njit(nogil=True)
_POOL, _BEST_FIT, _PACK = int(Placement.POOL), int(Placement.BEST_FIT), int(Placement.PACK)


@compiled
def find(free: Ints, capacity: Ints, gpus: int, rule: int, pick: Ints, workers: Ints) -> int:
    """Return the number of nodes picked by the rule."""
    if rule == _POOL:
        return _fill(free, capacity, gpus, False, pick, workers)
    if rule == _BEST_FIT:
        return _best_fit(free, capacity, gpus, pick, workers)
    if rule == _PACK:
        return _pack(free, gpus, pick, workers)
    return _spread(free, gpus, pick, workers)


@compiled
def _fullest_single(free: Ints, gpus: int, pick: Ints, workers: Ints) -> int:
    best = -1
    for node in range(len(free)):
        if free[node] >= gpus and (best < 0 or free[node] < free[best]):
            best = node
            if free[node] == gpus:
                break
    if best < 0:
        return 0
    pick[0], workers[0] = best, gpus
    return 1


@compiled
def _fill(free: Ints, capacity: Ints, gpus: int, only_empty: bool, pick: Ints, workers: Ints) -> int:
    count, missing = 0, gpus
    for node in range(len(free)):
        if free[node] > 0 and (not only_empty or free[node] == capacity[node]):
            pick[count], workers[count] = node, min(free[node], missing)
            missing -= workers[count]
            count += 1
            if missing == 0:
                return count
    return 0


@compiled
def _best_fit(free: Ints, capacity: Ints, gpus: int, pick: Ints, workers: Ints) -> int:
    count = _fullest_single(free, gpus, pick, workers)
    if count > 0:
        return count
    for node in range(len(capacity)):
        if capacity[node] >= gpus:
            return 0
    return _fill(free, capacity, gpus, True, pick, workers)


@compiled
def _pack(free: Ints, gpus: int, pick: Ints, workers: Ints) -> int:
    count = _fullest_single(free, gpus, pick, workers)
    if count > 0:
        return count
    order = np.argsort(free, kind="mergesort")
    while len(order) > 0 and free[order[0]] == 0:
        order = order[1:]
    roomiest = np.zeros(len(order) + 1, np.int64)  # roomiest[k] = what the k roomiest nodes hold
    for k in range(len(order)):
        roomiest[k + 1] = roomiest[k] + free[order[len(order) - 1 - k]]
    if roomiest[-1] < gpus:
        return 0
    others, missing, low = 0, gpus, 0
    while roomiest[others + 1] < gpus:
        others += 1
    while others >= 0:
        while free[order[low]] < missing - roomiest[others]:
            low += 1
        pick[count], workers[count] = order[low], min(free[order[low]], missing)
        missing -= workers[count]
        count, low, others = count + 1, low + 1, others - 1
    return count


@compiled
def _spread(free: Ints, gpus: int, pick: Ints, workers: Ints) -> int:
    if free.sum() < gpus:
        return 0
    order = np.argsort(-free, kind="mergesort")
    rounds, placed = 0, 0
    while True:  # whole rounds of one worker a node
        one_more = 0
        for node in range(len(free)):
            if free[node] > rounds:
                one_more += 1
        if placed + one_more >= gpus:
            break
        placed += one_more
        rounds += 1
    count, last_round = 0, gpus - placed
    for node in order:
        given = min(free[node], rounds)
        if free[node] > rounds and last_round > 0:
            given += 1
            last_round -= 1
        if given > 0:
            pick[count], workers[count] = node, given
            count += 1
    return count
