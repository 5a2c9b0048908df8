"""Between the simulator and the cores: jobs, machines and bookings of a state, by slots counted from the one of now."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.plan import Allocation, Share, Step
from dlsched.domain.state import State
from dlsched.domain.workload import Floats, Workload
from dlsched.policies.primal_dual.problem import Booking, Job, Schedule
from dlsched.policies.shared.facts import JobFacts

AT_BORDER = 1e-9
"""A time this part of a slot before or after a border is on it."""
PLENTY = 1e12
"""Stands for what a machine has of a resource that is not modelled."""


@dataclass(frozen=True, eq=False)
class StateJob(Job):
    """A job of the simulation: what it is worth comes from the scenario's own clock; ``worths`` by last slot.

    A job without a utility function is worth nothing.
    """

    worths: Floats

    def worth(self, last: int) -> float:
        """Return the utility when ``last`` is the last slot with workers, counted from the slot of now."""
        return float(self.worths[min(max(last, 0), len(self.worths) - 1)])


class StateAdapter:
    """A state seen in slots: slot 0 is the one of now, ``first`` the first that can still be booked whole."""

    def __init__(self, state: State, facts: JobFacts, slots: int) -> None:
        self.state, self.slots = state, slots
        self._facts = facts
        self._speeds_of: dict[int, Floats] = {}
        position = state.now_s / state.slot_s
        self._origin = math.floor(position + AT_BORDER)
        self.first = 0 if position - self._origin <= AT_BORDER else 1
        capacity = np.minimum(state.nodes.capacity, PLENTY)
        self.capacity: Floats = capacity

    def time_s(self, slot: int) -> float:
        """Return when a slot begins; slot 0 begins now."""
        return self.state.now_s if slot == 0 else (self._origin + slot) * self.state.slot_s

    @property
    def next_border_s(self) -> float:
        """When the next slot begins."""
        return (self._origin + 1) * self.state.slot_s

    def jobs(self, rows: Iterable[int]) -> list[StateJob]:
        """Return the jobs of rows with the work they have left."""
        every = np.array(list(rows), dtype=np.int64)
        ends_s = np.array([self.time_s(slot + 1) for slot in range(self.slots)])
        worths = self.state.utility(np.repeat(every, self.slots), np.tile(ends_s, len(every)))
        columns = (
            every.tolist(),
            self.state.remaining(every).tolist(),
            self.state.width_limits(every)[1].tolist(),
            np.nan_to_num(worths).reshape(len(every), self.slots),
        )
        return [self._job(*facts) for facts in zip(*columns, strict=True)]

    def _job(self, row: int, work: float, widest: int, worths: Floats) -> StateJob:
        jobs, slot_s = self.state.jobs, self.state.slot_s
        near_s = 0.0 if jobs.step_s is None else float(jobs.step_s[row])
        apart_s = 0.0 if jobs.spread_s is None else float(jobs.spread_s[row])
        speed = float(self._speeds(row).min())
        arrived = math.floor(jobs.submit_s[row] / slot_s + AT_BORDER) - self._origin
        return StateJob(
            name=str(jobs.job_id[row]),
            arrival=arrived,
            first=self.first,
            work=work,
            near=near_s / slot_s / speed,
            far=(near_s + apart_s) / slot_s / speed,
            batch=most_workers(jobs, row, widest),
            ratio=workers_per_server(jobs, row),
            worker_demand=jobs.demand[row],
            server_demand=jobs.server_demand[row],
            utility=(0.0, 0.0, 0.0),
            worths=worths,
        )

    def _speeds(self, row: int) -> Floats:
        """Return the speeds of the machines the row may use; it may be on any of them."""
        kind = self._facts.number_of(row)
        if kind not in self._speeds_of:
            usable = self.allowed(row)
            self._speeds_of[kind] = self.state.nodes.speed[usable] if usable.any() else np.ones(1)
        return self._speeds_of[kind]

    def fastest_over_slowest(self, row: int) -> float:
        """Return how much faster than booked a row may be, as the slowest machine sets the pace of bookings."""
        speeds = self._speeds(row)
        return float(speeds.max() / speeds.min())

    def allowed(self, row: int) -> NDArray[np.bool_]:
        """Return which machines a row may use, up or not, shape (H,)."""
        return self._facts.kind(row).allowed(self.state.nodes)

    def away(self) -> NDArray[np.bool_]:
        """Return which machines are known to be away for some of each slot, shape (slots, H)."""
        state = self.state
        away = np.zeros((self.slots, len(state.nodes.up)), dtype=bool)
        for absence in state.calendar:
            for slot in range(self.slots):
                if absence.start_s < self.time_s(slot + 1) and absence.until_s > self.time_s(slot):
                    away[slot, absence.node] = True
        away[:, state.nodes.failed] = True  # nobody knows until when
        return away

    def committed(self) -> Floats:
        """Return what jobs hold and have booked, all of a machine where it is away, shape (slots, H, R)."""
        held = np.zeros((self.slots, *self.capacity.shape))
        jobs = self.state.jobs
        for row in self.state.active.tolist():
            for begin, end, shares in self._spans(row):
                for share in shares:
                    amount = share.workers * jobs.demand[row] + share.servers * jobs.server_demand[row]
                    held[begin:end, share.node] += amount
        away = self.away()
        held[away] = np.broadcast_to(self.capacity, held.shape)[away]
        return held

    def _spans(self, row: int) -> Iterator[tuple[int, int, tuple[Share, ...]]]:
        """Yield first slot, slot after the last, and shares of what a row holds now and has booked."""
        steps = self.state.reserved(row)
        starts = [self._slot_of(step.start_s or 0.0) for step in steps]
        held = self.state.held(row)
        if held:
            yield 0, min(starts[0] if starts else self.slots, self.slots), held
        for step, begin, end in zip(steps, starts, [*starts[1:], self.slots], strict=False):
            if step.shares and begin < self.slots:
                yield begin, min(end, self.slots), step.shares

    def _slot_of(self, time_s: float) -> int:
        return max(0, round(time_s / self.state.slot_s) - self._origin)

    def steps(self, schedule: Schedule) -> Allocation:
        """Return a schedule as dated steps: equal bookings in a row are one, and the last step ends it."""
        steps: list[Step] = []
        after = -1
        for slot in sorted(schedule):
            if steps and slot > after:
                steps.append(Step(0, None, self.time_s(after)))
            step = self._step(schedule[slot], slot)
            if not (steps and slot == after and steps[-1].shares == step.shares):
                steps.append(step)
            after = slot + 1
        return (*steps, Step(0, None, self.time_s(after)))

    def _step(self, booking: Booking, slot: int) -> Step:
        shares = shares_of(booking)
        return Step(int(booking.workers.sum()), shares, self.time_s(slot), int(booking.servers.sum()))


def shares_of(booking: Booking) -> tuple[Share, ...]:
    """Return a booking as the simulator's shares."""
    columns = (booking.machine.tolist(), booking.workers.tolist(), booking.servers.tolist())
    return tuple(Share(*share) for share in zip(*columns, strict=True))


