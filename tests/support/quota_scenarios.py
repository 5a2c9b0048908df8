"""Small scenarios with queues, and what a run under their quotas did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.plan import WaitReason
from dlsched.domain.queue_tree import QueueTree
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.workload import Workload
from dlsched.studies.simulation import Run, simulate

Row = tuple[str, str, float, int, float, float]
"""Name, queue, submission, GPUs, run time, priority."""


def queues(
    nominal: Mapping[str, float], cohort: float = 0.0, rules: Mapping[str, Any] | None = None, **tree: Any
) -> QueueTree:
    """Return queues in one cohort, "research", with a nominal quota of GPUs each."""
    each = {
        name: {"parent": "research", "quota": [{"nominal": own}]} | dict(rules or {}) for name, own in nominal.items()
    }
    top = {"research": {"quota": [{"nominal": cohort}] if cohort else []}}
    return QueueTree.model_validate({"stop_s": 0, "cohorts": top, "tree": each} | tree)


def quota_scenario(rows: Sequence[Row], tree: QueueTree, nodes: int = 1000, **options: Any) -> Scenario:
    """Return jobs of one GPU a worker on so many nodes with one GPU each; a job may be on several."""
    names, groups, submit_s, gpus, work, priority = zip(*rows, strict=True)
    jobs = Workload.from_columns(
        {
            "job_id": names, "group": groups, "submit_s": submit_s, "workers": gpus, "work": work, "priority": priority,
        }
    )  # fmt: skip
    cluster = Cluster(pools=(Pool(vm=VmType(name="vm", gpus=1), count=nodes),))
    rules = SimulationRules(**{"placement": "pool", "checkpoint_s": 60.0} | options)
    return Scenario(jobs, cluster, rules, queues=tree)


def run(scenario: Scenario, seed: int = 0) -> Run:
    """Return the run under the quotas; it must be clean."""
    done = simulate(scenario, "queue-tree", seed=seed)
    assert done.audit() == []
    return done


def pieces(done: Run) -> dict[str, list[tuple[float, float]]]:
    """Return from when to when each job ran."""
    found: dict[str, list[tuple[float, float]]] = {str(name): [] for name in done.jobs.job_id}
    for job_id, start_s, end_s in (
        done.segments.groupby(["job_id", "piece"])[["start_s", "end_s"]]
        .max()
        .reset_index()[["job_id", "start_s", "end_s"]]
        .to_numpy()
    ):
        found[str(job_id)].append((float(start_s), float(end_s)))
    return found


def reasons(done: Run, job_id: str) -> list[tuple[float, str]]:
    """Return since when a job waited for which reason."""
    row = list(done.prepared.scenario.workload.job_id).index(job_id)
    waits = zip(done.log.wait_row, done.log.wait_from_s, done.log.wait_reason, strict=True)
    return [(float(from_s), WaitReason(int(code)).name) for at, from_s, code in waits if at == row]


def stops(done: Run) -> list[tuple[float, str, str, str, float]]:
    """Return the preemptions: when, which job, for which, why, and GPU-seconds lost."""
    table = done.journal.preemptions
    return [tuple(one) for one in table[["told_s", "job_id", "for_job_id", "reason", "lost_gpu_s"]].to_numpy().tolist()]
