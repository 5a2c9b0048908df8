"""Large decisions exactly: prices, the few plans near the best at them, and a small integer program over these plans.

At prices pi with the upper bound UB (`prices`), an allocation is worth UB less what its plans lose against each job's
best, less pi_t for every idle node of step t. None of these is negative. So in an allocation worth more than UB - eps
no plan loses more than eps, and at most eps / pi_t nodes are idle at step t. The integer program over these plans and
nodes, asked for what beats the allocation known so far, proves together with UB - eps how good its answer is; eps grows
until the two meet.

Equal jobs are one kind: how many of them take a plan is a whole number. With a choice for each, a search would go
through all their exchanges.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dlsched.domain.workload import Floats, Ints
from dlsched.optimise.milp import Milp, MilpAnswer
from dlsched.policies.rolling_horizon.plan_tree import Plans, PlanTree, num_states
from dlsched.policies.rolling_horizon.prices import node_prices
from dlsched.policies.rolling_horizon.problem import Problem, objective_of
from dlsched.policies.rolling_horizon.x_model import solve_x_model

MOST_STATES = 10_000_000
"""States of all jobs together; above, the plans are not priced."""
MOST_PLANS = 20_000
FIRST_EPS = 6e-4
"""The first eps, as a share of what a job is worth on average."""
GROWTH = 3.0
ENOUGH = 1e-8
"""The search goes on below PROVEN, to bound - objective <= ENOUGH x max(1, bound), as long as it is cheap."""
MOST_PER_JOB = 40
"""Plans for each job, on average, up to which a program over plans is quick."""
ROUNDING = 1e-6
"""Of a node; so much less than one counts as one."""
NODE_LIMIT = 5
"""Of the program over plans; one that needs more is given to the x-model."""


def can_price(problem: Problem) -> bool:
    """Return whether the states of all jobs are few enough to be priced."""
    return problem.num_jobs * num_states(len(problem.widths), problem.steps) <= MOST_STATES


class Kinds(NamedTuple):
    """Equal jobs together: a problem with one job of each kind, ``sizes`` (kinds,) of each, ``of`` (J,) whose it is."""

    problem: Problem
    sizes: Ints
    of: Ints


def solve_columns(problem: Problem) -> tuple[Ints, float]:
    """Return a plan (J, T) and a proven upper bound; the problem must be feasible and `can_price`."""
    kinds = _kinds(problem)
    tree = PlanTree(kinds.problem)
    prices, ceiling, worth = node_prices(tree, kinds.sizes)
    plan = np.repeat(problem.widths[problem.smallest][:, None], problem.steps, axis=1)
    value, bound = objective_of(problem, plan), ceiling
    eps = FIRST_EPS * ceiling / problem.num_jobs
    while bound - value > ENOUGH * max(1.0, bound):
        plans = tree.near_best(prices, worth, eps, MOST_PLANS)
        if plans is None:
            break
        found, found_bound = _best_of(problem, kinds, plans, _most_idle(problem, prices, eps), value)
        if found is not None and objective_of(problem, found) > value:
            plan, value = found, objective_of(problem, found)
        bound = max(value, min(bound, max(found_bound, ceiling - eps)))
        # Nothing better than what is known needs a plan that is further from its job's best than UB - value.
        if eps >= ceiling - value:
            break
        eps = min(GROWTH * eps, ceiling - value)
    return plan, bound


def _kinds(problem: Problem) -> Kinds:
    """Return the kinds of jobs in order of their first job; equal = the same work left and the same widths."""
    features = np.hstack([problem.remaining[:, None], problem.rate, problem.legal])
    _, first, of, count = np.unique(features, axis=0, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)
    here = first[order]
    each = replace(problem, remaining=problem.remaining[here], legal=problem.legal[here], rate=problem.rate[here])
    return Kinds(each, count[order], np.argsort(order)[of.ravel()])


def _most_idle(problem: Problem, prices: Floats, eps: float) -> Ints:
    """Return how many nodes may be idle at each step, (T,), in an allocation worth more than UB - eps."""
    with np.errstate(divide="ignore"):
        most = eps / prices + ROUNDING
    return np.minimum(most, problem.nodes).astype(np.int64)


def _best_of(problem: Problem, kinds: Kinds, plans: Plans, most_idle: Ints, value: float) -> tuple[Ints | None, float]:
    """Return the best allocation of one of the plans for every job, and a bound; None if none is worth ``value``.

    Allocations with more than ``most_idle`` (T,) idle nodes may be left out.
    """
    if len(plans.job) <= MOST_PER_JOB * problem.num_jobs:
        answer = _choose(kinds, plans, most_idle, value)
        if answer.status in ("optimal", "infeasible"):
            return (None if answer.values is None else _plan_of(kinds, plans, answer)), -answer.bound
    # Many plans that differ in the order of their widths: choosing step by step has fewer choices.
    allowed = np.zeros((len(kinds.sizes), problem.steps, len(problem.widths)), dtype=bool)
    step = np.broadcast_to(np.arange(problem.steps), plans.nodes.shape)
    allowed[plans.job[:, None], step, np.searchsorted(problem.widths, plans.nodes)] = True
    return solve_x_model(problem, allowed[kinds.of])


def _choose(kinds: Kinds, plans: Plans, most_idle: Ints, value: float) -> MilpAnswer:
    """Choose how many jobs of a kind take each plan so that all fit, at the most value, no less than ``value``."""
    problem, milp = kinds.problem, Milp()
    chosen = milp.columns(-plans.value, upper=kinds.sizes[plans.job], integer=True)
    milp.rows(plans.job, chosen, 1.0, low=kinds.sizes, high=kinds.sizes)
    step = np.tile(np.arange(problem.steps), len(chosen))
    nodes = np.repeat(chosen, problem.steps)
    milp.rows(step, nodes, plans.nodes.ravel(), low=problem.nodes - most_idle, high=problem.nodes)
    milp.rows(0, chosen, plans.value, low=value)
    return milp.solve(relative_gap=0.0, node_limit=NODE_LIMIT)


def _plan_of(kinds: Kinds, plans: Plans, answer: MilpAnswer) -> Ints:
    """Deal the plans out to the jobs; of equal ones who comes first gets the most nodes first."""
    assert answer.values is not None
    taken = np.repeat(np.arange(len(plans.job)), np.round(answer.values).astype(np.int64))
    wide_first = taken[np.lexsort((*-plans.nodes[taken].T[::-1], plans.job[taken]))]
    plan = np.zeros((len(kinds.of), kinds.problem.steps), dtype=np.int64)
    plan[np.argsort(kinds.of, kind="stable")] = plans.nodes[wide_first]
    return plan
