"""Time of a run of the policy slurm: 10,000 jobs of 40 users, at loads that the nodes can and cannot carry.

On 64 nodes of 8 GPUs, and on 512 of one, of which the passes have eight times as many to look at.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.measure import Line, cpu_ms
from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.slurm import SlurmOptions, SlurmSetup
from dlsched.domain.workload import Workload
from dlsched.policies.registry import find
from dlsched.sim.prepare import prepare
from dlsched.sim.simulate import run_policy

JOBS, USERS, ACCOUNTS, GPUS = 10_000, 40, 8, 512
NODES = (64, 512)
LOADS = (0.7, 0.9, 1.0)
MOST_S = 5.0
WEIGHTS = {"PriorityWeightAge": 1000.0, "PriorityWeightFairshare": 10_000.0, "PriorityWeightJobSize": 1000.0}


def made(load: float, options: SlurmOptions, nodes: int = NODES[0]) -> Scenario:
    """Return jobs of 1 to 32 GPUs with limits of one to four times what they run; nodes of one GPU are a pool."""
    rng = np.random.default_rng(0)
    workers, work = rng.choice([1, 1, 1, 2, 4, 8, 16, 32], JOBS), rng.lognormal(7.5, 1.3, JOBS)
    until_s, user = float((workers * work).sum()) / GPUS / load, rng.integers(0, USERS, JOBS)
    jobs = Workload.from_columns(
        {
            "job_id": [f"j{number}" for number in range(JOBS)],
            "submit_s": np.sort(rng.uniform(0, until_s, JOBS)),
            "work": work,
            "limit_s": np.ceil(work * rng.uniform(1, 4, JOBS) / 60) * 60,
            "workers": workers,
            "user": [f"u{number}" for number in user],
            "group": [f"a{number % ACCOUNTS}" for number in user],
        }
    )
    cluster = Cluster(pools=(Pool(vm=VmType(name="vm", gpus=GPUS // nodes), count=nodes),))
    rules = SimulationRules(placement="best-fit" if nodes < GPUS else "pool")
    return Scenario(jobs, cluster, rules, slurm=SlurmSetup(options=options))


def lines(folder: Path) -> Iterator[Line]:
    """Yield each promise; nothing is read or written, so ``folder`` stays empty."""
    spec, rules = find("slurm"), {"in order": SlurmOptions(), "by priority": SlurmOptions(**WEIGHTS)}

    def cpu_s(scenario: Scenario) -> float:
        prepared = prepare(scenario)
        return cpu_ms(lambda: run_policy(prepared, spec.build(spec.parse({}))), tries=1) / 1000

    small = made(LOADS[0], rules["in order"])
    cpu_s(small.replace(workload=small.workload.select(np.arange(10))))  # loads the compiled passes
    for nodes in NODES:
        for name, options in rules.items():
            for load in LOADS:
                told = f"slurm, {JOBS:,} jobs on {nodes}x{GPUS // nodes}, {name}, load {load:g}"
                yield Line(told, "CPU s", MOST_S, cpu_s(made(load, options, nodes)))
