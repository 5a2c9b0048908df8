"""Finish-time fairness on schedules worked out by hand; one node."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dlsched.domain.errors import InputError
from dlsched.domain.workload import Workload
from dlsched.policies.baselines.themis import by_fairness, finish_time_fairness
from dlsched.policies.registry import find
from dlsched.sim.engine import run_engine
from dlsched.sim.log import RunLog
from dlsched.sim.prepare import prepare
from dlsched.studies.simulation import simulate
from tests.support.sim_fakes import Fake, fifo_plan, jobs, nodes, pieces, scenario


def run(key: str, workload: Workload, gpus: int = 8, **params: Any) -> RunLog:
    spec = find(key)
    return run_engine(prepare(scenario(workload, nodes(1, gpus=gpus))), spec.build(spec.parse(params)))


def spans(log: RunLog, row: int) -> list[tuple[float, float]]:
    return [piece[:2] for piece in pieces(log, row)]


def asked_at(time_s: float, workload: Workload, ask: Any) -> Any:
    """Return what ``ask`` says of the state and its active rows at a time, on 8 GPUs under FIFO."""
    answers = {}

    def plan(state: Any) -> Any:
        answers[state.now_s] = ask(state, state.active)
        return fifo_plan(state)

    run_engine(prepare(scenario(workload)), Fake(plan))
    return answers[time_s]


def test_fairness_by_hand():
    """At 100: a has run 100 of 400 s on all 8 GPUs, b waits since 0 for 50 s on 2, c has just come for 60 s on 4.

    A fair part is 8 / 3 GPUs: a would take 400 * 8 / (8 / 3) = 1200 s there, b 50 s, c 60 * 4 / (8 / 3) = 90 s.
    """
    workload = jobs((0, 400, 8), (0, 50, 2), (100, 60, 4))
    rho = asked_at(100.0, workload, finish_time_fairness)
    assert rho == pytest.approx([400 / 1200, 150 / 50, 60 / 90])


def test_places_by_lease_filter_and_gain():
    """At 100, a multiple of the lease, all three compete; gains ln(1 + 100 / (400, 150, 60)) by 8, 2, 4 GPUs."""
    workload = jobs((0, 400, 8), (0, 50, 2), (100, 60, 4))

    def places(lease_s: float, filter_share: float) -> list[float]:
        found = asked_at(100.0, workload, lambda state, rows: by_fairness(state, rows, lease_s, filter_share))
        return np.argsort(found).tolist()

    assert places(100.0, 0.9) == [1, 2, 0]  # one is offered GPUs: b; then by rho
    gains = np.log1p(100 / np.array([400, 150, 60])) / np.array([8, 2, 4])
    assert places(100.0, 0.0) == np.argsort(-gains).tolist() == [1, 2, 0]
    wide = np.log1p(1e-3 / np.array([400, 150, 60])) / np.array([8, 2, 4])
    assert np.argsort(-wide).tolist() == [2, 1, 0]
    assert places(1e-3, 0.0) == [2, 1, 0]
    assert places(1e-3, 0.9) == [1, 2, 0]
    assert places(90.0, 0.0) == [0, 1, 2]  # a has a lease until 180


def test_a_lease_ends_and_who_is_worse_off_goes_on():
    log = run("themis", jobs((0, 1000, 8), (0, 100, 8)), lease_s=100)
    assert spans(log, 0) == [(0, 100), (200, 1100)]  # as fair at 0, then 0.5 against 1
    assert spans(log, 1) == [(100, 200)]


def test_what_is_free_within_a_lease_is_given_out_at_once():
    log = run("themis", jobs((0, 1000, 4), (0, 30, 4), (10, 50, 4)), lease_s=500)
    assert [spans(log, row) for row in range(3)] == [[(0, 1000)], [(0, 30)], [(30, 80)]]


def test_the_worst_off_is_better_off_than_under_fifo_and_srtf():
    """A long job, a stream of short ones that FIFO delays in turn and SRTF always puts first, and a tiny one.

    FIFO: the tiny one waits for the long one, (1000 - 100 + 50) / 50 = 19 times its run time at least. SRTF: the long
    one waits for the whole stream, 10 * 500 s.
    """
    workload = jobs((0, 1000, 1), *((500.0 * number, 500, 1) for number in range(10)), (100, 50, 1))

    def worst(key: str, **params: Any) -> float:
        log = run(key, workload, gpus=1, **params)
        return float(((log.job_end_s - workload.submit_s) / workload.work).max())

    fair, fifo, srtf = worst("themis", lease_s=50), worst("fifo"), worst("srtf")
    assert fifo >= 19
    assert srtf >= 6
    assert fair < min(fifo, srtf)


def test_a_lease_must_be_longer_than_a_restart():
    with pytest.raises(InputError, match="policy themis, lease_s: must be above the restart time of 60 s"):
        simulate(scenario(jobs((0, 1, 1)), restart_s=60.0), "themis", {"lease_s": 60})
