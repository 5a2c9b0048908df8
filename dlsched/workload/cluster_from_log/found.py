"""A cluster with the origin of its parts, and how nodes become node types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from dlsched.domain.assumptions import Assumption
from dlsched.domain.cluster import LONGEST_NODES, Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.workload import partition_names
from dlsched.workload.hostlist import compress, expand, in_order

LONGEST_VM_NAME = 80
LONGEST_PARTITIONS = 1000
LONGEST_PARTITION_IN_NAME = 30
MOST_GPUS = 1024
MOST_NODES = 100_000
NAMED = 5
FOUND_COLUMNS = ("Node type", "Nodes", "Cores", "Memory", "GPUs", "Partitions", "Source")


@dataclass(frozen=True)
class ClusterFound:
    """A cluster that was read, not invented.

    ``source`` is what it was read from, in words ("the log", "slurm.conf"). ``origin`` says for nodes, cores, memory,
    GPUs, GPU types and partitions where they come from, as far as they are known; ``notes`` are what to know besides.
    """

    cluster: Cluster
    source: str
    origin: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """Where each part comes from, as one sentence without its full stop."""
        parts = "; ".join(f"{part}: {words}" for part, words in self.origin.items())
        return f"from {self.source}" + (f" ({parts})" if parts else "")

    def rows(self) -> list[tuple[str, int, float | None, float | None, int, str, str]]:
        """Return a row for each node type, in the order of FOUND_COLUMNS; None if a resource is not told.

        Memory has four significant digits.
        """
        return [
            (pool.vm.name, pool.count, pool.vm.cpus,
             None if pool.vm.mem_gib is None else float(f"{pool.vm.mem_gib:.4g}"), pool.vm.gpus,
             pool.partition.replace("|", ", "), self.source)
            for pool in self.cluster.pools
        ]  # fmt: skip

    def cells(self) -> list[tuple[str, ...]]:
        """Return the rows as texts with units, "–" where a resource is not told."""
        return [
            (name, f"{nodes:,}", "–" if cores is None else f"{cores:g}", "–" if mem is None else f"{mem:g} GiB",
             f"{gpus:,}", partitions, source)
            for name, nodes, cores, mem, gpus, partitions, source in self.rows()
        ]  # fmt: skip

    def plain(self) -> dict[str, Any]:
        """Return source, origin, notes and node types in JSON's own types; memory in GiB."""
        keys = ("node_type", "nodes", "cores", "mem_gib", "gpus", "partitions")
        kinds = [dict(zip(keys, row, strict=False)) for row in self.rows()]
        return {"source": self.source, "origin": dict(self.origin), "notes": list(self.notes), "node_types": kinds}

    def completed_by(self, of_log: ClusterFound | None) -> ClusterFound:
        """Return a description with the partitions that the log tells of, where it tells of none itself.

        Nodes that only the log knows are not added but named.
        """
        if of_log is None or not any(pool.nodes for pool in of_log.cluster.pools):
            return self
        own = {name: pool for pool in self.cluster.pools for name in expand(pool.nodes)}
        other = {name: pool.partition for pool in of_log.cluster.pools for name in expand(pool.nodes)}
        notes = list(self.notes)
        if missing := in_order(set(other) - set(own)):
            notes.append(f"Left out, as only the log names them: {named(missing)}")
        if not own or any(pool.partition for pool in self.cluster.pools) or not any(other.values()):
            return replace(self, notes=tuple(notes))
        cluster = cluster_of(
            Node(
                name, pool.vm.cpus, pool.vm.mem_gib, pool.vm.gpus, pool.vm.gpu_type, other.get(name, ""), pool.features
            )
            for name, pool in own.items()
        )
        if idle := [name for name in own if not other.get(name)]:
            notes.append(
                f"In no partition, as no job of the log ran there, and idle if all jobs name one: {named(idle)}"
            )
        origin = {**self.origin, "partitions": "of the jobs that ran there in the log"}
        return replace(self, cluster=cluster, origin=origin, notes=tuple(notes))

    @property
    def assumption(self) -> Assumption:
        """What a scenario on this cluster says of it."""
        return Assumption(kind="found-cluster", text=". ".join((self.words, *self.notes)))


class Node(NamedTuple):
    """One node; None if a resource is not told. ``partitions`` and ``features`` joined by "|".

    Without partitions it is open to all jobs.
    """

    name: str
    cores: float | None
    mem_gib: float | None
    gpus: int
    gpu_type: str = ""
    partitions: str = ""
    features: str = ""


def cluster_of(nodes: Iterable[Node]) -> Cluster:
    """Return a cluster of at least one node, equal nodes as one pool, in the natural order of their first names."""
    by_kind: dict[Node, list[str]] = {}
    by_name = {node.name: node for node in nodes}
    for name in in_order(by_name):
        by_kind.setdefault(by_name[name]._replace(name=""), []).append(name)
    names = _names(list(by_kind))
    return Cluster(
        pools=tuple(
            Pool(
                vm=VmType(
                    name=name, gpu_type=kind.gpu_type or ("GPU" if kind.gpus else ""), gpus=kind.gpus, cpus=kind.cores,
                    mem_gib=kind.mem_gib,
                ),
                count=len(members), partition=kind.partitions, nodes=_host_list(members), features=kind.features,
            )
            for name, (kind, members) in zip(names, by_kind.items(), strict=True)
        )
    )  # fmt: skip


def joined(names: Iterable[str]) -> str:
    """Return names of partitions or features as one entry; "" where it would be too long to keep."""
    entry = "|".join(sorted(set().union(*map(partition_names, names))))
    return entry if len(entry) <= LONGEST_PARTITIONS else ""


def named(names: Iterable[str]) -> str:
    """Return how many nodes these are and the first few in natural order: "2 nodes (n1, n2)"."""
    ordered = in_order(names)
    listed = ", ".join(name[:60] for name in ordered[:NAMED]) + (", …" if len(ordered) > NAMED else "")
    return f"{len(ordered):,} {'node' if len(ordered) == 1 else 'nodes'} ({listed})"


def _host_list(names: list[str]) -> str:
    """Return names as a host list; "" if it is too long, or one cannot be in it: PBS calls a part of a host n1[0]."""
    try:
        listed = compress(names)
    except InputError:
        return ""
    return listed if len(listed) <= LONGEST_NODES else ""


def _names(kinds: list[Node]) -> list[str]:
    """Return a name for each kind of node: GPUs, cores and partition; memory where others are the same but for it."""
    short = [_parts(kind) for kind in kinds]
    often = Counter(short)
    names = []
    for kind, name in zip(kinds, short, strict=True):
        mem = f", {kind.mem_gib:.4g} GiB" if often[name] > 1 and kind.mem_gib else ""
        names.append(name[: LONGEST_VM_NAME - 30] + mem)
    again, taken, last = Counter(names), set(names), Counter[str]()
    for place, name in enumerate(names):
        while again[name] > 1 and names[place] in taken:
            last[name] += 1
            names[place] = f"{name}, type {last[name]}"
        taken.add(names[place])
    return names


def _parts(kind: Node) -> str:
    gpus = f"{kind.gpus} x {kind.gpu_type[:40] or 'GPU'}" if kind.gpus else ""
    cores = f"{kind.cores:g} {'core' if kind.cores == 1 else 'cores'}" if kind.cores is not None else ""
    is_short = 0 < len(kind.partitions) <= LONGEST_PARTITION_IN_NAME
    return (
        ", ".join(part for part in (gpus, cores, kind.partitions.replace("|", ", ") if is_short else "") if part)
        or "node"
    )
