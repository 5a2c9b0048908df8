"""``dlsched sweep``: table, JSON, CSV, the store, and one line for what is wrong."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from dlsched.cli.main import main
from dlsched.domain.scenario import SimulationRules
from dlsched.studies.design import changed
from dlsched.studies.simulation import simulate
from dlsched.studies.sweep.answer import Sweep
from dlsched.workload.scenario_file import write_scenario
from tests.support.runs_for_store import small_scenario

SCENARIO = small_scenario(12, options=SimulationRules(estimate_error=0.5, restart_s=1.0))
TYPED = ("--vary", "nodes=1,2", "--policies", "fifo,sjf", "--processes", "1")


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "s.json"
    write_scenario(SCENARIO, str(path))
    return str(path)


def test_the_table_has_means_differences_regret_and_frontier(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", file, *TYPED, "--futures", "2", "--metrics", "jct_mean,vm_cost"]) == 0
    out = capsys.readouterr().out
    assert "four jobs: 12 runs computed; 95% interval over 3 simulated versions of the workload" in out
    assert "Mean turnaround time vs. FIFO" in out
    assert "Regret (Mean turnaround time): the gap to the best policy at each point; * marks the least regret" in out
    assert "Best trade-offs of Machine cost and Mean turnaround time: " in out
    regret = out.split("Regret (")[1].splitlines()
    assert [line.split()[0] for line in regret[2:4]] == ["FIFO", "SJF"]
    assert sum(line.endswith("*") for line in regret) >= 1


def test_what_nobody_chooses_dominates_nothing(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    grid = ["--vary", "nodes=1,2", "--vary", "prices=1,2", "--policies", "fifo", "--processes", "1"]
    assert main(["sweep", file, *grid, "--metrics", "jct_mean,vm_cost"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Best trade-offs")]
    assert len(lines) == 2  # at each price the sizes compete with each other; the higher price is no worse a choice
    assert ["prices unchanged" in line for line in lines] == [True, False]
    assert ["prices 2x" in line for line in lines] == [False, True]
    single = ["--vary", "prices=2", "--vary", "arrivals=2", "--one-at-a-time", "--policies", "fifo,sjf"]
    assert main(["sweep", file, *single, "--metrics", "jct_mean,vm_cost", "--processes", "1"]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("Best trade-offs"))
    assert line.count("(") == line.count("(as it is)")


def test_json_and_csv_say_what_single_runs_say(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "a.csv"
    vary = ["--vary", "arrivals=0.5:2:2", "--vary", "nodes=3", "--one-at-a-time"]
    asked = ["--policies", "sjf", "--futures", "1", "--metrics", "jct_mean", "--processes", "1"]
    assert main(["sweep", file, *vary, *asked, "--json", "--csv", str(out)]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert (plain.pop("computed"), plain.pop("stored")) == (8, 0)
    assert [one["kind"] for one in plain.pop("caveats")] == ["these-days-only"]
    answer = Sweep.from_plain(plain)
    run = simulate(changed(SCENARIO, {"arrivals": 2.0}), "sjf", seed=1)
    assert answer.at(2, "sjf")[1].values == {"jct_mean": run.metrics["jct_mean"]}
    with out.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["arrivals"], row["nodes"], row["seed"]) for row in rows[::2]] == [
        ("", "", "0"), ("0.5", "", "0"), ("2", "", "0"), ("", "3", "0"),
    ]  # fmt: skip
    assert float(rows[5]["jct_mean"]) == run.metrics["jct_mean"]
    assert {row["audit"] for row in rows} == {"ok"}


def test_kept_runs_are_not_computed_again(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save = ["--save", str(tmp_path / "r.duckdb")]
    assert main(["sweep", file, *TYPED, *save]) == 0
    assert "84 runs computed; 95% interval over 21" in capsys.readouterr().out
    assert main(["sweep", file, *TYPED, "--vary", "prices=1,2", *save]) == 0
    assert "84 runs computed, 84 from the store" in capsys.readouterr().out  # prices x 1 is the same scenario
    assert main(["sweep", file, *TYPED, *save]) == 0
    assert "0 runs computed, 84 from the store" in capsys.readouterr().out


def test_the_keys_are_listed(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", file, "--vary", "?"]) == 0
    keys = {line.split()[0] for line in capsys.readouterr().out.splitlines()}
    assert {"nodes", "nodes.two", "arrivals", "failures", "restart_s", "POLICY.PARAMETER"} <= keys


def test_runs_that_fail_are_told_and_end_with_1(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    wide = SCENARIO.workload.with_columns(workers=[3] + [1] * 11)
    write_scenario(SCENARIO.replace(workload=wide), file)
    assert main(["sweep", file, *TYPED]) == 1
    seen = capsys.readouterr()
    assert "First, FIFO, 1 node: 1 job of 12: can never fit" in seen.err
    assert "1      FIFO    –" in seen.out


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ([], "needs a file and --vary"),
        (["--vary", "nodes"], "--vary nodes: is not of the form KEY=VALUES"),
        (["--vary", "nodes=4:8"], "change nodes: must be a number, got '4:8'"),
        (["--vary", "node=4"], "change 'node': there is none of this name. Try 'nodes'"),
        (["--vary", "nodes=2", "--policies", "fifoo"], "policy 'fifoo'"),
        (["--vary", "nodes=2", "--metrics", "waits"], "there is no metric 'waits'"),
        (
            ["--vary", "nodes=2", "--csv", "/nowhere/a.csv", "--processes", "1"],
            "file /nowhere/a.csv: cannot be written",
        ),
    ],
    ids=["none", "no values", "range", "key", "policy", "metric", "csv"],
)
def test_bad_input_is_one_line_and_status_2(
    file: str, typed: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", file, *typed]) == 2
    seen = capsys.readouterr()
    assert words in seen.err
    assert seen.err.count("\n") == 1
