"""A small elastic scenario and its stored runs, for what looks into decisions."""

from __future__ import annotations

from functools import cache

import numpy as np

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario, SpeedSpec
from dlsched.domain.workload import Workload
from dlsched.studies.inspect.look_ahead import LookAheadSpec, StoredRun, StoredWidths, run_look_ahead
from dlsched.studies.inspect.look_ahead.answer import LookAhead
from dlsched.studies.simulation import Run, simulate

POLICIES = OPTIMAL, GREEDY = LookAheadSpec.policies


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


SMALL, LARGE = VmType(name="small", gpus=2, usd_per_h=3.0), VmType(name="large", gpus=8, usd_per_h=9.0)
CROWDED = {
    "parts of nodes": Cluster(pools=(Pool(vm=LARGE, count=3),)),
    "unequal nodes": Cluster(pools=(Pool(vm=LARGE, count=1), Pool(vm=SMALL, count=6))),
    "partitions": Cluster(pools=(Pool(vm=LARGE, count=1, partition="a"), Pool(vm=LARGE, count=2, partition="b"))),
    "free slots": Cluster(slots=4, catalogue=(SMALL, LARGE)),
}
"""Clusters on which jobs share nodes, so that what is decided may find no room."""


def crowded_scenario(cluster: str, jobs: int = 14) -> Scenario:
    """Return jobs of 1 to 8 one-GPU workers, in two partitions, on one of CROWDED."""
    rng = np.random.default_rng(1)
    columns = {
        "job_id": [f"job {number}" for number in range(jobs)],
        "submit_s": np.sort(rng.uniform(0, 3600, jobs)).round(),
        "work": rng.uniform(3600, 10_800, jobs).round(),
        "workers": rng.choice([1, 2, 4, 8], jobs),
        "gpus_per_worker": np.ones(jobs),
        "min_workers": np.ones(jobs, dtype=np.int64),
        "max_workers": np.full(jobs, 8),
        "partition": np.array(["a", "b"] * jobs, dtype=object)[:jobs],
    }
    speed = SpeedSpec(kind="scaling", efficiency=0.8)
    return Scenario(Workload.from_columns(columns), CROWDED[cluster], name=cluster, speed=speed)


@cache
def elastic_run(policy: str) -> Run:
    """Return the run of the small scenario."""
    return simulate(elastic_scenario(), policy)


def window(
    scenario: Scenario, policy: str, first: int, last: int, stored: StoredWidths | None = None, **params: object
) -> list[LookAhead]:
    """Return some decisions of a run, worked out again."""
    spec = LookAheadSpec(scenario=scenario.content_hash, policy=policy, params=params, first=first, last=last)
    return list(run_look_ahead(spec, StoredRun(scenario, stored)).decisions)


def at(scenario: Scenario, policy: str, number: int, stored: StoredWidths | None = None, **params: object) -> LookAhead:
    """Return one decision of a run, worked out again."""
    (one,) = window(scenario, policy, number, number, stored, **params)
    return one
