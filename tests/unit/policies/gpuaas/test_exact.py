import dataclasses

import numpy as np
import pytest

from dlsched.domain.errors import InputError
from dlsched.optimise.milp import Milp
from dlsched.policies.gpuaas.exact import solve_exact
from dlsched.policies.gpuaas.hierarchical import hierarchical, num_controllers
from dlsched.policies.gpuaas.instance import Instance, objective, violations
from tests.support.gpuaas_oracle import least_cost, random_instance
from tests.support.gpuaas_printed import printed_program

SHAPES = [(1, 1), (2, 2), (3, 2), (4, 2), (3, 3), (2, 3), (4, 1)]


@pytest.mark.parametrize("staying", [False, True])
@pytest.mark.parametrize("exactly", [False, True])
def test_the_optimum_is_that_of_enumeration(exactly, staying):
    rng = np.random.default_rng(7)
    infeasible = 0
    for case in range(60):
        jobs, nodes = SHAPES[case % len(SHAPES)]
        gpus = 2 if jobs * nodes > 8 else 3
        families = int(rng.integers(1, 3))
        instance = random_instance(
            rng, jobs=jobs, nodes=nodes, families=families, gpus=gpus, staying=staying, exactly=exactly
        )
        solved, best = solve_exact(instance), least_cost(instance)
        if not np.isfinite(best):
            infeasible += 1
            assert (solved.status, solved.schedule, solved.bound) == ("infeasible", None, np.inf)
            continue
        assert solved.schedule is not None
        assert solved.status == "optimal"
        assert violations(instance, solved.schedule) == []
        assert solved.objective == objective(instance, solved.schedule)
        assert solved.objective == pytest.approx(best, rel=1e-6, abs=1e-9), case
        assert solved.bound <= best * (1 + 1e-9) + 1e-9
    assert bool(infeasible) == exactly


@pytest.mark.parametrize("exactly", [False, True])
def test_the_optimum_is_that_of_the_printed_program(exactly):
    rng = np.random.default_rng(3)
    for jobs, nodes, gpus in [(2, 2, 2), (3, 2, 3), (4, 2, 2), (3, 3, 2), (5, 2, 4), (4, 3, 3)] * 2:
        instance = random_instance(rng, jobs=jobs, nodes=nodes, gpus=gpus, exactly=exactly)
        printed, solved = printed_program(instance).solve(), solve_exact(instance)
        assert solved.status == printed.status
        assert solved.objective == pytest.approx(printed.objective, rel=1e-6, abs=1e-9)


