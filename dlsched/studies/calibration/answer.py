"""What replays of a recorded trace answer: recorded and replayed waits side by side, by policy and by group.

Definitions, with r the recorded and p the replayed wait of a job, both from submission to the first start:

- explained share = 1 - sum (r - p)^2 / sum (r - mean r)^2: R^2 of the replay as a prediction of the record, nothing
  fitted; 0 is as good as the mean wait, below 0 is worse. Over groups: of the groups' means, weighted by jobs.
- ratio of means = (mean p + 60 s) / (mean r + 60 s): a minute is added so that 2 s against 10 s is no difference.
- typical factor = exp(mean |log((p + 60 s) / (r + 60 s))|) over jobs; the policy with the smallest is the nearest.
- bias = mean (p - r), with a 95% interval from the days of submission: a ratio of sums over days, linearised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from dlsched.domain.errors import InputError
from dlsched.domain.model import Answer, FrozenModel
from dlsched.domain.units import DAY_S
from dlsched.domain.workload import Floats, Texts, Workload
from dlsched.metrics.stats.intervals import Interval, mean_interval, ratio_draws

ADDED_S = 60.0
"""Added to both waits before their ratio is taken; ours."""
MOST_GROUPS = 100
"""Groups with the most jobs that stand by themselves; the rest are one."""
OTHERS, NAMELESS = "(others)", "(no name)"
NOT_ENDED = frozenset({"running", "pending", "suspended"})
"""Recorded statuses, in small letters, whose recorded end is only that of the trace."""
AS_REPLAYED = frozenset({"", "completed", "complete", "succeeded", "success", "finished", "done", "passed"})
"""Recorded statuses, in small letters, of jobs that ended in the source as they end in a replay."""

Grouping = Literal["group", "user", "job_class", "gpus"]
GROUPINGS: tuple[Grouping, ...] = ("group", "user", "job_class", "gpus")
GROUPING_WORDS: Mapping[str, str] = {"group": "group", "user": "user", "job_class": "class", "gpus": "GPUs"}

Mask = NDArray[np.bool_]


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
    """Jobs that belong together; ``jct`` None if none of them has a recorded end that counts."""

    name: str
    wait: ComparedTimes
    jct: ComparedTimes | None


class PolicyFit(FrozenModel):
    """A policy's replay against the record, over the compared jobs.

    ``explained`` None if the recorded waits do not differ, ``rank_correlation`` (Spearman) also where the replayed
    ones do not. ``typical_factor`` is at least 1. ``not_started`` counts jobs with a recorded start that never start in
    this replay.
    """

    policy: str
    label: str
    params: Mapping[str, Any]
    wait: ComparedTimes
    jct: ComparedTimes | None
    explained: float | None
    rank_correlation: float | None
    bias_s: Interval
    typical_factor: float
    not_started: int
    groups: Mapping[str, tuple[ComparedGroup, ...]] = Field(description="By grouping; most jobs first, the rest last.")
    audit: tuple[str, ...] = ()


class Calibration(Answer):
    """Replays of one scenario against its record.

    ``recorded``: of ``jobs``, those with a recorded start at or after submission. ``compared``: of these, those that
    start in every replay; every number but counts is over them, the same jobs for all policies. ``unlike_end`` counts
    compared jobs that ended otherwise than by completing, by recorded status: a replay runs them as long as they ran.
    ``default_by``: the grouping that tells best where the nearest replay is off. ``lead``: log factor of the next
    nearest policy minus that of the nearest, paired by day; None with one policy.
    """

    scenario: str
    scenario_name: str
    seed: int
    jobs: int
    recorded: int
    compared: int
    unlike_end: Mapping[str, int]
    default_by: Grouping
    replays: tuple[PolicyFit, ...] = Field(min_length=1)
    nearest: str
    lead: Interval | None

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

    @property
    def groupings(self) -> tuple[str, ...]:
        """The groupings there are."""
        return tuple(self.replays[0].groups)


@dataclass(frozen=True, eq=False)
class RecordedTimes:
    """What the source says of each job, shape (jobs,); NaN where it says nothing that can be compared.

    ``day``: number of the day of submission from the start of the trace. ``groupings``: names of each job's group.
    """

    wait_s: Floats
    jct_s: Floats
    status: Texts
    day: NDArray[np.int64]
    groupings: Mapping[Grouping, Texts]


@dataclass(frozen=True, eq=False)
class ReplayedTimes:
    """What a policy's run says of the same jobs, shape (jobs,); NaN where a job did not start or complete."""

    policy: str
    label: str
    params: Mapping[str, Any]
    wait_s: Floats
    jct_s: Floats
    audit: tuple[str, ...] = ()


def has_same_record(one: Workload, other: Workload) -> bool:
    """Whether two workloads are the same recorded jobs, whatever was filled in since."""
    return len(one) == len(other) and all(
        np.array_equal(getattr(one, name), getattr(other, name), equal_nan=name != "job_id")
        for name in ("job_id", "submit_s", "work", "gpus", "recorded_start_s")
    )


