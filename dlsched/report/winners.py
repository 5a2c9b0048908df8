"""Who gains and who loses under an option: users, groups or classes of jobs, named or as A, B, C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from dlsched.metrics.formats import amount, duration
from dlsched.metrics.group_changes import changes_by, groupings_of, letters

NOTICED_S = 600.0
"""A mean wait that changes by less is not called a gain or a loss."""
NOUNS = {"user": "user", "group": "group", "job_class": "job class"}
PLURALS = {"job_class": "job classes"}
UNNAMED = "(no name)"


@dataclass(frozen=True, slots=True)
class Change:
    """One group: its jobs per draw and the mean change of their wait, seconds, below 0 = sooner."""

    name: str
    jobs: int
    mean_s: float


@dataclass(frozen=True, slots=True)
class Winners:
    """All groups under one option against the baseline, who gains most first; ``draws`` behind the means."""

    option: str
    by: str
    changes: tuple[Change, ...]
    draws: int

    @property
    def noun(self) -> str:
        """What a group is."""
        return NOUNS.get(self.by, self.by)

    def words(self) -> str:
        """Return "FIFO: 12 users gain and 3 lose more than 10 min of mean wait"."""
        gain = sum(change.mean_s < -NOTICED_S for change in self.changes)
        lose = sum(change.mean_s > NOTICED_S for change in self.changes)
        who = amount(gain, self.noun, PLURALS.get(self.by, ""))
        verb = "gains" if gain == 1 else "gain"
        lost = "loses" if lose == 1 else "lose"
        return f"{self.option}: {who} {verb} and {lose:,} {lost} more than {duration(NOTICED_S)} of mean wait"

    @property
    def over(self) -> str:
        """Over how many draws the means are."""
        return "one draw" if self.draws == 1 else f"mean over {self.draws} draws"

    def ends(self, most: int) -> tuple[Change, ...]:
        """Return at most so many groups from both ends, in their order: half who gain most, half who lose most."""
        if len(self.changes) <= most:
            return self.changes
        first = most // 2
        return (*self.changes[:first], *self.changes[len(self.changes) - (most - first) :])


def winners(
    before: Sequence[pd.DataFrame], after: Mapping[str, Sequence[pd.DataFrame]], *, hide_names: bool = False
) -> tuple[Winners, ...]:
    """Return who gains and loses under each option; empty where the jobs name nobody.

    Parameters
    ----------
    before
        Jobs tables of the baseline, draw by draw.
    after
        Jobs tables of each other option, the same draws.
    hide_names
        Show A, B, C; one letter is one group under all options.
    """
    groupings = groupings_of(before[0]) if len(before) else []
    if not groupings:
        return ()
    by = groupings[0]
    tables = {name: changes_by(list(zip(before, jobs, strict=True)), by) for name, jobs in after.items()}
    real = sorted({str(name) for table in tables.values() for name in table.index[~table["folded"].astype(bool)]})
    shown = {name: letters(place) if hide_names else name or UNNAMED for place, name in enumerate(real)}
    return tuple(Winners(name, by, _changes(table, shown), len(before)) for name, table in tables.items() if len(table))


def _changes(table: pd.DataFrame, shown: Mapping[str, str]) -> tuple[Change, ...]:
    rows = [
        Change(str(name) if folded else shown[str(name)], int(jobs), float(mean_s))
        for name, mean_s, jobs, folded in zip(table.index, table["mean"], table["jobs"], table["folded"], strict=True)
    ]
    return tuple(sorted(rows, key=lambda change: (change.mean_s, change.name)))
