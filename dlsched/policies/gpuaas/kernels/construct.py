"""Algorithm 1: greedy construction of a schedule, exact or randomised."""

from __future__ import annotations

import numpy as np

from dlsched.policies.gpuaas.kernels.compiled import compiled, inlined
from dlsched.policies.gpuaas.kernels.state import add, best_fit, clear, open_node, settle
from dlsched.policies.gpuaas.kernels.tables import Ints, Search, Table

_STEP, _MIX_A, _MIX_B = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31 = np.uint64(30), np.uint64(27), np.uint64(31)
_PART, _MASK = np.uint64(21), np.uint64((1 << 21) - 1)
_UNIT = 2.0**-21


@compiled
def _mixed(bits: np.uint64) -> np.uint64:
    """Return 64 random bits for a state of the generator (SplitMix64)."""
    bits = (bits ^ (bits >> _30)) * _MIX_A
    bits = (bits ^ (bits >> _27)) * _MIX_B
    return bits ^ (bits >> _31)


@compiled
def _uniform(bits: np.uint64) -> float:
    """Return the lowest 21 bits as a number in [0, 1)."""
    return np.float64(np.int64(bits & _MASK)) * _UNIT


@compiled
def construct(s: Search, with_dice: bool) -> None:
    """Build a schedule: jobs by pressure, each on the configuration and node that suit it best, or nearly."""
    order, jobs, rule = s.order, s.jobs, s.rule
    random, last = rule[0].random, len(order) - 1
    clear(s.nodes, s.families, s.buckets, s.closed, rule[0].most_gpus)
    job, bits = order[0], np.uint64(0)
    for k in range(last + 1):
        following = order[min(k + 1, last)]
        if with_dice:
            random += _STEP
            bits = _mixed(random)
            job, following = _swapped(job, following, k < last and _uniform(bits) < jobs[job].swap)
        fits = _place(s, job, bits >> _PART, with_dice)
        if not fits and _is_full(s.families):
            break
        job = following
    rule[0].random = random


@compiled
def _swapped(a: int, b: int, is_swapped: bool) -> tuple[int, int]:
    return (b if is_swapped else a), (a if is_swapped else b)


@inlined
def _place(s: Search, job: int, bits: np.uint64, with_dice: bool) -> bool:
    """Start a job: on an open node, else on a new one, else in the best configuration that fits; False = waits."""
    choices, nodes, held, families, buckets = s.choices, s.nodes, s.held, s.families, s.buckets
    facts = s.jobs[job]
    rank = _draw_rank(choices, job, facts.num_picks, _uniform(bits)) if with_dice else 0
    choice = choices[job, rank]
    if choice.gpus > families[choice.family].widest:
        if s.closed[0] > 0:
            node = open_node(nodes, families, buckets, s.closed, choice.family, s.rule[0].most_gpus)
            add(nodes, held, families, buckets, job, node, choice.gpus)
            return True
        rank = _best_rank_now(choices, families, job, facts.num_ranked)
        if rank < 0:
            return False
        choice = choices[job, rank]
    family, gpus = choice.family, choice.gpus
    if with_dice:
        share, chance = s.rule[0].node_share, _uniform(bits >> _PART)
        free, place = _draw_place(buckets, families[family], family, gpus, share, chance)
        settle(nodes, held, families, buckets, family, free, place, job, gpus)
    else:
        add(nodes, held, families, buckets, job, best_fit(buckets, family, gpus), gpus)
    return True


@compiled
def _draw_rank(choices: Table, job: int, num_picks: int, chance: float) -> int:
    """Return a place among the best configurations of a job."""
    rank = 0
    for k in range(num_picks - 1):  # no early end: a branch on dice is a branch mispredicted
        rank += chance >= choices[job, k].chance
    return rank


@compiled
def _best_rank_now(choices: Table, families: Table, job: int, num_ranked: int) -> int:
    """Return the place of the best configuration that fits an open node, -1 = none."""
    for rank in range(num_ranked):
        if choices[job, rank].gpus <= families[choices[job, rank].family].widest:
            return rank
    return -1


@compiled
def _is_full(families: Table) -> bool:
    roomy = 0
    for family in range(len(families)):
        roomy += families[family].roomy
    return roomy == 0


@compiled
def _draw_place(buckets: Ints, facts: Table, family: int, gpus: int, share: float, chance: float) -> tuple[int, int]:
    """Return bucket and place in it of one of the open nodes that fit best.

    At least two are drawn from where there are; the probability is inverse to one more than the GPUs left idle.
    """
    if share * facts.roomy + 0.5 < 3:
        return _draw_of_two(buckets, facts.widest, family, gpus, chance)
    fitting = 0
    for free in range(gpus, facts.widest + 1):
        fitting += buckets[family, free, 0]
    keep = min(fitting, max(2, int(share * fitting + 0.5)))
    weight, free, left = 0.0, gpus, keep
    while left > 0:
        taken = min(left, buckets[family, free, 0])
        weight += taken / (1.0 + free - gpus)
        left -= taken
        free += 1
    aim, free, left = chance * weight, gpus, keep
    while True:
        size = buckets[family, free, 0]
        taken = min(left, size)
        part = taken / (1.0 + free - gpus)
        left -= taken
        if size > 0 and (aim < part or left == 0):
            return free, 1 + min(size - 1, int(aim / part * size))
        aim -= part
        free += 1


@compiled
def _draw_of_two(buckets: Ints, widest: int, family: int, gpus: int, chance: float) -> tuple[int, int]:
    """Return bucket and place of one of the two open nodes that fit best."""
    first = gpus
    while buckets[family, first, 0] == 0:
        first += 1
    size = buckets[family, first, 0]
    if size > 1:
        return first, 1 + (chance * size >= 1)
    if first == widest:
        return first, 1
    second = first + 1
    while buckets[family, second, 0] == 0:
        second += 1
    if chance * (2 + first + second - 2 * gpus) < 1 + second - gpus:
        return first, 1
    return second, 1
