"""Prices of machines, slots and resources (PD-ORS, Eqs. 12-14).

Amounts enter as shares of what the whole cluster has of a resource: as printed, memory in MB instead of GB would change
the price of a GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dlsched.domain.workload import Floats
from dlsched.policies.primal_dual.problem import ROOM, Job
from dlsched.policies.primal_dual.reach import why_never

LEAST_WORTH = 0.01
"""Part of what a job would be worth in its first slot that its utility at the end counts at least in L. Ours: the end
of one urgent job, worth exp(-80), would otherwise make every price near zero."""


@dataclass(frozen=True, eq=False)
class Bounds:
    """Price of a resource that is used up, (R,), and of an unused one: U^r, L, utility per share of the cluster."""

    upper: Floats
    lower: float


@dataclass(frozen=True, eq=False)
class Claim:
    """What one job says about the bounds: best utility per share of each resource (R,) (0 = needs none), its size in
    shares x slots, its utility at the end per size.
    """

    best: Floats
    size: float
    late: float


def claim_of(job: Job, capacity: Floats, slots: int, least_worth: float = LEAST_WORTH) -> Claim | None:
    """Return the terms of a job in Eqs. 13 and 14; None if it can never finish, is worth or needs nothing.

    The best utility is that of ``batch`` workers together from its first slot on; the one at the end counts at least
    ``least_worth`` of what the job would be worth were it done in its first slot.
    """
    if why_never(job, capacity, slots) is not None:
        return None
    fastest = np.ceil(job.work * job.near / job.batch * (1 - ROOM))
    worth = job.worth(job.first + int(max(0, fastest - 1)))
    shares = shares_of(job.worker_demand + job.server_demand, capacity)
    size = float(np.ceil(job.work * job.far * (1 - ROOM)) * shares.sum())
    if worth <= 0 or size <= 0:
        return None
    best = np.divide(worth, shares, out=np.zeros(len(shares)), where=shares > 0)
    return Claim(best, size, max(job.worth(slots - 1), least_worth * job.worth(job.first)) / size)


def bounds_of(claims: Sequence[Claim], capacity: Floats, slots: int) -> Bounds:
    """Return U^r (Eq. 13) and L (Eq. 14) over all claims; zeros without any, and L where no job needs a resource.

    1/mu is the smallest size as a part of all shares x slots, of which each resource there is brings one a slot.
    """
    if not claims:
        return Bounds(np.zeros(capacity.shape[1]), 0.0)
    scale = min(claim.size for claim in claims) / (slots * np.count_nonzero(capacity.sum(axis=0)))
    lower = 0.5 * scale * min(claim.late for claim in claims)
    return Bounds(np.maximum(np.max([claim.best for claim in claims], axis=0), lower), lower)


def prices(bounds: Bounds, capacity: Floats, committed: Floats) -> Floats:
    """Return the price of one unit of each resource: Q = L (U / L) ^ (committed / capacity), per unit (Eq. 12).

    ``capacity`` (H, R), ``committed`` (slots, H, R); the answer has the shape of ``committed``. What a machine does not
    have costs as much as what is used up.
    """
    if bounds.lower <= 0:
        return np.zeros(committed.shape)
    used = np.divide(committed, capacity, out=np.ones(committed.shape), where=capacity > 0)
    total = capacity.sum(axis=0)
    per_share = bounds.lower * np.exp(np.log(bounds.upper / bounds.lower) * np.clip(used, 0.0, 1.0))
    price: Floats = np.divide(per_share, total, out=np.zeros(committed.shape), where=total > 0)
    return price


def shares_of(amounts: Floats, capacity: Floats) -> Floats:
    """Return amounts (R,) as shares of the whole cluster's; 0 of a resource the cluster does not have."""
    total = capacity.sum(axis=0)
    shares: Floats = np.divide(amounts, total, out=np.zeros(len(amounts)), where=total > 0)
    return shares
