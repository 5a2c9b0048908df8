"""The journal as tables, by hand."""

from __future__ import annotations

import dataclasses
import math

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.journal import Evicted, QuotaFreed, QuotaHeld, Told
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Workload
from dlsched.metrics.journal_tables import quota_tables
from dlsched.metrics.run_facts import RunFacts
from dlsched.sim.log import PieceEnd
from tests.support.logs import Ran, facts_inputs

PIECES = (
    Ran(0, 0, 60, {0: 4}, PieceEnd.PREEMPTED, lost_work=10),
    Ran(1, 0, 50, {1: 4}),
    Ran(2, 70, 120, {0: 4}),
    Ran(0, 120, 180, {0: 4}),
)
JOURNAL = (
    (0.0, QuotaHeld(0, "vision", "all", "gpus", 4.0, 2.0, "research", 1)),
    (0.0, QuotaHeld(1, "language", "all", "gpus", 4.0, 0.0, "", 0)),
    (30.0, Told(0, "vision", 2, "language", "reclaim")),
    (40.0, Told(1, "language", 2, "language", "in-queue")),
    (50.0, QuotaFreed(1)),
    (60.0, QuotaFreed(0)),
    (60.0, Evicted(0, "checkpoint")),
    (70.0, QuotaHeld(2, "language", "all", "gpus", 4.0, 0.0, "", 0)),
    (120.0, QuotaFreed(2)),
    (120.0, QuotaHeld(0, "vision", "all", "gpus", 4.0, 2.0, "research", 1)),
    (150.0, Told(0, "vision", 2, "language", "reclaim")),
)


def facts() -> RunFacts:
    jobs = Workload.from_columns(
        {"job_id": ["a", "b", "c"], "submit_s": [0, 0, 30], "work": [110, 50, 50], "workers": [4, 4, 4]}
    )
    cluster = Cluster(pools=(Pool(vm=VmType(name="box", gpus=4), count=2),))
    scenario, truth, log = facts_inputs(Scenario(jobs, cluster), PIECES, {})
    return RunFacts(scenario, truth, dataclasses.replace(log, journal=JOURNAL))


def test_holds_last_until_they_are_freed_or_the_run_ends():
    holds = quota_tables(facts()).holds
    assert holds[["job_id", "from_s", "to_s", "borrowed", "lender", "level"]].to_numpy().tolist() == [
        ["a", 0, 60, 2, "research", 1],
        ["b", 0, 50, 0, "", 0],
        ["c", 70, 120, 0, "", 0],
        ["a", 120, 180, 2, "research", 1],
    ]


def test_a_preemption_says_what_it_cost_and_whether_the_job_was_stopped_at_all():
    stops = quota_tables(facts()).preemptions
    wanted = ["told_s", "left_s", "stopped", "job_id", "for_job_id", "for_queue", "reason", "lost_gpu_s", "earlier"]
    first, second, third = stops[wanted].to_numpy().tolist()
    assert first == [30, 60, True, "a", "c", "language", "reclaim", 40, 0]
    assert second == [40, 50, False, "b", "c", "language", "in-queue", 0, 0]  # it ended before it had to leave
    assert math.isnan(third.pop(1))
    assert third == [150, False, "a", "c", "language", "reclaim", 0, 1]


def test_policies_without_quotas_have_empty_tables():
    given = facts()
    tables = quota_tables(RunFacts(given.scenario, given.truth, dataclasses.replace(given.log, journal=())))
    assert [len(table) for table in tables] == [0, 0]
    assert "lost_gpu_s" in tables.preemptions
