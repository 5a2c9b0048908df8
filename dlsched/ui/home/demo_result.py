"""The bundled result of the demo, shown on Home before anything was run; ``python -m tools.demo_result`` makes it."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dlsched.figures import gantt
from dlsched.figures.base import Chart
from dlsched.figures.palette import Theme
from dlsched.figures.raster import STATE_TEXT, Raster
from dlsched.workload.catalogue import data_path

FILE = "demo_result.json"
LINE_BINS = 240


@dataclass(frozen=True, eq=False)
class DemoResult:
    """The finding of the demo in one sentence, and the overview of its baseline run."""

    sentence: str
    raster: Raster

    def chart(self, theme: Theme) -> Chart:
        """Return the overview as a small picture."""
        return gantt.thumbnail(self.raster, theme)


@lru_cache(maxsize=1)
def demo_result() -> DemoResult:
    """Return the bundled result."""
    return from_plain(json.loads(Path(data_path(FILE)).read_text(encoding="utf-8")))


def to_plain(sentence: str, raster: Raster) -> dict[str, Any]:
    """Return the result as plain data for the file."""
    lines, bins = raster.cell.shape
    return {
        "sentence": sentence,
        "lines": lines,
        "bins": bins,
        "from_s": raster.from_s,
        "to_s": raster.to_s,
        "held_share": raster.held_share,
        "cells": base64.b64encode(np.ascontiguousarray(raster.cell).tobytes()).decode(),
        "held": base64.b64encode(np.round(100 * raster.held).astype(np.uint8).tobytes()).decode(),
    }


def from_plain(stored: dict[str, Any]) -> DemoResult:
    """Return the result of a file."""
    shape = (stored["lines"], stored["bins"])
    cell = np.frombuffer(base64.b64decode(stored["cells"]), dtype=np.uint8).reshape(shape)
    percent = np.frombuffer(base64.b64decode(stored["held"]), dtype=np.uint8).reshape(shape)
    labels = tuple(f"n{node}" for node in range(shape[0]))
    held = (percent / np.float32(100)).astype(np.float32)
    raster = Raster(cell, held, STATE_TEXT, labels, stored["from_s"], stored["to_s"], 1, stored["held_share"])
    return DemoResult(stored["sentence"], raster)
