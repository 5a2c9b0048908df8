"""``dlsched size``: the answer in words and as JSON, and one line for what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dlsched.cli.main import main
from dlsched.domain.scenario import SimulationRules
from dlsched.studies.design import changed
from dlsched.studies.simulation import simulate
from dlsched.studies.sizing.answer import Sizing
from dlsched.workload.scenario_file import write_scenario
from tests.support.known import known
from tests.support.runs_for_store import small_scenario

ONE = ("--processes", "1")


def written(folder: Path, **changes: Any) -> str:
    path = folder / "s.json"
    write_scenario(small_scenario(12, **changes), str(path))
    return str(path)


def test_an_exact_trace_says_so_and_names_what_lies_below(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Twelve jobs of 60 s, one every 10 s: six run at once, so three nodes of two GPUs let nobody wait."""
    file = written(tmp_path)
    assert main(["size", file, "--target", "wait_p95<=0 s", "--headroom", *ONE]) == 0
    lines = capsys.readouterr().out.splitlines()
    met = "that would have met the target (p95 wait at most 0 s) in this trace: $7,880"
    assert lines[0].startswith(f"3 nodes are the cheapest size tried {met}")
    assert lines[1].startswith("Note: ")
    assert lines[2].startswith("Exact for this trace, not a forecast: nothing in it is random. FIFO, ")
    assert [line.split() for line in lines if line.startswith("3 nodes  ")] == [
        ["3", "nodes", "answer", "$7,880/month", "0", "s,", "ok", "ok"]
    ]
    assert "2 nodes: fails; 1 node: fails." in lines
    assert "3 nodes can handle no more jobs than today's." in lines
    assert "Today's 2 nodes already miss the target with today's jobs." in lines


def test_json_says_what_single_runs_say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, options=SimulationRules(estimate_error=0.5))
    targets = ["--target", "jct_mean<=70 s", "--target", "cost_month<=$20,000"]
    typed = [*targets, "--policy", "sjf", "--claim", "nearly-every"]
    more = ["--level", "90", "--futures", "4", "--vary", "run_time_spread=0.1", "--types", "two=1:6"]
    assert main(["size", file, *typed, *more, "--json", *ONE]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert plain.pop("caveats")
    answer = Sizing.from_plain(plain)
    assert (answer.rule.claim, answer.rule.level, answer.types[0].key) == ("nearly-every", 0.9, "nodes.two")
    size = answer.size(known(answer.answer))
    assert [draw.seed for draw in size.draws] == [0, 1, 2, 3, 4]
    scenario = small_scenario(12, options=SimulationRules(estimate_error=0.5))
    run = simulate(changed(scenario, {"run_time_spread": 0.1, "nodes": size.counts[0]}, 4), "sjf", seed=4)
    assert size.draws[4].values["jct_mean"] == run.metrics["jct_mean"]
    assert answer.headroom == ()


def test_a_condition_happens_to_every_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    typed = ["size", written(tmp_path), "--target", "wait_p95<=10 s", "--condition", "demand=1.5", "--futures", "3"]
    assert main([*typed, "--json", *ONE]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert plain.pop("caveats")
    answer = Sizing.from_plain(plain)
    assert answer.condition == {"demand": 1.5}
    assert {draw.jobs for size in answer.shown for draw in size.draws} == {18}
    assert main([*typed, *ONE]) == 0
    assert capsys.readouterr().out.startswith("With 50% more jobs, ")


def test_no_size_is_an_answer_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["size", written(tmp_path), "--target", "jct_mean<=59 s", *ONE]) == 0
    out = capsys.readouterr().out
    assert out.startswith("No size tried, up to 8 nodes, meets the target (Mean turnaround time at most 59 s).")
    assert "Mean turnaround time: the lowest reached is 1 min, with 4 nodes." in out


def test_runs_are_kept_and_found_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, store = written(tmp_path), str(tmp_path / "r.duckdb")
    typed = ["size", file, "--target", "wait_p95<=10 s", "--json", "--save", store, *ONE]
    assert main(typed) == 0
    first = capsys.readouterr().out
    assert main(typed) == 0
    assert capsys.readouterr().out == first


@pytest.mark.parametrize(
    ("typed", "complaint"),
    [
        (
            ["--target", "wait_p95<=1"],
            "target 'wait_p95<=1': the limit needs a unit of its kind, got none.",
        ),
        (["--target", "late<=5%"], "'late' is not a metric. Try 'late_"),
        (["--target", "utility_total>=1"], "target utility_total: Utility has no number on these jobs and machines."),
        (["--target", "wait_p95<=1 h", "--types", "two=4"], "--types two=4: is not of the form TYPE=FROM:TO."),
        (["--target", "wait_p95<=1 h", "--types", "three=1:4"], "change 'nodes.three': there is none of this name."),
        (["--target", "wait_p95<=1 h", "--vary", "failures=often"], "'often' is not a number."),
        (["--target", "wait_p95<=1 h", "--vary", "prices=2"], "has no randomness of its own."),
        (["--target", "wait_p95<=1 h", "--level", "150"], "size, level: "),
        (["--target", "wait_p95<=1 h", "--condition", "nodes=3"], "condition nodes: is something to choose"),
        (["--target", "wait_p95<=1 h", "--condition", "demand"], "is not of the form KEY=VALUE."),
        (["--target", "wait_p95<=1 h", "--condition", "demand=0"], "change demand: must be at least 0.01"),
    ],
)
def test_what_is_wrong_is_one_line(
    typed: list[str], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["size", written(tmp_path), *typed, *ONE]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert complaint in err
    assert err.count("\n") == 1
