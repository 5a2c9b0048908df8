"""Free slots are interchangeable: rename the slots of a plan so that most stays where it is.

A policy that plans from scratch may put a job's VM on slot 3 although it runs on slot 1. Both mean the same, so
the engine permutes the slots of the plan such that the most (VM type, job, width) stay put (METHODS 0).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from dlsched.domain.plan import Share
from dlsched.optimise.assignment import max_weight_assignment
from dlsched.sim.changes import Change
from dlsched.sim.world import World

Content = Mapping[int, set[tuple[int, int, int]]]
Vms = Mapping[int, int]
"""Slot -> number of its VM type, -1 = none; only slots that change."""


def rename_slots(world: World, changes: Sequence[Change], vms: Vms) -> tuple[list[Change], dict[int, int]]:
    """Return the changes and VM types with slots renamed.

    Slots keep their name when they are away, hold a job the plan does not name, or appear in a reservation.
    """
    now, then, pinned = _contents(world, changes)
    target = world.nodes.vm.copy()
    for node, vm in vms.items():
        target[node] = vm
    movable = [
        node
        for node in sorted({*vms, *now, *then} - pinned)
        if world.nodes.up[node] and (target[node] != world.nodes.vm[node] or now[node] != then[node])
    ]
    if len(movable) < 2:
        return list(changes), dict(vms)
    columns = max_weight_assignment(_staying(world, movable, target, (now, then)))
    name = {node: movable[column] for node, column in zip(movable, columns.tolist(), strict=True)}
    new_target = world.nodes.vm.copy()
    for node in {*vms, *movable}:
        new_target[name.get(node, node)] = target[node]
    changed = np.flatnonzero(new_target != world.nodes.vm)
    return [_renamed(change, name) for change in changes], {int(node): int(new_target[node]) for node in changed}


def _contents(world: World, changes: Sequence[Change]) -> tuple[Content, Content, set[int]]:
    """Return who holds what on each slot now and under the plan, and the slots that must keep their name."""
    now: defaultdict[int, set[tuple[int, int, int]]] = defaultdict(set)
    then: defaultdict[int, set[tuple[int, int, int]]] = defaultdict(set)
    named = {change.row: change for change in changes}
    pinned: set[int] = set()
    for row, shares in world.held.items():
        for share in shares:
            now[share.node].add((row, share.workers, share.servers))
            if row not in named or named[row].keeps_nodes:
                then[share.node].add((row, share.workers, share.servers))
                pinned.add(share.node)
    for change in changes:
        for share in change.shares or ():
            then[share.node].add((change.row, share.workers, share.servers))
    reservations = [*world.future.values(), *(change.future for change in changes)]
    pinned.update(share.node for steps in reservations for step in steps for share in step.shares or ())
    return now, then, pinned


def _staying(
    world: World, movable: list[int], target: np.ndarray, contents: tuple[Content, Content]
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return how much stays when plan slot a becomes real slot b: jobs first, then leases, then names."""
    now, then = contents
    num = len(movable)
    weight = np.zeros((num, num))
    for a, planned in enumerate(movable):
        for b, real in enumerate(movable):
            same_vm = target[planned] == world.nodes.vm[real]
            jobs = len(then[planned] & now[real]) if same_vm else 0
            weight[a, b] = jobs * (3 * num + 1) + 2 * same_vm + (a == b)
    return weight


def _renamed(change: Change, name: Mapping[int, int]) -> Change:
    if not change.shares:
        return change
    return replace(change, shares=tuple(Share(name.get(s.node, s.node), s.workers, s.servers) for s in change.shares))
