"""One decision of elastic training, by a method of choice; what is called optimal is proven."""

from __future__ import annotations

import resource
from typing import Literal, get_args

import numpy as np

from dlsched.domain.errors import InputError
from dlsched.domain.workload import Ints
from dlsched.policies.rolling_horizon.columns import can_price, solve_columns
from dlsched.policies.rolling_horizon.enumeration import enumerate_plans
from dlsched.policies.rolling_horizon.printed import solve_printed
from dlsched.policies.rolling_horizon.problem import PROVEN, Problem, Solution, objective_of
from dlsched.policies.rolling_horizon.x_model import solve_x_model

Method = Literal["auto", "x-model", "columns", "printed", "printed-highs", "enumerate"]
METHODS: tuple[Method, ...] = get_args(Method)

COLUMNS_FROM = 15
"""Jobs from which on `columns` needs less CPU than the x-model (measured; the answers are the same)."""


def solve(problem: Problem, method: Method = "auto") -> Solution:
    """Return the best allocation and what is proven of it.

    auto
        Without a solver where the smallest widths take all nodes or the fastest ones fit; else columns from
        COLUMNS_FROM jobs on, and the x-model below and where columns end without a proof.
    x-model, columns
        One integer program; prices and a small one. Both exact.
    printed, printed-highs
        The published program through CBC or HiGHS, a reference.
    enumerate
        Every plan, for tiny problems.

    Raises
    ------
    InputError
        If the method is unknown, or cannot do a problem of this size.
    """
    if method not in METHODS:
        raise InputError(f"method {method!r}", f"is not known; known: {', '.join(METHODS)}")
    before_s = _cpu_s()
    reason = infeasible_because(problem)
    if reason:
        nothing = np.zeros((problem.num_jobs, problem.steps), dtype=np.int64)
        return Solution(nothing, -np.inf, -np.inf, "infeasible", _cpu_s() - before_s, method, reason)
    plan, bound, how = _found(problem, method)
    value = objective_of(problem, plan)
    bound = max(value, min(bound, _ceiling(problem)))
    proven = bound - value <= PROVEN * max(1.0, abs(bound))
    return Solution(plan, value, bound, "optimal" if proven else "feasible", _cpu_s() - before_s, how)


def infeasible_because(problem: Problem) -> str:
    """Return why no plan exists, naming the job or the limit; empty when there is one."""
    without = np.flatnonzero(~problem.legal.any(axis=1))
    if len(without):
        widths = problem.widths.tolist()
        return f"job {without[0]} has no legal number of nodes: none of {widths} is within its limits"
    least = int(problem.widths[problem.smallest].sum())
    if least > problem.nodes:
        return f"the smallest legal numbers of nodes of all jobs sum to {least}, but the pool has {problem.nodes}"
    return ""


def _found(problem: Problem, method: Method) -> tuple[Ints, float, str]:
    """Return a plan, an upper bound, and the method that found it."""
    if method == "auto":
        plan = _without_solver(problem)
        if plan is not None:
            return plan, objective_of(problem, plan), "direct"
        method = "columns" if problem.num_jobs >= COLUMNS_FROM and can_price(problem) else "x-model"
        if method == "columns":
            plan, bound = solve_columns(problem)
            if bound - objective_of(problem, plan) <= PROVEN * max(1.0, abs(bound)):
                return plan, bound, method
            other, other_bound = solve_x_model(problem)
            best = max([plan] if other is None else [plan, other], key=lambda one: objective_of(problem, one))
            return best, min(bound, other_bound), "columns, then x-model"
    if problem.num_jobs == 0:
        return np.zeros((0, problem.steps), dtype=np.int64), 0.0, "direct"
    if method == "columns" and not can_price(problem):
        raise InputError("method columns", "has too many combinations of jobs, widths and steps", "Choose x-model")
    answer: Ints | None
    if method == "columns":
        answer, bound = solve_columns(problem)
    elif method == "x-model":
        answer, bound = solve_x_model(problem)
    elif method == "enumerate":
        answer, bound = enumerate_plans(problem)
    else:
        answer, bound = solve_printed(problem, "cbc" if method == "printed" else "highs")
    if answer is None:  # stopped before the first plan: the fewest nodes always fit
        answer = np.repeat(problem.widths[problem.smallest][:, None], problem.steps, axis=1)
    return answer, bound, method


def _without_solver(problem: Problem) -> Ints | None:
    """Return the best plan where it is plain to see: everybody must have the fewest nodes, or all may go fastest."""
    smallest, fastest = problem.widths[problem.smallest], problem.widths[problem.fastest]
    for widths, sees in ((fastest, fastest.sum() <= problem.nodes), (smallest, smallest.sum() == problem.nodes)):
        if sees:
            return np.repeat(widths[:, None], problem.steps, axis=1)
    return None


def _ceiling(problem: Problem) -> float:
    """Return what the jobs are worth when each has its fastest width."""
    fastest = problem.widths[problem.fastest]
    return objective_of(problem, np.repeat(fastest[:, None], problem.steps, axis=1))


def _cpu_s() -> float:
    """CPU of this process and of its children that ended (CBC is one), in seconds."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
