"""Which jobs kept another one waiting: ahead of it in the queue, or on the GPUs it needed; from the tables of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dlsched.domain.plan import WaitReason
from dlsched.wording.counted import COUNTED, GPUS, Counted
from dlsched.wording.formats import listed

MOST_NAMED = 3
MAINLY = 0.5
"""Blockers are named until they make up this share of the time."""
BEHIND = WaitReason.BEHIND.name.lower()

Stretch = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Blockers:
    """Jobs in the way of another: ``named`` (id, GPUs asked for) are those that were there longest, of ``count``.

    ``counted``: the resource each of the named asks for, where it is not GPUs.
    """

    named: tuple[tuple[str, float], ...] = ()
    count: int = 0
    counted: tuple[Counted, ...] = ()

    @property
    def words(self) -> str:
        """In words: "job 7138 (8 GPUs)", "jobs 7138 (8 GPUs), 7140 (1 GPU) and 2 more"."""
        counted = self.counted or (GPUS,) * len(self.named)
        names = [f"{job} ({of.amount(size)})" for (job, size), of in zip(self.named, counted, strict=True)]
        more = self.count - len(names)
        return ("job " if self.count == 1 else "jobs ") + listed([*names, f"{more:,} more"] if more else names)

    @property
    def were(self) -> str:
        """The verb that goes with them."""
        return "was" if self.count == 1 else "were"


def ahead_of(job: pd.Series, jobs: pd.DataFrame, waits: pd.DataFrame, stretches: Sequence[Stretch]) -> Blockers:
    """Return the jobs that were first in the queue while another one was behind an earlier one.

    The log does not say which job that was, but of all that wait in one queue only the first has another reason than
    to be behind. Where several have one at a time, the log cannot say which, and none is named.
    """
    heads = waits[(waits["reason"] != BEHIND) & (waits["row"] != job["row"])]
    heads = _clipped(_of_its_queue(job, jobs, heads), stretches)
    starts, ends = np.sort(heads["from_s"].to_numpy()), np.sort(heads["to_s"].to_numpy())
    if (starts[1:] < ends[:-1] - 1e-6).any():  # two at a time
        return Blockers()
    return _longest(heads.groupby("row", sort=False)["length_s"].sum(), jobs)


def reserved_for(job: pd.Series, jobs: pd.DataFrame, waits: pd.DataFrame, stretches: Sequence[Stretch]) -> Blockers:
    """Return the jobs for which GPUs were reserved, in a queue by submission: at each time the first that waits."""
    order = np.lexsort((jobs["row"], jobs["submit_s"]))
    place = pd.Series(np.arange(len(jobs)), index=jobs["row"].to_numpy()[order])
    waits = waits[waits["row"].map(place) < place[job["row"]]]
    waits = _clipped(_of_its_queue(job, jobs, waits), stretches)
    found: dict[int, float] = {}
    left = list(stretches)
    for row in sorted(set(waits["row"]), key=lambda row: int(place[row])):
        own = waits[waits["row"] == row]
        covered = _clipped(own, left)
        if len(covered):
            found[row] = float(covered["length_s"].sum())
            left = [part for stretch in left for part in _without(stretch, own)]
        if not left:
            break
    return _longest(pd.Series(found, dtype=float), jobs)


def on_its_gpus(
    job: pd.Series, jobs: pd.DataFrame, segments: pd.DataFrame, nodes: Sequence[int], stretches: Sequence[Stretch]
) -> Blockers:
    """Return the jobs that used most GPU time of some nodes (none given: of all) while another one lacked GPUs."""
    held = segments[(segments["row"] != job["row"]) & (segments["gpus"] > 0)]
    if nodes:
        held = held[held["node"].isin(nodes)]
    held = _clipped(held.assign(from_s=held["start_s"], to_s=held["end_s"]), stretches)
    gpu_s = held["length_s"] * held["gpus"]
    return _longest(gpu_s.groupby(held["row"]).sum(), jobs)


def stopped_for(
    job: pd.Series, jobs: pd.DataFrame, segments: pd.DataFrame, at_s: float, nodes: Sequence[int]
) -> Blockers:
    """Return the jobs that started on some nodes at the moment when another one was stopped there."""
    began = segments[(segments["start_s"] - at_s).abs() <= 1e-6]
    began = began[began["node"].isin(nodes) & (began["row"] != job["row"])]
    return _longest(began.groupby("row")["gpus"].sum(), jobs)


def _of_its_queue(job: pd.Series, jobs: pd.DataFrame, waits: pd.DataFrame) -> pd.DataFrame:
    """Return the waits of jobs of the same queue, which the column partition holds."""
    if "partition" not in jobs:
        return waits
    return waits[waits["row"].isin(set(jobs.loc[jobs["partition"] == job["partition"], "row"]))]


def _clipped(spans: pd.DataFrame, stretches: Sequence[Stretch]) -> pd.DataFrame:
    """Return the parts of spans (columns from_s, to_s) that lie in any of the stretches, with their ``length_s``."""
    parts = []
    for low, high in stretches:
        inside = spans[(spans["from_s"] < high) & (spans["to_s"] > low)]
        parts.append(inside.assign(from_s=inside["from_s"].clip(lower=low), to_s=inside["to_s"].clip(upper=high)))
    whole = pd.concat(parts) if parts else spans.iloc[:0]
    return whole.assign(length_s=whole["to_s"] - whole["from_s"])


def _without(stretch: Stretch, spans: pd.DataFrame) -> list[Stretch]:
    """Return what of a stretch no span covers."""
    at, end = stretch
    left = []
    for low, high in sorted(zip(spans["from_s"], spans["to_s"], strict=True)):
        if low > at:
            left.append((at, min(low, end)))
        at = max(at, high)
        if at >= end:
            break
    return [*left, (at, end)] if at < end else [part for part in left if part[1] > part[0]]


def _longest(weights: pd.Series, jobs: pd.DataFrame) -> Blockers:
    """Return the jobs (rows) with the largest weights: all, or of many those that make up most; equal ones in order."""
    weights = weights[weights > 0].sort_index().sort_values(ascending=False, kind="stable")
    if weights.empty:
        return Blockers()
    shares: NDArray[np.float64] = np.cumsum(weights.to_numpy()) / float(weights.sum())
    enough = MOST_NAMED if len(weights) <= MOST_NAMED else min(int(np.searchsorted(shares, MAINLY)) + 1, MOST_NAMED)
    named = weights.index[:enough]
    told = jobs.set_index("row").loc[named]
    pairs = zip(told["job_id"], told["gpus"], strict=True)
    sizes = tuple((str(name), float(gpus)) for name, gpus in pairs)
    counted = tuple(COUNTED[int(index)] for index in told["counted"]) if "counted" in told else ()
    return Blockers(sizes, len(weights), counted)
