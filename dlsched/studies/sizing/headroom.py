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
    trials.complete(counts)
    now = trials.loaded(counts, 1.0)
    if not trials.meets(counts):
        return Headroom(counts=counts, last=None, first=1.0, loads=(now,))
    guess, _ = last_good(lambda step: trials.promises(counts, step / PER_ONE), PER_ONE, PER_ONE, MOST)
    last, first = last_good(lambda step: trials.meets(counts, step / PER_ONE), guess, PER_ONE, MOST)
    trials.complete(counts, last / PER_ONE)
    tried = [trials.loaded(counts, step / PER_ONE) for step in (last, first) if step is not None and step != PER_ONE]
    return Headroom(
        counts=counts,
        last=last / PER_ONE,
        first=None if first is None else first / PER_ONE,
        loads=(now, *tried),
    )


def last_good(good: Callable[[int], bool], start: int, least: int, most: int) -> tuple[int, int | None]:
    """Return the last step up to ``most`` that is good and the one after it, which is not; None if ``most`` is good.

    Goes from ``start`` in growing steps, then bisects; ``least`` is known to be good.
    """
    step, up = 1, start == least or good(start)
    known = start
    while True:
        ahead = min(most, known + step) if up else max(least, known - step)
        if ahead == known:
            return known, None
        if (ahead == least or good(ahead)) != up:
            break
        known, step = ahead, 2 * step
    low, high = (known, ahead) if up else (ahead, known)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if good(middle) else (low, middle)
    return low, high
