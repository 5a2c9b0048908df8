"""The bundled result of the demo, shown on Home before anything was run; ``python -m tools.demo_result`` makes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dlsched.figures.base import Chart, Floats
from dlsched.figures.before_after import Half, before_after
from dlsched.figures.palette import Theme
from dlsched.workload.catalogue import data_path

FILE = "demo_result.json"


@dataclass(frozen=True, eq=False)
class DemoResult:
    """The finding of the demo in one sentence, and its jobs under the baseline and under the policy it names."""

    sentence: str
    before: Half
    after: Half
    times_s: Floats

    def chart(self, theme: Theme) -> Chart:
        """Return the jobs before and after as one picture."""
        return before_after(self.before, self.after, self.times_s, theme)


@lru_cache(maxsize=1)
def demo_result() -> DemoResult:
    """Return the bundled result."""
    return from_plain(json.loads(Path(data_path(FILE)).read_text(encoding="utf-8")))


def to_plain(result: DemoResult) -> dict[str, Any]:
    """Return the result as plain data for the file."""

    def half(one: Half) -> dict[str, Any]:
        return {"policy": one.policy, "on_time": one.on_time.tolist(), "late": one.late.tolist()}

    ends = (float(result.times_s[0]), float(result.times_s[-1]), len(result.times_s))
    return {"sentence": result.sentence, "times_s": ends, "before": half(result.before), "after": half(result.after)}


def from_plain(stored: Mapping[str, Any]) -> DemoResult:
    """Return the result of a file."""

    def half(one: Mapping[str, Any]) -> Half:
        return Half(one["policy"], np.array(one["on_time"]), np.array(one["late"]))

    return DemoResult(
        stored["sentence"], half(stored["before"]), half(stored["after"]), np.linspace(*stored["times_s"])
    )
