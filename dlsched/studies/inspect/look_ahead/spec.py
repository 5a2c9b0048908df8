"""Which decisions of which run are asked for, and what is stored of that run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Floats, Ints
from dlsched.studies.inspect.re_execute import InspectedDecisions

SAME_S = 1e-6
"""Times this close are one instant."""


class LookAheadSpec(InspectedDecisions):
    """Decisions of a run of a ModelArts policy."""

    policies = ("modelarts-optimal", "modelarts-greedy")


@dataclass(frozen=True, eq=False)
class StoredWidths:
    """What is stored of the run: ``times_s`` (D,) of its decisions, and P pieces of jobs with their workers."""

    times_s: Floats
    row: Ints
    workers: Ints
    start_s: Floats
    end_s: Floats

    @classmethod
    def of(cls, decisions: pd.DataFrame, pieces: pd.DataFrame) -> StoredWidths:
        """Return what a stored run says: ``decisions`` of ``decisions_of``, ``pieces`` as tables.segments_of."""
        return cls(
            decisions["time_s"].to_numpy(float),
            pieces["row"].to_numpy(np.int64),
            pieces["workers"].to_numpy(np.int64),
            pieces["start_s"].to_numpy(float),
            pieces["end_s"].to_numpy(float),
        )

    def number_at(self, now_s: float) -> int:
        """Return the number of the decision at this time, from 1; 0 where there is none."""
        place = int(np.searchsorted(self.times_s, now_s - SAME_S))
        return place + 1 if place < len(self.times_s) and abs(self.times_s[place] - now_s) <= SAME_S else 0

    def held_after(self, now_s: float, rows: Ints) -> Ints:
        """Return the workers of these rows (ascending) just after a time, (len(rows),)."""
        runs = (self.start_s <= now_s + SAME_S) & (self.end_s > now_s + SAME_S) & np.isin(self.row, rows)
        held = np.zeros(len(rows), dtype=np.int64)
        np.add.at(held, np.searchsorted(rows, self.row[runs]), self.workers[runs])
        return held


@dataclass(frozen=True, eq=False)
class StoredRun:
    """What a question is about: the scenario, and what is stored of its run; None = all decisions are solved again."""

    scenario: Scenario
    widths: StoredWidths | None = None
