import dataclasses
from functools import partial

import numpy as np
import pytest

from dlsched.policies.gpuaas.instance import Instance, Schedule, violations
from dlsched.policies.gpuaas.lists import by_due_date, by_submission, by_weight, start_waiting
from tests.support.gpuaas_events import costs, read_folder
from tests.support.gpuaas_oracle import random_instance

# Machine types 0: 1 GPU of type A, 1: 2 of A, 2: 2 of B; $ per time unit.
PRICE = [1.0, 2.0, 3.0]


def instance_of(times, slack, *, nodes=2, node_vm=None, weight=None):
    times = np.array(times, dtype=float)
    return Instance(
        times=times,
        slack=np.array(slack, dtype=float),
        weight=np.ones(len(times)) if weight is None else np.array(weight, dtype=float),
        vm_family=np.array([0, 0, 1]),
        vm_gpus=np.array([1, 2, 2]),
        vm_price=np.array(PRICE),
        node_vm=np.full(nodes, -1) if node_vm is None else np.array(node_vm),
        running=np.zeros(len(times), dtype=bool),
    )


def started(instance, order=None, held=None):
    order = by_submission(instance) if order is None else order
    schedule = start_waiting(instance, order, held or Schedule.empty(instance))
    assert violations(instance, schedule) == []
    return schedule


def config(schedule, job=0):
    return int(schedule.vm[schedule.node[job]]), int(schedule.gpus[job])


@pytest.mark.parametrize(
    ("slack", "expected", "why"),
    [
        (100, (0, 1), "A with 1 GPU costs 10 x 1, A with 2 6 x 2, B with 1 5 x 3, B with 2 3 x 3 = 9 is least"),
        (2, (2, 2), "none in time: B with 2 is the fastest"),
    ],
)
def test_cheapest_in_time_else_fastest(slack, expected, why):
    del why
    times = [[[10, 6], [5, 3]]] if slack == 2 else [[[10, 6], [5, 4]]]
    assert config(started(instance_of(times, [slack]))) == expected


def test_meeting_the_due_date_to_the_second_counts():
    times = [[[10, 6], [8, 7]]]  # costs 10, 12, 24, 21
    assert config(started(instance_of(times, [10]))) == (0, 1)
    assert config(started(instance_of(times, [9.999]))) == (1, 2)


def test_ties_go_to_the_cheapest_then_to_the_catalogue():
    assert config(started(instance_of([[[6, 3], [2, 2]]], [50]))) == (0, 1)  # all cost 6
    assert config(started(instance_of([[[9, 5], [5, 5]]], [1]))) == (1, 2)  # three are equally fast
    assert config(started(instance_of([[[9, 9], [5, 5]]], [1]))) == (2, 1)  # same machine: the first in the catalogue


def test_orders():
    instance = instance_of(np.ones((4, 2, 2)), [5, np.inf, -1, 5], weight=[1, 3, 3, 2])
    assert by_submission(instance).tolist() == [0, 1, 2, 3]
    assert by_due_date(instance).tolist() == [2, 0, 3, 1]
    assert by_weight(instance).tolist() == [1, 2, 3, 0]


def test_jobs_start_in_order_while_a_node_is_free():
    instance = instance_of(np.full((4, 2, 2), 5.0), [9, 9, 9, 9])
    schedule = started(instance, order=np.array([3, 1, 0, 2]))
    assert schedule.node.tolist() == [-1, 1, -1, 0]


def test_what_runs_stays_and_a_node_left_alone_is_closed():
    instance = instance_of(np.full((3, 2, 2), 5.0), [9, 9, 9], nodes=3)
    held = Schedule(np.array([-1, 2, -1]), np.array([0, 2, 0]), np.array([1, -1, 2]))  # node 0's job has left
    schedule = started(instance, held=held)
    assert config(schedule, 1) == (2, 2)
    assert schedule.node.tolist() == [0, 2, 1]
    alone = started(dataclasses.replace(instance, times=np.full((3, 2, 2), np.inf)), held=Schedule.empty(instance))
    assert alone.vm.tolist() == [-1, -1, -1]


def test_a_job_that_can_run_nowhere_stops_nobody():
    times = np.full((3, 2, 2), 5.0)
    times[0] = np.inf
    assert started(instance_of(times, [9, 9, 9])).node.tolist() == [-1, 0, 1]


def test_nodes_that_stay_offer_what_they_are():
    times = [[[10, 6], [5, 3]], [[10, 6], [np.inf, np.inf]], [[10, 6], [5, 3]]]
    schedule = started(instance_of(times, [100, 100, 100], node_vm=[2, 2, 0], nodes=3))
    # job 0: B with 2 costs 9, A with 1 10; job 1 runs on A only; job 2 takes the B that is left
    assert schedule.node.tolist() == [0, 2, 1]
    assert schedule.gpus.tolist() == [2, 1, 2]
    assert started(instance_of(times[1:2], [100], node_vm=[2], nodes=1)).node.tolist() == [-1]


def test_one_job_a_node_on_random_instances():
    rng = np.random.default_rng(0)
    for case in range(60):
        instance = random_instance(rng, jobs=5, nodes=3, staying=bool(case % 2))
        schedule = start_waiting(instance, by_weight(instance), Schedule.empty(instance))
        assert violations(instance, schedule) == []
        assert np.bincount(schedule.node[schedule.runs], minlength=3).max(initial=0) <= 1
        if (instance.node_vm < 0).all():
            assert len(schedule.runs) == min(3, np.isfinite(instance.fastest).sum())


def decide(order, instance, held):
    return start_waiting(instance, order(instance), held)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("1-3-30-1000-exponential-75000", {by_submission: 20868.8, by_due_date: 8561.5, by_weight: 15807.8}),
        ("1-4-40-1000-exponential-75000", {by_submission: 42603.6, by_due_date: 34726.7, by_weight: 86787.8}),
    ],
)
def test_costs_of_the_authors_own_program(shared_data, name, expected):
    folder = read_folder(shared_data / "gpuaas" / "instances" / name)
    for order, total in expected.items():
        found = costs(folder, partial(decide, order))
        assert sum(found) == pytest.approx(total, abs=0.051)


def test_vm_and_tardiness_costs_of_the_authors_own_program(shared_data):
    folder = read_folder(shared_data / "gpuaas" / "instances" / "1-4-40-1000-exponential-75000")
    found = costs(folder, partial(decide, by_due_date))
    assert found == pytest.approx((4954.23, 29772.4), rel=1e-5)
