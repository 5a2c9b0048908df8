"""Widths placed on the nodes of any cluster by the scenario's placement rule.

Who keeps its width keeps its nodes; who shrinks keeps its largest shares. Room is scattered, so that a width may not
fit: then a job takes the largest of its widths that does, or waits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.plan import Allocation, Share, run_on
from dlsched.domain.state import Placer, State
from dlsched.domain.workload import Ints
from dlsched.policies.shared.capacity import ROOM, Amounts, room
from dlsched.policies.shared.facts import JobFacts
from dlsched.policies.shared.first_fit import first_fit
from dlsched.policies.shared.slots import OpeningPlacer


class Placing:
    """The trial of one decision; ``shares`` is what rows hold after it, only where that changes (empty = nothing).

    Parameters
    ----------
    state, facts
        The state to decide on, and the kinds of its rows.
    widths_of
        Widths that a row may have, ascending.
    amounts
        Which nodes a kind may use, and what empty slots hold.
    placer
        Free resources, an :class:`OpeningPlacer` on rented slots.
    """

    def __init__(
        self, state: State, facts: JobFacts, widths_of: Callable[[int], Ints], amounts: Amounts, placer: Placer
    ) -> None:
        self.placer = placer
        self.shares: dict[int, tuple[Share, ...]] = {}
        self._state, self._facts, self._widths_of, self._amounts = state, facts, widths_of, amounts
        self._failed: set[tuple[int, int]] = set()
        self._runs = facts.runs(state)

    def give_back(self, row: int, width: int) -> None:
        """Leave a running row so many of its workers, those on its largest shares; one with servers is placed anew."""
        held = self._state.held(row)
        if any(share.servers for share in held):
            self.placer.release(row, held)
            shares = self.placer.place(row, width) if width else ()
            if shares is None:
                self.placer.take(row, held)
            self._hold(row, held if shares is None else shares)
            return
        kept, dropped, missing = [], [], width
        for share in sorted(held, key=lambda share: (-share.workers, share.node)):
            stays = min(missing, share.workers)
            missing -= stays
            if stays:
                kept.append(Share(share.node, stays))
            if stays < share.workers:
                dropped.append(Share(share.node, share.workers - stays))
        self.placer.release(row, tuple(dropped))
        self._hold(row, tuple(sorted(kept)))

    def start(self, row: int, width: int) -> bool:
        """Place a row that holds nothing; False when there is no room. Room only shrinks, so nothing fails twice."""
        key = self._facts.number_of(row), width
        if key in self._failed:
            return False
        shares = self.placer.place(row, width)
        if shares is None:
            self._failed.add(key)
            return False
        self._hold(row, shares)
        return True

    def start_up_to(self, row: int, width: int, above: int = 0) -> bool:
        """Place a row at the largest of its widths that fits, at most ``width`` and more than ``above``."""
        widths = self._widths_of(row)
        largest = min(width, self.room(row))
        fitting = widths[(widths <= largest) & (widths > above)]
        return any(self.start(row, candidate) for candidate in fitting[::-1].tolist())

    def grow(self, row: int, width: int) -> None:
        """Place a running row anew at a larger width, or at one between; else it keeps its nodes."""
        held = self._state.held(row)
        before = sum(share.workers for share in held)
        self.placer.release(row, held)
        failed, self._failed = self._failed, set()  # what it gave back may be what was missing
        if not self.start_up_to(row, width, above=before):
            self.placer.take(row, held)
        self._failed = failed

    def resume(self, row: int) -> bool:
        """Give a row that was stopped in this decision its own nodes back; False when somebody has them."""
        held = self._state.held(row)
        if not held:
            return False
        kind, free = self._facts.kind(row), self.placer.free
        if any((kind.held(share.workers, share.servers) > free[share.node] + ROOM).any() for share in held):
            return False
        self.placer.take(row, held)
        del self.shares[row]
        self._runs[row] = True
        return True

    def _hold(self, row: int, shares: tuple[Share, ...]) -> None:
        self.shares[row] = shares
        self._runs[row] = bool(shares)

    def first_fit(self, rows: Ints, alike: Ints, take: Callable[[int], bool], *, blocking: bool = False) -> list[int]:
        """Offer rows in order, those with a number alike no more once one failed; return the rows taken."""
        stopped = [row for row, shares in self.shares.items() if not shares]
        if stopped:  # each may get its own nodes back where others fail
            own = np.isin(rows, np.array(stopped))
            alike = alike.copy()
            alike[own] = -1 - np.arange(int(own.sum()))
        return first_fit(rows, alike, take, blocking=blocking)

    def runs(self, rows: Ints) -> NDArray[np.bool_]:
        """Return which of these active rows hold something, as far as this decision has come."""
        return self._runs[rows]

    def may_hold_any(self, rows: Ints) -> bool:
        """Whether the totals hold a worker of any of these rows; False is sure."""
        if len(self.opened) < self._amounts.empty:
            return True
        demand = np.array([self._facts.kinds[number].demand for number in self._kinds(rows)])
        return len(demand) > 0 and bool((demand <= self.placer.free.sum(axis=0) + ROOM).all(axis=1).any())

    def rooms(self, rows: Ints) -> Ints:
        """Return how many workers of each row all that is free holds, -1 = no node of its kind is up; shape (rows,)."""
        of_kind = np.zeros(len(self._facts.kinds), dtype=np.int64)
        for number in self._kinds(rows):
            of_kind[number] = self._room(number) if self._amounts.most[number] else -1
        return np.asarray(of_kind[self._facts.kind_of(rows)])

    def _kinds(self, rows: Ints) -> list[int]:
        return np.flatnonzero(np.bincount(self._facts.kind_of(rows))).tolist()

    def room(self, row: int) -> int:
        """Return how many workers of a row all that is free holds together, whatever the placement rule says."""
        return self._room(self._facts.number_of(row))

    def _room(self, number: int) -> int:
        usable, opened = self._amounts.usable[number], self.opened
        if opened:
            usable = usable.copy()
            usable[list(opened)] = True
        on_slots = (self._amounts.empty - len(opened)) * int(self._amounts.on_slot[number])
        return room(self._facts.kinds[number], self.placer.free[usable]) + on_slots

    @property
    def opened(self) -> dict[int, str]:
        """Slots opened in this decision, with their VM type."""
        return self.placer.opened if isinstance(self.placer, OpeningPlacer) else {}

    def allocations(self) -> dict[int, Allocation]:
        """Return what changes, as a plan says it."""
        return {row: run_on(shares) if shares else () for row, shares in self.shares.items()}
