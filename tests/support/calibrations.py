"""Recorded and replayed waits, written by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dlsched.domain.workload import Floats, Workload
from dlsched.studies.calibration.answer import ReplayedTimes

Waits = Sequence[float] | Floats


def jobs_of(waits_s: Waits, **more: Any) -> Workload:
    """Return jobs submitted 10 s apart that started after these waits and ran 100 s; NaN = no recorded start."""
    submit_s = 10.0 * np.arange(len(waits_s))
    columns: dict[str, Any] = {
        "job_id": [f"j{number}" for number in range(len(waits_s))], "submit_s": submit_s,
        "work": np.full(len(waits_s), 100.0), "gpus_per_worker": np.ones(len(waits_s)),
        "recorded_start_s": submit_s + waits_s, "recorded_end_s": submit_s + waits_s + 100,
    }  # fmt: skip
    return Workload.from_columns(columns | more)


def replay(waits_s: Waits, policy: str = "fifo") -> ReplayedTimes:
    """Return a replay with these waits."""
    waits = np.array(waits_s, dtype=float)
    return ReplayedTimes(policy, policy.upper(), {}, waits, waits + 100)


HAND = jobs_of([0, 60, 120, 180], group=["a", "a", "b", "b"])
"""Mean recorded wait 90 s, sum of squares around it 18,000 s2."""
