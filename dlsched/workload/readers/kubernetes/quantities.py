"""Amounts as Kubernetes writes them: 500m, 1500Mi, 1e3."""

from __future__ import annotations

import math
import re
from typing import Any

_QUANTITY = re.compile(r"([+-]?(?:\d{1,40}\.?\d{0,40}|\.\d{1,40}))([eE][+-]?\d{1,3}|[KMGTPE]i|[numkMGTPE])?", re.ASCII)
_FACTOR = {
    "n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3,
    **{suffix: 10.0 ** (3 * power) for power, suffix in enumerate("MGTPE", 2)},
    **{f"{suffix}i": 2.0 ** (10 * power) for power, suffix in enumerate("KMGTPE", 1)},
}  # fmt: skip


def amount(value: Any) -> float:
    """Return a quantity as a number (cores, bytes, devices); NaN where it is none."""
    found = _QUANTITY.fullmatch(value.strip()) if isinstance(value, str) else None
    if not found:
        return math.nan
    suffix = found[2] or ""
    is_exponent = len(suffix) > 1 and suffix[0] in "eE" and suffix[1] != "i"
    result = float(found[1] + suffix) if is_exponent else float(found[1]) * _FACTOR[suffix]
    return result if math.isfinite(result) else math.nan


def is_gpu(resource: str) -> bool:
    """Return whether a resource counts GPUs: nvidia.com/gpu, amd.com/gpu, and MIG slices."""
    return resource.endswith("gpu") or "/mig-" in resource
