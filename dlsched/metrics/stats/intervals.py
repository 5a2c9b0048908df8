"""How sure a number is: t intervals over draws, paired differences, exact binomial intervals, batch means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.95
SAME_NUMBER = 1e-9
"""Draws that differ less than this, relative to their size, are the same number."""

Values = Sequence[float] | NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over ``n`` draws with its interval; ``half_width`` is None for a single draw ("rough")."""

    mean: float
    half_width: float | None
    n: int
    level: float = LEVEL

    @property
    def low(self) -> float | None:
        """Lower end."""
        return None if self.half_width is None else self.mean - self.half_width

    @property
    def high(self) -> float | None:
        """Upper end."""
        return None if self.half_width is None else self.mean + self.half_width

    @property
    def exact(self) -> bool:
        """Whether every one of several draws gave the same number."""
        return self.half_width == 0

    def tells_apart(self, value: float = 0.0) -> bool:
        """Whether the interval leaves out ``value``; a single draw never does."""
        return self.half_width is not None and abs(self.mean - value) > self.half_width


def mean_interval(values: Values, level: float = LEVEL) -> Interval:
    """Return the mean with its t interval.

    Raises
    ------
    ValueError
        Without any value.
    """
    draws = np.asarray(values, dtype=float)
    if draws.size == 0:
        raise ValueError("an interval needs at least 1 draw, got 0")
    mean = float(draws.mean())
    if draws.size == 1:
        return Interval(mean, None, 1, level)
    if float(np.ptp(draws)) <= SAME_NUMBER * float(np.abs(draws).max()):
        return Interval(mean, 0.0, draws.size, level)
    error = float(draws.std(ddof=1)) / math.sqrt(draws.size)
    return Interval(mean, t_quantile(draws.size - 1, level) * error, draws.size, level)


def paired_difference(values: Values, baseline: Values, level: float = LEVEL) -> Interval:
    """Return value - baseline over draws that saw the same random jobs.

    Raises
    ------
    ValueError
        If the two have different numbers of draws.
    """
    ours, theirs = np.asarray(values, dtype=float), np.asarray(baseline, dtype=float)
    if ours.shape != theirs.shape:
        raise ValueError(f"paired futures need equal numbers, got {ours.size} and {theirs.size}")
    difference = ours - theirs
    # Rounding noise of two large equal numbers is no difference.
    difference[np.abs(difference) <= SAME_NUMBER * np.maximum(np.abs(ours), np.abs(theirs))] = 0.0
    return mean_interval(difference, level)


def ratio_draws(values: Values, baseline: Values) -> NDArray[np.float64]:
    """Return draws (n,) whose mean is sum(values) / sum(baseline) and whose spread is the error of that ratio.

    The ratio is linearised: r + (value - r baseline) / mean(baseline). So an interval of a ratio is that of a mean, and
    two ratios over the same seeds compare future by future.

    Raises
    ------
    ValueError
        If the two have different numbers of draws or the baseline adds up to 0.
    """
    above, below = np.asarray(values, dtype=float), np.asarray(baseline, dtype=float)
    if above.shape != below.shape or not below.sum():
        raise ValueError(f"a ratio needs pairs and a baseline, got {above.size} and {below.size}, sum {below.sum():g}")
    ratio = above.sum() / below.sum()
    draws: NDArray[np.float64] = ratio + (above - ratio * below) / below.mean()
    return draws


def binomial_interval(hits: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Return the exact (Clopper-Pearson) interval of a share seen in ``hits`` of ``n`` draws.

    Raises
    ------
    ValueError
        If hits is not between 0 and n, or n is 0.
    """
    if not 0 <= hits <= n or n == 0:
        raise ValueError(f"need 0 <= hits <= n and n > 0, got {hits} of {n}")
    from scipy.special import betaincinv  # slow to import, rarely needed

    tail = (1 - level) / 2
    low = 0.0 if hits == 0 else float(betaincinv(hits, n - hits + 1, tail))
    high = 1.0 if hits == n else float(betaincinv(hits + 1, n - hits, 1 - tail))
    return low, high


def means_of_batches(series: Values, batches: int) -> NDArray[np.float64]:
    """Return the means of equal batches of consecutive values, shape (batches,); see :func:`batch_means`."""
    values = np.asarray(series, dtype=float)
    if batches < 2 or values.size < batches:
        raise ValueError(f"need at least 2 batches and a value for each, got {values.size} values, {batches} batches")
    means: NDArray[np.float64] = values[values.size % batches :].reshape(batches, -1).mean(axis=1)
    return means


def t_quantile(freedom: int, level: float = LEVEL) -> float:
    """Return the t quantile that leaves half of what ``level`` leaves out above it."""
    from scipy.special import stdtrit  # quicker to import than scipy.stats

    return float(stdtrit(freedom, (1 + level) / 2))
