"""Jobs with parameter servers for tests."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.domain.workload import Workload

SPEC = SpeedSpec(kind="parameter-server", updates="sync")


def training(*jobs: tuple[float, float, int, int], **columns: Any) -> Workload:
    """Return jobs "a", "b", ... of (submit_s, steps, workers, servers).

    A worker holds 1 GPU and 2 CPUs, a server 1 CPU. A step takes 6 / w + 1 + w / p seconds.
    """
    names = [chr(ord("a") + number) for number in range(len(jobs))]
    submit_s, work, workers, servers = zip(*jobs, strict=True)
    count = len(jobs)
    given: dict[str, Any] = {
        "job_id": names, "submit_s": submit_s, "work": work, "workers": workers, "servers": servers,
        "cpus_per_worker": [2.0] * count, "cpus_per_server": [1.0] * count,
        "batch_s": [6.0] * count, "step_s": [1.0] * count, "transfer_s": [1.0] * count,
    }  # fmt: skip
    return Workload.from_columns(given | columns)


def machines(count: int = 1, gpus: int = 8, cpus: float | None = 32.0) -> Cluster:
    """Return equal nodes with GPUs and CPUs."""
    return Cluster(pools=(Pool(vm=VmType(name="vm", gpus=gpus, cpus=cpus, usd_per_h=1.0), count=count),))


def with_servers(
    workload: Workload, cluster: Cluster | None = None, speed: SpeedSpec = SPEC, **options: Any
) -> Scenario:
    """Return a scenario on one machine of 8 GPUs and 32 CPUs unless told otherwise."""
    return Scenario(workload, cluster or machines(), SimulationRules(**options), speed)


def slotted(num_jobs: int = 30, seed: int = 0, slot_s: float = 60.0) -> Scenario:
    """Return jobs whose workers make steps on their own, in slots of a minute, on three unequal machines."""
    given = many(num_jobs, seed, "async")
    none = dict.fromkeys(("batch_s", "transfer_s", "worker_overhead_s", "server_overhead_s"))
    jobs = given.workload.with_columns(**none, workers_per_server=np.full(num_jobs, 3.0))
    slots = {"slot_s": slot_s, "utility_unit_s": 10 * slot_s, "utility_clock": "slots"}
    return given.replace(workload=jobs, options=given.options.model_copy(update=slots))


def many(num_jobs: int = 30, seed: int = 0, updates: Literal["sync", "async"] = "sync") -> Scenario:
    """Return jobs with everything that policies of parameter servers may need, on three unequal machines."""
    rng = np.random.default_rng(seed)
    submit_s = np.sort(rng.integers(0, 20, num_jobs) * 60.0)
    workers, servers = rng.integers(1, 7, num_jobs), rng.integers(1, 4, num_jobs)
    jobs = Workload.from_columns(
        {
            "job_id": [f"j{n}" for n in range(num_jobs)],
            "submit_s": submit_s,
            "work": rng.integers(20, 200, num_jobs).astype(float),
            "workers": workers,
            "servers": servers,
            "cpus_per_worker": rng.integers(1, 4, num_jobs).astype(float),
            "cpus_per_server": rng.integers(1, 3, num_jobs).astype(float),
            "mem_gib_per_worker": np.full(num_jobs, 4.0),
            "mem_gib_per_server": np.full(num_jobs, 8.0),
            "disk_gib_per_server": np.full(num_jobs, 5.0),
            "workers_per_server": np.where(rng.random(num_jobs) < 0.5, np.nan, 3.0),
            "batch_s": rng.uniform(1, 6, num_jobs),
            "step_s": rng.uniform(0.1, 1, num_jobs),
            "transfer_s": rng.uniform(0.1, 1, num_jobs),
            "worker_overhead_s": np.full(num_jobs, 0.05),
            "server_overhead_s": np.full(num_jobs, 0.01),
            "spread_s": rng.choice([0.0, 0.5], num_jobs),
            "limit_gpus": np.maximum(workers, 6) * 1.0,
            "limit_cpus": np.full(num_jobs, 40.0),
            "utility_1": rng.uniform(1, 100, num_jobs),
            "utility_2": np.full(num_jobs, 4.0),
            "utility_3": rng.uniform(0.1, 2.0, num_jobs),
            "priority": rng.integers(0, 3, num_jobs).astype(float),
            "user": rng.choice(["ann", "bob"], num_jobs),
            "due_s": submit_s + 3600.0,
            "weight_usd_per_s": np.full(num_jobs, 0.01),
        }
    )
    sizes = ((8, 48.0), (8, 48.0), (4, 24.0))
    pools = tuple(
        Pool(vm=VmType(name=f"m{n}", gpus=g, cpus=c, mem_gib=200.0, disk_gib=500.0, usd_per_h=float(g)), count=1)
        for n, (g, c) in enumerate(sizes)
    )
    return Scenario(jobs, Cluster(pools=pools), SimulationRules(), SpeedSpec(kind="parameter-server", updates=updates))
