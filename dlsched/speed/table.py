"""Speed by a table of run times: t[profile][GPU type][GPUs], as GPU-as-a-service planners measure or predict it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from dlsched.domain.cluster import VmType
from dlsched.domain.errors import InputError
from dlsched.domain.names import names_hint
from dlsched.domain.timetable import TimeTable
from dlsched.domain.workload import Floats, Ints, Workload


@dataclass(frozen=True, eq=False)
class Tabled:
    """Rates from a table by the GPUs a job holds; part of a GPU counts as one.

    ``rate_by`` (profiles, machine types, GPUs) work per second, 0 where a profile cannot run; ``reference`` (profiles,
    GPUs) the fastest of the GPU types at hand; ``profile`` (jobs,) the row of the table of each job, ``per_worker``
    (jobs,) the GPUs one of its workers holds, ``largest`` (jobs,) the width up to which the table has times and the
    user's limit holds, at least 1.
    """

    profile: Ints
    rate_by: Floats
    reference: Floats
    per_worker: Floats
    largest: Ints

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
        return cls(
            _profiles(workload, table),
            padded[:, types] * speeds[:, None],
            at_hand.max(axis=1),
            workload.gpus_per_worker,
            np.maximum(workload.widest_within_limit(widest_timed(workload, table)), 1),
        )

    @property
    def _most(self) -> int:
        return int(self.reference.shape[1])

    def limits(self) -> tuple[Ints, Ints]:
        """Return 1 and the largest width the table has times for and the user's limit holds."""
        return np.ones(len(self.profile), dtype=np.int64), self.largest

    def legal(self, row: int, workers: int, servers: int) -> bool:
        """Whether the table has times for so many GPUs, within the user's limit; there are no servers."""
        within = workers * self.per_worker[row] <= self._most + 1e-9 and workers <= self.largest[row]
        return workers >= 1 and servers == 0 and bool(within)

    def rate(self, row: int, workers: int, servers: int, vms: Collection[int], nodes: int = 1) -> float:
        """Return work per second on nodes of these machine types: the slowest of them holds up the rest."""
        if not self.legal(row, workers, servers):
            return 0.0
        column = max(0, int(np.ceil(workers * self.per_worker[row] - 1e-9)) - 1)
        return float(min(self.rate_by[self.profile[row], vm, column] for vm in vms))

    def rates(self, rows: Ints, workers: Ints) -> Floats:
        """Return work per second on the fastest GPU type at hand."""
        legal, column = self._columns(rows, workers)
        return np.where(legal, self.reference[self.profile[rows], column], 0.0)

    def rates_on(self, rows: Ints, workers: Ints, vm: int) -> Floats:
        """Return work per second on one machine type."""
        legal, column = self._columns(rows, workers)
        return np.where(legal, self.rate_by[self.profile[rows], vm, column], 0.0)

    @cached_property
    def _fastest(self) -> Floats:
        rows = np.arange(len(self.profile))
        widths = np.arange(1, int(self.limits()[1].max(initial=1)) + 1)
        every = self.rates(np.repeat(rows, len(widths)), np.tile(widths, len(rows))).reshape(len(rows), len(widths))
        return np.asarray(every.max(axis=1, initial=0.0))

    def fastest(self) -> Floats:
        """Return the largest rate of each job over all widths and GPU types at hand."""
        return self._fastest

    def _columns(self, rows: Ints, workers: Ints) -> tuple[np.ndarray, np.ndarray]:
        width = np.asarray(workers)
        gpus = np.ceil(width * self.per_worker[rows] - 1e-9).astype(np.int64)
        legal = (width >= 1) & (gpus <= self._most) & (width <= self.largest[rows])
        return legal, np.clip(gpus, 1, self._most) - 1


def widest_timed(workload: Workload, table: TimeTable) -> Ints:
    """Return the most workers of each job for which a table has times, shape (jobs,); 0 where not even for one."""
    per_worker = np.where(workload.gpus_per_worker > 0, workload.gpus_per_worker, 1.0)
    return np.asarray(np.floor(table.most_gpus / per_worker + 1e-9).astype(np.int64))


def _profiles(workload: Workload, table: TimeTable) -> Ints:
    """Return the row of the table of each job; InputError for the first job without one."""
    number = {profile: row for row, profile in enumerate(table.profiles)}
    if workload.profile is None:
        raise InputError(
            "workload", "has no column 'profile', which the time table needs", "Map or predict the run times"
        )
    found = np.array([number.get(name, -1) for name in workload.profile], dtype=np.int64)
    lost = np.flatnonzero(found < 0)
    if lost.size:
        row = int(lost[0])
        what = f"job {workload.job_id[row]!s:.60}, column profile"
        why = f"{str(workload.profile[row])[:60]!r} is not in the time table"
        raise InputError(what, why, names_hint(str(workload.profile[row]), table.profiles))
    return found
