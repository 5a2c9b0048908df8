"""Node prices by step that make the jobs' own best plans fit the pool as nearly as prices can (Lagrangian dual).

At prices pi >= 0 each job takes its best plan by itself, and N sum(pi) + sum of what they gain is an upper bound of
every plan that fits. The bound is convex in pi; cutting planes minimise it. Jobs are put in groups, a cut each, so that
the linear program stays small however many jobs there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dlsched.domain.workload import Floats, Ints
from dlsched.optimise.milp import Milp
from dlsched.policies.rolling_horizon.plan_tree import Plans, PlanTree
from dlsched.policies.rolling_horizon.problem import Problem

GROUPS = 20
PULL = 0.25
"""How far the next prices stay from the linear program's towards the best so far: without it they swing."""
NEAR = 1e-5
"""The bound is at most NEAR x max(1, bound) above the least one, unless MOST_ROUNDS end the search before."""
MOST_ROUNDS = 200
HALVINGS = 10


class Priced(NamedTuple):
    """Prices (T,) per node and step, the proven upper bound they give, and `PlanTree.worth` at them."""

    prices: Floats
    bound: float
    worth: list[Floats]


def node_prices(tree: PlanTree, count: Ints) -> Priced:
    """Return the prices with the least bound, where there are ``count`` (J,) of each job; all must fit together."""
    problem = tree.problem
    cuts = _Cuts(problem, count)
    # With the fewest nodes for everybody, who fit, the linear program is bounded from the start.
    at_most = np.full(problem.steps, float(problem.steps))
    cuts.add(tree.best(at_most, tree.worth(at_most)))
    best = here = _priced(tree, _first_prices(tree, count), count)
    for _ in range(MOST_ROUNDS):
        cuts.add(tree.best(here.prices, here.worth))
        prices, least = cuts.lowest()
        if best.bound - least <= NEAR * max(1.0, best.bound):
            break
        here = _priced(tree, PULL * best.prices + (1 - PULL) * prices, count)
        if here.bound < best.bound:
            best = here
    return best


class _Cuts:
    """The linear program over prices and what each group of jobs gains at them, known from below by cuts."""

    def __init__(self, problem: Problem, count: Ints) -> None:
        self.count = count
        self.groups = min(GROUPS, problem.num_jobs)
        self.program = Milp()
        # No job gains more than T by a node, so no higher price does better.
        pool = np.full(problem.steps, float(problem.nodes))
        self.prices = self.program.columns(pool, upper=float(problem.steps))
        self.gains: Ints = self.program.columns(np.ones(self.groups), lower=-np.inf)

    def add(self, plans: Plans) -> None:
        """Say that a group gains at least what these plans, one of each job of a kind, give it."""
        group = plans.job % self.groups
        nodes, value = np.zeros((self.groups, len(self.prices))), np.zeros(self.groups)
        np.add.at(nodes, group, plans.nodes * self.count[:, None])
        np.add.at(value, group, plans.value * self.count)
        columns = np.hstack([np.broadcast_to(self.prices, nodes.shape), self.gains[:, None]])
        row = np.arange(self.groups)[:, None]
        self.program.rows(row, columns, np.hstack([nodes, np.ones((self.groups, 1))]), low=value)

    def lowest(self) -> tuple[Floats, float]:
        """Return the prices (T,) with the least bound as far as the cuts tell, and that bound, too low if anything."""
        answer = self.program.solve()
        assert answer.values is not None  # feasible at any prices with high enough gains
        return answer.values[self.prices], answer.objective


def _priced(tree: PlanTree, prices: Floats, count: Ints) -> Priced:
    worth = tree.worth(prices)
    return Priced(prices, float(tree.problem.nodes * prices.sum() + count @ worth[0][:, 0]), worth)


def _first_prices(tree: PlanTree, count: Ints) -> Floats:
    """Return prices that fall like the number of steps for which work counts, at the level where the jobs fit."""
    problem: Problem = tree.problem
    shape = np.arange(problem.steps, 0, -1) / problem.steps
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        level = (low + high) / 2
        used = count @ tree.best(level * shape, tree.worth(level * shape)).nodes
        low, high = (level, high) if used @ shape > problem.nodes * shape.sum() else (low, level)
    return high * shape
