"""How long jobs really run, by the log: shares of their time limits that jobs of the same user have used.

Jobs of a user often come in campaigns: many in a row run about as long. Drawing each by itself would make the sum of
many run times look far more certain than it is. Where the ended jobs of a user (or group, or all) are grouped in time
like that, a future first draws a *stretch* of jobs that ended one after the other, and from it the run times of all
jobs that go by them. Stretches in which jobs ran as long as those that run now have by now are the more likely ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from dlsched.domain.randomness import job_uniforms
from dlsched.domain.workload import Floats, Ints, Texts, Workload
from dlsched.studies.when_starts.queue_at import Record

LEAST = 20
"""With fewer ended jobs of a user, those of the group count, then those of all; ours."""
NEWEST = 500
"""Jobs that ended last, of each user, of each group and of all, from which run times are drawn; ours."""
STRETCH, LEAST_STRETCHES = 20, 3
"""Ended jobs in a row that make a stretch, and how many stretches there must be; ours."""
GROUPED = 0.05
"""Jobs are grouped in time where stretches differ more than chance would let them in this share of cases (F test)."""
LEAST_NUMBER = 1e-6
ENDS_SOON_S = 60.0
"""How long a job still runs that has run longer than any like it and than its limit."""

Level = Literal["user", "group", "all", "limit"]


@dataclass(frozen=True, eq=False)
class Pool:
    """Numbers of ended jobs, in the order of their ends: shares of limits, or seconds."""

    name: str
    numbers: Floats

    @cached_property
    def in_order(self) -> Floats:
        """The numbers, the smallest first."""
        return np.sort(self.numbers)

    @cached_property
    def stretches(self) -> Floats | None:
        """Numbers by stretch, each in order, shape (stretches, STRETCH); None if jobs are not grouped in time."""
        count = len(self.numbers) // STRETCH
        if count < LEAST_STRETCHES:
            return None
        parts = self.numbers[len(self.numbers) - count * STRETCH :].reshape(count, STRETCH)
        return np.sort(parts, axis=1) if _differ(np.log(np.maximum(parts, LEAST_NUMBER))) else None


def _differ(parts: Floats) -> bool:
    """Whether the means of rows differ more than by chance: one-way analysis of variance, F test at GROUPED."""
    from scipy.special import fdtrc  # slow to import, rarely needed

    count, size = parts.shape
    between = size * parts.mean(axis=1).var(ddof=1)
    within = parts.var(axis=1, ddof=1).mean()
    if within <= 0:
        return bool(between > 0)
    return bool(fdtrc(count - 1, count * (size - 1), between / within) < GROUPED)


@dataclass(frozen=True, eq=False)
class Ended:
    """Jobs that have ended, in the order of their ends: ``run_s`` and ``limit_s`` (NaN: none), users and groups."""

    run_s: Floats
    limit_s: Floats
    user: Texts
    group: Texts

    @classmethod
    def of(cls, record: Record) -> Ended:
        """Return the jobs of a record, all of which have ended."""
        jobs, order = record.jobs, np.argsort(record.end_s, kind="stable")
        blank = np.full(len(jobs), "", dtype=object)
        return cls(
            (record.end_s - record.start_s)[order],
            limits_of(jobs)[order],
            (blank if jobs.user is None else jobs.user)[order],
            (blank if jobs.group is None else jobs.group)[order],
        )

    def __len__(self) -> int:
        return len(self.run_s)

    @cached_property
    def pools(self) -> Mapping[tuple[Level, str, bool], Pool]:
        """What is drawn from, by level, name, and whether the numbers are shares of limits, else seconds."""
        found: dict[tuple[Level, str, bool], list[float]] = {}
        columns = zip(self.run_s / self.limit_s, self.run_s, self.user, self.group, strict=True)
        for share, run_s, user, group in reversed(list(columns)):  # the newest first
            names: tuple[tuple[Level, str], ...] = (("user", user), ("group", group), ("all", ""))
            for level, name in names:
                if not name and level != "all":
                    continue
                for number, is_share in ((share, True), (run_s, False)):
                    pool = found.setdefault((level, name, is_share), [])
                    if len(pool) < NEWEST and np.isfinite(number):
                        pool.append(float(number))
        return {
            key: Pool(f"{key[0]}/{key[1]}/{'shares' if key[2] else 'seconds'}", np.array(values[::-1]))
            for key, values in found.items()
        }


@dataclass(frozen=True, eq=False)
class LikeJobs:
    """What the run time of one job is drawn from: numbers of a pool x ``unit_s`` seconds, above what it has run.

    Without a pool that has any, it runs as long as its limit.
    """

    level: Level
    pool: Pool | None
    unit_s: float
    passed_s: float
    limit_s: float

    @cached_property
    def numbers(self) -> Floats:
        """Numbers of the pool above what has passed, the smallest first."""
        if self.pool is None:
            return np.zeros(0)
        return self.above(self.pool.in_order)

    @property
    def passed(self) -> float:
        """What has passed, in numbers of the pool."""
        return self.passed_s / self.unit_s

    def above(self, in_order: Floats) -> Floats:
        """Return those of some numbers in order that are above what has passed."""
        return in_order[np.searchsorted(in_order, self.passed, side="right") :] if self.passed_s > 0 else in_order

    def run_s(self, uniforms: Floats, stretch: Ints | None = None) -> Floats:
        """Return run times for numbers in (0, 1), by the stretch of each: at least 1 s more than has passed."""
        if not len(self.numbers):
            return np.full(len(uniforms), max(self.limit_s, self.passed_s + ENDS_SOON_S))
        drawn = _drawn(self.numbers, uniforms)
        if stretch is not None and self.pool is not None and self.pool.stretches is not None:
            for number in np.unique(stretch):
                if len(mine := self.above(self.pool.stretches[number])):
                    drawn[stretch == number] = _drawn(mine, uniforms[stretch == number])
        return np.asarray(np.maximum(drawn * self.unit_s, self.passed_s + 1.0))

    @property
    def longest_s(self) -> float:
        """The longest that it can run by its limit; without a limit, as long as the longest of the like jobs."""
        if np.isfinite(self.limit_s):
            return max(self.limit_s, self.passed_s + 1.0)
        return float(self.run_s(np.ones(1))[0])


def _drawn(in_order: Floats, uniforms: Floats) -> Floats:
    return in_order[np.minimum((uniforms * len(in_order)).astype(np.int64), len(in_order) - 1)]


def drawn_run_s(like: Sequence[LikeJobs], job_ids: Texts, seed: int, futures: int) -> Floats:
    """Return run times, shape (futures, jobs): those of a job depend on its own name and on the stretch of its pool."""
    by_pool: dict[str, list[LikeJobs]] = {}
    for one in like:
        if one.pool is not None and one.pool.stretches is not None:
            by_pool.setdefault(one.pool.name, []).append(one)
    stretch_of = {
        name: _stretches(jobs, job_uniforms(seed, "run time", [f"pool {name}"], futures)[0])
        for name, jobs in by_pool.items()
    }
    uniforms = job_uniforms(seed, "run time", job_ids, futures)
    return np.array([
        one.run_s(row, None if one.pool is None else stretch_of.get(one.pool.name))
        for one, row in zip(like, uniforms, strict=True)
    ]).reshape(len(like), futures).T  # fmt: skip


def _stretches(jobs: Sequence[LikeJobs], uniforms: Floats) -> Ints:
    """Return the stretch of each future, for jobs of one pool.

    A stretch is the more likely, the more of its jobs ran longer than those that run have by now: by Bayes' rule, with
    one more job on either side, so that none is impossible.
    """
    pool = jobs[0].pool
    assert pool is not None
    assert pool.stretches is not None
    log_weight = np.zeros(len(pool.stretches))
    for one in jobs:
        if one.passed_s > 0:
            log_weight += np.log(((pool.stretches > one.passed).sum(axis=1) + 1.0) / (STRETCH + 2.0))
    weight = np.exp(log_weight - log_weight.max())
    return np.asarray(np.searchsorted(np.cumsum(weight) / weight.sum(), uniforms).clip(max=len(weight) - 1))


def limits_of(jobs: Workload) -> Floats:
    """Return the time limits, NaN where a job has none."""
    return np.full(len(jobs), np.nan) if jobs.limit_s is None else jobs.limit_s


def like_jobs(ended: Ended, jobs: Workload, passed_s: Floats) -> list[LikeJobs]:
    """Return what the run time of each job is drawn from, given the seconds that have passed since its start.

    The jobs of its user that ended, else those of its group, else all: the first of them of which at least LEAST ran
    longer, relative to their limits, than this job has by now; without such, that of which most did. Jobs without a
    limit go by seconds. Where no job ran longer, the limit is all that is known.
    """
    limit_s = limits_of(jobs)
    columns = [[""] * len(jobs) if names is None else names for names in (jobs.user, jobs.group)]
    found: dict[tuple[str, str, float, float], LikeJobs] = {}
    keys = list(zip(*columns, limit_s.tolist(), np.nan_to_num(passed_s).tolist(), strict=True))
    for key in keys:
        if key not in found:
            found[key] = _like(ended, *key)
    return [found[key] for key in keys]


def _like(ended: Ended, user: str, group: str, limit_s: float, passed_s: float) -> LikeJobs:
    has_limit = bool(np.isfinite(limit_s))
    unit_s = limit_s if has_limit else 1.0
    best = LikeJobs("limit", None, unit_s, passed_s, limit_s)
    levels: tuple[tuple[Level, str], ...] = (("user", user), ("group", group), ("all", ""))
    for level, name in levels:
        pool = ended.pools.get((level, name, has_limit))
        if pool is None:
            continue
        found = LikeJobs(level, pool, unit_s, passed_s, limit_s)
        if len(found.numbers) > len(best.numbers):
            best = found
        if len(found.numbers) >= LEAST:
            break
    return best
