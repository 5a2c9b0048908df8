"""Compute the bundled outcomes of the reproductions again by quick runs: ``python -m tools.reproductions [KEY ...]``.

About 20 minutes for all of them; with keys only these, and the others stay as they are. It writes
data/reproductions.json after each. A test compares two of them with a fresh computation.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dlsched.runner.executor import open_pool
from dlsched.studies.registry import compute
from dlsched.studies.reproductions.bundled import FILE
from dlsched.studies.reproductions.registry import REPRODUCTIONS, find
from dlsched.workload.catalogue import data_path
from tools.rounding import rounded

KIND = "reproduction"
TOO_LONG = ("quantiles_h_to_fraction",)
"""Parts of the data that no picture shows, and that would be most of the file."""


def entry(answer: Mapping[str, Any], version: str, on: str) -> dict[str, Any]:
    """Return an answer as it is bundled: numbers of five figures, without what is long and not shown."""
    data = {name: part for name, part in answer["data"].items() if name not in TOO_LONG}
    return {"version": version, "on": on, "answer": {**answer, "data": rounded(data)}}


def computed(key: str) -> dict[str, Any]:
    """Return the entry of a reproduction, by a quick run now."""
    with open_pool().executor as executor:
        record = compute(KIND, {"key": key, "quick": True}, executor=executor)
    return entry(record.answer, record.code_version, datetime.now(UTC).date().isoformat())


def write(entries: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the file, in the order of the registry."""
    ordered = {one.key: entries[one.key] for one in REPRODUCTIONS if one.key in entries}
    text = ",\n".join(f"{json.dumps(key)}:{json.dumps(one, separators=(',', ':'))}" for key, one in ordered.items())
    _file().write_text(f"{{\n{text}\n}}\n", encoding="utf-8")


def _file() -> Path:
    return Path(data_path("demo.toml")).parent / FILE


if __name__ == "__main__":
    keys = [find(key).key for key in sys.argv[1:]] or [one.key for one in REPRODUCTIONS]
    entries = json.loads(_file().read_text(encoding="utf-8")) if _file().exists() else {}
    for key in keys:
        entries[key] = computed(key)
        write(entries)
        print(key, entries[key]["answer"]["verdict"], flush=True)
