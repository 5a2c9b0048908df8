"""The decision as Section 4.4 prints it, with big M: a reference to compare with.

n[i,t] nodes, and for each legal number k two indicators: delta- = 1 iff n <= k, delta+ = 1 iff n >= k (16, 17); exactly
|K| + 1 of them hold (18). The one change is a unit: the served work s is measured in the job's remaining work d, as d
of 1e-4 node-hours would drown in the solver's tolerances. M is the least number that is large enough.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from dlsched.domain.workload import Ints
from dlsched.optimise.cbc import solve_with_cbc
from dlsched.optimise.milp import Milp
from dlsched.policies.rolling_horizon.problem import Problem


def printed_program(problem: Problem) -> tuple[Milp, Ints]:
    """Return the program and its columns n[i,t], (J, T). The problem must be feasible."""
    milp, steps = Milp(), problem.steps
    job, place = np.nonzero(problem.legal)
    k = problem.widths[place][:, None]
    big = float(problem.widths[-1] + 1)
    shape = (problem.num_jobs, steps)
    lowest = np.where(problem.legal, problem.widths, problem.widths[-1]).min(axis=1)
    highest = np.where(problem.legal, problem.widths, 0).max(axis=1)
    nodes = milp.columns(np.zeros(shape), lower=lowest[:, None], upper=highest[:, None], integer=True)
    share = milp.columns(np.full(shape, -1.0), upper=1.0)
    below = milp.columns(np.zeros((len(job), steps)), upper=1.0, integer=True)
    above = milp.columns(np.zeros((len(job), steps)), upper=1.0, integer=True)

    step = np.broadcast_to(np.arange(steps), shape)
    milp.rows(step, nodes, 1.0, high=np.full(steps, float(problem.nodes)))
    each = np.arange(below.size).reshape(below.shape)
    of_job = nodes[job]
    for indicator, sign in ((below, 1.0), (above, -1.0)):
        # 1/M - (1/M + M) delta <= sign (n - k) <= M (1 - delta)
        for factor, low, high in ((1 / big + big, 1 / big + sign * k, np.inf), (big, -np.inf, big + sign * k)):
            value = np.concatenate([np.full(each.size, sign), np.full(each.size, factor)])
            row, column = np.tile(each.ravel(), 2), np.concatenate([of_job.ravel(), indicator.ravel()])
            sides = (np.broadcast_to(side, each.shape).ravel() for side in (low, high))
            milp.rows(row, column, value, low=next(sides), high=next(sides))
    rows = np.arange(share.size).reshape(shape)
    both, of_row = np.concatenate([below, above]).ravel(), np.tile(rows[job].ravel(), 2)
    holds = np.repeat(problem.legal.sum(axis=1) + 1.0, steps)
    milp.rows(of_row, both, 1.0, low=holds, high=holds)
    # (19, 20): s[t] - s[t-1] - sum of gain (delta- + delta+ - 1) <= 0
    gain = np.repeat(problem.gain[job, place], steps)
    row = np.concatenate([rows.ravel(), rows[:, 1:].ravel(), of_row])
    column = np.concatenate([share.ravel(), share[:, :-1].ravel(), both])
    value = np.concatenate([np.ones(share.size), np.full(share[:, 1:].size, -1.0), np.tile(-gain, 2)])
    milp.rows(row, column, value, high=np.repeat(-problem.gain.sum(axis=1), steps))
    return milp, nodes


def solve_printed(
    problem: Problem, solver: Literal["cbc", "highs"] = "cbc", node_limit: int | None = None
) -> tuple[Ints | None, float]:
    """Return a plan (J, T) and an upper bound; None if ``node_limit`` nodes of the search tree gave no plan.

    CBC is taken at its word: where it says optimal the bound is its objective, else infinity.
    """
    milp, nodes = printed_program(problem)
    answer = solve_with_cbc(milp, node_limit=node_limit) if solver == "cbc" else milp.solve(node_limit=node_limit)
    return None if answer.values is None else answer.values[nodes].astype(np.int64), -answer.bound
