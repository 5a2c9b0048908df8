"""Comparisons: differences, words, best marks, common jobs, refusals."""

from __future__ import annotations

import pandas as pd
import pytest

from dlsched.domain.errors import InputError
from dlsched.metrics.stats.basis import EXACT_BASIS, Basis
from dlsched.metrics.stats.compare import (
    Cell,
    Comparison,
    check_same_workload,
    common_jobs,
    compare,
    comparison_table,
    count_common_jobs,
    what_differs,
)

THREE = Basis(kind="drawn", futures=2)
FIFO = {"completed": 10, "wait_p95": 14_000.0, "late_share": 0.2, "vm_cost": 900.0, "allocation_ratio": 0.5}
EASY = {"completed": 10, "wait_p95": 11_600.0, "late_share": 0.2, "vm_cost": 1_000.0, "allocation_ratio": 0.6}


def cell_of(found: Comparison, key: str, name: str) -> Cell:
    row = found.row(key)
    assert row is not None
    return row.of(name)


def draws(base, **values):
    """Three draws of a run; ``values`` gives a metric by draw."""
    return [{**base, **{key: each[draw] for key, each in values.items()}} for draw in range(3)]


def test_a_single_run_of_a_trace_is_exact():
    found = compare([("FIFO", FIFO), ("EASY", EASY)], "FIFO", basis=EXACT_BASIS)
    cells = {row.kpi.key: row.of("EASY") for row in found.rows}
    assert {key: cell.verdict for key, cell in cells.items()} == {
        "completed": "same",
        "wait_p95": "better",
        "late_share": "same",
        "vm_cost": "worse",
        "allocation_ratio": "changed",
    }
    assert cells["wait_p95"].delta_text == "−40 min, better"
    assert cells["vm_cost"].delta_text == "+$100, worse"
    assert cells["allocation_ratio"].delta_text == "+10 pp"


def test_best_is_marked_and_nobody_where_all_tie_or_the_metric_is_neutral():
    found = compare([("FIFO", FIFO), ("EASY", EASY)], "FIFO", basis=EXACT_BASIS)
    best = {row.kpi.key: [cell.name for cell in row.cells if cell.best] for row in found.rows}
    assert best == {
        "completed": [],
        "wait_p95": ["EASY"],
        "late_share": [],
        "vm_cost": ["FIFO"],
        "allocation_ratio": [],
    }


def test_ties_within_the_interval_share_the_mark():
    runs = [
        ("A", draws(FIFO, wait_p95=[100.0, 200.0, 300.0])),
        ("B", draws(FIFO, wait_p95=[50.0, 152.0, 251.0])),
        ("C", draws(FIFO, wait_p95=[52.0, 150.0, 250.0])),
    ]
    row = compare(runs, "A", basis=THREE).row("wait_p95")
    assert row is not None
    assert [cell.name for cell in row.cells if cell.best] == ["B", "C"]
    assert [cell.verdict for cell in row.cells] == ["baseline", "better", "better"]


def test_an_interval_over_zero_is_not_clear_whatever_the_mean():
    found = compare(
        [("A", draws(FIFO, wait_p95=[100, 100, 100])), ("B", draws(FIFO, wait_p95=[10, 180, 90]))], "A", basis=THREE
    )
    cell = found.rows[1].of("B")
    assert cell.delta is not None
    assert cell.delta.value < 0
    assert cell.verdict == "not clear"
    assert cell.delta_text.endswith("not clear")


def test_a_difference_that_is_the_same_in_every_future_has_no_range():
    found = compare([("A", draws(FIFO, vm_cost=[1, 2, 3])), ("B", draws(FIFO, vm_cost=[11, 12, 13]))], "A", basis=THREE)
    assert cell_of(found, "vm_cost", "B").delta_text == "+$10.00, worse"


def test_a_recorded_month_speaks_first_and_its_futures_decide():
    base, better = [100.0 * (1 + k % 7) for k in range(41)], [50.0 * (1 + k % 7) for k in range(41)]
    unlike = [better[0], *(2 * value for value in base[1:])]
    runs = [("A", [{"wait_p95": v} for v in base]), ("B", [{"wait_p95": v} for v in better]),
            ("C", [{"wait_p95": v} for v in unlike])]  # fmt: skip
    found = compare(runs, "A", basis=Basis(kind="recorded", futures=40, days=28))
    cell = cell_of(found, "wait_p95", "B")
    assert (cell.text, cell.delta_text) == ("50 s (50 s to 5 min 50 s)", "−50 s, better in 40 of 40")
    assert cell_of(found, "wait_p95", "C").verdict == "mixed"
    assert cell_of(found, "wait_p95", "C").delta_text == "−50 s, but worse in 40 of 40"
    assert found.certainty == "this month as recorded and 40 months reshuffled from its days"
    few = compare([(name, each[:4]) for name, each in runs], "A", basis=found.basis)
    assert (few.certainty, cell_of(few, "wait_p95", "B").told.verdict) == (
        "4 of 41 futures so far", "better in this month",
    )  # fmt: skip


def test_one_random_draw_is_rough_and_marks_nobody():
    found = compare([("FIFO", FIFO), ("EASY", EASY)], "FIFO", basis=Basis(kind="drawn"))
    cell = cell_of(found, "wait_p95", "EASY")
    assert (cell.verdict, cell.delta_text) == ("rough", "−40 min, rough preview, 1 simulation")
    assert not any(c.best for row in found.rows for c in row.cells)


