"""Every command with a headline says its caveats in a line after it, and in JSON by kind and text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dlsched.cli.main import main
from dlsched.policies.registry import find
from dlsched.workload.fill import fill_prices
from dlsched.workload.scenario_file import to_document
from tests.support.recorded_jobs import recorded_scenario

ALONE = ("--processes", "1")
TARGET = ("--target", "wait_p95<=500h", "--policy", "sjf")
COMMANDS = {
    "compare": ("--policies", "fifo,sjf"),
    "size": (*TARGET, "--types", "nodes=2:3"),
    "growth": (*TARGET, "--months", "1"),
    "sweep": ("--vary", "nodes=2,3", "--policies", "fifo,sjf"),
}
TOLD = ["true-run-times", "made-up-prices", "calibration", "these-days-only"]


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "s.json"
    path.write_text(json.dumps(to_document(fill_prices(recorded_scenario("fifo")))), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_line_after_the_headline_and_a_key_of_the_json(
    command: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [command, file, *COMMANDS[command], "--futures", "2", *ALONE]
    assert main(asked) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("Note: SJF is told true run times; example prices")
    assert main([*asked, "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert [one["kind"] for one in plain["caveats"]] == TOLD
    assert plain["caveats"][-1]["text"] == "reshuffled from these 6 days only"


def test_after_a_fit_every_headline_says_how_far_to_trust_it(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """FIFO, which wrote this log, speaks for itself as a baseline, else the fitted policy does; also in what-ifs."""
    store = str(tmp_path / "fits.duckdb")
    assert main(["fit", file, "--replays", "2", "--save", store, "--json", *ALONE]) == 0
    fit = json.loads(capsys.readouterr().out)
    assert fit["grade"] == "ranks"  # backfill cannot be turned off by what is learned
    fifo, fitted = ("replays the log: ", "FIFO"), ("ranks only: ", f"fitted {find(fit['learned']['policy']).spoken}")
    for command, asked in {**COMMANDS, "what-if": ("--policies", "fifo", "--set", "nodes=3")}.items():
        kept_in = "--store" if command in ("compare", "what-if") else "--save"
        name = "compare" if command == "what-if" else command
        assert main([name, file, *asked, "--futures", "2", kept_in, store, "--json", *ALONE]) == 0
        told = {one["kind"]: one["text"] for one in json.loads(capsys.readouterr().out)["caveats"]}["calibration"]
        grade, speaks = fitted if "sjf" in asked else fifo  # the goals of size and growth are those of SJF
        assert told.startswith(grade), command
        assert told.endswith(f"(n = {fit['n']:,}, {speaks})"), command
        assert main([name, file, *asked, "--futures", "2", kept_in, store, *ALONE]) == 0
        assert told in capsys.readouterr().out.splitlines()[1]
