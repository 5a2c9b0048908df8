"""A small elastic scenario and its stored runs, for what looks into decisions."""

from __future__ import annotations

from functools import cache

import numpy as np

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario, SpeedSpec
from dlsched.domain.workload import Workload
from dlsched.experiments.run import Run, simulate


def elastic_scenario(jobs: int = 12, nodes: int = 6, seed: int = 3) -> Scenario:
    """Return jobs of one to three hours on 8-GPU nodes, more than there is room for; they speed up as published."""
    rng = np.random.default_rng(seed)
    columns = {
        "job_id": [f"job {number}" for number in range(jobs)],
        "submit_s": np.sort(rng.uniform(0, 3600, jobs)).round(),
        "work": rng.uniform(3600, 10_800, jobs).round(),
        "workers": np.ones(jobs, dtype=np.int64),
        "gpus_per_worker": np.full(jobs, 8.0),
        "min_workers": np.ones(jobs, dtype=np.int64),
        "max_workers": np.full(jobs, 4),
    }
    cluster = Cluster(pools=(Pool(vm=VmType(name="node", gpus=8), count=nodes),))
    return Scenario(
        Workload.from_columns(columns), cluster, name="elastic", speed=SpeedSpec(kind="scaling", efficiency=0.8)
    )


@cache
def elastic_run(policy: str) -> Run:
    """Return the run of the small scenario."""
    return simulate(elastic_scenario(), policy)
