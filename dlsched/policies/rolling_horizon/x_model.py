"""The decision as one integer program: which width each job has at each step (Section 4.4 without its big M).

Binary x[i,t,k] = job i has the k-th width at step t; one width per job and step, at most N nodes per step, and the
served share s/d in [0, 1] of a job grows by at most gain[i,k] a step. As the printed form it lets a job that is done
keep nodes; it has no other optimum.
"""

from __future__ import annotations

import numpy as np

from dlsched.domain.workload import Ints
from dlsched.optimise.milp import Milp
from dlsched.policies.rolling_horizon.problem import Problem

NODE_LIMIT = 100_000


def solve_x_model(problem: Problem, node_limit: int = NODE_LIMIT) -> tuple[Ints | None, float]:
    """Return a plan (J, T) and a proven upper bound; the problem must be feasible.

    The plan is None where ``node_limit`` nodes of the search tree gave none.
    """
    milp, steps = Milp(), problem.steps
    job, place = np.nonzero(problem.legal)
    x = milp.columns(np.zeros((len(job), steps)), upper=1.0, integer=True)
    share = milp.columns(np.full((problem.num_jobs, steps), -1.0), upper=1.0)

    step = np.broadcast_to(np.arange(steps), x.shape)
    of_job = job[:, None] * steps + step
    milp.rows(of_job, x, 1.0, low=np.ones(share.size), high=1.0)
    milp.rows(step, x, problem.widths[place][:, None], high=np.full(steps, float(problem.nodes)))
    # share[t] - share[t-1] - gain x[t] <= 0; a gain above 1 does no more than 1
    gain = np.minimum(1.0, problem.gain[job, place])[:, None]
    rows = np.arange(share.size).reshape(share.shape)
    row = np.concatenate([rows.ravel(), rows[:, 1:].ravel(), of_job.ravel()])
    column = np.concatenate([share.ravel(), share[:, :-1].ravel(), x.ravel()])
    value = np.concatenate(
        [np.ones(share.size), np.full(share[:, 1:].size, -1.0), np.broadcast_to(-gain, x.shape).ravel()]
    )
    milp.rows(row, column, value, high=np.zeros(share.size))

    answer = milp.solve(node_limit=node_limit)
    if answer.values is None:
        return None, -answer.bound
    plan = np.zeros((problem.num_jobs, steps), dtype=np.int64)
    entry, at = np.nonzero(answer.values[x] > 0.5)
    plan[job[entry], at] = problem.widths[place[entry]]
    return plan, -answer.bound
