"""Room counted in totals: what a preemptive policy spends when it selects who runs, before anything is placed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.state import State
from dlsched.domain.workload import Floats
from dlsched.policies.baselines.facts import JobFacts, Kind

_WHOLE = 1 - 1e-9


class Totals:
    """Capacity of the nodes that are up, summed over nodes that every job treats alike: same partition and GPU type.

    Parameters
    ----------
    state, facts
        The state to decide on and the facts of its rows.
    slot_capacity
        What the empty slots can become in all, shape (resources,); zeros on fixed nodes. Open to every job.
    """

    def __init__(self, state: State, facts: JobFacts, slot_capacity: Floats) -> None:
        self._state, self._facts = state, facts
        nodes = state.nodes
        names = np.array([f"{p}\n{g}" for p, g in zip(nodes.partition, nodes.gpu_type, strict=True)])
        labels, self._class_of = np.unique(names, return_inverse=True)
        self._left = np.zeros((len(labels) + 1, nodes.capacity.shape[1]))
        np.add.at(self._left, self._class_of[nodes.up], nodes.capacity[nodes.up])
        self._left[-1] = self._slot_capacity = slot_capacity
        self._classes: dict[Kind, NDArray[np.int64]] = {}

    def take(self, row: int) -> bool:
        """Spend the room of a row; False, and nothing spent, when what is left is too little."""
        kind = self._facts.kind(row)
        held = self._state.held(row)
        classes = self._usable(kind)
        if held:
            classes = np.unique(self._class_of[[share.node for share in held]])
        return self._spend(kind.need, classes)

    def capacity(self, partition: str) -> Floats:
        """Return what the nodes of a partition hold in all, empty slots included, shape (resources,)."""
        nodes = self._state.nodes
        here = nodes.up & np.asarray(nodes.partition == partition, dtype=bool)
        return np.asarray(nodes.capacity[here].sum(axis=0) + self._slot_capacity)

    def _usable(self, kind: Kind) -> NDArray[np.int64]:
        if kind not in self._classes:
            nodes = self._state.nodes
            of_nodes = np.unique(self._class_of[kind.allowed(nodes) & nodes.up])
            self._classes[kind] = np.append(of_nodes, len(self._left) - 1)
        return self._classes[kind]

    def _spend(self, need: Floats, classes: NDArray[np.int64]) -> bool:
        """Spread the need over the classes in order, each taking as large a part of the job as it can."""
        asked, missing, before = need > 0, 1.0, self._left.copy()
        for number in classes.tolist():
            part = min(missing, float((self._left[number, asked] / need[asked]).min()))
            self._left[number, asked] -= part * need[asked]
            missing -= part
            if missing <= 1 - _WHOLE:
                return True
        self._left = before
        return False
