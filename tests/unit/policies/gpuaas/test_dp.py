import dataclasses
from functools import cache

import numpy as np
import pytest

from dlsched.policies.gpuaas.dp import plan_step
from dlsched.policies.gpuaas.instance import Instance, violations
from tests.support.gpuaas_oracle import random_instance

VARIANTS = ("wct", "fastwct", "fastb", "adjwct")
B = 50.0


def choices(instance, job):
    """Configurations of a job in catalogue order: time, price of the cheapest machine that holds it."""
    found = []
    for family in range(instance.times.shape[1]):
        for gpus in range(1, instance.times.shape[2] + 1):
            vms = [
                v
                for v in range(len(instance.vm_gpus))
                if instance.vm_family[v] == family and instance.vm_gpus[v] >= gpus
            ]
            time = float(instance.times[job, family, gpus - 1])
            if vms and np.isfinite(time):
                found.append((time, float(min(instance.vm_price[vms])), family, gpus))
    return found


def execute(instance, job, config, *, whole_run=False):
    time, price = config[:2]
    end = time if whole_run else min(time, instance.period)
    return instance.weight[job] * max(0.0, end - instance.slack[job]) + price * instance.period


def postpone(instance, job, variant):
    if variant == "fastb":
        return B
    slowest = max(time for time, *_ in choices(instance, job))
    late = max(0.0, instance.period + slowest - instance.slack[job])
    return instance.postpone_factor * instance.weight[job] * late


def configuration(instance, job, variant):
    options = choices(instance, job)
    if variant in ("fastwct", "fastb"):
        return min(options, key=lambda config: config[:2])
    whole_run = variant == "adjwct"
    return min(options, key=lambda config: (execute(instance, job, config, whole_run=whole_run), config[1], config[0]))


def recursion(instance, variant):
    """Return the least total F2, job by job and node by node, as the paper describes the table."""
    jobs = [job for job in range(instance.num_jobs) if choices(instance, job)]

    @cache
    def least(place, nodes):
        if place == len(jobs):
            return 0.0
        job = jobs[place]
        cost = postpone(instance, job, variant) + least(place + 1, nodes)
        if nodes:
            config = configuration(instance, job, variant)
            cost = min(cost, execute(instance, job, config) + least(place + 1, nodes - 1))
        return cost

    return least(0, instance.num_nodes)


def total(instance, variant, schedule):
    cost = 0.0
    for job in range(instance.num_jobs):
        if not choices(instance, job):
            continue
        if schedule.node[job] < 0:
            cost += postpone(instance, job, variant)
            continue
        vm = int(schedule.vm[schedule.node[job]])
        family, gpus = int(instance.vm_family[vm]), int(schedule.gpus[job])
        config = configuration(instance, job, variant)
        assert (family, gpus) == config[2:]
        assert instance.vm_price[vm] == config[1]
        cost += execute(instance, job, config)
    return cost


@pytest.mark.parametrize("variant", VARIANTS)
def test_largest_gains_are_the_recursion(variant):
    rng = np.random.default_rng(11)
    executed = 0
    for case in range(80):
        instance = random_instance(rng, jobs=1 + case % 6, nodes=1 + case % 3)
        schedule = plan_step(instance, variant, B)
        assert violations(instance, schedule) == []
        assert np.bincount(schedule.node[schedule.runs], minlength=1).max() <= 1
        best, found = recursion(instance, variant), total(instance, variant, schedule)
        if len(schedule.runs) == 1 and found > best:  # started so that work goes on
            job = schedule.runs[0]
            gains = [
                postpone(instance, j, variant) - execute(instance, j, configuration(instance, j, variant))
                for j in range(instance.num_jobs)
                if choices(instance, j)
            ]
            assert max(gains) <= 0
            gain = postpone(instance, job, variant) - execute(instance, job, configuration(instance, job, variant))
            assert gain == pytest.approx(max(gains))
            continue
        executed += len(schedule.runs)
        assert found == pytest.approx(best)
    assert executed > 40


def one_type(times, slack, *, nodes=1, running=None, weight=None, node_vm=None):
    """Machines with 1 GPU at $1 and 4 at $3 per time unit; a step is 10 long."""
    times = np.array(times, dtype=float)[:, None, :]
    return Instance(
        times=times,
        slack=np.array(slack, dtype=float),
        weight=np.ones(len(times)) if weight is None else np.array(weight, dtype=float),
        vm_family=np.array([0, 0]),
        vm_gpus=np.array([1, 4]),
        vm_price=np.array([1.0, 3.0]),
        node_vm=np.full(nodes, -1) if node_vm is None else np.array(node_vm),
        running=np.zeros(len(times), dtype=bool) if running is None else np.array(running),
        period=10.0,
        postpone_factor=1.0,
    )


