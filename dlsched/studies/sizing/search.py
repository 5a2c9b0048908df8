"""Which sizes to try: brackets and bisection for one VM type, a staircase by cost for several. No simulation here.

Both suppose that more nodes of any type do not serve worse, and so skip sizes; whether that held is checked by
``studies.sizing.answer.reversals``. They start with guesses from a few futures; what they return meets all targets over
all of them, whether the guesses held or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import product
from typing import Protocol

from dlsched.studies.sizing.answer import Counts

SCAN = 12
"""Sizes tried above one that serves but costs too much: some costs fall again with more nodes."""


class OutOfRuns(Exception):
    """The search may not ask for more runs."""


class Trials(Protocol):
    """What a search may ask about a size; each answer may take runs, so any call may raise OutOfRuns."""

    def promises(self, counts: Counts, *, served: bool = False) -> bool:
        """Guess by a few futures whether all targets are met; ``served``: those that do not rise with size."""
        ...

    def meets(self, counts: Counts) -> bool:
        """Whether all targets are met over all futures."""
        ...

    def cost(self, counts: Counts) -> float:
        """Return what decides which size is cheaper; known before runs, except for rented machines."""
        ...

    def may_fall(self) -> bool:
        """Whether something that rises with size may fall again with more nodes."""
        ...

    def use_reserve(self) -> None:
        """Allow the runs that were kept back while sizes were guessed at."""
        ...


class Ranges(Protocol):
    """From how many to how many nodes of one type."""

    @property
    def least(self) -> int:
        """Fewest nodes."""
        ...

    @property
    def most(self) -> int:
        """Most nodes."""
        ...


def cheapest(trials: Trials, ranges: Sequence[Ranges], start: Counts) -> Counts | None:
    """Return a size that meets all targets such that a size just below it does not; None if none was found.

    It is the cheapest of all where more nodes never serve worse.

    Raises
    ------
    OutOfRuns
        While it asks about all futures of a size; what was found by then is known to the trials.
    """
    first = starts_within(ranges, start)
    if len(ranges) == 1:
        found = _one_type(_Line(trials), ranges[0].least, ranges[0].most, first[0])
        return None if found is None else (found,)
    return _several_types(trials, ranges, first)


def starts_within(ranges: Sequence[Ranges], start: Counts) -> Counts:
    """Return the size to start with: today's, moved into the ranges."""
    return tuple(min(max(count, one.least), one.most) for one, count in zip(ranges, start, strict=True))


def below(ranges: Sequence[Ranges], counts: Counts) -> tuple[Counts, ...]:
    """Return the sizes just below one: one node less of each type; of a single type also two less."""
    if len(ranges) == 1:
        return tuple((count,) for count in (counts[0] - 1, counts[0] - 2) if count >= ranges[0].least)
    return tuple(
        (*counts[:place], counts[place] - 1, *counts[place + 1 :])
        for place, one in enumerate(ranges)
        if counts[place] > one.least
    )


# ---- one type ----------------------------------------------------------------------------------------


class _Line:
    """Sizes of one type as numbers; each is judged once."""

    def __init__(self, trials: Trials) -> None:
        self._trials = trials
        self._good: dict[int, bool] = {}

    def use_reserve(self) -> None:
        self._trials.use_reserve()

    def may_fall(self) -> bool:
        return self._trials.may_fall()

    def serves(self, count: int) -> bool:
        return self._trials.promises((count,), served=True)

    def promises(self, count: int) -> bool:
        return self._trials.promises((count,))

    def meets(self, count: int) -> bool:
        if count not in self._good:
            self._good[count] = self._trials.meets((count,))
        return self._good[count]


def _one_type(line: _Line, least: int, most: int, start: int) -> int | None:
    guess = smallest(line.serves, least, most, start)
    candidate = most if guess is None else guess
    if not line.promises(candidate):
        candidate = _affordable(line, candidate, most)
    line.use_reserve()
    is_hopeless = not line.promises(candidate) and not line.may_fall()  # what is too dear gets no cheaper with nodes
    found, floor = _gallop_up(line.meets, candidate, least, candidate if is_hopeless else most)
    if found is None:
        return None
    if floor >= least:
        return _bisect(line.meets, floor, found)
    return _gallop_down(line.meets, found, least)  # a few futures may have been unlucky below it


