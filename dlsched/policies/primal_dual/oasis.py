"""OASiS: admission and prices as in PD-ORS, but workers and servers never share a machine.

Half of the machines hold workers, the other half servers. Ours, where the study says no more: machines 0, 2, 4, ...
hold workers and 1, 3, 5, ... servers, so that an odd number of machines gives workers one more; the price bounds are
those of PD-ORS on all machines. A job is always spread, so it trains at the external speed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dlsched.domain.workload import Floats
from dlsched.policies.primal_dual.online import PdOrs, bounds_of_all, plan, schedules
from dlsched.policies.primal_dual.prices import Bounds
from dlsched.policies.primal_dual.problem import Instance, Job, Schedule
from dlsched.policies.primal_dual.slot_cost import Levels, Offer, SlotCosts, greedy


def solve(instance: Instance, rng: np.random.Generator) -> list[Schedule | None]:
    """Return a schedule for each job that is admitted, at price bounds of all jobs; ``rng`` is not used."""
    return schedules(plan(instance, scheduler(instance.capacity, instance.slots, bounds_of_all(instance))))


def scheduler(capacity: Floats, slots: int, bounds: Bounds | None = None) -> PdOrs:
    """Return what decides about one job after the other; see :class:`PdOrs`."""
    return PdOrs(capacity, slots, bounds, method=on_halves)


def on_halves(job: Job, levels: Levels, offer: Offer) -> SlotCosts:
    """Return the least cost of each level: cheapest worker machines, cheapest server machines.

    Exact: a machine holds one kind only, so no choice takes room from the other. Two more resources keep them apart:
    a permit to hold workers and one to hold servers, which cost nothing.
    """
    holds_servers = np.arange(offer.free.shape[1]) % 2 == 1
    permits = np.where(np.column_stack([~holds_servers, holds_servers]), np.inf, 0.0)
    free = np.concatenate([offer.free, np.broadcast_to(permits, (*offer.free.shape[:2], 2))], axis=2)
    parted = replace(
        job,
        worker_demand=np.append(job.worker_demand, [1.0, 0.0]),
        server_demand=np.append(job.server_demand, [0.0, 1.0]),
    )
    return greedy(parted, levels.spread, replace(offer, free=free))
