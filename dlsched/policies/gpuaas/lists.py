"""FIFO, EDF and priority scheduling: one job on a node, its configuration chosen once, at its start."""

from __future__ import annotations

import numpy as np

from dlsched.domain.workload import Ints
from dlsched.policies.gpuaas.alone import Offers
from dlsched.policies.gpuaas.instance import Instance, Schedule


def by_submission(instance: Instance) -> Ints:
    """Return the jobs in the order of the instance, which is that of submission."""
    return np.arange(instance.num_jobs)


def by_due_date(instance: Instance) -> Ints:
    """Return the jobs by due date, ties by submission; those without one come last."""
    return np.argsort(instance.slack, kind="stable")


def by_weight(instance: Instance) -> Ints:
    """Return the jobs by falling tardiness weight, ties by submission."""
    return np.argsort(-instance.weight, kind="stable")


def start_waiting(instance: Instance, order: Ints, held: Schedule) -> Schedule:
    """Return ``held`` with waiting jobs started in ``order`` while a node without a job is left.

    A job that runs keeps node, machine type and GPUs. One that starts gets the configuration with the least residual
    time x price of the machine among those that meet its due date; where none does, the fastest, ties by price. A job
    that no free node can run is passed over. Nodes left without a job are closed unless they stay.
    """
    offers = Offers.of(instance)
    schedule = Schedule(held.node.copy(), held.gpus.copy(), instance.node_vm.copy())
    schedule.vm[held.node[held.runs]] = held.vm[held.node[held.runs]]
    idle = [node for node in range(instance.num_nodes) if held.used[node] == 0]
    for job in order[held.node[order] < 0].tolist():
        if not idle:
            break
        on_idle = np.any([offers.from_node(vm) for vm in set(instance.node_vm[idle].tolist())], axis=0)
        offer = offers.cheapest_in_time(job, instance.slack[job], on_idle)
        if offer is None:
            continue
        node = next(node for node in idle if offers.from_node(int(instance.node_vm[node]))[offer])
        idle.remove(node)
        offers.put(schedule, job, offer, node)
    return schedule
