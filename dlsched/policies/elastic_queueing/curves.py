"""Speed curves of the submitted jobs; equal ones share a row, with what the rule makes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from dlsched.domain.errors import InputError
from dlsched.domain.workload import Floats, Ints
from dlsched.policies.elastic_queueing.kernels.tables import Curves
from dlsched.speed.widths import efficient_widths

Widths = Callable[[Floats], Ints]
"""From rates on 1..N workers to the width wanted with 0..N workers at most."""
Weights = Callable[[Floats], Floats]
"""From rates on 1..N workers to the weight of each width."""
Rate = Callable[[Ints, Ints], Floats]
"""From rows and workers to work per second."""
MOST_WIDTHS = 65_536
"""Widths above this are not looked at: a curve is a table."""
RATES_AT_ONCE = 1_000_000


class CurveBook:
    """Learns the rows as they are submitted, never looks back.

    Parameters
    ----------
    widths, weights
        What the rule wants of a curve, and how it orders jobs.
    most
        Workers of the largest gang the cluster can hold, where :meth:`add` is not told otherwise.
    """

    def __init__(self, widths: Widths, weights: Weights, most: int = MOST_WIDTHS) -> None:
        self._widths, self._weights, self._most = widths, weights, most
        self._number: dict[bytes, int] = {}
        self._of = np.zeros(0, dtype=np.int64)
        self._efficient: list[Ints] = []
        self._ends = np.zeros((0, 2), dtype=np.int64)
        self._tables = _tables(0, 0)

    def add(self, rows: Ints, rate: Rate, smallest: Ints | None = None, largest: Ints | None = None) -> None:
        """Take in new rows; ``smallest`` to ``largest`` (rows,) are the widths to ask ``rate`` about.

        A row with largest < smallest has no legal width. InputError for a job wider than a table can be.
        """
        count = len(rows)
        low = np.ones(count, dtype=np.int64) if smallest is None else np.asarray(smallest)
        high = np.full(count, self._most) if largest is None else np.asarray(largest)
        too_wide = np.flatnonzero((low > MOST_WIDTHS) & (high >= low))
        if too_wide.size:
            what = f"row {int(rows[too_wide[0]]) + 1}"
            why = f"needs {int(low[too_wide[0]]):,} workers; policies of this family handle at most {MOST_WIDTHS:,}"
            raise InputError(what, why, "Use a standard policy, or count several workers as one")
        needed = int(rows.max(initial=-1)) + 1
        if needed > len(self._of):
            self._of = np.concatenate([self._of, np.zeros(needed, dtype=np.int64)])
        high = np.minimum(high, MOST_WIDTHS)
        step = max(1, RATES_AT_ONCE // max(1, int(high.max(initial=1))))
        for first in range(0, count, step):
            part = slice(first, first + step)
            self._of[rows[part]] = [self._number_of(rates) for rates in _rates(rate, rows[part], low[part], high[part])]

    def _number_of(self, rates: Floats) -> int:
        number = self._number.setdefault(rates.tobytes(), len(self._efficient))
        if number == len(self._efficient):
            self._efficient.append(efficient_widths(rates))
            ends = self._efficient[-1][[0, -1]] if len(rates) else [0, 0]
            self._ends = np.concatenate([self._ends, [ends]])
            self._write(number, rates)
        return number

    def _write(self, number: int, rates: Floats) -> None:
        rows, columns = self._tables.rate.shape
        if number >= rows or len(rates) >= columns:
            more = _tables(max(rows, 2 * number, 16), max(columns, len(rates) + 1))
            for old, new in zip(self._tables, more, strict=True):
                new[:rows, :columns] = old
            more.width[:rows, columns:] = self._tables.width[:, -1:] if columns else 0
            self._tables = more
        width, last = self._widths(rates), len(rates) + 1
        self._tables.rate[number, 1:last] = rates
        self._tables.weight[number, 0] = 0.0
        self._tables.weight[number, 1:last] = self._weights(rates)
        self._tables.width[number, :last] = width
        self._tables.width[number, last:] = width[-1]

    @property
    def curves(self) -> Curves:
        """The tables of the curves seen so far."""
        count = len(self._efficient)
        return Curves(self._tables.rate[:count], self._tables.width[:count], self._tables.weight[:count])

    @property
    def widest(self) -> int:
        """Last width of the tables."""
        return int(self._tables.rate.shape[1]) - 1

    def of(self, rows: Ints) -> Ints:
        """Return the curve of each row."""
        return self._of[rows]

    def efficient(self, curve: int) -> Ints:
        """Return the widths of a curve that are faster than every smaller one, ascending; the first is the smallest."""
        return self._efficient[curve]

    def smallest(self, rows: Ints) -> Ints:
        """Return the smallest legal width of each row, 0 where the cluster can never hold it."""
        return np.asarray(self._ends[self._of[rows], 0])

    def fastest(self, rows: Ints) -> Ints:
        """Return the fastest width of each row, 0 where the cluster can never hold it: more bring nothing."""
        return np.asarray(self._ends[self._of[rows], 1])


def _rates(rate: Rate, rows: Ints, low: Ints, high: Ints) -> Iterator[Floats]:
    """Yield the rates of each row on 1, 2, ... workers, without zeros at the end; asked for all rows at once."""
    counts = np.maximum(high - low + 1, 0)
    ends = np.cumsum(counts)
    widths = np.arange(int(counts.sum())) - np.repeat(ends - counts, counts) + np.repeat(low, counts)
    found = rate(np.repeat(rows, counts), widths)
    for first, end, count in zip(low.tolist(), ends.tolist(), counts.tolist(), strict=True):
        part = found[end - count : end]
        legal = np.flatnonzero(part > 0)
        yield np.concatenate([np.zeros(first - 1), part[: int(legal[-1]) + 1]]) if legal.size else np.zeros(0)


def _tables(rows: int, columns: int) -> Curves:
    shape = rows, columns
    return Curves(np.zeros(shape), np.zeros(shape, dtype=np.int64), np.full(shape, np.inf))


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