def record_of(jobs: Workload) -> RecordedTimes:
    """Return what the source says of the jobs; InputError where no job has a recorded start."""
    start_s = jobs.recorded_start_s
    if start_s is None or not jobs.has_recorded_starts:
        why = f"none of {len(jobs):,} jobs has a recorded start at or after its submission: nothing to compare with"
        raise InputError(
            "calibration", why, "Load a trace with start times, such as Philly, Helios, openb, SWF or sacct"
        )
    nothing = np.full(len(jobs), np.nan)
    end_s = nothing if jobs.recorded_end_s is None else jobs.recorded_end_s
    words = [""] * len(jobs) if jobs.recorded_status is None else jobs.recorded_status.tolist()
    status = np.array([word.strip().lower() for word in words], dtype=object)  # tables of one's own: in any case
    columns: dict[Grouping, Texts | None] = {"group": jobs.group, "user": jobs.user, "job_class": jobs.job_class}
    named = {by: np.where(names == "", NAMELESS, names) for by, names in columns.items() if names is not None}
    ended = (end_s >= start_s) & ~np.isin(status.astype(str), list(NOT_ENDED))
    return RecordedTimes(
        wait_s=np.where(start_s >= jobs.submit_s, start_s - jobs.submit_s, np.nan),
        jct_s=np.where(ended, end_s - jobs.submit_s, np.nan),
        status=status,
        day=np.floor(jobs.submit_s / DAY_S).astype(np.int64),
        groupings={**named, "gpus": gpu_classes(jobs.gpus)},
    )


def gpu_classes(gpus: Floats) -> Texts:
    """Return the class of each job by the GPUs of the whole job."""
    names = ("no GPU", "part of a GPU", "1 GPU", "2 to 4 GPUs", "5 to 8 GPUs", "9 to 16 GPUs", "over 16 GPUs")
    place = np.select([gpus <= 0, gpus < 1, gpus <= 1, gpus <= 4, gpus <= 8, gpus <= 16], [0, 1, 2, 3, 4, 5], 6)
    classes: Texts = np.array(names, dtype=object)[place]
    return classes


def calibrate(
    record: RecordedTimes, replays: Sequence[ReplayedTimes], *, scenario: str = "", scenario_name: str = "",
    seed: int = 0,
) -> Calibration:  # fmt: skip
    """Return how near each replay comes to the record.

    Raises
    ------
    InputError
        If no job with a recorded start starts in every replay.
    """
    has_start = np.isfinite(record.wait_s)
    compared = has_start & np.logical_and.reduce([np.isfinite(replay.wait_s) for replay in replays])
    if not compared.any():
        raise InputError(
            "calibration",
            f"none of {int(has_start.sum()):,} jobs with a recorded start starts under every policy",
            "Choose other policies, or describe the cluster on which the trace was recorded",
        )
    groups = {by: largest_groups(names[compared]) for by, names in record.groupings.items()}
    off = [log_ratio(record.wait_s[compared], replay.wait_s[compared]) for replay in replays]
    typical = [round(float(np.exp(np.abs(logs).mean())), 9) for logs in off]
    nearest, *others = sorted(range(len(replays)), key=lambda place: (typical[place], place))
    lead = mean_by_day(np.abs(off[others[0]]) - np.abs(off[nearest]), record.day[compared]) if others else None
    status, counts = np.unique(record.status[compared].astype(str), return_counts=True)
    return Calibration(
        scenario=scenario,
        scenario_name=scenario_name,
        seed=seed,
        jobs=len(record.wait_s),
        recorded=int(has_start.sum()),
        compared=int(compared.sum()),
        unlike_end={
            str(name): int(count) for name, count in zip(status, counts, strict=True) if name not in AS_REPLAYED
        },
        default_by=most_telling(off[nearest], groups),
        replays=tuple(_fit(record, replay, compared, groups) for replay in replays),
        nearest=replays[nearest].policy,
        lead=lead,
    )


def _fit(record: RecordedTimes, replay: ReplayedTimes, compared: Mask, groups: Mapping[Grouping, Texts]) -> PolicyFit:
    """Return a replay against the record over the compared jobs; ``groups`` their names by grouping."""
    recorded, replayed = record.wait_s[compared], replay.wait_s[compared]
    recorded_jct, replayed_jct = record.jct_s[compared], replay.jct_s[compared]

    def group(name: str, rows: Mask) -> ComparedGroup:
        jct = _known_times(recorded_jct[rows], replayed_jct[rows])
        return ComparedGroup(name=name, wait=_times(recorded[rows], replayed[rows]), jct=jct)

    return PolicyFit(
        policy=replay.policy,
        label=replay.label,
        params=dict(replay.params),
        wait=_times(recorded, replayed),
        jct=_known_times(recorded_jct, replayed_jct),
        explained=explained_share(recorded, replayed),
        rank_correlation=rank_correlation(recorded, replayed),
        bias_s=mean_by_day(replayed - recorded, record.day[compared]),
        typical_factor=float(np.exp(np.abs(log_ratio(recorded, replayed)).mean())),
        not_started=int((np.isfinite(record.wait_s) & ~np.isfinite(replay.wait_s)).sum()),
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


def explained_of_groups(groups: Sequence[ComparedGroup]) -> float | None:
    """Return the explained share of the groups' mean waits, weighted by jobs; None if they do not differ."""
    recorded, replayed, jobs = (
        np.array(values, dtype=float)
        for values in zip(*[(g.wait.recorded.mean_s, g.wait.replayed.mean_s, g.wait.jobs) for g in groups], strict=True)
    )
    return explained_share(recorded, replayed, jobs)


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
