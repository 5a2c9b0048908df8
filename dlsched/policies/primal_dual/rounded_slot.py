"""Several machines in one slot by randomised rounding of the relaxed program (PD-ORS, Eqs. 27-30)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dlsched.domain.workload import Floats, Ints
from dlsched.policies.primal_dual.exact_slot import SlotProgram
from dlsched.policies.primal_dual.problem import Booking, Job
from dlsched.policies.primal_dual.reach import fits
from dlsched.policies.primal_dual.slot_cost import Offer, SlotCosts, greedy

Gain = float | Literal["capacity", "work"]
"""Factor G before rounding, or the theorem's value that favours capacity (Eq. 29) or work (Eq. 30)."""


def gain_for_capacity(delta: float, most: float, rows: int) -> float:
    """Return G of Eq. 29, in (0, 1]: ``most`` W2, ``rows`` R H + 1 packing rows; 0 for W2 = 0."""
    half = 1.5 * math.log(3 * rows / delta) / most if most > 0 else math.inf
    return 1 / (1 + half + math.sqrt(half * half + 2 * half))  # = 1 + a - sqrt(a^2 + 2 a) without its cancellation


def gain_for_work(delta: float, workers: float) -> float:
    """Return G of Eq. 30, above 1: ``workers`` W1, the worker-slots asked for."""
    share = math.log(3 / delta) / workers
    return 1 + share + math.sqrt(share * share + 2 * share)


@dataclass(eq=False)
class Rounding:
    """Relax, multiply by ``gain``, round at random ``tries`` times and keep the cheapest that is legal.

    Where none is, rounding down is repaired: what is missing goes to the cheapest machines with room; where that fails
    too, to what the sweep finds. ``rounded`` and ``repaired`` count both. Without ``repairs``, as printed, so many
    workers are not possible in the slot; ``repaired`` still counts.
    """

    rng: np.random.Generator
    gain: Gain = 1.0
    delta: float = 0.1
    tries: int = 50
    repairs: bool = True
    rounded: int = 0
    repaired: int = 0

    def __call__(self, job: Job, workers: Ints, offer: Offer) -> SlotCosts:
        """Return the cost of each level (N,) in each slot: equal slots are relaxed once, and rounded each by itself."""
        cost = np.full((len(offer.free), len(workers)), np.inf)
        bookings: dict[tuple[int, int], Booking] = {}
        relaxed_of: dict[tuple[tuple[bytes, ...], int], Floats | None] = {}
        swept = greedy(job, workers, offer)
        for slot in range(len(cost)):
            for level in np.flatnonzero(workers <= job.batch).tolist():
                program = SlotProgram.of(job, int(workers[level]), offer, slot)
                key = offer.as_bytes(slot), level
                if key not in relaxed_of:
                    relaxed_of[key] = program.solve(integer=False).values
                if (relaxed := relaxed_of[key]) is None:
                    break  # more workers do not fit either
                counts = self._round(program, np.maximum(relaxed, 0.0))
                if counts is not None:
                    cost[slot, level], bookings[slot, level] = float(program.cost(counts)), program.booking(counts)
                elif self.repairs and np.isfinite(swept.cost[slot, level]):
                    cost[slot, level], bookings[slot, level] = swept.cost[slot, level], swept.booking(slot, level)
        return SlotCosts(cost, lambda slot, level: bookings[slot, level])

    def _round(self, program: SlotProgram, relaxed: Floats) -> Floats | None:
        aim = self._gain_of(program) * relaxed
        counts = np.floor(aim) + (self.rng.random((self.tries, len(aim))) < aim - np.floor(aim))
        legal = counts[program.legal(counts)]
        if len(legal):
            self.rounded += 1
            best: Floats = legal[program.cost(legal).argmin()]
            return best
        self.repaired += 1
        return repair(program, np.floor(relaxed + 1e-9)) if self.repairs else None

    def _gain_of(self, program: SlotProgram) -> float:
        if self.gain == "work":
            return gain_for_work(self.delta, program.workers)
        if self.gain == "capacity":
            return gain_for_capacity(self.delta, _least_room(program), program.free.size + 1)
        return float(self.gain)


def repair(program: SlotProgram, counts: Floats) -> Floats | None:
    """Return counts (2 M,) that fit, made enough by adding workers, then servers, where cheapest; None if not legal."""
    machines = len(program.machines)
    counts = counts.copy()
    kinds = (
        (slice(0, machines), program.job.worker_demand, program.worker_price, program.workers),
        (slice(machines, None), program.job.server_demand, program.server_price, program.servers),
    )
    for part, demand, price, needed in kinds:
        held = np.outer(counts[:machines], program.job.worker_demand)
        held += np.outer(counts[machines:], program.job.server_demand)
        room = fits(program.free - held, demand, needed)
        missing = needed - int(counts[part].sum())
        for place in np.argsort(price, kind="stable").tolist():
            more = max(0, min(missing, int(room[place])))
            counts[part][place] += more
            missing -= more
    return counts if program.legal(counts) else None


def _least_room(program: SlotProgram) -> float:
    """Return W2 = min(F, free / demand), over machines that hold at least one of what is asked."""
    found = [float(program.job.batch)]
    for demand in (program.job.worker_demand, program.job.server_demand):
        there = program.free[fits(program.free, demand, 1) > 0][:, demand > 0] / demand[demand > 0]
        found.append(float(there.min(initial=np.inf)))
    return min(found)
