"""How fair two runs are to users, and what changes: measures with a definition each, over the same futures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from dlsched.domain.errors import InputError
from dlsched.domain.model import Answer, FrozenModel
from dlsched.domain.workload import Floats
from dlsched.metrics.fairness import gini, jain_index, means_by_user, worst_to_median
from dlsched.metrics.job_classes import floats_of
from dlsched.metrics.kpi import KPI, KPIS
from dlsched.metrics.stats.compare import Numbers, judge
from dlsched.metrics.stats.intervals import Interval, mean_interval, paired_difference
from dlsched.metrics.stats.statements import Verdict


@dataclass(frozen=True, slots=True)
class OverUsers:
    """A measure over users: how it is shown, the column whose mean stands for a user, the formula."""

    kpi: KPI
    column: str
    formula: Callable[[Floats], float | None]


OVER_USERS: dict[str, OverUsers] = {
    measure.kpi.key: measure
    for measure in (
        OverUsers(KPIS["fairness_users_jain"], "slowdown", jain_index),
        OverUsers(
            KPI("wait_gini", "Gini of users' waits", "number", "lower",
                "How unequal users' mean waits are: mean difference of two users over twice the mean. 0: all equal; "
                "near 1: one user bears everything. Each user with a started job counts once. Mean waits of 1, 1 and "
                "4 h give 0.33. It can grow while all users wait less.", "Service"),
            "wait_s", gini),
        OverUsers(
            KPI("wait_worst_to_median", "Worst user's wait over the median", "factor", "lower",
                "Mean wait of the user who waits longest over that of the median user. One user with few jobs can "
                "set it. Mean waits of 1, 1 and 4 h give 4x. A dash where the median user does not wait.",
                "Service"),
            "wait_s", worst_to_median),
    )
}  # fmt: skip
OVER_JOBS = ("fairness_p95", "fairness_max")
"""Measures over jobs, finish-time fairness, that every run has among its metrics."""
MEASURES: dict[str, KPI] = {key: measure.kpi for key, measure in OVER_USERS.items()} | {
    key: KPIS[key] for key in OVER_JOBS
}


class Measured(FrozenModel):
    """A measure under both runs, means over futures; None if a future has none. Counts are users, mean over futures.

    ``half_width`` of the change's 95% interval is None in one future of something random, 0 where it is exact.
    """

    key: str
    baseline: float | None
    other: float | None
    change: float | None
    half_width: float | None
    verdict: Verdict
    users_baseline: float | None = None
    users_other: float | None = None


class Fairness(Answer):
    """All measures of two runs, in the order of :data:`MEASURES`; ``exact``: nothing is random, one draw says all."""

    baseline: str
    other: str
    draws: int
    exact: bool
    measures: tuple[Measured, ...]

    def of(self, key: str) -> Measured:
        """Return a measure; KeyError where it is not there."""
        for measured in self.measures:
            if measured.key == key:
                return measured
        raise KeyError(key)


def fairness_change(
    pairs: Sequence[tuple[pd.DataFrame, pd.DataFrame]],
    metrics: Sequence[tuple[Numbers, Numbers]],
    *,
    names: tuple[str, str] = ("baseline", "other run"),
    exact: bool = False,
) -> Fairness:
    """Return the measures of a baseline and another run with their differences.

    ``pairs`` are jobs tables and ``metrics`` the metrics of both runs, future by future. Each run counts the users for
    which it has a number. Jobs without a user are left out of the measures over users.

    Raises
    ------
    InputError
        Without a future, or where tables and metrics have different numbers of futures.
    """
    if not pairs or len(pairs) != len(metrics):
        why = f"needs as many metrics as jobs tables, and one at least, got {len(metrics)} and {len(pairs)}"
        raise InputError("fairness", why, "Give both of each future")
    measured = []
    for key, measure in OVER_USERS.items():
        each = [[_of_users(table, measure) for table in side] for side in zip(*pairs, strict=True)]
        users = [float(np.mean([len(means) for means in side])) for side in each]
        before, after = ([measure.formula(means) for means in side] for side in each)
        measured.append(_measured(MEASURES[key], before, after, exact=exact, users=users))
    for key in OVER_JOBS:
        before, after = ([values.get(key) for values in side] for side in zip(*metrics, strict=True))
        measured.append(_measured(MEASURES[key], before, after, exact=exact))
    return Fairness(baseline=names[0], other=names[1], draws=len(pairs), exact=exact, measures=tuple(measured))


def _of_users(table: pd.DataFrame, measure: OverUsers) -> Floats:
    if "user" not in table:
        return np.zeros(0)
    return means_by_user(table["user"].to_numpy(dtype=object), floats_of(table, measure.column))


def _measured(
    kpi: KPI,
    before: Sequence[float | None],
    after: Sequence[float | None],
    *,
    exact: bool,
    users: Sequence[float | None] = (None, None),
) -> Measured:
    """Return one measure; undefined in one future, it is undefined: the others would answer another question."""
    theirs, ours = ([value for value in side if value is not None] for side in (before, after))
    base, other = (mean_interval(kept).mean if len(kept) == len(before) else None for kept in (theirs, ours))
    change, verdict = None, "missing"
    if base is not None and other is not None:
        change = paired_difference(ours, theirs)
        change = Interval(change.mean, 0.0, 1) if exact and change.n == 1 else change
        verdict = judge(kpi, change, scale=max(abs(base), abs(other)))
    return Measured(
        key=kpi.key, baseline=base, other=other, change=None if change is None else change.mean,
        half_width=None if change is None else change.half_width, verdict=verdict,
        users_baseline=users[0], users_other=users[1],
    )  # fmt: skip
