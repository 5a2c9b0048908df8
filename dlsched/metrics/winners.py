"""Which jobs gain and which lose when one run replaces another: changes by user, group, class, size and length of job.

The answer rests on pairs of jobs tables, draw by draw: the same jobs under both runs. A job counts for a quantity when
both runs give it one (a wait when it started under both); all others are counted apart, never dropped in silence.

How sure a change is depends on what varies. Over several draws the interval is that of the mean over draws, paired
(jobs of one draw meet each other in the queue, so they are no sample of independent values). In one draw of something
random there is no interval. Where nothing is random one draw says all: the change is exact for this trace, and the
spread between jobs, told by quartiles and shares, is no error of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from dlsched.domain.errors import InputError
from dlsched.domain.model import Answer, FrozenModel
from dlsched.domain.names import names_hint
from dlsched.domain.workload import Floats, Ints
from dlsched.metrics.job_classes import (
    LEAST_GROUP,
    NAMED,
    NO_NAME,
    NOUNS,
    Grouping,
    Names,
    alone_s,
    floats_of,
    length_classes,
    size_classes,
    sized_by,
    sizes_of,
)
from dlsched.metrics.kpi import KPI
from dlsched.metrics.stats.compare import judge
from dlsched.metrics.stats.intervals import SAME_NUMBER, Interval, mean_interval, ratio_draws
from dlsched.metrics.stats.statements import Verdict
from dlsched.wording.counted import Counted
from dlsched.wording.settings import within_sentence

Tables = tuple[pd.DataFrame, pd.DataFrame]
"""Jobs tables of the baseline and of the other run in one draw."""
ALL_JOBS = "all jobs"
COLUMNS = ("job_id", "wait_s", "jct_s", "slowdown", "gpus", "cpus", "mem_gib", *NAMED)
"""Of a jobs table, what comparing waits or turnaround times needs, by any grouping; names where they are given."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """What is compared: a column of the jobs table as it is shown, which jobs have it, and what counts as a change.

    ``noticed`` are amounts above which a change counts as noticed, the first one unless another is asked for.
    """

    kpi: KPI
    has_it: str
    noticed: tuple[float, ...]

    @property
    def noun(self) -> str:
        """The quantity inside a sentence."""
        return within_sentence(self.kpi.label)


_TIMES_S = (600.0, 60.0, 3600.0)
QUANTITIES: dict[str, Quantity] = {
    quantity.kpi.key: quantity
    for quantity in (
        Quantity(KPI("wait_s", "Wait", "duration", "lower",
                     "Submission to the first start, of jobs that started under both runs.", "Service"),
                 "started", _TIMES_S),
        Quantity(KPI("jct_s", "Turnaround time", "duration", "lower",
                     "Submission to completion, of jobs that completed under both runs.", "Service"),
                 "completed", _TIMES_S),
        Quantity(KPI("slowdown", "Slowdown", "factor", "lower",
                     "Turnaround time over run time alone, of jobs that completed under both runs.", "Service"),
                 "completed", (0.5, 0.1, 1.0)),
        Quantity(KPI("tardiness_s", "Lateness", "duration", "lower",
                     "Time past the due date, 0 for jobs on time, of jobs that have a due date and were rejected in "
                     "neither run.", "Due dates"),
                 "judged", _TIMES_S),
        Quantity(KPI("utility", "Utility", "number", "higher",
                     "What finishing then is worth, of jobs that have a utility and completed under both runs.",
                     "Due dates"),
                 "completed", (0.0, 1.0, 10.0)),
    )
}  # fmt: skip


class Group(FrozenModel):
    """How one group fares. Counts are jobs a draw, on average.

    ``jobs`` = ``compared`` (under both runs) + ``only_baseline`` + ``only_other`` + ``neither``: who has the quantity
    where. Means, ``change`` (other minus baseline), its 95% half width, shares and quartiles of the change are over the
    compared jobs, None without any; ``half_width`` is None in one draw of something random, 0 where the change is
    exact. ``draws`` counts those with a compared job. ``folded``: how many small groups stand in this one.
    """

    name: str
    jobs: float
    compared: float
    only_baseline: float
    only_other: float
    neither: float
    baseline: float | None = None
    other: float | None = None
    change: float | None = None
    half_width: float | None = None
    draws: int = 0
    better_share: float | None = Field(None, description="Of the compared jobs: better by more than noticed.")
    worse_share: float | None = Field(None, description="Of the compared jobs: worse by more than noticed.")
    quartiles: tuple[float, float, float] | None = None
    verdict: Verdict = "missing"
    folded: int = 0

    @property
    def interval(self) -> Interval | None:
        """The change with its interval; None if no job is compared."""
        return None if self.change is None else Interval(self.change, self.half_width, self.draws)


class Winners(Answer):
    """The groups under a baseline and another run: names in alphabetical order, classes from small to large.

    ``exact``: nothing is random, one draw says all. ``noticed``: what a job's or a group's change must exceed to count
    as a gain or a loss. ``folded`` names the groups that were too small to stand alone.
    """

    by: Grouping
    quantity: str
    baseline: str
    other: str
    draws: int
    exact: bool
    noticed: float
    groups: tuple[Group, ...]
    total: Group
    folded: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class _Jobs:
    """All jobs of all draws: draw, place of the group, the quantity under both runs (NaN: none); shape (jobs,)."""

    draw: Ints
    group: Ints
    before: Floats
    after: Floats
    num_draws: int


def winners(
    pairs: Sequence[Tables],
    by: Grouping,
    quantity: str = "wait_s",
    *,
    names: tuple[str, str] = ("baseline", "other run"),
    exact: bool = False,
    noticed: float | None = None,
) -> Winners:
    """Return which groups gain and which lose under the other run.

    Parameters
    ----------
    pairs
        Jobs tables (see :func:`dlsched.metrics.tables.jobs_of`) of the baseline and of the other run, draw by draw.
        Jobs are matched by id; the group of a job is what the baseline says, for jobs it lacks what the other says.
    by, quantity
        Grouping, and key of :data:`QUANTITIES`.
    names
        Names of the two runs.
    exact
        Whether nothing is random, so that a single draw has no uncertainty.
    noticed
        Size of a change that counts; the quantity's own where it is None.

    Raises
    ------
    InputError
        Without a draw, for a grouping or quantity that is none or that no job has, and where ids are not unique.
    """
    kind = _known_quantity(quantity)
    limit = kind.noticed[0] if noticed is None else noticed
    counted = sized_by(table for pair in pairs for table in pair)
    frame = _joined(pairs, by, quantity, counted)
    labels, order = _labels(frame["of"], by, counted)
    code: Ints = np.asarray(pd.Categorical(labels, categories=list(order)).codes, dtype=np.int64)
    small = np.flatnonzero(np.bincount(code, minlength=len(order)) < LEAST_GROUP * len(pairs)).tolist()
    folded = small if len(small) > 1 else []
    unfolded = [place for place in range(len(order)) if place not in set(folded)]
    titles = [order[place] for place in unfolded] + ([f"{len(folded)} small groups"] if folded else [])
    place_of = np.full(len(order), len(unfolded))
    place_of[unfolded] = np.arange(len(unfolded))
    jobs = _Jobs(frame["draw"], place_of[code], frame["before"], frame["after"], len(pairs))
    groups = list(_groups(jobs, titles, kind, limit, exact=exact))
    if folded:
        groups[-1] = groups[-1].model_copy(update={"folded": len(folded)})
    whole = _Jobs(jobs.draw, np.zeros(len(jobs.draw), dtype=np.int64), jobs.before, jobs.after, len(pairs))
    total = _groups(whole, [ALL_JOBS], kind, limit, exact=exact)[0]
    return Winners(
        by=by, quantity=quantity, baseline=names[0], other=names[1], draws=len(pairs), exact=exact, noticed=limit,
        groups=tuple(groups), total=total, folded=tuple(order[place] for place in folded),
    )  # fmt: skip


def _known_quantity(quantity: str) -> Quantity:
    if quantity not in QUANTITIES:
        raise InputError(
            f"quantity {quantity!r:.80}", "is none that jobs are compared by", names_hint(quantity, QUANTITIES)
        )
    return QUANTITIES[quantity]


# ---- jobs side by side ---------------------------------------------------------------------------------


def _joined(pairs: Sequence[Tables], by: Grouping, quantity: str, counted: Counted) -> dict[str, NDArray[Any]]:
    """Return draw, before, after and what the grouping is made of, over the jobs of all draws."""
    if not pairs:
        raise InputError("winners and losers", "need a future of both runs, got none", "Run both with the same futures")
    if by not in NOUNS:
        raise InputError(f"grouping {by!r:.80}", "is not a grouping of jobs", names_hint(by, NOUNS))
    parts = [_one_draw(before, after, by, quantity, counted) for before, after in pairs]
    sizes = [len(part["of"]) for part in parts]
    if not sum(sizes):
        raise InputError("winners and losers", "need a job, both runs have none", "Choose runs with jobs")
    joined = {name: np.concatenate([part[name] for part in parts]) for name in ("before", "after", "of")}
    return joined | {"draw": np.repeat(np.arange(len(parts)), sizes)}


def _one_draw(
    before: pd.DataFrame, after: pd.DataFrame, by: Grouping, quantity: str, counted: Counted
) -> dict[str, NDArray[Any]]:
    ids = [np.asarray(table["job_id"], dtype=object) for table in (before, after)]
    for each in ids:
        if len(set(each.tolist())) < len(each):
            raise InputError("jobs table", "has an id twice, so jobs cannot be matched", "Give each job its own id")
    base, other = (
        pd.DataFrame({"value": floats_of(table, quantity), "of": _grouped_by(table, by, counted)}, index=each)
        for table, each in zip((before, after), ids, strict=True)
    )
    if not np.array_equal(ids[0], ids[1]):
        every = base.index.append(other.index.difference(base.index, sort=False))
        base, other = base.reindex(every), other.reindex(every)
    of = base["of"].where(base["of"].notna(), other["of"])
    return {"before": base["value"].to_numpy(float), "after": other["value"].to_numpy(float), "of": of.to_numpy()}


def _grouped_by(table: pd.DataFrame, by: Grouping, counted: Counted) -> NDArray[Any]:
    """Return GPUs (cores), the run time alone (s, NaN unknown) or the name ("" where none is given) of each job."""
    if by == "size_class":
        return sizes_of(table, counted)
    if by == "length_class":
        return alone_s(table)
    if by not in table:
        raise InputError(f"jobs table, column {by}", "is not there", "Group by size or length of jobs")
    return table[by].fillna("").astype(str).to_numpy(dtype=object)


def _labels(of: NDArray[Any], by: Grouping, counted: Counted) -> tuple[Names, list[str]]:
    """Return the group of each job, and the groups in the order in which they are listed."""
    if by == "size_class":
        return size_classes(of.astype(float), counted)
    if by == "length_class":
        return length_classes(of.astype(float))
    named = np.where(of == "", NO_NAME, of).astype(object)
    return named, sorted(set(named.tolist()))


# ---- numbers of the groups -----------------------------------------------------------------------------


def _groups(jobs: _Jobs, titles: Sequence[str], kind: Quantity, noticed: float, *, exact: bool) -> list[Group]:
    """Return the numbers of each group, in the order of ``titles``."""
    many, draws = len(titles), jobs.num_draws
    has_before, has_after = ~np.isnan(jobs.before), ~np.isnan(jobs.after)
    both = has_before & has_after
    change = (jobs.after - jobs.before)[both]
    # Rounding noise of two large equal times is no change.
    noise = SAME_NUMBER * np.maximum(np.abs(jobs.after[both]), np.abs(jobs.before[both]))
    change[np.abs(change) <= noise] = 0.0
    of, gain = jobs.group[both], change * (-1.0 if kind.kpi.better == "lower" else 1.0)

    def per_draw(which: NDArray[np.bool_]) -> Floats:
        return np.bincount(jobs.group[which], minlength=many) / draws

    counts = {
        "jobs": per_draw(np.ones(len(both), dtype=bool)),
        "compared": per_draw(both),
        "only_baseline": per_draw(has_before & ~has_after),
        "only_other": per_draw(has_after & ~has_before),
        "neither": per_draw(~has_before & ~has_after),
    }
    cell = of * draws + jobs.draw[both]
    numbers = np.bincount(cell, minlength=many * draws).reshape(many, draws)
    sums = np.bincount(cell, change, minlength=many * draws).reshape(many, draws)
    better = np.bincount(of[gain > noticed], minlength=many)
    worse = np.bincount(of[gain < -noticed], minlength=many)
    totals = [np.bincount(of, values[both], minlength=many) for values in (jobs.before, jobs.after)]
    quartiles = pd.Series(change).groupby(of).quantile(np.array([0.25, 0.5, 0.75])).to_numpy(float).reshape(-1, 3)
    quartiles_of = dict(zip(np.unique(of).tolist(), quartiles.tolist(), strict=True))
    found = []
    for at, name in enumerate(titles):
        group = Group(name=name, **{key: float(values[at]) for key, values in counts.items()})
        compared = int(numbers[at].sum())
        if compared:
            interval = _interval(sums[at], numbers[at], exact=exact and draws == 1)
            means = [float(total[at]) / compared for total in totals]
            group = group.model_copy(
                update={
                    "baseline": means[0], "other": means[1], "change": interval.mean,
                    "half_width": interval.half_width, "draws": interval.n,
                    "better_share": float(better[at]) / compared, "worse_share": float(worse[at]) / compared,
                    "quartiles": tuple(quartiles_of[at]),
                    "verdict": judge(kind.kpi, interval, scale=max(abs(mean) for mean in means)),
                }
            )  # fmt: skip
        found.append(group)
    return found


def _interval(sums: Floats, numbers: Ints, *, exact: bool) -> Interval:
    """Return the mean change of a job with its interval over the draws that have one.

    ``sums`` of changes and ``numbers`` of jobs by draw, shape (draws,). The mean is over jobs, so that groups add up to
    the whole; its error that of a ratio of means over draws. A draw without a job of the group says nothing of it.
    """
    there = numbers > 0
    if there.sum() == 1:
        return Interval(float(sums[there][0]) / int(numbers[there][0]), 0.0 if exact else None, 1)
    spread = mean_interval(ratio_draws(sums[there], numbers[there].astype(float)))
    return Interval(float(sums.sum()) / float(numbers.sum()), spread.half_width, spread.n)
