"""What happens to jobs and nodes of a large site: CPU seconds of the compiled loop, and the ratio to the plain one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.backfill import cpu_s, made_up
from benchmarks.measure import Line
from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.policies.registry import find
from dlsched.sim.kernels import eligible
from dlsched.sim.prepare import Prepared, prepare

JOBS, NODES, FAILURES_A_NODE = 68_503, 100, 20


def lines(folder: Path) -> Iterator[Line]:
    """Yield each promise; nothing is read or written, so ``folder`` stays empty."""
    plain = made_up(JOBS, NODES, load=0.9)
    eventful = {
        "failures, restarts": _with(plain, _failing_nodes(plain), restart_s=60.0, checkpoint_s=3600.0),
        "cancellations, killed at limits": _with(plain, _cluster(), cancel_share=0.1, bug_share=0.05, limits="kill"),
        "partitions, two speeds": _with(plain, _cluster(partitions=True), partition=True),
        "all of these": _with(
            plain,
            _failing_nodes(plain, partitions=True),
            partition=True,
            restart_s=60.0,
            checkpoint_s=3600.0,
            cancel_share=0.1,
            bug_share=0.05,
            limits="kill",
        ),
    }
    for key in ("fifo", "sjf", "fifo-skip", "easy-backfill"):
        cpu_s(key, made_up(100, nodes=10, load=1.2))  # loads the compiled code
        plain_s = cpu_s(key, plain)
        for what, prepared in eventful.items():
            assert eligible(prepared, find(key).build(find(key).parse({}))), what
            yield Line(f"{key}, {what}", "x", 3.0, cpu_s(key, prepared) / plain_s)


def _cluster(*, partitions: bool = False, absences: tuple[Absence, ...] = ()) -> Cluster:
    """Return equal nodes, or as much in two partitions of which one is three times as fast."""
    fast, slow = (VmType(name=f"node-{speed}", gpus=8, speed=speed) for speed in ((1.5, 0.5) if partitions else (1, 1)))
    pools = (Pool(vm=fast, count=NODES // 2), Pool(vm=slow, count=NODES // 2, partition="slow" if partitions else ""))
    return Cluster(pools=pools, absences=absences)


def _failing_nodes(plain: Prepared, *, partitions: bool = False) -> Cluster:
    """Return nodes each of which is away for an hour ``FAILURES_A_NODE`` times."""
    dice, last_s = np.random.default_rng(1), float(plain.scenario.workload.submit_s[-1])
    starts_s = np.sort(dice.uniform(0, last_s, (NODES, FAILURES_A_NODE)), axis=1)
    absences = tuple(
        Absence(node=node, start_s=start_s, end_s=start_s + 3600.0)
        for node, times_s in enumerate(starts_s.tolist())
        for start_s in times_s
    )
    return _cluster(partitions=partitions, absences=absences)


def _with(plain: Prepared, cluster: Cluster, *, partition: bool = False, **rules: object) -> Prepared:
    jobs = plain.scenario.workload
    if partition:
        jobs = jobs.with_columns(partition=np.where(np.arange(len(jobs)) % 4 == 0, "slow", ""))
    return prepare(Scenario(jobs, cluster, SimulationRules.model_validate(rules)))
