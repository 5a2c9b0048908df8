"""Algorithm 1: its polygon, its programs, its guarantee."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.policies.smd import ratios as ratios_module
from dlsched.policies.smd.problem import Split
from dlsched.policies.smd.ratios import Ratios, approximate, by_corners, by_linear_programs, polygon
from dlsched.policies.smd.split import exact
from tests.support.split_problems import least_continuous, real_problems, whole_problems


def corner_set(problem):
    return {(round(w, 9), round(p, 9)) for w, p, _ in polygon(problem)[1].tolist()}


def test_corners_by_hand():
    assert corner_set(Split("async", [1, 1, 1, 1], [1], [2], [5])) == {(1, 1), (3, 1), (1, 2)}
    # w + 2p <= 5 and 2w + p <= 5 meet at 5/3
    both = Split("async", [1, 1, 1, 1], [1, 2], [2, 1], [5, 5])
    assert corner_set(both) == {(1, 1), (2, 1), (1, 2), (round(5 / 3, 9), round(5 / 3, 9))}
    # only one of each fits
    assert corner_set(Split("async", [1, 1, 1, 1], [1], [2], [3])) == {(1, 1)}
    # at most 4 workers were given, nothing limits servers
    open_ended = Split("async", [1, 1, 1, 1], [1], [2], [math.inf], most_workers=4)
    assert corner_set(open_ended) == {(1, 1), (4, 1), (1, 1000), (4, 1000)}


def test_sides_that_touch_nothing_are_left_out():
    lines, _ = polygon(Split("async", [1, 1, 1, 1], [1, 1], [2, 2], [5, 50]))
    assert len(lines) == 3


def test_by_hand():
    # w within 1 and 4, 16/w within 4 and 16: w is left, and 16/w <= 4 at the first grid point, so w = 4
    problem = Split("sync", [1, 0, 0, 0, 16], [1], [1], [5])
    found = approximate(problem, epsilon=0.5)
    assert [found.workers, found.value] == pytest.approx([4, 8])
    assert found.lower_bounds == pytest.approx((1, 4))
    assert found.upper_bounds == pytest.approx((4, 16))
    assert found.grid_points == 5  # 4, 6, 9, 13.5 and the upper end
    assert found.bound == pytest.approx(8 / 1.5)


def test_the_upper_end_belongs_to_the_grid():
    # 1/w + 100/p with 2000 w + p <= 2100: (1, 100) takes 2. The only other step of the grid, 1/w at its least, needs
    # w = 1.0495, which leaves room for p = 1 alone and takes 100.95
    found = approximate(Split("async", [0, 0, 1, 100], [2000], [1], [2100]), 0.9)
    assert [found.workers, found.servers, found.value] == pytest.approx([1, 100, 2])
    assert found.grid_points == 2


def test_async_is_one_program_a_step_and_sync_two_ratios_deep():
    limits = ([1], [1], [9])
    # p/w + 1/w is within 2/8 and 9, 1/p within 1/8 and 1: 1/p is cut, by 1.5^n below 8, n = 0..5, and the end
    assert approximate(Split("async", [5, 1, 1, 1], *limits), 0.5).grid_points == 7
    # printed, p/w within 1/8 and 8 is left over, 1/w and 1/p are both cut
    assert approximate(Split("async", [5, 1, 1, 1], *limits), 0.5, "printed").grid_points == 7**2
    # w + p + 1 within 3 and 10 is cut in 4 and 1/w in 7, w/p is left
    assert approximate(Split("sync", [1, 1, 1, 1, 1], *limits), 0.5).grid_points == 4 * 7


@settings(max_examples=60)
@given(real_problems(), st.sampled_from((0.03, 0.1, 0.5)))
def test_merged_keeps_its_guarantee(problem, epsilon):
    check_guarantee(problem, epsilon, "merged")


@settings(max_examples=40)
@given(real_problems(), st.sampled_from((0.2, 0.5)))
def test_printed_keeps_its_guarantee(problem, epsilon):
    check_guarantee(problem, epsilon, "printed")


@given(whole_problems(), st.sampled_from(("merged", "printed")))
def test_bound_holds_for_whole_numbers(problem, terms):
    found = approximate(problem, 0.3, terms)
    check_inside(problem, found)
    assert found.bound <= exact(problem).time * (1 + 1e-9)
    assert found.value <= 1.3 * exact(problem).time * (1 + 1e-9)


def check_guarantee(problem, epsilon, terms):
    found = approximate(problem, epsilon, terms)
    least = least_continuous(problem)
    check_inside(problem, found)
    assert found.value <= (1 + epsilon) * least * (1 + 1e-8)
    assert found.bound <= least * (1 + 1e-8)
    assert found.value <= (1 + epsilon) * found.bound * (1 + 1e-8)


def check_inside(problem, found):
    assert found.workers >= 1
    assert found.servers >= 1
    used = problem.rows[:, :2] @ [found.workers, found.servers]
    assert (used <= problem.rows[:, 2] * (1 + 1e-8)).all()
    assert found.value == problem.time_of(found.workers, found.servers)


@pytest.mark.parametrize("seed", range(8))
def test_both_ways_to_solve_a_program_agree_and_nothing_inside_is_better(seed):
    rng = np.random.default_rng(seed)
    worker, server = rng.uniform(0.5, 5, 3), rng.uniform(0.5, 5, 3)
    limit = (worker + server) * rng.uniform(2, 20)
    problem = Split("async", [0, 1, 1, 1], worker.tolist(), server.tolist(), limit.tolist())
    lines, corners = polygon(problem)
    program = Ratios(rng.uniform(0.1, 2, (3, 3)), rng.uniform(0.1, 2, (3, 3)), lines, corners)
    inside = rng.dirichlet(np.ones(len(corners)), 2_000) @ corners
    values = (inside @ program.numerator.T) / (inside @ program.denominator.T)
    points = rng.uniform(values[:, :2].min(axis=0) * 0.9, values[:, :2].max(axis=0), (12, 2))
    _, quick = by_corners(program, points)
    _, slow = by_linear_programs(program, points)
    assert quick == pytest.approx(slow, rel=1e-6)
    assert np.isfinite(quick).any()
    for point, least in zip(points, quick, strict=True):
        good = (values[:, :2] <= point).all(axis=1)
        assert least <= values[good, 2].min(initial=np.inf) * (1 + 1e-9)


@pytest.mark.parametrize("terms", ["merged", "printed"])
@pytest.mark.parametrize(
    "problem",
    [
        Split("async", [1, 2, 6, 8], [1], [1], [6]),
        Split("sync", [1, 2, 3, 4, 100], [1, 2], [0, 1], [8, 30]),
        Split("sync", [0, 0, 3, 4, 9], [1], [2], [20]),
    ],
    ids=["async", "sync", "sync-few"],
)
def test_charnes_cooper_finds_the_same(problem, terms):
    quick = approximate(problem, 0.9, terms)
    slow = approximate(problem, 0.9, terms, "charnes-cooper")
    assert slow.value == pytest.approx(quick.value, rel=1e-6)
    assert slow.bound == pytest.approx(quick.bound, rel=1e-6)


def test_where_nothing_changes_the_time_one_of_each_will_do():
    found = approximate(Split("sync", [0, 0, 7, 0, 0], [1], [1], [9]))
    assert (found.value, found.bound, found.grid_points) == (7, 7, 0)
    single = approximate(Split("sync", [1, 2, 3, 4, 5], [1], [1], [2]))
    assert [single.workers, single.servers] == pytest.approx([1, 1])
    assert single.value == single.bound == pytest.approx(15)


def test_finer_grids_come_closer():
    problem = Split("sync", [1, 2, 3, 4, 100], [1, 2], [0, 1], [8, 30])
    least = least_continuous(problem, 200_000)
    rough, fine = approximate(problem, 0.9), approximate(problem, 0.005)
    assert rough.bound < fine.bound <= least * (1 + 1e-9)
    assert fine.value == pytest.approx(least, rel=1e-3)


def test_points_that_are_left_out_would_not_have_been_better(monkeypatch):
    problem = Split("sync", [1, 2, 3, 4, 100], [1, 2], [0, 1], [8, 30])
    with_all = []
    real = ratios_module._search

    def without_leaving_out(program, axes, least_last, solver):
        with_all.append(real(program, axes, -np.inf, solver))
        return real(program, axes, least_last, solver)

    monkeypatch.setattr(ratios_module, "_search", without_leaving_out)
    found = approximate(problem, 0.05)
    best, least, _ = with_all[0]
    assert found.bound == pytest.approx(least / 1.05)
    assert (found.workers, found.servers) == pytest.approx((best[0], best[1]))


@pytest.mark.parametrize("epsilon", [0.0, 1.0, -0.1, math.nan])
def test_epsilon_is_within_0_and_1(epsilon):
    with pytest.raises(InputError, match="epsilon: must be above 0 and below 1"):
        approximate(Split("async", [1, 2, 6, 8], [1], [1], [6]), epsilon)


def test_a_grid_that_is_too_large_is_refused():
    problem = Split("sync", [1, 1, 1, 1, 1], [1], [1], [700])
    with pytest.raises(InputError, match=r"epsilon: the grid would have [\d,]+ points, more than 5,000,000. Choose"):
        approximate(problem, 0.01, "printed")
