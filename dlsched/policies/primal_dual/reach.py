"""What an empty slot can do for a job at most, and so which jobs can finish at all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.workload import Floats, Ints
from dlsched.policies.primal_dual.problem import ROOM, Job

CANNOT_FINISH = "cannot finish in time"
"""Why even an empty cluster does not help a job."""


def fits(free: Floats, demand: Floats, most: int) -> Ints:
    """Return how many of a demand (R,) fit into each row of ``free``, shape (..., R) to (...,), at most ``most``."""
    count = np.full(free.shape[:-1], float(most))
    for resource in np.flatnonzero(demand).tolist():
        np.minimum(count, free[..., resource] / demand[resource] + ROOM, out=count)
    return whole(count)


def servers_for(job: Job, workers: Ints) -> Ints:
    """Return the fewest servers for each number of workers: ceil(w / gamma)."""
    return whole(np.ceil(workers / job.ratio - ROOM))


def whole(amounts: Floats) -> Ints:
    """Return amounts rounded down to whole numbers, none below 0."""
    numbers: Ints = np.maximum(np.floor(amounts), 0).astype(np.int64)
    return numbers


def fit_together(job: Job, workers: Ints, free: Floats) -> NDArray[np.bool_]:
    """Return where so many workers and their servers fit: (...,) and (..., R), broadcast, to (...,)."""
    servers = servers_for(job, workers)
    possible = np.broadcast_to(workers <= job.batch, np.broadcast_shapes(workers.shape, free.shape[:-1])).copy()
    for resource in range(free.shape[-1]):
        needed = workers * job.worker_demand[resource] + servers * job.server_demand[resource]
        possible &= needed * (1 - ROOM) <= np.maximum(free[..., resource], 0)
    return possible


def most_together(job: Job, free: Floats) -> Ints:
    """Return the most workers that fit with their servers into each row of ``free``, shape (H, R) to (H,)."""
    low = np.zeros(len(free), dtype=np.int64)
    high = np.full(len(free), job.batch)
    while (low < high).any():  # what w workers hold grows with w, so halving finds the largest
        middle = (low + high + 1) // 2
        fit = fit_together(job, middle, free)
        low, high = np.where(fit, middle, low), np.where(fit, high, middle - 1)
    return low


def most_samples(job: Job, capacity: Floats) -> float:
    """Return a bound on the samples of one empty slot, capacity (H, R): no booking trains more."""
    together = int(most_together(job, capacity).max(initial=0))
    per_worker = job.worker_demand + job.server_demand / job.ratio
    spread = min(
        int(fits(capacity, job.worker_demand, job.batch).sum()),
        int(fits(capacity.sum(axis=0), per_worker, job.batch)),
    )
    if not fits(capacity, job.server_demand, 1).any():
        return 0.0
    return max(together / job.near, spread / job.far)


def why_never(job: Job, capacity: Floats, slots: int) -> str | None:
    """Return why a job cannot finish even alone on the cluster, None when it may."""
    for demand, what in ((job.worker_demand, "worker"), (job.server_demand, "server")):
        if not fits(capacity, demand, 1).any():
            return f"no machine holds a {what}"
    usable = max(0, slots - job.first)
    return None if usable * most_samples(job, capacity) >= job.work * (1 - ROOM) else CANNOT_FINISH


def most_completed(jobs: Sequence[Job], capacity: Floats, slots: int) -> int:
    """Return a bound on how many jobs any schedules complete, capacity (H, R).

    A job needs at least its work at the faster speed times what a worker and its part of a server hold. The cheapest
    jobs in one resource must fit into all machines and slots; the scarcest resource counts.
    """
    able = [job for job in jobs if why_never(job, capacity, slots) is None]
    if not able:
        return 0
    needed = np.array(
        [job.work * min(job.near, job.far) * (job.worker_demand + job.server_demand / job.ratio) for job in able]
    )
    together = np.cumsum(np.sort(needed, axis=0), axis=0)
    fit = together <= capacity.sum(axis=0) * slots * (1 + ROOM) + ROOM
    return int(fit.sum(axis=0).min())
