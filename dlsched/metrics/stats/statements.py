"""What may be said of a number, or of the difference of two, from its values in several futures.

Values are in the order of the futures: the first is future 0. A :class:`Basis` says what the futures are of. How often
each statement holds was measured on generators of known truth (decision 029, ``benchmarks/statements.py``).

Waits, turnaround times, lateness and slowdowns are never negative and skewed: their changes are ratios, of
(value + ADDED) so that a wait of 0 has one. Changes of money, shares and counts are differences.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.units import HOUR_S
from dlsched.metrics.kpi import KPI
from dlsched.metrics.stats.basis import Basis, Kind
from dlsched.metrics.stats.intervals import LEVEL, SAME_NUMBER, mean_interval, t_quantile
from dlsched.wording.certainty import FEWEST_DAYS

Verdict = Literal[
    "baseline", "better", "worse", "likely better", "likely worse", "not clear", "mixed", "same", "changed", "rough",
    "missing",
]  # fmt: skip
"""``changed``: it differs, and neither way is better. ``mixed``: the headline says one way, the futures the other.
``rough``: one future of what is random, which says nothing."""
LEAST_FUTURES = 10
"""From fewer futures of a recorded trace nothing is said about other months."""
DECLARED_SHARE, LIKELY_SHARE = 0.95, 0.80
"""Share of paired futures on one side from which on a change is declared, and called likely."""
_DECLARED_AGAINST, _LIKELY_AGAINST = 0.85, 2 / 3
"""A change that is on one side in only this share of all futures reaches the count by chance in at most 5%."""
NEXT_MONTH = math.sqrt(2.0)
"""A month to come is as uncertain again as the long run it is drawn from."""
ADDED = {"duration": 0.05 * HOUR_S, "hours": 0.05 * HOUR_S, "factor": 0.05}
"""Kinds whose changes are ratios, and what is added to both sides (seconds: 3 min; slowdowns: 0.05x)."""
SAME_SHARE = 5e-4
"""A difference below this share of the values is called the same; counts are compared exactly."""
RANGE_SHARE = 0.8
"""Share of the futures that a range holds: the middle 8 of 10."""

Values = Sequence[float] | NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value, the range or interval around it, and how many futures these rest on.

    ``low`` and ``high`` are None if nothing is random, and where one future is not enough. Recorded: ``value`` is
    what was recorded, the range holds the middle 8 of 10 futures reshuffled from it, and need not hold the value.
    Drawn: ``value`` is the mean over futures, within its 95% interval; of replays the range holds the middle 8 of 10.
    """

    value: float
    low: float | None
    high: float | None
    n: int

    @property
    def bars(self) -> tuple[float, float]:
        """How far the range reaches below and above the value, as a chart draws it; 0 where it does not."""
        low, high = (self.value if end is None else end for end in (self.low, self.high))
        return max(self.value - low, 0.0), max(high - self.value, 0.0)


@dataclass(frozen=True, slots=True)
class Effect:
    """How large a change is, with its 95% interval; ``is_ratio``: 0.8 is 20% less, else a difference."""

    value: float
    low: float
    high: float
    is_ratio: bool

    @property
    def above_zero(self) -> bool:
        """Whether the whole interval says more."""
        return self.low > (1.0 if self.is_ratio else 0.0)

    @property
    def below_zero(self) -> bool:
        """Whether the whole interval says less."""
        return self.high < (1.0 if self.is_ratio else 0.0)


