"""What a memo says of the recorded log behind it: sentences and the chargeback table, also in HTML and workbook."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO
from typing import Any

import pytest
from openpyxl import load_workbook

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Workload
from dlsched.report.happened import MOST_GROUPS, Happened, happened_in
from dlsched.report.html import to_html
from dlsched.report.xlsx import HAPPENED, to_xlsx
from tests.support.memos import full_memo

H = 3600.0


def log(jobs: int = 3, **more: Any) -> Scenario:
    """Return jobs of an hour on 2 GPUs, each of a user of its own, waiting half an hour."""
    rows = range(jobs)
    columns = {
        "job_id": [f"j{i}" for i in rows], "submit_s": [i * H for i in rows], "work": [H] * jobs,
        "gpus_per_worker": [2] * jobs, "user": ["=SUM(A1)", "<b>bob</b>", *(f"u{i}" for i in rows)][:jobs],
        "recorded_start_s": [i * H + 1800 for i in rows],
    }  # fmt: skip
    cluster = Cluster(pools=(Pool(vm=VmType(name="n", gpus=4, usd_per_h=4.0), count=1),))
    return Scenario(Workload.from_columns(columns), cluster, **more)


def found_in(scenario: Scenario, **how: Any) -> Happened:
    found = happened_in(scenario, **how)
    assert found is not None
    return found


def test_it_has_the_table_of_who_pays() -> None:
    found = found_in(log())
    assert found.head[:3] == ["user", "jobs", "GPU-hours"]
    assert [row[0] for row in found.cells()] == ["<b>bob</b>", "=SUM(A1)", "u0", "total", "idle (not charged)"]
    assert sum(row["cost ($)"] for row in found.rows[:3]) == pytest.approx(found.rows[3]["cost ($)"]) == 6.0
    assert "waited 30 min at the median" in found.sentences[0]


def test_names_can_be_hidden() -> None:
    cells = found_in(log(), hide_names=True).cells()
    assert [row[0] for row in cells[:4]] == ["A", "B", "C", "total"]


def test_many_groups_are_folded() -> None:
    found = found_in(log(30))
    assert len(found.rows) == MOST_GROUPS + 3
    assert found.rows[MOST_GROUPS]["user"] == "10 others"
    assert sum(row["GPU-hours"] for row in found.rows[: MOST_GROUPS + 1]) == found.rows[MOST_GROUPS + 1]["GPU-hours"]


def test_without_a_log_there_is_no_section() -> None:
    assert happened_in(log().replace(generator={"kind": "job-mix"})) is None
    assert happened_in(log(), most_jobs=2) is None
    plain = log().workload.with_columns(recorded_start_s=None)
    assert happened_in(log().replace(workload=plain)) is None
    assert "What happened" not in to_html(full_memo())


def test_html_and_workbook_show_it_and_run_nothing() -> None:
    memo = replace(full_memo(), happened=found_in(log()))
    page = to_html(memo)
    assert "<h2>What happened</h2>" in page
    assert "&lt;b&gt;bob&lt;/b&gt;" in page
    assert "<b>bob</b>" not in page
    sheet = load_workbook(BytesIO(to_xlsx(memo)))[HAPPENED]
    cells = [[cell.value for cell in row] for row in sheet.iter_rows()]
    names = [row[0] for row in cells]
    assert "=SUM(A1)" in names
    assert all(cell.data_type != "f" for row in sheet.iter_rows() for cell in row)
    total = next(row for row in cells if row[0] == "total")
    assert total[1:3] == [3, 6]
