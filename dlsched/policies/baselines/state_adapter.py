"""The trial of one decision: which jobs got room, which were stopped, and why the others wait."""

from __future__ import annotations

import numpy as np

from dlsched.domain.plan import Share, WaitReason
from dlsched.domain.state import Placer, State
from dlsched.domain.workload import GPU, Floats, Ints
from dlsched.policies.shared.facts import JobFacts, JobKind
from dlsched.policies.shared.slots import OpeningPlacer

ROOM_TOLERANCE = 1e-9
NUM_TOLD = 32
"""Of a long queue, so many jobs are told what keeps them; the others wait behind them (decision 044)."""


class StateAdapter:
    """Places rows on a trial of the nodes; ``started`` and ``stopped`` become the plan.

    On rented slots the placer is an :class:`OpeningPlacer`.
    """

    def __init__(self, state: State, facts: JobFacts, placer: Placer) -> None:
        self.state, self.facts, self.placer = state, facts, placer
        self.started: dict[int, tuple[Share, ...]] = {}
        self.stopped: dict[int, tuple[Share, ...]] = {}
        self._runs = facts.runs(state)
        self._failed: set[int] = set()

    def start(self, row: int) -> bool:
        """Give a row room by the placement rule, at its request; False when there is none.

        A kind that has failed is not tried again until somebody is stopped.
        """
        kind = self.facts.number_of(row)
        shares = None if kind in self._failed else self.placer.place(row, self.facts.kinds[kind].workers)
        if shares is None:
            self._failed.add(kind)
            return False
        self.started[row] = shares
        self._runs[row] = True
        return True

    def take(self, row: int, shares: tuple[Share, ...]) -> None:
        """Give a row exactly these shares, which are free."""
        self.placer.take(row, shares)
        self.started[row] = shares
        self._runs[row] = True

    def undo(self, row: int) -> None:
        """Take back a start made in this decision."""
        self.placer.release(row, self.started.pop(row))
        self._runs[row] = False

    def stop(self, row: int) -> None:
        """Take a running row's nodes away."""
        shares = self.state.held(row)
        self.placer.release(row, shares)
        self.stopped[row] = shares
        self._runs[row] = False
        self._failed.clear()

    def resume(self, row: int) -> bool:
        """Give a row stopped in this decision its own nodes back; False when somebody has them."""
        shares = self.stopped.get(row)
        kind, free = self.facts.kind(row), self.placer.free
        if shares is None or any(
            (kind.held(share.workers, share.servers) > free[share.node] + ROOM_TOLERANCE).any() for share in shares
        ):
            return False
        self.placer.take(row, shares)
        del self.stopped[row]
        self._runs[row] = True
        return True

    def shares(self, row: int) -> tuple[Share, ...]:
        """Return what a row holds after this decision."""
        if row in self.started:
            return self.started[row]
        return () if row in self.stopped else self.state.held(row)

    def running(self, rows: Ints) -> Ints:
        """Return which of these active rows run, as far as this decision has come."""
        return rows[self._runs[rows]]

    def waiting(self, rows: Ints) -> Ints:
        """Return which of these active rows wait, as far as this decision has come."""
        return rows[~self._runs[rows]]

    @property
    def opened(self) -> dict[int, str]:
        """Slots opened in this decision, with their VM type."""
        return self.placer.opened if isinstance(self.placer, OpeningPlacer) else {}

    def open_in(self, trial: Placer) -> None:
        """Open in another trial what this decision has opened."""
        known: dict[int, str] = trial.opened if isinstance(trial, OpeningPlacer) else {}
        for node, vm_name in self.opened.items():
            if node not in known:
                trial.open(node, vm_name)

    def speeds(self) -> Floats:
        """Return the speed of every node, those opened in this decision as their VM type says, shape (nodes,)."""
        speeds = self.state.nodes.speed
        if self.opened:
            speed_of = {vm.name: vm.speed for vm in self.state.nodes.vm_types}
            speeds = speeds.copy()
            speeds[list(self.opened)] = [speed_of[name] for name in self.opened.values()]
        return speeds

    def reasons_in_order(self, rows: Ints) -> Ints:
        """Return why rows wait, in order of the queue: the first :data:`NUM_TOLD` as judged, the others BEHIND."""
        codes = np.full(len(rows), int(WaitReason.BEHIND))
        codes[:NUM_TOLD] = self.reasons(rows[:NUM_TOLD])
        return codes

    def reasons(self, rows: Ints) -> Ints:
        """Return why rows wait, judged by what is free after the decision.

        A job that would fit is kept out for another one, so its code is RESERVED.
        """
        kinds = self.facts.kind_of(rows)
        row_of = np.full(len(self.facts.kinds), -1, dtype=np.int64)
        row_of[kinds] = rows
        codes = np.zeros(len(row_of), dtype=np.int64)
        for number in np.flatnonzero(row_of >= 0).tolist():
            codes[number] = self._reason(int(row_of[number]), number)
        return codes[kinds]

    @staticmethod
    def _enough(kind: JobKind, free: Floats) -> bool:
        resource = GPU if kind.demand[GPU] > 0 else int(np.argmax(np.asarray(kind.demand) > 0))
        return bool(free[resource] >= kind.need[resource] - ROOM_TOLERANCE)

    def _reason(self, row: int, number: int) -> WaitReason:
        kind, nodes = self.facts.kinds[number], self.state.nodes
        if number not in self._failed and self.placer.fits(row, kind.workers):
            return WaitReason.RESERVED
        usable = kind.allowed(nodes) & nodes.up
        if not usable.any():
            return WaitReason.NO_NODE
        free = self.placer.free[usable].sum(axis=0)
        enough = bool((free >= kind.need - ROOM_TOLERANCE).all()) if kind.servers else self._enough(kind, free)
        return WaitReason.SPLIT if enough else WaitReason.NO_ROOM
