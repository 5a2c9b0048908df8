"""Rules that decide one slot at a time, without prices: what they see, and how their decisions play out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dlsched.domain.workload import Floats
from dlsched.policies.primal_dual.problem import ROOM, Booking, Instance, Job, Schedule


@dataclass(frozen=True, eq=False)
class SlotState:
    """What a rule sees at the start of a slot.

    ``capacity`` (H, R); the lists go by job, those that may run and are not done, in order of arrival: ``rows``, their
    numbers, ``remaining`` samples, ``held``, what they had in the slot before (None = nothing).
    """

    capacity: Floats
    rows: list[int]
    jobs: list[Job]
    remaining: list[float]
    held: list[Booking | None]

    def useful_workers(self) -> list[int]:
        """Return how many workers finish each job in this slot, on whatever machines; no more than its batch has."""
        pairs = zip(self.jobs, self.remaining, strict=True)
        return [min(job.batch, _workers_for(job, samples)) for job, samples in pairs]


SlotPlan = Callable[[SlotState], Sequence[Booking | None]]
"""Returns the booking of each job of the state for this slot; what it leaves out gives its machines back."""


def play(instance: Instance, plan: SlotPlan) -> list[Schedule]:
    """Return what every job gets, slot after slot; jobs that are not done at the end keep what they had."""
    jobs = instance.jobs
    schedules: list[dict[int, Booking]] = [{} for _ in jobs]
    remaining = [job.work for job in jobs]
    for slot in range(instance.slots):
        rows = [row for row, job in enumerate(jobs) if job.first <= slot and not _is_done(job, remaining[row])]
        held = [schedules[row].get(slot - 1) for row in rows]
        state = SlotState(instance.capacity, rows, [jobs[r] for r in rows], [remaining[r] for r in rows], held)
        for row, booking in zip(rows, plan(state), strict=True):
            if booking is not None:
                schedules[row][slot] = booking
                remaining[row] -= jobs[row].samples(booking)
    return [*schedules]


def completed(jobs: Sequence[Job], schedules: Sequence[Schedule]) -> list[Schedule | None]:
    """Return the schedules of jobs that complete, None for the others: these are worth nothing."""
    return [
        schedule if _is_done(job, job.work - math.fsum(job.samples(booking) for booking in schedule.values())) else None
        for job, schedule in zip(jobs, schedules, strict=True)
    ]


def _is_done(job: Job, remaining: float) -> bool:
    return remaining <= job.work * ROOM / 2  # half, so that another order of adding up cannot disagree


def _workers_for(job: Job, samples: float) -> int:
    return max(1, math.ceil(samples * max(job.near, job.far) * (1 - ROOM / 4)))
