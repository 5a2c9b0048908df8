"""Market against hand calculation, plain enumeration and the bound it should reach."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.policies.gpuaas.instance import Instance, violations
from dlsched.policies.gpuaas.market import MarketSettings, _rules, _tables, _time_to_fall, in_tiers, market
from dlsched.policies.gpuaas.market_kernels.decide import decide
from dlsched.policies.gpuaas.repair import can_open_enough
from dlsched.speed.mixing import job_lower_bounds
from tests.support.gpuaas_oracle import random_instance
from tests.support.gpuaas_plain import instance

INF = np.inf
PURE = MarketSettings(mixing=False)
ONE_TO_TWO = [(0, 1, 1.0), (0, 2, 2.0)]
SPEED_UP = [[10.0, 6.0]]


def chosen(plan: Any) -> list[int]:
    return plan.schedule.gpus.tolist()


def rules_of(tables: Any) -> Any:
    return _rules(MarketSettings(), _time_to_fall(tables, MarketSettings()))


# ---- one job --------------------------------------------------------------------------------------------


def test_fast_first_then_cheap_meets_the_due_date():
    plan = market(instance([SPEED_UP], 8.0, ONE_TO_TWO, weight=9.0))
    assert chosen(plan) == [2]
    assert plan.wake_in == pytest.approx(3.0)  # half of the work on two GPUs, the other half on one: 3 + 5 = 8
    assert plan.price == 0.0
    assert plan.prices.tolist() == [0.0]


def test_after_the_switch_it_stays_slow_whatever_the_last_bit():
    for error in (-1e-9, 0.0, 1e-9):
        plan = market(instance([[[5.0, 3.0]]], 5.0 + error, ONE_TO_TWO, weight=9.0))
        assert (chosen(plan), plan.wake_in) == ([1], None)


@pytest.mark.parametrize(
    ("slack", "weight", "gpus", "wake_in"),
    [
        (12.0, 9.0, 1, None),
        (INF, 9.0, 1, None),
        (8.0, 0.4, 1, None),  # the faster one costs 2 $ for 4 time units: lateness at 0.4 $ is cheaper
        (8.0, 0.6, 2, 3.0),
        (8.0, 0.0, 1, None),
        (5.0, 9.0, 2, None),
        (-5.0, 9.0, 2, None),
    ],
)
def test_what_a_job_alone_does(slack, weight, gpus, wake_in):
    plan = market(instance([SPEED_UP], slack, ONE_TO_TWO, weight=weight))
    assert chosen(plan) == [gpus]
    assert plan.wake_in == (None if wake_in is None else pytest.approx(wake_in))


def test_without_mixing_the_cheapest_single_configuration():
    plan = market(instance([SPEED_UP], 8.0, ONE_TO_TWO, weight=9.0), PURE)
    assert (chosen(plan), plan.wake_in) == ([2], None)


def test_mixes_across_gpu_types():
    # one GPU of type 0: 10 h, 10 $; one of type 1: 5 h, 15 $; due in 8: 0.4 of the work on type 1 = 2 h
    plan = market(instance([[[10.0], [5.0]]], 8.0, [(0, 1, 1.0), (1, 1, 3.0)], weight=9.0))
    assert plan.schedule.vm.tolist() == [1]
    assert plan.wake_in == pytest.approx(2.0)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32))
def test_a_job_alone_costs_its_lower_bound_to_the_end(seed):
    """With a machine of every size at one price per GPU, following the plan from switch to switch is optimal."""
    rng = np.random.default_rng(seed)
    families, gpus = int(rng.integers(1, 4)), int(rng.integers(1, 6))
    per_gpu = rng.uniform(0.5, 3, families)
    machines = [(f, g + 1, per_gpu[f] * (g + 1)) for f in range(families) for g in range(gpus)]
    times = rng.uniform(5, 20, (1, families, gpus))
    slack, weight = float(rng.uniform(-5, 25)), float(rng.choice([0.0, rng.uniform(0, 50)]))
    bound = job_lower_bounds(times, per_gpu, np.array([slack]), np.array([weight]))[0]
    now, left, bill = 0.0, 1.0, 0.0
    while left > 1e-12:
        point = instance(times * left, slack - now, machines, weight=weight)
        plan = market(point)
        vm, held = int(plan.schedule.vm[0]), int(plan.schedule.gpus[0])
        whole = times[0, point.vm_family[vm], held - 1]
        runs = min(whole * left, INF if plan.wake_in is None else plan.wake_in)
        now, left, bill = now + runs, left - runs / whole, bill + runs * point.vm_price[vm]
    assert bill + weight * max(0.0, now - slack) == pytest.approx(bound, rel=1e-5)


# ---- prices ---------------------------------------------------------------------------------------------


def law_instance(rng: np.random.Generator, jobs: int, nodes: int) -> Instance:
    """Jobs whose speed-up follows Amdahl's law, on a catalogue of two GPU types of one price per GPU."""
    part = rng.uniform(0.7, 0.95, jobs)
    gpus = np.arange(1, 9)
    slow = rng.uniform(40, 160, jobs)[:, None] * (1 - part[:, None] + part[:, None] / gpus)
    times = np.stack([slow, slow * rng.uniform(0.8, 1.0, jobs)[:, None]], axis=1)
    machines = [(f, g, price * g) for f, price in enumerate((0.56, 0.62)) for g in (1, 2, 4, 8)]
    slack = rng.uniform(-1, 3, jobs) * times.min(axis=(1, 2))
    return instance(times, slack, machines, nodes, weight=rng.uniform(10, 50, jobs))


