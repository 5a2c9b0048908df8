"""Speed curves of the submitted jobs; equal ones share a row, with what the rule makes of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dlsched.domain.state import State
from dlsched.domain.workload import Floats, Ints
from dlsched.policies.elastic_queueing.kernels.tables import Curves
from dlsched.speed.widths import smallest_widths

Widths = Callable[[Floats], Ints]
"""From rates on 1..N workers to the width wanted with 0..N workers at most."""
Weights = Callable[[Floats], Floats]
"""From rates on 1..N workers to the weight of each width."""


class CurveBook:
    """Learns the rows as they are submitted, never looks back.

    Parameters
    ----------
    widths, weights
        What the rule wants of a curve, and how it orders jobs.
    most
        N, workers of the largest gang the cluster can hold.
    """

    def __init__(self, widths: Widths, weights: Weights, most: int) -> None:
        self._widths, self._weights, self._most = widths, weights, most
        self._number: dict[bytes, int] = {}
        self._rates: list[Floats] = []
        self._of = np.zeros(0, dtype=np.int64)
        self._seen = 0
        self._smallest: list[int] = []
        self.curves = Curves(np.zeros((0, most + 1)), np.zeros((0, most + 1), dtype=np.int64), np.zeros((0, most + 1)))

    def learn(self, state: State) -> None:
        """Take in the rows submitted since the last call."""
        rows = np.arange(self._seen, len(state.jobs))
        if len(rows):
            self.add(rows, state.rate)

    def add(self, rows: Ints, rate: Callable[[Ints, Ints], Floats]) -> None:
        """Take in the next rows; ``rate`` answers rows and workers with work per second."""
        known = len(self._rates)
        self._seen += len(rows)
        if self._seen > len(self._of):
            self._of = np.concatenate([self._of, np.zeros(self._seen, dtype=np.int64)])
        widths = np.arange(1, self._most + 1)
        rates = rate(np.repeat(rows, self._most), np.tile(widths, len(rows))).reshape(len(rows), self._most)
        self._of[rows] = [self._number_of(row) for row in rates]
        if len(self._rates) > known:
            self._tabulate()

    def _number_of(self, rates: Floats) -> int:
        number = self._number.setdefault(rates.tobytes(), len(self._rates))
        if number == len(self._rates):
            self._rates.append(rates)
            self._smallest.append(int(smallest_widths(rates)[-1]))
        return number

    def _tabulate(self) -> None:
        none = np.zeros(1)
        self.curves = Curves(
            np.array([np.concatenate([none, rates]) for rates in self._rates]),
            np.array([self._widths(rates) for rates in self._rates]),
            np.array([np.concatenate([none, self._weights(rates)]) for rates in self._rates]),
        )

    def of(self, rows: Ints) -> Ints:
        """Return the curve of each row."""
        return self._of[rows]

    def smallest(self, rows: Ints) -> Ints:
        """Return the smallest legal width of each row, 0 where the cluster can never hold it."""
        return np.array(self._smallest, dtype=np.int64)[self._of[rows]]


def by_time(rates: Floats) -> Floats:
    """Return 1 / X(w): jobs come in the order of their remaining time at the width, infinity where not legal."""
    return np.asarray(np.divide(1.0, rates, out=np.full(len(rates), np.inf), where=rates > 0))


def by_hell(rates: Floats) -> Floats:
    """Return S(w) / E(w) for one unit of work: w / w1 X(w1) / X(w)**2, with w1 the smallest legal width."""
    legal = np.flatnonzero(rates > 0)
    if not legal.size:
        return np.full(len(rates), np.inf)
    first = int(legal[0])
    widths = np.arange(1, len(rates) + 1)
    return np.asarray(by_time(rates) ** 2 * (rates[first] / (first + 1)) * widths)


def by_submission(rates: Floats) -> Floats:
    """Return 0 for every width: jobs come in source order."""
    return np.zeros(len(rates))
