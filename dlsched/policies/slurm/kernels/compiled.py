"""How the functions of this policy are compiled."""

from __future__ import annotations

from typing import Any

from numba import njit

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
"""Without reference counts, which make compiling slow: nothing here may allocate an array.

No fast-math: the engine and the compiled loop must get equal numbers.
"""

compiled = njit(**OPTIONS)
allocating = njit(nogil=True, error_model="numpy")
"""For functions that need arrays of their own; they return none to functions that cannot count references."""
