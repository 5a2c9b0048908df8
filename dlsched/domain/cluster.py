"""Clusters: pools of nodes with fixed VM types, or slots whose VM type a policy chooses."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from dlsched.domain.model import FrozenModel
from dlsched.domain.workload import RESOURCES, Floats

LONGEST_NODES = 1_000_000
MOST_NODES = 1_000_000
"""Of a cluster; a table of them has about 100 bytes a node."""


class VmType(FrozenModel):
    """A machine type. CPUs, memory or disk of None means they are not modelled (never the limit)."""

    name: str = Field(min_length=1, max_length=80, description="Name of the machine type.")
    gpu_type: str = Field("GPU", max_length=80, description="GPU type, matched with the GPU types a job accepts.")
    gpus: int = Field(8, ge=0, le=1024, description="GPUs per node.")
    cpus: float | None = Field(None, ge=0, description="CPU cores per node; empty = no limit.")
    mem_gib: float | None = Field(None, ge=0, description="Memory per node in GiB; empty = no limit.")
    disk_gib: float | None = Field(None, ge=0, description="Disk per node in GiB; empty = no limit.")
    usd_per_h: float | None = Field(None, ge=0, le=1e12, description="Price per node in $/h; empty = no price.")
    speed: float = Field(1.0, gt=0, description="Speed of one GPU relative to the GPU the trace was recorded on.")

    @model_serializer(mode="wrap")
    def _without_disk(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what older versions did not know and is not set: hashes of their scenarios stay what they were."""
        plain: dict[str, Any] = handler(self)
        return plain if self.disk_gib is not None else {k: v for k, v in plain.items() if k != "disk_gib"}


TermsKind = Literal["reserved", "on-demand", "spot"]


