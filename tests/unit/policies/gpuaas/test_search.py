"""Greedy, randomised greedy and path relinking against hand calculation, plain Python and the optimum."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.policies.gpuaas.instance import Instance, Schedule, objective, proxy, violations
from dlsched.policies.gpuaas.repair import can_open_enough
from dlsched.policies.gpuaas.search import (
    Guide,
    SearchSettings,
    _tables,
    greedy,
    path_relinking,
    queue,
    randomized_greedy,
)
from tests.support.gpuaas_oracle import least_cost, random_instance
from tests.support.gpuaas_plain import instance, plain_greedy

INF = np.inf
TWO_SIZES = [(0, 1, 1.0), (0, 2, 2.0)]
FEW = SearchSettings(iterations=30, elite=5)
SEARCHES = (randomized_greedy, path_relinking)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def same(one: Schedule, other: Schedule) -> bool:
    return all(np.array_equal(a, b) for a, b in ((one.node, other.node), (one.gpus, other.gpus), (one.vm, other.vm)))


@st.composite
def instances(draw: Any) -> Instance:
    """Any instance the contract allows: holes, no due date, no weight, nodes that stay, up to 16 GPUs."""
    dice = rng(draw(st.integers(0, 2**32)))
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


# ---- hand-made ------------------------------------------------------------------------------------------


def test_cheapest_configuration_in_time_else_the_fastest():
    # one GPU costs 10, two cost 6 x 2 = 12: one GPU while there are 10 s, then two, also when both are late
    for slack, gpus in [(10, 1), (9.9, 2), (6, 2), (1, 2)]:
        schedule = greedy(instance([[[10, 6]]], slack, TWO_SIZES))
        assert (schedule.gpus.tolist(), schedule.vm.tolist()) == ([gpus], [gpus - 1])


def test_pressure_then_running_then_rows_decide_who_gets_the_node():
    one_gpu = [(0, 1, 1.0)]
    for slack, running, winner in [([9, 8], [0, 0], 1), ([9, 9], [0, 0], 0), ([9, 9], [0, 1], 1)]:
        made = instance([[[5]], [[5]]], slack, one_gpu, running=np.array(running, dtype=bool))
        assert greedy(made).runs.tolist() == [winner]
    assert queue(instance([[[5]], [[INF]], [[1]]], [INF, 1, 3], one_gpu)).tolist() == [2, 0]


def test_nodes_shrink_and_idle_gpus_go_to_the_job_whose_time_falls_most():
    machines = [(0, 1, 0.1), (0, 4, 1.0)]
    times = [[[10, INF, 8, INF]], [[9, INF, 3, INF]]]
    schedule = greedy(instance(times, 10, machines))  # one GPU each of four: two are idle
    assert schedule.gpus.tolist() == [1, 3]
    shrunk = greedy(instance(times, 10, [*machines, (0, 2, 0.5)]))
    assert (shrunk.gpus.tolist(), shrunk.vm.tolist()) == ([1, 1], [2])
    no_gain = instance([[[10, 12, INF, 11]]], 10, [(0, 4, 1.0)])
    assert greedy(no_gain).gpus.tolist() == [1]


def test_a_cheap_machine_may_be_larger_than_the_smallest():
    schedule = greedy(instance([[[10, 7, 6, 5]]], 10, [(0, 1, 1.0), (0, 4, 0.9)]))
    assert (schedule.vm.tolist(), schedule.gpus.tolist()) == ([1], [4])


def test_what_does_not_fit_takes_the_best_that_does():
    # the second job wants both GPUs of the only node, the first took one
    schedule = greedy(instance([[[5, INF]], [[9, 4]]], [5, 4], [(0, 2, 2.0)], weight=1))
    assert schedule.gpus.tolist() == [1, 1]


def test_nodes_that_stay_are_used_first_and_keep_their_type():
    machines = [(0, 2, 2.0), (0, 1, 1.0), (1, 1, 1.0)]
    made = instance([[[5, INF], [INF, INF]], [[5, INF], [7, INF]]], 100, machines, nodes=[-1, 0, 2])
    schedule = greedy(made)
    assert schedule.node.tolist() == [1, 1]
    assert schedule.vm.tolist() == [-1, 0, 2]
    assert violations(made, schedule) == []


def test_exactly_opens_nodes_for_waiting_jobs_then_for_jobs_that_share():
    made = instance([[[5, 3]]] * 3, 100, [(0, 2, 2.0)], nodes=3, exactly=True)
    schedule = greedy(made)
    assert (sorted(schedule.node), schedule.gpus.tolist()) == ([0, 1, 2], [2, 2, 2])
    staying = instance([[[5, 3]]] * 2, 100, [(0, 2, 2.0)], nodes=[0, -1], exactly=True)
    assert violations(staying, greedy(staying)) == []
    alone = instance([[[5, 3]], [[INF, INF]]], 100, [(0, 2, 2.0)], nodes=[0, -1], exactly=True)
    assert greedy(alone).node.tolist() == [1, -1]
    nobody = instance([[[INF]]] * 2, 100, [(0, 1, 2.0)], nodes=2, exactly=True)
    assert greedy(nobody).vm.tolist() == [-1, -1]


@pytest.mark.parametrize("search", SEARCHES)
def test_nothing_to_do(search: Any):
    for made in (
        instance(np.zeros((0, 1, 2)), [], TWO_SIZES, nodes=[-1, 1], weight=[]),
        instance([[[INF, INF]]], 3, TWO_SIZES, nodes=[-1, 1]),
    ):
        assert same(search(made, rng()), Schedule.empty(made))
    assert len(search(instance([[[1, 1]]], 3, TWO_SIZES, nodes=0), rng()).runs) == 0


# ---- any instance ---------------------------------------------------------------------------------------


@given(instances())
def test_greedy_is_that_of_plain_python(made: Instance):
    made = replace(made, exactly=False)
    assert same(greedy(made), plain_greedy(made))


@given(instances(), st.sampled_from(["objective", "proxy"]), st.integers(0, 99))
def test_schedules_are_feasible_and_never_worse_than_where_they_began(made: Instance, guide: Guide, seed: int):
    first, built = greedy(made), randomized_greedy(made, rng(seed), FEW, guide)
    walked = path_relinking(made, rng(seed), FEW, guide)
    for schedule in (first, built, walked):
        problems = violations(made, schedule)
        if made.exactly and not can_open_enough(made):
            problems = [problem for problem in problems if "must be" not in problem]
        assert problems == []
        fits = [vm for vm in made.node_vm if vm >= 0 and np.isfinite(made.times[:, made.vm_family[vm], 0]).any()]
        if ((made.node_vm < 0).any() and np.isfinite(made.fastest).any()) or fits:
            assert len(schedule.runs) > 0
    if not made.exactly:
        worth = [_worth(made, schedule, guide) for schedule in (first, built, walked)]
        slip = 1e-9 * max(1.0, abs(worth[0]))
        assert worth[0] <= worth[1] + slip
        assert worth[1] <= worth[2] + slip


def _worth(made: Instance, schedule: Schedule, guide: Guide) -> float:
    return proxy(made, schedule) if guide == "proxy" else -objective(made, schedule)


@given(instances(), st.sampled_from(["objective", "proxy"]), st.integers(0, 5))
def test_the_score_inside_is_that_of_the_contract(made: Instance, guide: Guide, max_moves: int):
    from dlsched.policies.gpuaas.kernels.search import search

    made = replace(made, exactly=False)  # jobs are spread after the score is taken
    order = queue(made)
    if len(order) == 0 or made.num_nodes == 0:
        return
    tables = _tables(made, FEW, order, guide == "proxy")
    score = search(tables, FEW.iterations, max_moves, False)
    schedule = randomized_greedy if max_moves == 0 else path_relinking
    found = schedule(made, _Zero(), replace(FEW, max_moves=max_moves), guide)
    assert np.array_equal(found.node, tables.node)
    if guide == "proxy":
        assert score == pytest.approx(proxy(made, found), rel=1e-9)
    else:
        nobody = float(made.postponed_cost.sum())
        assert nobody - score == pytest.approx(objective(made, found), rel=1e-9, abs=1e-9 * (1 + nobody))


class _Zero(np.random.Generator):
    """A generator whose seed for the kernels is 0, as in fresh tables."""

    def __init__(self) -> None:
        super().__init__(np.random.PCG64(0))

    def integers(self, *_: Any, **__: Any) -> Any:
        return np.uint64(0)


def test_searches_are_not_below_the_optimum_and_often_reach_it():
    reached, cases = 0, 40
    for case in range(cases):
        made = random_instance(rng(case), jobs=3, nodes=2, gpus=2, staying=case % 2 == 1)
        found, best = objective(made, path_relinking(made, rng(case), guide="objective")), least_cost(made)
        assert found >= best * (1 - 1e-9) - 1e-9
        reached += found <= best * (1 + 1e-9) + 1e-9
    assert reached >= cases // 2


def crowd(jobs: int = 60, nodes: int = 12, seed: int = 5, slack: tuple[float, float] = (-0.5, 4)) -> Instance:
    """More work than fits in slow configurations, two GPU types in four sizes."""
    dice, sizes = rng(seed), (1, 2, 4, 8)
    serial = dice.uniform(0.05, 0.3, (jobs, 1, 1))
    alone = dice.uniform(20, 200, (jobs, 1, 1)) * dice.uniform(0.5, 1.2, (jobs, 2, 1))
    times = alone * (serial + (1 - serial) / np.arange(1, 9))
    machines = [(family, size, size * price) for family, price in ((0, 0.5), (1, 0.6)) for size in sizes]
    due = times.min(axis=(1, 2)) * dice.uniform(*slack, jobs)
    return instance(times, due, machines, nodes, dice.uniform(0.1, 1, jobs), period=10.0)


def test_paths_of_single_and_double_moves_never_lose():
    longer = 0
    for seed in range(80):
        made = crowd(12, 3, seed, (2, 8))
        built, walked = (_worth(made, search(made, rng(seed), FEW, "proxy"), "proxy") for search in SEARCHES)
        assert walked >= built * (1 - 1e-12)
        longer += walked > built
    assert longer > 20


def test_one_seed_one_schedule_and_the_searches_do_search():
    made = crowd()
    for guide in ("objective", "proxy"):
        built, walked = (search(made, rng(3), None, guide) for search in SEARCHES)
        assert same(built, randomized_greedy(made, rng(3), None, guide))
        assert same(walked, path_relinking(made, rng(3), None, guide))
        assert _worth(made, greedy(made), guide) < _worth(made, built, guide) <= _worth(made, walked, guide)
    assert not same(randomized_greedy(made, rng(3), FEW), randomized_greedy(made, rng(4), FEW))


def test_seeds_mean_the_same_on_every_machine():
    made = crowd()
    assert proxy(made, path_relinking(made, rng(3))) == pytest.approx(28.272089533044067, rel=1e-9)
    assert objective(made, randomized_greedy(made, rng(3))) == pytest.approx(107754.10139065968, rel=1e-9)


# ---- dice -----------------------------------------------------------------------------------------------


def share(made: Instance, settings: SearchSettings, is_it: Any, draws: int = 3000) -> float:
    """Return how often a single construction with dice beats the greedy one, where it is made to be better."""
    return sum(bool(is_it(randomized_greedy(made, rng(seed), settings))) for seed in range(draws)) / draws


ONE_THROW = SearchSettings(iterations=2, elite=1, swap=0.0, swap_spread=0.0)


def test_configurations_are_drawn_with_a_probability_inverse_to_their_cost():
    # greedy: one GPU of family 0 for 10 and three idle; family 1 for 20, nothing idle, is better under (P1a)
    made = instance([[[10, INF, INF, INF], [10, INF, INF, INF]]], 100, [(0, 4, 1.0), (1, 1, 2.0)], idle_penalty=10.0)
    assert share(made, ONE_THROW, lambda schedule: schedule.vm[0] == 1) == pytest.approx(1 / 3, abs=0.03)
    # ten configurations: five are drawn from with a share of one half, and of equal cost equally often
    equal = instance([[[10]] * 10], 100, [(f, 1 if f == 4 else 2, 1.0) for f in range(10)], idle_penalty=10.0)
    half = replace(ONE_THROW, config_share=0.5)
    assert share(equal, half, lambda schedule: schedule.vm[0] == 4) == pytest.approx(1 / 5, abs=0.03)
    assert share(equal, ONE_THROW, lambda schedule: schedule.vm[0] == 4) == 0


@pytest.mark.parametrize(("weight", "chance"), [([1, 2], 0.55), ([1, 1], 0.5), ([2, 1], 0.45)])
def test_jobs_pass_each_other_less_often_the_higher_their_weight(weight: Any, chance: float):
    # the job with less pressure costs much less to run
    made = instance([[[10]], [[2]]], [15, 8], [(0, 1, 5.0)], weight=weight, postpone_factor=1.0, period=0.0)
    settings = SearchSettings(iterations=2, elite=1)
    assert share(made, settings, lambda schedule: schedule.node[1] == 0) == pytest.approx(chance, abs=0.03)


@pytest.mark.parametrize("node_share", [0.2, 1.0])
def test_nodes_are_drawn_with_a_probability_inverse_to_one_more_than_the_gpus_left_idle(node_share: float):
    # first three jobs: 3, 4, 5 of 6 GPUs, each its own node; the short last one goes to the node with 0, 1, 2 left
    # idle after it; sharing with the longest job, on the node it fits worst, saves most of a bill
    times = np.full((4, 1, 6), INF)
    for job, (gpus, time) in enumerate([(3, 90), (4, 20), (5, 10), (1, 1)]):
        times[job, 0, gpus - 1] = time
    made = instance(times, [90, 21, 12, 100], [(0, 6, 1.0)], nodes=3)
    settings = replace(ONE_THROW, node_share=node_share)
    found = share(made, settings, lambda schedule: schedule.node[3] == schedule.node[0])
    expected = 0.0 if node_share == 0.2 else (1 / 3) / (1 + 1 / 2 + 1 / 3)
    assert found == pytest.approx(expected, abs=0.03)
    if node_share == 0.2:
        on_second = share(made, settings, lambda schedule: schedule.node[3] == schedule.node[1])
        assert on_second == pytest.approx((1 / 2) / (1 + 1 / 2), abs=0.03)


# ---- settings -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bad",
    [{"iterations": 0}, {"elite": 0}, {"max_moves": -1}, {"swap": 0.98}, {"config_share": 1.1}, {"node_share": -0.1}],
)
def test_settings_are_checked(bad: dict[str, Any]):
    with pytest.raises(ValueError, match="Expected"):
        SearchSettings(**bad)
    assert SearchSettings(iterations=1, elite=1, max_moves=0, swap=0.05).max_moves == 0
