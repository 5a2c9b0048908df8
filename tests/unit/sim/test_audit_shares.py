"""Who pays for rented machines and what for, by hand; the audit and the metrics agree, and a wrong number is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from dlsched.domain.cluster import Cluster, VmType
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.domain.truth import Truth, realise
from dlsched.domain.workload import Workload
from dlsched.metrics.summary import summarise
from dlsched.sim.audit import check_metrics
from dlsched.sim.log import PieceEnd, RunLog
from tests.support.logs import Ran, make_log
from tests.support.tables import jobs_table, nodes_table

BY_HAND = {
    "vm_cost": 3.0,
    # slot 1 without a job from 200 to 500 s at 0.001 $/s, slot 0 from 1400 to 1500 s at 0.002 $/s
    "idle_cost": 0.3 + 0.2,
    # busy machines cost 2.50; the GPUs held there: a 2/4 x 0.6, b 1/4 x 0.7 and 0.8, c 0.7
    "spare_cost": 2.5 - (0.3 + 0.175 + 0.8 + 0.7),
    # b restarts for 100 of its last 400 s; 70 of the 700 s of c were lost
    "restart_cost": 0.2 + 0.07,
    "gpu_hours_idle": (4 * 1000 + 2 * 500 + 4 * 1000 - (1200 + 700 + 800 + 2800)) / 3600,
    "goodput": (5500 - 2 * 100 - 4 * 70) / 5500,
    "usd_per_useful_gpu_h": 3.0 / (5020 / 3600),
    "tardiness_cost": 0.5 * 400,
    "total_cost": 203.0,
}


def run(**options: Any) -> tuple[Scenario, Truth, RunLog]:
    """Slot 0 is a k (4 GPUs, 0.001 $/s) for 1000 s and then an m (2 GPUs, 0.002 $/s); slot 1 is a k for 1000 s."""
    jobs = Workload.from_columns(
        {
            "job_id": ["a", "b", "c"],
            "submit_s": [0.0, 0.0, 150.0],
            "work": [600.0, 1000.0, 630.0],
            "workers": [2, 1, 4],
            "max_workers": [2, 2, 4],
            "due_s": [900.0, 1000.0, np.nan],
            "weight_usd_per_s": [1.0, 0.5, 1.0],
        }
    )
    kinds = (
        VmType(name="k", gpu_type="K80", gpus=4, usd_per_h=3.6),
        VmType(name="m", gpu_type="M60", gpus=2, usd_per_h=7.2),
    )
    given = Scenario(jobs, Cluster(slots=2, catalogue=kinds), SimulationRules(restart_s=100.0, **options))
    pieces = [
        Ran(0, 0, 600, {0: 2}),
        Ran(1, 300, 1000, {0: 1}, PieceEnd.RESIZED),
        Ran(1, 1000, 1400, {0: 2}, progress_from_s=1100.0),
        Ran(2, 500, 1200, {1: 4}, lost_work=70.0),
    ]
    leases = [(0, 0, 0.0, 1000.0), (0, 1, 1000.0, 1500.0), (1, 0, 200.0, 1200.0)]
    log = make_log(given, pieces, leases=leases, end_s=1500.0)
    return given, realise(given), log


def told(given: tuple[Scenario, Truth, RunLog], **wrong: Any) -> tuple[dict[str, Any], pd.DataFrame, pd.DataFrame]:
    return {**summarise(*given), **wrong}, jobs_table(*given), nodes_table(*given)


def test_hand_sums_agree_with_the_metrics_and_with_the_audit() -> None:
    given = run()
    metrics, jobs, nodes = told(given)
    assert {key: metrics[key] for key in BY_HAND} == pytest.approx(BY_HAND)
    assert jobs["cost"].tolist() == pytest.approx([0.5, 1.3, 0.7])
    assert jobs["tardiness_usd"].tolist() == pytest.approx([0, 200, 0])
    assert nodes["cost"].tolist() == pytest.approx([1.0, 1.0, 1.0])
    # jobs arrive within 150 s: slot 0 costs 0.001 x 150 in that window
    assert metrics["cost_month"] == pytest.approx(0.15 / (150 / 3600) * 30.4 * 24)
    assert check_metrics(*given, {**metrics, **BY_HAND}, jobs, nodes) == []


def test_hours_that_are_begun_are_idle_beyond_their_end() -> None:
    given = run(billing="hour")
    metrics, jobs, nodes = told(given)
    assert metrics["idle_cost"] == pytest.approx(3.6 + 7.2 + 3.6 - 2.5)
    assert check_metrics(*given, metrics, jobs, nodes) == []


@pytest.mark.parametrize("key", ["idle_cost", "spare_cost", "restart_cost", "gpu_hours_idle", "goodput", "cost_month"])
def test_wrong_numbers_are_named(key: str) -> None:
    given = run()
    metrics, jobs, nodes = told(given)
    (text,) = check_metrics(*given, {**metrics, key: metrics[key] * 1.0001}, jobs, nodes)
    assert text.startswith(f"metric {key} is")


@pytest.mark.parametrize("column", ["cost", "tardiness_usd"])
def test_wrong_shares_of_jobs_are_named(column: str) -> None:
    given = run()
    metrics, jobs, nodes = told(given)
    shifted = jobs[column].to_numpy().copy()
    shifted += [0.01, -0.01, 0.0]  # the sum is right
    texts = check_metrics(*given, metrics, jobs.assign(**{column: shifted}), nodes)
    assert [text.split(": ", 1)[1].split(" is")[0] for text in texts] == [
        f"jobs table, job a: {column}",
        f"jobs table, job b: {column}",
    ]


def test_a_wrong_machine_type_in_the_bill_is_named() -> None:
    given = run()
    metrics, jobs, nodes = told(given)
    nodes.loc[1, "vm_type"] = "k"
    (text,) = check_metrics(*given, metrics, jobs, nodes)
    assert "the lease of node 0 differs from the log's m" in text
    assert "has 2 rows, but the log has 3 leases" in check_metrics(*given, metrics, jobs, nodes[:2])[-1]


def test_no_run_is_cheaper_than_what_is_said_to_be_least() -> None:
    given = run()
    metrics, jobs, nodes = told(given)
    (text,) = check_metrics(*given, {**metrics, "total_cost_bound": 203.1}, jobs, nodes)
    assert text == "metric total_cost_bound is 203.1, above total_cost 203"


@pytest.mark.parametrize(
    ("key", "value", "bound", "words"),
    [
        pytest.param("jct_mean", None, 1e6, "above", id="jct_mean"),
        pytest.param("tardiness_total", None, 1e6, "above", id="tardiness_total"),
        pytest.param("utility_total", 5.0, 4.0, "below", id="utility_total"),
    ],
)
def test_no_run_is_better_than_what_is_said_to_be_possible(
    key: str, value: float | None, bound: float, words: str
) -> None:
    given = run()
    metrics, jobs, nodes = told(given)
    changed = {**metrics, f"{key}_bound": bound} | ({} if value is None else {key: value})
    texts = check_metrics(*given, changed, jobs, nodes)
    assert f"metric {key}_bound is {bound:.10g}, {words} {key} {changed[key]:.10g}" in texts
