"""Elastic training: decisions on their own, and against the printed program with CBC in the same run.

Sizes beyond the study's are drawn like those of a busy pool: log-normal node-hours left. The comparison with CBC is on
states of a simulation, evenly picked from all its decisions.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.measure import Line, cpu_ms
from dlsched.domain.state import State
from dlsched.policies.rolling_horizon.params import OptimalParams
from dlsched.policies.rolling_horizon.policy import Verdict, optimal_policy
from dlsched.policies.rolling_horizon.pool import Pool, joining, problem_of
from dlsched.policies.rolling_horizon.printed import solve_printed
from dlsched.policies.rolling_horizon.problem import Problem, of
from dlsched.policies.rolling_horizon.solver import solve
from dlsched.policies.rolling_horizon.widths import WidthBook
from dlsched.sim.engine import run_engine
from dlsched.sim.prepare import prepare
from dlsched.workload.studies.modelarts import ModelArtsSpec, modelarts_scenario

WIDTHS = (1, 2, 4, 8, 16)
MEDIAN_NODE_H = 1.5
SPREAD = 1.3
NODE_LIMIT = 1000
"""CBC is stopped there; what it used until then is counted, less than it needs."""
COMPARED = 10


def state(jobs: int, nodes: int, seed: int) -> Problem:
    """Return a decision with log-normal remaining work."""
    left = np.exp(np.random.default_rng(seed).normal(np.log(MEDIAN_NODE_H), SPREAD, jobs))
    return of(left, nodes, WIDTHS)


def lines(folder: Path) -> Iterator[Line]:
    """Yield each promise about decisions, measured."""
    for jobs, nodes, target_ms, seeds in ((60, 190, 150, 10), (1_000, 2_000, 3_000, 5)):
        spent_ms = [_proven_ms(state(jobs, nodes, seed)) for seed in range(seeds)]
        name = f"elastic, {jobs:,} jobs, {nodes:,} nodes"
        yield Line(f"{name}, mean of {seeds}", "CPU ms", target_ms, float(np.mean(spent_ms)))
        yield Line(f"{name}, worst of {seeds}", "CPU ms", 2 * target_ms, max(spent_ms))
    every = states_of_a_run(ModelArtsSpec(nodes=70, jobs=500, load_scale=2.0))
    problems = [every[place] for place in np.linspace(0, len(every) - 1, COMPARED).astype(int).tolist()]
    ours_ms = sum(map(_proven_ms, problems))
    printed_ms = sum(map(_printed_ms, problems))
    name = f"elastic, {COMPARED} states of a run on 70 nodes, of the CPU of CBC"
    yield Line(name, "%", 5, 100 * ours_ms / printed_ms)


def states_of_a_run(spec: ModelArtsSpec) -> list[Problem]:
    """Return the decisions that the optimal allocator takes in a simulation of a synthetic trace."""
    params, found = OptimalParams(), []
    policy = optimal_policy(params)
    allocate = policy.allocate

    def keep(now: State, pool: Pool, book: WidthBook) -> Verdict:
        free = np.zeros(len(pool.rows), dtype=np.int64)
        jobs = joining(pool, book, free)
        if len(jobs.rows):
            found.append(problem_of(now, jobs, book, params.steps, params.every_s, free[: len(jobs.rows)]))
        return allocate(now, pool, book)

    policy.allocate = keep
    run_engine(prepare(modelarts_scenario(spec, 1)), policy)
    return found


def _proven_ms(problem: Problem) -> float:
    found = solve(problem)
    if found.status != "optimal":
        raise RuntimeError(f"not proven with {problem.num_jobs} jobs: {found.bound - found.objective:g} short")
    return cpu_ms(partial(solve, problem), tries=3)


def _printed_ms(problem: Problem) -> float:
    """CPU of CBC alone: it is a child process, so that building the program is not counted."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    solve_printed(problem, node_limit=NODE_LIMIT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
