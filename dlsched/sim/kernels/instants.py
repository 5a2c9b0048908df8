"""What is one instant, compiled; the same rule as ``dlsched.sim.event_queue``."""

from __future__ import annotations

from numba import njit

SAME_INSTANT_S = 1e-9
SAME_TIME = 1e-12


@njit(nogil=True)
def instant_s(time_s: float) -> float:
    """Return how far apart two times around this one may be and still be one instant."""
    return max(SAME_INSTANT_S, SAME_TIME * abs(time_s))
