"""A ratio of two sums and its error."""

from __future__ import annotations

import numpy as np
import pytest

from dlsched.metrics.stats.intervals import mean_interval, paired_difference, ratio_draws


def test_a_ratio_by_hand() -> None:
    """6 / 3 = 2; what is left over, 2 - 2, 4 - 4 and 0 - 0, is nothing, and 1 - 2 and 5 - 4, by the mean of 1.5, is."""
    assert ratio_draws([2, 4, 0], [1, 2, 0]).tolist() == [2, 2, 2]
    assert ratio_draws([1, 5], [1, 2]).tolist() == pytest.approx([2 - 1 / 1.5, 2 + 1 / 1.5])


def test_the_interval_covers_the_ratio_of_the_means_as_often_as_it_says() -> None:
    rng = np.random.default_rng(4)
    hits = 0
    for _ in range(400):
        below = rng.gamma(4.0, 1.0, 60)
        above = 1.5 * below + rng.normal(0.0, 2.0, 60)
        found = mean_interval(ratio_draws(above, below))
        hits += not found.tells_apart(1.5)
    assert 0.92 <= hits / 400 <= 0.98


def test_two_ratios_of_the_same_seeds_compare_as_pairs() -> None:
    below = np.array([1.0, 2.0, 5.0])
    same = paired_difference(ratio_draws(3 * below, below), ratio_draws(2 * below, below))
    assert same.mean == pytest.approx(1.0)
    assert same.half_width == 0.0


@pytest.mark.parametrize(("above", "below"), [([1.0], [1.0, 2.0]), ([1.0, 2.0], [0.0, 0.0])])
def test_no_ratio_without_pairs_or_a_baseline(above: list[float], below: list[float]) -> None:
    with pytest.raises(ValueError, match="a ratio needs pairs and a baseline"):
        ratio_draws(above, below)
