"""Speed laws for traces, which record one width and one run time for each job."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Self

import numpy as np

from dlsched.domain.workload import Floats, Ints, Workload


@dataclass(frozen=True, eq=False)
class Rigid:
    """Rate 1 at the requested width, nothing at any other.

    ``requested`` has shape (jobs,); ``speeds`` are the relative speeds of the machine types.
    """

    requested: Ints
    speeds: tuple[float, ...] = ()

    def limits(self) -> tuple[Ints, Ints]:
        """Return the requested width twice."""
        return self.requested, self.requested

    def legal(self, row: int, workers: int, servers: int) -> bool:
        """Whether this is the requested width."""
        return bool(workers == self.requested[row])

    def rate(self, row: int, workers: int, servers: int, vms: Collection[int], nodes: int = 1) -> float:
        """Return the speed of the slowest machine type at the requested width, else 0."""
        return slowest(self.speeds, vms) if workers == self.requested[row] else 0.0

    def rates(self, rows: Ints, workers: Ints) -> Floats:
        """Return 1 where the width is the requested one, else 0."""
        return np.where(np.asarray(workers) == self.requested[rows], 1.0, 0.0)

    def rates_on(self, rows: Ints, workers: Ints, vm: int) -> Floats:
        """Return the speed of the machine type where the width is the requested one, else 0."""
        return self.rates(rows, workers) * self.speeds[vm]

    def fastest(self) -> Floats:
        """Return 1 for every job."""
        return np.ones(len(self.requested))


@dataclass(frozen=True, eq=False)
class Scaling:
    """Every doubling of the workers is worth a factor 2 x efficiency.

    S(w) = w * efficiency ** log2(w); rate(w) = S(w) / S(requested), so that a trace job keeps its recorded run
    time at its recorded width. Arrays have shape (jobs,); ``speeds`` are the relative speeds of the machine types.
    """

    requested: Ints
    smallest: Ints
    largest: Ints
    efficiency: float
    speeds: tuple[float, ...] = ()

    @classmethod
    def of(cls, workload: Workload, efficiency: float, max_factor: float, speeds: tuple[float, ...] = ()) -> Self:
        """Return the law with the workload's own limits, else 1 and floor(max_factor x requested).

        Beyond the request no job grows above its user's limit of resources.
        """
        requested = workload.workers
        smallest, largest = workload.min_workers, workload.max_workers
        if smallest is None:
            smallest = np.ones(len(requested), dtype=np.int64)
        if largest is None:
            largest = np.floor(max_factor * requested).astype(np.int64)
        largest = np.maximum(workload.widest_within_limit(largest), requested)
        return cls(requested, smallest, largest, efficiency, speeds)

    def limits(self) -> tuple[Ints, Ints]:
        """Return the smallest and the largest legal width."""
        return self.smallest, self.largest

    def legal(self, row: int, workers: int, servers: int) -> bool:
        """Whether the width is within the limits."""
        return bool(self.smallest[row] <= workers <= self.largest[row])

    def rate(self, row: int, workers: int, servers: int, vms: Collection[int], nodes: int = 1) -> float:
        """Return the rate at this width relative to the requested one, times the slowest machine type's speed."""
        if not self.legal(row, workers, servers):
            return 0.0
        return float(self._relative(np.float64(workers), self.requested[row])) * slowest(self.speeds, vms)

    def rates(self, rows: Ints, workers: Ints) -> Floats:
        """Return the rates on nodes of speed 1."""
        width = np.asarray(workers, dtype=np.float64)
        legal = (width >= self.smallest[rows]) & (width <= self.largest[rows])
        relative = self._relative(np.maximum(width, 1.0), self.requested[rows])
        return np.where(legal, relative, 0.0)

    def rates_on(self, rows: Ints, workers: Ints, vm: int) -> Floats:
        """Return the rates on one machine type."""
        return self.rates(rows, workers) * self.speeds[vm]

    def fastest(self) -> Floats:
        """Return the rates at the largest widths: more workers are always faster under this law."""
        return self.rates(np.arange(len(self.requested)), self.largest)

    def _relative(self, width: Floats | np.float64, requested: Ints | np.int64) -> Floats:
        ratio = width / requested
        return np.asarray(ratio * self.efficiency ** np.log2(ratio))


def slowest(speeds: tuple[float, ...], vms: Collection[int], nodes: int = 1) -> float:
    """Return the speed of a gang: its slowest node holds up the rest. At least one machine type."""
    return min(speeds[vm] for vm in vms)
