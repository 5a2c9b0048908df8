"""The steady state of one long run: what to leave out, how sure the mean is, and whether the queue grows without end.

A run begins empty and ends by draining, and jobs near each other are alike: three reasons why the plain mean and its
plain interval would be wrong. All functions are pure and work on columns over jobs in order of submission.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dlsched.domain.workload import Floats, Ints
from dlsched.metrics.stats.intervals import LEVEL, Interval, mean_interval, means_of_batches

WARM_UP_SHARE = 0.1
"""Share of the jobs left out at the start.

A fixed share: MSER-5 looks at the values, so it cuts off early busy times rather than early quiet ones and makes the
mean too small, by 2% (M/M/1, load 0.7, 4,000 jobs) to 10% (load 0.9).
"""
MOST_LEFT_OUT_AT_END = 0.25
LATE_QUANTILE = 0.99
MOST_BATCHES, LEAST_BATCHES = 32, 8
GROWTH_WINDOWS = 20
LEAST_GROWTH = 0.5
"""Jobs per 100 arrivals by which the backlog must grow, at the least, to be called growing."""
_MOST_CORRELATION = 0.9


@dataclass(frozen=True, slots=True)
class SteadyMean:
    """Mean of a correlated series with its interval.

    ``batches`` is how many means of consecutive values the interval rests on, ``lag_1`` the correlation of each with
    the next, by which the interval was widened. ``settled``: with even the longest batches correlated, the interval is
    too narrow to rely on.
    """

    interval: Interval
    batches: int
    lag_1: float
    settled: bool

    def within(self, relative: float) -> bool:
        """Whether the half width is at most this share of the mean, and can be relied on."""
        half = self.interval.half_width
        return self.settled and half is not None and half <= relative * abs(self.interval.mean)


def warm_up(num_jobs: int) -> int:
    """Return how many of the first jobs meet a cluster that is still filling up: a fixed share of them."""
    return math.ceil(WARM_UP_SHARE * num_jobs)


def before_the_end(submit_s: Floats, end_s: Floats) -> int:
    """Return how many of the first jobs had enough others come after them; the rest met a cluster running empty.

    Left out are jobs submitted less than the 99% quantile of the turnaround time before the last submission. Cutting by
    submission, not by end, keeps long and short jobs in their proportion.
    Columns of equal shape (jobs,), sorted by submission; every job has ended.
    """
    late_s = float(np.quantile(end_s - submit_s, LATE_QUANTILE))
    return int(np.searchsorted(submit_s, submit_s[-1] - late_s, side="right"))


def least_kept(num_jobs: int) -> int:
    """Return how many of the first jobs are kept in any case; a run that would have to keep fewer is too short."""
    return math.ceil((1 - MOST_LEFT_OUT_AT_END) * num_jobs)


def steady_mean(series: Floats, level: float = LEVEL) -> SteadyMean:
    """Return the mean of a steady correlated series, shape (values,), with an interval by batch means.

    32 batches, and half as many, twice as long, while neighbours are correlated beyond chance (lag-1 correlation above
    1 / sqrt(batches)), down to 8. The correlation that is left widens the interval as for a first-order autoregressive
    series, by sqrt((1 + r) / (1 - r)). Values that fill no batch are left out at the start.

    Raises
    ------
    ValueError
        With fewer than 16 values.
    """
    if len(series) < 2 * LEAST_BATCHES:
        raise ValueError(f"need at least {2 * LEAST_BATCHES} values, got {len(series)}")
    batches = MOST_BATCHES
    while batches > LEAST_BATCHES and (len(series) < 2 * batches or _correlated(means_of_batches(series, batches))):
        batches //= 2
    means = means_of_batches(series, batches)
    plain, lag_1 = mean_interval(means, level), lag_1_correlation(means)
    # The estimate is 1 / batches too low, in the mean, for batches that are independent.
    left = min(max(lag_1 + 1 / batches, 0.0), _MOST_CORRELATION)
    half = (plain.half_width or 0.0) * math.sqrt((1 + left) / (1 - left))
    return SteadyMean(Interval(plain.mean, half, len(series), level), batches, lag_1, not _correlated(means))


def lag_1_correlation(series: Floats) -> float:
    """Return the correlation of each value with the next; 0 where all are equal."""
    apart = series - series.mean()
    spread = float(apart @ apart)
    return float(apart[1:] @ apart[:-1]) / spread if spread > 0 else 0.0


def found_in_system(submit_s: Floats, end_s: Floats) -> Ints:
    """Return how many jobs each job found when it was submitted, shape (jobs,); one that ends just then has left."""
    left = np.searchsorted(np.sort(end_s), submit_s, side="right")
    return np.arange(len(submit_s)) - left


def backlog_growth(found: Ints, level: float = LEVEL) -> Interval:
    """Return by how many jobs the backlog grows per 100 arrivals, from what arriving jobs found, shape (jobs,).

    The mean of the increments over 20 equal windows after the warm-up, with their t interval. In a queue without end
    increments are alike and independent; in a steady one they undo each other, so that their sum stays small and the
    interval is too wide rather than too narrow. The draining at the end has no part in it: no job arrives then.

    Raises
    ------
    ValueError
        With fewer than 40 jobs.
    """
    if len(found) < 2 * GROWTH_WINDOWS:
        raise ValueError(f"need at least {2 * GROWTH_WINDOWS} jobs, got {len(found)}")
    edge = np.linspace(warm_up(len(found)), len(found) - 1, GROWTH_WINDOWS + 1).astype(np.int64)
    return mean_interval(100 * np.diff(found[edge]) / np.diff(edge), level)


def grows(growth: Interval) -> bool:
    """Whether the backlog grows beyond doubt and by more than a trifle: the interval lies above LEAST_GROWTH."""
    return growth.low is not None and growth.low > LEAST_GROWTH


def _correlated(means: Floats) -> bool:
    return lag_1_correlation(means) > 1 / math.sqrt(len(means))
