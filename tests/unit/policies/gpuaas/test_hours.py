"""Machines billed by the hour, by hand: leases, what is paid, and Market that uses paid hours up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.domain.cluster import Cluster, VmType
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.domain.timetable import TimeTable
from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import Workload
from dlsched.policies.gpuaas.hours import Leases, market_by_the_hour
from dlsched.policies.gpuaas.instance import Instance, Schedule, violations
from dlsched.policies.gpuaas.market import MarketSettings, market
from dlsched.studies.simulation import Run, simulate
from tests.support.gpuaas_oracle import random_instance
from tests.support.gpuaas_plain import instance

USD_PER_S = np.array([1.0, 10.0])
PURE = MarketSettings(mixing=False)
K1 = VmType(name="k1", gpu_type="K80", gpus=1, usd_per_h=1.0)


def vms(*names: int) -> np.ndarray:
    return np.array(names, dtype=np.int64)


def empty(*open_vms: int) -> Schedule:
    """Return machines without a job."""
    return Schedule(vms(), vms(), vms(*open_vms))


def test_a_started_hour_is_paid_at_once_and_the_next_one_when_it_is_over():
    leases = Leases(USD_PER_S, vms(-1, -1), np.zeros(2))
    assert leases.bill(vms(0, -1), 600.0) == HOUR_S
    assert leases.paid_s.tolist() == [3000.0, 0.0]
    assert leases.bill(vms(0, 1), 3000.0) == 10 * HOUR_S
    assert leases.paid_s.tolist() == [0.0, 600.0]
    assert leases.bill(vms(0, 1), 5000.0) == 2 * HOUR_S + 2 * 10 * HOUR_S


def test_what_is_paid_is_gone_with_its_machine():
    leases = Leases(USD_PER_S, vms(0, 0, 1), np.array([100.0, 300.0, 900.0]))
    kept = leases.copy()
    assert leases.bill(vms(-1, 1, 1), 60.0) == 10 * HOUR_S
    assert leases.paid_s.tolist() == [0.0, 3540.0, 840.0]
    assert kept.bill(vms(0, -1, 1), 100.0) == 0.0
    assert kept.paid_s.tolist() == [0.0, 0.0, 800.0]


def waiting_for(paid_s: float, weight: float) -> tuple[Instance, Schedule, np.ndarray]:
    """Return eight jobs of 1,000 s that are late in 1,000 s, and one node: a machine with one GPU, without a job."""
    point = instance([[[1000.0] * 8]] * 8, 1000.0, [(0, 1, 1.0), (0, 8, 8.0)], nodes=1, weight=weight)
    return point, Schedule(np.full(8, -1), np.zeros(8, dtype=np.int64), vms(0)), np.array([paid_s])


@pytest.mark.parametrize(
    ("paid_s", "weight", "machine"),
    [
        pytest.param(900.0, 0.001, 0, id="lateness costs less than a larger machine saves"),
        pytest.param(900.0, 1000.0, 1, id="jobs pay more for seven GPUs more than the small machine costs"),
        pytest.param(0.0, 0.001, 1, id="nothing is paid"),
    ],
)
def test_a_paid_machine_is_given_up_only_where_the_slot_is_worth_more(paid_s: float, weight: float, machine: int):
    plan = market_by_the_hour(*waiting_for(paid_s, weight), PURE)
    assert plan.schedule.vm.tolist() == [machine]
    assert len(plan.schedule.runs) == (8 if machine else 1)
    assert plan.wake_in == (HOUR_S if machine else paid_s)


def test_while_all_jobs_go_on_for_years_not_every_hour_is_looked_at():
    point = instance([[[1e9]], [[2e9]]], np.inf, [(0, 1, 1.0)], nodes=2)
    plan = market_by_the_hour(point, empty(-1, -1), np.zeros(2), PURE)
    assert len(plan.schedule.runs) == 2
    assert plan.wake_in == 1e6


def test_a_machine_without_a_job_stays_until_its_hour_ends():
    point = instance([[[1000.0], [1000.0]]], 1e6, [(0, 1, 1.0), (1, 1, 2.0)], nodes=2)
    held = Schedule(vms(-1), vms(0), vms(0, 0))
    plan = market_by_the_hour(point, held, np.array([500.0, 200.0]), PURE)
    assert (plan.schedule.vm.tolist(), plan.wake_in) == ([0, 0], 200.0)
    plan = market_by_the_hour(point, held, np.array([500.0, 0.0]), PURE)
    assert (plan.schedule.vm.tolist(), plan.schedule.node.tolist(), plan.wake_in) == ([0, -1], [0], 500.0)


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 2**32), st.integers(0, 12), st.integers(0, 6))
def test_what_is_not_paid_changes_nothing_and_what_is_paid_can_be_carried_out(seed: int, jobs: int, nodes: int):
    dice = np.random.default_rng(seed)
    free = random_instance(dice, jobs=jobs, nodes=nodes, gpus=4)
    open_vms = dice.integers(-1, len(free.vm_price), nodes)
    held = Schedule(np.full(jobs, -1), np.zeros(jobs, dtype=np.int64), open_vms)
    unpaid = market_by_the_hour(free, held, np.zeros(nodes), MarketSettings())
    plain = market(free)
    for name in ("node", "gpus", "vm"):
        assert np.array_equal(getattr(unpaid.schedule, name), getattr(plain.schedule, name))
    plan = market_by_the_hour(free, held, np.full(nodes, 700.0), MarketSettings())
    wrong = [text for text in violations(free, plan.schedule) if "open and empty" not in text]
    assert wrong == []
    if (plan.schedule.vm >= 0).any():
        assert plan.wake_in is not None
        assert 0 < plan.wake_in <= HOUR_S


def by_the_hour(submit_s: list[float], minutes: list[float]) -> Run:
    """Return a run of jobs on two slots for machines with one GPU at $1 an hour; every job may take its time."""
    jobs = Workload.from_columns({
        "job_id": [f"j{n}" for n in range(len(minutes))],
        "submit_s": submit_s,
        "work": 60 * np.array(minutes),
        "profile": ["net"] * len(minutes),
        "due_s": np.full(len(minutes), 1e6),
        "weight_usd_per_s": np.ones(len(minutes)),
    })  # fmt: skip
    speed = SpeedSpec(kind="table", times=TimeTable(rows={"net": {"K80": (1.0,)}}))
    cluster = Cluster(slots=2, catalogue=(K1,))
    rules = SimulationRules(billing="hour")
    run = simulate(Scenario(jobs, cluster, speed=speed, options=rules), "gpuaas-market", {"look_ahead": 0})
    assert run.audit() == []
    return run


def test_the_next_job_runs_on_what_is_paid():
    # one machine is there for 55 minutes; the other holds 20 minutes of work, nothing for 10, and 20 minutes again
    run = by_the_hour([0.0, 0.0, 1800.0], [55.0, 20.0, 20.0])
    assert run.metrics["total_cost"] == pytest.approx(2.0)
    assert len(run.nodes) == 2


def test_an_hour_that_is_over_is_not_followed_by_one_nobody_needs():
    run = by_the_hour([0.0, 0.0], [170.0, 61.0])
    assert run.metrics["total_cost"] == pytest.approx(3 + 2)
    run = by_the_hour([0.0, 0.0], [170.0, 60.0])
    assert run.metrics["total_cost"] == pytest.approx(3 + 1)
    assert sorted((run.nodes["end_s"] - run.nodes["start_s"]).tolist()) == pytest.approx([3600.0, 10200.0])


def test_what_is_paid_is_kept_while_no_job_is_there():
    run = by_the_hour([0.0, 1800.0, 7000.0], [20.0, 20.0, 20.0])
    assert run.metrics["total_cost"] == pytest.approx(2.0)
    assert (run.nodes["end_s"] - run.nodes["start_s"]).tolist() == pytest.approx([3600.0, 1200.0])
