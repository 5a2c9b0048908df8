"""Intervals against tables of the t and beta distributions, and against how often they hold."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dlsched.metrics.stats.intervals import (
    binomial_interval,
    mean_interval,
    paired_difference,
)


def test_t_interval_by_hand():
    # mean 3, s^2 = 10/4 = 2.5, t(0.975, 4) = 2.776445
    interval = mean_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    half = 2.7764451 * math.sqrt(2.5 / 5)
    assert (interval.mean, interval.n) == (3, 5)
    assert interval.low == pytest.approx(3 - half)
    assert interval.high == pytest.approx(3 + half)
    assert interval.tells_apart()
    assert not interval.tells_apart(2.0)


def test_one_draw_is_rough_and_tells_nothing_apart():
    interval = mean_interval([5.0])
    assert (interval.half_width, interval.low, interval.high) == (None, None, None)
    assert not interval.exact
    assert not interval.tells_apart()


def test_equal_draws_are_exact():
    assert mean_interval([0.1 + 0.2, 0.3]).exact
    assert mean_interval([0.0, 0.0]).exact


def test_paired_differences_are_sharper_than_the_draws_themselves():
    interval = paired_difference([10.0, 20.0, 31.0], [11.0, 21.0, 32.0])
    assert (interval.mean, interval.half_width) == (-1.0, 0.0)
    assert interval.tells_apart()


def test_rounding_noise_is_no_difference():
    assert paired_difference([1e9 + 1e-4, 2.0], [1e9, 2.0]).mean == 0


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="at least 1 draw"):
        mean_interval([])
    with pytest.raises(ValueError, match="got 2 and 1"):
        paired_difference([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="got 3 of 2"):
        binomial_interval(3, 2)


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [
        pytest.param(0, 10, 0.0, 1 - 0.025 ** (1 / 10), id="none: 1 - 0.025^(1/n)"),
        pytest.param(10, 10, 0.025 ** (1 / 10), 1.0, id="all"),
        pytest.param(39, 40, 0.868414, 0.999367, id="39 of 40, published table"),
    ],
)
def test_exact_binomial(hits, n, low, high):
    assert list(binomial_interval(hits, n)) == pytest.approx([low, high], abs=1e-6)


def test_intervals_hold_as_often_as_they_say():
    rng = np.random.default_rng(3)
    held = [not mean_interval(rng.normal(7.0, 2.0, 5)).tells_apart(7.0) for _ in range(2_000)]
    assert binomial_interval(sum(held), len(held), 0.999)[0] < 0.95 < binomial_interval(sum(held), len(held), 0.999)[1]
