"""How the functions of the searches are compiled."""

from __future__ import annotations

from typing import Any

from numba import njit

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
"""Without reference counts, which would cost a multiple of the work: nothing here may allocate an array."""

compiled = njit(**OPTIONS)
inlined = njit(**OPTIONS, forceinline=True)
"""For a function with one caller whose loop is hot: handing on the arrays costs as much as what it does."""