@dataclass(frozen=True, slots=True)
class Change:
    """How a run differs from its baseline.

    ``value`` is the headline difference, ours minus theirs: of the recorded month, else the mean over futures. ``low``
    to ``high`` is about that difference: recorded, the middle 8 of 10 futures, and so of replays; else drawn, the
    interval of its mean.
    ``better``, ``worse`` and ``same`` count the ``n`` futures that count (recorded: those beside future 0); of a metric
    that is neither good nor bad ``better`` counts those with more. ``effect`` is the long-run change, ``next_month``
    that of one month to come; None if nothing may be said. ``this_month_only``: nothing is said of other months.
    """

    kind: Kind
    value: float
    low: float | None
    high: float | None
    n: int
    better: int
    worse: int
    same: int
    effect: Effect | None
    next_month: Effect | None
    verdict: Verdict
    this_month_only: bool = False

    def shares_of(self, base: float) -> tuple[float, float, float]:
        """Return the change and the ends of its long-run interval as shares of a baseline that is not 0.

        A ratio is one already; the interval is widened to hold the headline, and nothing falls by more than all of it.
        """
        share = self.value / abs(base)
        if self.effect is None:
            return share, share, share
        ends = (self.effect.low, self.effect.high)
        low, high = (end - 1 if self.effect.is_ratio else end / abs(base) for end in ends)
        return share, min(share, max(low, -1.0) if base > 0 else low), max(share, high)


def value_of(kpi: KPI, values: Values, basis: Basis) -> Estimate:
    """Return the value of a metric with what is known around it.

    Raises
    ------
    ValueError
        Without any value.
    """
    futures = _floats(values)
    if basis.is_exact:
        return Estimate(float(futures[0]), None, None, futures.size)
    if basis.is_recorded:
        others = futures[1:]
        low, high = _middle(others) if others.size > 1 and _speaks_of_other_months(basis) else (None, None)
        return Estimate(float(futures[0]), low, high, others.size)
    mean = mean_interval(futures)
    if mean.half_width is None:
        return Estimate(mean.mean, None, None, 1)
    if basis.are_replays:
        return Estimate(mean.mean, *_middle(futures), mean.n)
    if kpi.kind in ADDED and mean.mean > 0 and futures.min() >= 0:
        # The error of log(mean): above 0, and longer upwards, as the values are.
        spread = math.exp(min(mean.half_width / mean.mean, 50.0))
        return Estimate(mean.mean, mean.mean / spread, mean.mean * spread, mean.n)
    least, most = possible(kpi, futures)
    low, high = max(least, mean.mean - mean.half_width), min(most, mean.mean + mean.half_width)
    return Estimate(mean.mean, low, high, mean.n)


def change_of(kpi: KPI, ours: Values, theirs: Values, basis: Basis) -> Change:
    """Return how ours differs from theirs, future by future.

    Raises
    ------
    ValueError
        Without any value, or with unequal numbers of futures.
    """
    changed, base = _floats(ours), _floats(theirs)
    if changed.shape != base.shape:
        raise ValueError(f"paired futures need equal numbers, got {changed.size} and {base.size}")
    signs = _signs(kpi, changed, base)
    if basis.is_exact:
        verdict = _one_sided(kpi, int(signs[0]))
        return Change("exact", float(changed[0] - base[0]), None, None, 1, *_counted(signs[:1]), None, None, verdict)
    if basis.is_recorded:
        return _recorded_change(kpi, changed, base, signs, basis)
    return _drawn_change(kpi, changed, base, signs, are_replays=basis.are_replays)


def could_reach(kpi: KPI, values: Values, basis: Basis) -> float | None:
    """Return the bad end of what a metric could be in another month; None if nothing may be said of one.

    exp(mean + 2 t SD) of log values over resampled months (money and shares: mean + 2 t SD): about 5% of months to come
    are worse. For a metric that is better when higher, the low end.
    """
    others = _floats(values)[1:]
    if not basis.is_recorded or basis.days < FEWEST_DAYS or others.size < LEAST_FUTURES or kpi.better == "neutral":
        return None
    sign = -1.0 if kpi.better == "higher" else 1.0
    reach = sign * 2 * t_quantile(basis.days - 1)
    added = ADDED.get(kpi.kind)
    least, most = possible(kpi, others)
    if added is None or others.min() < 0:
        found = float(others.mean() + reach * others.std(ddof=1))
    else:
        logs = np.log(others + added)
        found = math.exp(min(float(logs.mean() + reach * logs.std(ddof=1)), 700.0)) - added
    return min(max(found, least), most)


