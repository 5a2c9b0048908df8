"""What replays of a recorded trace answer: recorded and replayed waits side by side, by policy and by group.

Nothing is fitted: each policy runs as it is. Jobs are judged once the record is complete and the replay warmed up, and
split at their median submission: the first half decides which policy is the nearest, the second half how near it is.
The measures are defined in :mod:`dlsched.studies.calibration.measures`. The bias of the mean wait, mean (p - r), has a
95% interval from the days of submission: a ratio of sums over days, linearised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from dlsched.domain.errors import InputError
from dlsched.domain.model import Answer, FrozenModel
from dlsched.domain.workload import Floats, Texts
from dlsched.metrics.stats.intervals import Interval, mean_interval, ratio_draws
from dlsched.studies.calibration.measures import ADDED_S, Measures, log_ratio, measures
from dlsched.studies.calibration.record import (
    AS_REPLAYED,
    GROUPINGS,
    ClosedLoop,
    Grouping,
    Mask,
    RecordedTimes,
    halves,
)

MOST_GROUPS = 100
"""Groups with the most jobs that stand by themselves; the rest are one."""
OTHERS = "(others)"


class Moments(FrozenModel):
    """Mean, median and 95th percentile of one time, seconds."""

    mean_s: float
    median_s: float
    p95_s: float


class ComparedTimes(FrozenModel):
    """One time of the same jobs in the record and in a replay."""

    jobs: int = Field(ge=1)
    recorded: Moments
    replayed: Moments

    @property
    def ratio(self) -> float:
        """Replayed mean over recorded mean, a minute added to both."""
        return (self.replayed.mean_s + ADDED_S) / (self.recorded.mean_s + ADDED_S)


class ComparedGroup(FrozenModel):
    """Jobs that belong together, of both halves; ``second``: measures of those in the second half.

    ``jct`` None if no job has a recorded end that counts, ``second`` if none is in the second half.
    """

    name: str
    wait: ComparedTimes
    jct: ComparedTimes | None
    second: Measures | None


class PolicyFit(FrozenModel):
    """A policy's replay against the record, over the compared jobs.

    ``first``, ``second``: measures of the halves; ``first`` is None if all jobs are submitted at one instant. Times,
    bias and groups are of both halves. ``never_start`` counts judged jobs that never start in this replay.
    ``idle_wanted``: mean share of the cluster that is idle while jobs that fit wait; None without a queue.
    """

    policy: str
    label: str
    params: Mapping[str, Any]
    wait: ComparedTimes
    jct: ComparedTimes | None
    first: Measures | None
    second: Measures
    bias_s: Interval
    never_start: int
    idle_wanted: float | None
    groups: Mapping[str, tuple[ComparedGroup, ...]] = Field(description="By grouping; most jobs first, the rest last.")
    audit: tuple[str, ...] = ()


class Calibration(Answer):
    """Replays of one scenario against its record.

    ``recorded``: of ``jobs``, those with a recorded start at or after submission. ``judged``: of these, those submitted
    after the record is complete (``complete_from_s``) and the first 5% of them. ``compared``: of these, those that
    start in every replay; every measure is over them, the same jobs for all policies, in halves, the second of which
    starts at ``split_s``.
    ``unlike_end`` counts compared jobs that ended otherwise than by completing, by recorded status: a replay runs them
    as long as they ran. ``default_by``: the grouping that tells best where the nearest replay is off. ``nearest``: the
    policy with the smallest mean factor over the first half; ``lead``: log factor of the next minus its own, paired by
    day, None with one policy. ``idle_wanted``: as of a replay, of the record.
    """

    scenario: str
    scenario_name: str
    seed: int
    jobs: int
    recorded: int
    judged: int
    compared: int
    complete_from_s: float
    split_s: float
    unlike_end: Mapping[str, int]
    default_by: Grouping
    replays: tuple[PolicyFit, ...] = Field(min_length=1)
    nearest: str
    lead: Interval | None
    idle_wanted: float | None
    closed_loop: ClosedLoop | None

    def of(self, policy: str) -> PolicyFit:
        """Return the replay of a policy; KeyError where there is none."""
        for replay in self.replays:
            if replay.policy == policy:
                return replay
        raise KeyError(policy)

    @property
    def best(self) -> PolicyFit:
        """The replay that is nearest to the record."""
        return self.of(self.nearest)

    def chosen(self, policy: str) -> PolicyFit:
        """Return the replay of a policy, the nearest where that one was not replayed."""
        return next((replay for replay in self.replays if replay.policy == policy), self.best)

    @property
    def groupings(self) -> tuple[str, ...]:
        """The groupings there are."""
        return tuple(self.replays[0].groups)


@dataclass(frozen=True, eq=False)
class ReplayedTimes:
    """What a policy's run says of the same jobs, shape (jobs,); NaN where a job did not start or complete."""

    policy: str
    label: str
    params: Mapping[str, Any]
    wait_s: Floats
    jct_s: Floats
    audit: tuple[str, ...] = ()
    idle_wanted: float | None = None