def plain_choice(point: Instance, job: int, price: np.ndarray, slack: float) -> tuple[float, tuple[int, int]]:
    """Least cost of a job and its first configuration, by trying all configurations and all pairs."""
    _, families, gpus = point.times.shape
    configs = list(product(range(families), range(gpus)))
    time = np.array([point.times[job, f, g] for f, g in configs])
    cost = np.array([point.times[job, f, g] * (g + 1) * price[f] for f, g in configs])
    best = min(zip((cost + point.weight[job] * np.maximum(0, time - slack)).tolist(), configs, strict=True))
    for slow, fast in product(range(len(configs)), repeat=2):
        if time[fast] < slack < time[slow]:
            share = (slack - time[fast]) / (time[slow] - time[fast])
            best = min(best, (float(share * cost[slow] + (1 - share) * cost[fast]), configs[fast]))
    return best


@pytest.mark.parametrize("seed", range(9))  # with 7 and 8 a job asks for more at a higher price
def test_the_price_clears_the_pool_and_a_lower_one_does_not(seed):
    rng = np.random.default_rng(seed)
    point = law_instance(rng, jobs=25, nodes=3)
    plan = market(point)
    rules = rules_of(_tables(point))
    per_gpu = np.array([0.56, 0.62])

    def demand(extra: float) -> int:
        asked = 0
        for job in range(point.num_jobs):
            cost, (_, gpus) = plain_choice(point, job, per_gpu + extra, point.slack[job])
            later = plain_choice(point, job, per_gpu + rules.later_price * extra, point.slack[job] - rules.wait)[0]
            asked += gpus + 1 if cost <= later else 0
        return asked

    assert plan.price > 0
    assert plan.prices[0] == plan.prices[1] == plan.price  # nodes of both types hold 8 GPUs
    assert demand(plan.price) <= 24 < demand(plan.price * 0.98)
    assert plan.schedule.used.sum() == 24  # what the price leaves over goes to those that save most by it


@pytest.mark.parametrize("seed", range(3))
def test_costs_of_running_are_the_least_over_all_pairs(seed):
    point = law_instance(np.random.default_rng(seed), jobs=25, nodes=3)
    tables = _tables(point)
    decide(tables, rules_of(tables))
    for job in range(point.num_jobs):
        expected, _ = plain_choice(point, job, tables.quote, point.slack[job])
        assert tables.run_cost[job] == pytest.approx(expected)


def test_ample_capacity_costs_nothing_extra_and_everybody_does_as_alone():
    rng = np.random.default_rng(1)
    point = law_instance(rng, jobs=12, nodes=12)
    plan = market(point)
    assert plan.price == 0.0
    assert (plan.schedule.node >= 0).all()
    families = point.vm_family[plan.schedule.vm[plan.schedule.node]]
    for job in range(point.num_jobs):
        _, (family, gpus) = plain_choice(point, job, np.array([0.56, 0.62]), point.slack[job])
        assert families[job] == family
        assert plan.schedule.gpus[job] >= gpus + 1  # GPUs that are paid anyway may come on top