def possible(kpi: KPI, values: Values = ()) -> tuple[float, float]:
    """Return the least and the most that a metric can be; ``values`` that were seen are possible in any case."""
    seen = np.asarray(values, dtype=float)
    most = 1.0 if kpi.kind == "share" or kpi.key == "fairness_users_jain" else math.inf
    ends = (-math.inf if seen.size and seen.min() < 0 else 0.0, most)
    return ends if not seen.size or seen.max() <= most else (ends[0], math.inf)


@cache
def least_declared(futures: int) -> int:
    """Return how many of ``futures`` paired futures on one side declare a change: 38 of 40, 10 of 10.

    95% of them, and enough that a change which is on that side in 85% of all futures gets there by chance in at most
    5% (below 19 futures all must agree, the most that can be asked). Fewer than 10 never declare.
    """
    return _least(futures, DECLARED_SHARE, _DECLARED_AGAINST)


@cache
def least_likely(futures: int) -> int:
    """Return how many of ``futures`` paired futures on one side make a change likely: 32 of 40.

    80% of them, and enough that a change which is on that side in 2 of 3 futures gets there by chance in at most 5%.
    """
    return _least(futures, LIKELY_SHARE, _LIKELY_AGAINST)


def _least(futures: int, share: float, against: float) -> int:
    if futures < LEAST_FUTURES:
        return futures + 1
    tail, least = 0.0, futures + 1
    while least > 0:
        of_all = math.comb(futures, least - 1) * against ** (least - 1) * (1 - against) ** (futures - least + 1)
        if tail + of_all > 1 - LEVEL:
            break
        tail, least = tail + of_all, least - 1
    return max(min(least, futures), math.ceil(share * futures - SAME_NUMBER))


# ---- a recorded month and futures reshuffled from it ---------------------------------------------------


def _recorded_change(
    kpi: KPI, ours: NDArray[np.float64], theirs: NDArray[np.float64], signs: NDArray[np.int64], basis: Basis
) -> Change:
    headline, better, worse, same = float(ours[0] - theirs[0]), *_counted(signs[1:])
    others = len(signs) - 1
    if not _speaks_of_other_months(basis) or others < LEAST_FUTURES:
        verdict = _one_sided(kpi, int(signs[0]))
        return Change(
            "recorded", headline, None, None, others, better, worse, same, None, None, verdict, this_month_only=True
        )
    low, high = _middle(ours[1:] - theirs[1:])
    # Days drawn again do not make the trace longer: the spread over them is the error, not spread / sqrt(n).
    error = t_quantile(basis.days - 1) if basis.days else t_quantile(others - 1) / math.sqrt(others)
    effect = _effect(kpi, ours[1:], theirs[1:], error)
    next_month = _effect(kpi, ours[1:], theirs[1:], NEXT_MONTH * error) if basis.days else None
    verdict = _by_count(kpi, int(signs[0]), better, worse, same)
    return Change("recorded", headline, low, high, others, better, worse, same, effect, next_month, verdict)


def _speaks_of_other_months(basis: Basis) -> bool:
    """Whether futures were asked for that say something: of few days they do not, of other causes they do."""
    return basis.futures > 0 and not 0 < basis.days < FEWEST_DAYS


def _by_count(kpi: KPI, headline: int, better: int, worse: int, same: int) -> Verdict:
    futures = better + worse + same
    if same == futures and headline == 0:
        return "same"
    side, most = (1, better) if better >= worse else (-1, worse)
    if most < least_likely(futures):
        return "not clear"
    if headline != side:
        return "mixed"
    if most >= least_declared(futures):
        return _one_sided(kpi, side)
    if kpi.better == "neutral":
        return "not clear"
    return "likely better" if side > 0 else "likely worse"


# ---- drawn futures --------------------------------------------------------------------------------------


def _drawn_change(
    kpi: KPI, ours: NDArray[np.float64], theirs: NDArray[np.float64], signs: NDArray[np.int64], *, are_replays: bool
) -> Change:
    better, worse, same = _counted(signs)
    headline = _difference(ours, theirs).mean()
    if signs.size == 1:
        verdict: Verdict = "same" if headline == 0 else "rough"
        return Change("drawn", float(headline), None, None, 1, better, worse, same, None, None, verdict)
    effect = _effect(kpi, ours, theirs, t_quantile(signs.size - 1) / math.sqrt(signs.size))
    low, high = _middle(ours - theirs) if are_replays else _as_differences(kpi, effect, float(headline), theirs)
    verdict = _by_interval(kpi, effect, float(headline), is_same=same == signs.size)
    return Change(
        "drawn", float(headline), low, high, signs.size, better, worse, same, effect, None, verdict,
        this_month_only=are_replays,
    )  # fmt: skip


