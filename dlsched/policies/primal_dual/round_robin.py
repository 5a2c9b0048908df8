"""Workers and servers placed one at a time, each on the next machine with room."""

from __future__ import annotations

from collections import Counter
from operator import le

import numpy as np

from dlsched.domain.workload import Floats
from dlsched.policies.primal_dual.problem import ROOM, Booking, Job


class RoundRobin:
    """Machines of one slot and what is free on them; ``capacity`` (H, R).

    The first turn is machine 0's in every slot, so that what fits the empty machines alone always fits them first.
    """

    def __init__(self, capacity: Floats) -> None:
        # Half of what `violations` lets pass, so that rounding in either sum cannot tell them apart.
        free: list[list[float]] = (capacity + ROOM / 2 * (capacity + 1)).tolist()
        self._free = free
        self._room = np.array(free).reshape(capacity.shape)  # the same, to search all machines at once
        self._turn: int = 0

    def take(self, demand: list[float]) -> int | None:
        """Take ``demand`` (R,) of the next machine with room and return its number; None when no machine has room."""
        machine = self._next_with_room(demand)
        if machine is not None:
            self.add(machine, demand, -1)
            self._turn = (machine + 1) % len(self._free)
        return machine

    def _next_with_room(self, demand: list[float]) -> int | None:
        if self._free and all(map(le, demand, self._free[self._turn])):
            return self._turn
        having = np.flatnonzero((self._room >= demand).all(axis=1))
        if not len(having):
            return None
        place = int(having.searchsorted(self._turn))
        return int(having[place if place < len(having) else 0])

    def add(self, machine: int, demand: list[float], sign: int) -> None:
        """Give ``demand`` back to a machine (sign 1), or take it without asking (sign -1)."""
        left = [free + sign * need for free, need in zip(self._free[machine], demand, strict=True)]
        self._free[machine] = left
        self._room[machine] = left

    def hold(self, job: Job, booking: Booking) -> None:
        """Take what a booking holds."""
        for machine, held in zip(booking.machine.tolist(), job.held(booking).tolist(), strict=True):
            self.add(machine, held, -1)


class Gang:
    """One job's workers and servers in a slot, while they are placed."""

    def __init__(self, job: Job, machines: RoundRobin) -> None:
        self._job, self._machines = job, machines
        self._demand = job.worker_demand.tolist(), job.server_demand.tolist()
        self._workers: Counter[int] = Counter()
        self._servers: Counter[int] = Counter()
        self._num_workers = self._num_servers = 0

    @property
    def booking(self) -> Booking | None:
        """What is placed; None without workers."""
        return Booking.of(self._workers, self._servers) if self._workers else None

    def grow(self, workers: int) -> int:
        """Add workers, each with the servers it needs, until there is no room; return how many there are then."""
        while self._num_workers < workers and self._add_worker():
            pass
        return self._num_workers

    def _add_worker(self) -> bool:
        new_servers = self._job.servers_for(self._num_workers + 1) - self._num_servers
        tasks = [(self._workers, self._demand[0])] + [(self._servers, self._demand[1])] * new_servers
        placed: list[int] = []
        for _, demand in tasks:
            machine = self._machines.take(demand)
            if machine is None:
                for (_, given), back in zip(tasks, placed, strict=False):
                    self._machines.add(back, given, 1)
                return False
            placed.append(machine)
        for (counts, _), machine in zip(tasks, placed, strict=True):
            counts[machine] += 1
        self._num_workers += 1
        self._num_servers += new_servers
        return True
