"""Runs with quotas by hand: the tables of a journal for two teams that borrow from each other."""

from __future__ import annotations

import pandas as pd

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.queue_lookup import QuotaClock
from dlsched.domain.queue_tree import Cohort, Queue, QueueTree, Quota
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Workload
from dlsched.metrics.journal_tables import QuotaTables
from dlsched.studies.inspect.queues.answer import Queues
from dlsched.studies.inspect.queues.run import RunTables, queues_of_tables

TEAMS = QueueTree(
    cohorts={"research": Cohort()},
    tree={
        "vision": Queue(parent="research", reclaim="any", quota=(Quota(flavor="all", nominal=8),)),
        "language": Queue(parent="research", reclaim="any", quota=(Quota(flavor="all", nominal=8),)),
    },
)
"""Eight GPUs each, in one cohort."""


def tables_of_teams() -> RunTables:
    """Return the tables of a run: v1, v2 (4 GPUs, 400 s) and v3 of vision, which borrows; l1 (8 GPUs, 200 s) takes its
    quota back, and v3 loses 20 s of work on 4 GPUs.
    """
    holds = pd.DataFrame(
        [("v1", 0, "vision", 0.0, 400.0, 4.0, 0.0), ("v2", 1, "vision", 10.0, 410.0, 4.0, 0.0),
         ("v3", 2, "vision", 20.0, 100.0, 4.0, 4.0), ("l1", 3, "language", 100.0, 300.0, 8.0, 0.0),
         ("v3", 2, "vision", 300.0, 640.0, 4.0, 4.0)],
        columns=["job_id", "row", "queue", "from_s", "to_s", "amount", "borrowed"],
    ).assign(flavor="all", resource="gpus", lender="research", level=1)  # fmt: skip
    preemptions = pd.DataFrame(
        [(100.0, 100.0, True, "v3", 2, "vision", "l1", 3, "language", "reclaim", 80.0, 0)],
        columns=["told_s", "left_s", "stopped", "job_id", "row", "queue", "for_job_id", "for_row", "for_queue",
                 "reason", "lost_gpu_s", "earlier"],
    )  # fmt: skip
    jobs = pd.DataFrame(
        {
            "job_id": ["v1", "v2", "v3", "l1"], "submit_s": [0.0, 10, 15, 70], "first_start_s": [0.0, 10, 20, 100],
            "left_s": [400.0, 410, 640, 300], "wait_s": [0.0, 0, 5, 30], "gpus": [4.0, 4, 4, 8],
        }
    )  # fmt: skip
    waits = pd.DataFrame(
        [(2, 15.0, 20.0, "over_quota"), (3, 70.0, 90.0, "quota_lent"), (3, 90.0, 98.0, "leaving"),
         (2, 100.0, 300.0, "over_quota")],
        columns=["row", "from_s", "to_s", "reason"],
    )  # fmt: skip
    journal = QuotaTables(holds, preemptions)
    return RunTables(journal, jobs, waits, ["vision"] * 3 + ["language"], 640.0)


def queues_of_teams() -> Queues:
    """Return the answer about that run."""
    return queues_of_tables(QuotaClock(TEAMS), tables_of_teams(), scenario_of_teams())


def scenario_of_teams() -> Scenario:
    """Return the scenario of that run."""
    jobs = Workload.from_columns(
        {
            "job_id": ["v1", "v2", "v3", "l1"],
            "submit_s": [0.0, 10.0, 15.0, 70.0],
            "work": [400.0, 400.0, 400.0, 200.0],
            "workers": [4, 4, 4, 8],
            "group": ["vision", "vision", "vision", "language"],
        }
    )
    cluster = Cluster(pools=(Pool(vm=VmType(name="node", gpus=8), count=2),))
    return Scenario(workload=jobs, cluster=cluster, name="Two teams", queues=TEAMS)
