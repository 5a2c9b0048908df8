"""Jobs that wait although there is room, and slots that are used up where jobs press: by hand."""

from __future__ import annotations

import numpy as np
import pytest

from dlsched.policies.gpuaas.instance import Instance, objective, violations
from dlsched.policies.gpuaas.market import MarketSettings, in_tiers, market
from tests.support.gpuaas_oracle import random_instance
from tests.support.gpuaas_plain import instance

INF = np.inf
PURE = MarketSettings(mixing=False)
ONE_TO_EIGHT = [(0, 1, 1.0), (0, 2, 2.0), (0, 4, 4.0), (0, 8, 8.0)]
ONE_GPU = [[10.0] * 8]
"""Times of a job that more GPUs do not make faster."""


def jobs(count: int, slack: float, nodes: int, **more: object) -> Instance:
    return instance([ONE_GPU] * count, slack, ONE_TO_EIGHT, nodes=nodes, **more)


def test_jobs_that_can_spare_the_time_wait_where_a_smaller_machine_is_full_without_them():
    plan = market(jobs(7, 1000.0, nodes=1))
    # seven GPUs of a machine with eight for $8, or four of one with four for $4 and three later at $1 each
    assert plan.schedule.vm.tolist() == [2]
    assert np.bincount(plan.schedule.node + 1).tolist() == [3, 4]


def test_jobs_that_leave_a_large_machine_take_small_ones_while_there_are_slots():
    plan = market(jobs(7, 1000.0, nodes=3))
    assert sorted(plan.schedule.vm.tolist()) == [0, 0, 2]
    assert len(plan.schedule.runs) == 6
    plan = market(jobs(7, 1000.0, nodes=4))
    assert sorted(plan.schedule.vm.tolist()) == [0, 0, 0, 2]
    assert len(plan.schedule.runs) == 7


@pytest.mark.parametrize("slack", [pytest.param(25.0, id="little to spare"), pytest.param(INF, id="no due date")])
def test_jobs_do_not_wait_without_much_time_to_spare_or_an_end_of_their_waiting(slack: float):
    assert len(market(jobs(7, slack, nodes=1)).schedule.runs) == 7


def test_a_full_machine_loses_nobody():
    assert len(market(jobs(8, 1000.0, nodes=1)).schedule.runs) == 8
    assert len(market(jobs(12, 1000.0, nodes=2)).schedule.runs) == 12


def test_jobs_that_run_are_stopped_only_where_jobs_may_change():
    going = jobs(7, 1000.0, nodes=1, running=np.arange(7) < 6)
    assert len(market(going, PURE).schedule.runs) == 7  # without the seventh the machine has eight GPUs all the same
    assert len(market(going).schedule.runs) == 4


def test_jobs_that_wait_are_those_that_can_spare_most():
    slack = np.array([500.0, 900.0, 400.0, 800.0, 600.0, 300.0, 700.0])
    waits = np.flatnonzero(market(instance([ONE_GPU] * 7, slack, ONE_TO_EIGHT, nodes=1)).schedule.node < 0)
    assert waits.tolist() == [1, 3, 6]


STEEP = [(0, 1, 1.0), (0, 2, 3.0), (0, 4, 9.0)]
NEARLY_TWO = [[12.0, 6.0, 5.5, 5.0]]


def test_no_gpus_of_slots_idle_while_jobs_press():
    """Two jobs on one slot, each in time with two GPUs: in turn on the small machine, or both on the one with four."""
    pressed = instance([NEARLY_TWO] * 2, 7.0, STEEP, nodes=1, weight=2.0)
    assert len(in_tiers(pressed).most_gpus) == 3
    assert market(pressed).schedule.gpus.tolist() == [2, 2]
    patient = instance([NEARLY_TWO] * 2, 200.0, STEEP, nodes=1, weight=2.0)
    assert market(patient).schedule.vm.tolist() == [0]


@pytest.mark.parametrize("seed", range(200))
def test_waiting_jobs_leave_a_plan_that_can_be_carried_out(seed: int):
    dice = np.random.default_rng(seed)
    point = random_instance(dice, jobs=int(dice.integers(1, 20)), nodes=int(dice.integers(1, 6)), gpus=8, holes=False)
    point = point.of_jobs(point.times, 100 * np.abs(point.slack), point.weight, point.running)
    plan = market(point)
    assert violations(point, plan.schedule) == []
    assert len(plan.schedule.runs) > 0
    assert np.isfinite(objective(point, plan.schedule))
