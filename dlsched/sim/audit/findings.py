"""Collects violations and returns the earliest ones."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_MESSAGES = 20
Say = Callable[[int], str]


def clock(time_s: float) -> str:
    """Return a time as it is written in messages."""
    return f"at {time_s:.10g} s"


class Findings:
    """Violations with their times; equal times keep the order in which they were found."""

    def __init__(self) -> None:
        self._found: list[tuple[float, int, str]] = []
        self._count = 0

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, time_s: float, text: str) -> None:
        """Record one violation at a time (NaN = the log as a whole, listed first)."""
        when = -math.inf if math.isnan(time_s) else time_s
        self._found.append((when, self._count, text if math.isinf(when) else f"{clock(time_s)}: {text}"))
        self._count += 1

    def flag(self, bad: NDArray[np.bool_], time_s: NDArray[Any], say: Say) -> None:
        """Record the violations of a vectorised rule: ``say(i)`` words the one at position i."""
        at = np.flatnonzero(bad)
        if not at.size:
            return
        earliest = at[np.argsort(time_s[at], kind="stable")[:MOST_MESSAGES]]
        for i in earliest:
            self.add(float(time_s[i]), say(int(i)))
        self._count += at.size - earliest.size

    def messages(self) -> list[str]:
        """Return the earliest messages in time order, and how many more there are."""
        first = [text for _, _, text in heapq.nsmallest(MOST_MESSAGES, self._found)]
        more = self._count - len(first)
        return [*first, f"and {more} more violations"] if more else first
