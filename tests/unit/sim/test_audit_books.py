"""The books audited: right numbers pass, each wrong number is named, and the recomputation agrees with hand sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.scenario import Options, Scenario
from dlsched.domain.truth import Truth, realise
from dlsched.domain.workload import Workload
from dlsched.metrics.summary import summarise
from dlsched.metrics.tables import jobs_table, nodes_table
from dlsched.sim.audit import audit_books
from dlsched.sim.log import JobStatus, PieceEnd, RunLog
from tests.support.logs import Ran, make_log

Books = tuple[Scenario, Truth, RunLog, dict[str, Any], pd.DataFrame, pd.DataFrame]


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
    given = Scenario(jobs, cluster, Options(**rules))
    pieces = [
        Ran(0, 0, 500, {0: 4}, PieceEnd.PREEMPTED),
        Ran(1, 500, 900, {0: 2}),
        Ran(0, 900, 1400, {0: 4}),
        Ran(3, 2000, 3600, {1: 1}, PieceEnd.RUN_ENDED),
    ]
    log = make_log(given, pieces, {2: (JobStatus.REJECTED, 250.0)}, end_s=3600.0)
    return given, realise(given), log


def books(**options: Any) -> Books:
    given = run(**options)
    return (*given, dict(summarise(*given)), jobs_table(*given), nodes_table(*given))


def test_hand_sums_agree() -> None:
    """VM 3.60 + 7.20 / 2, tardiness 400 s x 0.25 $/s, one rejection of 5 $; u(a) = 8 / (1 + e^4), u(b) = 10 / 2."""
    *given, metrics, jobs, nodes = books()
    by_hand = {
        "vm_cost": 7.2,
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
    assert {key: metrics[key] for key in by_hand} == pytest.approx(by_hand)
    assert audit_books(*given, {**metrics, **by_hand}, jobs, nodes) == []


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        # one slot of 1000 s: "a" ends in slot 1 (units of 100 s: 10), "b" arrived in slot 0 and ends in slot 0
        ({"utility_clock": "slots", "slot_s": 1000.0}, {"utility_total": 8 / 2 + 5.0}),
        ({"billing": "hour"}, {"vm_cost": 3.6 + 7.2}),
    ],
)
def test_clocks_and_billing(options: dict[str, Any], expected: dict[str, float]) -> None:
    *given, metrics, jobs, nodes = books(**options)
    assert {key: metrics[key] for key in expected} == pytest.approx(expected)
    assert audit_books(*given, metrics, jobs, nodes) == []


@pytest.mark.parametrize(
    "key",
    [
        *("jobs", "completed", "rejected", "unfinished", "cancelled", "failed", "preemptions", "resizes"),
        *("jct_mean", "wait_mean", "allocation_ratio", "tardiness_total", "tardiness_cost", "late_jobs", "late_share"),
        *("vm_cost", "rejection_cost", "total_cost", "utility_total"),
    ],
)
def test_wrong_metric_is_named(key: str) -> None:
    *given, metrics, jobs, nodes = books()
    wrong = audit_books(*given, {**metrics, key: metrics[key] * 1.00001 + 1e-5}, jobs, nodes)
    assert [text.split(" is ")[0] for text in wrong] == [f"metric {key}"]
    assert audit_books(*given, {**metrics, key: None}, jobs, nodes)[0].startswith(f"metric {key} is None")
    left = {name: value for name, value in metrics.items() if name != key}
    assert audit_books(*given, left, jobs, nodes) == [f"metric {key} is missing"]


@pytest.mark.parametrize("column", ["wait_s", "jct_s", "tardiness_s", "utility", "completion_s"])
def test_wrong_job_column_is_named(column: str) -> None:
    *given, metrics, jobs, nodes = books()
    jobs.loc[1, column] += 0.01
    (wrong,) = audit_books(*given, metrics, jobs, nodes)
    assert f"jobs table, job b: {column} is" in wrong


def test_wrong_status_and_rows_are_named() -> None:
    *given, metrics, jobs, nodes = books()
    assert "4 jobs of the workload" in audit_books(*given, metrics, jobs[:3], nodes)[0]
    jobs.loc[2, "status"] = "failed"
    assert audit_books(*given, metrics, jobs, nodes) == ["at 250 s: jobs table, job c: status failed, log rejected"]


def test_wrong_bills_are_named() -> None:
    *given, metrics, jobs, nodes = books()
    nodes.loc[1, "cost"] += 0.01
    assert audit_books(*given, metrics, jobs, nodes) == ["nodes table, node 1: cost 3.61, recomputed 3.6"]
    *given, metrics, jobs, nodes = books()
    jobs.loc[0, "cost"] -= 10.0
    wrong = audit_books(*given, metrics, jobs, nodes)
    assert any("the bill is 7.2" in text for text in wrong)
    assert any("job a: cost" in text and "below zero" in text for text in wrong)


def test_absences_that_are_billed() -> None:
    given, truth, log = run()
    absences = tuple(a.model_copy(update={"billed": True}) for a in given.cluster.absences)
    paid = given.replace(cluster=given.cluster.model_copy(update={"absences": absences}))
    metrics, tables = summarise(paid, truth, log), (jobs_table(paid, truth, log), nodes_table(paid, truth, log))
    assert metrics["vm_cost"] == pytest.approx(10.8)
    assert audit_books(paid, truth, log, metrics, *tables) == []


def test_without_prices_there_is_no_bill() -> None:
    given, truth, log = run()
    pools = tuple(
        pool.model_copy(update={"vm": pool.vm.model_copy(update={"usd_per_h": None})}) for pool in given.cluster.pools
    )
    free = given.replace(cluster=given.cluster.model_copy(update={"pools": pools}))
    metrics, tables = summarise(free, truth, log), (jobs_table(free, truth, log), nodes_table(free, truth, log))
    assert metrics["vm_cost"] is None
    assert audit_books(free, truth, log, metrics, *tables) == []
    assert "metric total_cost is 0" in audit_books(free, truth, log, {**metrics, "total_cost": 0.0}, *tables)[0]
