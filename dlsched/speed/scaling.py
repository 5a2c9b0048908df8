"""Speed laws for traces, which record one width and one run time for each job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from dlsched.domain.workload import Floats, Ints, Workload


@dataclass(frozen=True, eq=False)
class Rigid:
    """Rate 1 at the requested width, nothing at any other; ``requested`` has shape (jobs,)."""

    requested: Ints

    def limits(self) -> tuple[Ints, Ints]:
        """Return the requested width twice."""
        return self.requested, self.requested

    def rate(self, row: int, workers: int, servers: int, node_speed: float) -> float:
        """Return the node speed at the requested width, else 0."""
        return node_speed if workers == self.requested[row] else 0.0

    def rates(self, rows: Ints, workers: Ints) -> Floats:
        """Return 1 where the width is the requested one, else 0."""
        return np.where(np.asarray(workers) == self.requested[rows], 1.0, 0.0)


@dataclass(frozen=True, eq=False)
class Scaling:
    """Every doubling of the workers is worth a factor 2 x efficiency.

    S(w) = w * efficiency ** log2(w); rate(w) = S(w) / S(requested), so that a trace job keeps its recorded run
    time at its recorded width. Arrays have shape (jobs,).
    """

    requested: Ints
    smallest: Ints
    largest: Ints
    efficiency: float

    @classmethod
    def of(cls, workload: Workload, efficiency: float, max_factor: float) -> Self:
        """Return the law with the workload's own limits, else 1 and floor(max_factor x requested)."""
        requested = workload.workers
        smallest, largest = workload.min_workers, workload.max_workers
        if smallest is None:
            smallest = np.ones(len(requested), dtype=np.int64)
        if largest is None:
            largest = np.floor(max_factor * requested).astype(np.int64)
        return cls(requested, smallest, largest, efficiency)

    def limits(self) -> tuple[Ints, Ints]:
        """Return the smallest and the largest legal width."""
        return self.smallest, self.largest

    def rate(self, row: int, workers: int, servers: int, node_speed: float) -> float:
        """Return the rate at this width relative to the requested one, times the node speed; 0 = not legal."""
        if not self.smallest[row] <= workers <= self.largest[row]:
            return 0.0
        return float(self._relative(np.float64(workers), self.requested[row])) * node_speed

    def rates(self, rows: Ints, workers: Ints) -> Floats:
        """Return the rates on nodes of speed 1."""
        width = np.asarray(workers, dtype=np.float64)
        legal = (width >= self.smallest[rows]) & (width <= self.largest[rows])
        relative = self._relative(np.maximum(width, 1.0), self.requested[rows])
        return np.where(legal, relative, 0.0)

    def _relative(self, width: Floats | np.float64, requested: Ints | np.int64) -> Floats:
        ratio = width / requested
        return np.asarray(ratio * self.efficiency ** np.log2(ratio))
