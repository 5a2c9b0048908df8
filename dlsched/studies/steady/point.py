"""One policy at one load: longer and longer runs until the mean is known well enough, the queue grows, or the cap."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import Floats
from dlsched.metrics.stats.intervals import Interval
from dlsched.metrics.stats.steady import (
    SteadyMean,
    backlog_growth,
    before_the_end,
    found_in_system,
    grows,
    least_kept,
    steady_mean,
    warm_up,
)
from dlsched.policies import registry
from dlsched.sim.audit import audit
from dlsched.studies.simulation import Progress, Run, simulate
from dlsched.studies.steady.answer import ChunkTried, State, SteadyPoint
from dlsched.studies.steady.curves import fraction_times_s, in_system, nodes_per_job
from dlsched.studies.steady.spec import PILOT_SEED, SteadyPolicy, SteadySpec
from dlsched.workload.import_report import offered_load
from dlsched.workload.studies.hell_knee import stream_scenario

QUANTILES = 200


@dataclass(frozen=True, eq=False)
class Solved:
    """A point, and the response of its measured jobs, hours, from job ``first`` on; none if the queue grows."""

    point: SteadyPoint
    first: int
    response_h: Floats


@dataclass(frozen=True, eq=False)
class _Reading:
    """What a run says of the steady state; jobs ``first`` to ``last`` - 1 are measured."""

    run: Run
    growth: Interval
    first: int
    last: int
    long_enough: bool
    mean: SteadyMean

    @property
    def submit_s(self) -> Floats:
        return self.run.prepared.scenario.workload.submit_s

    @property
    def response_h(self) -> Floats:
        return (self.run.log.job_end_s - self.submit_s)[self.first : self.last] / HOUR_S

    def state(self, target: float) -> State:
        if grows(self.growth):
            return "queue grows"
        return "within target" if self.long_enough and self.mean.within(target) else "cap reached"


@dataclass(frozen=True, eq=False)
class PointTask:
    """One point of an experiment: a policy at a load."""

    spec: SteadySpec
    policy: SteadyPolicy
    load: float


def solve_point(task: PointTask, progress: Progress | None = None) -> Solved:
    """Return the point of a policy at a load.

    Raises what ``simulate`` raises, and what ``progress`` raises.
    """
    spec, policy, load = task.spec, task.policy, task.load
    if progress is not None:
        progress = partial(_named, progress, f"{policy.name} at load {load:g}")
    before_s = time.process_time()
    chunks = _pilot(spec, policy, load, progress) if _wants(policy, "chunk") else ()
    params = params_at(policy, load, chunks)
    complaints: list[str] = []
    jobs = spec.first_jobs
    while True:
        reading = _read(spec, policy.key, params, load, jobs, spec.seed, _part(progress, jobs, spec))
        run = reading.run
        of_run = audit(run.prepared.scenario, run.truth, run.log, len(run.scenario.workload))
        complaints += [f"{jobs:,} jobs: {text}" for text in of_run]
        state = reading.state(spec.target)
        if state != "cap reached" or jobs == spec.most_jobs:
            point = _point(task, reading, state, chunks, tuple(complaints), time.process_time() - before_s)
            return Solved(point, reading.first, reading.response_h if state != "queue grows" else np.zeros(0))
        jobs = min(2 * jobs, spec.most_jobs)


def _named(progress: Progress, name: str, share: float, text: str) -> None:
    progress(share, f"{name}: {text}")


def params_at(policy: SteadyPolicy, load: float, chunks: tuple[ChunkTried, ...] = ()) -> dict[str, Any]:
    """Return the parameters of a policy at a load: the load itself and the best chunk where none is given."""
    given = dict(policy.params)
    if _wants(policy, "load"):
        given["load"] = load
    if chunks and _wants(policy, "chunk"):
        given["chunk"] = best_chunk(chunks)
    return given


def best_chunk(tried: tuple[ChunkTried, ...]) -> int:
    """Return the chunk with the smallest mean; where the queue grew under all, the smallest, which wastes least."""
    stable = [(one.response_h, one.chunk) for one in tried if one.response_h is not None]
    return min(stable)[1] if stable else min(one.chunk for one in tried)


def _wants(policy: SteadyPolicy, name: str) -> bool:
    return name in registry.find(policy.key).params.model_fields and name not in policy.params


def _pilot(spec: SteadySpec, policy: SteadyPolicy, load: float, progress: Progress | None) -> tuple[ChunkTried, ...]:
    """Return how each chunk does on other jobs than those of the point."""
    tried: list[ChunkTried] = []
    for chunk in sorted({min(chunk, spec.stream.nodes) for chunk in spec.chunks}):
        params = {**policy.params, "chunk": chunk}
        tell = None if progress is None else lambda share, text: progress(0.0, "trying chunk sizes")
        reading = _read(spec, policy.key, params, load, spec.first_jobs, spec.seed + PILOT_SEED, tell)
        mean_h = None if grows(reading.growth) else reading.mean.interval.mean
        tried.append(ChunkTried(chunk=chunk, response_h=mean_h, jobs=reading.last - reading.first))
    return tuple(tried)


def _read(
    spec: SteadySpec, key: str, params: Mapping[str, Any], load: float, jobs: int, seed: int, tell: Progress | None
) -> _Reading:
    run = simulate(stream_scenario(spec.stream_at(load, jobs), seed), key, params, progress=tell)
    submit_s, end_s = run.prepared.scenario.workload.submit_s, run.log.job_end_s
    first, in_steady_state = warm_up(jobs), before_the_end(submit_s, end_s)
    last = max(in_steady_state, least_kept(jobs))
    mean = steady_mean((end_s - submit_s)[first:last] / HOUR_S)
    return _Reading(run, backlog_growth(found_in_system(submit_s, end_s)), first, last, in_steady_state == last, mean)


def _part(progress: Progress | None, jobs: int, spec: SteadySpec) -> Progress | None:
    """Return a progress call for a run of this length as part of all runs up to the cap."""
    if progress is None:
        return None
    before, most = jobs - spec.first_jobs, 2 * spec.most_jobs - spec.first_jobs
    return lambda share, text: progress(min(1.0, (before + share * jobs) / most), f"{jobs:,} jobs, {text}")


def _point(
    task: PointTask,
    reading: _Reading,
    state: State,
    chunks: tuple[ChunkTried, ...],
    complaints: tuple[str, ...],
    cpu_s: float,
) -> SteadyPoint:
    run, scenario = reading.run, reading.run.prepared.scenario
    steady, response_h = state != "queue grows", reading.response_h
    at = (np.arange(QUANTILES) + 0.5) / QUANTILES
    return SteadyPoint(
        policy=run.policy,
        label=task.policy.name,
        params=run.params,
        load=task.load,
        state=state,
        response_h=reading.mean.interval if steady else None,
        growth=reading.growth,
        p50_h=float(np.quantile(response_h, 0.5)) if steady else None,
        p95_h=float(np.quantile(response_h, 0.95)) if steady else None,
        jobs_simulated=len(scenario.workload),
        jobs_warm_up=reading.first,
        jobs_end=len(scenario.workload) - reading.last,
        jobs_measured=reading.last - reading.first,
        batches=reading.mean.batches,
        lag_1=reading.mean.lag_1,
        settled=reading.mean.settled and reading.long_enough,
        quantiles_h=tuple(np.quantile(response_h, at).tolist()) if steady else (),
        fractions_h=_fractions(task.spec, reading) if steady else (),
        nodes_per_job=nodes_per_job(run.log, reading.submit_s),
        in_system=in_system(run.log, reading.submit_s),
        load_drawn=offered_load(scenario.workload, scenario.cluster) or 0.0,
        chunks_tried=chunks,
        audit=complaints,
        cpu_s=cpu_s,
    )


def _fractions(spec: SteadySpec, reading: _Reading) -> tuple[Interval, ...]:
    log, work = reading.run.log, reading.run.truth.work
    times = [fraction_times_s(log, reading.submit_s, work, fraction) for fraction in spec.fractions]
    return tuple(steady_mean(time_s[reading.first : reading.last] / HOUR_S).interval for time_s in times)
