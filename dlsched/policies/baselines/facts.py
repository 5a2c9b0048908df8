"""What a list policy must know of each job, worked out once when the job is submitted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.state import Nodes, State
from dlsched.domain.workload import Floats, Ints, Workload


class Kind(NamedTuple):
    """Jobs of one kind fit or do not fit together: equal width, demand per worker, partition and GPU types."""

    workers: int
    demand: tuple[float, ...]
    partition: str
    gpu_types: str

    @property
    def need(self) -> Floats:
        """What the whole job holds, shape (resources,)."""
        return np.asarray(self.demand) * self.workers

    def gpu_type_names(self) -> frozenset[str]:
        """Return the GPU types the kind accepts; empty = any."""
        return frozenset(name.strip() for name in self.gpu_types.split("|") if name.strip())

    def allowed(self, nodes: Nodes) -> NDArray[np.bool_]:
        """Return which nodes the kind may use, up or not, shape (nodes,)."""
        mask = np.asarray(nodes.partition == self.partition, dtype=bool)
        types = self.gpu_type_names()
        if types:
            mask &= np.isin(nodes.gpu_type.astype(str), sorted(types))
        return mask


class JobFacts:
    """Kind number and width of every row seen so far; grows with the submissions, never looks back."""

    def __init__(self) -> None:
        self.kinds: list[Kind] = []
        self._number: dict[Kind, int] = {}
        self._kind_of = np.zeros(0, dtype=np.int64)
        self._seen = 0

    def update(self, state: State) -> None:
        """Take in the rows submitted since the last call."""
        jobs, seen = state.jobs, self._seen
        if len(jobs) == seen:
            return
        if len(jobs) > len(self._kind_of):
            self._kind_of = np.concatenate([self._kind_of, np.zeros(len(jobs), dtype=np.int64)])
        rows = np.arange(seen, len(jobs))
        partitions = frozenset(str(name) for name in state.nodes.partition)
        for row, width in zip(rows.tolist(), state.requested(rows).tolist(), strict=True):
            self._kind_of[row] = self._numbered(_kind(jobs, row, width, partitions))
        self._seen = len(jobs)

    def _numbered(self, kind: Kind) -> int:
        number = self._number.setdefault(kind, len(self.kinds))
        if number == len(self.kinds):
            self.kinds.append(kind)
        return number

    def kind_of(self, rows: Ints) -> Ints:
        """Return the kind numbers of rows."""
        return self._kind_of[rows]

    def kind(self, row: int) -> Kind:
        """Return the kind of a row."""
        return self.kinds[int(self._kind_of[row])]

    def partitions(self, rows: Ints) -> dict[str, Ints]:
        """Return the rows by the partition they queue in, each in the order given."""
        kinds = self._kind_of[rows]
        names = {self.kinds[number].partition for number in np.unique(kinds).tolist()}
        if len(names) <= 1:
            return dict.fromkeys(names, rows)
        of_kind = np.array([kind.partition for kind in self.kinds], dtype=object)
        return {name: rows[of_kind[kinds] == name] for name in sorted(names)}


def _kind(jobs: Workload, row: int, width: int, partitions: frozenset[str]) -> Kind:
    """A partition that no node has counts as none: such a job runs in the open pools."""
    partition = "" if jobs.partition is None else str(jobs.partition[row])
    gpu_types = "" if jobs.gpu_types is None else str(jobs.gpu_types[row])
    demand = (
        float(jobs.gpus_per_worker[row]),
        0.0 if jobs.cpus_per_worker is None else float(jobs.cpus_per_worker[row]),
        0.0 if jobs.mem_gib_per_worker is None else float(jobs.mem_gib_per_worker[row]),
    )
    return Kind(width, demand, partition if partition in partitions else "", gpu_types)
