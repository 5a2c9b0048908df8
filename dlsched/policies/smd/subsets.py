"""The scheme of Frieze and Clarke: one linear program for each small set of items that is taken for sure.

With S taken, items worth more than the least of S are left out, and the others may be taken in parts. A vertex of that
program has at most R parts; they are rounded down. The best over all S is the answer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.workload import Floats, Ints
from dlsched.optimise.packing import fractional_packing

Mask = NDArray[np.bool_]
WHOLE = 1.0 - 1e-9


def fractional_bound(value: Floats, share: Floats) -> float:
    """Return what items in parts are worth at most: proven by prices of the capacities, whatever these are.

    ``value`` (I,), ``share`` (R, I) of each capacity: with y the prices, sum y + sum of max(0, value - y share).
    """
    _, prices = fractional_packing(value, share, np.ones(len(share)))
    return float(prices.sum() + np.maximum(0.0, value - prices @ share).sum())


def best_subset(value: Floats, share: Floats, size: int, room: float) -> Mask:
    """Return the best rounded solution (I,) over all sets of up to ``size`` items (0, 1 or 2) that fit.

    Sets are tried by what the prices of the first program promise at most; those that promise no more than what was
    found are not tried, which changes no value.
    """
    everything, prices = fractional_packing(value, share, np.ones(len(share)))
    best = everything >= WHOLE
    worth = float(value[best].sum())
    for count in range(1, size + 1):
        sets = _sets(len(value), count)
        sets = sets[(share[:, sets].sum(axis=2) <= 1.0 + room).all(axis=0)]
        promise = promises(value, share, prices, sets)
        for at in np.argsort(-promise, kind="stable").tolist():
            if promise[at] <= worth:
                break
            taken = _rounded(value, share, sets[at])
            if value[taken].sum() > worth:
                best, worth = taken, float(value[taken].sum())
    return best


def _sets(items: int, count: int) -> Ints:
    """Return all sets of one or two items, shape (sets, count)."""
    if count == 1:
        return np.arange(items)[:, None]
    return np.column_stack(np.triu_indices(items, 1))


def promises(value: Floats, share: Floats, prices: Floats, sets: Ints) -> Floats:
    """Return a bound on the program of each set: what the set is worth, the prices of the room it leaves, and the gain
    at these prices of each item that may join.
    """
    gain = np.maximum(0.0, value - prices @ share)
    order = np.argsort(value, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(gain[order])])
    least = value[sets].min(axis=1)
    joining = sums[np.searchsorted(value[order], least, side="right")]
    joining = joining - np.where(value[sets] == least[:, None], gain[sets], 0.0).sum(axis=1)
    room = prices.sum() - (prices @ share)[sets].sum(axis=1)
    return np.asarray(value[sets].sum(axis=1) + room + joining)


def _rounded(value: Floats, share: Floats, members: Ints) -> Mask:
    """Return the vertex of a set's program, rounded down."""
    taken = np.zeros(len(value), dtype=bool)
    taken[members] = True
    may = np.flatnonzero((value <= value[members].min()) & ~taken)
    left = np.maximum(0.0, 1.0 - share[:, members].sum(axis=1))
    parts, _ = fractional_packing(value[may], share[:, may], left)
    taken[may[parts >= WHOLE]] = True
    return taken
