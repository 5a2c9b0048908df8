"""Runs under quotas: 10,000 jobs in 20 queues, at loads that the nodes can just carry, with many stops."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.measure import Line, cpu_ms
from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.queue_tree import QueueTree
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.workload import Workload
from dlsched.policies.registry import find
from dlsched.sim.prepare import prepare
from dlsched.sim.simulate import run_policy

JOBS, QUEUES, NODES, GPUS = 10_000, 20, 32, 8
CASES = (("classic", 0.9), ("classic", 1.0), ("fair sharing", 0.9), ("fair sharing", 1.0))


def lines(folder: Path) -> Iterator[Line]:
    """Yield each promise; nothing is read or written, so ``folder`` stays empty."""
    _cpu_s(made(0.7, fair_sharing=False, jobs=100))  # loads the compiled code
    for rule, load in CASES:
        seconds = _cpu_s(made(load, fair_sharing=rule != "classic"))
        yield Line(f"queue-tree, {rule}, 10,000 jobs at load {load:g}", "CPU s", 5.0, seconds)


def made(load: float, *, fair_sharing: bool, jobs: int = JOBS) -> Scenario:
    """Return jobs of widths 1 to 16 in queues of equal quota, four cohorts under one, with rules of all kinds."""
    rng = np.random.default_rng(0)
    workers, work = rng.choice([1, 1, 1, 2, 4, 8, 16], jobs), rng.lognormal(7.5, 1.3, jobs)
    until_s = float((workers * work).sum()) / (NODES * GPUS) / load
    workload = Workload.from_columns(
        {
            "job_id": [f"j{number}" for number in range(jobs)],
            "submit_s": np.sort(rng.uniform(0, until_s, jobs)),
            "work": work,
            "workers": workers,
            "group": rng.choice([f"q{number}" for number in range(QUEUES)], jobs),
            "priority": rng.choice([0.0, 0.0, 0.0, 1.0, 2.0], jobs),
        }
    )
    quota = {"within": "lower", "quota": [{"nominal": NODES * GPUS // QUEUES}]}
    tree = {
        f"q{number}": {"parent": f"c{number % 4}", "reclaim": ("any", "lower", "never")[number % 3], **quota}
        for number in range(QUEUES)
    }
    cohorts = {f"c{number}": {"parent": "top"} for number in range(4)}
    queues = QueueTree.model_validate({"fair_sharing": fair_sharing, "cohorts": cohorts, "tree": tree})
    cluster = Cluster(pools=(Pool(vm=VmType(name="vm", gpus=GPUS), count=NODES),))
    return Scenario(workload, cluster, SimulationRules(placement="pack", checkpoint_s=600.0), queues=queues)


def _cpu_s(scenario: Scenario) -> float:
    spec, prepared = find("queue-tree"), prepare(scenario)
    return cpu_ms(lambda: run_policy(prepared, spec.build(spec.parse({}))), tries=2) / 1000
