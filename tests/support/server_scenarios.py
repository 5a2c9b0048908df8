"""Jobs with parameter servers for tests."""

from __future__ import annotations

from typing import Any

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
