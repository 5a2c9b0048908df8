"""Who gains and who loses under each option, for the page and the appendix of a memo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from dlsched.metrics.job_classes import NAMED, NOUNS, groupings_of
from dlsched.metrics.winner_words import ordered, with_letters
from dlsched.metrics.winners import Group, Winners, winners


def winners_of(
    baseline: str,
    before: Sequence[pd.DataFrame],
    after: Mapping[str, Sequence[pd.DataFrame]],
    *,
    exact: bool = False,
    hide_names: bool = False,
) -> tuple[Winners, ...]:
    """Return who gains and loses waiting time under each option, by users, groups or classes, whichever jobs name.

    Parameters
    ----------
    before
        Jobs tables of the baseline, draw by draw.
    after
        Jobs tables of each other option, the same draws.
    exact
        Whether nothing is random, so that one draw says all.
    hide_names
        Show A, B, C in place of names that somebody gave.
    """
    by = groupings_of(before[0])[0]
    found = [
        winners(list(zip(before, jobs, strict=True)), by, names=(baseline, name), exact=exact)
        for name, jobs in after.items()
    ]
    return tuple(with_letters(answer) if hide_names else answer for answer in found)


def has_names(answer: Winners) -> bool:
    """Whether the groups bear names that somebody gave."""
    return answer.by in NAMED


def noun(answer: Winners) -> str:
    """Return what a group is, as the head of a column."""
    return NOUNS[answer.by][0].capitalize()


def ends(answer: Winners, most: int) -> list[Group]:
    """Return at most so many groups, in their order: half from the end that gains most, half from the other."""
    groups = ordered(answer)
    if len(groups) <= most:
        return groups
    first = most // 2
    return [*groups[:first], *groups[len(groups) - (most - first) :]]
