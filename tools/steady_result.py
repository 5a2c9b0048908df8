"""Compute the bundled answer of the Steady state page again: ``python -m tools.steady_result``, half a minute.

It writes data/steady_result.json. A test compares its question, and some of its points, with a fresh computation.
"""

from __future__ import annotations

import json

from dlsched.studies.steady import run_steady
from dlsched.studies.steady.bundled import FILE
from dlsched.studies.steady.short_spec import ShortSpec, spec_of
from dlsched.workload.catalogue import data_path
from tools.rounding import rounded

if __name__ == "__main__":
    plain = run_steady(spec_of(ShortSpec())).to_plain()
    # The question stays exact, and no time of this machine goes into the file.
    points = [rounded(point) | {"load": point["load"], "cpu_s": 0.0} for point in plain["points"]]
    bundled = plain | {"points": points, "pairs": rounded(plain["pairs"])}
    (data_path("demo.toml").parent / FILE).write_text(
        json.dumps(bundled, separators=(",", ":")) + "\n", encoding="utf-8"
    )
