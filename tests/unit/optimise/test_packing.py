"""Packing in whole and in parts, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from dlsched.optimise.packing import fractional_packing, whole_packing
from tests.support.known import known

NOTHING = np.zeros(3, dtype=bool)


def test_parts_and_prices_by_hand():
    # 6 for 3, 5 for 2, 1 for 2 into 4: item 2, two thirds of item 1, and one more unit of room is worth 2
    taken, prices = fractional_packing(np.array([6.0, 5.0, 1.0]), np.array([[3.0, 2.0, 2.0]]), np.array([4.0]))
    assert taken == pytest.approx([2 / 3, 1, 0])
    assert prices == pytest.approx([2])


def test_a_vertex_has_no_more_parts_than_capacities():
    rng = np.random.default_rng(0)
    for _ in range(20):
        value, weight = rng.uniform(1, 9, 30), rng.uniform(0, 1, (3, 30))
        taken, _ = fractional_packing(value, weight, np.full(3, 4.0))
        assert ((taken > 1e-9) & (taken < 1 - 1e-9)).sum() <= 3
        assert (weight @ taken <= 4 + 1e-7).all()


def test_nothing_of_value():
    taken, prices = fractional_packing(np.zeros(2), np.ones((1, 2)), np.ones(1))
    assert (taken.tolist(), prices.tolist()) == ([0, 0], [0])


def test_whole_items_by_hand():
    # 6 alone fills 3 of 4; items 2 and 3 together 4 of 4 for 7
    found = whole_packing(np.array([6, 5, 2]), np.array([[3, 2, 2]]), np.array([4]), hint=NOTHING, work_limit=1)
    assert known(found.taken).tolist() == [False, True, True]
    assert found.bound == 7
    assert 0 <= found.work < 1


def test_without_work_nothing_is_claimed():
    rng = np.random.default_rng(1)
    value, weight = rng.integers(1, 99, 60), rng.integers(1, 99, (5, 60))
    limits = weight.sum(axis=1) // 3
    found = whole_packing(value, weight, limits, hint=np.zeros(60, dtype=bool), work_limit=0.0)
    best = whole_packing(value, weight, limits, hint=np.zeros(60, dtype=bool), work_limit=10.0)
    assert best.bound == value[known(best.taken)].sum() < found.bound
