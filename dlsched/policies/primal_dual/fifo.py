"""FIFO: jobs in order of arrival, each with a fixed number of workers from its start until it is done.

The study says "in order of arrival, a fixed number of workers between 1 and 30, round-robin on available machines".
Ours, where it says no more: the number is drawn evenly; it is cut to the batch and to what the empty machines hold; the
first job that does not fit waits and so do all behind it; servers by ratio. FIFO does not look ahead: a job that will
not be done by the last slot holds its machines all the same and is worth nothing (the study counts it with training
time T).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dlsched.domain.randomness import job_uniforms
from dlsched.domain.workload import Floats
from dlsched.policies.primal_dual.problem import Booking, Instance, Job, Schedule
from dlsched.policies.primal_dual.round_robin import Gang, RoundRobin
from dlsched.policies.primal_dual.slot_by_slot import SlotState, completed, play

MOST_WORKERS = 30


def solve(instance: Instance, rng: np.random.Generator, most_workers: int = MOST_WORKERS) -> list[Schedule | None]:
    """Return a schedule for each job that completes; numbers of workers are drawn from 1 to ``most_workers``."""
    seed = int(rng.integers(2**63))
    workers = fixed_workers(instance.jobs, instance.capacity, seed, most_workers)
    schedules = play(instance, lambda state: slot_plan(state, [workers[row] for row in state.rows]))
    return completed(instance.jobs, schedules)


def fixed_workers(jobs: Sequence[Job], capacity: Floats, seed: int, most_workers: int = MOST_WORKERS) -> list[int]:
    """Return the workers of each job: drawn by (seed, name), then cut; 0 where not one fits the empty machines."""
    uniforms = job_uniforms(seed, "policy", [job.name for job in jobs])[:, 0]
    drawn = np.floor(1 + most_workers * uniforms).astype(int).tolist()
    return [Gang(job, RoundRobin(capacity)).grow(min(count, job.batch)) for job, count in zip(jobs, drawn, strict=True)]


def slot_plan(state: SlotState, workers: Sequence[int]) -> list[Booking | None]:
    """Return what each job gets in this slot: running jobs go on, others start in order; ``workers`` by job."""
    machines = RoundRobin(state.capacity)
    for job, held in zip(state.jobs, state.held, strict=True):
        if held is not None:
            machines.hold(job, held)
    bookings = list(state.held)
    for row, (job, count) in enumerate(zip(state.jobs, workers, strict=True)):
        if bookings[row] is None and count > 0:
            gang = Gang(job, machines)
            if gang.grow(count) < count:
                break
            bookings[row] = gang.booking
    return bookings
