"""Queues at an instant: a squeue --json by hand, and logs of which the law of the run times is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario
from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import Workload
from dlsched.studies.simulation import simulate

NOW = 1_700_000_000
UNSET = {"set": False, "infinite": False, "number": 0}


def told(value: float) -> dict[str, Any]:
    """Return a number as data_parser 0.0.39 and later write it."""
    return {"set": True, "infinite": False, "number": value}


def queued(job: int, state: str = "PENDING", *, gpus: int = 2, limit_min: int = 600, **more: Any) -> dict[str, Any]:
    """Return a job of squeue --json, submitted an hour before NOW; ``start``: seconds before NOW."""
    asks = f"cpu={8 * gpus},mem=2G,node=1,gres/gpu={gpus}"
    start = more.get("start")
    return {
        "job_id": job, "account": "nlp", "user_name": more.get("user", "al"), "partition": "gpu", "qos": "q",
        "array_job_id": told(0), "array_task_id": UNSET, "array_task_string": "", "het_job_id": told(0),
        "het_job_offset": told(0), "job_state": [state], "state_reason": more.get("reason", "Priority"),
        "submit_time": told(NOW - 3600 - (start or 0)), "eligible_time": told(NOW + more.get("eligible", -3600)),
        "start_time": told(0 if start is None else NOW - start), "end_time": told(0), "time_limit": told(limit_min),
        "nodes": more.get("nodes", ""), "node_count": told(1), "cpus": told(8 * gpus), "memory_per_node": told(2048),
        "memory_per_cpu": UNSET, "tres_req_str": asks, "tres_alloc_str": asks if state == "RUNNING" else "",
        "tres_per_node": f"gres/gpu:{gpus}", "priority": told(more.get("priority", 5)),
    }  # fmt: skip


def squeue() -> dict[str, Any]:
    """Return a queue: two nodes of 8 GPUs with three running jobs, four that wait, one on hold, one for later."""
    return {
        "jobs": [
            queued(1, "RUNNING", gpus=8, start=1000, nodes="n1"),
            queued(2, "RUNNING", gpus=4, start=2000, nodes="n2"),
            queued(3, "RUNNING", gpus=4, start=3000, nodes="n2", limit_min=60),
            queued(4, gpus=8, priority=9, reason="Resources"),
            queued(5, gpus=2, priority=7, limit_min=30, user="bo"),
            queued(6, gpus=16, priority=6, reason="PartitionNodeLimit"),
            queued(7, gpus=4, priority=8),
            queued(8, gpus=4, priority=3, reason="Dependency"),
            queued(9, gpus=1, priority=2, reason="BeginTime", eligible=7200),
        ],
        "last_update": told(NOW),
    }


def cluster(nodes: int = 2, gpus: int = 8, **vm: Any) -> Cluster:
    """Return equal nodes n1, n2, ..."""
    return Cluster(pools=(Pool(vm=VmType(name="node", gpus=gpus, **vm), count=nodes, nodes=f"n[1-{nodes}]"),))


def past(shares: list[float], each: int = 30, limit_s: float = 100.0, user: str = "al") -> dict[str, list[Any]]:
    """Return columns of ended jobs of a user that used these shares of their limit in turn, one after the other."""
    used = np.random.default_rng(0).permutation(np.tile(shares, each))
    count = len(used)
    start = np.arange(count) * 10.0
    return {
        "job_id": [f"{user} {number}" for number in range(count)], "submit_s": list(start),
        "work": list(used * limit_s), "workers": [1] * count, "limit_s": [limit_s] * count, "user": [user] * count,
        "recorded_start_s": list(start), "recorded_end_s": list(start + used * limit_s),
        "recorded_status": ["completed"] * count, "recorded_nodes": [""] * count,
    }  # fmt: skip


def with_queue(
    history: dict[str, list[Any]], *rows: dict[str, Any], nodes: Cluster | None = None, written: str = ""
) -> Scenario:
    """Return ended jobs with rows of a queue: those with a start run, others are pending.

    ``written``: when it was, on the day that starts with second 0.
    """
    missing = {
        "recorded_start_s": np.nan,
        "recorded_end_s": np.nan,
        "user": "al",
        "recorded_nodes": "",
        "limit_s": np.nan,
    }
    columns = {name: [*values] for name, values in history.items()}
    for row in rows:
        status = "running" if "recorded_start_s" in row else "pending"
        full = {**missing, "recorded_status": status, "work": 1.0, **row}
        for name, values in columns.items():
            values.append(full[name])
    meta = {"time_zero": "2026-01-01T00:00:00", "snapshot": f"2026-01-01T{written}"} if written else {}
    return Scenario(Workload.from_columns(columns, meta), nodes or cluster())


def true_log(jobs: int, seed: int = 0, policy: str = "easy-backfill", load: float = 0.9) -> Scenario:
    """Return a log that a policy wrote, of jobs that each use a share of their limit drawn by itself."""
    rng = np.random.default_rng(seed)
    limit_s = rng.choice([1.0, 2.0, 4.0, 8.0], jobs) * HOUR_S
    run_s = np.ceil(limit_s * rng.uniform(0.05, 1.0, jobs))
    workers = rng.choice([1, 2, 4, 8], jobs)
    span_s = float((run_s * workers).sum()) / (4 * 8) / load
    columns = {
        "job_id": [f"j{number}" for number in range(jobs)], "submit_s": np.sort(rng.uniform(0, span_s, jobs)).round(),
        "work": run_s, "workers": workers, "limit_s": limit_s, "user": [f"u{n}" for n in rng.integers(0, 3, jobs)],
    }  # fmt: skip
    bare = Scenario(Workload.from_columns(columns), cluster(4), name="log")
    run = simulate(bare, policy)
    log, segments = (
        run.log,
        run.segments.groupby("job_id")["node"].apply(lambda held: ",".join(f"n{n + 1}" for n in held)),
    )
    recorded = bare.workload.with_columns(
        recorded_start_s=log.job_first_start_s, recorded_end_s=log.job_end_s, recorded_status=["completed"] * jobs,
        recorded_nodes=[segments[name] for name in bare.workload.job_id],
    )  # fmt: skip
    return bare.replace(workload=recorded)
