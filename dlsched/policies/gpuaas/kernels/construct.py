"""Algorithm 1: greedy construction of a schedule, exact or with dice, and the elite."""

from __future__ import annotations

import numpy as np
from numba import njit

from dlsched.policies.gpuaas.kernels.score import score
from dlsched.policies.gpuaas.kernels.state import add, best_fit, clear, open_node
from dlsched.policies.gpuaas.kernels.tables import Search

compiled = njit(nogil=True, error_model="numpy")
_STEP, _MIX_A, _MIX_B = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31 = np.uint64(30), np.uint64(27), np.uint64(31)
_PART, _MASK = np.uint64(21), np.uint64((1 << 21) - 1)
_UNIT = 2.0**-21
SAME_SCORE = 1e-9


@compiled
def _draw(s: Search) -> np.uint64:
    """Return 64 random bits (SplitMix64)."""
    s.rule[0].random += _STEP
    bits = s.rule[0].random
    bits = (bits ^ (bits >> _30)) * _MIX_A
    bits = (bits ^ (bits >> _27)) * _MIX_B
    return bits ^ (bits >> _31)


@compiled
def _uniform(bits: np.uint64) -> float:
    """Return the lowest 21 bits as a number in [0, 1)."""
    return np.float64(bits & _MASK) * _UNIT


@compiled
def construct(s: Search, with_dice: bool) -> None:
    """Build a schedule: jobs by pressure, each on the configuration and node that suit it best, or nearly."""
    clear(s)
    last = len(s.order) - 1
    job, bits = s.order[0], np.uint64(0)
    for k in range(last + 1):
        following = s.order[min(k + 1, last)]
        if with_dice:
            bits = _draw(s)
            if k < last and _uniform(bits) < s.jobs[job].swap:
                job, following = following, job
        _place(s, job, with_dice, bits >> _PART)
        if s.rule[0].num_closed == 0 and s.rule[0].num_free == 0:
            return
        job = following


@compiled
def _place(s: Search, job: int, with_dice: bool, bits: np.uint64) -> None:
    """Start a job if it fits anywhere: open node, else a new one, else the best configuration that still fits."""
    rank = 0
    if with_dice:
        chance = _uniform(bits)
        while rank < s.jobs[job].num_picks - 1 and chance >= s.chance[job, rank]:
            rank += 1
    config = s.ranked[job, rank]
    if s.configs[config].gpus > s.families[s.configs[config].family].widest:
        if s.rule[0].num_closed > 0:
            add(s, job, open_node(s, s.configs[config].family), config)
            return
        rank = 0
        while s.configs[s.ranked[job, rank]].gpus > s.families[s.configs[s.ranked[job, rank]].family].widest:
            rank += 1
            if rank == s.jobs[job].num_ranked:
                return
        config = s.ranked[job, rank]
    family, gpus = s.configs[config].family, s.configs[config].gpus
    node = _draw_node(s, family, gpus, bits >> _PART) if with_dice else best_fit(s, family, gpus)
    add(s, job, node, config)


@compiled
def _draw_node(s: Search, family: int, gpus: int, bits: np.uint64) -> int:
    """Return one of the best-fitting open nodes, with a probability that falls with the GPUs left idle there."""
    widest, fitting = s.families[family].widest, 0
    for free in range(gpus, widest + 1):
        fitting += s.bucket_size[family, free]
    left = max(min(2, fitting), int(s.rule[0].node_share * fitting + 0.5))
    weight, free, last = 0.0, gpus, left
    while last > 0:
        taken = min(last, s.bucket_size[family, free])
        weight += taken / (1 + free - gpus)
        last -= taken
        free += 1
    aim, free = _uniform(bits) * weight, gpus
    while True:
        size = s.bucket_size[family, free]
        taken = min(left, size)
        share = taken / (1 + free - gpus)
        left -= taken
        if size > 0 and (aim < share or left == 0):
            return s.buckets[family, free, min(size - 1, int(aim / share * size))]
        aim -= share
        free += 1


# ---- elite -----------------------------------------------------------------------------------------------


@compiled
def keep_if_elite(s: Search) -> None:
    """Score the schedule at hand and put it among the elite if it is good and new there."""
    value, count = score(s), s.rule[0].num_elite
    place = _worst(s) if count == len(s.elite_score) else count
    if place < count and value <= s.elite_score[place]:
        return
    for k in range(count):
        if abs(s.elite_score[k] - value) <= SAME_SCORE * abs(value) and _same_configs(s, k):
            return
    s.rule[0].num_elite = max(count, place + 1)
    s.elite_score[place] = value
    s.elite_node[place] = s.node
    s.elite_config[place] = s.config


@compiled
def _worst(s: Search) -> int:
    worst = 0
    for k in range(1, s.rule[0].num_elite):
        if s.elite_score[k] < s.elite_score[worst]:
            worst = k
    return worst


@compiled
def _same_configs(s: Search, k: int) -> bool:
    job = 0
    while job < len(s.config) and s.elite_config[k, job] == s.config[job]:
        job += 1
    return job == len(s.config)


@compiled
def best_of_elite(s: Search) -> int:
    """Return the number of the best schedule kept, the earliest on ties."""
    best = 0
    for k in range(1, s.rule[0].num_elite):
        if s.elite_score[k] > s.elite_score[best]:
            best = k
    return best


@compiled
def load(s: Search, k: int) -> None:
    """Make a schedule of the elite the one at hand; nodes get other numbers, jobs the same companions."""
    clear(s)
    renamed = np.full(len(s.closed), -1)
    for job in range(len(s.node)):
        node, config = s.elite_node[k, job], s.elite_config[k, job]
        if node >= 0:
            if s.nodes[node].fixed_family >= 0:
                renamed[node] = node
            elif renamed[node] < 0:
                renamed[node] = open_node(s, s.configs[config].family)
            add(s, job, renamed[node], config)
    score(s)
