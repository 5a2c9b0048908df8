"""``dlsched pool-sizes`` and ``--whole-nodes``: table, JSON, CSV, and one line for what is wrong."""

from __future__ import annotations

import csv
import json
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import pytest

from dlsched.cli import study_command
from dlsched.cli.main import main
from dlsched.metrics.stats.intervals import mean_interval
from dlsched.runner.executor import WorkerPool
from dlsched.studies.design import changed
from dlsched.studies.design.measures import common, times_of
from dlsched.studies.simulation import Run, simulate
from dlsched.studies.sweep.answer import Sweep, mean_at
from dlsched.workload.load import load
from dlsched.workload.scenario_file import write_scenario
from dlsched.workload.studies.modelarts import ModelArtsSpec, modelarts_scenario, on_whole_nodes
from tests.support.known import known
from tests.support.look_ahead_runs import elastic_scenario

SAMPLE = "data/samples/campus.csv"
OPTIMAL, GREEDY = "modelarts-optimal", "modelarts-greedy"


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study_command, "open_pool", lambda *_: WorkerPool(ThreadPoolExecutor(1), 1, remote=False))


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "elastic.json"
    write_scenario(elastic_scenario(), str(path))
    return str(path)


def swept(typed: list[str], capsys: pytest.CaptureFixture[str]) -> Sweep:
    assert main(["pool-sizes", *typed, "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    return Sweep.from_plain({name: plain[name] for name in Sweep.model_fields})


def test_sizes_by_mishaps_are_the_means_and_gains_of_single_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = modelarts_scenario(ModelArtsSpec(nodes=6, jobs=30, only_long=True, load_scale=2), 4)
    path = tmp_path / "drawn.json"
    write_scenario(scenario, str(path))
    answer = swept([str(path), "--nodes", "2,3", "--variants", "own,mishaps", "--futures", "2"], capsys)
    assert answer.reference == GREEDY
    assert list(answer.policies) == [OPTIMAL, GREEDY]
    assert list(map(list, answer.points)) == [[2, "own"], [2, "mishaps"], [3, "own"], [3, "mishaps"]]
    for point, (nodes, mishaps) in enumerate(product((2, 3), ("own", "mishaps"))):
        made = changed(scenario, {"nodes": nodes, "mishaps": mishaps})
        runs = [[simulate(made, policy, seed=seed) for policy in answer.policies] for seed in range(3)]
        gains = [common(*map(times_of, pair)).gain_percent / 100 for pair in runs]
        assert known(mean_at(answer, point, OPTIMAL, "gain")) == mean_interval(gains)
        for place, policy in enumerate(answer.policies):
            totals_s = [known(pair[place].metrics["jct_mean"]) for pair in runs]
            assert known(mean_at(answer, point, policy, "jct_mean")) == mean_interval(totals_s)


def test_the_table_says_what_single_runs_say(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pool-sizes", file, "--nodes", "3,6", "--policies", f"{OPTIMAL},{GREEDY}", "--futures", "0"]) == 0
    out = capsys.readouterr().out
    assert "Gain and additional jobs: compared with ModelArts, greedy" in out
    lines = [line for line in out.splitlines() if line.startswith("6 ")]
    run = simulate(elastic_scenario(), OPTIMAL)
    solved = int((run.decisions["status"] != "").sum())
    assert len(lines) == 2
    assert str(solved) in lines[0].split()


def test_json_and_csv_hold_the_same_numbers(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "a.csv"
    typed = ["--nodes", "6", "--policies", "fifo,sjf", "--variants", "baseline,estimates", "--futures", "2"]
    answer = swept([file, *typed, "--reference", "fifo", "--csv", str(out)], capsys)
    assert answer.reference == "fifo"
    with out.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["mishaps"], row["policy"], row["futures"]) for row in rows] == [
        ("baseline", "fifo", "3"), ("baseline", "sjf", "3"), ("estimates", "fifo", "3"), ("estimates", "sjf", "3"),
    ]  # fmt: skip
    assert float(rows[0]["jct_mean"]) == pytest.approx(known(mean_at(answer, 0, "fifo", "jct_mean")).mean)
    assert (float(rows[0]["jct_mean ±"]), rows[0]["audit"]) == (0, "ok")  # nothing is random there
    assert float(rows[3]["gain ±"]) >= 0


def test_sizes_and_policies_follow_from_the_scenario(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    answer = swept([file, "--policies", "fifo"], capsys)
    assert list(answer.axes[0].values) == [3, 4, 6, 8, 9, 12]
    assert list(answer.axes[1].values) == ["own"]


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        pytest.param(["--nodes", "6,6"], "values of nodes must differ", id="twice"),
        pytest.param(["--nodes", "3,x"], "invalid list of whole numbers value: '3,x'", id="no number"),
        pytest.param(["--policies", "fifa"], "no policy has this key", id="policy"),
        pytest.param(["--variants", "bugs"], "there is no variant 'bugs'", id="variant"),
        pytest.param(["--futures", "-1"], "must be at least 0, got -1", id="futures"),
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
    assert main(["pool-sizes", file, "--nodes", "6", "--policies", "fifo", "--futures", "0"]) == 1
    told = capsys.readouterr().err
    assert "violations in 1 run" in told
    assert "6 nodes, as in the scenario: two jobs on node 3" in told


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
    answer = swept([SAMPLE, *typed, "--nodes", "12", "--policies", "fifo"], capsys)
    assert answer.scenario == expected.content_hash
