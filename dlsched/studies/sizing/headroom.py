"""How much more load a size takes: the largest factor of demand at which it still meets the targets."""

from __future__ import annotations

from collections.abc import Callable

from dlsched.studies.sizing.answer import Counts, Headroom
from dlsched.studies.sizing.trials import SizeTrials

PER_ONE = 20
"""Factors are tried in steps of 1/20 of the load of the scenario, up to ``MOST`` of them."""
MOST = 4 * PER_ONE


def headroom_of(trials: SizeTrials, counts: Counts) -> Headroom:
    """Return between which two factors a size ceases to meet the targets, and the loads that ran all futures.

    Supposes that more load never serves better. A few futures guess where that is, all of them decide. May raise
    OutOfRuns.
    """
    guess, _ = last_good(lambda step: trials.promises(counts, step / PER_ONE), PER_ONE, MOST)
    last, first = last_good(lambda step: trials.meets(counts, step / PER_ONE), guess or 1, MOST)
    shown = sorted({step for step in (PER_ONE, last, first) if step is not None})
    for step in shown:
        trials.complete(counts, step / PER_ONE)
    return Headroom(
        counts=counts,
        last=None if last is None else last / PER_ONE,
        first=None if first is None else first / PER_ONE,
        loads=tuple(trials.loaded(counts, step / PER_ONE) for step in shown),
    )


def last_good(good: Callable[[int], bool], start: int, most: int) -> tuple[int | None, int | None]:
    """Return the last step from 1 to ``most`` that is good and the one after it, which is not; None = there is none.

    Goes from ``start`` in growing steps, then bisects.
    """
    step, up = 1, good(start)
    known = start
    while True:
        ahead = min(most, known + step) if up else max(1, known - step)
        if ahead == known:
            return (known, None) if up else (None, known)
        if good(ahead) != up:
            break
        known, step = ahead, 2 * step
    low, high = (known, ahead) if up else (ahead, known)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if good(middle) else (low, middle)
    return low, high
