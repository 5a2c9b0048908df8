"""The intervals put to the test: told at instants of the second half of a log, by what was known then."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Floats
from dlsched.metrics.stats.intervals import mean_interval, ratio_draws
from dlsched.policies import registry
from dlsched.store.record import CellStore
from dlsched.studies.run_all import run_all
from dlsched.studies.simulation import Progress
from dlsched.studies.when_starts.answer import LEVELS, SLACK_S, Errors, InstantScore, Score
from dlsched.studies.when_starts.futures import by_limits, futures_of
from dlsched.studies.when_starts.queue_at import Record
from dlsched.studies.when_starts.run import FUTURE_S, JOB_FUTURE_S, USUAL_QUEUE, asked, check, futures_s
from dlsched.studies.when_starts.spec import ScoreSpec
from dlsched.workload.import_report import in_seconds

TRIED = 3
"""Instants whose queues tell about how long a score takes."""


@dataclass(frozen=True, eq=False)
class InstantTask:
    """The queue of a log at one instant."""

    scenario: Scenario
    spec: ScoreSpec
    at_s: float


@dataclass(frozen=True, eq=False)
class Told:
    """What was told of the jobs that waited at an instant, shape (jobs,), and when they started; seconds from then.

    ``past_wait_s``: what is left of the median wait of the jobs that had started by then; ``worst_s``: by the limits.
    """

    at_s: float
    low_s: Floats
    median_s: Floats
    high_s: Floats
    worst_s: Floats
    past_wait_s: Floats
    real_s: Floats


def instants_of(record: Record, count: int) -> Floats:
    """Return instants of the second half of a log, evenly over the time in which a job waits that starts later.

    InputError where no job waits then.
    """
    jobs = record.jobs
    waited = np.isfinite(record.start_s) & (record.start_s > jobs.submit_s)
    if not waited.any():
        raise InputError(
            "score", "no job of the log waited between its submission and its recorded start",
            "Give a log with submission and start times, such as the output of sacct",
        )  # fmt: skip
    from_s = float(np.median(jobs.submit_s[np.isfinite(record.start_s)]))
    ends = np.maximum(np.array([jobs.submit_s[waited], record.start_s[waited]]), from_s)
    order = np.argsort(ends[0], kind="stable")
    low_s, high_s = ends[0][order], np.maximum.accumulate(ends[1][order])
    first_s = np.maximum(low_s, np.concatenate([[from_s], high_s[:-1]]))
    length_s = np.maximum(high_s - first_s, 0.0)
    if not length_s.sum():
        raise InputError("score", "no job waits in the second half of the log", "Give a longer log")
    upto_s = np.cumsum(length_s)
    asked_s = upto_s[-1] * (np.arange(count) + 0.5) / count
    place = np.searchsorted(upto_s, asked_s, side="right").clip(max=len(upto_s) - 1)
    return np.asarray(first_s[place] + asked_s - (upto_s[place] - length_s[place]))


def told_at(task: InstantTask, progress: Progress | None = None) -> Told | None:
    """Return what would have been told at an instant, and what happened; None if no job waits for room then."""
    spec, at_s = task.spec, task.at_s
    record = Record.of(in_seconds(task.scenario))
    question = asked(record, task.scenario, spec, at_s)
    if question is None:
        return None
    ahead, waiting = question.ahead, question.ahead.waiting
    jobs = ahead.scenario.workload
    run_s = ahead.run_s(spec.seed, spec.futures)
    starts_s = futures_of(ahead, spec.policy, spec.params, spec.seed, question.arrivals, run_s, None, progress)
    low_s, median_s, high_s = np.quantile(starts_s[:, waiting], LEVELS, axis=0, method="inverted_cdf") - at_s
    worst_s, _ = by_limits(ahead, spec.policy, spec.params)
    begun = np.isfinite(record.start_s) & (record.start_s <= at_s) & (record.start_s >= record.jobs.submit_s)
    past_s = float(np.median((record.start_s - record.jobs.submit_s)[begun])) if begun.any() else 0.0
    started = dict(zip(record.jobs.job_id, record.start_s.tolist(), strict=True))
    return Told(
        at_s, low_s, median_s, high_s, worst_s[waiting] - at_s,
        np.maximum(jobs.submit_s[waiting] + past_s - at_s, 0.0),
        np.array([started[name] for name in jobs.job_id[waiting]]) - at_s,
    )  # fmt: skip


def estimate_s(spec: ScoreSpec, scenario: Scenario | None = None) -> float:
    """Return about how many CPU seconds the score takes."""
    if scenario is None:
        return spec.instants * spec.futures * (FUTURE_S + JOB_FUTURE_S * USUAL_QUEUE)
    record, reading_s = Record.of(in_seconds(scenario)), 0.05 + 1e-5 * len(scenario.workload)
    try:
        tried = [futures_s(spec, spec.futures, record, scenario, float(at_s)) for at_s in instants_of(record, TRIED)]
    except InputError:  # is told when it is asked
        return spec.instants * reading_s
    return spec.instants * (reading_s + sum(tried) / TRIED)


def run_score(
    spec: ScoreSpec,
    scenario: Scenario,
    executor: Executor | None = None,
    store: CellStore | None = None,
    progress: Progress | None = None,
) -> Score:
    """Return how often the jobs of a log started within their intervals; parameters as ``run_when``.

    At each instant only what had happened by then counts: jobs submitted, started and ended by then. The cluster, and
    limits filled in by the reader, are those of the whole log. Jobs without a recorded start are not judged.

    Raises
    ------
    InputError
        As :func:`check`, and where no job waits in the second half of the log.
    """
    check(spec, scenario)
    record = Record.of(in_seconds(scenario))
    tasks = [InstantTask(scenario, spec, float(at_s)) for at_s in instants_of(record, spec.instants)]
    told = [one for one in run_all(tasks, told_at, executor, progress, noun="instant") if one is not None]
    return scored(spec, scenario, told)


def scored(spec: ScoreSpec, scenario: Scenario, told: Sequence[Told]) -> Score:
    """Return the score of what was told at instants."""
    judged = [np.isfinite(one.real_s) for one in told]
    within = [
        int(((one.real_s >= one.low_s - SLACK_S) & (one.real_s <= one.high_s + SLACK_S))[which].sum())
        for one, which in zip(told, judged, strict=True)
    ]
    counts = [int(which.sum()) for which in judged]
    jobs = sum(counts)

    def all_of(name: str) -> Floats:
        return np.concatenate(
            [np.zeros(0), *(getattr(one, name)[which] for one, which in zip(told, judged, strict=True))]
        )

    real_s = all_of("real_s")
    low = high = None
    with_jobs = [place for place, count in enumerate(counts) if count]
    if len(with_jobs) > 1:
        draws = ratio_draws([within[place] for place in with_jobs], [counts[place] for place in with_jobs])
        found = mean_interval(draws)
        low, high = max(found.low or 0.0, 0.0), min(1.0 if found.high is None else found.high, 1.0)
    return Score(
        scenario=spec.scenario,
        scenario_name=scenario.name,
        policy=spec.policy,
        label=registry.find(spec.policy).label,
        params=spec.params,
        futures=spec.futures,
        seed=spec.seed,
        later=spec.later,
        instants=tuple(
            InstantScore(at_s=one.at_s, jobs=count, within=hits)
            for one, count, hits in zip(told, counts, within, strict=True)
        ),
        jobs=jobs,
        never=sum(len(which) for which in judged) - jobs,
        coverage=sum(within) / jobs if jobs else None,
        low=low,
        high=high,
        early=float((real_s < all_of("low_s") - SLACK_S).mean()) if jobs else 0.0,
        late=float((real_s > all_of("high_s") + SLACK_S).mean()) if jobs else 0.0,
        errors=Errors(
            futures=_typical(all_of("median_s"), real_s),
            past_wait=_typical(all_of("past_wait_s"), real_s),
            limits=_typical(all_of("worst_s"), real_s),
        ),
    )


def _typical(told_s: Floats, real_s: Floats) -> float | None:
    """Return exp(median |ln((told + 60 s) / (recorded + 60 s))|); None without jobs, or if most never start."""
    if not len(told_s):
        return None
    off = float(np.median(np.abs(np.log((told_s + SLACK_S) / (real_s + SLACK_S)))))
    return math.exp(off) if math.isfinite(off) and off < 700 else None
