"""The notebooks of the documentation: ``python -m tools.notebooks`` runs them and writes their outputs.

A test runs them again and compares what they print.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import nbclient
import nbformat

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
LONGEST_S = 600
KEPT = ("text/plain", "text/html", "text/markdown")
"""Kinds of output that are kept: they are small and do not differ from machine to machine."""


def executed(path: Path, folder: Path) -> Any:
    """Return a notebook run from its first cell in a new process, in a folder; an error of a cell comes through."""
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(ROOT)
    try:
        nbclient.NotebookClient(
            notebook, timeout=LONGEST_S, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
        ).execute()
    finally:
        os.environ.pop("PYTHONPATH") if before is None else os.environ.update(PYTHONPATH=before)
    return tidy(notebook)


def tidy(notebook: Any) -> Any:
    """Return a notebook without what differs from run to run: times, counts of a session, versions, marks of memory."""
    notebook.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    for number, cell in enumerate(notebook.cells):
        cell.metadata, cell["id"] = {}, f"cell-{number}"
        if cell.cell_type != "code":
            continue
        cell.outputs = [one for one in cell.outputs if one.output_type != "stream" or one.name == "stdout"]
        for output in cell.outputs:
            output.pop("metadata", None)
            if "data" in output:
                output.metadata = {}
                output.data = {kind: output.data[kind] for kind in KEPT if kind in output.data}
    return notebook


def numbers(notebook: Any) -> list[list[str]]:
    """Return the numbers that each cell of code shows as text, in order."""
    found = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            texts = [one.get("text") or one.get("data", {}).get("text/plain", "") for one in cell.outputs]
            found.append(re.findall(r"\d+(?:[.,]\d+)*", "\n".join(texts)))
    return found


if __name__ == "__main__":
    for file in NOTEBOOKS:
        nbformat.write(executed(file, ROOT), file)  # type: ignore[no-untyped-call]
        print(file.relative_to(ROOT))
