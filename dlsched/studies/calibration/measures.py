"""How near a replay comes to a record: measures over the waits of the same jobs, and the grade they earn.

With r the recorded and p the replayed wait of a job, both from submission to the first start, in seconds:

- log ratio = log((p + 60) / (r + 60)): a minute is added so that 2 s against 10 s is no difference.
- typical factor = exp(median |log ratio|), mean factor = exp(mean |log ratio|); both at least 1.
- within 2x = share of jobs with |log ratio| at most log 2, of all jobs and of those that wait over 10 min in either.
- mean ratio = (mean p + 60) / (mean r + 60): the bias.
- explained share = R^2 of p, unfitted, as a prediction of r; rank correlation is Spearman's.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from dlsched.domain.model import FrozenModel
from dlsched.domain.workload import Floats

ADDED_S = 60.0
"""Added to both waits before their ratio is taken; ours."""
LONG_WAIT_S = 600.0
"""A shorter wait says little about a scheduler: it may be the time to its next pass."""
FEWEST_JOBS = 20
"""Of fewer jobs nothing is said; ours."""
LEAST_EXPLAINED, LARGEST_FACTOR, LEAST_RANKS = 0.8, 1.5, 0.5
"""A replay with this R^2 and this typical factor replays the log; with this rank correlation it ranks its jobs."""
MOST_UNLIKE = 0.05
"""A replay that never starts more of the jobs does not replay the log, nor does one in which more of them wait over
10 min where none did in the log; ours."""

Grade = Literal["replays", "ranks", "fails", "no-waits", "few"]


class Measures(FrozenModel):
    """A replay against the record over some jobs.

    ``long_waits``: jobs that wait over 10 min in the record or in the replay; ``recorded_long_waits``: in the record.
    ``within_2x_of_long`` None without such jobs; ``rank_correlation`` where all waits of a side are equal,
    ``explained`` where all recorded ones are. ``never_start``: more jobs, with a recorded start, which the replay
    never starts.
    """

    jobs: int = Field(ge=1)
    rank_correlation: float | None
    typical_factor: float
    mean_factor: float
    within_2x: float
    long_waits: int
    recorded_long_waits: int
    within_2x_of_long: float | None
    mean_ratio: float
    explained: float | None
    recorded_p95_s: float
    replayed_p95_s: float
    never_start: int = 0

    @property
    def grade(self) -> Grade:
        """What the replay may be used for."""
        if self.jobs < FEWEST_JOBS:
            return "few"
        if not self.recorded_long_waits:
            return "fails" if self.long_waits > MOST_UNLIKE * self.jobs else "no-waits"
        if self.explained is None:
            return "fails" if self.typical_factor > LARGEST_FACTOR else "no-waits"
        if self.explained >= LEAST_EXPLAINED and self.typical_factor <= LARGEST_FACTOR and not self.loses_jobs:
            return "replays"
        return "ranks" if (self.rank_correlation or 0.0) >= LEAST_RANKS else "fails"

    @property
    def loses_jobs(self) -> bool:
        """Whether too many jobs never start for the others to speak of all."""
        return self.never_start > MOST_UNLIKE * (self.jobs + self.never_start)


def measures(recorded_s: Floats, replayed_s: Floats, never_start: int = 0) -> Measures | None:
    """Return the measures of the waits of the same jobs, shapes (n,), finite; None without a job."""
    if not len(recorded_s):
        return None
    off = np.abs(log_ratio(recorded_s, replayed_s))
    near = off <= np.log(2) + 1e-12
    long = np.maximum(recorded_s, replayed_s) > LONG_WAIT_S
    return Measures(
        jobs=len(recorded_s),
        rank_correlation=rank_correlation(recorded_s, replayed_s),
        typical_factor=float(np.exp(np.median(off))),
        mean_factor=float(np.exp(off.mean())),
        within_2x=float(near.mean()),
        long_waits=int(long.sum()),
        recorded_long_waits=int((recorded_s > LONG_WAIT_S).sum()),
        within_2x_of_long=float(near[long].mean()) if long.any() else None,
        mean_ratio=float((replayed_s.mean() + ADDED_S) / (recorded_s.mean() + ADDED_S)),
        explained=explained_share(recorded_s, replayed_s),
        recorded_p95_s=float(np.percentile(recorded_s, 95)),
        replayed_p95_s=float(np.percentile(replayed_s, 95)),
        never_start=never_start,
    )


def explained_share(recorded: Floats, replayed: Floats, weight: Floats | None = None) -> float | None:
    """Return R^2 of ``replayed``, unfitted, as a prediction of ``recorded``, shapes (n,); None if that is 0 / 0.

    1 - sum w (r - p)^2 / sum w (r - mean r)^2, the mean weighted too. At most 1; below 0 the mean predicts better.
    """
    weight = np.ones(len(recorded)) if weight is None else weight
    mean = float(np.average(recorded, weights=weight))
    spread = float(weight @ (recorded - mean) ** 2)
    if spread <= 1e-12 * float(weight @ recorded**2):
        return None
    return 1 - float(weight @ (recorded - replayed) ** 2) / spread


def rank_correlation(recorded: Floats, replayed: Floats) -> float | None:
    """Return Spearman's rank correlation, ties at their mean rank; None if one side has no two values."""
    import pandas as pd  # slow to import, rarely needed

    if not np.ptp(recorded) or not np.ptp(replayed):
        return None
    first, second = (pd.Series(values).rank().to_numpy(float) for values in (recorded, replayed))
    return float(np.corrcoef(first, second)[0, 1])


def log_ratio(recorded: Floats, replayed: Floats) -> Floats:
    """Return log((replayed + 60 s) / (recorded + 60 s)), shape (n,)."""
    ratio: Floats = np.log((replayed + ADDED_S) / (recorded + ADDED_S))
    return ratio