def test_who_loses_most_by_waiting_runs():
    point = instance([[[10.0]]] * 3, 0.0, [(0, 1, 1.0)], 1, weight=[1.0, 3.0, 2.0])
    plan = market(point)
    assert plan.schedule.node.tolist() == [-1, 0, -1]
    assert plan.price > 0


def test_nodes_that_stay_have_a_price_for_each_gpu_type():
    times = [[[10.0], [INF]]] * 3 + [[[INF], [10.0]]]
    machines = [(0, 1, 1.0), (1, 1, 1.0)]
    plan = market(instance(times, 0.0, machines, [0, 1], weight=[1.0, 3.0, 2.0, 1.0]))
    assert plan.schedule.node.tolist() == [-1, 0, -1, 1]
    assert plan.prices[0] > 0
    assert plan.prices[1] == 0
    assert plan.price == plan.prices[0]


@pytest.mark.parametrize(("seed", "jobs"), [(0, 9), (5, 40)])
def test_decisions_do_not_depend_on_the_unit_of_time(seed, jobs):
    point = law_instance(np.random.default_rng(seed), jobs, nodes=3)
    long = MarketSettings(wait=1e9)
    seconds = replace(
        point,
        times=point.times * 1024,
        slack=point.slack * 1024,
        weight=point.weight / 1024,
        vm_price=point.vm_price / 1024,
    )
    one, other = market(point, long), market(seconds, long)
    assert one.price > 0
    assert chosen(one) == chosen(other)
    assert other.price * 1024 == pytest.approx(one.price)
    wakes = [INF if plan.wake_in is None else plan.wake_in for plan in (one, other)]
    assert wakes[1] == pytest.approx(wakes[0] * 1024)


def test_the_price_is_taken_to_fall_with_the_backlog_and_the_mean_run():
    # thriftiest: one GPU, half a node, for 10 and 30; backlog (5 + 15) / 1 node = 20, mean 20
    point = instance([[[10.0, 6.0]], [[30.0, 20.0]], [[INF, INF]]], 1.0, ONE_TO_TWO, 1)
    assert _time_to_fall(_tables(point), MarketSettings(horizon=1.0)) == pytest.approx(20 + 0.4 * 20)
    nobody = instance([[[INF, INF]]], 1.0, ONE_TO_TWO, 1)
    assert _time_to_fall(_tables(nobody), MarketSettings()) == 0.0


# ---- packing --------------------------------------------------------------------------------------------


def test_machines_dear_for_their_size_are_avoided_while_there_are_nodes():
    dear = [(0, 1, 1.0), (0, 2, 3.0)]
    times = [[[10.0, 9.0]], [[10.0, 9.0]]]
    assert market(instance(times, INF, dear, 2)).schedule.vm.tolist() == [0, 0]
    in_turn = market(instance(times, INF, dear, 1)).schedule  # 10 h at $1 twice, not 10 h at $3
    assert in_turn.node.tolist() == [0, -1]
    assert in_turn.vm.tolist() == [0]
    shared = market(instance(times, 10.0, dear, 1, weight=9.0)).schedule
    assert shared.node.tolist() == [0, 0]
    assert shared.vm.tolist() == [1]


def test_a_gpu_type_is_split_where_gpus_of_larger_machines_cost_more():
    # per GPU 1, 1.05, 1.5 and 1.2: the machine with 4 costs 1.2 at least, as do all with at least 4
    machines = [(0, 1, 1.0), (0, 2, 2.1), (0, 4, 6.0), (0, 8, 9.6), (1, 1, 2.0), (1, 8, 4.0)]
    times = np.arange(1.0, 33.0).reshape(2, 2, 8)
    split = in_tiers(instance(times, INF, machines, 3))
    assert split.vm_family.tolist() == [0, 0, 1, 1, 2, 2]
    assert np.array_equal(split.times, times[:, [0, 0, 1]])
    assert split.holder[1, :8].tolist() == [2, 2, 2, 2, 3, 3, 3, 3]


