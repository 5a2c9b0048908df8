"""How far numbers are from their proven bounds: "could be up to 12% lower", of one run and of runs side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dlsched.metrics.kpi import KPI, KPIS
from dlsched.metrics.stats.intervals import SAME_NUMBER, Interval, mean_interval
from dlsched.wording.formats import Number, share

NOTHING_LEFT = 5e-4
"""A number nearer to its bound than this share of it is called as good as it can be."""
ROUNDING = 1e-6
"""By how much a share of 1,000 may be off by rounding of its sums."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A metric and the proven bound on it, metric ``bound_key``: a lower bound, or an upper one where ``most``.

    ``words`` say what no policy can do, with {} for the bound.
    """

    key: str
    words: str
    most: bool = False

    @property
    def bound_key(self) -> str:
        """Key of the bound among the metrics."""
        return f"{self.key}_bound"

    @property
    def kpi(self) -> KPI:
        """How the metric is shown."""
        return KPIS[self.key]


COST = Limit("total_cost", "no policy can do it for less than {}")
LIMITS: tuple[Limit, ...] = (
    Limit("jct_mean", "no policy can complete these jobs in less than {} on average"),
    Limit("tardiness_total", "no policy can end these jobs with less than {} of lateness in all"),
    Limit("utility_total", "no policy can get more than {} from all jobs", most=True),
    COST,
)
"""Every metric with a proven bound, in the order in which they are listed."""


@dataclass(frozen=True, slots=True)
class Limited:
    """Number of a run beside its bound; ``left``: by which share of it another policy may be better at most."""

    limit: Limit
    value: float
    bound: float
    left: float

    @property
    def room(self) -> str:
        """Return "could be up to 12% lower", or "cannot be lower"; rounded up, since less would not be proven."""
        side = "higher" if self.limit.most else "lower"
        if self.left < NOTHING_LEFT:
            return f"cannot be {side}"
        return f"could be up to {share(math.ceil(self.left * 1000 - ROUNDING) / 1000)} {side}"

    @property
    def short(self) -> str:
        """Return "could be up to 12% lower (proven limit)"."""
        return f"{self.room} (proven limit)"

    @property
    def words(self) -> str:
        """Return "could be up to 12% lower: no policy can do it for less than $6,100"."""
        return f"{self.room}: {self.limit.words.format(self.limit.kpi.show(self.bound))}"


def limited(limit: Limit, metrics: Mapping[str, Number]) -> Limited | None:
    """Return a number of a run with its bound; None if one of them is missing or 0, which would say nothing.

    Runs that were stored before their metric had a bound have none.
    """
    value, bound = metrics.get(limit.key), metrics.get(limit.bound_key)
    if value is None or bound is None or value <= 0 or bound <= 0:
        return None
    left = bound / value - 1.0 if limit.most else 1.0 - bound / value
    return Limited(limit, float(value), float(bound), max(0.0, left))


def all_limited(metrics: Mapping[str, Number]) -> list[Limited]:
    """Return all numbers of a run with a useful bound."""
    return [found for limit in LIMITS if (found := limited(limit, metrics)) is not None]


@dataclass(frozen=True, slots=True)
class LimitedRun:
    """Mean of a metric over the futures of a run, and the mean of the bounds of the same futures; None without them."""

    name: str
    value: Interval
    bound: float | None

    def left(self, limit: Limit) -> float | None:
        """Return the share by which the mean could be better at most; None without a useful bound."""
        found = limited(limit, {limit.key: self.value.mean, limit.bound_key: self.bound})
        return None if found is None else found.left


def limited_runs(
    limit: Limit, runs: Sequence[tuple[str, Sequence[Mapping[str, Number]]]], *, exact: bool = False
) -> list[LimitedRun]:
    """Return the runs that have the metric in every future; ``runs`` = (name, metrics of each future).

    ``exact``: nothing is random, so that a single future has no uncertainty.
    """
    found = []
    for name, draws in runs:
        values, bounds = _values_of(draws, limit.key), _values_of(draws, limit.bound_key)
        if not draws or len(values) < len(draws):
            continue
        mean = mean_interval(values)
        sure = Interval(mean.mean, 0.0, 1) if exact and mean.n == 1 else mean
        found.append(LimitedRun(name, sure, sum(bounds) / len(bounds) if len(bounds) == len(draws) else None))
    return found


def _values_of(draws: Sequence[Mapping[str, Number]], key: str) -> list[float]:
    return [float(value) for draw in draws if (value := draw.get(key)) is not None]


def common_bound(runs: Sequence[LimitedRun]) -> float | None:
    """Return the bound that all runs share; None if they have several, as completed jobs differ, or none."""
    bounds = [run.bound for run in runs]
    first = bounds[0] if bounds else None
    if first is None:
        return None
    same = all(bound is not None and abs(bound - first) <= SAME_NUMBER * abs(first) for bound in bounds)
    return first if same else None
