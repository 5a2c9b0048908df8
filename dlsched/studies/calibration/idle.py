"""How much of a cluster stands idle while jobs that fit wait, in a record and in a replay of it."""

from __future__ import annotations

import numpy as np

from dlsched.domain.cluster import Cluster
from dlsched.domain.workload import RESOURCES, Floats, Ints, Workload
from dlsched.metrics.idle_and_wanted import queue_over_time
from dlsched.placement.eligibility import Claims, eligible
from dlsched.studies.calibration.record import complete_from_s
from dlsched.workload.import_report import loads_of


def idle_of_record(jobs: Workload, cluster: Cluster) -> float | None:
    """Return :func:`idle_wanted_share` of what was recorded; a job without a recorded end ran its run time."""
    start_s = np.full(len(jobs), np.nan) if jobs.recorded_start_s is None else jobs.recorded_start_s
    end_s = np.full(len(jobs), np.nan) if jobs.recorded_end_s is None else jobs.recorded_end_s
    return idle_wanted_share(jobs, cluster, start_s, np.where(np.isfinite(end_s), end_s, start_s + jobs.work))


def idle_wanted_share(jobs: Workload, cluster: Cluster, start_s: Floats, end_s: Floats) -> float | None:
    """Return the mean share of a cluster that is idle while jobs that fit wait, over the times with a queue.

    Counted in the resource with the highest load, from the first complete instant to the last submission. Nodes that no
    job can use together, such as those of two partitions, have queues of their own; their shares are weighted by
    capacity and time. None without a queue, and for rented machines, which are never idle.

    Parameters
    ----------
    start_s, end_s
        Of each job, shape (jobs,), as :func:`dlsched.metrics.idle_and_wanted.queue_over_time`.
    """
    loads = loads_of(jobs, cluster)
    if cluster.free_slots or not loads:
        return None
    resource = RESOURCES.index(max(loads, key=loads.__getitem__))
    width = jobs.workers * jobs.demand[:, resource]
    queue_of, capacity = separate_queues(jobs, cluster, resource)
    from_s, to_s = complete_from_s(jobs), float(jobs.submit_s[-1])
    idle, possible = 0.0, 0.0
    for queue in np.flatnonzero(capacity > 0):
        rows = (queue_of == queue) & (width > 0)
        found = queue_over_time(jobs.submit_s[rows], start_s[rows], end_s[rows], width[rows], float(capacity[queue]))
        length_s = found.seconds_between(from_s, to_s)
        idle += float(found.idle_wanted @ length_s)
        possible += float(length_s[found.waiting > 0].sum() * found.capacity)
    return idle / possible if possible else None


def separate_queues(jobs: Workload, cluster: Cluster, resource: int) -> tuple[Ints, Floats]:
    """Return the queue of each job, shape (jobs,), and the capacity of each: nodes that some job could use together."""
    nodes, claims = cluster.nodes, Claims.of(jobs)
    queue_of_node = np.arange(cluster.num_nodes)
    first_node = np.full(len(claims.distinct), -1)
    for number, claim in enumerate(claims.distinct):
        mask = eligible(claim, nodes.partition, nodes.gpu_type)
        allowed = np.arange(cluster.num_nodes) if mask is None else np.flatnonzero(mask)
        if len(allowed):
            first_node[number] = allowed[0]
            joined = np.isin(queue_of_node, queue_of_node[allowed])
            queue_of_node[joined] = queue_of_node[allowed].min()
    of_claim = np.where(first_node < 0, -1, queue_of_node[first_node])
    capacity = np.zeros(cluster.num_nodes)
    np.add.at(capacity, queue_of_node, nodes.capacity[:, resource])
    return np.asarray(of_claim[claims.of_row], dtype=np.int64), capacity
