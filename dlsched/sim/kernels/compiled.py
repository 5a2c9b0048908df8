"""How small functions of the loops are compiled.

Numba counts references to every array that a function is handed, one by one and across threads. Where thirty arrays are
handed on, this costs up to ten times the work itself, so that functions which allocate nothing are compiled without it
(``_nrt``). What they call is compiled so too unless it says otherwise. Handing thirty arrays on still takes some 50 ns:
what is called a million times from few places is ``merged`` into its callers by the compiler.
"""

from __future__ import annotations

from typing import Any

from numba import njit

COUNTING_NOTHING: dict[str, Any] = {"nogil": True, "_nrt": False}
_COUNTING: dict[str, Any] = {"nogil": True, "_nrt": True}
compiled = njit(**COUNTING_NOTHING)
merged = njit(forceinline=True, **COUNTING_NOTHING)
inlined = njit(inline="always", **COUNTING_NOTHING)
allocating = njit(**_COUNTING)
