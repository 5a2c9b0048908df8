"""Room counted in totals: what a preemptive policy spends when it selects which jobs run, before anything is placed."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from dlsched.domain.state import State
from dlsched.domain.workload import Floats, Ints
from dlsched.placement.eligibility import in_partition
from dlsched.policies.shared.facts import JobFacts

_LITTLE = 1e-9


class Claim(NamedTuple):
    """What a kind spends: (resource, amount) of the whole job, and the classes of nodes it may use, in order."""

    need: tuple[tuple[int, float], ...]
    classes: list[int]


class Totals:
    """Capacity of the nodes that are up, summed over nodes that every job treats alike.

    These are of the same partitions, GPU type and features. Plain lists, because a decision may ask for thousands of
    rows. Nothing is added up before it is asked for.

    Parameters
    ----------
    state, facts
        The state to decide on and the facts of its rows.
    slot_capacity
        What the empty slots can become in all, shape (resources,); zeros on owned nodes. Open to every job.
    """

    def __init__(self, state: State, facts: JobFacts, slot_capacity: Floats) -> None:
        self._state, self._facts, self._slot_capacity = state, facts, slot_capacity
        self._claims: dict[int, Claim] = {}

    @cached_property
    def _class_of(self) -> Ints:
        return self._facts.class_of(self._state.nodes)

    @cached_property
    def _left(self) -> list[list[float]]:
        """What is left of each class, the empty slots last."""
        nodes = self._state.nodes
        left = np.zeros((int(self._class_of.max(initial=-1)) + 2, nodes.capacity.shape[1]))
        np.add.at(left, self._class_of[nodes.up], nodes.capacity[nodes.up])
        left[-1] = self._slot_capacity
        rows: list[list[float]] = left.tolist()
        return rows

    def take(self, row: int) -> bool:
        """Spend the room of a row; False, and nothing spent, when what is left is too little."""
        claim, held = self._claim(row), self._state.held(row)
        if held:
            return self._spend(claim.need, sorted({int(self._class_of[share.node]) for share in held}))
        return self._spend(claim.need, claim.classes)

    def capacity(self, partition: str) -> Floats:
        """Return what the nodes in any of these partitions, "a|b", hold in all, with the empty slots, (resources,)."""
        nodes = self._state.nodes
        here = nodes.up & in_partition(partition, nodes.partition)
        return np.asarray(nodes.capacity[here].sum(axis=0) + self._slot_capacity)

    def _claim(self, row: int) -> Claim:
        number = self._facts.number_of(row)
        if number not in self._claims:
            kind, nodes = self._facts.kinds[number], self._state.nodes
            need = tuple((r, amount) for r, amount in enumerate(kind.need.tolist()) if amount > 0)
            of_nodes = np.unique(self._class_of[kind.allowed(nodes) & nodes.up]).tolist()
            self._claims[number] = Claim(need, [*of_nodes, len(self._left) - 1])
        return self._claims[number]

    def _spend(self, need: tuple[tuple[int, float], ...], classes: list[int]) -> bool:
        """Spread the need over the classes in order, each taking as large a part of the job as it can."""
        missing, before = 1.0, {number: self._left[number].copy() for number in classes}
        for number in classes:
            left = self._left[number]
            part = min(missing, *(left[resource] / amount for resource, amount in need))
            for resource, amount in need:
                left[resource] -= part * amount
            missing -= part
            if missing <= _LITTLE:
                return True
        for number, kept in before.items():
            self._left[number] = kept
        return False
