"""Several machines in one slot, exactly: the integer program of PD-ORS, Eqs. 23-26, with the servers it forgets.

As printed nothing asks for servers. Here there are ceil(w / gamma) of them for w workers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.workload import Floats, Ints
from dlsched.optimise.milp import Milp, MilpAnswer
from dlsched.policies.primal_dual.problem import ROOM, Booking, Job
from dlsched.policies.primal_dual.reach import fits
from dlsched.policies.primal_dual.slot_cost import Offer, SlotCosts, greedy


@dataclass(frozen=True, eq=False)
class SlotProgram:
    """One slot and level: machines that hold a worker or a server (M,), what they have left (M, R), their prices (M,),
    and how many workers and servers are to be placed.
    """

    job: Job
    machines: Ints
    free: Floats
    worker_price: Floats
    server_price: Floats
    workers: int
    servers: int

    @classmethod
    def of(cls, job: Job, workers: int, offer: Offer, slot: int) -> SlotProgram:
        """Return the program of so many workers in a slot of the offer."""
        free = offer.free[slot]
        machines = np.flatnonzero(fits(free, job.worker_demand, 1) | fits(free, job.server_demand, 1))
        prices = offer.worker_price[slot, machines], offer.server_price[slot, machines]
        return cls(job, machines, free[machines], *prices, workers, job.servers_for(workers))

    def solve(self, *, integer: bool) -> MilpAnswer:
        """Minimise the cost; the values are workers, then servers, by machine. ``integer`` False: the relaxation."""
        milp = Milp()
        most = [fits(self.free, demand, 2**40) for demand in (self.job.worker_demand, self.job.server_demand)]
        workers = milp.columns(self.worker_price, upper=np.minimum(most[0], self.workers), integer=integer)
        servers = milp.columns(self.server_price, upper=np.minimum(most[1], self.servers), integer=integer)
        count = len(self.machines)
        for columns, needed in ((workers, self.workers), (servers, self.servers)):
            milp.rows(np.zeros(count, dtype=int), columns, 1.0, low=[needed])
        for resource in range(self.free.shape[1]):
            there = self.free[:, resource] > 0  # without any, no column of a kind that needs it may be above 0
            rows = np.arange(np.count_nonzero(there))
            if len(rows):
                parts = [demand[resource] / self.free[there, resource] for demand in self._demands]
                held_by = np.concatenate([workers[there], servers[there]])
                milp.rows(np.tile(rows, 2), held_by, np.concatenate(parts), high=np.full(len(rows), 1.0))
        return milp.solve()

    @property
    def _demands(self) -> tuple[Floats, Floats]:
        return self.job.worker_demand, self.job.server_demand

    def cost(self, counts: Floats) -> Floats:
        """Return the cost of workers, then servers, by machine: (..., 2 M) to (...,)."""
        cost: Floats = counts @ np.concatenate([self.worker_price, self.server_price])
        return cost

    def legal(self, counts: Floats) -> NDArray[np.bool_]:
        """Return which counts (..., 2 M) fit the machines, the batch and the needs of workers and servers: (...,)."""
        workers, servers = np.split(counts, 2, axis=-1)
        held = workers[..., None] * self.job.worker_demand + servers[..., None] * self.job.server_demand
        fit = (held * (1 - ROOM) <= self.free).all(axis=(-1, -2))
        total = workers.sum(axis=-1)
        enough = (total >= self.workers) & (servers.sum(axis=-1) * self.job.ratio >= total - ROOM)
        legal: NDArray[np.bool_] = np.asarray(fit & enough & (total <= self.job.batch))
        return legal

    def booking(self, counts: Floats) -> Booking:
        """Return the booking of workers, then servers, by machine, shape (2 M,)."""
        places = self.machines.tolist()
        workers, servers = (part.astype(int).tolist() for part in np.split(counts, 2))
        return Booking.of(dict(zip(places, workers, strict=True)), dict(zip(places, servers, strict=True)))


def exact(job: Job, workers: Ints, offer: Offer) -> SlotCosts:
    """Return the least cost of each level in each slot: one integer program each, equal slots solved once."""
    cost = np.full((len(offer.free), len(workers)), np.inf)
    bookings: dict[tuple[int, int], Booking] = {}
    same_as: dict[tuple[bytes, ...], int] = {}
    for slot in range(len(cost)):
        same = same_as.setdefault(offer.as_bytes(slot), slot)
        for level in np.flatnonzero(workers <= job.batch).tolist():
            if same < slot:
                cost[slot, level] = cost[same, level]
                continue
            found = _best(job, int(workers[level]), offer, slot)
            if found is None:
                break  # more workers do not fit either
            cost[slot, level], bookings[slot, level] = found
    return SlotCosts(cost, lambda slot, level: bookings[same_as[offer.as_bytes(slot)], level])


def _best(job: Job, workers: int, offer: Offer, slot: int) -> tuple[float, Booking] | None:
    program = SlotProgram.of(job, workers, offer, slot)
    values = program.solve(integer=True).values
    if values is None:
        return None
    if program.legal(values):
        return float(program.cost(values)), program.booking(values)
    swept = greedy(job, np.array([workers]), offer)  # the solver's tolerance let through what does not fit
    return (float(swept.cost[slot, 0]), swept.booking(slot, 0)) if np.isfinite(swept.cost[slot, 0]) else None
