"""The notebooks of the docs run from top to bottom, and print the numbers that are stored in them."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from tools import notebooks


@pytest.mark.parametrize("path", notebooks.NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_small_and_has_its_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert path.stat().st_size < 60_000
    assert sum(map(len, notebooks.numbers(notebook))) > 30
    assert notebooks.tidy(nbformat.read(path, as_version=4)) == notebook
    assert str(Path.home()) not in path.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("path", notebooks.NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_prints_its_numbers(path: Path, tmp_path: Path) -> None:
    found = notebooks.executed(path, tmp_path)
    assert notebooks.numbers(found) == notebooks.numbers(nbformat.read(path, as_version=4))


def test_there_are_notebooks() -> None:
    assert [path.stem for path in notebooks.NOTEBOOKS] == ["your-policy-against-ours", "your-trace-in-ten-lines"]
