"""Times at which a node was probably not there: idle although jobs that fit it waited."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dlsched.domain.cluster import Absence, VmType, vm_capacity
from dlsched.domain.errors import InputError
from dlsched.domain.workload import Floats, Ints, Texts, Workload
from dlsched.placement.eligibility import in_partition
from dlsched.workload.cluster_from_log.found import ClusterFound, named
from dlsched.workload.hostlist import expand
from dlsched.workload.import_report import Bools
from dlsched.workload.node_names import node_numbers

SHORTEST_S = 1200.0
WAITED = 0.9
"""Share of an idle time for which a job that fits must have waited."""
MOST_ABSENCES = 10_000


def with_absences(found: ClusterFound, jobs: Workload) -> ClusterFound:
    """Return the cluster with the times at which its nodes were probably absent, by the record of the jobs.

    A node counts as absent for an idle time of at least 20 min in which, for at least 90% of it, a job waited that
    would have fitted on it alone; before its first job and after its last one too. Policies know of it beforehand, and
    the node is paid for. Learned from the whole log this is a description of the log, not a forecast.
    """
    number = node_numbers(found.cluster)
    started = _started(jobs)
    if not number or started is None:
        return found
    rows, start_s, end_s = started
    node, first_s, last_s = _idle(jobs, rows, start_s, end_s, number)
    kept = np.zeros(len(node), dtype=bool)
    before = 0
    entries = np.array([pool.partition for pool in found.cluster.pools], dtype=object)
    for place, pool in enumerate(found.cluster.pools):
        here = (node >= before) & (node < before + pool.count)
        kept[here] = _waited_for(_waiting(jobs, rows, start_s, pool.vm, entries, place), first_s[here], last_s[here])
        before += pool.count
    longest = np.flatnonzero(kept)[np.argsort(-(last_s - first_s)[kept], kind="stable")][:MOST_ABSENCES]
    if not len(longest):
        return found
    absences = tuple(
        Absence(node=int(node[k]), start_s=float(first_s[k]), end_s=float(last_s[k]), cause="maintenance", billed=True)
        for k in np.sort(longest)
    )
    names = {place: name for name, place in number.items()}
    away_s, span_s = float((last_s - first_s)[longest].sum()), float(end_s.max() - start_s.min())
    note = (
        f"Absent at times, {100 * away_s / (span_s * found.cluster.num_nodes):.2g}% of all: "
        f"{named(names[place] for place in set(node[longest].tolist()))}, idle for 20 min or more while a job that "
        "fits waited; this describes the log, it is no forecast"
    )
    cluster = found.cluster.model_copy(update={"absences": absences})
    return replace(found, cluster=cluster, notes=(*found.notes, note))


def _started(jobs: Workload) -> tuple[Ints, Floats, Floats] | None:
    """Return the rows that ran by the record, with start and end; what ran before the log starts with it."""
    start_s, end_s = jobs.recorded_start_s, jobs.recorded_end_s
    if start_s is None or end_s is None or jobs.recorded_nodes is None:
        return None
    start_s = np.where(np.isnan(start_s), jobs.submit_s, start_s)
    end_s = np.where(np.isnan(end_s), start_s + jobs.work, end_s)
    rows = np.flatnonzero((jobs.recorded_nodes != "") & (end_s > start_s))
    return (rows, start_s[rows], end_s[rows]) if len(rows) else None


def _idle(
    jobs: Workload, rows: Ints, start_s: Floats, end_s: Floats, number: dict[str, int]
) -> tuple[Ints, Floats, Floats]:
    """Return node, start and end of the long idle times within the log."""
    assert jobs.recorded_nodes is not None
    lists = {text: _places(text, number) for text in set(jobs.recorded_nodes[rows].tolist())}
    of_row = [lists[text] for text in jobs.recorded_nodes[rows]]
    share = np.repeat(np.arange(len(rows)), [len(places) for places in of_row])
    node = np.array([place for places in of_row for place in places], dtype=np.int64)
    zero_s, until_s = float(start_s.min()), float(end_s.max())
    every = np.arange(max(number.values()) + 1)  # a piece of no length at either end of the log for each node
    node = np.concatenate([node, every, every])
    starts = np.concatenate([start_s[share], np.full(len(every), zero_s), np.full(len(every), until_s)]) - zero_s
    ends = np.concatenate([end_s[share], np.full(len(every), zero_s), np.full(len(every), until_s)]) - zero_s
    order = np.lexsort((starts, node))
    node, starts, ends = node[order], starts[order], ends[order]
    offset = node * (until_s - zero_s + 1.0)  # so that the running maximum starts anew with each node
    busy_to = np.maximum.accumulate(ends + offset) - offset
    same = node[1:] == node[:-1]
    long = same & (starts[1:] - busy_to[:-1] >= SHORTEST_S)
    used = np.isin(node[:-1], np.unique(node[:-1][same & (ends[:-1] > starts[:-1])]))
    keep = np.flatnonzero(long & used)
    return node[:-1][keep], busy_to[:-1][keep] + zero_s, starts[1:][keep] + zero_s


def _places(text: str, number: dict[str, int]) -> list[int]:
    try:
        return [number[name] for name in dict.fromkeys(expand(text)) if name in number]
    except InputError:
        return []


def _waiting(
    jobs: Workload, rows: Ints, start_s: Floats, vm: VmType, entries: Texts, pool: int
) -> tuple[Floats, Floats]:
    """Return when waits for one node of a pool begin and end; ``entries`` are the partitions of all pools."""
    demand = jobs.demand[rows] * jobs.workers[rows, None]
    fits = (demand <= np.array(vm_capacity(vm)) + 1e-6).all(axis=1) & (start_s > jobs.submit_s[rows])
    if jobs.partition is not None:
        allowed = {text: bool(in_partition(text, entries)[pool]) for text in set(jobs.partition[rows].tolist())}
        fits &= np.array([allowed[text] for text in jobs.partition[rows]], dtype=bool)
    return jobs.submit_s[rows][fits], start_s[fits]


def _waited_for(waits: tuple[Floats, Floats], first_s: Floats, last_s: Floats) -> Bools:
    """Return in which idle times waits cover enough of them."""
    from_s, to_s = waits
    if not len(from_s):
        return np.zeros(len(first_s), dtype=bool)
    order = np.argsort(from_s, kind="stable")
    from_s, to_s = from_s[order], np.maximum.accumulate(to_s[order])
    opens = np.append(True, from_s[1:] > to_s[:-1])  # waits that overlap become one
    from_s, to_s = from_s[opens], to_s[np.append(np.flatnonzero(opens)[1:] - 1, len(to_s) - 1)]
    before = np.concatenate([[0.0], np.cumsum(to_s - from_s)])

    def until(at_s: Floats) -> Floats:
        place = np.maximum(np.searchsorted(from_s, at_s, side="right") - 1, 0)
        return np.asarray(before[place] + np.clip(at_s - from_s[place], 0.0, (to_s - from_s)[place]))

    return np.asarray(until(last_s) - until(first_s) >= WAITED * (last_s - first_s))
