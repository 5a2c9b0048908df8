"""Which queue a job belongs to, which nodes a flavor stands for, and which quotas hold when."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.cluster import Cluster, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.names import first_of, names_hint
from dlsched.domain.queue_tree import ALL_FLAVORS, Cohort, QueueTree, ResourceName
from dlsched.domain.units import DAY_S, HOUR_S
from dlsched.domain.workload import Ints, Texts, Workload, partition_names

POOL = "pool:"
REFUSE = "error"
LIMITS = ("nominal", "borrow", "lend")
Place = tuple[str, str, str]
"""Queue or cohort, flavor and resource of a quota."""
Amounts = tuple[float, float | None, float | None]
"""Nominal, borrow and lend of a quota; None = no limit."""


@dataclass(frozen=True)
class QueueNames:
    """Names in the column that a tree maps, as queues."""

    tree: QueueTree

    def of(self, name: str) -> str | None:
        """Return the queue of a name: by alias, by its own name, by pattern, else the queue for all others.

        None if jobs of no queue are refused.
        """
        if name not in self._known:
            self._known[name] = self._find(name)
        return self._known[name]

    @cached_property
    def _known(self) -> dict[str, str | None]:
        return {}

    @cached_property
    def _patterns(self) -> list[tuple[re.Pattern[str], str]]:
        return [
            (re.compile(".*".join(map(re.escape, text.split("*")))), queue)
            for text, queue in self.tree.aliases.items()
            if "*" in text
        ]

    def _find(self, name: str) -> str | None:
        if name in self.tree.aliases:
            return self.tree.aliases[name]
        if name in self.tree.tree:
            return name
        for pattern, queue in self._patterns:
            if pattern.fullmatch(name):
                return queue
        return None if self.tree.unmapped == REFUSE else self.tree.unmapped


def queues_of(tree: QueueTree, jobs: Workload) -> list[str]:
    """Return the queue of each job.

    Raises
    ------
    InputError
        Naming the first job of no queue, where such jobs are refused.
    """
    column = getattr(jobs, tree.map)
    names, lookup = [""] * len(jobs) if column is None else column.tolist(), QueueNames(tree)
    found = [lookup.of(str(name)) for name in names]
    if None in found:
        row = found.index(None)
        lost = dict.fromkeys(str(name) for name, queue in zip(names, found, strict=True) if queue is None)
        raise InputError(
            f"job {jobs.job_id[row]!r:.80}",
            f"its {tree.map.replace('_', ' ')} {names[row]!r:.80} names no queue ({found.count(None):,} jobs, "
            f"{len(lost):,} names: {first_of(list(lost), 5)})",
            f"Add aliases, or set unmapped to one of {first_of(list(tree.tree), 5)}",
        )
    return [queue for queue in found if queue is not None]


def flavor_nodes(
    tree: QueueTree, vm_types: Sequence[VmType], vm: Ints, partition: Texts
) -> dict[str, NDArray[np.bool_] | None]:
    """Return the nodes of each flavor, shape (nodes,); None = all.

    A flavor is a GPU type, or pool:NAME with the machine type or partition of a pool. One that names neither stands for
    all nodes, unless another one names a part of them.

    Parameters
    ----------
    vm_types, vm, partition
        Machine types of the cluster; of each node its machine type by number, and its partitions.

    Raises
    ------
    InputError
        Naming a flavor with quotas of GPUs whose nodes are not known.
    """
    types = list(dict.fromkeys(one.gpu_type for one in vm_types))
    gpu_type = np.array([one.gpu_type for one in vm_types], dtype=object)[vm]
    machine = np.array([one.name for one in vm_types], dtype=object)[vm]
    found: dict[str, NDArray[np.bool_] | None] = {}
    for flavor in tree.flavors:
        name = flavor.removeprefix(POOL)
        entries = [entry for entry in dict.fromkeys(partition.tolist()) if name in partition_names(entry)]
        if flavor.startswith(POOL) and (entries or any(one.name == name for one in vm_types)):
            found[flavor] = np.asarray(machine == name, dtype=bool) | np.isin(partition.astype(str), entries)
        else:
            found[flavor] = np.asarray(gpu_type == flavor, dtype=bool) if flavor in types else None
    unknown = [flavor for flavor, mask in found.items() if mask is None and flavor != ALL_FLAVORS]
    if unknown and len(types) > 1 and any(mask is not None for mask in found.values()):
        quotas = (quota for node in nodes_of(tree).values() for quota in node.quota)
        of_gpus = next((quota.flavor for quota in quotas if quota.resource == "gpus" and quota.flavor in unknown), None)
        if of_gpus is not None:
            why = f"is no GPU type and no pool:NAME of the cluster, which has {first_of(types)}"
            raise InputError(f"queues, flavor {of_gpus!r:.80}", why, "Rename the flavor, or the GPU type of its nodes")
    return {flavor: None if mask is None or mask.all() else mask for flavor, mask in found.items()}


def nodes_of(tree: QueueTree) -> dict[str, Cohort]:
    """Return queues, then cohorts, by name; those that are only named as a parent have no quota."""
    named = {node.parent: Cohort() for node in (*tree.tree.values(), *tree.cohorts.values()) if node.parent}
    return {**tree.tree, **named, **tree.cohorts}


def granted(tree: QueueTree, resource: str) -> dict[str, float]:
    """Return flavor -> the nominal quota of all queues and cohorts; in KAI a parent's quota holds its children's."""
    total: dict[str, float] = {}
    for node in nodes_of(tree).values():
        if tree.rule == "kai" and node.parent is not None:
            continue
        for quota in node.quota:
            if quota.resource == resource:
                total[quota.flavor] = total.get(quota.flavor, 0.0) + quota.nominal
    return total


@dataclass(frozen=True)
class QuotaClock:
    """Quotas that change with time. ``zero``: the date of second 0; without one, day 0 is a Monday that starts then."""

    tree: QueueTree
    zero: datetime | None = None

    @classmethod
    def of(cls, tree: QueueTree, jobs: Workload) -> QuotaClock:
        """Return the clock of a trace."""
        try:
            return cls(tree, datetime.fromisoformat(jobs.meta.get("time_zero", "")))
        except ValueError:
            return cls(tree)

    def at(self, time_s: float) -> dict[Place, Amounts]:
        """Return all quotas at a time.

        Changes at a time last until the next one of the same amount; while the hours of a daily change last it counts
        instead, a later one of the list before an earlier one.
        """
        amounts = {place: list(own) for place, own in self._own.items()}
        once = sorted(
            (change for change, _ in self._changes if change.at_s is not None), key=lambda one: one.at_s or 0.0
        )
        sets = [self._sets[id(change)] for change in once if (change.at_s or 0.0) <= time_s]
        sets += [wanted for change, wanted in self._changes if change.at_s is None and self._is_on(change, time_s)]
        for wanted in sets:
            for (place, limit), value in wanted.items():
                amounts.setdefault(place, [0.0, None, None])[limit] = value
        return {place: (float(own[0] or 0.0), own[1], own[2]) for place, own in amounts.items()}

    def next_s(self, after_s: float) -> float:
        """Return when the next change takes effect or ends; infinite where none does."""
        times = [change.at_s for change, _ in self._changes if change.at_s is not None and change.at_s > after_s]
        for change, _ in self._changes:
            if change.from_h is not None and change.to_h is not None:
                for hour in (change.from_h, change.to_h):
                    at_s = hour * HOUR_S - self._since_midnight_s
                    day = math.floor((after_s - at_s) / DAY_S) + 1
                    times.append(at_s + day * DAY_S)
        return min(times, default=math.inf)

    def all_amounts(self) -> list[dict[Place, Amounts]]:
        """Return the quotas as they are, and with each change alone: what may hold at some time."""
        found = [{place: (own[0] or 0.0, own[1], own[2]) for place, own in self._own.items()}]
        for _, wanted in self._changes:
            amounts = {place: list(own) for place, own in self._own.items()}
            for (place, limit), value in wanted.items():
                amounts.setdefault(place, [0.0, None, None])[limit] = value
            found.append({place: (float(own[0] or 0.0), own[1], own[2]) for place, own in amounts.items()})
        return found

    @cached_property
    def _own(self) -> dict[Place, tuple[float | None, float | None, float | None]]:
        return {
            (name, quota.flavor, quota.resource): (quota.nominal, quota.borrow, quota.lend)
            for name, node in nodes_of(self.tree).items()
            for quota in node.quota
        }

    @cached_property
    def _changes(self) -> list[tuple[Any, dict[tuple[Place, int], float]]]:
        return [(change, self._sets[id(change)]) for change in self.tree.changes]

    @cached_property
    def _sets(self) -> dict[int, dict[tuple[Place, int], float]]:
        return {
            id(change): {self._read(key): value for key, value in change.set.items()} for change in self.tree.changes
        }

    def _read(self, key: str) -> tuple[Place, int]:
        """Return the quota and the limit of "queue.flavor.resource.nominal"; names may hold points."""
        rest, _, limit = key.rpartition(".")
        rest, _, resource = rest.rpartition(".")
        nodes = nodes_of(self.tree)
        near = [name for name in nodes if rest.startswith(f"{name}.") and rest[len(name) + 1 :] in self.tree.flavors]
        if limit not in LIMITS or resource not in get_args(ResourceName) or not near:
            hint = names_hint(rest.partition(".")[0], nodes)
            do = f"Write it as queue.flavor.resource.nominal (or .borrow, .lend). {hint}"
            raise InputError(f"queues, changes, {key!r:.120}", "names no quota", do)
        node = max(near, key=len)
        return (node, rest[len(node) + 1 :], resource), LIMITS.index(limit)

    @cached_property
    def _since_midnight_s(self) -> float:
        zero = self.zero
        return 0.0 if zero is None else zero.hour * HOUR_S + zero.minute * 60.0 + zero.second + zero.microsecond * 1e-6

    def _is_on(self, change: Any, time_s: float) -> bool:
        """Whether the hours of a daily change last; those past midnight belong to the day on which they start."""
        since_s = time_s + self._since_midnight_s
        day, hour = math.floor(since_s / DAY_S), since_s % DAY_S / HOUR_S
        starts, ends = change.from_h, change.to_h
        if starts < ends:
            return bool(starts <= hour < ends) and self._is_day(change.days, day)
        return (hour >= starts and self._is_day(change.days, day)) or (
            hour < ends and self._is_day(change.days, day - 1)
        )

    def _is_day(self, days: str, day: int) -> bool:
        weekday = ((0 if self.zero is None else self.zero.weekday()) + day) % 7
        return days == "all" or (weekday >= 5) == (days == "weekend")


def check_queues(tree: QueueTree, jobs: Workload, cluster: Cluster) -> None:
    """Refuse queues that do not go with jobs and owned nodes.

    Raises
    ------
    InputError
        For a job of no queue, a flavor without nodes, or a change of no quota.
    """
    queues_of(tree, jobs)
    flavor_nodes(tree, cluster.vm_types, cluster.nodes.vm, cluster.nodes.partition)
    QuotaClock.of(tree, jobs).at(0.0)