class Outage(FrozenModel):
    """A time in which a spot pool has no nodes: those that are rented are taken back at its start."""

    start_s: float = Field(ge=0, description="Start in seconds.")
    end_s: float = Field(description="End in seconds.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.end_s <= self.start_s:
            raise ValueError(f"an outage must end after it starts, got {self.start_s:g} to {self.end_s:g} s")
        return self


class Terms(FrozenModel):
    """On what terms the nodes of a pool are had; their price is that of the machine type.

    reserved: always there and always paid, for a commitment of years. on-demand: rented while needed, paid from the
    request on. spot: the same, and taken back after an exponential time at the rate ``evictions_per_h``, counted from
    the end of the boot, or at the start of an outage.
    """

    kind: TermsKind = Field(description="reserved, on-demand or spot.")
    commitment_years: Literal[1, 3] = Field(1, description="Reserved: for how long they are paid, used or not.")
    boot_s: float = Field(
        300.0, ge=0, le=86_400, description="On demand, spot: time from the request until jobs can start; it is paid."
    )
    idle_timeout_s: float = Field(
        600.0, ge=0, le=2_592_000, description="On demand, spot: a node without a job for so long is given back."
    )
    min_nodes: int = Field(0, ge=0, le=100_000, description="On demand, spot: so many are rented even if idle.")
    evictions_per_h: float = Field(
        0.0, ge=0, le=1000, description="Spot: mean evictions of a node per hour in which jobs can use it."
    )
    outages: tuple[Outage, ...] = Field(
        (), max_length=10_000, description="Spot: when there are none, in order, as recorded in a trace."
    )
    notice_s: float = Field(
        0.0,
        ge=0,
        le=86_400,
        description="Spot: jobs are told of an eviction so long before; with checkpoints, they save their work then.",
    )

    @model_serializer(mode="wrap")
    def _of_its_kind(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        plain: dict[str, Any] = handler(self)
        return {name: value for name, value in plain.items() if name == "kind" or name in _TERMS[self.kind]}

    @model_validator(mode="after")
    def _only_its_own(self) -> Self:
        for name, field in type(self).model_fields.items():
            if name != "kind" and name not in _TERMS[self.kind] and getattr(self, name) != field.default:
                raise ValueError(f"{name} is not for {self.kind} nodes, which have {', '.join(_TERMS[self.kind])}")
        pairs = zip(self.outages, self.outages[1:], strict=False)
        if late := next((after for before, after in pairs if after.start_s <= before.end_s), None):
            raise ValueError(
                f"outages must follow each other; the one at {late.start_s:g} s begins before the last ends"
            )
        return self


_TERMS: dict[TermsKind, tuple[str, ...]] = {
    "reserved": ("commitment_years",),
    "on-demand": ("boot_s", "idle_timeout_s", "min_nodes"),
    "spot": ("boot_s", "idle_timeout_s", "min_nodes", "evictions_per_h", "outages", "notice_s"),
}
"""Which terms each kind has."""


class Pool(FrozenModel):
    """``count`` equal nodes; a partition keeps them for its jobs. Nodes in several partitions name all, "a|b".

    ``nodes`` are their names where they are known; further nodes have none. ``features``, "a|b", are what jobs may
    ask their nodes to have. With ``terms`` that rent by the hour, ``count`` is the most that are rented at once.
    """

    vm: VmType = Field(description="Machine type of the nodes.")
    count: int = Field(ge=0, le=100_000, description="Number of nodes.")
    partition: str = Field(
        "", max_length=1000, description="Partitions whose jobs may run here, joined by |; empty = open to all jobs."
    )
    owned: bool = Field(True, description="Owned (always on) or rented.")
    nodes: str = Field(
        "", max_length=LONGEST_NODES, description="Names of the nodes as a host list, n[01-04]; empty = not known."
    )
    features: str = Field(
        "", max_length=2000, description="Features of the nodes that jobs may ask for, joined by |; empty = not known."
    )
    terms: Terms | None = Field(None, description="Reserved, on demand or spot; empty = owned, always there.")

    @model_serializer(mode="wrap")
    def _without_blanks(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out names, features and terms where there are none: hashes of scenarios without stay what they were."""
        plain: dict[str, Any] = handler(self)
        return {k: v for k, v in plain.items() if v or k not in ("nodes", "features", "terms")}

    @property
    def kind(self) -> TermsKind | Literal["owned"]:
        """How the nodes are paid for."""
        return "owned" if self.terms is None else self.terms.kind

    @property
    def is_rented(self) -> bool:
        """Whether its nodes come and go: on demand or spot."""
        return self.terms is not None and self.terms.kind != "reserved"

    @model_validator(mode="after")
    def _holds_minimum(self) -> Self:
        if self.terms is not None and self.terms.min_nodes > self.count:
            raise ValueError(f"min_nodes must be at most the count of {self.count}, got {self.terms.min_nodes}")
        return self

    @field_validator("partition", "features")
    @classmethod
    def _each_once(cls, entry: str) -> str:
        return "|".join(dict.fromkeys(name.strip() for name in entry.split("|") if name.strip()))


class Absence(FrozenModel):
    """A node that is not there from ``start_s`` to ``end_s`` (None = until the end of time).

    A node that arrives at t is absent from 0 to t; one that leaves at t is absent from t on. Policies see
    planned absences ahead; unplanned ones (failures) come as a surprise.
    """

    node: int = Field(ge=0, description="Node number, counted from 0 across all node types.")
    start_s: float = Field(0.0, ge=0, description="Start in seconds.")
    end_s: float | None = Field(None, description="End in seconds; empty = permanently.")
    cause: Literal["arrives", "leaves", "maintenance", "fails"] = Field("fails", description="Why the node is down.")
    billed: bool = Field(False, description="Whether the node is paid for while it is down.")

    @property
    def planned(self) -> bool:
        """Whether policies know of it beforehand."""
        return self.cause != "fails"

    @property
    def until_s(self) -> float:
        """End as a number: infinity when for good."""
        return math.inf if self.end_s is None else self.end_s

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.until_s <= self.start_s:
            raise ValueError(f"an absence must end after it starts, got {self.start_s:g} to {self.until_s:g} s")
        return self


class Scaling(FrozenModel):
    """When nodes of on-demand and spot pools are rented: for jobs that wait, as many as hold those that nothing free or
    booting holds.

    A job counts once it has waited ``wait_s`` since it last joined the queue (the waiting of Starburst, USENIX ATC
    2024); ``queue_length`` such jobs must wait, or fewer while no job runs.
    """

    wait_s: float = Field(
        0.0, ge=0, le=31_536_000, description="Nodes are rented for jobs that have waited so long; 0 = at once."
    )
    queue_length: int = Field(
        1, ge=1, le=1_000_000, description="So many such jobs must wait, unless no job runs at all."
    )
    order: Literal["cheapest", "listed"] = Field(
        "cheapest",
        description="cheapest: the pool with the lowest price per GPU (per node without GPUs) and speed comes first; "
        "listed: pools in their order.",
    )


class Cluster(FrozenModel):
    """Either ``pools`` of owned nodes, or ``slots`` for rented machines with a ``catalogue`` of machine types."""

    pools: tuple[Pool, ...] = Field((), description="Groups of equal nodes.")
    slots: int = Field(
        0, ge=0, le=100_000, description="Rented machines, at most: the policy chooses their machine types."
    )
    catalogue: tuple[VmType, ...] = Field((), description="Machine types that a policy may rent.")
    absences: tuple[Absence, ...] = Field((), description="When single nodes are down.")
    scaling: Scaling | None = Field(
        None, description="When nodes on demand and spot nodes are rented; empty = as soon as a job waits."
    )

    @model_serializer(mode="wrap")
    def _without_scaling(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what older versions did not know and is not set: hashes of their scenarios stay what they were."""
        plain: dict[str, Any] = handler(self)
        return {name: value for name, value in plain.items() if value is not None or name != "scaling"}

    @model_validator(mode="after")
    def _usable(self) -> Self:
        if self.num_nodes == 0:
            raise ValueError("a cluster needs at least one node")
        if self.num_nodes > MOST_NODES:
            raise ValueError(f"a cluster has at most {MOST_NODES:,} nodes, got {self.num_nodes:,}")
        if self.slots and self.pools:
            raise ValueError("a cluster has either owned nodes (pools) or rented machines (slots), not both")
        if self.slots and not self.catalogue:
            raise ValueError("rented machines (slots) need a catalogue of machine types")
        for kinds in ([p.vm for p in self.pools], list(self.catalogue)):
            by_name: dict[str, VmType] = {}
            for vm in kinds:
                if by_name.setdefault(vm.name, vm) != vm:
                    raise ValueError(f"two different machine types are called {vm.name!r}")
        beyond = [a.node for a in self.absences if a.node >= self.num_nodes]
        if beyond:
            raise ValueError(f"an absence names node {beyond[0]}, but the last node is {self.num_nodes - 1}")
        if self.scaling is not None and not any(pool.is_rented for pool in self.pools):
            raise ValueError("scaling needs a pool with the terms on-demand or spot, and there is none")
        rented = {node for pool in self.rented_pools for node in self.nodes_of(pool)} if self.absences else set()
        away = [a.node for a in self.absences if a.node in rented]
        if away:
            raise ValueError(
                f"an absence names node {away[0]}, which is rented and comes and goes by itself; "
                "spot nodes have evictions_per_h and outages"
            )
        return self

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with these fields changed, and with a table of nodes of its own."""
        copy = super().model_copy(update=update, deep=deep)
        copy.__dict__.pop("nodes", None)  # else the table of the original would be kept
        return copy

    @property
    def free_slots(self) -> bool:
        """Whether policies choose the VM types."""
        return self.slots > 0

    @property
    def rented_pools(self) -> tuple[int, ...]:
        """Numbers of the pools whose nodes come and go."""
        return tuple(number for number, pool in enumerate(self.pools) if pool.is_rented and pool.count)

    @property
    def rents_nodes(self) -> bool:
        """Whether nodes of a pool are rented as jobs need them."""
        return bool(self.rented_pools)

    @property
    def rents_all(self) -> bool:
        """Whether no pool is of nodes that are always there, be it one without nodes today."""
        return self.free_slots or all(pool.is_rented for pool in self.pools)

    @property
    def rents(self) -> bool:
        """Whether what is paid depends on what policies and jobs do: slots, or nodes of a pool that are rented."""
        return self.free_slots or self.rents_nodes

    @property
    def rent_after_s(self) -> float:
        """How long a job waits before nodes are rented for it; 0 = they are rented as soon as it waits."""
        return 0.0 if self.scaling is None else self.scaling.wait_s

    @property
    def has_terms(self) -> bool:
        """Whether some nodes are had on other terms than owned."""
        return any(pool.terms is not None for pool in self.pools)

    @property
    def kind_of_node(self) -> tuple[str, ...]:
        """How each node is paid for: owned, reserved, on-demand or spot."""
        return tuple(pool.kind for pool in self.pools for _ in range(pool.count))

    @property
    def has_evictions(self) -> bool:
        """Whether spot nodes are taken back at random times."""
        return any(p.terms is not None and p.terms.evictions_per_h > 0 for p in self.pools if p.count)

    def nodes_of(self, pool: int) -> range:
        """Return the numbers of a pool's nodes."""
        first = sum(one.count for one in self.pools[:pool])
        return range(first, first + self.pools[pool].count)

    @property
    def num_nodes(self) -> int:
        """Nodes or slots in all."""
        return self.slots or sum(pool.count for pool in self.pools)

    @property
    def vm_types(self) -> tuple[VmType, ...]:
        """Distinct VM types; the numbers in ``NodeTable.vm`` and in run logs index this tuple."""
        if self.free_slots:
            return self.catalogue
        return tuple({pool.vm.name: pool.vm for pool in self.pools}.values())

    @cached_property
    def nodes(self) -> NodeTable:
        """The nodes as columns, numbered through the pools in order."""
        return NodeTable.of(self)

    @property
    def num_gpus(self) -> int:
        """GPUs of all owned nodes (0 for rented slots)."""
        return sum(pool.count * pool.vm.gpus for pool in self.pools)

    @property
    def usd_per_h(self) -> float | None:
        """Price per hour of all nodes that are always there; None when such a pool has no price, or there is none."""
        prices = [(pool.count, pool.vm.usd_per_h) for pool in self.pools if pool.count and not pool.is_rented]
        if not prices or any(price is None for _, price in prices):
            return None
        return sum(count * (price or 0.0) for count, price in prices)


@dataclass(frozen=True, eq=False)
class NodeTable:
    """Columns over nodes: ``vm`` (index into Cluster.vm_types, -1 = empty slot), ``capacity`` (nodes, resources),
    ``speed`` (relative), ``partition`` and ``features`` entries ("a|b") and ``gpu_type`` names. Resources that are not
    modelled have infinite capacity.
    """

    vm: NDArray[np.int64]
    capacity: Floats
    speed: Floats
    partition: NDArray[np.object_]
    gpu_type: NDArray[np.object_]
    features: NDArray[np.object_]

    @classmethod
    def of(cls, cluster: Cluster) -> NodeTable:
        """Return the table of a cluster at its start; rented slots begin empty, with zero capacity."""
        if cluster.free_slots:
            n = cluster.slots
            blank = np.array([""] * n, dtype=object)
            return cls(np.full(n, -1), np.zeros((n, len(RESOURCES))), np.ones(n), blank, blank.copy(), blank.copy())
        index = {vm.name: number for number, vm in enumerate(cluster.vm_types)}
        counts = [pool.count for pool in cluster.pools]

        def spread(values: list[object], dtype: type) -> NDArray[np.generic]:
            return np.repeat(np.array(values, dtype=dtype), counts, axis=0)

        return cls(
            vm=np.repeat(np.array([index[p.vm.name] for p in cluster.pools], dtype=np.int64), counts),
            capacity=np.repeat(np.array([vm_capacity(p.vm) for p in cluster.pools]), counts, axis=0),
            speed=np.repeat(np.array([p.vm.speed for p in cluster.pools]), counts),
            partition=spread([p.partition for p in cluster.pools], object),  # type: ignore[arg-type]
            gpu_type=spread([p.vm.gpu_type for p in cluster.pools], object),  # type: ignore[arg-type]
            features=spread([p.features for p in cluster.pools], object),  # type: ignore[arg-type]
        )


def vm_capacity(vm: VmType) -> tuple[float, ...]:
    """Return what one node has, in the order of RESOURCES; infinity where a resource is not modelled."""
    limits = (vm.cpus, vm.mem_gib, vm.disk_gib)
    return (float(vm.gpus), *(math.inf if limit is None else limit for limit in limits))
