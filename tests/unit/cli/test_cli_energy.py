"""``--energy`` on the command line: numbers, watts, files, and what cannot be counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dlsched.cli.main import main

CAMPUS = "sample:campus"


def metrics(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, float]:
    assert main(["simulate", CAMPUS, "--policy", "fifo", "--json", *options]) == 0
    found: dict[str, float] = json.loads(capsys.readouterr().out)["metrics"]
    return found


def test_energy_by_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    energy = (
        "--energy",
        "pue=1",
        "--energy",
        "GPU=100:500",
        "--energy",
        "usd_per_kwh=0.2",
        "--energy",
        "g_per_kwh=300",
    )
    found = metrics(capsys, *energy)
    busy = 0.5 * found["gpu_hours_held"]
    idle = 0.1 * (found["gpu_hours_up"] - found["gpu_hours_held"])
    assert found["energy_kwh"] == pytest.approx(busy + idle)
    assert found["energy_idle_kwh"] == pytest.approx(idle)
    assert found["energy_usd"] == pytest.approx(0.2 * (busy + idle))
    assert found["carbon_kg"] == pytest.approx(0.3 * (busy + idle))


def test_a_file_by_the_hour(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "hours.csv"
    path.write_text("hour,usd_per_kwh\n" + "".join(f"{hour},0.25\n" for hour in range(24)))
    found = metrics(capsys, "--energy", "GPU=100:500", "--energy", f"hours={path}")
    assert found["energy_usd"] == pytest.approx(0.25 * found["energy_kwh"])


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("pue=1.2", "--energy: the power of 'GPU' is not known. Give the watts of one GPU, idle and busy, as in"),
        ("pue=lots", "--energy pue=lots: its value must be a number"),
        ("GPU=100", "--energy GPU=100: its value must be two numbers, IDLE:BUSY"),
        ("g_per_kw=3", "--energy g_per_kw=3: there is no 'g_per_kw'. Try 'g_per_kwh'"),
        ("pue=0.5", "--energy, pue: "),
        ("hours=no-such.csv", "--energy hours=no-such.csv: the file cannot be read"),
    ],
)
def test_what_cannot_be_counted_is_one_line(typed: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", CAMPUS, "--policy", "fifo", "--energy", typed]) == 2
    assert message in capsys.readouterr().err
