"""What a schedule still lacks: a first job, so that work goes on, or the number of open nodes that (P1n) prints."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
    """Return the schedule with closed nodes opened until (P1n) holds.

    The instance must be able to, and no more nodes may be open already. A new node gets a waiting job that can run,
    else one that shares its node or is on a node that stays; always the one that runs there at least cost,
    t x c_v + omega tau.
    """
    missing = must_open(instance) - int((schedule.vm >= 0).sum())
    if missing <= 0:
        return schedule
    opened = Schedule(schedule.node.copy(), schedule.gpus.copy(), schedule.vm.copy())
    offers = Offers.of(instance)
    cost = offers.run_cost(instance)
    cost[:, offers.stays] = np.inf
    for node in np.flatnonzero(schedule.vm < 0)[:missing].tolist():
        may_move = np.where(_may_move(instance, opened)[:, None], cost, np.inf)
        job, offer = np.unravel_index(np.argmin(may_move), cost.shape)
        offers.put(opened, int(job), int(offer), node)
    return opened


def start_one(instance: Instance, schedule: Schedule) -> Schedule:
    """Return the schedule, with one job started if none runs and one can.

    While postponing is free, running no job is the optimum of (P1); without an event to come that would be for ever.
    The job is the one that runs at least cost, t x c_v + omega tau; ties go to a job that runs now, then to rows.
    """
    if len(schedule.runs) or not np.isfinite(instance.fastest).any() or not instance.num_nodes:
        return schedule
    offers = Offers.of(instance)
    rows = np.argsort(~instance.running, kind="stable")
    cost = offers.run_cost(instance)[rows]
    place, offer = np.unravel_index(np.argmin(cost), cost.shape)
    if not np.isfinite(cost[place, offer]):  # no node that stays can hold anybody
        return schedule
    started = Schedule(schedule.node.copy(), schedule.gpus.copy(), schedule.vm.copy())
    node = next(node for node, vm in enumerate(instance.node_vm.tolist()) if offers.from_node(vm)[offer])
    offers.put(started, int(rows[place]), int(offer), node)
    return started


def _may_move(instance: Instance, schedule: Schedule) -> NDArray[np.bool_]:
    """Return which jobs may go to a new node, (J,): those that wait, else those that leave no node empty."""
    can_run = np.isfinite(instance.fastest)
    waits = can_run & (schedule.node < 0)
    if waits.any():
        return waits
    jobs_there = np.bincount(schedule.node[schedule.runs], minlength=instance.num_nodes)
    return can_run & (schedule.node >= 0) & ((jobs_there > 1) | (instance.node_vm >= 0))[schedule.node]
