"""How much of a cluster stands idle while jobs that fit wait, in a record and in a replay of it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dlsched.domain.cluster import Cluster
from dlsched.domain.workload import Floats, Workload
from dlsched.metrics.idle_and_wanted import QueueOverTime, away_of, held_from_s, queue_over_time
from dlsched.studies.calibration.measures import LONG_WAIT_S
from dlsched.studies.calibration.record import complete_from_s, left_without_start
from dlsched.studies.queues import load_of, separate_queues

MOST_IDLE = 0.9
"""Where more of the cluster than this is idle while jobs wait long, most jobs are missing from the file; ours."""


def idle_of_record(jobs: Workload, cluster: Cluster) -> float | None:
    """Return :func:`idle_wanted_share` of what was recorded; None without a queue."""
    start_s, end_s = _recorded(jobs)
    return idle_wanted_share(jobs, cluster, start_s, end_s)


def idle_beside_long_waits(jobs: Workload, cluster: Cluster) -> float | None:
    """Return the mean share of a cluster that was free in the record, over the waits of jobs that wait over 10 min.

    Each second of each such job counts once, so that a few jobs on hold do not decide. None without such a wait. Near
    1, most of the jobs that ran are missing from the record. Jobs that left without a start may have waited for
    something else than room and do not count.
    """
    jobs = jobs.select(~left_without_start(jobs))
    start_s, end_s = _recorded(jobs)
    waits_long = ~(start_s - jobs.submit_s <= LONG_WAIT_S)
    arrive_s = np.where(waits_long, jobs.submit_s, start_s)
    free, queued = 0.0, 0.0
    for _, found, length_s in _queues(jobs, cluster, arrive_s, start_s, end_s):
        waiting_s = found.waiting * length_s
        free += float(found.free @ waiting_s) / found.capacity
        queued += float(waiting_s.sum())
    return free / queued if queued else None


def _recorded(jobs: Workload) -> tuple[Floats, Floats]:
    """Return when each job held its nodes in the record; one without a recorded end ran its run time."""
    start_s = held_from_s(jobs)
    end_s = np.full(len(jobs), np.nan) if jobs.recorded_end_s is None else jobs.recorded_end_s
    return start_s, np.where(np.isfinite(end_s), end_s, start_s + jobs.work)


def idle_wanted_share(jobs: Workload, cluster: Cluster, start_s: Floats, end_s: Floats) -> float | None:
    """Return the mean share of a cluster that is idle while jobs that fit wait, over the times with a queue.

    Counted from the first complete instant to the last submission. Nodes that no job can use together, such as those of
    two partitions, have queues of their own, each counted in its resource with the highest load; their shares are
    weighted by nodes and time. Absent nodes are not idle. None without a queue, and for rented machines.

    Parameters
    ----------
    start_s, end_s
        Of each job, shape (jobs,), as :func:`dlsched.metrics.idle_and_wanted.queue_over_time`.
    """
    idle, queued = 0.0, 0.0
    for nodes, found, length_s in _queues(jobs, cluster, jobs.submit_s, start_s, end_s):
        idle += nodes * float(found.idle_wanted @ length_s) / found.capacity
        queued += nodes * float(length_s[found.waiting > 0].sum())
    return idle / queued if queued else None


def _queues(
    jobs: Workload, cluster: Cluster, arrive_s: Floats, start_s: Floats, end_s: Floats
) -> Iterator[tuple[int, QueueOverTime, Floats]]:
    """Yield the nodes of each queue, the queue over time, and the seconds of its spans that count."""
    if cluster.rents:
        return
    held = jobs.workers[:, None] * jobs.demand
    from_s, to_s = complete_from_s(jobs), float(jobs.submit_s[-1])
    queue_of_job, queue_of_node = separate_queues(jobs, cluster)
    for queue in np.unique(queue_of_job[queue_of_job >= 0]):
        own, nodes = np.flatnonzero(queue_of_job == queue), queue_of_node == queue
        capacity = cluster.nodes.capacity[nodes].sum(axis=0)
        load = load_of(jobs.work[own] @ held[own], capacity)
        if not load.any():
            continue
        resource = int(load.argmax())
        rows = own[held[own, resource] > 0]
        away_s, back_s, lacks = away_of(cluster, np.where(nodes, cluster.nodes.capacity[:, resource], 0.0), to_s)
        found = queue_over_time(  # absent nodes hold what they have, as a job would
            np.concatenate([arrive_s[rows], away_s]),
            np.concatenate([start_s[rows], away_s]),
            np.concatenate([end_s[rows], back_s]),
            np.concatenate([held[rows, resource], lacks]),
            float(capacity[resource]),
        )
        yield int(nodes.sum()), found, found.seconds_between(from_s, to_s)
