"""An sacct export of a simulated run: what Slurm would have written, had it decided as the policy did."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario
from dlsched.domain.units import DAY_S, HOUR_S, MINUTE_S
from dlsched.domain.workload import Workload
from dlsched.studies.simulation import Run

ZERO = datetime(2025, 3, 3, 8)
FIELDS = (
    "JobID|User|Account|Partition|State|Submit|Eligible|Start|End|ElapsedRaw|Timelimit|NNodes|NCPUS|ReqTRES|AllocTRES|"
    "NodeList"
)
LIMITS_S = np.array([*(MINUTE_S * m for m in (15, 30)), *(HOUR_S * h for h in (1, 2, 4, 8, 12, 24, 48, 96, 240))])


def busy_scenario(jobs: int, seed: int = 1) -> Scenario:
    """Return jobs with whole seconds and over-asked limits on GPU nodes and CPU nodes, a partition each."""
    rng = np.random.default_rng(seed)
    on_gpus = rng.random(jobs) < 0.75
    gpus = np.where(on_gpus, rng.choice([1, 2, 4, 8, 16], jobs, p=[0.35, 0.2, 0.2, 0.2, 0.05]), 0)
    cores = np.where(on_gpus, 8 * gpus, rng.choice([4, 8, 16, 32, 64], jobs))
    run_s = np.ceil(rng.lognormal(8, 1.3, jobs)).clip(30, 3 * DAY_S)
    span_s = (gpus * run_s).sum() / (6 * 8) / 0.95
    workers = np.maximum(gpus, 1)
    workload = Workload.from_columns({
        "job_id": [str(1000 + row) for row in range(jobs)],
        "submit_s": np.sort(np.floor(rng.uniform(0, span_s, jobs))),
        "work": run_s,
        "limit_s": LIMITS_S[np.searchsorted(LIMITS_S, run_s * rng.uniform(1, 4, jobs))],
        "partition": np.where(on_gpus, "gpu", "cpu").astype(object),
        "user": [f"u{number:02d}" for number in rng.integers(0, 12, jobs)],
        "workers": workers,
        "gpus_per_worker": np.where(on_gpus, 1.0, 0.0),
        "cpus_per_worker": cores / workers,
        "mem_gib_per_worker": cores * 4.0 / workers,
    })  # fmt: skip
    gpu_node = VmType(name="GPU node", gpu_type="a100", gpus=8, cpus=64, mem_gib=256)
    cpu_node = VmType(name="CPU node", gpus=0, cpus=64, mem_gib=256)
    pools = (Pool(vm=gpu_node, count=6, partition="gpu"), Pool(vm=cpu_node, count=4, partition="cpu"))
    return Scenario(workload, Cluster(pools=pools))


def sacct_log(run: Run) -> str:
    """Return the run as ``sacct -P`` prints it; nodes of each partition are named after it, from 00."""
    jobs, log = run.prepared.scenario.workload, run.log
    partition = run.prepared.scenario.cluster.nodes.partition
    name = [f"{of}{list(partition[:node]).count(of):02d}" for node, of in enumerate(partition)]
    held = run.segments.groupby("job_id")["node"].apply(lambda nodes: sorted({name[node] for node in nodes}))
    lines = [FIELDS]
    for row, job_id in enumerate(jobs.job_id):
        nodes, gpus = held[job_id], int(jobs.gpus[row])
        cores = round(jobs.demand[row, 1] * jobs.workers[row])
        amounts = f"billing={cores},cpu={cores}"
        rest = f"mem={round(jobs.demand[row, 2] * jobs.workers[row])}G,node={len(nodes)}"
        asked = f",gres/gpu={gpus}" * (gpus > 0)
        lines.append("|".join([
            job_id, jobs.columns()["user"][row], "", jobs.columns()["partition"][row], "COMPLETED",
            *(_date(jobs.submit_s[row]),) * 2, _date(log.job_first_start_s[row]), _date(log.job_end_s[row]),
            f"{jobs.work[row]:.0f}", _clock(jobs.columns()["limit_s"][row]), str(len(nodes)), str(cores),
            f"{amounts}{asked},{rest}", f"{amounts}{asked and asked + f',gres/gpu:a100={gpus}'},{rest}",
            ",".join(nodes),
        ]))  # fmt: skip
    return "\n".join(lines) + "\n"


def _date(second: float) -> str:
    return (ZERO + timedelta(seconds=float(second))).isoformat()


def _clock(seconds: float) -> str:
    """Return a time limit as Slurm writes it: 1-12:00:00."""
    days, rest = divmod(int(seconds), int(DAY_S))
    return f"{f'{days}-' if days else ''}{rest // 3600:02d}:{rest % 3600 // 60:02d}:{rest % 60:02d}"
