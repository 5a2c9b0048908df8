"""``dlsched calibrate``: sentence and tables, JSON, CSV, and one line for what is wrong."""

from __future__ import annotations

import csv
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dlsched.cli import study_command
from dlsched.cli.arguments import GROUPINGS as TYPED
from dlsched.cli.main import main
from dlsched.runner.executor import WorkerPool
from dlsched.studies.calibration.answer import Calibration
from dlsched.studies.calibration.record import GROUPINGS
from dlsched.studies.simulation import Run
from dlsched.workload.scenario_file import write_scenario
from tests.support.recorded_jobs import recorded_scenario

SACCT = "data/samples/slurm-sacct.txt"


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study_command, "open_pool", lambda *_: WorkerPool(ThreadPoolExecutor(1), 1, remote=False))


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "recorded.json"
    write_scenario(recorded_scenario("fifo"), str(path))
    return str(path)


def test_a_replay_by_the_rule_of_the_recording_explains_everything(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["calibrate", file, "--by", "group"]) == 0
    lines = capsys.readouterr().out.splitlines()
    measured = "typical factor 1.00x, rank correlation 1.00 on the second half (n = 74, FIFO)"
    assert lines[0].startswith(f"Replays the log: {measured}, the nearest of 4 policies")
    assert lines[0].endswith("; by group, all 2 groups of 20 jobs or more within 1.0x.")
    assert lines[1] == "recorded under fifo: 140 of 150 jobs compared; 10 too early to judge."
    assert lines[2].startswith("While jobs that fit waited, ")
    second, first = [line.split() for line in lines if line.startswith("FIFO  ")]
    assert second[1:6] == ["second", "74", "1.00x", "1.00x", "1.00"]
    assert first[1:6] == ["first", "66", "1.00x", "1.00x", "1.00"]
    groups = [line for line in lines if line.startswith("vc")]
    assert sorted(line.split()[0] for line in groups) == ["vc1", "vc1", "vc7", "vc7"]
    assert all(line.split("  ")[-1].strip() == "trust" for line in groups[2:])
    assert any(line.startswith("Nodes  ") and "2 nodes, as described" in line for line in lines)


def test_json_and_csv_hold_every_policy_and_grouping(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "a.csv"
    assert main(["calibrate", file, "--policies", "sjf,fifo", "--json", "--csv", str(out)]) == 0
    answer = Calibration.from_plain(json.loads(capsys.readouterr().out))
    assert [replay.policy for replay in answer.replays] == ["sjf", "fifo"]
    assert answer.nearest == "fifo"
    assert answer.groupings == ("group", "gpus")
    with out.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert {(row["policy"], row["by"]) for row in rows} == {
        (policy, by) for policy in ("SJF", "FIFO") for by in ("all", "group", "gpus")
    }
    assert float(rows[0]["second half: typical_factor"]) == pytest.approx(answer.of("sjf").second.typical_factor)
    assert float(rows[0]["wait mean replayed, s"]) == pytest.approx(answer.of("sjf").wait.replayed.mean_s)


def test_a_default_cluster_is_said_not_to_be_that_of_the_recording(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"j{n},{n * 60},{n * 60 + 30},1,600" for n in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["job_id,submit_time_s,start_s,num_gpus,duration_s", *rows]))
    assert main(["calibrate", str(tmp_path / "t.csv"), "--policies", "fifo"]) == 0
    assert "Default cluster: " in capsys.readouterr().out


def test_the_cluster_of_a_log_is_not_called_a_default_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", SACCT, "--policies", "fifo"]) == 0
    out = capsys.readouterr().out
    assert "Default cluster: " not in out
    assert "Cluster: from the log" in out
    assert "of those compared 13 cancelled, 16 failed and 9 timeout" in out


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (["data/samples/campus.csv"], "none of 2,000 jobs has a recorded start"),
        ([SACCT, "--policies", "fifoo"], "no policy has this key"),
        ([SACCT, "--policies", "fifo,fifo"], "policies must differ"),
        (["RECORDED", "--policies", "fifo", "--by", "user"], "the jobs have no such column"),
        (["nowhere.csv"], "there is no such file"),
    ],
    ids=["no-starts", "unknown-policy", "twice", "no-such-names", "no-file"],
)
def test_what_is_wrong_is_one_line(
    typed: list[str], message: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["calibrate", *(file if part == "RECORDED" else part for part in typed)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1


def test_a_violation_found_by_the_audit_fails_the_command(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Run, "audit", lambda self: ["node 0 holds too much"])
    assert main(["calibrate", file, "--policies", "fifo"]) == 1
    assert "1 violation. First: fifo, node 0 holds too much" in capsys.readouterr().err


def test_the_groupings_that_can_be_typed_are_those_there_are() -> None:
    assert TYPED == GROUPINGS
