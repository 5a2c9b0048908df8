"""How often the scheduler looks at the whole queue: starts of jobs that waited fall on a grid of that period."""

from __future__ import annotations

import numpy as np

from dlsched.domain.workload import Floats, Workload

WAITED_S = 5.0
PERIODS_S = np.arange(10.0, 601.0)
NEAR_S = 1.5
"""A gap this close to a multiple of the period counts for it."""
LEAST_SCORE, FEWEST_GAPS = 0.3, 100
ABOUT_AS_GOOD = 0.02
SAME_PERIOD = 0.75
"""A period this much shorter is another one: half of a long period matches all its gaps too."""
MOST_MULTIPLES = 3
"""Gaps of at most so many periods refine it: the clock drifts over longer ones."""


def backfill_period_s(known: Workload) -> float | None:
    """Return the seconds between two backfill passes that the starts of a log show; None if they show none.

    Of the gaps g between distinct start seconds of jobs that waited over 5 s, ``score(p)`` is the share within 1.5 s of
    a multiple of p, less 4/p; the multiple is at least one. The period is the smallest p of 10, 11, ..., 600 s within
    0.02 of the best score and over 0.75 of its p. It needs 100 gaps and a score of 0.3, and is refined to sum(g) /
    sum(round(g / p)) over the gaps of up to three periods that are near a multiple.
    """
    start_s = known.recorded_start_s
    if start_s is None:
        return None
    with np.errstate(invalid="ignore"):
        waited = start_s - known.submit_s > WAITED_S
    gaps_s = np.diff(np.unique(np.floor(start_s[waited])))
    if len(gaps_s) < FEWEST_GAPS:
        return None
    scores = np.array([_near(gaps_s, period_s).mean() - 4 / period_s for period_s in PERIODS_S])
    if scores.max() < LEAST_SCORE:
        return None
    best_s = PERIODS_S[np.argmax(scores)]
    about_as_good = (scores >= scores.max() - ABOUT_AS_GOOD) & (best_s * SAME_PERIOD < PERIODS_S)
    period_s = float(PERIODS_S[np.argmax(about_as_good)])
    few = gaps_s[_near(gaps_s, period_s) & (gaps_s <= (MOST_MULTIPLES + 0.5) * period_s)]
    return float(few.sum() / np.round(few / period_s).sum()) if len(few) else period_s


def _near(gaps_s: Floats, period_s: float) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    multiple = np.maximum(np.round(gaps_s / period_s), 1.0)
    return np.asarray(np.abs(gaps_s - multiple * period_s) <= NEAR_S)
