"""Jobs with workers and parameter servers on machines over time slots (PD-ORS, Section III): data and what they mean.

Slots are numbered from 0. A core of this family gets an :class:`Instance` and returns a :class:`Schedule` for each job,
or None for one that is turned away. Symbols of the paper: F batch, gamma ratio, tau time per sample, alpha
worker_demand, beta server_demand, w workers, s servers, H machines, R resources, T slots.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dlsched.domain.workload import Floats, Ints

ROOM = 1e-9
"""Amounts and work may be short by this part, so that sums of fractions fit."""


@dataclass(frozen=True, eq=False)
class Job:
    """A job; times are in slots.

    name           for messages
    arrival        slot it arrives in; its utility counts from here
    first          first slot it may use, not before ``arrival``
    work           samples to train, epochs x samples
    near, far      slots a worker takes for a sample when the whole job of a slot is on one machine, and when it is not
    batch          most workers in a slot (Eq. 4)
    ratio          most workers for each server (gamma)
    worker_demand  (R,) what a worker holds, ``server_demand`` (R,) what a server holds
    utility        (g1, g2, g3) of u(t) = g1 / (1 + exp(g2 (t - g3))), t = last slot with workers - arrival
    """

    name: str
    arrival: int
    first: int
    work: float
    near: float
    far: float
    batch: int
    ratio: float
    worker_demand: Floats
    server_demand: Floats
    utility: tuple[float, float, float]

    def worth(self, last: int) -> float:
        """Return the utility when ``last`` is the last slot with workers."""
        worth, slope, half = self.utility
        return float(worth * np.exp(-np.logaddexp(0.0, slope * (last - self.arrival - half))))

    def servers_for(self, workers: int) -> int:
        """Return the fewest servers that serve so many workers: ceil(w / gamma)."""
        return math.ceil(workers / self.ratio - ROOM)

    def samples(self, booking: Booking) -> float:
        """Return the samples trained in a slot: w / near on one machine, else w / far (Eqs. 1, 2)."""
        return float(booking.workers.sum()) / (self.near if booking.together else self.far)

    def held(self, booking: Booking) -> Floats:
        """Return what a slot's booking holds of its machines, shape (machines of the booking, R)."""
        return np.outer(booking.workers, self.worker_demand) + np.outer(booking.servers, self.server_demand)


@dataclass(frozen=True, eq=False)
class Booking:
    """Workers and servers of one job in one slot, by machine; ``machine`` ascending, none of them empty."""

    machine: Ints
    workers: Ints
    servers: Ints

    @classmethod
    def of(cls, workers: Mapping[int, int], servers: Mapping[int, int]) -> Booking:
        """Return the booking of so many workers and servers by machine."""
        machines = sorted({h for part in (workers, servers) for h, count in part.items() if count})
        columns = ([part.get(h, 0) for h in machines] for part in (workers, servers))
        return cls(np.array(machines, dtype=np.int64), *(np.array(column, dtype=np.int64) for column in columns))

    @property
    def together(self) -> bool:
        """Whether all workers and servers sit on one machine."""
        return len(self.machine) == 1


Schedule = Mapping[int, Booking]
"""Slot -> booking, of one job."""


@dataclass(frozen=True, eq=False)
class Instance:
    """``slots`` T, ``capacity`` (H, R) of every slot, jobs in order of arrival; ``resources`` names for messages."""

    slots: int
    capacity: Floats
    jobs: tuple[Job, ...]
    resources: tuple[str, ...]


def utility_of(jobs: Sequence[Job], schedules: Sequence[Schedule | None]) -> float:
    """Return the utility of all schedules together; jobs turned away add nothing."""
    pairs = zip(jobs, schedules, strict=True)
    return math.fsum(job.worth(max(schedule)) for job, schedule in pairs if schedule)


def violations(instance: Instance, schedules: Sequence[Schedule | None]) -> list[str]:
    """Return what is wrong: capacity, time, batch, servers, work left; one message each, empty = legal."""
    violations: list[str] = []
    used = np.zeros((instance.slots, *instance.capacity.shape))
    for job, schedule in zip(instance.jobs, schedules, strict=True):
        if schedule is not None:
            violations += _of_job(instance, job, schedule, used)
    over = used > instance.capacity * (1 + ROOM) + ROOM
    for slot, machine, resource in np.argwhere(over).tolist():
        violations.append(
            f"slot {slot}, machine {machine}: {used[slot, machine, resource]:.10g} {instance.resources[resource]} are "
            f"allocated, but it has {instance.capacity[machine, resource]:.10g}"
        )
    return violations


def _of_job(instance: Instance, job: Job, schedule: Schedule, used: Floats) -> list[str]:
    """Return what is wrong with one job's schedule; add what it holds to ``used``."""
    violations = []
    for slot, booking in schedule.items():
        workers, servers = int(booking.workers.sum()), int(booking.servers.sum())
        where = f"job {job.name}, slot {slot}"
        if not job.first <= slot < instance.slots:
            violations.append(f"{where}: it may use slots {job.first} to {instance.slots - 1}")
            continue
        if (booking.workers < 0).any() or (booking.servers < 0).any() or workers < 1:
            violations.append(f"{where}: {workers} workers and {servers} servers are no booking")
        if workers > job.batch:
            violations.append(f"{where}: {workers} workers, but its batch has {job.batch} samples")
        if servers * job.ratio < workers - ROOM:
            violations.append(f"{where}: {servers} servers are too few for {workers} workers")
        used[slot, booking.machine] += job.held(booking)
    done = math.fsum(job.samples(booking) for booking in schedule.values())
    if done < job.work * (1 - ROOM):
        violations.append(f"job {job.name}: {done:.10g} of {job.work:.10g} samples are trained")
    return violations
