"""Rows of the workload as jobs of the queue tree, and flavors as nodes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.plan import Share
from dlsched.domain.queue_lookup import QueueNames, flavor_nodes
from dlsched.domain.queue_tree import QueueTree
from dlsched.domain.state import NodePlacer, State
from dlsched.domain.workload import RESOURCES, Workload
from dlsched.policies.queue_tree.flavors import Assignment
from dlsched.policies.queue_tree.jobs import Job, PodSet
from dlsched.policies.queue_tree.tree import AMOUNTS_PER_UNIT, Tree

Mask = NDArray[np.bool_]
WORKERS, SERVERS = "workers", "servers"
LAST_PRIORITY = -1e300
"""Of a job without a priority."""


@lru_cache(maxsize=100_000)
def job_name(row: int) -> str:
    """Return the id of a row: names sort as rows do, so that ties go to the order of the source."""
    return f"{row:09d}"


@dataclass(eq=False)
class Rows:
    """The rows of a run as jobs; ``masks``: the nodes of each flavor, None = all."""

    spec: QueueTree
    tree: Tree
    names: QueueNames
    masks: dict[str, Mask | None]
    _flavors: dict[bytes, tuple[int, frozenset[str]]] = field(default_factory=dict)
    _joined: dict[tuple[str, ...], Mask | None] = field(default_factory=dict)

    @classmethod
    def of(cls, state: State, spec: QueueTree, tree: Tree) -> Rows:
        """Return the rows of a run."""
        nodes = state.nodes
        masks = flavor_nodes(spec, nodes.vm_types, np.asarray(nodes.vm), nodes.partition)
        return cls(spec, tree, QueueNames(spec), masks)

    def capacity(self, state: State) -> list[int | None]:
        """Return what the nodes of each pair's flavor hold of its resource."""
        held = state.nodes.capacity
        return [
            round(
                float(held[slice(None) if self.masks[flavor] is None else self.masks[flavor], place].sum())
                * AMOUNTS_PER_UNIT
            )
            for flavor, place in ((flavor, RESOURCES.index(resource)) for flavor, resource in self.tree.keys)
        ]

    def job(self, state: State, jobs: Workload, row: int, placer: NodePlacer) -> Job | None:
        """Return a row as a waiting job; None if it belongs to no queue.

        A job that states fewest workers below its request may start with fewer; jobs with parameter servers may not.
        """
        column = getattr(jobs, self.spec.map)
        queue = self.names.of("" if column is None else str(column[row]))
        if queue is None:
            return None
        workers = int(jobs.workers[row])
        claim, flavors = self._usable(placer.allowed(row))
        fewest = None
        if jobs.min_workers is not None and jobs.min_workers[row] < workers and not jobs.has_servers:
            legal = int(state.width_limits(np.array([row]))[0][0])
            fewest = max(legal, int(jobs.min_workers[row]), 1)
        sets = [PodSet(WORKERS, workers, _request(jobs.demand[row]), fewest, flavors)]
        if jobs.has_servers and jobs.servers is not None and jobs.servers[row]:
            servers = int(jobs.servers_for(row, workers))
            sets.append(PodSet(SERVERS, servers, _request(jobs.server_demand[row]), None, flavors))
        priority = LAST_PRIORITY
        if jobs.priority is not None and not np.isnan(jobs.priority[row]):
            priority = float(jobs.priority[row])
        local = (
            f"{queue}\n{'' if jobs.user is None else jobs.user[row]}" if self.spec.tree[queue].order == "usage" else ""
        )
        return Job(
            job_name(row), self.tree.number[queue], tuple(sets), priority, float(jobs.submit_s[row]), local=local,
            claim=claim,
        )  # fmt: skip

    def _usable(self, allowed: Mask | None) -> tuple[int, frozenset[str]]:
        """Return a number for the nodes that a job may use, and the flavors that have some of them."""
        key = b"" if allowed is None else allowed.tobytes()
        if key not in self._flavors:
            flavors = frozenset(
                flavor
                for flavor, mask in self.masks.items()
                if allowed is None or mask is None or bool((allowed & mask).any())
            )
            self._flavors[key] = len(self._flavors), flavors
        return self._flavors[key]

    def nodes_for(self, assignment: Assignment) -> Mask | None:
        """Return the nodes on which a job with these flavors may run; None = all.

        Its workers need all their flavors; its servers may be on nodes of their own.
        """
        masks: list[Mask | None] = []
        for _, _, choices in assignment.podsets:
            flavors = tuple(dict.fromkeys(choice.flavor for choice in choices.values()))
            if flavors not in self._joined:
                found = [mask for flavor in flavors if (mask := self.masks[flavor]) is not None]
                self._joined[flavors] = np.logical_and.reduce(found) if found else None
            masks.append(self._joined[flavors])
        known = [mask for mask in masks if mask is not None]
        if len(known) < len(masks):
            return None
        return known[0] if all(mask is known[0] for mask in known) else np.logical_or.reduce(known)

    def held_flavors(self, job: Job, shares: tuple[Share, ...]) -> dict[int, int]:
        """Return what a job that runs on these nodes holds of each pair: its first flavors that have the nodes."""
        on = [share.node for share in shares]
        usage: dict[int, int] = {}
        for podset in job.podsets:
            for group, pairs in zip(self.tree.rules[job.queue].groups, self.tree.groups[job.queue], strict=True):
                for flavor, keys in zip(group.flavors, pairs, strict=True):
                    mask = self.masks[flavor]
                    if mask is None or bool(mask[on].all()):
                        for resource, amount in podset.total(podset.count).items():
                            if resource in keys:
                                usage[keys[resource]] = usage.get(keys[resource], 0) + amount
                        break
        return usage


def widened(job: Job, workers: int) -> Job:
    """Return a job with another number of workers."""
    first, *others = job.podsets
    fewest = None if first.min_count is None else min(first.min_count, workers)
    return replace(job, podsets=(replace(first, count=workers, min_count=fewest), *others))


def _request(demand: NDArray[np.float64]) -> dict[str, int]:
    """Return resource -> amount of one pod; what it does not ask for is left out."""
    amounts = {name: round(float(amount) * AMOUNTS_PER_UNIT) for name, amount in zip(RESOURCES, demand, strict=True)}
    return {name: amount for name, amount in amounts.items() if amount > 0}
