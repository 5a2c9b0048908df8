"""Workers or servers that hold nothing: they would fit anywhere, also on machines that are away or not allowed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dlsched.policies.primal_dual.problem import Job
from dlsched.policies.primal_dual.slot_cost import Levels, Offer, SlotCosts, SlotMethod


def not_on_shut_machines(method: SlotMethod) -> SlotMethod:
    """Return the method with every worker and server kept off machines that have nothing free at all.

    One more resource does it, which costs nothing: a permit, plenty where anything is free.
    """

    def permitted(job: Job, levels: Levels, offer: Offer) -> SlotCosts:
        if job.worker_demand.any() and job.server_demand.any():
            return method(job, levels, offer)
        permits = np.where(offer.free.any(axis=2, keepdims=True), np.inf, 0.0)
        needs = np.append(job.worker_demand, 1.0), np.append(job.server_demand, 1.0)
        holding = replace(job, worker_demand=needs[0], server_demand=needs[1])
        return method(holding, levels, replace(offer, free=np.concatenate([offer.free, permits], axis=2)))

    return permitted
