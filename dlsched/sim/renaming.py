"""Rented slots are interchangeable: rename the slots of a plan so that most stays where it is.

A policy that plans from scratch may put a job's VM on slot 3 although it runs on slot 1. Both mean the same, so
the engine permutes the slots of the plan such that the most (VM type, job, width) stay put.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dlsched.domain.plan import Share
from dlsched.domain.workload import Floats, Ints
from dlsched.optimise.assignment import max_weight_assignment
from dlsched.sim.changes import AllocationChange
from dlsched.sim.world import World

Vms = Mapping[int, int]
"""Slot -> number of its VM type, -1 = none; only slots that change."""


@dataclass(slots=True)
class _Contents:
    """Shares on each slot ``now`` and ``then`` (under the plan), how many of the plan's slot a stay when it becomes
    slot b (``stays[a, b]``), and slots that must keep their name (``pinned``).
    """

    now: Counter[int] = field(default_factory=Counter)
    then: Counter[int] = field(default_factory=Counter)
    stays: Counter[tuple[int, int]] = field(default_factory=Counter)
    pinned: set[int] = field(default_factory=set)


def rename_slots(
    world: World, changes: Sequence[AllocationChange], vms: Vms
) -> tuple[list[AllocationChange], dict[int, int]]:
    """Return the changes and VM types with slots renamed.

    Slots keep their name when they are away, hold a job the plan does not name, or appear in a reservation.
    """
    vm, target = world.nodes.vm, world.nodes.vm.copy()
    for node, number in vms.items():
        target[node] = number
    contents = _contents(world, changes)
    movable = [
        node
        for node in sorted({*vms, *contents.now, *contents.then} - contents.pinned)
        if world.nodes.up[node] and (target[node] != vm[node] or not _same(contents, node, node))
    ]
    if len(movable) < 2:
        return list(changes), dict(vms)
    name = _names(contents, movable, target, vm)
    new_target = vm.copy()
    for node in {*vms, *movable}:
        new_target[name.get(node, node)] = target[node]
    changed = np.flatnonzero(new_target != vm)
    return [_renamed(change, name) for change in changes], {int(node): int(new_target[node]) for node in changed}


def _same(contents: _Contents, planned: int, real: int) -> bool:
    """Whether a slot of the plan holds exactly what a real slot holds now."""
    return contents.then[planned] == contents.now[real] == contents.stays[planned, real]


def _names(contents: _Contents, movable: list[int], target: Ints, vm: Ints) -> dict[int, int]:
    """Return the real slot of each slot of the plan: whole contents that stay first, then the best assignment.

    A pair of slots with the same jobs and VM is in some best assignment: what is on one slot of the plan is on no
    other. Only the shares of a spread job can be alike; of these the first pair is taken.
    """
    among, taken = set(movable), set[int]()
    name: dict[int, int] = {}
    for a, b in contents.stays:
        fresh = a in among and b in among and a not in name and b not in taken
        if fresh and target[a] == vm[b] and _same(contents, a, b):
            name[a] = b
            taken.add(b)
    planned = [node for node in movable if node not in name]
    real = [node for node in movable if node not in taken]
    if planned:
        columns = max_weight_assignment(_staying(contents, planned, real, target, vm))
        name |= {node: real[column] for node, column in zip(planned, columns.tolist(), strict=True)}
    return name


def _contents(world: World, changes: Sequence[AllocationChange]) -> _Contents:
    contents = _Contents()
    named = {change.row: change for change in changes}
    for row, shares in world.held.items():
        for share in shares:
            contents.now[share.node] += 1
        if row not in named or named[row].keeps_nodes:
            _count(contents, shares, shares)
            contents.pinned.update(share.node for share in shares)
    for change in changes:
        if change.shares and not change.keeps_nodes:
            _count(contents, change.shares, world.held.get(change.row, ()))
    reservations = [*world.future.values(), *(change.future for change in changes)]
    contents.pinned.update(share.node for steps in reservations for step in steps for share in step.shares or ())
    return contents


def _count(contents: _Contents, then: tuple[Share, ...], now: tuple[Share, ...]) -> None:
    """Note the shares of one job under the plan, and which of them are equal to one it holds now."""
    if len(then) == len(now) == 1:  # a rented job is on one node
        planned, real = then[0], now[0]
        contents.then[planned.node] += 1
        if planned.workers == real.workers and planned.servers == real.servers:
            contents.stays[planned.node, real.node] += 1
        return
    held: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for share in now:
        held[share.workers, share.servers].append(share.node)
    for share in then:
        contents.then[share.node] += 1
        for node in held.get((share.workers, share.servers), ()):
            contents.stays[share.node, node] += 1


def _staying(contents: _Contents, planned: list[int], real: list[int], target: Ints, vm: Ints) -> Floats:
    """Return how much stays when plan slot a becomes real slot b: jobs first, then leases, then names."""
    same_vm = target[planned][:, None] == vm[real][None, :]
    same_name = np.array(planned)[:, None] == np.array(real)[None, :]
    weight = 2.0 * same_vm + same_name
    row, column = ({node: place for place, node in enumerate(nodes)} for nodes in (planned, real))
    for (a, b), jobs in contents.stays.items():
        if a in row and b in column and same_vm[row[a], column[b]]:
            weight[row[a], column[b]] += jobs * (3 * len(planned) + 1)
    return np.asarray(weight)


def _renamed(change: AllocationChange, name: Mapping[int, int]) -> AllocationChange:
    shares = change.shares
    if not shares:
        return change
    renamed = tuple([Share(name.get(node, node), workers, servers) for node, workers, servers in shares])
    return AllocationChange(change.row, change.workers, renamed, change.future, change.blocked, change.keeps_nodes)
