from itertools import product

import numpy as np
import pytest

from dlsched.optimise.milp import Milp


def knapsack(value, weight, capacity, *, unit=1.0):
    model = Milp()
    taken = model.columns(-unit * np.asarray(value, dtype=float), upper=1.0, integer=True)
    model.rows(np.zeros(len(taken), dtype=int), taken, weight, high=capacity)
    return model


def most_value(value, weight, capacity):
    choices = product((0, 1), repeat=len(value))
    return max(np.dot(value, choice) for choice in choices if np.dot(weight, choice) <= capacity)


@pytest.mark.parametrize("unit", [1.0, 1e-9, 1e9])
def test_knapsacks_are_solved_like_by_enumeration_in_any_unit_of_cost(unit):
    rng = np.random.default_rng(1)
    for _ in range(15):
        value, weight = rng.integers(1, 30, 9), rng.integers(1, 20, 9)
        answer = knapsack(value, weight, 40, unit=unit).solve()
        assert answer.status == "optimal"
        assert answer.objective == pytest.approx(-unit * most_value(value, weight, 40))
        assert answer.bound == pytest.approx(answer.objective)
        assert answer.gap == pytest.approx(0)
        assert set(answer.values) <= {0.0, 1.0}


def test_a_program_by_hand_with_both_kinds_of_columns():
    # min 3 a + b, a whole, a + b >= 2.5, b <= 1: a = 2, b = 0.5
    model = Milp()
    whole = model.columns([3.0], integer=True)
    part = model.columns([1.0], upper=1.0)
    model.rows([0, 0], np.concatenate([whole, part]), 1.0, low=2.5)
    answer = model.solve()
    assert answer.values == pytest.approx([2.0, 0.5])
    assert answer.status == "optimal"
    assert [answer.objective, answer.bound] == pytest.approx([6.5, 6.5])


def test_without_whole_columns_the_answer_is_proven():
    model = Milp()
    columns = model.columns([-1.0, -2.0], upper=[4.0, 3.0])
    model.rows([0, 0, 1], [*columns, columns[0]], [1.0, 1.0, 1.0], low=[-np.inf, 1.0], high=[5.0, np.inf])
    answer = model.solve()
    assert answer.values == pytest.approx([2.0, 3.0])
    assert answer.status == "optimal"
    assert answer.bound == pytest.approx(-8.0)


def test_numbers_of_columns_keep_the_shape_of_the_costs():
    model = Milp()
    assert model.columns([[1.0, 2.0], [3.0, 4.0]]).tolist() == [[0, 1], [2, 3]]
    assert model.columns([5.0]).tolist() == [4]
    model.rows([0, 1], [0, 4], 1.0, low=[1.0, 2.0])
    assert (model.num_columns, model.num_rows) == (5, 2)
    assert model.solve().objective == pytest.approx(11)


def test_infeasible_unbounded_and_empty_programs_are_told_apart():
    model = Milp()
    column = model.columns([1.0], upper=1.0, integer=True)
    model.rows([0], column, 1.0, low=2.0)
    answer = model.solve()
    assert (answer.status, answer.values, answer.objective, answer.gap) == ("infeasible", None, np.inf, np.inf)

    model = Milp()
    model.columns([-1.0], integer=True)
    answer = model.solve()
    assert (answer.status, answer.values, answer.bound) == ("unbounded", None, -np.inf)

    assert Milp().solve().status == "optimal"
    model = Milp()
    nothing = np.zeros(0, dtype=int)
    model.rows(nothing, nothing, nothing, low=[0.0, 1.0])
    assert model.solve().status == "infeasible"


def hard_knapsack(seed):
    rng = np.random.default_rng(seed)
    weight = rng.integers(1000, 2000, (5, 40))
    model = Milp()
    taken = model.columns(-weight.mean(axis=0) - rng.integers(0, 50, 40), upper=1.0, integer=True)
    row, column = np.indices(weight.shape)
    model.rows(row, taken[column], weight, high=weight.sum(axis=1) // 2)
    return model


def test_limits_leave_a_bound_and_the_same_answer_every_time():
    first, again = (hard_knapsack(4).solve(node_limit=3) for _ in range(2))
    assert first.status == "feasible"
    assert first.bound < first.objective
    assert first.gap == pytest.approx((first.objective - first.bound) / -first.objective)
    assert (first.values == again.values).all()
    assert (first.bound, first.nodes) == (again.bound, again.nodes)
    loose = hard_knapsack(4).solve(relative_gap=0.05)
    assert loose.gap <= 0.05
    assert loose.nodes <= 3


def test_no_solution_within_the_limit_is_unknown():
    rng = np.random.default_rng(4)
    weight = rng.integers(1000, 2000, (2, 25))
    model = Milp()
    taken = model.columns(-weight.mean(axis=0), upper=1.0, integer=True)
    row, column = np.indices(weight.shape)
    half = weight.sum(axis=1) // 2
    model.rows(row, taken[column], weight, low=half, high=half)
    answer = model.solve(node_limit=3)
    assert (answer.status, answer.values, answer.gap) == ("unknown", None, np.inf)


def test_what_the_preparation_cannot_tell_apart_is_solved_without_it():
    model = Milp()
    columns = model.columns([-1.0, -1.0], integer=True)
    model.rows([0, 0], columns, [1.0, -1.0], low=0.0, high=0.0)
    assert model.solve().status == "unbounded"
