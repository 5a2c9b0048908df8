"""Speed by a table of run times: t[profile][GPU type][GPUs], as GPU-as-a-service planners measure or predict it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from dlsched.domain.cluster import VmType
from dlsched.domain.errors import InputError
from dlsched.domain.timetable import TimeTable
from dlsched.domain.workload import Floats, Ints, Workload


@dataclass(frozen=True, eq=False)
class Tabled:
    """Rates from a table; a worker is one GPU.

    ``rate_by`` (profiles, machine types, GPUs) work per second, 0 where a profile cannot run; ``reference`` (profiles,
    GPUs) the fastest of the GPU types at hand; ``profile`` (jobs,) the row of the table of each job.
    """

    profile: Ints
    rate_by: Floats
    reference: Floats

    @classmethod
    def of(cls, workload: Workload, table: TimeTable, vm_types: Sequence[VmType]) -> Self:
        """Return the model; without machine types every GPU type of the table counts as at hand."""
        column = {gpu_type: number for number, gpu_type in enumerate(table.gpu_types)}
        by_type = 1.0 / table.seconds
        nowhere = np.zeros((len(table.profiles), 1, table.most_gpus))
        padded = np.concatenate([by_type, nowhere], axis=1)
        types = [column.get(vm.gpu_type, -1) for vm in vm_types]
        speeds = np.array([vm.speed for vm in vm_types])
        at_hand = padded[:, sorted(set(types) - {-1})] if set(types) - {-1} else by_type
        return cls(_profiles(workload, table), padded[:, types] * speeds[:, None], at_hand.max(axis=1))

    @property
    def _most(self) -> int:
        return int(self.reference.shape[1])

    def limits(self) -> tuple[Ints, Ints]:
        """Return 1 and the largest number of GPUs of the table."""
        jobs = len(self.profile)
        return np.ones(jobs, dtype=np.int64), np.full(jobs, self._most, dtype=np.int64)

    def legal(self, row: int, workers: int, servers: int) -> bool:
        """Whether the table has times for so many GPUs; there are no servers."""
        return 1 <= workers <= self._most and servers == 0

    def rate(self, row: int, workers: int, servers: int, vms: Collection[int]) -> float:
        """Return work per second on nodes of these machine types: the slowest of them holds up the rest."""
        if not self.legal(row, workers, servers):
            return 0.0
        return float(min(self.rate_by[self.profile[row], vm, workers - 1] for vm in vms))

    def rates(self, rows: Ints, workers: Ints) -> Floats:
        """Return work per second on the fastest GPU type at hand."""
        legal, column = self._columns(workers)
        return np.where(legal, self.reference[self.profile[rows], column], 0.0)

    def rates_on(self, rows: Ints, workers: Ints, vm: int) -> Floats:
        """Return work per second on one machine type."""
        legal, column = self._columns(workers)
        return np.where(legal, self.rate_by[self.profile[rows], vm, column], 0.0)

    @cached_property
    def _fastest(self) -> Floats:
        return np.asarray(self.reference.max(axis=1)[self.profile])

    def fastest(self) -> Floats:
        """Return the largest rate of each job over all widths and GPU types at hand."""
        return self._fastest

    def _columns(self, workers: Ints) -> tuple[np.ndarray, np.ndarray]:
        workers = np.asarray(workers)
        return (workers >= 1) & (workers <= self._most), np.clip(workers, 1, self._most) - 1


def _profiles(workload: Workload, table: TimeTable) -> Ints:
    """Return the row of the table of each job; InputError for the first job without one."""
    number = {profile: row for row, profile in enumerate(table.profiles)}
    if workload.profile is None:
        raise InputError("workload", "has no column 'profile', which the time table needs", "Map or predict the times")
    found = np.array([number.get(name, -1) for name in workload.profile], dtype=np.int64)
    lost = np.flatnonzero(found < 0)
    if lost.size:
        row = int(lost[0])
        what = f"job {workload.job_id[row]!s:.60}, column profile"
        why = f"{str(workload.profile[row])[:60]!r} is not in the time table"
        raise InputError(what, why, f"Known: {', '.join(table.profiles[:8])}")
    return found