def smallest(good: Callable[[int], bool], least: int, most: int, start: int) -> int | None:
    """Return the smallest count that is good, by halving or doubling from ``start``, then bisection; None = none is.

    Exact where everything above a good count is good too.
    """
    high, low = start, least - 1
    if good(start):
        while high > least:
            lower = max(least, high // 2)
            if not good(lower):
                low = lower
                break
            high = lower
    else:
        while not good(high):
            if high == most:
                return None
            low, high = high, min(most, max(1, 2 * high))
    return _bisect(good, low, high)


def _bisect(good: Callable[[int], bool], low: int, high: int) -> int:
    """Return the smallest good count above ``low``, which is none; ``high`` is one."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return high


def _affordable(line: _Line, serves: int, most: int) -> int:
    """Return the smallest count above one that serves at which what rises with size is good too, else that one."""
    steps = min(SCAN, most - serves) if line.may_fall() else 0
    low = serves
    for step in range(1, steps + 1):
        count = serves + (most - serves) * step // steps
        if line.promises(count):
            return _bisect(line.promises, low, count)
        low = count
    return serves


def _gallop_up(good: Callable[[int], bool], count: int, least: int, most: int) -> tuple[int | None, int]:
    """Return the first good count in growing steps from ``count`` up, and the last before it that was not."""
    floor, step = least - 1, 1
    while not good(count):
        if count == most:
            return None, count
        floor, count, step = count, min(most, count + step), 2 * step
    return count, floor


def _gallop_down(good: Callable[[int], bool], count: int, least: int) -> int:
    """Return the smallest good count in growing steps from a good one down, then by bisection."""
    low, step = count - 1, 1
    while low >= least and good(low):
        count, step = low, 2 * step
        low = max(least - 1, count - step)
    return _bisect(good, low, count)


# ---- several types -----------------------------------------------------------------------------------


def _several_types(trials: Trials, ranges: Sequence[Ranges], start: Counts) -> Counts | None:
    best = tuple(one.most for one in ranges)
    try:
        for cheaper in _staircase(trials, ranges, start):
            best = cheaper
    except OutOfRuns:
        pass  # the best guess so far is looked at with the runs kept back
    trials.use_reserve()
    found = _first_up(trials, ranges, best)
    while found is not None:
        lower = next((size for size in below(ranges, found) if trials.meets(size)), None)
        if lower is None:
            return found
        found = lower
    return None


def _staircase(trials: Trials, ranges: Sequence[Ranges], start: Counts) -> Iterator[Counts]:
    """Yield sizes that look as if they met all targets, each cheaper than the one before.

    For all counts of the other types, one after the other, the type with the widest range is looked at only up to
    where it would cost as much as the best so far.
    """
    inner = max(range(len(ranges)), key=lambda place: ranges[place].most - ranges[place].least)
    best: Counts | None = None
    poor: list[Counts] = []
    for others in _others(trials, ranges, start, inner):

        def at(count: int, others: Counts = others) -> Counts:
            return (*others[:inner], count, *others[inner:])

        high = _most_below(trials, at, ranges[inner], best)
        if high is None or any(_covers(point, at(high)) for point in poor):
            continue
        if not trials.promises(at(high), served=True):
            poor.append(at(high))
            continue
        found = at(_smallest_of(trials, at, ranges[inner].least, high, poor))
        if trials.promises(found):
            best = found
            yield best


def _others(trials: Trials, ranges: Sequence[Ranges], start: Counts, inner: int) -> Iterator[Counts]:
    """Yield counts of all types but one: today's first, then the nearest; the sooner a good size, the fewer to try."""
    near = [count for place, count in enumerate(start) if place != inner]
    spans = [range(one.least, one.most + 1) for place, one in enumerate(ranges) if place != inner]
    every = product(*spans)
    yield from sorted(every, key=lambda one: (sum(abs(a - b) for a, b in zip(one, near, strict=True)), one))


def _most_below(trials: Trials, at: Callable[[int], Counts], span: Ranges, best: Counts | None) -> int | None:
    """Return the largest count that costs less than the best; None if not even the least does."""
    if best is None:
        return span.most
    limit = trials.cost(best)
    if trials.cost(at(span.least)) >= limit:
        return None
    low, high = span.least, span.most + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if trials.cost(at(middle)) < limit else (low, middle)
    return low


def _smallest_of(trials: Trials, at: Callable[[int], Counts], least: int, high: int, poor: list[Counts]) -> int:
    """Return the smallest count that serves, ``high`` being one; what does not is noted as poor."""
    low = least - 1
    while high - low > 1:
        middle = (low + high) // 2
        if any(_covers(point, at(middle)) for point in poor) or not trials.promises(at(middle), served=True):
            poor.append(at(middle))
            low = middle
        else:
            high = middle
    return high


def _covers(larger: Counts, smaller: Counts) -> bool:
    return all(ours >= theirs for ours, theirs in zip(larger, smaller, strict=True))


def _first_up(trials: Trials, ranges: Sequence[Ranges], first: Counts) -> Counts | None:
    """Return the first size that meets all targets, going up from one by single nodes, the cheapest next."""
    waiting = [(trials.cost(first), first)]
    seen = {first}
    while waiting:
        _, counts = heappop(waiting)
        if trials.meets(counts):
            return counts
        for place, one in enumerate(ranges):
            larger = (*counts[:place], counts[place] + 1, *counts[place + 1 :])
            if counts[place] < one.most and larger not in seen:
                seen.add(larger)
                heappush(waiting, (trials.cost(larger), larger))
    return None