def calibrate(
    record: RecordedTimes, replays: Sequence[ReplayedTimes], *, scenario: str = "", scenario_name: str = "",
    seed: int = 0, idle_wanted: float | None = None, loop: ClosedLoop | None = None, unseen_only: bool = False,
) -> Calibration:  # fmt: skip
    """Return how near each replay comes to the record; ``idle_wanted`` and ``loop`` of the record.

    ``unseen_only``: only the second half counts, also in groups, as something was learned from the first; ``nearest``
    then says nothing.

    Raises
    ------
    InputError
        If no judged job starts in every replay.
    """
    first, second = halves(record)
    first = first & (not unseen_only)
    starts = np.logical_and.reduce([np.isfinite(replay.wait_s) for replay in replays])
    if not (second & starts).any():
        raise InputError(
            "calibration",
            f"none of {int(second.sum()):,} jobs with a recorded start in the second half of the log starts under "
            "every policy",
            "Choose other policies, or describe the cluster on which the trace was recorded",
        )
    judged, compared = first | second, (first | second) & starts
    learned = first & starts if (first & starts).any() else compared
    groups = {by: largest_groups(names[compared]) for by, names in record.groupings.items()}
    off = [np.abs(log_ratio(record.wait_s[learned], replay.wait_s[learned])) for replay in replays]
    mean_factor = [round(float(np.exp(logs.mean())), 9) for logs in off]
    nearest, *others = sorted(range(len(replays)), key=lambda place: (mean_factor[place], place))
    lead = mean_by_day(off[others[0]] - off[nearest], record.day[learned]) if others else None
    status, counts = np.unique(record.status[compared].astype(str), return_counts=True)
    return Calibration(
        scenario=scenario,
        scenario_name=scenario_name,
        seed=seed,
        jobs=len(record.wait_s),
        recorded=int(np.isfinite(record.wait_s).sum()),
        judged=int(judged.sum()),
        compared=int(compared.sum()),
        complete_from_s=record.complete_from_s,
        split_s=float(record.submit_s[second].min()),
        unlike_end={
            str(name): int(count) for name, count in zip(status, counts, strict=True) if name not in AS_REPLAYED
        },
        default_by=most_telling(log_ratio(record.wait_s[compared], replays[nearest].wait_s[compared]), groups),
        replays=tuple(_fit(record, replay, (first, second), compared, groups) for replay in replays),
        nearest=replays[nearest].policy,
        lead=lead,
        idle_wanted=idle_wanted,
        closed_loop=loop,
    )


