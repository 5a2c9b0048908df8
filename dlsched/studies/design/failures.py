"""Failures of nodes: drawn at random, a renewal process for each node that is the same for all policies; or stated."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from dlsched.domain.cluster import Absence, Cluster
from dlsched.domain.counted import counted_capacity
from dlsched.domain.errors import InputError
from dlsched.domain.randomness import job_uniforms
from dlsched.domain.scenario import Scenario
from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import Floats
from dlsched.workload.import_report import in_seconds

REPAIR_S = HOUR_S
"""How long a node is away after a failure: an assumption of ours."""
MOST_FAILURES = 20_000
_AT = re.compile(r"(\d{1,6})@(\d{1,7}(?:\.\d{1,6})?)for(\d{1,7}(?:\.\d{1,6})?)")
_FIRST_DRAWS = 8


def with_failures(scenario: Scenario, mean_s: float, seed: int) -> Scenario:
    """Return the scenario with failures of every node, besides the absences it has; not of nodes that are rented.

    Time up between failures is exponential with mean ``mean_s`` seconds; a node is back, and paid for again, after
    ``REPAIR_S``. Draws depend on seed and node alone: at one seed a node has the same failures whatever the others,
    and a larger mean stretches the time between them.

    Raises
    ------
    InputError
        If there would be more than ``MOST_FAILURES``.
    """
    cluster = scenario.cluster
    begin_s, end_s = window_s(scenario)
    expected = cluster.num_nodes * (end_s - begin_s) / (mean_s + REPAIR_S)
    if expected > MOST_FAILURES:
        why = f"about {expected:,.0f} failures would be drawn, at most {MOST_FAILURES:,} can be"
        raise InputError("cluster", why, "Let nodes fail less often, or take fewer jobs")
    rented = _rented(cluster)
    fails = [
        Absence(node=node, start_s=start_s, end_s=start_s + REPAIR_S)
        for node in range(cluster.num_nodes)
        if node not in rented
        for start_s in failure_times(scenario.seed + seed, node, mean_s, begin_s, end_s).tolist()
    ]
    return scenario.replace(cluster=_absent(cluster, fails))


def failures_at(scenario: Scenario, stated: Sequence[str]) -> Scenario:
    """Return the scenario with failures as stated, besides the absences it has.

    Each is "NODE@STARTforLENGTH": the node, counted from 0 across all node types, fails ``START`` hours after the first
    submission and is back, and paid for again, ``LENGTH`` hours later: "3@48for6".

    Raises
    ------
    InputError
        If one is written otherwise, names a node that is not there, or takes no time.
    """
    cluster, begin_s = scenario.cluster, float(scenario.workload.submit_s[0]) if len(scenario.workload) else 0.0
    fails = []
    for text in stated:
        node, start_h, length_h = read_failure(text)
        if node >= cluster.num_nodes:
            why = f"there is no node {node:,}, the last one is node {cluster.num_nodes - 1:,}"
            raise InputError(f"failure {text}", why, "Name an existing node; the first is node 0")
        if node in _rented(cluster):
            why = f"node {node:,} is rented and comes and goes by itself"
            raise InputError(f"failure {text}", why, "Name a node that is owned or reserved")
        start_s = begin_s + HOUR_S * start_h
        fails.append(Absence(node=node, start_s=start_s, end_s=start_s + HOUR_S * length_h))
    return scenario.replace(cluster=_absent(cluster, fails))


def read_failure(text: str) -> tuple[int, float, float]:
    """Return node, hours from the first submission to the failure, and hours until it is back; InputError if bad."""
    found = _AT.fullmatch(text.replace(" ", ""))
    if found is None:
        why = f"must be node@start for length in hours, got {text!r:.80}"
        raise InputError("failure at a given time", why, "Write 3@48for6: node 3, after 48 h, for 6 h")
    node, start_h, length_h = int(found[1]), float(found[2]), float(found[3])
    if not length_h:
        raise InputError(f"failure {text:.80}", "must last longer than 0 h", "Give a length, as in 3@48for6")
    return node, start_h, length_h


def failure_times(seed: int, node: int, mean_s: float, begin_s: float, end_s: float) -> Floats:
    """Return when a node fails within [begin_s, end_s), ascending, seconds."""
    count = _FIRST_DRAWS
    while True:
        up_s = -mean_s * np.log(job_uniforms(seed, "failure", [str(node)], count)[0])
        times = begin_s + np.cumsum(up_s + REPAIR_S) - REPAIR_S
        if times[-1] >= end_s:
            return np.asarray(times[times < end_s])
        count *= 2


def window_s(scenario: Scenario) -> tuple[float, float]:
    """Return from when to when failures matter: from the first submission until the jobs are surely well done.

    That is the last submission, all work at a time on all GPUs (cores), and the longest job, and half as much again for
    what failures cost; or the horizon.
    """
    jobs = scenario.workload
    if not len(jobs):
        return 0.0, 0.0
    run_s, first_s = in_seconds(scenario).work, float(jobs.submit_s[0])
    cluster, asked = scenario.cluster, jobs.requested[:, scenario.counted]
    units = 0.0 if cluster.free_slots else counted_capacity(cluster, scenario.counted)[cluster.nodes.vm].sum()
    busy_s = float((run_s * np.maximum(asked, 1)).sum()) / (units or cluster.num_nodes) + float(run_s.max())
    end_s = float(jobs.submit_s[-1]) + 1.5 * busy_s
    return first_s, min(end_s, scenario.options.horizon_s or end_s)


def _rented(cluster: Cluster) -> set[int]:
    """Return the nodes that are rented as jobs need them."""
    return {node for pool in cluster.rented_pools for node in cluster.nodes_of(pool)}


def _absent(cluster: Cluster, more: list[Absence]) -> Cluster:
    return cluster.model_copy(update={"absences": (*cluster.absences, *more)})
