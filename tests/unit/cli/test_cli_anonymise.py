"""The command anonymise: it writes a copy, says what stays visible, and refuses what it cannot do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dlsched.cli.main import main

LOG = """job_id,submit_time,duration_s,num_gpus,user,partition
bert-1,2026-03-02 08:00:00,3600,4,Alice,fast
bert-2,2026-03-02 08:00:00,3600,8,Robert,fast
bert-3,2026-03-02 09:30:00,600,8,Alice,slow
"""


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "log.csv"
    path.write_text(LOG)
    return str(path)


@pytest.mark.parametrize("name", ["copy.csv", "copy.parquet", "copy.json", "copy.toml"])
def test_a_copy_replays_as_the_original(
    log: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / name)
    assert main(["anonymise", log, out, "--key", "s"]) == 0
    told = capsys.readouterr().out
    assert "3 jobs written to" in told
    assert "3 jobs, 2 users and 2 partitions" in told
    assert "Still visible" in told
    data = Path(out).read_bytes().lower()
    assert b"alice" not in data
    assert b"bert" not in data
    numbers = []
    for file in (log, out):
        assert main(["simulate", file, "--policy", "sjf", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)["metrics"]
        numbers.append({key: value for key, value in found.items() if "cpu" not in key})
    assert numbers[0] == numbers[1]


def test_what_cannot_be_done_is_refused(log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["anonymise", log, str(tmp_path / "copy.txt")]) == 2
    assert "must end in .csv" in capsys.readouterr().err
    assert main(["anonymise", log, str(tmp_path / "copy.csv"), "--key", ""]) == 2
    assert "--key: is empty" in capsys.readouterr().err
    assert main(["anonymise", log, str(tmp_path / "no" / "copy.csv")]) == 2
