"""Admission of jobs with parameter servers: a decision on its own, and Optimus beside SMD under the same admission."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Line, cpu_ms
from dlsched.domain.utility import utility_at
from dlsched.policies.registry import find
from dlsched.policies.smd.problem import Split
from dlsched.policies.smd.split import exact
from dlsched.sim.engine import run_engine
from dlsched.sim.log import JobStatus, RunLog
from dlsched.sim.prepare import Prepared, prepare
from dlsched.workload.studies.smd import ServerJobsSpec, server_jobs_scenario

SEEDS = 10


def lines(folder: Path) -> Iterator[Line]:
    """Yield each promise about admission, measured."""
    for inner in ("exact", "algorithm-1"):
        spent_ms = [_first_decision_ms(ServerJobsSpec(jobs=200, units=12), seed, inner) for seed in range(SEEDS)]
        name = f"smd, 200 jobs, {inner}"
        yield Line(f"{name}, mean of {SEEDS}", "CPU ms", 300, float(np.mean(spent_ms)))
        yield Line(f"{name}, worst of {SEEDS}", "CPU ms", 600, max(spent_ms))
    splits = _splits(200)
    yield Line("smd, 200 exact splits", "CPU ms", 50, cpu_ms(lambda: [exact(split) for split in splits]))
    apart = [abs(_optimus_beside_smd(spec, seed) - 1) for spec in _batches() for seed in range(SEEDS)]
    yield Line(f"optimus beside smd, worst of {len(apart)}", "%", 0.5, 100 * max(apart))


def _splits(count: int) -> list[Split]:
    """Return problems with four resources, in which limits of 1 to 100 times a worker and a server bind."""
    dice, made = np.random.default_rng(5), []
    for _ in range(count):
        worker, server = dice.uniform(1, 10, 4), dice.uniform(1, 10, 4)
        theta, limit = dice.uniform(1, 9, 5) * [1, 1, 1, 1, 1_000], (worker + server) * dice.uniform(1, 100)
        made.append(Split("sync", theta.tolist(), worker.tolist(), server.tolist(), limit.tolist()))
    return made


def _first_decision_ms(spec: ServerJobsSpec, seed: int, inner: str) -> float:
    """Return the cheaper of two tries: the first loads the solver."""
    prepared = prepare(server_jobs_scenario(spec, seed))
    horizon = prepared.scenario.options.model_copy(update={"horizon_s": 1.0})
    once = Prepared(prepared.scenario.replace(options=horizon), prepared.truth)
    return min(1000 * float(_run(once, "smd", inner=inner).decision_cpu_s[0]) for _ in range(2))


def _batches() -> list[ServerJobsSpec]:
    return [ServerJobsSpec(units=units, updates=updates) for units in (1, 3, 5) for updates in ("async", "sync")]


def _optimus_beside_smd(spec: ServerJobsSpec, seed: int) -> float:
    """Return the total utility of Optimus with the knapsack over that of SMD."""
    prepared = prepare(server_jobs_scenario(spec, seed))
    ours, theirs = (_utility(prepared, _run(prepared, key, admission="knapsack")) for key in ("smd", "optimus"))
    return theirs / ours


def _run(prepared: Prepared, key: str, **params: Any) -> RunLog:
    spec = find(key)
    return run_engine(prepared, spec.build(spec.parse(params)))


def _utility(prepared: Prepared, log: RunLog) -> float:
    done = np.flatnonzero(log.job_status == JobStatus.COMPLETED)
    jobs = prepared.scenario.workload
    return float(utility_at(jobs, prepared.scenario.options, done, log.job_end_s[done]).sum())
