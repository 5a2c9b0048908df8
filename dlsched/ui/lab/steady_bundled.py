"""The bundled answer of the Steady state page's first question; ``python -m tools.steady_result`` makes it."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from dlsched.studies.steady import SteadyAnswer
from dlsched.workload.catalogue import data_path

FILE = "steady_result.json"
DIGITS = 5


@lru_cache(maxsize=1)
def bundled_answer() -> SteadyAnswer:
    """Return the bundled answer."""
    return SteadyAnswer.from_plain(json.loads(Path(data_path(FILE)).read_text(encoding="utf-8")))


def rounded(plain: Any) -> Any:
    """Return plain data whose fractions have DIGITS significant figures: what a picture shows, a quarter the size."""
    if isinstance(plain, float):
        return float(f"{plain:.{DIGITS}g}")
    if isinstance(plain, dict):
        return {name: rounded(value) for name, value in plain.items()}
    return [rounded(value) for value in plain] if isinstance(plain, list) else plain
