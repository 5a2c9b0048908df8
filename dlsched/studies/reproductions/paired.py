"""Runs of several policies, sizes, ... on the same random jobs, so that differences are paired by seed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Generic, TypeVar

import numpy as np

from dlsched.domain.workload import Floats
from dlsched.metrics.stats.intervals import Interval, mean_interval, paired_difference
from dlsched.studies.reproductions.reproduction import Setting
from dlsched.studies.run_all import run_all

Task = TypeVar("Task")
Cell = TypeVar("Cell", bound=Hashable)
Result = TypeVar("Result")


@dataclass(frozen=True)
class PairedStudy(Generic[Cell, Result]):
    """Results by cell (policy, size, ...), each over the seeds in one order; a cell may have the first of them only.

    A ``measure`` returns the number of a result that is looked at; without one the results are numbers.
    """

    results: Mapping[Cell, Sequence[Result]]

    def values(self, cell: Cell, measure: Callable[[Any], float] = float) -> Floats:
        """Return a number of a cell, (seeds,)."""
        return np.array([measure(result) for result in self.results[cell]])

    def mean(self, cell: Cell, measure: Callable[[Any], float] = float) -> Interval:
        """Return the mean over the seeds."""
        return mean_interval(self.values(cell, measure))

    def pair(self, cell: Cell, other: Cell, measure: Callable[[Any], float] = float) -> tuple[Floats, Floats]:
        """Return the numbers of two cells over the seeds that both have."""
        both = min(len(self.results[cell]), len(self.results[other]))
        return self.values(cell, measure)[:both], self.values(other, measure)[:both]

    def difference(
        self, cell: Cell, other: Cell, measure: Callable[[Any], float] = float, *, times: float = 1.0
    ) -> Interval:
        """Return a cell's number minus ``times`` another's, paired by seed."""
        ours, theirs = self.pair(cell, other, measure)
        return paired_difference(ours, times * theirs)

    def growth(self, pairs: Sequence[tuple[Cell, Cell]], measure: Callable[[Any], float] = float) -> Interval:
        """Return how much larger the difference of two cells is for the last of ``pairs`` than for the first one."""
        (ours, theirs), (ours_first, theirs_first) = (self.pair(*pairs[end], measure) for end in (-1, 0))
        return paired_difference(ours - theirs, ours_first - theirs_first)


def compute_all(setting: Setting, tasks: Sequence[Task], work: Callable[[Task], Result], noun: str) -> list[Result]:
    """Return the results of tasks in their order; ``noun``: what is counted in the progress."""
    done = count(1)
    return run_all(tasks, work, setting.executor, each=lambda *_: setting.tell(next(done), len(tasks), noun))


def by_cell(results: Iterable[tuple[Cell, Result]]) -> dict[Cell, list[Result]]:
    """Return the results of each cell in their order."""
    cells: dict[Cell, list[Result]] = {}
    for cell, result in results:
        cells.setdefault(cell, []).append(result)
    return cells
