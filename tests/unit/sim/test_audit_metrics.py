"""Metrics and tables audited: right numbers pass, each wrong one is named; the recomputation agrees with hand sums."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.truth import Truth, realise
from dlsched.domain.workload import Workload
from dlsched.metrics.summary import summarise
from dlsched.sim.audit import check_metrics
from dlsched.sim.log import JobStatus, PieceEnd, RunLog
from dlsched.studies.simulation import simulate
from tests.support.logs import Ran, make_log
from tests.support.tables import jobs_table, nodes_table


class AuditedRun(NamedTuple):
    """What is audited."""

    scenario: Scenario
    truth: Truth
    log: RunLog
    metrics: dict[str, Any]
    jobs: pd.DataFrame
    nodes: pd.DataFrame

    def wrong(self, **metrics: Any) -> list[str]:
        """Return what the audit finds when these metrics are told instead."""
        return check_metrics(self.scenario, self.truth, self.log, {**self.metrics, **metrics}, self.jobs, self.nodes)


def run(**options: Any) -> tuple[Scenario, Truth, RunLog]:
    """Two completed jobs (the second 400 s late), one rejected, one unfinished; the run lasts 3600 s.

    Node 0 costs 3.60 $/h, node 1 7.20 $/h; node 1 is away, unpaid, for 1800 s in two absences that overlap.
    """
    jobs = Workload.from_columns(
        {
            "job_id": ["a", "b", "c", "d"],
            "submit_s": [0.0, 100.0, 200.0, 300.0],
            "work": [1000.0, 400.0, 50.0, 9000.0],
            "workers": [4, 2, 1, 1],
            "due_s": [2000.0, 500.0, 300.0, np.nan],
            "weight_usd_per_s": [1.0, 0.25, 9.0, 2.0],
            "utility_1": [8.0, 10.0, 1.0, 1.0],
            "utility_2": [1.0, 0.0, 1.0, 1e6],
            "utility_3": [10.0, 1.0, 1.0, 1.0],
        }
    )
    pools = tuple(Pool(vm=VmType(name=n, gpus=4, usd_per_h=usd), count=1) for n, usd in (("x", 3.6), ("y", 7.2)))
    away = [(0.0, 1000.0), (600.0, 1800.0)]
    absences = tuple(Absence(node=1, start_s=s, end_s=e, cause="maintenance") for s, e in away)
    cluster = Cluster(pools=pools, absences=absences)
    rules = {"rejection_usd": 5.0, "horizon_s": 3600.0, "utility_unit_s": 100.0} | options
    given = Scenario(jobs, cluster, SimulationRules(**rules))
    pieces = [
        Ran(0, 0, 500, {0: 4}, PieceEnd.PREEMPTED),
        Ran(1, 500, 900, {0: 2}),
        Ran(0, 900, 1400, {0: 4}),
        Ran(3, 2000, 3600, {1: 1}, PieceEnd.RUN_ENDED),
    ]
    log = make_log(given, pieces, {2: (JobStatus.REJECTED, 250.0)}, end_s=3600.0)
    return given, realise(given), log


def audited(**options: Any) -> AuditedRun:
    return as_measured(*run(**options))


def as_measured(scenario: Scenario, truth: Truth, log: RunLog) -> AuditedRun:
    """Return a run with the metrics and tables of its log."""
    given = (scenario, truth, log)
    return AuditedRun(*given, dict(summarise(*given)), jobs_table(*given), nodes_table(*given))


def test_hand_sums_agree() -> None:
    """VM 3.60 + 7.20 / 2, tardiness 400 s x 0.25 $/s, one rejection of 5 $; u(a) = 8 / (1 + e^4), u(b) = 10 / 2."""
    told = audited()
    by_hand = {
        "vm_cost": 7.2,
        "usd_per_job": 7.2 / 2,
        "tardiness_total": 400.0,
        "tardiness_cost": 100.0,
        "rejection_cost": 5.0,
        "total_cost": 112.2,
        "late_jobs": 1,
        "late_share": 0.5,
        "utility_total": 8 / (1 + np.exp(4)) + 5.0,
        "jct_mean": (1400 + 800) / 2,
        "wait_mean": (0 + 400 + 1700) / 3,
        "allocation_ratio": (4 * 1000 + 2 * 400 + 1 * 1600) / (4 * (3600 + 1800)),
        "preemptions": 1,
    }
    assert {key: told.metrics[key] for key in by_hand} == pytest.approx(by_hand)
    assert told.wrong(**by_hand) == []


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        # one slot of 1000 s: "a" ends in slot 1 (units of 100 s: 10), "b" arrived in slot 0 and ends in slot 0
        ({"utility_clock": "slots", "slot_s": 1000.0}, {"utility_total": 8 / 2 + 5.0}),
        ({"billing": "hour"}, {"vm_cost": 3.6 + 7.2}),
    ],
)
def test_clocks_and_billing(options: dict[str, Any], expected: dict[str, float]) -> None:
    told = audited(**options)
    assert {key: told.metrics[key] for key in expected} == pytest.approx(expected)
    assert told.wrong() == []


@pytest.mark.parametrize(
    "key",
    [
        *("jobs", "completed", "rejected", "unfinished", "cancelled", "failed", "preemptions", "resizes"),
        *("jct_mean", "wait_mean", "allocation_ratio", "tardiness_total", "tardiness_cost", "late_jobs", "late_share"),
        *("vm_cost", "usd_per_job", "rejection_cost", "total_cost", "utility_total"),
    ],
)
def test_wrong_metric_is_named(key: str) -> None:
    told = audited()
    wrong = told.wrong(**{key: told.metrics[key] * 1.00001 + 1e-5})
    assert [text.split(" is ")[0] for text in wrong] == [f"metric {key}"]
    assert told.wrong(**{key: None})[0].startswith(f"metric {key} is None")
    del told.metrics[key]
    assert told.wrong() == [f"metric {key} is missing"]


def add(table: pd.DataFrame, row: int, column: str, amount: float) -> None:
    """Change one number of a table."""
    values = table[column].to_numpy(dtype=float).copy()
    values[row] += amount
    table[column] = values


@pytest.mark.parametrize("column", ["wait_s", "jct_s", "tardiness_s", "utility", "completion_s"])
def test_wrong_job_column_is_named(column: str) -> None:
    told = audited()
    add(told.jobs, 1, column, 0.01)
    (wrong,) = told.wrong()
    assert f"jobs table, job b: {column} is" in wrong


def test_wrong_status_and_rows_are_named() -> None:
    told = audited()
    assert "4 jobs of the workload" in told._replace(jobs=told.jobs[:3]).wrong()[0]
    assert "4 jobs of the workload in order" in told._replace(jobs=told.jobs.iloc[[1, 0, 2, 3]]).wrong()[0]
    told.jobs.loc[2, "status"] = "failed"
    assert told.wrong() == ["at 250 s: jobs table, job c: status failed, log rejected"]


def test_wrong_bills_are_named() -> None:
    told = audited()
    add(told.nodes, 1, "cost", 0.01)
    assert told.wrong() == ["nodes table, node 1: cost 3.61, recomputed 3.6"]
    told = audited()
    add(told.jobs, 0, "cost", -10.0)
    (wrong,) = told.wrong()
    # node 0 alone for 1000 s
    assert wrong.endswith("jobs table, job a: cost is -9, recomputed 1")


def test_absences_that_are_billed() -> None:
    given, truth, log = run()
    absences = tuple(absence.model_copy(update={"billed": True}) for absence in given.cluster.absences)
    paid = given.replace(cluster=given.cluster.model_copy(update={"absences": absences}))
    told = as_measured(paid, truth, log)
    assert told.metrics["vm_cost"] == pytest.approx(10.8)
    assert told.wrong() == []


def test_without_prices_there_is_no_bill() -> None:
    given, truth, log = run()
    free = [pool.vm.model_copy(update={"usd_per_h": None}) for pool in given.cluster.pools]
    pools = tuple(pool.model_copy(update={"vm": vm}) for pool, vm in zip(given.cluster.pools, free, strict=True))
    told = as_measured(given.replace(cluster=given.cluster.model_copy(update={"pools": pools})), truth, log)
    assert told.metrics["vm_cost"] is None
    assert told.wrong() == []
    assert "metric total_cost is 0" in told.wrong(total_cost=0.0)[0]


def test_leases_that_follow_each_other_within_an_instant_may_be_billed_as_one():
    """Since 1970 an instant is 1.6e-3 s: which of the two machine types is under a job of 5e-6 s cannot be told."""
    types = [VmType(name=name, gpu_type=name, gpus=1, usd_per_h=usd) for name, usd in (("x", 3.6), ("y", 720.0))]
    jobs = Workload.from_columns(
        {"job_id": [*"abcd"], "submit_s": [1.6e9 + 2e-6, 1.6e9, 1.6e9, 1.6e9], "work": [4e-6, 1e-6, 5e-6, 6e-6]}
        | {"gpu_types": ["x", "y", "y", ""]}
    )
    found = simulate(Scenario(jobs, Cluster(slots=2, catalogue=tuple(types))), "fifo")
    assert found.audit() == []


def test_parts_of_a_bill_are_as_exact_as_the_bill():
    jobs = Workload.from_columns({"job_id": ["a"], "submit_s": [0.0], "work": [1000.0], "workers": [4]})
    node = Pool(vm=VmType(name="x", gpus=4, usd_per_h=3.6e9), count=1)
    scenario = Scenario(jobs, Cluster(pools=(node,)))
    full = as_measured(scenario, realise(scenario), make_log(scenario, [Ran(0, 0, 1000, {0: 4})]))
    assert (full.metrics["vm_cost"], full.metrics["idle_cost"]) == (1e9, 0)
    for part in ("idle_cost", "spare_cost", "restart_cost"):
        assert full.wrong(**{part: 0.5}) == []
        assert any(part in line for line in full.wrong(**{part: 2.0}))
