"""Waiting for other threads and processes: long enough for a busy machine, no longer than needed."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 180.0
"""Until what must happen counts as failed; a test that passes does not wait for it."""


def until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds; fail when it does not in time."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "it did not come true in time"
        time.sleep(0.01)
