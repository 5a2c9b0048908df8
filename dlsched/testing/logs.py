"""Comparing the logs of two runs, whole or up to a time."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlsched.sim.log import RunLog


def first_difference(one: RunLog, other: RunLog, before_s: float = np.inf) -> str:
    """Return the first column in which two logs differ, with both contents; empty = none.

    With ``before_s`` only what was decided and done before that time counts. Measured times of the policy never do.
    """
    for name in _columns_compared():
        left, right = _cut(one, name, before_s), _cut(other, name, before_s)
        same = left.shape == right.shape and (
            np.allclose(left, right, rtol=1e-12, atol=1e-9, equal_nan=True)
            if left.dtype.kind == "f"
            else bool((left == right).all())
        )
        if not same:
            return f"{name}: {left} and {right}"
    return ""


def _columns_compared() -> list[str]:
    return [
        f.name for f in dataclasses.fields(RunLog) if f.name.split("_")[0] in _TIME_OF and f.name != "decision_cpu_s"
    ]


_TIME_OF = {
    "piece": "piece_start_s",
    "share": "piece_start_s",
    "decision": "decision_s",
    "wait": "wait_from_s",
    "lease": "lease_start_s",
    "job": "",
}


def _cut(log: RunLog, name: str, before_s: float) -> NDArray[Any]:
    """Return a column up to a time; ends and how they came about count as far as they lie before it."""
    values: NDArray[Any] = getattr(log, name)
    early: NDArray[np.bool_] = getattr(log, _TIME_OF[name.split("_")[0]] or name) < before_s
    if np.isinf(before_s):
        return values
    if name == "share_first":
        return np.asarray(np.diff(values)[early])
    if name.startswith("share"):
        return values[np.repeat(early, np.diff(log.share_first))]
    if name == "job_status":
        return values[log.job_end_s < before_s]
    if name in ("piece_end", "piece_lost_work"):
        return values[log.piece_end_s < before_s]
    values = values[early]
    return np.minimum(values, before_s) if name in ("piece_end_s", "lease_end_s", "piece_progress_from_s") else values
