"""How the functions of this family are compiled."""

from __future__ import annotations

from typing import Any

from numba import njit

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
"""Without reference counts: nothing here may allocate an array. No fast-math: both callers must get equal numbers."""

compiled = njit(**OPTIONS)
