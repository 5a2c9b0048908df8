"""One replay: when each job starts under a policy, with small random changes of run times and of the clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dlsched.domain.cluster import Absence, Cluster
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Floats
from dlsched.studies.calibration.idle import idle_wanted_share
from dlsched.studies.calibration.record import left_without_start
from dlsched.studies.design.shaking import shaken_params, shaken_scenario
from dlsched.studies.simulation import Progress, simulate
from dlsched.workload.hostlist import compress, expand


@dataclass(frozen=True, eq=False)
class Replay:
    """A replay to run. ``shake``: number of its random changes, None for none; ``checked``: whether it is audited.

    ``whole``: the cluster of which idle capacity is counted, None if it is not.
    """

    scenario: Scenario
    policy: str
    params: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    shake: int | None = None
    checked: bool = False
    whole: Cluster | None = None


@dataclass(frozen=True, eq=False)
class Replayed:
    """Waits from submission to the first start, shape (jobs,), NaN for a job that never starts; what an audit found.

    ``left_started``: how many jobs start here that left without a start in the record.
    """

    wait_s: Floats
    left_started: int = 0
    idle_wanted: float | None = None
    audit: tuple[str, ...] = ()


def replayed(task: Replay, progress: Progress | None = None) -> Replayed:
    """Run one replay; jobs that can never fit are left out and never start."""
    scenario, params = task.scenario, dict(task.params)
    if task.shake is not None:
        scenario, params = shaken(scenario, task.policy, params, task.seed, task.shake)
    options = scenario.options.model_copy(update={"oversize": "drop"})
    run = simulate(scenario.replace(options=options), task.policy, params, 0, progress)
    jobs, ran = scenario.workload, run.prepared.scenario.workload
    place = np.arange(len(jobs))
    if len(ran) < len(jobs):
        place = np.flatnonzero(np.isin(jobs.job_id.astype(str), ran.job_id.astype(str)))
    wait_s = np.full(len(jobs), np.nan)
    wait_s[place] = run.log.job_first_start_s - ran.submit_s
    idle = None
    if task.whole is not None:
        idle = idle_wanted_share(ran, task.whole, run.log.job_first_start_s, run.log.job_end_s)
    started = np.isfinite(wait_s) & left_without_start(jobs)
    return Replayed(wait_s, int(started.sum()), idle, tuple(run.audit()) if task.checked else ())


def shaken(
    scenario: Scenario, policy: str, params: Mapping[str, Any], seed: int, number: int
) -> tuple[Scenario, dict[str, Any]]:
    """Return the scenario and the parameters of one replay with small random changes; seed 0: as futures have them."""
    key = seed * 1000 + number
    return shaken_scenario(scenario, key), shaken_params(scenario, policy, params, key)


def without_nodes(cluster: Cluster, share: float) -> Cluster:
    """Return a cluster with this share of the nodes of each type, rounded up: the first ones, with their absences."""
    kept = [int(np.ceil(pool.count * share - 1e-9)) for pool in cluster.pools]
    if all(count == pool.count for count, pool in zip(kept, cluster.pools, strict=True)):
        return cluster
    number: dict[int, int] = {}
    before = 0
    for count, pool in zip(kept, cluster.pools, strict=True):
        number |= dict(zip(range(before, before + count), range(len(number), len(number) + count), strict=True))
        before += pool.count
    pools = tuple(
        pool.model_copy(update={"count": count, "nodes": compress(expand(pool.nodes)[:count]) if pool.nodes else ""})
        for count, pool in zip(kept, cluster.pools, strict=True)
    )
    absences = tuple(
        one.model_copy(update={"node": number[one.node]}) for one in cluster.absences if one.node in number
    )
    return cluster.model_copy(update={"pools": pools, "absences": absences})


def withheld(cluster: Cluster, share: float) -> Cluster:
    """Return the cluster with the nodes that :func:`without_nodes` leaves out absent for good, but paid for."""
    gone: list[Absence] = []
    before = 0
    for pool in cluster.pools:
        kept = int(np.ceil(pool.count * share - 1e-9))
        gone += [
            Absence(node=before + place, start_s=0.0, end_s=None, cause="leaves", billed=True)
            for place in range(kept, pool.count)
        ]
        before += pool.count
    return cluster.model_copy(update={"absences": (*cluster.absences, *gone)})
