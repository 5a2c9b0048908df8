"""The Gittins index against known indices and against the best of all policies; the policy on small schedules."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import numpy as np
import pytest

from dlsched.domain.errors import InputError
from dlsched.domain.workload import Floats, Ints
from dlsched.policies.baselines.gittins import (
    AGES_GPU_S,
    NEEDS_GPU_S,
    STEPS_PER_DOUBLING,
    UNTIL_GPU_S,
    gittins_ranks,
    inverse_index,
    number_of_need,
)
from dlsched.policies.registry import find
from dlsched.policies.shared.ranks import NUM_WIDTHS, next_learning, width_class
from dlsched.sim.audit import audit
from dlsched.sim.engine import run_engine
from dlsched.sim.log import PieceEnd, RunLog
from dlsched.sim.prepare import prepare
from tests.support.sim_fakes import jobs, nodes, pieces, scenario

# ---- the index -----------------------------------------------------------------------------------------

FINE: Floats = np.arange(1, 4001).astype(np.float64) / 200
"""Needs in steps of 0.005, up to 20."""
LOOKED_AT = FINE[:-1] < 4


def masses(survival: Floats) -> Floats:
    """Return how often each need occurs, from how likely a job needs more than that; the rest at the last."""
    more = np.concatenate([[1.0], survival[:-1], [0.0]])
    return more[:-1] - more[1:]


def index_of(survival: Floats) -> Floats:
    found = inverse_index(masses(survival), FINE - 0.0025, FINE, np.ones(len(FINE)))
    return found[1:][LOOKED_AT]  # at the ages FINE[:-1]


def test_exponential_needs_have_a_constant_index():
    assert index_of(np.exp(-FINE / 0.7)) == pytest.approx(0.7, rel=0.01)


def test_hyperexponential_needs_have_their_hazard_as_index():
    """The hazard falls, so serving a job on to any later age is worth less than serving it for a moment."""
    parts = 0.9 * np.exp(-FINE / 0.1), 0.1 * np.exp(-FINE / 2.0)
    hazard = (parts[0] / 0.1 + parts[1] / 2.0) / (parts[0] + parts[1])
    found = index_of(parts[0] + parts[1])
    assert found == pytest.approx(1 / hazard[:-1][LOOKED_AT], rel=0.05)
    assert (np.diff(found[:200]) > 0).all()


def test_a_fixed_need_has_what_is_left_as_index():
    weights = np.where(np.arange(len(FINE)) == 399, 3.0, 0.0)  # need 2
    found = inverse_index(weights, FINE, FINE, np.ones(len(FINE)))
    assert found[:400] == pytest.approx(2 - np.concatenate([[0.0], FINE[:399]]))
    assert np.isinf(found[400:]).all()


def test_uniform_needs_have_what_is_left_on_average_as_index():
    found = index_of(np.maximum(0.0, 1 - FINE / 4))
    assert found[:700] == pytest.approx((4 - FINE[:700]) / 2, rel=0.02)


def test_two_needs_by_hand():
    """Half need 1, half 10. At 0: until 1, 1 second for half an end = 2; until the end, 5.5 seconds for one."""
    weights, needs = np.array([5.0, 5.0]), np.array([1.0, 10.0])
    assert inverse_index(weights, needs, needs, np.ones(2)).tolist() == [2.0, 9.0]
    assert inverse_index(weights, needs, needs, 1 / needs).tolist() == [2.0, 90.0]


# ---- against the best of all policies -------------------------------------------------------------------

NEEDS = np.array([1.0, 2.0, 5.0, 9.0])
DONE = len(NEEDS)


def expected_costs(weights: Floats, worth: Floats, index: Floats) -> tuple[float, float]:
    """Return the expected sum of worth x completion time on one machine: the least possible, and by the index.

    All jobs are there at 0; ``weights`` and ``index`` (jobs, needs), ``worth`` (needs,). A state is the age of each
    job, by number of the next need.
    """
    steps = np.diff(NEEDS, prepend=0.0)

    def still_worth(job: int, age: int) -> float:
        older = weights[job, age:]
        return float((older * worth[age:]).sum() / older.sum())

    def after(job: int, state: tuple[int, ...], value: Any) -> float:
        age, cost = state[job], 0.0
        ends = weights[job, age] / weights[job, age:].sum()
        cost = steps[age] * sum(still_worth(one, at) for one, at in enumerate(state) if at < DONE)
        for chance, later in ((ends, DONE), (1 - ends, age + 1)):
            if chance > 0:
                cost += chance * value((*state[:job], later, *state[job + 1 :]))
        return cost

    @cache
    def best(state: tuple[int, ...]) -> float:
        return min((after(job, state, best) for job, age in enumerate(state) if age < DONE), default=0.0)

    @cache
    def by_index(state: tuple[int, ...]) -> float:
        active = [job for job, age in enumerate(state) if age < DONE]
        if not active:
            return 0.0
        return after(min(active, key=lambda job: index[job, state[job]]), state, by_index)

    start = (0,) * len(weights)
    return best(start), by_index(start)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("worth", [np.ones(len(NEEDS)), 1 / NEEDS], ids=["turnaround", "slowdown"])
def test_no_policy_beats_the_index(worth: Floats, seed: int):
    """Three jobs of different kinds; among them needs that do not occur."""
    weights = np.random.default_rng(seed).integers(0, 6, (3, len(NEEDS))).astype(float)
    weights[:, -1] += 1
    index = np.array([inverse_index(one, NEEDS, NEEDS, worth) for one in weights])
    best, by_index = expected_costs(weights, worth, index)
    assert by_index == pytest.approx(best, rel=1e-12)
    worst = expected_costs(weights, worth, -index)[1]
    assert worst > best * (1 + 1e-6)


# ---- ranks ----------------------------------------------------------------------------------------------

NO_SAMPLE = np.zeros(len(NEEDS_GPU_S), dtype=np.int64)


def counted(*needed_gpu_s: float) -> Ints:
    return np.bincount(number_of_need(np.array(needed_gpu_s)), minlength=len(NEEDS_GPU_S))


def ranks_of(
    sample: Ints,
    ended: Ints | None = None,
    *,
    by_width: bool = False,
    goal: Literal["slowdown", "turnaround"] = "turnaround",
) -> Ints:
    ended = np.zeros((NUM_WIDTHS, len(sample)), dtype=np.int64) if ended is None else ended
    return gittins_ranks(ended, sample, by_width=by_width, goal=goal)


def test_needs_count_as_the_next_larger():
    assert UNTIL_GPU_S[number_of_need(np.array([0.5, 1.0, 1.0 + 1e-12, 1.5, 4096.0, 5000.0, 1e12]))] == pytest.approx(
        [1.0, 1.0, 1.0, 2.0, 4096.0, 2**12.5, 2**31.5]
    )


def test_without_a_sample_ranks_rise_with_the_age():
    (of_one_gpu, *_) = ranks_of(NO_SAMPLE)
    assert (np.diff(of_one_gpu[1:-5]) > 0).all()


def test_a_large_sample_outweighs_what_is_assumed_before():
    """Exponential: level within a step or two where jobs are; fixed: falling; both as the known index."""
    chances = (np.arange(20_000) + 0.5) / 20_000
    exponential = ranks_of(counted(*(-3600 * np.log(chances))))[0]
    there = (AGES_GPU_S > 60) & (AGES_GPU_S < 10_000)
    assert np.ptp(exponential[there]) <= 2
    fixed = ranks_of(counted(*[4096.0] * 20_000))[0]
    before = AGES_GPU_S < 4096
    expected = STEPS_PER_DOUBLING * np.log2((2**11.5 + 4096) / 2 - AGES_GPU_S[before])
    assert fixed[before] == pytest.approx(expected, abs=1)
    assert (np.diff(fixed[before]) <= 0).all()


def test_each_width_has_its_own_jobs():
    ended = np.zeros((NUM_WIDTHS, len(NEEDS_GPU_S)), dtype=np.int64)
    ended[0], ended[3] = 500 * counted(100_000.0), 500 * counted(800.0)
    narrow, wide = ranks_of(NO_SAMPLE, ended, by_width=True)[[0, 3]]
    assert narrow[0] > wide[0] + 20
    together = ranks_of(NO_SAMPLE, ended)
    assert (together[0] == together[3]).all()


def test_slowdown_puts_the_wide_first_of_jobs_that_need_as_much_gpu_time():
    sample = 500 * counted(80_000.0)
    ranks = ranks_of(sample, goal="slowdown")
    assert ranks[0, 0] == ranks[1, 0] + STEPS_PER_DOUBLING == ranks[3, 0] + 3 * STEPS_PER_DOUBLING


def test_widths_and_when_ranks_are_made_anew():
    assert width_class(np.array([0.0, 0.5, 1, 2, 3, 4, 5, 8, 1e9])).tolist() == [0, 0, 0, 1, 2, 2, 3, 3, 15]
    assert [next_learning(count) for count in (1, 9, 10, 25, 1000)] == [2, 10, 11, 27, 1100]


# ---- the policy -----------------------------------------------------------------------------------------


def run(*rows: tuple[float, float, int], **params: Any) -> RunLog:
    spec = find("gittins")
    return run_engine(prepare(scenario(jobs(*rows), nodes(1, gpus=1))), spec.build(spec.parse(params)))


FIXED = [4096.0] * 1000
MIXED = [*[64.0] * 900, *[100_000.0] * 100]


def test_jobs_that_are_alike_run_to_their_ends():
    log = run((0, 4096, 1), (100, 4096, 1), (200, 4096, 1), sample_gpu_s=FIXED)
    assert log.job_end_s.tolist() == [4096, 8192, 12_288]
    assert not (log.piece_end == PieceEnd.PREEMPTED).any()


def test_a_job_that_has_turned_out_long_makes_way_for_one_that_is_likely_short():
    log = run((0, 50_000, 1), (30, 40, 1), (5000, 60, 1), sample_gpu_s=MIXED)
    assert log.job_end_s.tolist() == [50_100, 104, 5060]  # the second waits until 64: the first may be short too
    assert (log.piece_end == PieceEnd.PREEMPTED).sum() == 2


def two_nodes(sample_gpu_s: list[float], **params: Any) -> RunLog:
    """Return the log of two long jobs alone on two nodes of 2 GPUs each, when one of 2 GPUs comes at 200.

    The short jobs beside them, from 0 to 100, are why they are not on one node.
    """
    rows = (0, 50_000, 1), (0, 100, 1), (0, 50_000, 1), (0, 100, 1), (200, 60, 2)
    spec = find("gittins")
    prepared = prepare(scenario(jobs(*rows), nodes(2, gpus=2)))
    log = run_engine(prepared, spec.build(spec.parse({"sample_gpu_s": sample_gpu_s} | params)))
    assert audit(prepared.scenario, prepared.truth, log) == []
    return log


def test_a_wide_job_takes_a_node_from_jobs_behind_it():
    """Two GPUs are free, on two nodes: the last of those behind moves to the other node."""
    log = two_nodes(MIXED)
    assert pieces(log, 4) == [(200, 260, 2, PieceEnd.COMPLETED)]
    assert [piece[3] for piece in pieces(log, 2)] == [PieceEnd.MOVED, PieceEnd.COMPLETED]
    assert log.job_end_s[[0, 2]].tolist() == [50_000, 50_000]


def test_a_wide_job_takes_no_node_from_jobs_ahead_of_it():
    """Of jobs that are alike, those that have come far are ahead."""
    log = two_nodes([50_000.0] * 1000, goal="turnaround")
    assert not (log.piece_end == PieceEnd.MOVED).any()
    assert pieces(log, 4)[0][0] == 50_000


def test_it_learns_from_the_jobs_of_the_run():
    """The same two jobs at the end: after 200 equal jobs the first is not stopped, without them it is."""
    last = (0, 4096, 1), (1000, 4096, 1)
    known = [(0.0, 4096.0, 1)] * 200
    alone = run(*last)
    assert alone.job_end_s[0] > 4096
    later = 200 * 4096.0
    log = run(*known, *((at + later, work, width) for at, work, width in last))
    assert log.job_end_s[-2:].tolist() == [later + 4096, later + 8192]


def test_a_sample_from_text_and_its_rules():
    spec = find("gittins")
    assert spec.parse({"sample_gpu_s": "3600, 60"}) == spec.parse({"sample_gpu_s": [3600, 60]})
    assert spec.parse({"sample_gpu_s": ""}) == spec.parse({})
    for bad in ("0", "-1, 5", "nan", "inf", "a"):
        with pytest.raises(InputError, match="sample_gpu_s"):
            spec.parse({"sample_gpu_s": bad})
