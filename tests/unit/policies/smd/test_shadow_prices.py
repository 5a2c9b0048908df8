"""What one more unit of a capacity would be worth in the linear relaxation: by hand, and against other capacities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.policies.smd.knapsack import shadow_prices, solve
from tests.unit.policies.smd.test_knapsack import best_value, knapsacks


def test_the_price_is_what_the_item_taken_in_part_is_worth_for_a_unit():
    # 6 for 2 units is taken whole, then one of the 2 units that 4 asks for: 6 + 2; a fourth unit brings 2 more
    prices, bound = shadow_prices([6.0, 4.0], [[2.0, 1.0], [2.0, 1.0]], [3.0, 10.0])
    assert prices.tolist() == pytest.approx([2.0, 0.0])
    assert bound == pytest.approx(8.0)


def test_an_item_too_large_to_be_taken_whole_counts_in_parts_also_where_nothing_is_left():
    prices, bound = shadow_prices([6.0], [[2.0]], [1.0])
    assert prices.tolist() == pytest.approx([3.0])
    assert bound == pytest.approx(3.0)
    prices, bound = shadow_prices([6.0, 4.0], [[2.0], [1.0]], [0.0])
    assert prices[0] >= 4.0 - 1e-9  # of the item worth 4 for a unit
    assert bound == pytest.approx(0.0)


def test_where_all_have_room_nothing_more_is_worth_anything():
    for value, weight, capacity, most in (
        ([6.0], [[2.0]], 2.0, 6.0), ([6.0, 1.0], [[2.0], [1.0]], np.inf, 7.0),
    ):  # fmt: skip
        prices, bound = shadow_prices(value, weight, [capacity])
        assert prices.tolist() == [0.0]
        assert bound == most


@given(knapsacks(), st.lists(st.floats(0, 3), min_size=3, max_size=3))
def test_prices_bound_what_every_other_capacity_is_worth(items, shares):
    value, weight, capacity = items
    prices, bound = shadow_prices(value, weight, capacity)
    slack = 1e-6 * (1 + bound)
    assert (prices >= 0).all()
    assert best_value(value, weight, capacity) <= bound + slack
    other = capacity * np.array(shares[: len(capacity)])
    _, least = shadow_prices(value, weight, other)
    assert least <= bound - prices @ (capacity - other) + slack * 10
    assert solve(value, weight, capacity).bound <= bound + slack
