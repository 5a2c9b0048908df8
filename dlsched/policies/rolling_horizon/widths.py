"""Which widths a job may have: powers of two within its limits, and how fast it is at each."""

from __future__ import annotations

import numpy as np

from dlsched.domain.state import State
from dlsched.domain.workload import Floats, Ints
from dlsched.policies.shared.available_capacity import AvailableCapacity, rate_of
from dlsched.policies.shared.facts import JobFacts


def powers_of_two(smallest: int, largest: int, cap: int | None = None) -> Ints:
    """Return the powers of two from ``smallest`` to ``largest``, and to ``cap`` unless all are above.

    Where all are above the cap, the first of them; where there is none at all, the smallest width; none if
    ``largest`` is below ``smallest``.
    """
    if largest < smallest:
        return np.zeros(0, dtype=np.int64)
    widths = 2 ** np.arange(max(smallest - 1, 0).bit_length(), largest.bit_length(), dtype=np.int64)
    if not len(widths):
        return np.array([smallest])
    return widths if cap is None else widths[: max(1, int(np.searchsorted(widths, cap, side="right")))]


class WidthBook:
    """The widths of every row seen so far and the work per second at each; grows with the submissions."""

    def __init__(self, cap: int | None) -> None:
        self._cap = cap
        self._widths: list[Ints] = []
        self._rates: list[Floats] = []
        self._smallest = np.zeros(0, dtype=np.int64)

    def update(self, state: State, facts: JobFacts, capacity: AvailableCapacity) -> None:
        """Take in the rows submitted since the last call; ``facts`` and ``supply`` know them."""
        rows = np.arange(len(self._widths), len(state.jobs))
        if not len(rows):
            return
        low, high = state.width_limits(rows)
        kinds = facts.kind_of(rows)
        high = np.minimum(high, capacity.most_ever(kinds))
        for row, kind, first, last in zip(rows.tolist(), kinds.tolist(), low.tolist(), high.tolist(), strict=True):
            widths = powers_of_two(first, last, self._cap)
            rates = rate_of(state, np.full(len(widths), row), widths, facts.kinds[kind])
            if len(widths) and not rates.any():  # a time table may know none of the powers
                widths = np.arange(first, last + 1)
                rates = rate_of(state, np.full(len(widths), row), widths, facts.kinds[kind])
                widths, rates = widths[rates > 0][:1], rates[rates > 0][:1]
            faster = rates > np.concatenate([[0.0], np.maximum.accumulate(rates)[:-1]])[: len(rates)]
            self._widths.append(widths[faster])
            self._rates.append(rates[faster])
        if len(state.jobs) > len(self._smallest):
            self._smallest = np.append(self._smallest, np.zeros(len(state.jobs), dtype=np.int64))
        self._smallest[rows] = [int(self._widths[row][0]) if len(self._widths[row]) else 0 for row in rows.tolist()]

    def widths(self, row: int) -> Ints:
        """Return the workers a row may have, ascending, each faster than all smaller ones; empty = it can never run."""
        return self._widths[row]

    def rates(self, row: int) -> Floats:
        """Return the work per second at each of the widths."""
        return self._rates[row]

    def smallest(self, rows: Ints) -> Ints:
        """Return the smallest width of each row, 0 = it can never run."""
        return np.asarray(self._smallest[rows])
