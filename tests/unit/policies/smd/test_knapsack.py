"""Admission as a knapsack: published optima, enumeration, the scheme as printed, and numbers at the edge."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from dlsched.domain.errors import InputError
from dlsched.policies.smd import knapsack, subsets
from dlsched.policies.smd.knapsack import METHODS, guarantee, solve
from tests.support.known import known


def fits(weight, capacity, chosen) -> bool:
    return bool((np.asarray(weight)[np.asarray(chosen, dtype=bool)].sum(axis=0) <= capacity * (1 + 1e-9)).all())


def best_value(value, weight, capacity) -> float:
    choices = product((False, True), repeat=len(value))
    return max(float(np.dot(value, chosen)) for chosen in choices if fits(weight, capacity, chosen))


numbers = st.one_of(st.integers(0, 9).map(float), st.sampled_from([0.1, 0.2, 0.3, 1 / 3]), st.floats(0.01, 10))


@st.composite
def knapsacks(draw: st.DrawFn, items: int = 8):
    size, resources = draw(st.integers(1, items)), draw(st.integers(1, 3))
    rows = st.lists(numbers, min_size=resources, max_size=resources)
    value = draw(st.lists(numbers, min_size=size, max_size=size))
    weight = draw(st.lists(rows, min_size=size, max_size=size))
    return np.array(value), np.array(weight), np.array(draw(rows)) * draw(st.sampled_from([1.0, 3.0]))


def published(path: Path) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, float]]:
    """Yield the problems of a file of the OR-Library with their optimal values."""
    numbers = iter(path.read_text().split())
    for _ in range(int(next(numbers))):
        items, resources, optimum = int(next(numbers)), int(next(numbers)), float(next(numbers))
        table = np.array([float(next(numbers)) for _ in range(items * (resources + 1) + resources)])
        weight = table[items : items * (resources + 1)].reshape(resources, items).T
        yield table[:items], weight, table[-resources:], optimum


def test_published_optima(shared_data: Path):
    path = shared_data / "orlib" / "mknap1.txt"
    if not path.is_file():
        pytest.skip("the OR-Library's mknap1 is not there")
    problems = list(published(path))
    assert [optimum for *_, optimum in problems] == [3800, 8706.1, 4015, 6120, 12400, 10618, 16537]
    for value, weight, capacity, optimum in problems:
        found = solve(value, weight, capacity)
        assert found.value == pytest.approx(optimum, abs=1e-9)
        assert found.bound == pytest.approx(optimum, rel=1e-9)
        assert found.status == "optimal"
        assert (weight[found.selected].sum(axis=0) <= capacity).all()
        for method, size in (("density", 0), ("frieze-clarke", 0), ("frieze-clarke", 1), ("frieze-clarke", 2)):
            other = solve(value, weight, capacity, method, size)
            assert (weight[other.selected].sum(axis=0) <= capacity).all()
            assert other.value == value[other.selected].sum() <= optimum <= other.bound
            assert other.status == ("optimal" if other.bound <= other.value * (1 + 1e-9) else "feasible")


@given(knapsacks())
def test_exact_is_the_best_of_all_choices(problem):
    value, weight, capacity = problem
    found = solve(value, weight, capacity)
    assert fits(weight, capacity, found.selected)
    assert found.value == pytest.approx(best_value(value, weight, capacity))
    assert found.value == value[found.selected].sum()
    assert found.value <= found.bound <= found.value * (1 + 1e-9)
    assert found.status == "optimal"


@pytest.mark.parametrize("method", METHODS)
@given(problem=knapsacks())
def test_every_method_fits_below_its_bound(method: str, problem):
    value, weight, capacity = problem
    best = best_value(value, weight, capacity)
    found = solve(value, weight, capacity, method)
    assert fits(weight, capacity, found.selected)
    assert found.value <= best + 1e-9
    assert found.bound >= best - 1e-9
    if found.status == "optimal":
        assert found.value == pytest.approx(best)
    assert not found.selected[value == 0].any()


def program_of(value, weight, capacity, chosen: tuple[int, ...]) -> np.ndarray:
    """Return the solution in parts with ``chosen`` taken and what is worth more than the least of it left out."""
    least = min((value[at] for at in chosen), default=np.inf)
    limits = [(1, 1) if at in chosen else (0, 0) if value[at] > least else (0, 1) for at in range(len(value))]
    return known(linprog(-value, A_ub=weight.T, b_ub=capacity, bounds=limits, method="highs-ds").x)


def sets_that_fit(weight, capacity, sizes: range) -> Iterator[tuple[int, ...]]:
    for count in sizes:
        for chosen in combinations(range(len(weight)), count):
            if fits(weight, capacity, np.isin(np.arange(len(weight)), chosen)):
                yield chosen


def as_printed(value, weight, capacity, size: int) -> float:
    """Return the best rounded value over all sets of up to ``size`` items, each with a program of its own."""
    parts = [program_of(value, weight, capacity, s) for s in sets_that_fit(weight, capacity, range(size + 1))]
    return max(float(value[taken >= 1 - 1e-9].sum()) for taken in parts)


@pytest.mark.parametrize("size", [1, 2])
def test_no_set_is_worth_more_in_parts_than_it_promises(size: int):
    rng = np.random.default_rng(4)
    for number in range(10):
        value = rng.uniform(1, 9, 7) if number % 2 else rng.integers(1, 4, 7).astype(float)  # with ties
        weight = rng.uniform(0, 5, (7, 2))
        capacity = weight.sum(axis=0) / 2
        prices = rng.uniform(0, 9, 2)
        sets = list(sets_that_fit(weight, capacity, range(size, size + 1)))
        promised = subsets.promises(value, (weight / capacity).T, prices, np.array(sets))
        worth = [float(program_of(value, weight, capacity, chosen) @ value) for chosen in sets]
        assert (promised >= np.array(worth) - 1e-9).all()


@pytest.mark.parametrize("size", [0, 1, 2])
def test_no_set_that_is_passed_over_would_have_been_better(size: int):
    rng = np.random.default_rng(3)
    for number in range(24):
        value = rng.uniform(1, 9, 7) if number % 2 else rng.integers(1, 4, 7).astype(float)  # with ties
        weight = rng.uniform(0, 5, (7, 2))
        capacity = weight.sum(axis=0) * rng.uniform(0.2, 0.7)
        found = solve(value, weight, capacity, "frieze-clarke", size)
        assert found.value == pytest.approx(as_printed(value, weight, capacity, size))


@given(problem=knapsacks(), size=st.sampled_from([0, 1, 2]))
def test_the_guarantee_is_kept(problem, size: int):
    value, weight, capacity = problem
    found = solve(value, weight, capacity, "frieze-clarke", size)
    assert found.value >= guarantee(size, len(capacity)) * best_value(value, weight, capacity) - 1e-9


def test_guarantees():
    # 1 - R / (k + 1): a half with one resource and single items, nothing with four; 0.99 would need sets of 399
    assert [guarantee(1, 1), guarantee(2, 2), guarantee(2, 4), guarantee(0, 1)] == pytest.approx([1 / 2, 1 / 3, 0, 0])
    assert guarantee(399, 4) == pytest.approx(0.99)


def test_density_by_hand():
    # value for the sum of shares: 6 / (3/4 + 1), 5 / (2/4 + 1/4), 1 / (2/4 + 3/4): item 2 first, item 1 is too heavy
    found = solve([6, 5, 1], [[3, 4], [2, 1], [2, 3]], [4, 4], "density")
    assert (found.selected.tolist(), found.value, found.status) == ([False, True, True], 6, "feasible")
    assert found.bound > 6


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("value", "weight", "capacity", "selected"),
    [
        pytest.param([], np.zeros((0, 2)), [1, 1], [], id="no item"),
        pytest.param([1, 2], np.zeros((2, 0)), [], [1, 1], id="no resource"),
        pytest.param([0, 0], [[1], [1]], [1], [0, 0], id="no value"),
        pytest.param([1, 1], [[0], [0]], [0], [1, 1], id="no weight"),
        pytest.param([1, 1], [[0], [1]], [0], [1, 0], id="no capacity"),
        pytest.param([9, 1, 1], [[3], [1], [1]], [2], [0, 1, 1], id="too heavy"),
        pytest.param([1, 5], [[3], [9]], [np.inf], [1, 1], id="infinite capacity"),
        pytest.param([2, 2, 2, 2], [[1], [1], [1], [1]], [2], [1, 1, 0, 0], id="equal items, first ones"),
        pytest.param([3, 1, 3], [[1], [1], [1]], [1], [1, 0, 0], id="equal best"),
        pytest.param([1] * 10, [[0.1]] * 10, [1], [1] * 10, id="ten tenths"),
        pytest.param([1e-300, 2e-300], [[1], [1]], [1], [0, 1], id="tiny values"),
        pytest.param([1e99, 1e-99], [[1], [1]], [2], [1, 1], id="far apart"),
        pytest.param([1, 1], [[1e90, 1e-90], [1e90, 1e-90]], [1e90, 1e-90], [1, 0], id="weights far apart"),
    ],
)
def test_numbers_at_the_edge(method, value, weight, capacity, selected):
    found = solve(value, weight, capacity, method)
    assert found.selected.astype(int).tolist() == selected
    assert found.bound >= found.value


def test_exact_numbers_at_the_edge():
    # 0.3 and 0.1 + 0.2 differ in the last digit only, 1e-7 more is too much; what is left takes the better small value
    assert solve([2, 2, 1], [[0.1], [0.2], [1e-7]], [0.3]).selected.tolist() == [True, True, False]
    assert solve([1e99, 1e-99, 1e-98], [[1], [1], [1]], [2]).selected.tolist() == [True, False, True]


def test_what_fits_in_the_units_of_the_search_alone_is_ruled_out(monkeypatch):
    # in eighths rounded down 2 + 3 + 3 <= 8 would take the items of 0.2, 0.3 and 0.35 for 9; they are 0.85 of 0.76
    monkeypatch.setattr(knapsack, "WEIGHT_UNITS", 8.0)
    found = solve([2, 3, 4, 4], [[0.2], [0.3], [0.4], [0.35]], [0.76])
    assert (found.selected.tolist(), found.value, found.status) == ([False, False, True, True], 8, "optimal")


def test_units_however_coarse_lose_nothing(monkeypatch):
    monkeypatch.setattr(knapsack, "WEIGHT_UNITS", 4.0)
    rng = np.random.default_rng(2)
    for _ in range(30):
        value, weight = rng.uniform(1, 3, 7), rng.uniform(0.1, 0.5, (7, 2))
        found = solve(value, weight, [1.0, 1.0])
        assert found.value == pytest.approx(best_value(value, weight, np.ones(2)))
        assert found.status == "optimal"


def test_a_search_cut_short_says_what_is_proven():
    rng = np.random.default_rng(0)
    weight = rng.integers(1, 1000, (150, 5))
    value = weight.mean(axis=1) + 500 * rng.random(150)
    capacity = weight.sum(axis=0) / 3
    found = solve(value, weight, capacity, work_limit=0.05)
    assert found.status == "feasible"
    assert fits(weight, capacity, found.selected)
    assert solve(value, weight, capacity, "density").value <= found.value < found.bound
    assert found.bound <= 1.05 * found.value


def test_the_same_question_gets_the_same_answer_in_any_unit():
    rng = np.random.default_rng(5)
    value, weight = rng.uniform(1, 100, 40), rng.uniform(0, 9, (40, 4))
    capacity = weight.sum(axis=0) / 3
    first = solve(value, weight, capacity)
    assert (solve(value, weight, capacity).selected == first.selected).all()
    assert solve(value * 3e-7, weight * 1e6, capacity * 1e6).value == pytest.approx(first.value * 3e-7)


def test_parts_that_only_fit_within_the_tolerance_of_the_programs_are_left_out():
    # all of them exceed the capacity by 5 parts in 10^8, which linear programs let pass
    value, weight = [3.0, 2.0, 4.0], [[1.0], [1.0], [1.0 + 1.5e-7]]
    found = solve(value, weight, [3.0], "frieze-clarke")
    assert found.selected.tolist() == [True, False, True]
    assert fits(weight, np.array([3.0]), found.selected)


def test_prices_prove_the_bound_whatever_they_are(monkeypatch):
    monkeypatch.setattr(subsets, "fractional_packing", lambda v, w, c: (np.zeros(len(v)), np.full(len(c), 2.0)))
    # prices 2 a capacity: 2 + max(0, 3 - 2 x 0.8) + max(0, 1 - 2 x 0.9)
    assert subsets.fractional_bound(np.array([3.0, 1.0]), np.array([[0.8, 0.9]])) == pytest.approx(3.4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"value": [1, -1]}, "item 2, value: must be from 0 to 1e.100, got -1"),
        ({"value": [1, np.nan]}, "item 2, value: .* got nan"),
        ({"value": [[1, 1]]}, "value: must be a list of numbers, got 2 dimensions"),
        ({"weight": [[1, 1], [1, -2]]}, "item 2, weight 2: must be from 0 to 1e.100, got -2"),
        ({"weight": [[1, 1], [np.inf, 1]]}, "item 2, weight 1: .* got inf"),
        ({"weight": [[1, 1]]}, "weight: must have 2 rows, .* of 2 entries, .* got 1 x 2"),
        ({"weight": [[1, 1], [1]]}, "weight: must be numbers, in rows of equal length"),
        ({"capacity": [1, -1]}, "resource 2, capacity: must be from 0 to 1e.100, got -1"),
        ({"capacity": [1, np.nan]}, "resource 2, capacity: .* got nan"),
        ({"method": "greedy"}, "method 'greedy': is not known; known: exact, frieze-clarke, density"),
        ({"size": 3}, "size: must be one of 0, 1, 2, got 3"),
        ({"value": [1] * 10_001, "weight": [[1, 1]] * 10_001}, "at most 10,000 items and 100 resources, got 10,001"),
        (
            {"value": [1] * 3000, "weight": [[1, 1]] * 3000, "method": "frieze-clarke", "size": 2},
            "size: 2 makes 9,000,000 subsets x resources of 3,000 items, more than 4,000,000",
        ),
    ],
)
def test_bad_input_is_named(change, message):
    with pytest.raises(InputError, match=message):
        solve(**{"value": [1, 1], "weight": [[1, 1], [1, 1]], "capacity": [1, 1]} | change)