def test_nothing_is_split_at_one_price_per_gpu_nor_on_nodes_that_stay():
    machines = [(0, 1, 0.56), (0, 2, 1.13), (0, 8, 4.48)]
    flat = instance([[[10.0, 6.0]]], INF, machines, 2)
    assert in_tiers(flat) is flat
    stays = instance([[[10.0, 6.0]]], INF, [(0, 1, 1.0), (0, 2, 4.0)], [0, 1])
    assert in_tiers(stays) is stays


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32))
def test_a_job_alone_takes_its_cheapest_machine_whatever_the_prices(seed):
    """Nothing is cheaper than the best whole machine where no second configuration helps: no due date."""
    rng = np.random.default_rng(seed)
    per_gpu = np.cumprod(np.append(1.0, rng.uniform(1.11, 2.0, 3)))
    machines = [(0, gpus, price * gpus) for gpus, price in zip((1, 2, 4, 8), per_gpu, strict=True)]
    times = np.sort(rng.uniform(2, 20, (1, 1, 8)))[:, :, ::-1].copy()
    point = instance(times, INF, machines)
    plan = market(point)
    vm, gpus = int(plan.schedule.vm[0]), int(plan.schedule.gpus[0])
    assert times[0, 0, gpus - 1] * point.vm_price[vm] == pytest.approx(np.min(times * point.config_price))


def test_cheap_large_machines_are_shared():
    cheap = [(0, 1, 2.0), (0, 2, 2.5)]
    schedule = market(instance([[[10.0, 9.0]], [[10.0, 9.0]]], INF, cheap, 2)).schedule
    assert schedule.node[0] == schedule.node[1]
    assert sorted(schedule.vm.tolist()) == [-1, 1]


def test_paid_gpus_go_to_the_job_that_gains_most_time():
    only_four = [(0, 4, 4.0)]
    times = [[[10.0, 8.0, 7.9, 7.8]], [[10.0, 5.0, 4.9, 4.8]]]
    assert chosen(market(instance(times, INF, only_four, 1))) == [2, 2]


def test_all_gpus_of_nodes_that_stay_are_used_as_far_as_they_help():
    times = [[[10.0, 8.0, 7.0, 7.0]]]
    assert chosen(market(instance(times, INF, [(0, 4, 4.0)], [0]))) == [3]


def test_a_node_with_more_gpus_than_any_job_can_use():
    schedule = market(instance([[[10.0, 8.0]]] * 3, INF, [(0, 5, 4.0)], [0])).schedule
    assert sorted(schedule.gpus.tolist()) == [1, 2, 2]


# ---- any instance the contract allows -------------------------------------------------------------------


@st.composite
def instances(draw: Any) -> Instance:
    dice = np.random.default_rng(draw(st.integers(0, 2**32)))
    return random_instance(
        dice,
        jobs=draw(st.integers(0, 25)),
        nodes=draw(st.integers(0, 8)),
        families=draw(st.integers(1, 4)),
        gpus=draw(st.sampled_from([1, 2, 4, 8, 16])),
        staying=draw(st.booleans()),
        exactly=draw(st.booleans()),
        holes=draw(st.booleans()),
    )


@settings(deadline=None, max_examples=300)
@given(instances(), st.booleans())
def test_any_plan_can_be_carried_out(point, mixing):
    plan = market(point, MarketSettings(mixing=mixing))
    found = violations(point, plan.schedule)
    assert [text for text in found if can_open_enough(point) or "must be" not in text] == []
    assert plan.wake_in is None or (mixing and plan.wake_in > 0)
    assert (plan.prices >= 0).all()
    assert np.isfinite(plan.prices).all()


@settings(deadline=None, max_examples=100)
@given(instances())
def test_nobody_waits_while_nodes_are_closed_or_all_are_idle(point):
    plan = market(replace(point, exactly=False))
    waits = (plan.schedule.node < 0) & np.isfinite(point.fastest)
    assert not (waits.any() and (plan.schedule.vm < 0).any())
    if (point.node_vm < 0).any():
        assert len(plan.schedule.runs) or not waits.any()


@settings(deadline=None, max_examples=50)
@given(instances())
def test_the_same_point_gives_the_same_plan(point):
    one, other = market(point), market(replace(point))
    for name in ("node", "gpus", "vm"):
        assert np.array_equal(getattr(one.schedule, name), getattr(other.schedule, name))
    assert (one.wake_in, one.price) == (other.wake_in, other.price)


@pytest.mark.parametrize(
    "wrong", [{"wait": 0.0}, {"later_price": 1.0}, {"later_price": -0.1}, {"steps": 0}, {"horizon": 0.0}]
)
def test_settings_that_make_no_sense(wrong):
    with pytest.raises(ValueError, match="Expected wait and horizon above 0"):
        MarketSettings(**wrong)