def _fit(
    record: RecordedTimes,
    replay: ReplayedTimes,
    judged: tuple[Mask, Mask],
    compared: Mask,
    groups: Mapping[Grouping, Texts],
) -> PolicyFit:
    """Return a replay against the record over the compared jobs; ``groups`` their names by grouping."""
    recorded, replayed = record.wait_s[compared], replay.wait_s[compared]
    recorded_jct, replayed_jct = record.jct_s[compared], replay.jct_s[compared]
    is_second = judged[1][compared]
    stuck = [int((half & ~np.isfinite(replay.wait_s)).sum()) for half in judged]

    def of(rows: Mask, never_start: int = 0) -> Measures | None:
        return measures(recorded[rows], replayed[rows], never_start)

    def group(name: str, rows: Mask) -> ComparedGroup:
        jct = _known_times(recorded_jct[rows], replayed_jct[rows])
        return ComparedGroup(
            name=name, wait=_times(recorded[rows], replayed[rows]), jct=jct, second=of(rows & is_second)
        )

    second = of(is_second, stuck[1])
    assert second is not None  # as `calibrate` checks
    return PolicyFit(
        policy=replay.policy,
        label=replay.label,
        params=dict(replay.params),
        wait=_times(recorded, replayed),
        jct=_known_times(recorded_jct, replayed_jct),
        first=of(~is_second, stuck[0]),
        second=second,
        bias_s=mean_by_day(replayed - recorded, record.day[compared]),
        never_start=sum(stuck),
        idle_wanted=replay.idle_wanted,
        groups={by: tuple(group(name, names == name) for name in ordered_names(names)) for by, names in groups.items()},
        audit=replay.audit,
    )


def _known_times(recorded: Floats, replayed: Floats) -> ComparedTimes | None:
    both = np.isfinite(recorded) & np.isfinite(replayed)
    return _times(recorded[both], replayed[both]) if both.any() else None


def _times(recorded: Floats, replayed: Floats) -> ComparedTimes:
    return ComparedTimes(jobs=len(recorded), recorded=_moments(recorded), replayed=_moments(replayed))


def _moments(values: Floats) -> Moments:
    median_s, p95_s = np.percentile(values, (50, 95)).tolist()
    return Moments(mean_s=float(values.mean()), median_s=median_s, p95_s=p95_s)


# ---- statistics ------------------------------------------------------------------------------------


def mean_by_day(values: Floats, day: NDArray[np.int64]) -> Interval:
    """Return the mean over jobs with a 95% interval that takes days, not jobs, as independent; none with one day.

    The mean is sum of the days' sums over sum of the days' jobs; ``ratio_draws`` linearises that ratio.
    """
    _, place = np.unique(day, return_inverse=True)
    sums, jobs = (np.asarray(np.bincount(place, of), dtype=np.float64) for of in (values, None))
    return mean_interval(ratio_draws(sums, jobs))


def largest_groups(names: Texts) -> Texts:
    """Return the names with all but the MOST_GROUPS that have the most jobs called OTHERS; ties by name."""
    ordered = ordered_names(names)
    if len(ordered) <= MOST_GROUPS:
        return names
    return np.asarray(np.where(np.isin(names.astype(str), ordered[:MOST_GROUPS]), names, OTHERS), dtype=object)


def ordered_names(names: Texts) -> list[str]:
    """Return the distinct names, most jobs first, ties by name, OTHERS last."""
    distinct, counts = np.unique(names.astype(str), return_counts=True)
    count_of = dict(zip(distinct.tolist(), counts.tolist(), strict=True))
    return sorted(count_of, key=lambda name: (name == OTHERS, -count_of[name], name))


def most_telling(off: Floats, groupings: Mapping[Grouping, Texts]) -> Grouping:
    """Return the grouping whose groups differ most in how far the replay is off; the first of equals.

    ``off``: log ratio of each job, shape (jobs,). By adjusted R^2 = 1 - (within / (jobs - groups)) / (total / (jobs -
    1)) of the groups' means, so that many small groups do not win by their number.
    """
    score = {by: _adjusted_share(off, names) for by, names in groupings.items()}
    return max(score, key=lambda by: (round(score[by], 9), -GROUPINGS.index(by)))


def _adjusted_share(values: Floats, names: Texts) -> float:
    _, place, jobs = np.unique(names.astype(str), return_inverse=True, return_counts=True)
    total = float(((values - values.mean()) ** 2).sum())
    if len(jobs) < 2 or len(jobs) >= len(values) or total <= 1e-12 * len(values):
        return -np.inf
    means = np.bincount(place, values) / jobs
    within = float(((values - means[place]) ** 2).sum())
    return 1 - (within / (len(values) - len(jobs))) / (total / (len(values) - 1))
