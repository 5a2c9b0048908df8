"""Which widths of a speed curve pay: the efficient ones, the knee, the HELL point (docs/papers/hell-knee.md).

A speed curve is an array of work per second on 1, 2, ... N nodes, 0 where a width is not legal. All functions answer
for every budget at once: entry b of the result, shape (N + 1,), is the width chosen when at most b nodes may be
used, 0 where none is legal.
"""

from __future__ import annotations

import numpy as np

from dlsched.domain.workload import Floats, Ints


def efficient_widths(rates: Floats) -> Ints:
    """Return the widths that are faster than every smaller one, ascending."""
    before = np.concatenate([[0.0], np.maximum.accumulate(rates)[:-1]])
    return np.flatnonzero(rates > before) + 1


def smallest_widths(rates: Floats) -> Ints:
    """Return the smallest legal width for each budget."""
    return _up_to(np.flatnonzero(rates > 0)[:1] + 1, len(rates))


def fastest_widths(rates: Floats) -> Ints:
    """Return the fastest width for each budget; the smallest of equally fast ones."""
    return _up_to(efficient_widths(rates), len(rates))


def hell_widths(rates: Floats) -> Ints:
    """Return the width with the least S(w) / E(w) for each budget, the smallest of equally good ones.

    E(w) = S(1) / (w S(w)), so that it is the width with the least w / X(w)**2.
    """
    legal = rates > 0
    widths = np.arange(1, len(rates) + 1)
    badness = np.divide(widths, rates**2, out=np.full(len(rates), np.inf), where=legal)
    before = np.concatenate([[np.inf], np.minimum.accumulate(badness)[:-1]])
    return _up_to(np.flatnonzero(badness < before) + 1, len(rates))


def knee_widths(rates: Floats, alpha: float) -> Ints:
    """Return the knee for each budget: the last efficient width on the walk that is worth its nodes.

    The walk goes from each efficient width to the next and stops before the first whose improvement for each added
    node, 1 - (S_new / S_old) ** (1 / nodes added), is less than ``alpha``.
    """
    walk = efficient_widths(rates)
    if len(walk) == 0:
        return _up_to(walk, len(rates))
    ratio = rates[walk[:-1] - 1] / rates[walk[1:] - 1]
    gain = 1.0 - ratio ** (1.0 / np.diff(walk))
    short = np.flatnonzero(gain < alpha)
    return _up_to(walk[: short[0] + 1] if short.size else walk, len(rates))


def _up_to(chosen: Ints, most: int) -> Ints:
    """Return the last of the ascending widths that each budget from 0 to ``most`` holds; 0 = none."""
    with_none = np.concatenate([[0], chosen]).astype(np.int64)
    return with_none[np.searchsorted(chosen, np.arange(most + 1), side="right")]
