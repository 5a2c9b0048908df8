"""Elastic training: decisions on their own, and against the printed program with CBC in the same run.

The states are drawn like those of a busy pool: log-normal node-hours left. They are not states of a simulation.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.measure import Line, cpu_ms
from dlsched.policies.rolling_horizon.printed import solve_printed
from dlsched.policies.rolling_horizon.problem import Problem, of
from dlsched.policies.rolling_horizon.solver import solve

WIDTHS = (1, 2, 4, 8, 16)
MEDIAN_NODE_H = 1.5
SPREAD = 1.3
NODE_LIMIT = 200
"""CBC is stopped there; what it used until then is counted, less than it needs."""


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
    problems = [state(jobs, 70, jobs) for jobs in (20, 30, 40)]
    ours_ms = sum(map(_proven_ms, problems))
    printed_ms = sum(map(_printed_ms, problems))
    yield Line("elastic, 70 nodes, of the CPU of CBC", "%", 5, 100 * ours_ms / printed_ms)


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
