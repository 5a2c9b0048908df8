import dataclasses

import numpy as np
import pytest

from dlsched.policies.gpuaas.instance import Schedule, violations
from dlsched.policies.gpuaas.repair import can_open_enough, must_open, open_enough, start_one
from tests.support.gpuaas_oracle import least_cost, random_instance


def some_schedule(instance, rng):
    """All jobs that fit on as few nodes as jobs happen to choose: feasible but for the number of open nodes."""
    schedule = Schedule.empty(instance)
    for job in rng.permutation(instance.num_jobs)[: int(rng.integers(0, instance.num_jobs + 1))].tolist():
        for node in range(instance.num_nodes):
            vm = int(schedule.vm[node]) if schedule.vm[node] >= 0 else int(np.argmax(instance.vm_gpus))
            left = int(instance.vm_gpus[vm] - schedule.gpus[schedule.node == node].sum())
            if left and np.isfinite(instance.times[job, instance.vm_family[vm], 0]):
                schedule.node[job], schedule.gpus[job], schedule.vm[node] = node, 1, vm
                break
    return Schedule(schedule.node, schedule.gpus, schedule.vm)


@pytest.mark.parametrize("staying", [False, True])
def test_enough_nodes_are_opened_wherever_enumeration_finds_a_way(staying):
    rng = np.random.default_rng(2)
    ways = []
    for case in range(80):
        instance = random_instance(rng, jobs=1 + case % 4, nodes=1 + case % 3, gpus=2, staying=staying, exactly=True)
        ways.append(np.isfinite(least_cost(instance)))
        assert can_open_enough(instance) == ways[-1]
        if ways[-1]:
            some = some_schedule(instance, rng)
            too_many = (some.vm >= 0).sum() > must_open(instance)  # nodes that stay were passed over
            for schedule in [Schedule.empty(instance)] + [some] * (not too_many):
                assert violations(instance, open_enough(instance, schedule)) == []
    assert 0 < sum(ways) < len(ways)


def test_a_schedule_that_needs_nothing_is_returned_as_it_is():
    instance = random_instance(np.random.default_rng(0), jobs=3, nodes=2, holes=False)
    schedule = Schedule.empty(instance)
    assert must_open(instance) == 0
    assert can_open_enough(instance)
    assert open_enough(instance, schedule) is schedule


def test_a_waiting_job_opens_a_node_before_others_are_moved():
    instance = random_instance(np.random.default_rng(1), jobs=3, nodes=2, gpus=3, holes=False, exactly=True)
    largest = int(np.argmax(instance.vm_gpus))
    assert instance.vm_gpus[largest] >= 2
    crowded = Schedule(np.array([0, 0, -1]), np.array([1, 1, 0]), np.array([largest, -1]))
    opened = open_enough(instance, crowded)
    assert opened.node.tolist() == [0, 0, 1]
    assert crowded.vm.tolist() == [largest, -1]


@pytest.mark.parametrize("staying", [False, True])
def test_one_job_starts_where_one_can(staying):
    rng = np.random.default_rng(3)
    for case in range(60):
        instance = random_instance(rng, jobs=1 + case % 3, nodes=1 + case % 3, gpus=2, staying=staying)
        started = start_one(instance, Schedule.empty(instance))
        assert violations(instance, started) == []
        families = [
            range(instance.times.shape[1]) if vm < 0 else [int(instance.vm_family[vm])]
            for vm in instance.node_vm.tolist()
        ]
        fits = [
            instance.config_times[:, family, : instance.vm_gpus[vm] if vm >= 0 else None]
            for vm, found in zip(instance.node_vm.tolist(), families, strict=True)
            for family in found
        ]
        assert len(started.runs) == int(any(np.isfinite(times).any() for times in fits))
        if len(started.runs):
            assert start_one(instance, started) is started


def test_the_job_that_starts_costs_least_and_runs_already_on_ties():
    instance = random_instance(np.random.default_rng(4), jobs=3, nodes=1, holes=False)
    same = dataclasses.replace(
        instance,
        times=np.broadcast_to(instance.times[:1], instance.times.shape).copy(),
        slack=np.full(3, 50.0),
        running=np.array([False, False, True]),
    )
    assert start_one(same, Schedule.empty(same)).node.tolist() == [-1, -1, 0]
    cheaper = dataclasses.replace(same, times=same.times * np.array([2.0, 1.0, 2.0])[:, None, None])
    assert start_one(cheaper, Schedule.empty(cheaper)).node.tolist() == [-1, 0, -1]


def test_nobody_starts_without_nodes_or_jobs_that_can_run():
    instance = random_instance(np.random.default_rng(5), jobs=2, nodes=1, holes=False)
    stuck = dataclasses.replace(instance, times=np.full_like(instance.times, np.inf))
    nowhere = dataclasses.replace(instance, node_vm=np.zeros(0, dtype=int))
    for case in (stuck, nowhere):
        assert start_one(case, Schedule.empty(case)).node.tolist() == [-1, -1]
