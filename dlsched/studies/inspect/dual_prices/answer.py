"""Decisions of a policy that books at prices, as they are shown: worth, price, bookings, prices by machine and slot.

Slots are numbered from 1: that is the slot of the run's first decision.
"""

from __future__ import annotations

import base64
import zlib
from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dlsched.domain.model import Answer
from dlsched.domain.workload import Floats
from dlsched.studies.inspect.re_execute import InspectedDecision

NEAR_DEAREST = 0.5
"""Slots around the dearest one whose price is at least this part of it are told with it."""
SAME_PRICE = 1e-3
"""Prices this close, relative, are one."""


class Booked(NamedTuple):
    """Workers and servers of a job on one machine in one slot."""

    slot: int
    machine: int
    workers: int
    servers: int


class EndingThen(NamedTuple):
    """The cheapest schedule of a job whose last slot is ``last``."""

    last: int
    worth: float
    price: float

    @property
    def payoff(self) -> float:
        """Worth less price."""
        return self.worth - self.price


class JobDecision(InspectedDecision):
    """One decision about one job.

    first     first slot that could be booked then
    job       its id, ``row`` its row; ``again``: it was admitted before and books anew, whatever that costs
    why       why it was turned away, empty when admitted
    best      the schedule with the best payoff, also of a job turned away; None if there is none
    other     the next best last slot; None if there is none
    paid      (R,) price of ``best`` by resource
    bookings  of an admitted job, by slot and machine
    prices    packed (S, H, R) of slots ``first``, ``first`` + 1, ... as the job met them, NaN where it may not run or
              the machine has none of the resource; empty where not kept
    """

    first: int
    job: str
    row: int
    again: bool
    why: str
    best: EndingThen | None
    other: EndingThen | None
    paid: tuple[float, ...]
    bookings: tuple[Booked, ...]
    prices: str

    @property
    def admitted(self) -> bool:
        """Whether it got in."""
        return not self.why

    @cached_property
    def machines_at(self) -> Mapping[int, int]:
        """Slot -> machines the job is booked on."""
        return Counter(one.slot for one in self.bookings)

    @property
    def worker_slots(self) -> tuple[int, int]:
        """Worker-slots booked on one machine alone, and spread over several."""
        alone = sum(one.workers for one in self.bookings if self.machines_at[one.slot] == 1)
        return alone, sum(one.workers for one in self.bookings) - alone


class Dearest(NamedTuple):
    """The dearest resource (its place), a machine of ``machines`` that cost as much, and the slots around its peak."""

    resource: int
    machine: int
    machines: int
    first: int
    last: int


class PricedRun(Answer):
    """All decisions of a run, in order, on H machines with R resources.

    ``total`` (R,) is what all machines have of each resource, by which prices of different resources are compared.
    """

    policy: str
    resources: tuple[str, ...]
    total: tuple[float, ...]
    machines: int
    slot_s: float
    horizon: int
    decisions: tuple[JobDecision, ...]

    @cached_property
    def first_decisions(self) -> tuple[JobDecision, ...]:
        """The decision by which each job got in or not."""
        return tuple(one for one in self.decisions if not one.again)

    @property
    def admitted(self) -> int:
        """Jobs that got in."""
        return sum(one.admitted for one in self.first_decisions)

    def turned_away(self) -> Counter[str]:
        """Return how many jobs were turned away, by why."""
        return Counter(one.why for one in self.first_decisions if not one.admitted)

    @property
    def promised(self) -> float:
        """Worth of the admitted jobs if each ends as booked at first."""
        return float(sum(one.best.worth for one in self.first_decisions if one.admitted and one.best))

    def together_share(self) -> float | None:
        """Return the share of worker-slots that were booked with all of a job on one machine; None without any."""
        counts = np.array([one.worker_slots for one in self.first_decisions], dtype=float).reshape(-1, 2).sum(axis=0)
        return float(counts[0] / counts.sum()) if counts.sum() > 0 else None

    def decision_of(self, row: int) -> JobDecision | None:
        """Return the decision by which a job got in or not."""
        return next((one for one in self.first_decisions if one.row == row), None)

    def telling(self) -> JobDecision:
        """Return a decision to start with: the one at which prices mattered most, the first of equals."""
        return max(self.first_decisions, key=lambda one: one.best.price if one.best else -np.inf)

    def prices_at(self, one: JobDecision) -> Floats | None:
        """Return the prices a job met, (S, H, R), of slots ``one.first`` on; None if they are not kept."""
        return unpacked(one.prices, (-1, self.machines, len(self.resources))) if one.prices else None

    def dearest(self, one: JobDecision) -> Dearest | None:
        """Return what was dearest when a job was decided about; None if all prices are alike or not kept."""
        prices = self.prices_at(one)
        if prices is None or not np.isfinite(prices).any():
            return None
        level = np.where(np.isfinite(prices), prices, 0.0) * np.array(self.total)
        most = float(level.max())
        if most <= float(np.nanmin(prices * np.array(self.total))) * (1 + SAME_PRICE):
            return None
        resource = int(level.max(axis=(0, 1)).argmax())
        slot, machine = peak_of(level[:, :, resource])
        near = level[:, machine, resource] >= NEAR_DEAREST * most
        first, last = slot, slot
        while first > 0 and near[first - 1]:
            first -= 1
        while last + 1 < len(near) and near[last + 1]:
            last += 1
        alike = level[first : last + 1, :, resource].max(axis=0) >= most * (1 - SAME_PRICE)
        return Dearest(resource, machine, int(alike.sum()), one.first + first, one.first + last)

    def standing(self) -> list[tuple[JobDecision, Booked]]:
        """Return the bookings as they stand at the end: who books again has lost what was booked from then on."""
        until: dict[int, int] = {}
        found: list[tuple[JobDecision, Booked]] = []
        for one in reversed(self.decisions):
            found += [(one, booked) for booked in one.bookings if booked.slot < until.get(one.row, booked.slot + 1)]
            until[one.row] = one.first
        return sorted(found, key=lambda pair: (pair[1].machine, pair[1].slot, pair[0].number))


def peak_of(level: Floats) -> tuple[int, int]:
    """Return slot and machine of the highest of (S, H): of equal machines the first with most such slots."""
    top = level >= np.nanmax(level) * (1 - SAME_PRICE)
    machine = int(top.sum(axis=0).argmax())
    return int(top[:, machine].argmax()), machine


def packed(prices: Floats) -> str:
    """Return numbers as a short text."""
    return base64.b64encode(zlib.compress(prices.astype("<f8").tobytes(), 6)).decode()


def unpacked(text: str, shape: tuple[int, ...]) -> Floats:
    """Return the numbers behind :func:`packed`."""
    found = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype="<f8")
    return np.asarray(found.astype(np.float64).reshape(shape))


class Hindsight(Answer):
    """The best that could have been had with all jobs known: ``utility`` found, none above ``bound``; ``ours`` got."""

    ours: float
    utility: float
    bound: float
    status: str

    def ratios(self) -> tuple[float, float] | None:
        """Return the least and the most that best over ours can be; None if ours is worth nothing."""
        return (self.utility / self.ours, self.bound / self.ours) if self.ours > 0 else None
