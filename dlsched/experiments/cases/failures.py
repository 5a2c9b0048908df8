"""Failures of nodes drawn at random: a renewal process for each node, the same for every policy at a seed."""

from __future__ import annotations

import numpy as np

from dlsched.domain.cluster import Absence, Cluster
from dlsched.domain.errors import InputError
from dlsched.domain.randomness import job_uniforms
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Floats
from dlsched.workload.doctor import in_time

REPAIR_S = 3600.0
"""How long a node is away after a failure: an assumption of ours."""
MOST_FAILURES = 20_000
_FIRST_DRAWS = 8


def with_failures(scenario: Scenario, mean_s: float, seed: int) -> Scenario:
    """Return the scenario with failures of every node, besides the absences it has.

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
    fails = [
        Absence(node=node, start_s=start_s, end_s=start_s + REPAIR_S)
        for node in range(cluster.num_nodes)
        for start_s in failure_times(scenario.seed + seed, node, mean_s, begin_s, end_s).tolist()
    ]
    return scenario.replace(cluster=_absent(cluster, fails))


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

    That is the last submission, all work at a time on all GPUs, and the longest job, and half as much again for what
    failures cost; or the horizon.
    """
    jobs = scenario.workload
    if not len(jobs):
        return 0.0, 0.0
    run_s, first_s = in_time(scenario).work, float(jobs.submit_s[0])
    gpus = scenario.cluster.num_gpus or scenario.cluster.num_nodes
    busy_s = float((run_s * np.maximum(jobs.gpus, 1)).sum()) / gpus + float(run_s.max())
    end_s = float(jobs.submit_s[-1]) + 1.5 * busy_s
    return first_s, min(end_s, scenario.options.horizon_s or end_s)


def _absent(cluster: Cluster, more: list[Absence]) -> Cluster:
    return cluster.model_copy(update={"absences": (*cluster.absences, *more)})
