"""Jobs whose recorded starts are those of a policy's own run."""

from __future__ import annotations

from functools import cache

import numpy as np

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Workload
from dlsched.studies.simulation import simulate


@cache
def recorded_scenario(policy: str, late_s: float = 0.0, jobs: int = 150) -> Scenario:
    """Return jobs of two groups on two nodes of 8 GPUs over some days, recorded as the policy runs them.

    Every recorded start is ``late_s`` later than in the policy's run.
    """
    rng = np.random.default_rng(7)
    columns = {
        "job_id": [f"job {number}" for number in range(jobs)],
        "submit_s": np.sort(rng.uniform(0, jobs * 3000.0, jobs)).round(),
        "work": rng.lognormal(8, 1.2, jobs).round() + 1,
        "workers": rng.choice([1, 2, 4, 8, 16], jobs),
        "gpus_per_worker": np.ones(jobs),
        "group": rng.choice(["vc1", "vc7"], jobs).tolist(),
    }
    bare = Scenario(
        workload=Workload.from_columns(columns),
        cluster=Cluster(pools=(Pool(vm=VmType(name="eight", gpus=8), count=2),)),
        name=f"recorded under {policy}",
    )
    run = simulate(bare, policy)
    start_s = run.log.job_first_start_s + late_s
    end_s = run.jobs["completion_s"].to_numpy(float) + late_s
    recorded = run.prepared.scenario.workload.with_columns(
        recorded_start_s=start_s, recorded_end_s=end_s, recorded_status=["completed"] * jobs
    )
    return bare.replace(workload=recorded)