def test_missing_numbers_stay_missing_and_rows_without_any_are_left_out():
    found = compare(
        [("A", {"wait_p95": 5.0, "vm_cost": None}), ("B", {"wait_p95": None, "vm_cost": None})], "A", basis=EXACT_BASIS
    )
    assert [row.kpi.key for row in found.rows] == ["wait_p95"]
    assert found.rows[0].of("B").verdict == "missing"
    assert found.rows[0].of("B").text == "–"


def test_counts_are_compared_exactly_and_other_numbers_to_half_a_permille():
    base = {"completed": 9_383, "wait_p95": 100_000.0}
    found = compare([("A", base), ("B", {"completed": 9_382, "wait_p95": 100_040.0})], "A", basis=EXACT_BASIS)
    assert [row.of("B").verdict for row in found.rows] == ["worse", "same"]


def test_table_is_long_with_changes_as_shares_of_the_baseline():
    table = comparison_table(compare([("FIFO", FIFO), ("EASY", EASY)], "FIFO", basis=EXACT_BASIS))
    cost = table[(table["key"] == "vm_cost") & (table["name"] == "EASY")].iloc[0]
    assert cost["change"] == pytest.approx(100 / 900)
    assert (cost["delta_low"], cost["delta_high"], cost["futures"]) == (100, 100, 1)
    assert table.loc[table["name"] == "FIFO", "delta"].isna().all()


def test_refusals():
    with pytest.raises(InputError, match="'A': appears twice"):
        compare([("A", FIFO), ("A", FIFO)], "A", basis=EXACT_BASIS)
    with pytest.raises(InputError, match="baseline 'C'"):
        compare([("A", FIFO)], "C", basis=EXACT_BASIS)
    with pytest.raises(InputError, match="has 3 futures, the baseline 'A' has 1"):
        compare([("A", FIFO), ("B", [FIFO] * 3)], "A", basis=THREE)
    with pytest.raises(InputError, match=r"B has 9,383 jobs, C has 9,380\. Compare the common 9,371 jobs"):
        check_same_workload([("B", "x", 9_383), ("C", "y", 9_380)], common=9_371)
    check_same_workload([("B", "x", 9_383), ("C", "x", 9_383)])


def jobs(status, wait_s, tardiness_s):
    rows = len(status)
    frame = pd.DataFrame({"job_id": list("abc")[:rows], "status": status, "wait_s": wait_s, "tardiness_s": tardiness_s})
    return frame.assign(
        jct_s=frame["wait_s"] + 10,
        not_running_s=frame["wait_s"],
        slowdown=1.0,
        utility=float("nan"),
        tardiness_usd=0.5 * frame["tardiness_s"],
        preemptions=1,
        resizes=0,
        restarts=0,
    )


def test_only_the_jobs_all_runs_completed():
    tables = {
        "A": jobs(["completed"] * 3, [0.0, 10.0, 500.0], [0.0, 4.0, 100.0]),
        "B": jobs(["completed", "completed", "rejected"], [2.0, 4.0, None], [0.0, 0.0, None]),
    }
    common, metrics = common_jobs(tables)
    assert common == 2
    assert [metrics["A"][key] for key in ("completed", "wait_mean", "late_share", "tardiness_cost", "preemptions")] == [
        2,
        5,
        0.5,
        2,
        2,
    ]
    assert metrics["B"]["wait_p95"] == pytest.approx(3.9)
    assert metrics["A"]["utility_total"] is None
    assert "vm_cost" not in metrics["A"]
    assert cell_of(compare(list(metrics.items()), "A", basis=EXACT_BASIS), "wait_mean", "B").verdict == "better"


def test_common_jobs_of_tables_in_another_order_and_with_others():
    first = jobs(["completed"] * 3, [0.0, 10.0, 500.0], [0.0, 4.0, 100.0])
    turned = first.iloc[::-1].reset_index(drop=True).assign(status=["completed", "rejected", "completed"])
    shorter = first.iloc[1:]
    assert common_jobs({"A": first, "B": turned}) == common_jobs({"A": first, "B": turned.iloc[::-1]})
    assert count_common_jobs({"A": first, "B": turned}) == 2
    count, metrics = common_jobs({"A": first, "B": turned, "C": shorter})
    assert count == count_common_jobs({"A": first, "B": turned, "C": shorter}) == 1
    assert [of["wait_mean"] for of in metrics.values()] == [first["wait_s"].iloc[2]] * 3
    assert count_common_jobs({}) == 0


def test_common_jobs_of_runs_that_share_none():
    common, metrics = common_jobs({"A": jobs(["completed"], [1.0], [0.0]), "B": jobs(["rejected"], [None], [None])})
    assert (common, metrics["A"]["wait_mean"]) == (0, None)


def test_what_differs_names_only_what_differs():
    ours = {"policy": "fifo", "cluster": {"pools": [{"count": 8, "name": "a"}]}, "list": [1, 2]}
    theirs = {"policy": "fifo", "cluster": {"pools": [{"count": 10, "name": "a"}]}, "list": [1, 3], "new": True}
    assert what_differs({"A": ours, "B": theirs}) == [
        {"setting": "cluster.pools[0].count", "A": 8, "B": 10},
        {"setting": "list", "A": [1, 2], "B": [1, 3]},
        {"setting": "new", "A": None, "B": True},
    ]
    assert what_differs({}) == []