@pytest.mark.parametrize(("variant", "gpus"), [("wct", 1), ("fastwct", 4), ("fastb", 4), ("adjwct", 4)])
def test_only_the_whole_run_sees_that_a_slow_configuration_is_late(variant, gpus):
    # 100 alone, 30 with 4 GPUs, due in 40: late by 60 or not at all, in the step of 10 never; 4 GPUs cost 20 more
    instance = one_type([[100, 70, 50, 30]], [40])
    assert plan_step(instance, variant).gpus.tolist() == [gpus]


def test_without_lateness_the_whole_run_takes_the_cheap_configuration():
    assert plan_step(one_type([[100, 70, 50, 30]], [200]), "adjwct").gpus.tolist() == [1]
    assert plan_step(one_type([[100, 70, 50, 30]], [85]), "adjwct").gpus.tolist() == [1]  # 15 late, 20 dearer
    assert plan_step(one_type([[100, 70, 50, 30]], [75]), "adjwct").gpus.tolist() == [4]  # 25 late


def test_ties_go_to_the_job_that_runs_then_to_the_first():
    times, slack = [[20, 20, 20, 20]] * 3, [5, 5, 5]
    assert plan_step(one_type(times, slack, running=[False, True, False]), "wct").node.tolist() == [-1, 0, -1]
    assert plan_step(one_type(times, slack), "wct").node.tolist() == [0, -1, -1]
    assert plan_step(one_type(times, slack, nodes=2, running=[False, False, True]), "wct").node.tolist() == [0, -1, 1]


def test_a_constant_price_of_waiting_executes_whom_worst_case_lateness_forgets():
    instance = one_type([[20, 20, 20, 20]] * 2, [1000, 1000], nodes=2)
    assert len(plan_step(instance, "fastb").runs) == 2
    assert plan_step(instance, "fastwct").node.tolist() == [0, -1]  # no gain: one starts, so that work goes on
    running = dataclasses.replace(instance, running=np.array([False, True]))
    assert plan_step(running, "fastwct").node.tolist() == [-1, 0]
    assert len(plan_step(instance, "fastb", postponed_usd=1.0).runs) == 1


def test_configurations_that_tie_on_one_machine_take_the_faster():
    # 2, 3 and 4 GPUs are never late and are on the same machine
    assert plan_step(one_type([[100, 70, 50, 50]], [75]), "adjwct").gpus.tolist() == [3]


def test_fastest_ties_take_the_cheaper_machine():
    assert plan_step(one_type([[20, 20, 20, 20]], [0]), "fastb").gpus.tolist() == [1]


def test_nobody_to_run():
    assert plan_step(one_type(np.zeros((0, 4)), []), "wct").vm.tolist() == [-1]
    assert plan_step(one_type([[np.inf] * 4], [0]), "wct").node.tolist() == [-1]
    assert plan_step(one_type([[1.0] * 4], [0], nodes=0), "wct").node.tolist() == [-1]


def test_nodes_that_stay_are_dealt_out_for_the_largest_total_gain():
    # Both nodes are paid for; with 4 GPUs instead of 1 job 0 is late by 1 less, job 1 by 6.
    instance = one_type([[8, 8, 8, 7], [10, 10, 10, 4]], [-50, -50], nodes=2, node_vm=[1, 0])
    instance = dataclasses.replace(instance, postpone_factor=2.0)
    schedule = plan_step(instance, "wct")
    assert violations(instance, schedule) == []
    assert (schedule.node.tolist(), schedule.gpus.tolist()) == ([1, 0], [1, 4])


@pytest.mark.parametrize("variant", VARIANTS)
def test_schedules_on_nodes_that_stay_are_feasible(variant):
    rng = np.random.default_rng(5)
    for case in range(40):
        instance = random_instance(rng, jobs=1 + case % 5, nodes=3, staying=True)
        schedule = plan_step(instance, variant, B)
        assert violations(instance, schedule) == []
        assert np.bincount(schedule.node[schedule.runs], minlength=3).max(initial=0) <= 1
