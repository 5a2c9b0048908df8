"""The bundled answer to ``ShortSpec()``; ``python -m tools.steady_result`` makes it."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

from dlsched.studies.steady.answer import SteadyAnswer
from dlsched.workload.catalogue import data_path

FILE = "steady_result.json"


@lru_cache(maxsize=1)
def bundled_answer() -> SteadyAnswer:
    """Return the bundled answer."""
    return SteadyAnswer.from_plain(json.loads(Path(data_path(FILE)).read_text(encoding="utf-8")))
