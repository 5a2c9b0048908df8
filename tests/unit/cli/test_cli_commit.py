"""``dlsched commit``: sentence, mixes, break-even, JSON and CSV, and one line for what is wrong."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dlsched.cli.main import main
from dlsched.studies.commitment import STUDY, run_commitment
from dlsched.studies.commitment.answer import Commitment, cost_at
from dlsched.studies.commitment.words import sentence, waits_words
from dlsched.workload.scenario_file import write_scenario
from tests.support.commitments import asked, whole_node_jobs
from tests.support.known import known

SCENARIO = whole_node_jobs()
TYPED = ("--target", "wait_mean<=1min", "--rent-price", "4", "--boot", "0s", "--idle", "0s", "--processes", "1")


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "s.json"
    write_scenario(SCENARIO, str(path))
    return str(path)


def test_the_sentence_comes_before_the_mixes_and_the_break_even(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["commit", file, *TYPED]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Own 2 nodes and rent up to 12 more on demand: $21,000/year in this trace")
    lines = out.splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith("Committed"))
    assert [line.split()[0] for line in lines[first + 1 : first + 5]] == ["0", "1", "2", "3"]
    assert "more than 25% of the hours" in out
    assert "Every number of committed nodes from 0 to 3 was simulated." in out
    assert "A year is 876 times these 10 h." in out


def test_json_and_csv_say_what_the_study_says(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "mixes.csv"
    terms = ("--terms", "reserved-1-year", "--base-price", "$2.40", "--rent-terms", "spot", "--evictions", "0.01")
    more = ("--most", "4", "--rent-most", "9", "--rent-after", "5m", "--every", "--vary", "run_time_spread=0.2")
    assert main(["commit", file, *TYPED, *terms, *more, "--futures", "2", "--json", "--csv", str(out)]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert plain.pop("caveats") is not None
    numbers = plain.pop("numbers")
    answer = Commitment.from_plain(plain)
    assert (answer.base.kind, answer.base.usd_per_h, answer.rented.kind) == ("reserved", 2.4, "spot")
    assert (answer.rented.most, answer.rented.evictions_per_h, answer.rent_after_s) == (9, 0.01, 300.0)
    spec = asked(SCENARIO, terms="reserved-1-year", base_usd_per_h=2.4, rent_terms="spot", evictions_per_h=0.01,
                 most=4, rent_most=9, rent_after_s=300.0, every=True,
                 futures={"seeds": (0, 1, 2), "vary": {"run_time_spread": 0.2}})  # fmt: skip
    hand = run_commitment(spec, SCENARIO)
    assert [one["usd_year"] for one in numbers["mixes"]] == [known(cost_at(hand, nodes)).usd for nodes in range(5)]
    with out.open(newline="", encoding="utf-8") as stream:
        assert [row["Committed"] for row in csv.DictReader(stream)] == ["0", "1", "2", "3", "4"]


def test_several_waits_are_one_answer(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["commit", file, *TYPED, "--rent-after", "0s,30s"]) == 0
    out = capsys.readouterr().out
    assert "Cheapest mix by when nodes are rented: as soon as a job waits: 2 nodes, $21,000/year; for jobs that" in out
    hand = run_commitment(asked(SCENARIO, rent_after_s=0.0, or_after_s=(30.0,)), SCENARIO)
    assert waits_words(hand) in out
    assert sentence(hand) in out


def test_runs_are_kept_and_taken_from_the_store(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = ("--save", str(tmp_path / "results.duckdb"))
    assert main(["commit", file, *TYPED, *kept, "--json"]) == 0
    before = capsys.readouterr().out

    def refuse(*_: object) -> None:
        raise AssertionError("a known run was computed again")

    monkeypatch.setattr("dlsched.studies.design.run.carry_out", refuse)
    assert main(["commit", file, *TYPED, *kept, "--json"]) == 0
    assert capsys.readouterr().out == before


def test_a_violation_ends_with_one(
    file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any, **more: Any) -> Commitment:
        found = run_commitment(*args, **more)
        draw = found.tried[1].draws[0].model_copy(update={"audit": ("node 0 held twice",)})
        tried = (found.tried[0], found.tried[1].model_copy(update={"draws": (draw,)}), *found.tried[2:])
        return found.model_copy(update={"tried": tried})

    monkeypatch.setattr("dlsched.cli.commit.STUDY", replace(STUDY, run=broken))
    assert main(["commit", file, *TYPED]) == 1
    assert "violations in 1 run. First, 1 node committed: node 0 held twice" in capsys.readouterr().err


def test_a_target_that_nobody_meets_is_an_answer(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    typed = ("--target", "slowdown_mean<=0.5x", "--rent-price", "4", "--processes", "1", "--most", "2")
    assert main(["commit", file, *typed]) == 0
    out = capsys.readouterr().out
    assert out.startswith("No number of committed nodes simulated, up to 2")
    assert "Mean slowdown: the lowest reached is" in out


@pytest.mark.parametrize(
    ("typed", "complaint"),
    [
        (["--target", "wait_mean<=5s"], "the rented nodes have no price"),
        (["--target", "wait_mean<=5", "--rent-price", "4"], "needs a unit of its kind"),
        (["--target", "wait_mean<=5s", "--rent-price", "cheap"], "--rent-price cheap: is not a number"),
        (["--target", "wait_mean<=5s", "--rent-price", "4", "--boot", "5"], "--boot 5: needs a unit of its kind"),
        (["--target", "wait_mean<=5s", "--rent-price", "4", "--rent-after", "5m,"], "--rent-after : "),
        (["--target", "wait_mean<=5s", "--rent-price", "4", "--base", "H100"], "is no node type that is always there"),
        (["--target", "wait_mean<=5s", "--rent-price", "-4"], "greater than or equal to 0"),
    ],
    ids=["no price", "unit", "not a price", "not a time", "not a second wait", "no such type", "negative"],
)
def test_what_is_wrong_is_one_line(
    file: str, typed: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["commit", file, *typed, "--processes", "1"]) == 2
    err = capsys.readouterr().err
    assert complaint in err
    assert len(err.splitlines()) == 1
