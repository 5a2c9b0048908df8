"""Clusters of equal nodes that hold one worker each: which nodes a job keeps, gets and gives back.

A job's nodes are listed in rising order. One that shrinks keeps its first nodes; a job that grows or starts gets the
first free ones, in source order.
"""

from __future__ import annotations

import numpy as np

from dlsched.domain.cluster import VmType
from dlsched.domain.plan import Allocation, Share, run_on
from dlsched.domain.state import State
from dlsched.domain.workload import GPU, Floats, Ints, Workload, gpu_type_names

ROOM = 1e-9


def one_worker_a_node(state: State, rows: Ints) -> bool:
    """Whether all nodes are alike and each holds one worker, and no more, of any of these rows."""
    nodes = state.nodes
    if not len(nodes.vm) or (nodes.vm < 0).any() or len(set(nodes.vm.tolist())) > 1:
        return False
    wanted = state.jobs.features
    if any(nodes.partition) or (any(nodes.features) and wanted is not None and any(wanted[rows])):
        return False
    capacity = nodes.capacity[nodes.up][0] if nodes.up.any() else np.zeros(nodes.capacity.shape[1])
    return holds_one_worker(nodes.vm_types[int(nodes.vm[0])], capacity, state.jobs, rows)


def holds_one_worker(vm: VmType, capacity: Floats, jobs: Workload, rows: Ints) -> bool:
    """Whether a node of this machine type and capacity holds one worker, and no more, of any of these rows."""
    demand = jobs.demand[rows]
    if jobs.servers is not None and jobs.servers[rows].any():
        return False
    if not (demand[:, GPU] > 0).all() or (demand > capacity + ROOM).any():
        return False
    if not (2 * demand > capacity + ROOM).any(axis=1).all():
        return False
    if jobs.gpu_types is None:
        return True
    named = [gpu_type_names(names) for names in set(jobs.gpu_types[rows].tolist())]
    return all(not names or vm.gpu_type in names for names in named)


def allocations(state: State, rows: Ints, given: Ints) -> dict[int, Allocation]:
    """Return what changes when each of the active rows gets so many nodes."""
    held = {row: [share.node for share in state.held(row)] for row in state.running.tolist()}
    free = state.nodes.up.copy()
    for nodes in held.values():
        free[nodes] = False
    nodes_of: dict[int, list[int]] = {}
    wants: list[tuple[int, int]] = []
    for row, width in zip(rows.tolist(), given.tolist(), strict=True):
        nodes = held.get(row, [])
        if len(nodes) == width:
            continue
        nodes_of[row] = nodes[:width]
        free[nodes[width:]] = True
        if width > len(nodes):
            wants.append((row, width - len(nodes)))
    spare = np.flatnonzero(free).tolist()
    for row, more in wants:
        nodes_of[row] = sorted([*nodes_of[row], *spare[:more]])
        del spare[:more]
    return {row: run_on(tuple(Share(node, 1) for node in nodes)) if nodes else () for row, nodes in nodes_of.items()}