def crowd(jobs=30, nodes=4, seed=0, gpus=8):
    """Two GPU types in three sizes, speed-ups below linear, due dates from missed to far."""
    rng = np.random.default_rng(seed)
    alone = rng.uniform(20, 200, (jobs, 1, 1)) * np.array([1.0, 0.6])[:, None]
    serial = rng.uniform(0.05, 0.3, (jobs, 1, 1))
    times = alone * (serial + (1 - serial) / np.arange(1, gpus + 1))
    size = np.array([gpus // 4, gpus // 2, gpus] * 2)
    return Instance(
        times=times,
        slack=times.min(axis=(1, 2)) * rng.uniform(-0.5, 3, jobs),
        weight=rng.uniform(0.1, 1, jobs),
        vm_family=np.repeat([0, 1], 3),
        vm_gpus=size,
        vm_price=size * np.repeat([0.5, 0.9], 3),
        node_vm=np.full(nodes, -1),
        running=np.zeros(jobs, dtype=bool),
        period=10.0,
    )


def test_of_two_payers_with_as_many_gpus_the_first_to_end_pays_the_dearer_machine():
    # Machines with 1 GPU at $1 and 2 at $2.5; three jobs that use one GPU each: 2 x 2.5 + 10 x 1 = 15.
    instance = Instance(
        times=np.array([10.0, 2.0, 12.0]).reshape(3, 1, 1),
        slack=np.full(3, 20.0),
        weight=np.ones(3),
        vm_family=np.array([0, 0]),
        vm_gpus=np.array([1, 2]),
        vm_price=np.array([1.0, 2.5]),
        node_vm=np.full(2, -1),
        running=np.zeros(3, dtype=bool),
        period=20.0,
    )
    solved = solve_exact(instance)
    assert solved.schedule is not None
    assert solved.objective == pytest.approx(15.0)
    assert solved.schedule.node[1] == solved.schedule.node[2] != solved.schedule.node[0]


def test_limits_leave_a_feasible_schedule_and_a_bound_below_every_other():
    instance = crowd()
    best = solve_exact(instance)
    assert best.status == "optimal"
    for gap, node_limit in [(0.05, 100), (0.5, 100), (0.0, 1)]:
        solved = solve_exact(instance, gap, node_limit)
        assert solved.schedule is not None
        assert violations(instance, solved.schedule) == []
        assert solved.bound <= best.objective * (1 + 1e-6)
        assert best.objective * (1 - 1e-6) <= solved.objective
        if node_limit > 1:
            assert solved.objective - solved.bound <= gap * solved.objective


def test_without_a_solution_in_time_the_answer_is_still_a_schedule(monkeypatch):
    from dlsched.optimise.milp import Milp, MilpAnswer

    monkeypatch.setattr(Milp, "solve", lambda self, **limits: MilpAnswer("unknown", None, np.inf, -np.inf, 1))
    for exactly in (False, True):
        instance = dataclasses.replace(crowd(), exactly=exactly)
        solved = solve_exact(instance)
        assert solved.schedule is not None
        assert violations(instance, solved.schedule) == []
        assert (solved.status, solved.bound) == ("feasible", 0.0)


def test_the_same_instance_has_the_same_answer():
    first, again = (solve_exact(crowd(jobs=12, nodes=3)) for _ in range(2))
    assert first.schedule is not None
    assert again.schedule is not None
    for name in ("node", "gpus", "vm"):
        assert (getattr(first.schedule, name) == getattr(again.schedule, name)).all()


def test_large_machines_are_solved_and_larger_ones_refused():
    assert solve_exact(crowd(jobs=3, nodes=2, gpus=64)).status == "optimal"
    with pytest.raises(InputError, match="at most 64 GPUs, got 68"):
        solve_exact(crowd(jobs=3, nodes=2, gpus=68))


def test_no_jobs_and_jobs_that_can_run_nowhere():
    instance = crowd(jobs=2, nodes=2)
    nobody = dataclasses.replace(
        instance, times=instance.times[:0], slack=np.zeros(0), weight=np.zeros(0), running=np.zeros(0, dtype=bool)
    )
    assert (solve_exact(nobody).status, solve_exact(nobody).objective) == ("optimal", 0.0)
    stuck = dataclasses.replace(instance, times=np.full_like(instance.times, np.inf))
    solved = solve_exact(stuck)
    assert solved.schedule is not None
    assert solved.schedule.node.tolist() == [-1, -1]
    assert solved.objective == pytest.approx(stuck.postponed_cost.sum())


# ---- local controllers --------------------------------------------------------------------------------------


def test_no_controller_has_more_than_five_nodes():
    assert [num_controllers(nodes) for nodes in (0, 1, 5, 6, 10, 11, 100)] == [1, 1, 1, 2, 2, 3, 20]


def test_one_controller_is_the_exact_method():
    instance = crowd(jobs=10, nodes=3)
    schedule = hierarchical(instance, np.zeros(10, dtype=int), 1, gap=0.0)
    assert objective(instance, schedule) == pytest.approx(solve_exact(instance).objective, rel=1e-6)


@pytest.mark.parametrize("exactly", [False, True])
def test_each_controller_is_best_with_its_own_jobs_and_nodes(exactly):
    instance = dataclasses.replace(crowd(jobs=13, nodes=5), exactly=exactly)
    controller = np.arange(13) % 3
    schedule = hierarchical(instance, controller, 3, gap=0.0)
    assert violations(instance, schedule) == []
    total = 0.0
    for own, nodes in enumerate([[0, 1], [2, 3], [4]]):
        jobs = np.flatnonzero(controller == own)
        assert set(schedule.node[jobs].tolist()) <= {-1, *nodes}
        local = dataclasses.replace(
            instance,
            times=instance.times[jobs],
            slack=instance.slack[jobs],
            weight=instance.weight[jobs],
            running=instance.running[jobs],
            node_vm=np.full(len(nodes), -1),
        )
        total += solve_exact(local).objective
    assert objective(instance, schedule) == pytest.approx(total, rel=1e-6)


def test_controllers_without_nodes_or_jobs_do_nothing():
    instance = crowd(jobs=4, nodes=2)
    schedule = hierarchical(instance, np.array([0, 0, 3, 3]), 4)
    assert violations(instance, schedule) == []
    assert (schedule.node[2:] == -1).all()
    assert schedule.vm[1] == -1


def test_a_controller_that_cannot_open_enough_nodes_opens_what_it_can():
    instance = crowd(jobs=4, nodes=4)
    instance.times[1] = np.inf
    schedule = hierarchical(dataclasses.replace(instance, exactly=True), np.array([0, 0, 1, 1]), 2)
    assert violations(instance, schedule) == []
    assert (schedule.vm[2:] >= 0).all()
    assert schedule.node[1] == -1


def test_a_bound_that_is_far_off_proves_nothing_whatever_the_solver_says(monkeypatch):
    """Where a penalty is much dearer than the jobs, the solver's tolerance is a good part of what these cost."""
    instance, solve = crowd(jobs=3, nodes=2, gpus=4), Milp.solve

    def status_off_by(part):
        def solve_badly(self, **options):
            answer = solve(self, **options)
            return dataclasses.replace(answer, status="optimal", bound=answer.objective * (1 - part))

        monkeypatch.setattr(Milp, "solve", solve_badly)
        return solve_exact(instance).status

    assert status_off_by(1e-8) == "optimal"
    assert status_off_by(0.1) == "feasible"
