"""What stood idle: hours of the cluster that no job used, and the steps in which jobs that fit waited all the same."""

from __future__ import annotations

import numpy as np

from dlsched.domain.cluster import Cluster
from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import CPU, GPU, Floats, partition_names
from dlsched.metrics.idle_and_wanted import ROUNDING, QueueOverTime, away_of, queue_over_time
from dlsched.metrics.step_functions import sum_after, thin
from dlsched.studies.history.answer import Capacity, IdleHour, Resource, Series
from dlsched.studies.history.record import Bools, Record
from dlsched.studies.queues import separate_queues

MOST_STEPS = 200_000
MOST_WIDTHS = 512
WORST = 10
NOTABLE_SHARE = 0.2
"""A step with so much idle all through it, while jobs that fit waited, is counted; ours."""
MOST_POINTS = 1_500
PLACES: dict[Resource, int] = {"gpus": GPU, "cpus": CPU}


def window_of(record: Record) -> tuple[float, float] | None:
    """Return first recorded end and last arrival: when the log shows all jobs that run.

    A log of the jobs that ended, or were there, in some days has arrivals long before, but not the jobs that ran beside
    them and ended earlier. After the last arrival only old jobs run out. None if nothing is between the two.
    """
    ends_s = record.end_s[record.ran]
    from_s, to_s = float(ends_s.min()), float(record.jobs.submit_s[-1])
    return (from_s, to_s) if to_s > from_s else None


def amount_of(cluster: Cluster, resource: Resource) -> float | None:
    """Return what all nodes have of a resource; None if some do not say, none has any, or machines are rented."""
    total = 0.0 if cluster.rents else float(cluster.nodes.capacity[:, PLACES[resource]].sum())
    return total if 0 < total < np.inf else None


def width_of(record: Record, resource: Resource) -> Floats:
    """Return what each job holds of a resource."""
    return record.gpus if resource == "gpus" else record.cores


def queue_of(
    record: Record, cluster: Cluster, resource: Resource, amount: float, nodes: Bools | None = None
) -> QueueOverTime:
    """Return queue and free capacity of the jobs that need a resource; of a job without start and end nothing is known.

    Absent nodes hold what they have, as a job would; ``nodes``: which of them are of this queue, None for all.
    """
    width = width_of(record, resource)
    known = (width > 0) & (record.ran | np.isfinite(record.end_s))
    columns = (record.jobs.submit_s[known], record.start_s[known], record.end_s[known], width[known])
    if cluster.absences:
        there_is = cluster.nodes.capacity[:, PLACES[resource]]
        there_is = there_is if nodes is None else np.where(nodes, there_is, 0.0)
        from_s, to_s, lacks = away_of(cluster, there_is, record.last_s)
        there = (lacks > 0) & (to_s > from_s)
        more = (from_s[there], from_s[there], to_s[there], lacks[there])
        arrived_s, start_s, end_s, held = (np.concatenate(pair) for pair in zip(columns, more, strict=True))
        return queue_over_time(arrived_s, start_s, end_s, held, amount)
    return queue_over_time(*columns, amount)


def capacity_of(
    record: Record, cluster: Cluster, resource: Resource, queue: QueueOverTime, window_s: tuple[float, float]
) -> Capacity:
    """Return the hours there were, used and idle in a window."""
    from_s, to_s = window_s
    length_h = np.diff(np.clip(queue.at_s, from_s, to_s)) / HOUR_S
    outside_h = (to_s - from_s) / HOUR_S - float(length_h.sum())
    away_from_s, away_to_s, lacks = away_of(cluster, cluster.nodes.capacity[:, PLACES[resource]], record.last_s)
    away_h = float(lacks @ _overlap_h(away_from_s, away_to_s, window_s)) if len(lacks) else 0.0
    ran = record.ran
    inside_h = _overlap_h(record.start_s[ran], record.end_s[ran], window_s)
    used_h = float(width_of(record, resource)[ran] @ inside_h)
    idle_h = float(queue.free @ length_h) + outside_h * queue.capacity
    available_h = queue.capacity * (to_s - from_s) / HOUR_S - away_h
    return Capacity(
        resource=resource,
        amount=queue.capacity,
        available_h=available_h,
        used_h=used_h,
        idle_h=idle_h,
        over_h=max(used_h + idle_h - available_h, 0.0) if used_h + idle_h > available_h * (1 + ROUNDING) else 0.0,
    )


def _overlap_h(start_s: Floats, end_s: Floats, window_s: tuple[float, float]) -> Floats:
    """Return the hours of each span that are inside a window."""
    inside_s = np.minimum(end_s, window_s[1]) - np.maximum(start_s, window_s[0])
    return np.asarray(np.maximum(inside_s, 0.0) / HOUR_S)


# ---- steps in which much was idle and wanted -----------------------------------------------------------


def step_of(window_s: tuple[float, float]) -> float:
    """Return an hour, or so many days that a window has no more than MOST_STEPS."""
    step_s = HOUR_S
    while (window_s[1] - window_s[0]) / step_s > MOST_STEPS:
        step_s *= 24
    return step_s


