"""Which of the jobs that wait are admitted in an interval: by the knapsack of SMD, or in order of submission.

K jobs are offered, R resources are counted over all nodes together. An admitted job blocks its ``weight`` of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dlsched.domain.plan import Allocation, Share, Status, Step, WaitReason
from dlsched.domain.state import Placer
from dlsched.domain.workload import Floats, Ints
from dlsched.placement.rules import ROOM_TOLERANCE
from dlsched.policies.smd import knapsack
from dlsched.policies.smd.choices import Ask, Gang, smaller

SLACK = ROOM_TOLERANCE / 2
"""The simulator refuses what exceeds the pool by more than ROOM_TOLERANCE: half of it is left for rounding errors."""


@dataclass(frozen=True, eq=False)
class Offers:
    """Jobs that could run: ``rows`` (K,), what each asks and the gang chosen for it, ``value`` (K,) when it completes
    as soon as it can (NaN: no utility function), ``weight`` (K, R) that it would block.
    """

    rows: Ints
    asks: Sequence[Ask]
    gangs: Sequence[Gang]
    value: Floats
    weight: Floats


class Room:
    """What is left of the pool during a decision; ``left`` (R,), below 0 where running jobs block too much."""

    def __init__(self, placer: Placer) -> None:
        self._placer = placer
        self.left: Floats = placer.pool_free.copy()

    def holds(self, weight: Floats) -> bool:
        """Whether the pool has so much left, on whatever nodes; nothing fits, not even 0, where it has less than 0."""
        return bool((weight <= self.left + SLACK).all())

    def take(self, row: int, gang: Gang, weight: Floats) -> tuple[Share, ...] | None:
        """Block the weight and place the gang; None, and nothing changed, where pool or nodes have no room."""
        shares = self._placer.place_gang(row, gang.workers, gang.servers) if self.holds(weight) else None
        if shares is not None:
            self.left -= weight
        return shares


@dataclass(eq=False)
class Verdict:
    """Who starts where, by place in the offers; why the others wait, codes (K,); what is proven by a ``bound``."""

    codes: Ints
    started: dict[int, Allocation] = field(default_factory=dict)
    gangs: dict[int, Gang] = field(default_factory=dict)
    status: Status = ""
    bound: float | None = None


def by_knapsack(offers: Offers, room: Room, method: knapsack.Method, size: int) -> Verdict:
    """Admit the jobs with the largest value in all whose weights fit the room, Eq. (16).

    Where the nodes cannot hold a chosen gang though the pool could, the job waits and the others are chosen again for
    what is left. Jobs without a utility function take what then is left, in order. ``method`` and ``size``: see
    :func:`knapsack.solve`; the bound is of the first choice.
    """
    verdict = Verdict(_codes(offers, room))
    at = np.flatnonzero(offers.value > 0)
    while len(at) and room.holds(np.zeros_like(room.left)):
        at, left_out = _most_valuable(offers, at)
        packed = knapsack.solve(offers.value[at], offers.weight[at], np.maximum(room.left, 0.0), method, size)
        if verdict.bound is None:
            verdict.status, verdict.bound = "feasible" if left_out else packed.status, packed.bound + left_out
        missed = [place for place in at[packed.selected].tolist() if not _start(verdict, offers, room, place)]
        verdict.codes[missed] = WaitReason.SPLIT
        if not missed:
            break
        verdict.status, at = "feasible", at[~packed.selected]
    for place in np.flatnonzero(np.isnan(offers.value)).tolist():
        _start(verdict, offers, room, place)
    return verdict


def first_come(offers: Offers, room: Room, queues: Sequence[Ints]) -> Verdict:
    """Admit the jobs of each queue (places in the offers) in order, up to the first that does not fit."""
    verdict = Verdict(_codes(offers, room))
    for queue in queues:
        for number, place in enumerate(queue.tolist()):
            if not _start(verdict, offers, room, place):
                verdict.codes[place] = _no_room(room.holds(offers.weight[place]))
                verdict.codes[queue[number + 1 :]] = WaitReason.BEHIND
                break
    return verdict


def start_smaller(verdict: Verdict, offers: Offers, room: Room) -> None:
    """Start the first job of which a smaller gang finds nodes; for when otherwise no job would ever run."""
    for place, (ask, gang) in enumerate(zip(offers.asks, offers.gangs, strict=True)):
        for workers, servers in smaller(ask.widths, gang.workers, gang.servers):
            if _start(verdict, offers, room, place, ask.gang(workers, servers)):
                return


def _start(verdict: Verdict, offers: Offers, room: Room, place: int, gang: Gang | None = None) -> bool:
    gang = gang or offers.gangs[place]
    weight = offers.weight[place]
    shares = room.take(int(offers.rows[place]), gang, weight)
    if shares is None:
        return False
    step = Step(gang.workers, shares, None, gang.servers, tuple(weight.tolist()))
    verdict.started[place], verdict.gangs[place] = (step,), gang
    return True


def _codes(offers: Offers, room: Room) -> Ints:
    """Return why each job waits if it is not admitted, by what is free before the decision, shape (K,)."""
    holds = [room.holds(weight) for weight in offers.weight]
    return np.where(holds, int(WaitReason.NOT_ADMITTED), int(WaitReason.NO_ROOM)).astype(np.int64)


def _no_room(pool_holds: bool) -> WaitReason:
    return WaitReason.SPLIT if pool_holds else WaitReason.NO_ROOM


def _most_valuable(offers: Offers, at: Ints) -> tuple[Ints, float]:
    """Return as many places as a knapsack takes, the most valuable ones in order, and the value of the others."""
    if len(at) <= knapsack.MOST_ITEMS:
        return at, 0.0
    order = np.argsort(-offers.value[at], kind="stable")
    kept, others = order[: knapsack.MOST_ITEMS], order[knapsack.MOST_ITEMS :]
    return np.sort(at[kept]), float(offers.value[at[others]].sum())
