"""Nonlinear least squares within bounds (trust region, scipy), from several starts."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from dlsched.domain.workload import Floats

TOLERANCE = 1e-13
MOST_EVALUATIONS = 100
"""Evaluations of the residuals from one start, besides those for derivatives."""


def least_squares(
    residuals: Callable[[Floats], Floats], starts: Iterable[Floats], lower: Floats, upper: Floats, refined: int = 8
) -> tuple[Floats, float]:
    """Return the values in [lower, upper] with the least sum of squared residuals that a start led to, and that sum.

    The search goes on from the ``refined`` best starts. It is local: nothing proves that no other values are better.
    The first of equally good answers wins; the same arguments always give the same answer.
    """
    from scipy.optimize import least_squares as solve  # heavy import, needed by few runs

    ranked = sorted(starts, key=lambda start: float(np.square(residuals(start)).sum()))
    found = [
        solve(
            residuals, start, bounds=(lower, upper), xtol=TOLERANCE, ftol=TOLERANCE, gtol=TOLERANCE,
            max_nfev=MOST_EVALUATIONS,
        )
        for start in ranked[:refined]
    ]  # fmt: skip
    best = min(found, key=lambda answer: float(answer.cost))
    return np.asarray(best.x), 2.0 * float(best.cost)
