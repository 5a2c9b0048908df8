"""The Hierarchical method: local controllers with a few nodes each, which solve (P1) for their own jobs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dlsched.domain.workload import Ints
from dlsched.policies.gpuaas.exact import solve_or_open_fewer
from dlsched.policies.gpuaas.instance import Instance, Schedule

CONTROLLER_NODES = 5
NODE_LIMIT = 2_000


def num_controllers(num_nodes: int, controller_nodes: int = CONTROLLER_NODES) -> int:
    """Return K: N/5 rounded up and at least 1, so that no controller has more than five nodes."""
    return max(1, -(-num_nodes // controller_nodes))


def hierarchical(
    instance: Instance, controller_of_job: Ints, controllers: int, gap: float = 0.05, node_limit: int = NODE_LIMIT
) -> Schedule:
    """Return the schedules of the controllers side by side.

    The nodes are dealt out in blocks of the instance's order whose sizes differ by at most one. ``controller_of_job``
    (J,) is below ``controllers``; a job belongs to one controller for life: its number of arrival modulo K. With
    ``Instance.exactly`` each controller opens min(N, J) of its own nodes, or as it likes where it cannot.
    """
    merged = Schedule.empty(instance)
    for controller, nodes in enumerate(np.array_split(np.arange(instance.num_nodes), controllers)):
        jobs = np.flatnonzero(controller_of_job == controller)
        if not len(jobs) or not len(nodes):
            continue
        local = _part(instance, jobs, nodes)
        schedule, _ = solve_or_open_fewer(local, gap, node_limit)
        runs = schedule.node >= 0
        merged.node[jobs[runs]] = nodes[schedule.node[runs]]
        merged.gpus[jobs] = schedule.gpus
        merged.vm[nodes] = schedule.vm
    return merged


def _part(instance: Instance, jobs: Ints, nodes: Ints) -> Instance:
    return replace(
        instance,
        times=instance.times[jobs],
        slack=instance.slack[jobs],
        weight=instance.weight[jobs],
        running=instance.running[jobs],
        node_vm=instance.node_vm[nodes],
    )
