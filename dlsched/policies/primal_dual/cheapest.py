"""The cheapest schedule of one job by last slot, and the one with the best payoff (PD-ORS, Algorithms 2 and 3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dlsched.domain.workload import Floats, Ints
from dlsched.policies.primal_dual.problem import ROOM, Booking, Job, Schedule
from dlsched.policies.primal_dual.slot_cost import Levels, Offer, SlotMethod


@dataclass(frozen=True, eq=False)
class Candidate:
    """The cheapest schedule that ends in slot ``last``: what finishing then is worth, and what it costs."""

    last: int
    worth: float
    cost: float

    @property
    def payoff(self) -> float:
        """What is left of the worth after the cost."""
        return self.worth - self.cost


@dataclass(frozen=True, eq=False)
class Found:
    """Cheapest schedules by last slot, best payoff first, and the schedule of the first of them, trimmed."""

    candidates: tuple[Candidate, ...]
    schedule: Schedule


def cheapest(job: Job, offer: Offer, method: SlotMethod, chunks: int) -> Found | None:
    """Return the schedules of a job that starts at ``job.first``, the first slot of the offer; None when none fits.

    The first candidate says what the trimmed schedule is worth and costs; trimming makes no other one better.
    """
    costs = method(job, Levels.of(job, len(offer.free), chunks), offer)
    splits = Splits.of(costs.cost)
    ends = np.flatnonzero(np.isfinite(splits.end_cost)).tolist()
    if not ends:
        return None
    candidates = [Candidate(job.first + end, job.worth(job.first + end), float(splits.end_cost[end])) for end in ends]
    candidates.sort(key=lambda candidate: (-candidate.payoff, candidate.last))
    parts = splits.ending(candidates[0].last - job.first)
    bookings = trimmed(job, offer, {slot: costs.booking(slot, part - 1) for slot, part in parts.items()})
    last = job.first + max(bookings)
    cost = sum(offer.cost_of(slot, booking) for slot, booking in bookings.items())
    schedule = {job.first + slot: bookings[slot] for slot in sorted(bookings)}
    return Found((Candidate(last, job.worth(last), cost), *candidates[1:]), schedule)


@dataclass(frozen=True, eq=False)
class Splits:
    """How 0..N chunks are cheapest split over the slots (Eq. 21 as a table).

    taken     (S, N + 1) chunks of a slot when so many are split over the slots up to it
    end_cost  (S,) least cost of all chunks with some of them in that slot and none later
    end_taken (S,) chunks of that slot then
    """

    taken: Ints
    end_cost: Floats
    end_taken: Ints

    @classmethod
    def of(cls, cost: Floats) -> Splits:
        """Return the splits for the cost (S, N) of 1..N chunks in each slot; of equal ones fewer chunks are later."""
        slots, most = cost.shape
        taken = np.empty((slots, most + 1), dtype=np.int64)
        end_cost, end_taken = np.empty(slots), np.empty(slots, dtype=np.int64)
        before = np.full(2 * most + 1, np.inf)  # before[most + v]: v chunks in earlier slots, infinite for negative v
        before[most] = 0.0
        rest = most + np.arange(most + 1)[:, None] - np.arange(most + 1)
        for slot in range(slots):
            sums = before[rest] + np.concatenate([[0.0], cost[slot]])
            taken[slot] = sums.argmin(axis=1)
            end_taken[slot] = 1 + sums[-1, 1:].argmin()
            end_cost[slot] = sums[-1, end_taken[slot]]
            before[most:] = sums.min(axis=1)
        return cls(taken, end_cost, end_taken)

    def ending(self, slot: int) -> dict[int, int]:
        """Return slot -> chunks of the cheapest split whose last slot is this one."""
        found = {slot: int(self.end_taken[slot])}
        left = self.taken.shape[1] - 1 - found[slot]
        while left:
            slot -= 1
            part = int(self.taken[slot, left])
            if part:
                found[slot] = part
            left -= part
        return found


def trimmed(job: Job, offer: Offer, bookings: Mapping[int, Booking]) -> dict[int, Booking]:
    """Return bookings without the workers and servers that rounding up to whole chunks left over.

    Later slots give up first, each its dearest workers, then the dearest servers that are no longer needed. A slot
    without workers is left out. What is left trains all the work, so it stays legal. Nothing is taken from a job that
    is slower on one machine, where fewer workers might end up.
    """
    if job.near > job.far:
        return dict(bookings)
    kept = dict(bookings)
    spare = sum(map(job.samples, bookings.values())) - job.work * (1 - ROOM / 2)
    for slot in sorted(bookings, reverse=True):
        booking = kept.pop(slot)
        before = job.samples(booking)
        least = 0 if kept else 1  # work so little that it is lost beside what is trained still needs a worker
        smaller = _without(job, offer, slot, booking, spare, least)
        if smaller is not None:
            kept[slot] = smaller
        spare -= before - (job.samples(smaller) if smaller else 0.0)
    return kept


def _without(job: Job, offer: Offer, slot: int, booking: Booking, spare: float, least: int) -> Booking | None:
    """Return a booking without workers that train at most ``spare`` samples or their servers; None = no worker left."""
    each = job.near if booking.together else job.far
    had = int(booking.workers.sum())
    fewer = min(int(max(0.0, spare) * each), had - least)
    workers = had - fewer
    if workers == 0:
        return None
    left = _dearest_off(booking.workers, offer.worker_price[slot, booking.machine], fewer)
    unneeded = int(booking.servers.sum()) - job.servers_for(workers)
    servers = _dearest_off(booking.servers, offer.server_price[slot, booking.machine], unneeded)
    places = booking.machine.tolist()
    return Booking.of(dict(zip(places, left, strict=True)), dict(zip(places, servers, strict=True)))


def _dearest_off(counts: Ints, price: Floats, fewer: int) -> list[int]:
    left: list[int] = counts.tolist()
    for place in np.argsort(-price, kind="stable").tolist():
        off = min(fewer, left[place])
        left[place] -= off
        fewer -= off
    return left
