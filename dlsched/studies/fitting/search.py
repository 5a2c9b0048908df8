"""Fit on the first quarter and choose on the second: which parts a scheduler shows, and with what values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dlsched.studies.fitting.families import Part, Setting

MUST_WIN = 0.03
"""A richer family must have a mean |log ratio| this much lower, ours."""
MOST_ROUNDS = 2
MOST_IN_FULL = 2
SHORT_SLACK = 0.05
"""Of the values of a field, so many that are at most this much worse in a short replay are replayed in full, ours."""

Score = Callable[[Sequence[Setting]], list[float]]
"""Mean |log ratio| of settings over the jobs of a period; smaller is better."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """The best setting that was found, its score, and how many settings were tried."""

    setting: Setting
    score: float
    tried: int


def descend(
    starts: Sequence[Setting], grid: Mapping[str, Sequence[Any]], score: Score, short: Score | None = None
) -> Fitted:
    """Return the best setting that changes of one field after the other reach from the starts, at most two rounds.

    Of equal scores the earlier value counts, so that what has no effect is left out. Each setting is scored once.
    ``short``: a cheaper score that says which values of a field are worth the other one, None = all; what it leaves
    out is never chosen.
    """
    first = list(dict.fromkeys(starts))
    known = dict(zip(first, score(first), strict=True))
    known_short: dict[Setting, float] = {}

    def scored(now: Setting, tried: Sequence[Setting]) -> list[float]:
        new = [one for one in dict.fromkeys(tried) if one not in known]
        if short is not None and new:
            unseen = [one for one in (now, *new) if one not in known_short]
            known_short.update(zip(unseen, short(unseen), strict=True))
            near = [one for one in new if known_short[one] <= known_short[now] + SHORT_SLACK]
            known.update(dict.fromkeys(new, math.inf))
            new = sorted(near, key=known_short.__getitem__)[:MOST_IN_FULL]
        known.update(zip(new, score(new), strict=True) if new else ())
        return [known[one] for one in tried]

    found = []
    for start in starts:
        now = start
        for _ in range(MOST_ROUNDS):
            before = now
            for name, values in grid.items():
                tried = [now.model_copy(update={name: value}).simplest() for value in values]
                scores = scored(now, tried)
                if min(scores) < known[now] - 1e-9:
                    now = tried[scores.index(min(scores))]
            if now == before:
                break
        found.append((known[now], now))
    best = min(range(len(found)), key=lambda place: (round(found[place][0], 9), place))
    return Fitted(found[best][1], found[best][0], len(known))


@dataclass(frozen=True, eq=False)
class Step:
    """A family that was tried: what it adds, its best setting on the first quarter and its scores on both quarters."""

    part: Part | None
    setting: Setting
    fitted: float
    chosen_by: float
    tried: int
    kept: bool


def nested(
    grids: Mapping[Part, Mapping[str, Sequence[Any]]], first: Score, second: Score, short: Score | None = None
) -> list[Step]:
    """Return the families in order, from EASY backfill on: each adds a part to what was kept before.

    A family is fitted on the first quarter, all its parts together, what is added first. It is kept where its score on
    the second quarter is at least 3% lower than that of the richest one kept so far. A part that is not kept is left
    out of all that follow. ``short``: see :func:`descend`.
    """
    plain = Setting()
    steps = [Step(None, plain, first([plain])[0], second([plain])[0], 1, True)]
    now = steps[0]
    kept: dict[str, Sequence[Any]] = {}
    for part, grid in grids.items():
        found = descend(starts_of(now.setting, grid), {**grid, **kept}, first, short)
        score = now.chosen_by if found.setting == now.setting else second([found.setting])[0]
        is_kept = score < now.chosen_by * (1 - MUST_WIN)
        steps.append(Step(part, found.setting, found.score, score, found.tried, is_kept))
        if is_kept:
            now, kept = steps[-1], {**kept, **grid}
    return steps


def starts_of(setting: Setting, grid: Mapping[str, Sequence[Any]]) -> list[Setting]:
    """Return where a search starts: with what is known, with nothing, and with fair share where it is looked for."""
    starts = list(dict.fromkeys([setting, Setting()]))
    return [*starts, *(one.model_copy(update={"fair_share": 1.0}) for one in starts if "fair_share" in grid)]
