"""As many open nodes as (P1n) prints: whether there can be, and how to get there from a schedule with fewer."""

from __future__ import annotations

import numpy as np

from dlsched.policies.gpuaas.alone import Offers
from dlsched.policies.gpuaas.instance import Instance, Schedule


def must_open(instance: Instance) -> int:
    """Return how many nodes have to be open: min(N, J) where (P1n) is taken as printed, else none."""
    return min(instance.num_nodes, instance.num_jobs) if instance.exactly else 0


def can_open_enough(instance: Instance) -> bool:
    """Whether (P1) has a solution: one job that can run for every node to open, no node too many that stays."""
    if not instance.exactly:
        return True
    missing = must_open(instance) - int((instance.node_vm >= 0).sum())
    return 0 <= missing <= int(np.isfinite(instance.fastest).sum())


def open_enough(instance: Instance, schedule: Schedule) -> Schedule:
    """Return the schedule with closed nodes opened until (P1n) holds; the instance must be able to.

    A new node gets a waiting job that can run, else one that shares its node or is on a node that stays; always the
    one that runs at least cost there, t x c_v + omega tau.
    """
    missing = must_open(instance) - int((schedule.vm >= 0).sum())
    if missing <= 0:
        return schedule
    opened = Schedule(schedule.node.copy(), schedule.gpus.copy(), schedule.vm.copy())
    offers = Offers.of(instance)
    cost = offers.cost + offers.late_cost(instance)
    cost[:, offers.stays] = np.inf
    for node in np.flatnonzero(schedule.vm < 0)[:missing]:
        job, offer = np.unravel_index(
            np.argmin(np.where(_may_move(instance, opened)[:, None], cost, np.inf)), cost.shape
        )
        opened.node[job], opened.gpus[job], opened.vm[node] = node, offers.gpus[offer], offers.vm[offer]
    return opened


def _may_move(instance: Instance, schedule: Schedule) -> np.ndarray:
    can_run = np.isfinite(instance.fastest)
    waits = can_run & (schedule.node < 0)
    if waits.any():
        return waits
    jobs_there = np.bincount(schedule.node[schedule.runs], minlength=instance.num_nodes)
    return can_run & (schedule.node >= 0) & ((jobs_there > 1) | (instance.node_vm >= 0))[schedule.node]
