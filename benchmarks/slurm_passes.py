"""Time of a run of the policy slurm: 10,000 jobs of 40 users, at loads that the nodes can and cannot carry.

The target is 5 CPU s, on 64 nodes of 8 GPUs; on 512 nodes of one the passes have eight times as many nodes to look at.

Run: python -m benchmarks.slurm_passes
"""

from __future__ import annotations

import time

import numpy as np

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


def main() -> None:
    """Print CPU seconds and decisions; the first run, not shown, loads the compiled passes."""
    spec, rules = find("slurm"), {"in order": SlurmOptions(), "by priority": SlurmOptions(**WEIGHTS)}
    small = made(LOADS[0], rules["in order"])
    runs = [("", 0.0, small.replace(workload=small.workload.select(np.arange(10))))]
    runs += [
        (f"{nodes} nodes, {name}", load, made(load, options, nodes))
        for nodes in NODES
        for name, options in rules.items()
        for load in LOADS
    ]
    for name, load, scenario in runs:
        prepared = prepare(scenario)
        policy, before_s = spec.build(spec.parse({})), time.process_time()
        log = run_policy(prepared, policy)
        cpu_s = time.process_time() - before_s
        if name:
            print(f"{name}, load {load:g}: {cpu_s:.1f} CPU s, {len(log.decision_s):,} decisions", flush=True)


if __name__ == "__main__":
    main()
