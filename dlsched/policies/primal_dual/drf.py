"""DRF: every slot is shared out anew by dominant shares.

The study names the rule ("max-min fairness of dominant resource shares, numbers computed and allocated dynamically,
round-robin on available machines"). Ours, where it says no more: the unit handed out is one worker with the servers
it needs; no job gets more workers than finish it in the slot; a job that finds no room for one more is out of this
slot, the others go on; it does not look ahead, so that a job may hold machines and not be done at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

import numpy as np

from dlsched.domain.workload import Floats
from dlsched.policies.primal_dual.problem import Booking, Instance, Job, Schedule
from dlsched.policies.primal_dual.round_robin import Gang, RoundRobin
from dlsched.policies.primal_dual.slot_by_slot import SlotState, completed, play


def solve(instance: Instance, rng: np.random.Generator) -> list[Schedule | None]:
    """Return a schedule for each job that completes; ``rng`` is not used."""
    return completed(instance.jobs, play(instance, slot_plan))


def slot_plan(state: SlotState) -> list[Booking | None]:
    """Return what each job gets in this slot."""
    return fill(state.capacity, state.jobs, state.useful_workers())


def fill(capacity: Floats, jobs: Sequence[Job], most_workers: Sequence[int]) -> list[Booking | None]:
    """Hand out workers of machines with ``capacity`` (H, R), always to the job with the least dominant share.

    A dominant share is the largest part of a resource of all machines together that the job holds. Ties go by order.
    """
    total = capacity.sum(axis=0).tolist()
    machines = RoundRobin(capacity)
    gangs = [Gang(job, machines) for job in jobs]
    waiting = [(0.0, row, 1) for row, most in enumerate(most_workers) if most > 0]
    heapify(waiting)
    while waiting:
        _, row, workers = heappop(waiting)
        if gangs[row].grow(workers) == workers < most_workers[row]:
            heappush(waiting, (dominant_share(jobs[row], workers, total), row, workers + 1))
    return [gang.booking for gang in gangs]


def dominant_share(job: Job, workers: int, total: Sequence[float]) -> float:
    """Return the largest part of a resource, of ``total`` (R,), that these workers and their servers hold."""
    servers = job.servers_for(workers)
    columns = zip(job.worker_demand.tolist(), job.server_demand.tolist(), total, strict=True)
    parts = [(workers * worker + servers * server) / amount for worker, server, amount in columns if amount > 0]
    return max(parts, default=0.0)
