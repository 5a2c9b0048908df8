"""Any cluster in amounts: how much there is for a group of jobs, what a worker takes of it, how many fit at most.

Jobs of one queue that use GPUs share a decision, in GPUs; so do those without, by their dominant resource. Amounts are
of the nodes that are up and, on rented slots, of what the empty slots become.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dlsched.domain.cluster import VmType, vm_capacity
from dlsched.domain.state import Nodes
from dlsched.domain.workload import GPU, Floats, Ints
from dlsched.placement.eligibility import in_partition
from dlsched.policies.shared.facts import JobKind
from dlsched.policies.shared.queues import queues

ROOM = 1e-9
LEAST_COST = 1e-9
"""Share of the capacity that a worker takes at least: some resources are without limit."""
VERY_MANY = 10**9


class Amounts(NamedTuple):
    """What kinds of jobs need and what there is for them.

    ``group`` (kinds,) of a kind; ``cost`` (kinds,) of a worker; ``most`` (kinds,) workers that fit when empty;
    ``on_slot`` (kinds,) workers that an empty slot holds; ``usable`` (kinds, nodes) nodes of the right kind that are
    up; ``capacity`` (groups,); ``empty`` slots.
    """

    group: Ints
    cost: Floats
    most: Ints
    on_slot: Ints
    usable: NDArray[np.bool_]
    capacity: Floats
    empty: int


def amounts(kinds: list[JobKind], nodes: Nodes, chosen: list[VmType | None]) -> Amounts:
    """Return the amounts for these kinds of jobs, each with the VM type of empty slots; all None on owned nodes."""
    queue = queues([*dict.fromkeys(nodes.partition.tolist()), *(kind.partition for kind in kinds)])
    names = [(queue[kind.partition], kind.demand[GPU] > 0) for kind in kinds]
    number = {name: place for place, name in enumerate(dict.fromkeys(names))}
    group = [number[name] for name in names]
    is_open = nodes.up & (nodes.vm >= 0)
    empty = int((nodes.up & (nodes.vm < 0)).sum())
    totals = np.zeros((len(number), nodes.capacity.shape[1]))
    unit = np.zeros(len(number))
    for place, (partition, _) in enumerate(number):
        here = is_open & in_partition(partition, nodes.partition)
        totals[place] = nodes.capacity[here].sum(axis=0)
        members = [(kind, vm) for kind, vm, of in zip(kinds, chosen, group, strict=True) if of == place and vm]
        if empty and members:  # the widest job seen says what empty slots become
            totals[place] += empty * np.array(vm_capacity(max(members, key=_size)[1]))
        unit[place] = totals[place, GPU] or float(here.sum() + empty)
    usable = np.array([kind.allowed(nodes) & is_open for kind in kinds], dtype=bool)
    on_slot = np.array([room(kind, vm_capacity(vm)) if vm else 0 for kind, vm in zip(kinds, chosen, strict=True)])
    held = [room(kind, nodes.capacity[mask]) for kind, mask in zip(kinds, usable, strict=True)]
    cost = [_cost(kind, totals[of], float(unit[of])) for kind, of in zip(kinds, group, strict=True)]
    most = np.minimum(np.array(held) + empty * on_slot, VERY_MANY)
    return Amounts(np.array(group), np.array(cost), most, on_slot, usable, unit, empty)


def _size(member: tuple[JobKind, VmType]) -> tuple[float, ...]:
    return tuple((member[0].need).tolist())


def most_ever(kind: JobKind, nodes: Nodes, types: tuple[VmType, ...]) -> int:
    """Return the most workers of a kind that all nodes hold, up or not; ``types`` are those slots can become."""
    if not types:
        return room(kind, nodes.capacity[kind.allowed(nodes)])
    names = kind.gpu_type_names()
    on_slot = [room(kind, vm_capacity(vm)) for vm in types if not names or vm.gpu_type in names]
    return min(VERY_MANY, len(nodes.vm) * max(on_slot, default=0))


def room(kind: JobKind, free: ArrayLike) -> int:
    """Return how many workers of a kind the nodes with these free resources, (nodes, resources), hold together.

    Workers with their part of the servers beside them; up to the request, also with the servers on other nodes, then
    an upper bound: workers and servers are counted each as if alone, and in all.
    """
    each = np.atleast_2d(free)
    together = _parts_held(kind.per_worker, each)
    if not kind.servers or together >= kind.workers:
        return together
    servers = min(_parts_held(np.asarray(kind.server_demand), each), kind.servers)
    in_all = _parts_held(kind.per_worker, each.sum(axis=0, keepdims=True))
    apart = min(_parts_held(np.asarray(kind.demand), each), servers * kind.workers // kind.servers, in_all)
    return max(together, min(apart, kind.workers))


def _parts_held(demand: Floats, free: Floats) -> int:
    """Return how many parts with this demand nodes hold, each part on one node."""
    asked = demand > 0
    on_each = np.floor((free[:, asked] + ROOM) / demand[asked]).min(axis=1, initial=VERY_MANY)
    return int(min(on_each.sum(), VERY_MANY))


def _cost(kind: JobKind, total: Floats, unit: float) -> float:
    """Return GPUs of a worker; without GPUs its largest share of any resource, in GPUs of the group all the same."""
    if kind.demand[GPU] > 0:
        return kind.demand[GPU]
    demand = kind.per_worker
    shares = np.divide(demand, total, out=np.zeros(len(demand)), where=np.isfinite(total) & (total > 0))
    return float(max(shares.max(), LEAST_COST) * unit) or LEAST_COST
