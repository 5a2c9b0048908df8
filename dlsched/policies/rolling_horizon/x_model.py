"""The decision as one integer program: which width each job has at each step (Section 4.4 without its big M).

Binary x[i,t,k] = job i has the k-th width at step t; one width per job and step, at most N nodes per step, and the
served share s/d in [0, 1] of a job grows by at most gain[i,k] a step. As the printed form it lets a job that is done
keep nodes; it has no other optimum.
"""

from __future__ import annotations

import numpy as np

from dlsched.domain.workload import Ints
from dlsched.optimise.milp import Milp
from dlsched.policies.rolling_horizon.problem import Flags, Problem

NODE_LIMIT = 100_000


def solve_x_model(
    problem: Problem, allowed: Flags | None = None, node_limit: int = NODE_LIMIT
) -> tuple[Ints | None, float]:
    """Return a plan (J, T) and a proven upper bound; the problem must be feasible.

    ``allowed`` (J, T, K) leaves only these legal widths, and the bound then is of such plans only; minus infinity
    where there is none. The plan is None without one, or where ``node_limit`` nodes of the search tree gave none.
    """
    milp, steps, jobs = Milp(), problem.steps, problem.num_jobs
    legal = np.broadcast_to(problem.legal[:, None], (jobs, steps, len(problem.widths)))
    job, step, place = np.nonzero(legal if allowed is None else legal & allowed)
    x = milp.columns(np.zeros(len(job)), upper=1.0, integer=True)
    share = milp.columns(np.full((jobs, steps), -1.0), upper=1.0)

    of_job = job * steps + step
    milp.rows(of_job, x, 1.0, low=np.ones(share.size), high=1.0)
    milp.rows(step, x, problem.widths[place], high=np.full(steps, float(problem.nodes)))
    # share[t] - share[t-1] - gain x[t] <= 0; a gain above 1 does no more than 1
    gain = np.minimum(1.0, problem.gain[job, place])
    rows = np.arange(share.size).reshape(share.shape)
    row = np.concatenate([rows.ravel(), rows[:, 1:].ravel(), of_job])
    column = np.concatenate([share.ravel(), share[:, :-1].ravel(), x])
    value = np.concatenate([np.ones(share.size), np.full(share[:, 1:].size, -1.0), -gain])
    milp.rows(row, column, value, high=np.zeros(share.size))

    answer = milp.solve(node_limit=node_limit)
    if answer.values is None:
        return None, -answer.bound
    plan = np.zeros((jobs, steps), dtype=np.int64)
    taken = answer.values[x] > 0.5
    plan[job[taken], step[taken]] = problem.widths[place[taken]]
    return plan, -answer.bound
