"""How often a policy that decides by the clock has to decide at least, before it is run."""

from __future__ import annotations

import numpy as np

from dlsched.domain.cluster import vm_capacity
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import GPU, Floats
from dlsched.sim.prepare import Prepared
from dlsched.speed import build_speed

MOST_TURNS = 1_000_000
"""Decisions by the clock of one run; what is certain to need more is refused."""
MOST_PASSES = 10_000_000
"""Backfill passes of Slurm in one run, and updates of its priorities: compiled, and skipped where nothing changes.

Slurm's own intervals allow ten years of a queue.
"""


def active_at_least_s(prepared: Prepared) -> float:
    """Return for how long some job is in the system at least, seconds, under any policy."""
    submit_s = prepared.scenario.workload.submit_s
    return _time_above_s(submit_s, _leaves_s(prepared), np.ones(len(submit_s)), 0.0)


def waiting_at_least_s(prepared: Prepared) -> float:
    """Return for how long some job waits at least, seconds, if each job runs at its request or not at all.

    The larger of two bounds. While the requests of all jobs that cannot have left are above what there is, some job
    waits. And once all have arrived, some job waits while the work left is more than the whole cluster does in the time
    of the longest job: otherwise all jobs would run, and end within that time.
    """
    scenario, truth = prepared.scenario, prepared.truth
    jobs, there = scenario.workload, _most_gpus(scenario)
    if not there or not len(jobs):
        return 0.0
    together_s = _time_above_s(jobs.submit_s, _leaves_s(prepared), jobs.gpus, there * (1 + 1e-9))
    length_s = np.where(np.isinf(truth.cancel_s), _alone_s(prepared), 0.0)  # others may leave without any work
    drained_s = float(jobs.submit_s[0] + jobs.gpus @ length_s / there - _alone_s(prepared).max())
    return max(together_s, min(drained_s, _horizon_s(scenario)) - float(jobs.submit_s[-1]))


def _leaves_s(prepared: Prepared) -> Floats:
    """Return when each job leaves at the earliest: done alone on the fastest machines, cancelled, or at the horizon."""
    submit_s = prepared.scenario.workload.submit_s
    last_s = np.minimum(prepared.truth.cancel_s, _horizon_s(prepared.scenario))
    return np.maximum(np.minimum(submit_s + _alone_s(prepared), last_s), submit_s)


def _alone_s(prepared: Prepared) -> Floats:
    vm_types, jobs = prepared.scenario.cluster.vm_types, prepared.scenario.workload
    fastest = build_speed(prepared.scenario.speed, jobs, vm_types).fastest() * max(vm.speed for vm in vm_types)
    return np.divide(prepared.truth.work, fastest, out=np.zeros(len(jobs)), where=fastest > 0)


def _horizon_s(scenario: Scenario) -> float:
    return np.inf if scenario.options.horizon_s is None else scenario.options.horizon_s


def _time_above_s(from_s: Floats, to_s: Floats, amount: Floats, level: float) -> float:
    """Return for how long the amounts of the spans that are under way add up to more than a level."""
    time_s = np.concatenate([from_s, to_s])
    order = np.argsort(time_s, kind="stable")
    under_way = np.cumsum(np.concatenate([amount, -amount])[order])
    lasts_s = np.diff(time_s[order])
    return float(lasts_s[under_way[:-1] > level].sum())


def _most_gpus(scenario: Scenario) -> float:
    cluster = scenario.cluster
    if cluster.free_slots:
        return cluster.slots * max(vm_capacity(vm)[GPU] for vm in cluster.vm_types)
    return float(cluster.nodes.capacity[:, GPU].sum())
