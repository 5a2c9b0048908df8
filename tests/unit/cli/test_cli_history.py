"""The command history: what it prints, its JSON and its CSV."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from dlsched.cli.main import main

LOG = """job_id,submit_s,run_s,gpus,user,partition,recorded_start_s,status
a,0,7200,4,=ann,fast,0,completed
b,0,14400,2,bob,slow,1800,failed
c,3600,3600,4,=ann,fast,18000,completed
"""


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "log.csv"
    path.write_text(LOG)
    return str(path)


def test_it_says_who_waited_and_what_it_cost(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", log, "--price", "2"]) == 0
    text = capsys.readouterr().out
    assert "3 jobs waited 30 min at the median" in text
    assert "20 GPU-hours" in text
    assert "$40" in text
    assert "as entered" in text
    assert "too short to tell idle hours" in text


def test_json_is_one_object(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", log, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["total"]["used"]["gpu_h"] == 20
    assert answer["prices"]["is_example"] is True
    assert sorted(answer["groups"]) == ["month", "partition", "user"]


def test_csv_has_a_row_for_each_group_and_no_formula(
    log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.csv"
    assert main(["history", log, "--by", "user", "--csv", str(out)]) == 0
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert [(row["by"], row["name"]) for row in rows] == [("user", "'=ann"), ("user", "bob"), ("all", "all jobs")]
    assert sum(float(row["usd"]) for row in rows[:2]) == pytest.approx(float(rows[2]["usd"]))
    assert main(["history", log, "--csv", str(out)]) == 0
    assert {row["by"] for row in csv.DictReader(out.read_text().splitlines())} == {"user", "partition", "month", "all"}


def test_a_column_that_is_not_there_is_named(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", log, "--by", "group"]) == 2
    assert "the log has no such column" in capsys.readouterr().err
    assert main(["history", "data/samples/campus.csv"]) == 2
    assert "no recorded start" in capsys.readouterr().err
