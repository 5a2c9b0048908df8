"""What a source says of its jobs: recorded waits, from when on the record is complete, and how users react to ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.errors import InputError
from dlsched.domain.model import FrozenModel
from dlsched.domain.units import DAY_S
from dlsched.domain.workload import CPU, GPU, Floats, Texts, Workload
from dlsched.wording.counted import COUNTED, GPUS, Counted

NAMELESS = "(no name)"
NOT_ENDED = frozenset({"running", "pending", "suspended"})
"""Recorded statuses, in small letters, whose recorded end is only that of the trace."""
AS_REPLAYED = frozenset({"", "completed", "complete", "succeeded", "success", "finished", "done", "passed"})
"""Recorded statuses, in small letters, of jobs that ended in the source as they end in a replay."""
WARM_UP = 0.05
"""First share of the jobs that is not judged: the cluster of a replay starts empty; ours."""
SOON_S = 10.0
"""A submission this soon after an end of the same user is taken for a reaction to it."""

Grouping = Literal["group", "user", "partition", "job_class", "gpus"]
GROUPINGS: tuple[Grouping, ...] = ("group", "user", "partition", "job_class", "gpus")
GROUPING_WORDS: Mapping[str, str] = {
    "group": "group", "user": "user", "partition": "partition", "job_class": "class", "gpus": "GPUs",
}  # fmt: skip

Mask = NDArray[np.bool_]


class ClosedLoop(FrozenModel):
    """How users react to what the scheduler does: a replay submits their jobs when they were submitted, regardless.

    ``share`` of submissions at most 10 s after an end of the same user, and ``expected`` of it by chance;
    ``most_at_once``: 90% quantile over submissions of the user's jobs waiting or running.
    """

    share: float
    expected: float
    most_at_once: float


@dataclass(frozen=True, eq=False)
class RecordedTimes:
    """What the source says of each job, shape (jobs,); NaN where it says nothing that can be compared.

    ``day``: number of the day of submission from the start of the trace. ``groupings``: names of each job's group.
    ``complete_from_s``: first instant from which no job is missing.
    """

    submit_s: Floats
    wait_s: Floats
    jct_s: Floats
    status: Texts
    day: NDArray[np.int64]
    groupings: Mapping[Grouping, Texts]
    complete_from_s: float = 0.0


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
        raise InputError("calibration", why, "Load a trace with start times, such as Philly, Helios, SWF or sacct")
    end_s = _ends(jobs)
    words = [""] * len(jobs) if jobs.recorded_status is None else jobs.recorded_status.tolist()
    status = np.array([word.strip().lower() for word in words], dtype=object)  # tables of one's own: in any case
    columns: dict[Grouping, Texts | None] = {
        "group": jobs.group, "user": jobs.user, "partition": jobs.partition, "job_class": jobs.job_class,
    }  # fmt: skip
    named = {by: np.where(names == "", NAMELESS, names) for by, names in columns.items() if names is not None}
    ended = (end_s >= start_s) & ~np.isin(status.astype(str), list(NOT_ENDED))
    return RecordedTimes(
        submit_s=jobs.submit_s,
        wait_s=np.where(start_s >= jobs.submit_s, start_s - jobs.submit_s, np.nan),
        jct_s=np.where(ended, end_s - jobs.submit_s, np.nan),
        status=status,
        day=np.floor(jobs.submit_s / DAY_S).astype(np.int64),
        groupings={**named, "gpus": size_classes(jobs)},
        complete_from_s=complete_from_s(jobs),
    )


def left_without_start(jobs: Workload) -> Mask:
    """Return which jobs left the queue of the source without a start, shape (jobs,)."""
    if jobs.cancel_after_s is None or jobs.recorded_start_s is None:
        return np.zeros(len(jobs), dtype=bool)
    return np.asarray(np.isfinite(jobs.cancel_after_s) & np.isnan(jobs.recorded_start_s))


def _ends(jobs: Workload) -> Floats:
    return np.full(len(jobs), np.nan) if jobs.recorded_end_s is None else jobs.recorded_end_s


def complete_from_s(jobs: Workload) -> float:
    """Return the first instant from which a record misses no job, in seconds of the trace.

    A log is often chosen by the end of its jobs: before the first end, it holds only the jobs that ran long. So it is
    taken to be complete from its first end on, unless most jobs were submitted before that.
    """
    if not len(jobs):
        return 0.0
    end_s = np.where(left_without_start(jobs), np.nan, _ends(jobs))
    first_end_s = float(np.min(end_s[np.isfinite(end_s)], initial=np.inf))
    most_come_first = np.mean(jobs.submit_s < first_end_s) > 0.5
    return float(jobs.submit_s[0]) if most_come_first else first_end_s


def halves(record: RecordedTimes) -> tuple[Mask, Mask]:
    """Return the judged jobs of the first and of the second half, shapes (jobs,).

    Judged are jobs with a recorded wait that are submitted once the record is complete. They are split at their median
    submission; the first 5% of them are the warm-up and belong to neither half.
    """
    candidates = np.flatnonzero(np.isfinite(record.wait_s) & (record.submit_s >= record.complete_from_s))
    in_order = candidates[np.argsort(record.submit_s[candidates], kind="stable")]
    judged = np.zeros(len(record.wait_s), dtype=bool)
    judged[in_order[int(WARM_UP * len(in_order)) :]] = True
    is_second = record.submit_s >= (np.median(record.submit_s[in_order]) if len(in_order) else 0.0)
    return judged & ~is_second, judged & is_second


def closed_loop(jobs: Workload) -> ClosedLoop | None:
    """Return how users react to ends of their jobs, over the complete part of a record; None without users or ends."""
    if jobs.user is None or jobs.recorded_end_s is None:
        return None
    complete = jobs.submit_s >= complete_from_s(jobs)
    span_s = float(np.ptp(jobs.submit_s[complete])) if complete.any() else 0.0
    if not span_s:
        return None
    users, place = np.unique(jobs.user.astype(str), return_inverse=True)
    is_named, ended = users[place] != "", np.isfinite(jobs.recorded_end_s)
    asked = np.flatnonzero(complete & is_named)
    if not len(asked):
        return None
    # One user after the other on one axis of time, so that one search counts for all of them.
    last_s = max(float(jobs.submit_s[-1]), float(jobs.recorded_end_s[ended].max(initial=0.0)))
    shift_s = (last_s + 2 * SOON_S) * place + SOON_S
    submits, ends = np.sort(shift_s + jobs.submit_s), np.sort((shift_s + jobs.recorded_end_s)[ended])
    at_s, from_s = (shift_s + jobs.submit_s)[asked], shift_s[asked] - SOON_S
    ended_before = np.searchsorted(ends, at_s, side="right")
    own_before = np.searchsorted(submits, at_s, side="right") - np.searchsorted(submits, from_s)
    own_ended = ended_before - np.searchsorted(ends, from_s)
    by_chance = np.minimum(1.0, np.bincount(place[ended], minlength=len(users)) * SOON_S / span_s)
    return ClosedLoop(
        share=float(np.mean(ended_before > np.searchsorted(ends, at_s - SOON_S))),
        expected=float(by_chance[place[asked]].mean()),
        most_at_once=float(np.quantile(own_before - own_ended, 0.9)),
    )


def size_classes(jobs: Workload) -> Texts:
    """Return the class of each job by its GPUs; by its cores where no job asks for a GPU."""
    of_cores = not jobs.gpus.any() and jobs.requested[:, CPU].any()
    counted = COUNTED[CPU if of_cores else GPU]
    return gpu_classes(jobs.requested[:, counted.index], counted)


def gpu_classes(size: Floats, counted: Counted = GPUS) -> Texts:
    """Return the class of each job by the GPUs of the whole job, or by what else is counted, shape (jobs,)."""
    names = ("no GPU", "part of a GPU", "1 GPU", "2 to 4 GPUs", "5 to 8 GPUs", "9 to 16 GPUs", "over 16 GPUs")
    place = np.select([size <= 0, size < 1, size <= 1, size <= 4, size <= 8, size <= 16], [0, 1, 2, 3, 4, 5], 6)
    classes: Texts = np.array([counted.say(name) for name in names], dtype=object)[place]
    return classes
