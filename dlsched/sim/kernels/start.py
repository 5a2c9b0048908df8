"""From a prepared scenario to the arrays of a kernel run."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.cluster import Cluster
from dlsched.domain.policy import ListRule, Policy
from dlsched.domain.workload import GPU, RESOURCES, Floats, Workload
from dlsched.sim.kernels import tables
from dlsched.sim.kernels.tables import Count, Key, Placement, Run
from dlsched.sim.log import JobStatus
from dlsched.sim.prepare import Prepared

TICKS_PER_UNIT = 1e6
EARLY_S = 1e-6
_PLACEMENT = {
    "pool": Placement.POOL,
    "best-fit": Placement.BEST_FIT,
    "pack": Placement.PACK,
    "spread": Placement.SPREAD,
}


def eligible(prepared: Prepared, policy: Policy) -> bool:
    """Whether the kernel can run this: a list rule, rigid jobs of whole GPUs on owned nodes that are always up.

    Not covered: CPU or memory that can be the limit, shared GPUs, GPU types, partitions, nodes of different speeds,
    parameter servers, run times by GPU type, absences, restart cost, cancellations and a horizon.
    """
    options = prepared.scenario.options
    return (
        isinstance(policy.kernel_rule, ListRule)
        and prepared.scenario.speed.kind not in ("table", "parameter-server")
        and options.restart_s == 0
        and options.horizon_s is None
        and len(prepared.scenario.workload) > 0
        and bool(np.isinf(prepared.truth.cancel_s).all())
        and _plain_cluster(prepared.scenario.cluster)
        and _plain_jobs(prepared.scenario.workload, prepared.scenario.cluster)
    )


def _plain_cluster(cluster: Cluster) -> bool:
    speeds = {pool.vm.speed for pool in cluster.pools if pool.count}
    return (
        not cluster.free_slots
        and not cluster.absences
        and not any(pool.partition for pool in cluster.pools)
        and len(speeds) == 1
    )


def _plain_jobs(jobs: Workload, cluster: Cluster) -> bool:
    if jobs.has_servers or (jobs.gpus_per_worker != 1).any() or (jobs.gpu_types is not None and any(jobs.gpu_types)):
        return False
    return all(
        not jobs.demand[:, resource].any() or bool(np.isinf(cluster.nodes.capacity[:, resource]).all())
        for resource in range(GPU + 1, len(RESOURCES))
    )


def new_run(prepared: Prepared, rule: ListRule) -> Run:
    """Return the arrays of a run that has not begun."""
    jobs = _job_table(prepared, rule)
    num_jobs, num_gpus = len(jobs), int(prepared.scenario.cluster.num_gpus)
    capacity = prepared.scenario.cluster.nodes.capacity[:, GPU].astype(np.int64)
    # a placement lists at most one entry a node, kept in the node table itself
    nodes = np.zeros(len(capacity), dtype=tables.NODE)
    nodes["capacity"] = nodes["free"] = capacity
    counts = np.zeros(len(Count), dtype=np.int64)
    counts[Count.FREE], counts[Count.LAST_HEAD] = num_gpus, -1
    return Run(
        jobs=jobs,
        nodes=nodes,
        sizes=np.zeros(int(jobs["gpus"].max()) + 1, dtype=tables.SIZE),
        waiting=np.zeros(num_jobs + 1, dtype=np.int64),
        running=np.zeros(num_gpus + 1, dtype=np.int64),
        merged=np.zeros(num_jobs + 1, dtype=np.int64),
        pieces=np.zeros(num_jobs + 2 * num_gpus, dtype=tables.PIECE),
        shares=np.zeros(num_jobs + 2 * num_gpus, dtype=tables.SHARE),
        decisions=np.zeros(2 * num_jobs + 2, dtype=tables.DECISION),
        waits=np.zeros(2 * num_jobs + 2, dtype=tables.WAIT),
        counts=counts,
        clock=np.array([0.0, np.inf]),
        rule=_rule_table(prepared, rule),
        bounds_gpu_s=np.array([*rule.thresholds_gpu_s, np.inf]),
    )


def grown(run: Run) -> Run:
    """Return the run with more space for its log."""

    def more(values: NDArray[np.void], used: int) -> NDArray[np.void]:
        larger = np.zeros(2 * len(values) + 4 * (len(run.running) + int(run.counts[Count.TAIL])), dtype=values.dtype)
        larger[:used] = values[:used]
        return larger

    logs = {"pieces": Count.PIECES, "shares": Count.SHARES, "decisions": Count.DECISIONS, "waits": Count.WAITS}
    changes: dict[str, Any] = {name: more(getattr(run, name), int(run.counts[used])) for name, used in logs.items()}
    return run._replace(**changes)


def _job_table(prepared: Prepared, rule: ListRule) -> NDArray[np.void]:
    workload, truth = prepared.scenario.workload, prepared.truth
    jobs = np.zeros(len(workload), dtype=tables.JOB)
    jobs["submit_s"], jobs["gpus"] = workload.submit_s, workload.workers
    jobs["work"], jobs["believed"], jobs["is_bug"] = truth.work, truth.believed_work, truth.is_bug
    jobs["key"] = _first_keys(prepared, rule)
    jobs["end_s"], jobs["status"], jobs["reason"] = np.nan, int(JobStatus.UNFINISHED), tables.NOT_SAID
    return jobs


def _first_keys(prepared: Prepared, rule: ListRule) -> Floats:
    """Return the keys at submission, as in ``dlsched.policies.baselines.orders``."""
    jobs = prepared.scenario.workload
    missing = np.full(len(jobs), np.inf)
    if rule.order in ("work", "remaining"):
        return np.asarray(np.rint(prepared.truth.believed_work * TICKS_PER_UNIT))
    if rule.order == "due":
        return missing if jobs.due_s is None else np.nan_to_num(jobs.due_s, nan=np.inf)
    if rule.order == "priority":
        return missing if jobs.priority is None else np.nan_to_num(-jobs.priority, nan=np.inf)
    if rule.order == "attained" and rule.thresholds_gpu_s:
        return np.searchsorted(rule.thresholds_gpu_s, jobs.workers * EARLY_S, side="right").astype(np.float64)
    return np.zeros(len(jobs))


def _rule_table(prepared: Prepared, rule: ListRule) -> NDArray[np.void]:
    attained = Key.QUEUE if rule.thresholds_gpu_s else Key.ATTAINED
    key = {"remaining": Key.REMAINING, "attained": attained}.get(rule.order, Key.FIXED)
    table = np.zeros(1, dtype=tables.RULE)
    table["placement"] = int(_PLACEMENT[prepared.scenario.options.placement])
    table["blocking"], table["preemptive"], table["backfill"] = rule.blocking, rule.preemptive, rule.backfill
    table["key"], table["quantum_s"] = int(key), rule.quantum_s or 0.0
    table["speed"] = next(pool.vm.speed for pool in prepared.scenario.cluster.pools if pool.count)
    return table
