"""Scenarios and run records written by hand, for tests of the store and of what stands on it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Workload
from dlsched.store.record import RunRecord

CODE_VERSION = "0.0.0-test"


def small_scenario(jobs: int = 4, name: str = "four jobs", **changes: Any) -> Scenario:
    """Jobs of one GPU, one every 10 s, of 60 s each, on two nodes of 2 GPUs for 3.6 $/h."""
    workload = Workload.from_columns(
        {
            "job_id": [f"job {number}" for number in range(jobs)],
            "submit_s": 10.0 * np.arange(jobs),
            "work": np.full(jobs, 60.0),
            "user": ["ann", "bob"] * (jobs // 2) + ["ann"] * (jobs % 2),
            "due_s": np.where(np.arange(jobs) % 2 == 0, 10.0 * np.arange(jobs) + 90, np.nan),
        },
        {"source": "by hand", "time_zone": "UTC"},
    )
    cluster = Cluster(pools=(Pool(vm=VmType(name="two", gpus=2, usd_per_h=3.6), count=2),))
    return Scenario(workload=workload, cluster=cluster, name=name, **changes)


def long_scenario(jobs: int = 20_000) -> Scenario:
    """Seconds of work: a queue that grows, and parameter servers, which the compiled loops do not know."""
    scenario = small_scenario(jobs)
    columns = {name: getattr(scenario.workload, name) for name in ("job_id", "submit_s", "work")}
    served = Workload.from_columns(columns | {"servers": np.ones(jobs, dtype=int)}, {"time_zone": "UTC"})
    return scenario.replace(workload=served)


def tables_of(scenario: Scenario) -> dict[str, pd.DataFrame]:
    """Tables as if every job started when submitted, job i on node i % 2."""
    jobs = scenario.workload
    rows = np.arange(len(jobs))
    end_s = jobs.submit_s + jobs.work
    outcomes = {
        "job_id": jobs.job_id,
        "submit_s": jobs.submit_s,
        "completion_s": end_s,
        "left_s": end_s,
        "status": np.array(["completed"] * len(jobs), dtype=object),
        "gpus": jobs.gpus,
        "row": rows,
        "user": jobs.user,
    }
    segments = {
        "job_id": jobs.job_id,
        "node": rows % 2,
        "start_s": jobs.submit_s,
        "end_s": end_s,
        "workers": jobs.workers,
        "gpus": jobs.gpus,
        "rate": np.ones(len(jobs)),
    }
    nodes = {
        "node": [0, 1],
        "vm_type": ["two", "two"],
        "start_s": [0.0, 0.0],
        "end_s": [90.0, 90.0],
        "cost": [0.09] * 2,
    }
    return {
        "job_outcomes": pd.DataFrame(outcomes),
        "segments": pd.DataFrame(segments),
        "node_intervals": pd.DataFrame(nodes),
        "decisions": pd.DataFrame({"time_s": jobs.submit_s, "cause": ["arrival"] * len(jobs), "cpu_s": np.nan}),
        "waits": pd.DataFrame({"job_id": ["job 1"], "from_s": [10.0], "to_s": [20.0], "reason": ["no_room"]}),
        "series": pd.DataFrame({"time_s": [0.0, 10.0], "gpus_held": [1.0, 2.0]}),
    }


def record(scenario: Scenario | None = None, policy: str = "fifo", seed: int = 0, **changes: Any) -> RunRecord:
    """A run record with made-up metrics, one of each kind: count, number, undefined."""
    scenario = scenario or small_scenario()
    values: dict[str, Any] = {
        "scenario": scenario,
        "policy": policy,
        "params": {"quantum_s": 60.0},
        "seed": seed,
        "code_version": CODE_VERSION,
        "metrics": {"jobs": len(scenario.workload), "wait_p95": 12.5, "cost_month": None, "late_share": 0.25},
        "audit": (),
        "cpu_s": {"simulate": 0.5},
        "wall_s": 2.0,
        "tables": tables_of(scenario),
    }
    return RunRecord(**(values | changes))
