"""What a policy must know of each job, worked out once when the job is submitted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.state import Nodes, State
from dlsched.domain.workload import RESOURCES, Floats, Ints, Texts, Workload, gpu_type_names, partition_names
from dlsched.placement.eligibility import having, in_partition
from dlsched.policies.shared.queues import queues, usable


class JobKind(NamedTuple):
    """Jobs of one kind fit or do not fit together: equal width, demands, partition, GPU types and features.

    ``demand`` is what one worker holds, ``servers`` those that go with the width, ``server_demand`` what one holds.
    ``partition`` holds the names "a|b" that some node has, "" = it runs on nodes without a partition.
    """

    workers: int
    demand: tuple[float, ...]
    partition: str
    gpu_types: str
    servers: int = 0
    server_demand: tuple[float, ...] = ()
    features: str = ""

    @property
    def need(self) -> Floats:
        """What the whole job holds, shape (resources,)."""
        return self.held(self.workers, self.servers)

    @property
    def per_worker(self) -> Floats:
        """What one worker holds with its part of the servers, shape (resources,)."""
        return self.need / self.workers if self.servers else np.asarray(self.demand)

    def held(self, workers: int, servers: int) -> Floats:
        """Return what so many workers and servers hold, shape (resources,)."""
        held = np.asarray(self.demand) * workers
        return held + np.asarray(self.server_demand) * servers if servers else held

    def gpu_type_names(self) -> frozenset[str]:
        """Return the GPU types the kind accepts; empty = any."""
        return gpu_type_names(self.gpu_types)

    def allowed(self, nodes: Nodes) -> NDArray[np.bool_]:
        """Return which nodes the kind may use, up or not, shape (nodes,)."""
        mask = in_partition(self.partition, nodes.partition)
        types = self.gpu_type_names()
        if types:
            mask &= np.isin(nodes.gpu_type.astype(str), sorted(types))
        if self.features:
            mask &= having(self.features, nodes.features)
        return mask


class JobFacts:
    """Kind and user of every row seen so far, as numbers; grows with the submissions, never looks back."""

    def __init__(self) -> None:
        self.kinds: list[JobKind] = []
        self._number: dict[JobKind, int] = {}
        self._user_number: dict[tuple[str, str], int] = {}
        self._kind_of = np.zeros(0, dtype=np.int64)
        self._user_of = np.zeros(0, dtype=np.int64)
        self._runs = np.zeros(0, dtype=bool)
        self._need = np.zeros((0, len(RESOURCES)))
        self._names: tuple[Texts, frozenset[str]] | None = None
        self._classes: tuple[Texts, Texts, Ints] | None = None
        self._queues: dict[str, str] = {}
        self._seen = 0

    def update(self, state: State) -> None:
        """Take in the rows submitted since the last call."""
        jobs, seen = state.jobs, self._seen
        if len(jobs) == seen:
            return
        if len(jobs) > len(self._kind_of):
            more = np.zeros(len(jobs), dtype=np.int64)
            self._kind_of = np.concatenate([self._kind_of, more])
            self._user_of = np.concatenate([self._user_of, more])
            self._runs = np.concatenate([self._runs, more > 0])
        rows = np.arange(seen, len(jobs))
        partitions = self._partition_names(state.nodes)
        for row, width in zip(rows.tolist(), state.requested(rows).tolist(), strict=True):
            self._kind_of[row] = self._numbered(_kind(jobs, row, width, partitions))
            self._user_of[row] = self._user_number.setdefault(user_of(jobs, row), len(self._user_number))
        self._seen = len(jobs)
        entries = {kind.partition for kind in self.kinds}
        if not entries <= self._queues.keys():
            self._queues = queues([*dict.fromkeys(state.nodes.partition.tolist()), *sorted(entries)])

    def _partition_names(self, nodes: Nodes) -> frozenset[str]:
        if self._names is None or self._names[0] is not nodes.partition:
            entries = dict.fromkeys(nodes.partition.tolist())
            self._names = nodes.partition, frozenset().union(*map(partition_names, entries))
        return self._names[1]

    def _numbered(self, kind: JobKind) -> int:
        number = self._number.setdefault(kind, len(self.kinds))
        if number == len(self.kinds):
            self.kinds.append(kind)
        return number

    def kind_of(self, rows: Ints) -> Ints:
        """Return the kind numbers of rows."""
        return self._kind_of[rows]

    def class_of(self, nodes: Nodes) -> Ints:
        """Return a number per node, equal for nodes of equal partition, GPU type and features; kept while these are."""
        if self._classes is None or self._classes[0] is not nodes.partition or self._classes[1] is not nodes.gpu_type:
            told = zip(nodes.partition, nodes.gpu_type, nodes.features, strict=True)
            names = np.array(["\n".join(one) for one in told])
            self._classes = nodes.partition, nodes.gpu_type, np.unique(names, return_inverse=True)[1]
        return self._classes[2]

    def user_of(self, rows: Ints) -> Ints:
        """Return the user numbers of rows: the user, else the group."""
        return self._user_of[rows]

    @property
    def num_users(self) -> int:
        """Users of all rows seen."""
        return len(self._user_number)

    @property
    def need(self) -> Floats:
        """What a whole job of each kind holds, shape (kinds, resources)."""
        if len(self._need) < len(self.kinds):
            self._need = np.array([kind.need for kind in self.kinds])
        return self._need

    def runs(self, state: State) -> NDArray[np.bool_]:
        """Return which rows run, valid for the active rows only; the same buffer at every call."""
        self._runs[state.active] = False
        self._runs[state.running] = True
        return self._runs

    def number_of(self, row: int) -> int:
        """Return the kind number of a row."""
        return int(self._kind_of[row])

    def kind(self, row: int) -> JobKind:
        """Return the kind of a row."""
        return self.kinds[int(self._kind_of[row])]

    def queue(self, row: int) -> str:
        """Return where a row queues: the partition entry of its kind with all that share nodes with it, "a|b"."""
        return self._queues[self.kind(row).partition]

    def queues(self, rows: Ints) -> dict[str, Ints]:
        """Return the rows by where they queue, each in the order given; partitions that share nodes share a queue."""
        if not len(rows):
            return {}
        if len({kind.partition for kind in self.kinds}) <= 1:
            return {self.queue(int(rows[0])): rows}
        kinds = self._kind_of[rows]
        names = {self._queues[self.kinds[number].partition] for number in np.unique(kinds).tolist()}
        if len(names) <= 1:
            return dict.fromkeys(names, rows)
        of_kind = np.array([self._queues[kind.partition] for kind in self.kinds], dtype=object)
        return {name: rows[of_kind[kinds] == name] for name in sorted(names)}


def user_of(jobs: Workload, row: int) -> tuple[str, str]:
    """Return the user; a job without one belongs to its group, which differs from a user of that name."""
    user = "" if jobs.user is None else str(jobs.user[row])
    return user, "" if user or jobs.group is None else str(jobs.group[row])


def _kind(jobs: Workload, row: int, width: int, partitions: frozenset[str]) -> JobKind:
    """Return the kind of a row; a partition that no node has counts as none: such a job runs in the open pools."""
    partition = "" if jobs.partition is None else str(jobs.partition[row])
    gpu_types = "" if jobs.gpu_types is None else str(jobs.gpu_types[row])
    features = "" if jobs.features is None else str(jobs.features[row])
    demand = tuple(jobs.demand[row].tolist())
    kind = JobKind(width, demand, usable(partition, partitions), gpu_types, features=features)
    servers = int(jobs.servers_for(row, width)) if jobs.servers is not None else 0
    return kind._replace(servers=servers, server_demand=tuple(jobs.server_demand[row].tolist())) if servers else kind
