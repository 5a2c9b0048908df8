"""Outcomes of the reproductions as bundled; ``python -m tools.reproductions`` makes them, by quick runs.

Each says with which version of the code, and when, it was computed: it tells what was found then, not what this code
would find.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from dlsched.studies.reproductions.reproduction import Outcome
from dlsched.workload.catalogue import data_path

FILE = "reproductions.json"


@dataclass(frozen=True, slots=True)
class Bundled:
    """An outcome of a quick run, with the version of the code and the day (ISO, UTC) it was computed on."""

    outcome: Outcome
    version: str
    on: str


@lru_cache(maxsize=1)
def bundled() -> dict[str, Bundled]:
    """Return the bundled outcomes by key; a reproduction that is not among them is not checked yet."""
    plain = json.loads(Path(data_path(FILE)).read_text(encoding="utf-8"))
    return {key: Bundled(Outcome.from_plain(one["answer"]), one["version"], one["on"]) for key, one in plain.items()}