def idle_steps(
    record: Record, cluster: Cluster, resource: Resource, window_s: tuple[float, float], phase_s: float
) -> tuple[int, int, tuple[IdleHour, ...]]:
    """Return the whole steps of a window, how many of them are notable in some queue, and the worst.

    Nodes that no job can use together have queues of their own. Idle is what is free of one all through a step. Waiting
    are the jobs that waited all through it and are no larger than that; idle and wanted is what of it they could hold
    together. Widths are compared with all that is free of a queue, not with single nodes. ``phase_s``: where steps
    start, after each multiple of their length.
    """
    step_s = step_of(window_s)
    first = int(np.ceil((window_s[0] - phase_s) / step_s))
    steps = int((window_s[1] - phase_s) // step_s) - first
    if steps <= 0:
        return 0, 0, ()
    edge_s: Floats = np.asarray((first + np.arange(steps + 1)) * step_s + phase_s, dtype=np.float64)
    queue_of_job, queue_of_node = separate_queues(record.jobs, cluster)
    queues = np.unique(queue_of_job[queue_of_job >= 0]).tolist()
    notable = np.zeros(steps, dtype=bool)
    worst: list[IdleHour] = []
    for number in queues:
        own, nodes = record.select(queue_of_job == number), queue_of_node == number
        capacity = float(cluster.nodes.capacity[nodes, PLACES[resource]].sum())
        if not 0 < capacity < np.inf:
            continue
        free = _least(queue_of(own, cluster, resource, capacity, nodes), edge_s)
        waiting, wanted = _waited_through(own, width_of(own, resource), edge_s, free, capacity)
        held_back = np.minimum(free, wanted) / capacity
        notable |= (waiting > 0) & (free / capacity >= NOTABLE_SHARE)
        named = sorted({name for text in set(cluster.nodes.partition[nodes]) for name in partition_names(text)})
        order = np.lexsort((edge_s[:-1], -waiting, -np.round(held_back, 9)))[:WORST]
        worst += [
            IdleHour(from_s=float(edge_s[i]), partitions=", ".join(named) if len(queues) > 1 else "",
                     idle=float(free[i] / capacity), waiting=int(waiting[i]), wanted=float(held_back[i]))
            for i in order if held_back[i] > 0
        ]  # fmt: skip
    worst.sort(key=lambda one: (-round(one.wanted, 9), -one.waiting, one.from_s))
    return steps, int(notable.sum()), tuple(worst[:WORST])


def _least(queue: QueueOverTime, edge_s: Floats) -> Floats:
    """Return the least that is free in each step, shape (steps,); before and after all jobs everything is."""
    low = np.searchsorted(queue.at_s, edge_s[:-1], side="right") - 1
    high = np.searchsorted(queue.at_s, edge_s[1:], side="left")
    free = np.concatenate([[queue.capacity], queue.free, [queue.capacity, np.inf]])
    pairs = np.column_stack([low + 1, np.minimum(high + 1, len(free) - 1)]).ravel()
    return np.asarray(np.minimum.reduceat(free, pairs)[::2])


def _waited_through(
    record: Record, width: Floats, edge_s: Floats, free: Floats, capacity: float
) -> tuple[Floats, Floats]:
    """Return the jobs that waited through each step and fit into what was free, and their widths together."""
    gone_s = np.where(record.ran, record.start_s, record.end_s)
    with np.errstate(invalid="ignore"):
        waits = np.flatnonzero((width > 0) & (gone_s - record.jobs.submit_s >= edge_s[1] - edge_s[0]))
    first = np.searchsorted(edge_s, record.jobs.submit_s[waits], side="left")
    last = np.searchsorted(edge_s, gone_s[waits], side="right") - 1  # the step that is not waited through any more
    whole = last > first
    waits, first, last = waits[whole], first[whole], last[whole]
    sizes = np.unique(width[waits])
    if len(sizes) > MOST_WIDTHS:  # a job counts as the next larger of these: fewer seem to fit, never more
        sizes = np.unique(sizes[np.linspace(0, len(sizes) - 1, MOST_WIDTHS).round().astype(int)])
    rank = np.searchsorted(sizes, width[waits])
    by_size = np.argsort(rank, kind="stable")
    ends = np.searchsorted(rank[by_size], np.arange(len(sizes) + 1))
    waiting, wanted = np.zeros(len(free)), np.zeros(len(free))
    for place, size in enumerate(sizes):
        rows = by_size[ends[place] : ends[place + 1]]
        enter, leave = (np.bincount(at[rows], minlength=len(free) + 1) for at in (first, last))
        fitting = np.where(size <= free + ROUNDING * capacity, np.cumsum(enter - leave)[: len(free)], 0)
        waiting += fitting
        wanted += size * fitting
    return waiting, wanted


# ---- over time ----------------------------------------------------------------------------------------


def series_of(record: Record, resource: Resource) -> Series:
    """Return jobs waiting and the use of a resource over the whole log, thinned to MOST_POINTS with all extremes."""
    ran, width = record.ran, width_of(record, resource)
    known = ran | np.isfinite(record.end_s)
    gone_s = np.where(ran, record.start_s, record.end_s)[known]
    start_s, end_s, held = record.start_s[ran], record.end_s[ran], width[ran]
    at_s = np.unique(np.concatenate([record.jobs.submit_s[known], gone_s, end_s]))
    used = np.maximum(np.round(sum_after(start_s, held, at_s) - sum_after(end_s, held, at_s), 6), 0.0)
    arrived = np.searchsorted(np.sort(record.jobs.submit_s[known]), at_s, side="right")
    waiting = arrived - np.searchsorted(np.sort(gone_s), at_s, side="right")
    keep = thin(at_s, [used, waiting], MOST_POINTS)
    return Series(
        time_s=tuple(at_s[keep].tolist()), waiting=tuple(waiting[keep].tolist()), used=tuple(used[keep].tolist())
    )
