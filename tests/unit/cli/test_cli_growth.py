"""``dlsched growth``: sentence, months, JSON and CSV, and one line for what is wrong."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dlsched.cli.growth import read_step
from dlsched.cli.main import main
from dlsched.domain.scenario import SimulationRules
from dlsched.studies.design import changed
from dlsched.studies.growth import STUDY, run_growth
from dlsched.studies.growth.answer import Growth
from dlsched.studies.simulation import simulate
from dlsched.workload.scenario_file import write_scenario
from tests.support.runs_for_store import small_scenario

SCENARIO = small_scenario(12)
TYPED = ("--target", "wait_mean<=5s", "--months", "3", "--processes", "1")


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "s.json"
    write_scenario(SCENARIO, str(path))
    return str(path)


def test_the_sentence_comes_before_the_months(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("--begin", "2026-11", "--lead", "1", "--percent", "50", "--deliver", "2:nodes:+8")
    assert main(["growth", file, *TYPED, *asked]) == 0
    first, mind, assumed, header, *months = capsys.readouterr().out.splitlines()
    assert mind.startswith("Note: 1 day: too few")
    assert first.startswith("The target (Mean wait at most 5 s) is already missed in November 2026 at +50% a month.")
    assert "It holds again from January 2027 on. Order " in first
    assert "No queue is carried over" in assumed
    assert header.split()[:3] == ["Month", "Demand", "Nodes"]
    assert [line.split()[:4] for line in months] == [
        ["November", "2026", "1x", "2"], ["December", "2026", "1.5x", "2"], ["January", "2027", "2.25x", "10"],
        ["February", "2027", "3.38x", "10"],
    ]  # fmt: skip


def test_json_and_csv_say_what_single_runs_say(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "months.csv"
    varied = ("--vary", "run_time_spread=0.3", "--futures", "1", "--claim", "nearly-every", "--level", "90")
    assert main(["growth", file, *TYPED, *varied, "--json", "--csv", str(out)]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert plain.pop("caveats")
    answer = Growth.from_plain(plain)
    assert (answer.rule.claim, answer.rule.level, answer.futures.seeds) == ("nearly-every", 0.9, (0, 1))
    hand = simulate(changed(SCENARIO, {"demand": 1.0609, "run_time_spread": 0.3}, 1), "fifo", seed=1)
    assert answer.months[2].draws[1].values["wait_mean"] == pytest.approx(hand.metrics["wait_mean"])
    with out.open(newline="", encoding="utf-8") as stream:
        assert [row["month"] for row in csv.DictReader(stream)] == ["month 0", "month 1", "month 2", "month 3"]


def test_runs_are_kept_and_taken_from_the_store(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = ("--save", str(tmp_path / "results.duckdb"))
    assert main(["growth", file, *TYPED, *kept, "--json"]) == 0
    before = capsys.readouterr().out

    def refuse(*_: object) -> None:
        raise AssertionError("a known run was computed again")

    monkeypatch.setattr("dlsched.studies.design.run.carry_out", refuse)
    assert main(["growth", file, *TYPED, *kept, "--json"]) == 0
    assert capsys.readouterr().out == before


def test_a_violation_ends_with_one(
    file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any, **more: Any) -> Growth:
        found = run_growth(*args, **more)
        month = found.months[1]
        draw = month.draws[0].model_copy(update={"audit": ("node 0 held twice",)})
        months = (found.months[0], month.model_copy(update={"draws": (draw,)}), *found.months[2:])
        return found.model_copy(update={"months": months})

    monkeypatch.setattr("dlsched.cli.growth.STUDY", replace(STUDY, run=broken))
    assert main(["growth", file, *TYPED, "--begin", "2026-11"]) == 1
    assert "violations in 1 run. First, December 2026: node 0 held twice" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "complaint"),
    [
        (["--target", "wait_mean<=5"], "needs a unit of its kind"),
        (["--target", "cost_month<=5", "--target", "cost_month<=6"], "listed twice"),
        (["--target", "wait_mean<=5s", "--begin", "2026-13"], "--begin 2026-13: is not a year and a month"),
        (["--target", "wait_mean<=5s", "--deliver", "4:+4"], "--deliver 4:+4: is not of the form MONTH:KEY:NODES"),
        (["--target", "wait_mean<=5s", "--deliver", "4:nodes.b:+4"], "there is none of this name"),
        (["--target", "wait_mean<=5s", "--deliver", "40:nodes:+4"], "after the last of 12 months"),
        (["--target", "wait_mean<=5s", "--percent", "99", "--months", "20"], "times today's, at most 100"),
        (["--target", "wait_mean<=5s", "--vary", "failures=often"], "'often' is not a number"),
        (["--target", "utility_total>=5"], "Utility has no number on these jobs"),
    ],
    ids=["unit", "twice", "begin", "form", "type", "late step", "too much", "vary", "no utility"],
)
def test_what_is_wrong_is_one_line(
    file: str, typed: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["growth", file, *typed, "--processes", "1"]) == 2
    err = capsys.readouterr().err
    assert complaint in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "key", "nodes"),
    [("4:nodes:+4", "nodes", 4), ("4:nodes.8 x A100:-2", "nodes.8 x A100", -2), ("4:nodes.a:b:3", "nodes.a:b", 3)],
)
def test_a_delivery_is_read(text: str, key: str, nodes: int) -> None:
    assert read_step(text) == {"month": 4, "key": key, "nodes": nodes}


def test_more_jobs_are_drawn_and_nothing_random_is_one_draw(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["growth", file, *TYPED, "--futures", "4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["futures"]["seeds"] == [0, 1, 2, 3, 4]
    assert main(["growth", file, *TYPED, "--futures", "4", "--percent", "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["futures"]["seeds"] == [0]
    assert SCENARIO.options == SimulationRules()
