"""What commands write to files: a CSV that a spreadsheet does not run."""

from __future__ import annotations

from pathlib import Path

from dlsched.cli.output import write_csv


def test_no_cell_and_no_name_of_a_column_is_a_formula(tmp_path: Path) -> None:
    out = tmp_path / "a.csv"
    write_csv([{"=cmd|' /C calc'!A0": -2.0, "policy": "@fifo"}, {"=cmd|' /C calc'!A0": 3.0, "policy": "sjf"}], str(out))
    assert out.read_text(encoding="utf-8").splitlines() == ["'=cmd|' /C calc'!A0,policy", "-2.0,'@fifo", "3.0,sjf"]
