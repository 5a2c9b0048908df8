"""Which jobs and nodes share a queue, and where most is asked of the nodes."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dlsched.domain.cluster import Cluster
from dlsched.domain.workload import Floats, Ints, Workload
from dlsched.placement.eligibility import Claims, eligible


def separate_queues(jobs: Workload, cluster: Cluster) -> tuple[Ints, Ints]:
    """Return the queue of each job and of each node, shapes (jobs,) and (nodes,); -1 for a job that no node may run.

    Nodes that some job could use together have one queue.
    """
    nodes, claims = cluster.nodes, Claims.of(jobs)
    queue_of_node = np.arange(cluster.num_nodes)
    first_node = np.full(len(claims.distinct), -1)
    for number, claim in enumerate(claims.distinct):
        mask = eligible(claim, nodes.partition, nodes.gpu_type, nodes.features)
        allowed = np.arange(cluster.num_nodes) if mask is None else np.flatnonzero(mask)
        if len(allowed):
            first_node[number] = allowed[0]
            joined = np.isin(queue_of_node, queue_of_node[allowed])
            queue_of_node[joined] = queue_of_node[allowed].min()
    of_claim = np.where(first_node < 0, -1, queue_of_node[first_node])
    return np.asarray(of_claim[claims.of_row], dtype=np.int64), np.asarray(queue_of_node, dtype=np.int64)


def load_of(asked: Floats, capacity: Floats) -> Floats:
    """Return what is asked of each resource over what there is, shape (resources,); 0 where that is not stated."""
    return np.divide(asked, capacity, out=np.zeros_like(asked), where=(capacity > 0) & np.isfinite(capacity))


@lru_cache(maxsize=4)
def busiest_types(jobs: Workload, cluster: Cluster) -> tuple[str, ...]:
    """Return the names of the node types of owned nodes, those of the queue with the highest load first.

    The load of a queue is that of its scarcest resource; types of one queue stay in their order.
    """
    queue_of_job, queue_of_node = separate_queues(jobs, cluster)
    held = jobs.workers[:, None] * jobs.demand
    load = {
        queue: float(load_of(
            jobs.work[queue_of_job == queue] @ held[queue_of_job == queue],
            cluster.nodes.capacity[queue_of_node == queue].sum(axis=0),
        ).max())
        for queue in np.unique(queue_of_node).tolist()
    }  # fmt: skip
    of_type = [cluster.vm_types[vm].name for vm in cluster.nodes.vm]
    loads: dict[str, float] = {}
    for name, queue in zip(of_type, queue_of_node.tolist(), strict=True):
        loads[name] = max(loads.get(name, 0.0), load[queue])
    return tuple(sorted(loads, key=lambda name: -loads[name]))
