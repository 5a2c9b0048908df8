"""Cost of parts of a job in one slot: theta(t, v) of PD-ORS (Problem 19, Algorithm 4), all slots and parts at once.

The work of a job is cut into chunks. ``Levels`` says how many workers so many chunks need, ``Offer`` what the machines
have left and ask for; the answer is a ``SlotCosts``. A method for several machines is a :class:`Spread`; the other
case, all on one machine at the internal speed, is the same for all of them and exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.workload import Floats, Ints
from dlsched.policies.primal_dual.problem import ROOM, Booking, Job
from dlsched.policies.primal_dual.reach import fit_together, fits, servers_for, whole

CHUNKS = 20
"""Parts the work is cut into at least (Q); as many as slots where those are more, or a slot's part were too large."""


@dataclass(frozen=True, eq=False)
class Levels:
    """Workers that train 1..N chunks in a slot, on several machines and on one, each (N,); N chunks are all work."""

    spread: Ints
    together: Ints

    @classmethod
    def of(cls, job: Job, slots: int, chunks: int = CHUNKS) -> Levels:
        """Cut the work n = V (tau + 2 g gamma / (b_e F)) into chunks of at most ceil(n / Q) worker-slots.

        The batch is a whole number of chunks: else a job of 7 workers in chunks of 4 could never use more than 4. On
        several machines the slower of the two speeds counts, as a :class:`Spread` may find room on one.
        """
        slots_each = max(job.far, job.near)
        most = max(1, _up(job.work * slots_each))
        chunk = -(-most // max(chunks, slots))
        full = min(job.batch, most)
        part = full / -(-full // chunk) if chunk <= full else float(chunk)
        spread = np.minimum(np.arange(1, _up(most / part) + 1) * part, most)
        samples = np.minimum(spread / slots_each, job.work)
        return cls(_workers(spread), _workers(samples * job.near))


@dataclass(frozen=True, eq=False)
class Offer:
    """What a job finds in the slots it may use: free (S, H, R), price of one of its workers and servers (S, H)."""

    free: Floats
    worker_price: Floats
    server_price: Floats

    @classmethod
    def of(cls, job: Job, free: Floats, price: Floats) -> Offer:
        """Return the offer to a job, from what is free and the price of a unit, both (S, H, R)."""
        return cls(np.maximum(free, 0), price @ job.worker_demand, price @ job.server_demand)

    def cost_of(self, slot: int, booking: Booking) -> float:
        """Return what a booking costs in one of the slots."""
        workers = booking.workers @ self.worker_price[slot, booking.machine]
        return float(workers + booking.servers @ self.server_price[slot, booking.machine])

    def as_bytes(self, slot: int) -> tuple[bytes, ...]:
        """Return a key that slots share where a job finds the same in them."""
        return tuple(part[slot].tobytes() for part in (self.free, self.worker_price, self.server_price))


Booker = Callable[[int, int], Booking]
"""(slot, level from 0) -> its booking; only for a finite cost."""


@dataclass(frozen=True, eq=False)
class SlotCosts:
    """Cost (S, N) of 1..N chunks in each slot, infinite where impossible, and the bookings that cost it."""

    cost: Floats
    booking: Booker


Spread = Callable[[Job, Ints, Offer], SlotCosts]
"""A method for several machines: job, workers of each level (N,), offer -> costs."""


SlotMethod = Callable[[Job, Levels, Offer], SlotCosts]
"""A method for theta: job, levels, offer -> costs."""


def one_or_several(spread: Spread) -> SlotMethod:
    """Return the method that takes the cheaper of one machine and several (Algorithm 4, last step)."""

    def slot_costs(job: Job, levels: Levels, offer: Offer) -> SlotCosts:
        one, several = on_one_machine(job, levels.together, offer), spread(job, levels.spread, offer)

        def booking(slot: int, level: int) -> Booking:
            cheaper = one if one.cost[slot, level] <= several.cost[slot, level] else several
            return cheaper.booking(slot, level)

        return SlotCosts(np.minimum(one.cost, several.cost), booking)

    return slot_costs


def on_one_machine(job: Job, workers: Ints, offer: Offer) -> SlotCosts:
    """Return what so many workers (N,) and their servers cost on the cheapest machine that holds them all."""
    servers = servers_for(job, workers)
    cost = np.full((len(offer.free), len(workers)), np.inf)
    machine = np.zeros(cost.shape, dtype=np.int64)
    for level in np.flatnonzero(workers <= job.batch).tolist():
        each = workers[level] * offer.worker_price + servers[level] * offer.server_price
        each = np.where(fit_together(job, workers[level], offer.free), each, np.inf)
        machine[:, level] = each.argmin(axis=1)
        cost[:, level] = each.min(axis=1, initial=np.inf)

    def booking(slot: int, level: int) -> Booking:
        place = int(machine[slot, level])
        return Booking.of({place: int(workers[level])}, {place: int(servers[level])})

    return SlotCosts(cost, booking)


def greedy(job: Job, workers: Ints, offer: Offer) -> SlotCosts:
    """Return the cheaper of two sweeps over the machines by price: workers first, servers first."""
    sweeps = [partial(_sweep, job, offer, servers_first=servers_first) for servers_first in (False, True)]
    possible = int(np.searchsorted(workers, job.batch, side="right"))
    costs = np.full((2, len(offer.free), len(workers)), np.inf)
    for sweep, cost in zip(sweeps, costs, strict=True):
        cost[:, :possible] = sweep(slice(None), workers[:possible])[0]

    def booking(slot: int, level: int) -> Booking:
        sweep = sweeps[int(costs[:, slot, level].argmin())]
        _, counts, needed = sweep(slice(slot, slot + 1), workers[level : level + 1])
        return Booking.of(_by_machine(counts[0, 0]), _by_machine(needed[0, 0]))

    return SlotCosts(costs.min(axis=0), booking)


def _sweep(job: Job, offer: Offer, slots: slice, workers: Ints, *, servers_first: bool) -> tuple[Floats, Ints, Ints]:
    """Return cost (S, N), workers and servers by machine (S, N, H) when one kind takes the cheapest machines first."""
    free = offer.free[slots]
    kinds = [
        (workers, job.worker_demand, offer.worker_price[slots]),
        (servers_for(job, workers), job.server_demand, offer.server_price[slots]),
    ]
    (first, first_demand, first_price), (second, second_demand, second_price) = kinds[::-1] if servers_first else kinds
    most = int(max(first.max(initial=0), second.max(initial=0)))
    first_fits = fits(free, first_demand, most)[:, None]
    first_counts, first_enough = _fill(first, first_fits, first_price)
    second_fits = _fits_beside(free, first_counts, first_demand, second_demand, most)
    second_counts, second_enough = _fill(second, second_fits, second_price)
    cost = _cost(first_counts, first_price) + _cost(second_counts, second_price)
    cost = np.where(first_enough & second_enough, cost, np.inf)
    return (cost, second_counts, first_counts) if servers_first else (cost, first_counts, second_counts)


def _fill(needed: Ints, fit: Ints, price: Floats) -> tuple[Ints, NDArray[np.bool_]]:
    """Give ``needed`` (N,) to the cheapest machines, ``fit`` (S, N or 1, H) each; return counts and whether they do."""
    order = np.argsort(price, axis=1, kind="stable")[:, None]
    there = np.take_along_axis(fit, order, axis=2)
    up_to = np.cumsum(there, axis=2)
    sorted_counts = np.clip(needed[:, None] - (up_to - there), 0, there)
    counts = np.empty_like(sorted_counts)
    np.put_along_axis(counts, np.broadcast_to(order, counts.shape), sorted_counts, axis=2)
    return counts, up_to[:, :, -1] >= needed


def _fits_beside(free: Floats, counts: Ints, demand: Floats, other: Floats, most: int) -> Ints:
    """Return how many of ``other`` fit beside ``counts`` (S, N, H) of ``demand``, at most ``most``."""
    room = np.full(counts.shape, float(most))
    for resource in np.flatnonzero(other).tolist():
        left = free[:, None, :, resource] - counts * demand[resource]
        np.minimum(room, left / other[resource] + ROOM, out=room)
    return whole(room)


def _cost(counts: Ints, price: Floats) -> Floats:
    cost: Floats = np.matmul(counts.astype(np.float64), price[:, :, None])[:, :, 0]
    return cost


def _by_machine(counts: Ints) -> dict[int, int]:
    return {int(machine): int(counts[machine]) for machine in np.flatnonzero(counts)}


def _workers(worker_slots: Floats) -> Ints:
    return np.maximum(whole(np.ceil(worker_slots * (1 - ROOM))), 1)


def _up(amount: float) -> int:
    return int(np.ceil(amount * (1 - ROOM)))
