"""``dlsched pool-sizes`` and ``--whole-nodes``: table, JSON, CSV, and one line for what is wrong."""

from __future__ import annotations

import csv
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dlsched.cli import compute
from dlsched.cli.main import main
from dlsched.runner.executor import Pool
from dlsched.studies.pool_sizes.answer import PoolSizes
from dlsched.studies.simulation import Run, simulate
from dlsched.workload.load import load
from dlsched.workload.scenario_file import write_scenario
from dlsched.workload.studies.modelarts import on_whole_nodes
from tests.support.look_ahead_runs import elastic_scenario

SAMPLE = "data/samples/campus.csv"


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compute, "open_pool", lambda *_: Pool(ThreadPoolExecutor(1), 1, remote=False))


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "elastic.json"
    write_scenario(elastic_scenario(), str(path))
    return str(path)


def test_the_table_says_what_single_runs_say(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pool-sizes", file, "--nodes", "3,6", "--policies", "modelarts-optimal,modelarts-greedy"]) == 0
    out = capsys.readouterr().out
    assert "6 nodes at present; exact for these jobs: nothing is random" in out
    assert "Gain: by how much longer jobs take under ModelArts, greedy" in out
    lines = [line for line in out.splitlines() if line.startswith("6 ")]
    run = simulate(elastic_scenario(), "modelarts-optimal")
    solved = int((run.decisions["status"] != "").sum())
    assert len(lines) == 2
    assert f"{solved} of {solved}" in lines[0]
    assert "+" in lines[0]


def test_json_and_csv_hold_the_same_numbers(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "a.csv"
    typed = ["--nodes", "6", "--policies", "fifo,sjf", "--variants", "baseline,estimates", "--draws", "3"]
    assert main(["pool-sizes", file, *typed, "--reference", "fifo", "--json", "--csv", str(out)]) == 0
    answer = PoolSizes.from_plain(json.loads(capsys.readouterr().out))
    assert answer.reference == "fifo"
    assert answer.exact == ("baseline",)
    with out.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["goes wrong"], row["policy"], row["draws"]) for row in rows] == [
        ("baseline", "FIFO", "1"), ("baseline", "SJF", "1"), ("estimates", "FIFO", "3"), ("estimates", "SJF", "3"),
    ]  # fmt: skip
    assert float(rows[0]["total time, s"]) == pytest.approx(answer.cells[0].draws[0].total_mean_s)
    assert (rows[0]["total time, s ±"], rows[0]["audit"]) == ("", "ok")
    assert float(rows[3]["gain, % ±"]) >= 0


def test_sizes_follow_from_the_scenario(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pool-sizes", file, "--policies", "fifo", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["nodes"] == [3, 4, 6, 9, 12]


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        pytest.param(["--nodes", "6,3"], "nodes must ascend", id="descending"),
        pytest.param(["--nodes", "3,x"], "invalid list of whole numbers value: '3,x'", id="no number"),
        pytest.param(["--policies", "fifa"], "there is no policy with this key", id="policy"),
        pytest.param(["--variants", "bugs"], "there is no variant 'bugs'", id="variant"),
        pytest.param(["--draws", "0"], "must be at least 1, got 0", id="draws"),
        pytest.param(["--csv", "/nowhere/a.csv", "--nodes", "6", "--policies", "fifo"], "cannot be written", id="csv"),
    ],
)
def test_bad_input_is_told_in_one_line(
    typed: list[str], message: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = main(["pool-sizes", file, *typed])
    except SystemExit as left:
        status = int(str(left.code))
    assert status == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


def test_a_complaint_of_the_auditor_is_told(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Run, "audit", lambda _: ["two jobs on node 3"])
    assert main(["pool-sizes", file, "--nodes", "6", "--policies", "fifo"]) == 1
    assert "violations in 1 run, first fifo on 6 nodes, draw 0, two jobs on node 3" in capsys.readouterr().err


@pytest.mark.parametrize(("typed", "nodes"), [(["--whole-nodes"], None), (["--whole-nodes", "14"], 14)])
def test_jobs_go_on_whole_nodes_wherever_a_scenario_is_made(
    typed: list[str], nodes: int | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = on_whole_nodes(load(SAMPLE), nodes)
    path = tmp_path / "s.json"
    assert main(["scenario", SAMPLE, *typed, "--write", str(path)]) == 0
    assert load(str(path)).content_hash == expected.content_hash
    capsys.readouterr()
    assert main(["import", SAMPLE, "--check", "--json", *typed]) == 0
    assert json.loads(capsys.readouterr().out)["scenario_hash"] == expected.content_hash
    assert main(["pool-sizes", SAMPLE, *typed, "--nodes", "12", "--policies", "fifo", "--json"]) == 0
    answer = PoolSizes.from_plain(json.loads(capsys.readouterr().out))
    assert (answer.scenario, answer.unit) == (expected.content_hash, "node")
