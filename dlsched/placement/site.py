"""What placing needs to know of jobs and nodes besides the free resources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np

from dlsched.domain.cluster import Cluster, VmType, vm_capacity
from dlsched.domain.errors import PlanError
from dlsched.domain.plan import Share
from dlsched.domain.scenario import PlacementRule
from dlsched.domain.workload import RESOURCES, Floats, Texts, Workload
from dlsched.placement.eligibility import Claims, Mask, eligible
from dlsched.placement.rules import Ask, holds_all


@dataclass(frozen=True, eq=False)
class JobAsks:
    """Per row: what one worker and one parameter server hold, and the claim on nodes.

    ``server_demand`` is None if no job has servers. ``whole`` = every amount is a whole number.
    """

    jobs: Workload
    demand: list[tuple[float, ...]]
    server_demand: list[tuple[float, ...]] | None
    claims: Claims
    job_id: Texts
    whole: bool

    @classmethod
    def of(cls, jobs: Workload) -> JobAsks:
        """Return the asks of every row."""
        demand = jobs.demand
        whole = bool((demand == np.floor(demand)).all())
        of_servers = None
        if jobs.has_servers:
            whole &= bool((jobs.server_demand == np.floor(jobs.server_demand)).all())
            of_servers = _tuples(jobs.server_demand)
        return cls(jobs, _tuples(demand), of_servers, Claims.of(jobs), jobs.job_id, whole)

    def held(self, row: int, share: Share) -> tuple[float, ...]:
        """Return what a share of a row holds of its node, by resource."""
        if share.servers == 0:
            return tuple([amount * share.workers for amount in self.demand[row]])
        of_server = self.server_demand[row] if self.server_demand is not None else (0.0,) * len(RESOURCES)
        pairs = zip(self.demand[row], of_server, strict=True)
        return tuple([amount * share.workers + other * share.servers for amount, other in pairs])

    def servers_for(self, row: int, workers: int) -> int:
        """Return the servers that go with a width of a row."""
        return 0 if self.server_demand is None else int(self.jobs.servers_for(row, workers))


def _tuples(demand: Floats) -> list[tuple[float, ...]]:
    """Return the rows as tuples, one and the same if they are all equal, as where only GPUs count."""
    if len(demand) and (demand == demand[0]).all():
        return [tuple(demand[0].tolist())] * len(demand)
    return [tuple(row) for row in demand.tolist()]


@dataclass(frozen=True, eq=False)
class Site:
    """The jobs' asks, the placement rule, and the nodes with the VM types they have now.

    ``capacity`` has shape (nodes, resources). ``masks``, ``asked`` and ``parts`` remember answers; a change of VM types
    makes a new site. ``within``: the nodes that count, None = all.
    """

    asks: JobAsks
    rule: PlacementRule
    vm_types: Sequence[VmType]
    capacity: Floats
    partition: Texts
    gpu_type: Texts
    features: Texts
    masks: dict[int, Mask | None] = field(default_factory=dict)
    asked: dict[tuple[tuple[float, ...], int, int], Ask] = field(default_factory=dict)
    parts: dict[bytes, Site] = field(default_factory=dict)
    within: Mask | None = None

    @classmethod
    def of(cls, jobs: Workload, cluster: Cluster, rule: PlacementRule) -> Self:
        """Return the site of a cluster at its start."""
        nodes = cluster.nodes
        capacity = np.asfortranarray(nodes.capacity)
        return cls(JobAsks.of(jobs), rule, cluster.vm_types, capacity, nodes.partition, nodes.gpu_type, nodes.features)

    def ask(self, row: int, workers: int) -> Ask:
        """Return what a row asks for at a width."""
        return self.ask_of(row, self.asks.demand[row], workers)

    def ask_of(self, row: int, demand: tuple[float, ...], workers: int) -> Ask:
        """Return the ask for so many parts of a row, each with this demand."""
        key = (demand, self.asks.claims.of_row[row], workers)
        ask = self.asked.get(key)
        if ask is None:
            allowed = self.allowed(row)
            ask = Ask(workers, demand, self._binding(demand), self._limited, allowed, outgrows=False)
            ask = self.asked[key] = ask._replace(outgrows=not holds_all(self.capacity, ask).any())
        return ask

    def allowed(self, row: int) -> Mask | None:
        """Return which nodes a row may use; None = all."""
        claim = self.asks.claims.of_row[row]
        if claim not in self.masks:
            told = self.partition, self.gpu_type, self.features
            mask = eligible(self.asks.claims.distinct[claim], *told)
            if self.within is not None:
                mask = self.within if mask is None else mask & self.within
            self.masks[claim] = mask
        return self.masks[claim]

    def only(self, nodes: Mask) -> Site:
        """Return the site as if there were only these nodes for all jobs."""
        key = nodes.tobytes()
        if key not in self.parts:
            part = self.parts[key] = replace(self, masks={}, asked={}, parts={}, within=nodes)
            part.__dict__["_limited"] = self._limited  # of all nodes: what shows that a node is not empty
        return self.parts[key]

    def _binding(self, demand: tuple[float, ...]) -> tuple[int, ...]:
        """Return the resources to look at: those asked for that have a limit somewhere, else the first asked for."""
        asked = [resource for resource, amount in enumerate(demand) if amount > 0]
        return tuple([resource for resource in asked if resource in self._limited] or asked[:1])

    @cached_property
    def _limited(self) -> tuple[int, ...]:
        """Resources that have a limit on some node and are asked for by some job."""
        demands = set(self.asks.demand) | set(self.asks.server_demand or ())
        wanted = set().union(*({r for r, amount in enumerate(demand) if amount > 0} for demand in demands))
        return tuple(r for r in sorted(wanted) if np.isfinite(self.capacity[:, r]).any())

    def with_vms(self, vms: dict[int, str | None]) -> Self:
        """Return the site after these slots have got these VM types (None = empty); PlanError for unknown names."""
        capacity, gpu_type = self.capacity.copy(order="F"), self.gpu_type.copy()
        for node, name in vms.items():
            capacity[node] = 0.0 if name is None else vm_capacity(self.vm_named(name))
            gpu_type[node] = "" if name is None else self.vm_named(name).gpu_type
        return replace(self, capacity=capacity, gpu_type=gpu_type, masks={}, asked={}, parts={})

    def vm_named(self, name: str) -> VmType:
        """Return the VM type of this name; PlanError lists the known ones."""
        for vm in self.vm_types:
            if vm.name == name:
                return vm
        known = ", ".join(vm.name for vm in self.vm_types)
        raise PlanError(f"VM type {name!r} is not in the catalogue. Known: {known}.")
