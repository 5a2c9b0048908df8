"""Legal widths, and the jobs of any cluster as the arrays of a decision, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.policies.registry import find
from dlsched.policies.rolling_horizon import problem as problems
from dlsched.policies.rolling_horizon.policy import without_idle_cuts
from dlsched.policies.rolling_horizon.pool import Pool, held_nodes, joining, parts_of
from dlsched.policies.rolling_horizon.problem import objective_of, violations
from dlsched.policies.rolling_horizon.solver import solve
from dlsched.policies.rolling_horizon.widths import WidthBook, powers_of_two


@pytest.mark.parametrize(
    ("limits", "cap", "widths"),
    [
        ((1, 16), None, [1, 2, 4, 8, 16]),
        ((1, 15), None, [1, 2, 4, 8]),
        ((3, 9), None, [4, 8]),
        ((4, 4), None, [4]),
        ((5, 7), None, [5]),
        ((12, 12), None, [12]),
        ((1, 16), 4, [1, 2, 4]),
        ((1, 16), 7, [1, 2, 4]),
        ((6, 40), 4, [8]),
        ((12, 12), 4, [12]),
        ((5, 4), None, []),
    ],
)
def test_powers_of_two_within_the_limits_or_the_smallest(limits: tuple[int, int], cap: int | None, widths: list[int]):
    assert powers_of_two(*limits, cap).tolist() == widths


class Book(WidthBook):
    """Widths that are given."""

    def __init__(self, *widths: tuple[int, ...]) -> None:
        super().__init__(None)
        self._widths = [np.array(each) for each in widths]
        self._rates = [np.arange(1.0, 1 + len(each)) for each in widths]
        self._smallest = np.array([each[0] if each else 0 for each in widths])


def pool(workers: list[int], nodes: int, units: float | list[float] = 1.0, most: int = 99) -> Pool:
    count = len(workers)
    return Pool(
        np.arange(count), np.array(workers), np.broadcast_to(units, count).astype(float), np.full(count, most), nodes
    )


def test_who_runs_comes_first_then_the_queue_while_its_smallest_widths_fit():
    book = Book((2, 4), (1, 2), (1, 2), (2, 4), (1, 2))
    # 1 + 2 for the running C and D; A needs 2 more of 5, B's 1 is too much
    assert joining(pool([0, 0, 2, 4, 0], 5), book).rows.tolist() == [0, 2, 3]
    assert joining(pool([0, 0, 2, 4, 0], 6), book).rows.tolist() == [0, 1, 2, 3]
    # with 4 nodes A does not join, and nobody behind it
    assert joining(pool([0, 0, 2, 4, 0], 4), book).rows.tolist() == [2, 3]


def test_who_keeps_its_width_counts_with_it():
    book = Book((1, 2, 4), (1, 2))
    assert joining(pool([4, 0], 4), book).rows.tolist() == [0, 1]
    assert joining(pool([4, 0], 4), book, keeps=np.array([4, 0])).rows.tolist() == [0]


def test_a_job_that_no_node_holds_now_is_passed_over():
    book = Book((4, 8), (1, 2), ())
    assert joining(pool([0, 0, 0], 8, most=2), book).rows.tolist() == [1]


def test_workers_are_counted_in_parts_and_rounded_up():
    assert held_nodes(pool([3, 2, 0], 9, units=[1.0, 0.3, 0.3])).tolist() == [3, 1, 0]
    assert held_nodes(pool([7], 9, units=[1e-9])).tolist() == [1]


@pytest.mark.parametrize(
    ("cost", "parts"),
    [
        ([8.0, 8.0], 1 / 8),
        ([8.0, 0.5], 2),
        ([4.0, 6.0], 1 / 2),
        ([0.75, 0.5], 4),
        ([0.3, 1.0], 10),
        ([1 / 7, 1.0], 100),
    ],
)
def test_parts_are_as_large_as_they_can_be(cost: list[float], parts: float):
    assert parts_of(np.array(cost)) == pytest.approx(parts)


@given(
    left=st.lists(st.sampled_from([0.02, 0.1, 0.3, 2.0]), min_size=1, max_size=4),
    nodes=st.integers(4, 20),
    data=st.data(),
)
def test_keeping_what_is_idle_costs_nothing(left: list[float], nodes: int, data: st.DataObject):
    given_ = problems.of(left, nodes, (1, 2, 4), steps=2)
    held = np.array([data.draw(st.sampled_from([0, 1, 2, 4])) for _ in left])
    solution = solve(given_)
    now = without_idle_cuts(given_, held, solution.nodes_now)
    plan = solution.plan.copy()
    plan[:, 0] = now
    assert violations(given_, plan) == []
    assert objective_of(given_, plan) == pytest.approx(solution.objective, abs=1e-5)
    cut = now < held
    assert (now[cut] == solution.nodes_now[cut]).all()
    assert not (held[cut] - now[cut] <= nodes - now.sum()).any()


def test_keeping_what_is_idle_by_hand():
    given_ = problems.of([0.01, 5.0, 5.0], 9, (1, 2, 4))
    # 9 - 1 - 2 - 1 = 5 idle: the first keeps 4, the second grows, and for the third's 4 only 2 more are left
    kept = without_idle_cuts(given_, np.array([4, 1, 4]), np.array([1, 2, 1]))
    assert kept.tolist() == [4, 2, 1]


@pytest.mark.parametrize(
    ("key", "name", "value"),
    [
        ("modelarts-optimal", "every_s", 0),
        ("modelarts-optimal", "steps", 0),
        ("modelarts-optimal", "cap", 0),
        ("modelarts-optimal", "min_eta_s", -1),
        ("modelarts-optimal", "method", "enumerate"),
        ("modelarts-greedy", "halving", "twice"),
    ],
)
def test_parameters_out_of_range_are_refused(key: str, name: str, value: object):
    with pytest.raises(InputError, match=name):
        find(key).parse({name: value})
