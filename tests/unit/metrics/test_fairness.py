"""Evenness over users: by hand, against the definitions over all pairs, and at the ends of the scale."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.workload import Floats
from dlsched.metrics.fairness import gini, jain_index, means_by_user, worst_to_median

SHARES = st.lists(st.floats(0, 1e6).map(lambda value: round(value, 3)), min_size=2, max_size=30)


def of(*values: float) -> Floats:
    return np.array(values, dtype=float)


@pytest.mark.parametrize(
    ("values", "jain", "gini_", "worst"),
    [
        pytest.param((2, 2, 5), 81 / (3 * 33), 6 / (3 * 9), 2.5, id="9^2 of 3 * (4 + 4 + 25); pairs differ by 0, 3, 3"),
        pytest.param((3, 3, 3, 3), 1, 0, 1, id="all alike"),
        pytest.param((0, 0, 0, 8), 1 / 4, 3 / 4, None, id="one has everything, the median is 0"),
        pytest.param((0, 0), 1, 0, None, id="nobody waits"),
        pytest.param((7,), None, None, None, id="one user"),
        pytest.param((), None, None, None, id="nobody"),
    ],
)
def test_by_hand(values: tuple[float, ...], jain: float | None, gini_: float | None, worst: float | None) -> None:
    for found, expected in (
        (jain_index(of(*values)), jain),
        (gini(of(*values)), gini_),
        (worst_to_median(of(*values)), worst),
    ):
        assert found == (None if expected is None else pytest.approx(expected, rel=1e-12))


def test_means_leave_out_jobs_without_value_or_user() -> None:
    users = np.array(["b", "a", "b", "", None, "c", np.nan], dtype=object)
    assert means_by_user(users, of(1, 4, 3, 50, 60, np.nan, 70)).tolist() == [2, 4]


@given(SHARES)
def test_gini_is_half_the_relative_mean_difference_of_all_pairs(values: list[float]) -> None:
    each = of(*values)
    pairs = np.abs(each[:, None] - each[None, :]).mean()
    expected = pairs / (2 * each.mean()) if each.sum() > 0 else 0.0
    assert gini(each) == pytest.approx(expected, abs=1e-9)


@given(SHARES, st.floats(0.01, 100))
def test_evenness_knows_no_unit_and_stays_in_its_range(values: list[float], unit: float) -> None:
    each = of(*values)
    for measure in (jain_index, gini):
        assert measure(each * unit) == pytest.approx(measure(each), rel=1e-9, abs=1e-9)
    assert 1 / len(each) - 1e-9 <= (jain_index(each) or 0) <= 1 + 1e-9
    assert 0 <= (gini(each) or 0) <= 1 - 1 / len(each) + 1e-9


@given(SHARES)
def test_jain_is_one_over_one_plus_the_squared_coefficient_of_variation(values: list[float]) -> None:
    each = of(*values)
    variation = each.std() / each.mean() if each.mean() > 0 else 0.0
    assert jain_index(each) == pytest.approx(1 / (1 + variation**2), rel=1e-9)
