"""Groups of jobs in a comparison of two runs: by who submitted them, by size and by length."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dlsched.domain.units import DAY_S, HOUR_S, MINUTE_S
from dlsched.domain.workload import Floats
from dlsched.wording.counted import COUNTED, GPUS, Counted
from dlsched.wording.formats import duration, number

Grouping = Literal["user", "group", "job_class", "size_class", "length_class"]
Names = NDArray[np.object_]

NOUNS: dict[Grouping, tuple[str, str]] = {
    "user": ("user", "users"),
    "group": ("group", "groups"),
    "job_class": ("job class", "job classes"),
    "size_class": ("size class", "size classes"),
    "length_class": ("length class", "length classes"),
}
"""Grouping -> one and many, in the order in which they are offered."""
NAMED: tuple[Grouping, ...] = ("user", "group", "job_class")
"""Groupings by a name that a person gave."""
NO_NAME = "(none)"
NO_TIME = "run time unknown"
SIZE_EDGES = (0.0, 1.0, 4.0, 8.0, 16.0)
SIZE_LABELS = ("no GPU", "1 GPU", "2–4 GPUs", "5–8 GPUs", "9–16 GPUs", "more than 16 GPUs")
LENGTH_EDGES_S = (10.0 * MINUTE_S, 2.0 * HOUR_S, 1.0 * DAY_S)
LENGTH_LABELS = ("up to 10 min", "10 min to 2 h", "2 to 24 h", "more than 24 h")
COARSE_SHARE = 0.8
"""Fixed classes say little where one of them has more than this share of the jobs; quartiles are used then."""
QUARTERS = (0.25, 0.5, 0.75)


def groupings_of(jobs: pd.DataFrame) -> list[Grouping]:
    """Return the groupings of a jobs table: names where they are given, size, length."""
    return [by for by in NOUNS if by not in NAMED or (by in jobs and jobs[by].fillna("").astype(bool).any())]


def alone_s(jobs: pd.DataFrame) -> Floats:
    """Return the run time alone of each job of a jobs table, from its slowdown; NaN for jobs that did not complete.

    To the millisecond: rounding noise must not part jobs that are equally long.
    """
    jct_s, slowdown = floats_of(jobs, "jct_s"), floats_of(jobs, "slowdown")
    known_s: Floats = np.divide(jct_s, slowdown, out=np.full(len(jobs), np.nan), where=slowdown > 0)
    return np.round(known_s, 3)


def sized_by(tables: Iterable[pd.DataFrame]) -> Counted:
    """Return the resource that classes of size are of: GPUs, or cores or memory where no job of any table has GPUs."""
    shown = list(tables)
    found = (of for of in COUNTED.values() if any(np.nansum(sizes_of(table, of)) > 0 for table in shown))
    return next(found, GPUS)


def sizes_of(jobs: pd.DataFrame, counted: Counted) -> Floats:
    """Return what each job of a jobs table requests of a resource; NaN throughout where the table lacks it.

    Where a column ``counted`` says that ``gpus`` are cores, the job has no GPUs.
    """
    sizes = floats_of(jobs, counted.column)
    if counted == GPUS and "counted" in jobs:
        return np.where(jobs["counted"] == GPUS.index, sizes, 0.0)
    return sizes


def size_classes(sizes: Floats, counted: Counted = GPUS) -> tuple[Names, list[str]]:
    """Return the class of each job by what it asks for, and the classes there are, smallest first; shape (jobs,)."""
    labels = [counted.say(label) for label in SIZE_LABELS]
    if ((sizes > 0) & (sizes < 1)).any():
        labels[1] = counted.say("1 GPU or less")

    def words(low: float, high: float) -> str:
        return counted.amount(low) if low == high else f"{number(low)}–{number(high)} {counted.many}"

    return _classes(sizes, SIZE_EDGES, labels, words, 1.0)


def length_classes(alone_s: Floats) -> tuple[Names, list[str]]:
    """Return the class of each job by run time alone (seconds), and the classes there are, shortest first.

    Shape (jobs,); NaN is a class of its own, the last.
    """
    return _classes(alone_s, LENGTH_EDGES_S, LENGTH_LABELS, _time_words, 2.0)


def _classes(
    values: Floats,
    edges: Sequence[float],
    labels: Sequence[str],
    words: Callable[[float, float], str],
    least_factor: float,
) -> tuple[Names, list[str]]:
    """Return fixed classes (a value on an edge is below it), or quarters where one class has nearly all jobs.

    ``least_factor``: classes of values that differ by no more than this are not split.
    """
    there = ~np.isnan(values)
    known = values[there]
    if not len(known):
        return np.full(len(values), NO_TIME, dtype=object), [NO_TIME] if len(values) else []
    place = np.searchsorted(edges, known, side="left")
    counts = np.bincount(place)
    crowd = known[place == counts.argmax()]
    if len(crowd) > COARSE_SHARE * len(known) and crowd.max() > least_factor * crowd.min():
        cuts = np.unique(np.quantile(known, QUARTERS, method="inverted_cdf"))
        place = np.searchsorted(cuts, known, side="left")
        used = np.unique(place).tolist()
        named = {at: words(float(known[place == at].min()), float(known[place == at].max())) for at in used}
    else:
        used = np.unique(place).tolist()
        named = {at: labels[at] for at in used}
    of_job = np.full(len(values), NO_TIME, dtype=object)
    of_job[there] = np.array([named.get(at, "") for at in range(max(used) + 1)], dtype=object)[place]
    # Two quarters whose limits read alike are one class.
    order = list(dict.fromkeys(named[at] for at in used))
    return of_job, order if there.all() else [*order, NO_TIME]


def _time_words(low_s: float, high_s: float) -> str:
    low, high = duration(low_s), duration(high_s)
    return low if low == high else f"{low} to {high}"


def floats_of(frame: pd.DataFrame, name: str) -> Floats:
    """Return a column as floats; NaN throughout where the table lacks it."""
    return np.asarray(frame[name], dtype=float) if name in frame else np.full(len(frame), np.nan)


# ---- groups -------------------------------------------------------------------------------------------


LEAST_GROUP = 5
"""Groups of fewer jobs a draw are folded into one: a mean over them says little."""


def letters(place: int) -> str:
    """Return A, B, ..., Z, AA, AB, ...: names for groups that are not to be named."""
    text = ""
    place += 1
    while place:
        place, last = divmod(place - 1, 26)
        text = chr(65 + last) + text
    return text
