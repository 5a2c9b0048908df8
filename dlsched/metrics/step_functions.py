"""Counts and sums that change at events: sampled at times, and thinned for a picture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dlsched.domain.workload import Floats, Ints


def count_after(event_s: Floats, at_s: Floats) -> Ints:
    """Return how many events happened up to and at each time; NaN events never happen."""
    return np.searchsorted(np.sort(event_s[~np.isnan(event_s)]), at_s, side="right")


def sum_after(event_s: Floats, amount: Floats, at_s: Floats) -> Floats:
    """Return the sum of the amounts of the events up to and at each time; NaN events never happen."""
    order = np.argsort(event_s, kind="stable")[: int(np.sum(~np.isnan(event_s)))]
    total = np.concatenate([[0.0], np.cumsum(amount[order])])
    return np.asarray(total[np.searchsorted(event_s[order], at_s, side="right")])


def accrued(start_s: Floats, end_s: Floats, usd: Floats, at_s: Floats) -> Floats:
    """Return how much of amounts that grow evenly from start to end has come together at each time."""
    length_s = end_s - start_s
    rate = np.divide(usd, length_s, out=np.zeros(len(usd)), where=length_s > 0)
    event_s, change = np.concatenate([start_s, end_s]), np.concatenate([rate, -rate])
    order = np.argsort(event_s, kind="stable")
    slope = np.concatenate([[0.0], np.cumsum(change[order])])
    event_s = event_s[order]
    grown = np.concatenate([[0.0], np.cumsum(slope[1:-1] * np.diff(event_s))]) if len(event_s) else np.zeros(1)
    position = np.searchsorted(event_s, at_s, side="right")
    last = np.maximum(position - 1, 0)
    since_s = np.where(position > 0, at_s - event_s[last], 0.0) if len(event_s) else np.zeros(len(at_s))
    return np.asarray(grown[last] + slope[position] * since_s)


def thin(at_s: Floats, columns: Sequence[Floats | Ints], most: int) -> Ints:
    """Return at most ``most`` positions that keep the ends, and each column's least and greatest per time bin."""
    if len(at_s) <= most:
        return np.arange(len(at_s))
    bins = max((most - 2) // (2 * len(columns)), 1)
    edge = np.linspace(at_s[0], at_s[-1], bins + 1)[1:-1]
    begins = np.unique(np.append(0, np.searchsorted(at_s, edge)))
    begins = begins[begins < len(at_s)]
    sizes = np.diff(np.append(begins, len(at_s)))
    bin_of = np.repeat(np.arange(len(begins)), sizes)
    keep = [np.array([0, len(at_s) - 1])]
    for values in columns:
        least = np.flatnonzero(values == np.repeat(np.fmin.reduceat(values, begins), sizes))
        greatest = np.flatnonzero(values == np.repeat(np.fmax.reduceat(values, begins), sizes))
        keep.append(least[np.diff(bin_of[least], prepend=-1) > 0])  # the first of each bin
        keep.append(greatest[np.diff(bin_of[greatest], append=len(begins)) > 0])  # the last
    return np.unique(np.concatenate(keep))