def booking_of(shares: Iterable[Share]) -> Booking | None:
    """Return the simulator's shares as a booking; None for none."""
    by_node = sorted(shares)
    if not by_node:
        return None
    machine, workers, servers = (np.array(column, dtype=np.int64) for column in zip(*by_node, strict=True))
    return Booking(machine, workers, servers)


def workers_per_server(jobs: Workload, row: int) -> float:
    """Return how many workers one server serves at most: the column's, else as the job requests."""
    ratio = math.nan if jobs.workers_per_server is None else float(jobs.workers_per_server[row])
    if not math.isnan(ratio):
        return ratio
    servers = 0 if jobs.servers is None else int(jobs.servers[row])
    return int(jobs.workers[row]) / max(1, servers)


def most_workers(jobs: Workload, row: int, legal: int = 10**9) -> int:
    """Return the most workers of a job: its largest width, as far as its user's limit holds their servers too.

    ``legal`` is the most that the speed model knows.
    """
    most = min(int(jobs.workers[row] if jobs.max_workers is None else jobs.max_workers[row]), legal)
    if np.isinf(jobs.limit[row]).all():
        return most
    ratio = workers_per_server(jobs, row)
    counts = np.arange(most + 1)
    servers = np.ceil(counts / ratio - 1e-9)
    held = np.outer(counts, jobs.demand[row]) + np.outer(servers, jobs.server_demand[row])
    within = (held <= jobs.limit[row] * (1 + 1e-9)).all(axis=1)
    return int(np.flatnonzero(within)[-1])
