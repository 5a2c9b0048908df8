"""The least of a function of whole numbers that need not be convex: a coarse grid, then finer around its least."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

EVERY_UP_TO = 16
"""So few numbers are all looked at."""
COARSE = 8
"""Steps of the first grid beyond that."""

R = TypeVar("R", bound=tuple[object, ...])


def least(rank: Callable[[int], R], most: int, *, every: bool = False) -> dict[int, R]:
    """Return the ranks of the numbers from 0 to ``most`` that were looked at; the least rank is the best.

    Both ends and a grid of ``COARSE`` steps come first; then the numbers one step on both sides of the best so far, and
    half the step where neither is better. So no number beside the best one is better than it; one farther away that
    was not looked at may be. With ``every``, or up to ``EVERY_UP_TO`` numbers, all are looked at. What ``rank`` raises
    comes through.
    """
    step = 1 if every or most <= EVERY_UP_TO else -(-most // COARSE)
    known = {number: rank(number) for number in dict.fromkeys((most, *range(0, most, step)))}
    while True:
        best = min(known, key=lambda number: (known[number], number))
        near = [number for number in (best - step, best + step) if 0 <= number <= most and number not in known]
        known |= {number: rank(number) for number in near}
        if not near:
            if step == 1:
                return known
            step = -(-step // 2)


def usual_looks(most: int, *, every: bool = False) -> int:
    """Return about how many numbers are looked at."""
    if every or most <= EVERY_UP_TO:
        return most + 1
    return COARSE + 1 + 2 * (-(-most // COARSE)).bit_length()