def _by_interval(kpi: KPI, effect: Effect, headline: float, *, is_same: bool) -> Verdict:
    if is_same:
        return "same"
    if not effect.above_zero and not effect.below_zero:
        return "not clear"
    if (headline > 0) != effect.above_zero:
        return "mixed"
    return _one_sided(kpi, 1 if effect.above_zero == (kpi.better != "lower") else -1)


def _as_differences(kpi: KPI, effect: Effect, headline: float, theirs: NDArray[np.float64]) -> tuple[float, float]:
    """Return the interval of a change in the metric's unit; widened to hold the headline where ratios leave it out."""
    if not effect.is_ratio:
        return effect.low, effect.high
    mean = float(theirs.mean())
    ends = ((ratio - 1) * (mean + ADDED[kpi.kind]) for ratio in (effect.low, effect.high))
    low, high = (max(end, -mean) for end in ends)
    return min(low, headline), max(high, headline)


# ---- both -----------------------------------------------------------------------------------------------


def _effect(kpi: KPI, ours: NDArray[np.float64], theirs: NDArray[np.float64], error: float) -> Effect:
    """Return the mean change with ``error`` times the spread of changes on both sides of it."""
    added = ADDED.get(kpi.kind)
    if added is not None and min(ours.min(), theirs.min()) >= 0:
        logs = np.log((ours + added) / (theirs + added))
        half = error * float(logs.std(ddof=1))
        middle, low, high = (math.exp(min(float(logs.mean()) + end, 700.0)) for end in (0.0, -half, half))
        return Effect(middle, low, high, is_ratio=True)
    change = _difference(ours, theirs)
    mean, half, base = float(change.mean()), error * float(change.std(ddof=1)), float(theirs.mean())
    least, most = possible(kpi, np.concatenate([ours, theirs]))
    # Added to the baseline, neither end may leave what the metric can be; the mean itself is always within.
    low, high = max(mean - half, least - base), min(mean + half, most - base)
    return Effect(mean, min(low, mean), max(high, mean), is_ratio=False)


def _difference(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ours - theirs; the rounding noise of two large equal numbers is no difference."""
    change: NDArray[np.float64] = ours - theirs
    return np.where(np.abs(change) <= SAME_NUMBER * np.maximum(np.abs(ours), np.abs(theirs)), 0.0, change)


def _signs(kpi: KPI, ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return 1 where ours is better (neutral metrics: more), -1 where it is worse, 0 where both are the same."""
    small = 0.0 if kpi.kind == "count" else SAME_SHARE
    change = _difference(ours, theirs)
    signs = np.where(np.abs(change) <= small * np.maximum(np.abs(ours), np.abs(theirs)), 0.0, np.sign(change))
    return (-signs if kpi.better == "lower" else signs).astype(np.int64)


def _counted(signs: NDArray[np.int64]) -> tuple[int, int, int]:
    return int((signs > 0).sum()), int((signs < 0).sum()), int((signs == 0).sum())


def _one_sided(kpi: KPI, side: int) -> Verdict:
    if side == 0:
        return "same"
    if kpi.better == "neutral":
        return "changed"
    return "better" if side > 0 else "worse"


def _middle(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the ends of the middle 8 of 10 values, all of them where there are fewer than 10; both occurred."""
    ordered = np.sort(values)
    left_out = math.floor(ordered.size * (1 - RANGE_SHARE) / 2 + SAME_NUMBER)
    return float(ordered[left_out]), float(ordered[ordered.size - 1 - left_out])


def _floats(values: Values) -> NDArray[np.float64]:
    found = np.asarray(values, dtype=float)
    if found.size == 0:
        raise ValueError("a statement needs at least 1 future, got 0")
    return found
