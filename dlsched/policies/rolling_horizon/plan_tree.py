"""All plans of all jobs, and each job's best ones when nodes have a price at each step.

What a job has done after t steps depends on how often it had each width, not in which order. A state is therefore a
multiset of t widths: with 5 widths and 5 steps a job has 252 states for its 3,125 plans, and a dynamic program over
them prices all plans exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import comb
from typing import NamedTuple

import numpy as np

from dlsched.domain.workload import Floats, Ints
from dlsched.policies.rolling_horizon.problem import Problem

ROUNDING = 1e-11
"""Two values of a job that are this near are equal."""


class Plans(NamedTuple):
    """Some plans of some jobs, M in all: ``job`` (M,), ``nodes`` (M, T), ``value`` (M,) = sum over steps of s/d."""

    job: Ints
    nodes: Ints
    value: Floats


class _Level(NamedTuple):
    """States after t steps, (states, K): how often each width was had, and the state that each width leads to."""

    counts: Ints
    successor: Ints


def num_states(widths: int, steps: int) -> int:
    """Return the number of states of one job: multisets of up to ``steps`` widths."""
    return comb(widths + steps, steps)


@lru_cache(maxsize=8)
def _levels(widths: int, steps: int) -> tuple[_Level, ...]:
    levels = []
    states: list[tuple[int, ...]] = [(0,) * widths]
    for _ in range(steps):
        place: dict[tuple[int, ...], int] = {}
        successor = [
            [place.setdefault((*had[:k], had[k] + 1, *had[k + 1 :]), len(place)) for k in range(widths)]
            for had in states
        ]
        levels.append(_Level(np.array(states), np.array(successor)))
        states = list(place)
    return (*levels, _Level(np.array(states), np.zeros((0, widths), dtype=np.int64)))


@dataclass(frozen=True, eq=False)
class PlanTree:
    """The states of every job of a problem in which every job has a legal width."""

    problem: Problem

    @cached_property
    def _done(self) -> list[Floats]:
        """s/d in [0, 1] of each job in each state after t steps, a list over t of (J, states)."""
        levels = _levels(len(self.problem.widths), self.problem.steps)
        return [np.minimum(1.0, np.einsum("jk,sk->js", self.problem.gain, level.counts)) for level in levels]

    @cached_property
    def _successors(self) -> list[Ints]:
        return [level.successor for level in _levels(len(self.problem.widths), self.problem.steps)]

    @cached_property
    def _ban(self) -> Floats:
        return np.where(self.problem.legal, 0.0, -np.inf)

    def worth(self, prices: Floats) -> list[Floats]:
        """Return what each job can still gain from each state after t steps, a list over t of (J, states).

        Gain is s/d summed over the steps to come, less the price of the nodes; ``prices`` (T,) per node and step. Entry
        0 holds the value of every job's best plan, (J, 1).
        """
        worth = [np.zeros_like(self._done[-1])]
        for step in reversed(range(self.problem.steps)):
            then = worth[0] + self._done[step + 1]
            net = self._ban - prices[step] * self.problem.widths
            best = np.full((self.problem.num_jobs, len(self._successors[step])), -np.inf)
            for place in range(len(self.problem.widths)):
                np.maximum(best, then[:, self._successors[step][:, place]] + net[:, place, None], out=best)
            worth.insert(0, best)
        return worth

    def best(self, prices: Floats, worth: list[Floats]) -> Plans:
        """Return one best plan of every job, with the smallest widths where several are best."""
        jobs = np.arange(self.problem.num_jobs)
        state, value = np.zeros_like(jobs), np.zeros(len(jobs))
        nodes = np.zeros((len(jobs), self.problem.steps), dtype=np.int64)
        for step in range(self.problem.steps):
            after = self._successors[step][state]
            gain = self._gain(jobs, after, step, prices) + worth[step + 1][jobs[:, None], after]
            place = gain.argmax(axis=1)
            nodes[:, step] = self.problem.widths[place]
            state = after[jobs, place]
            value += self._done[step + 1][jobs, state]
        return Plans(jobs, nodes, value)

    def near_best(self, prices: Floats, worth: list[Floats], eps: float, most: int) -> Plans | None:
        """Return every plan that is worth at most ``eps`` less than the job's best; None when they are over ``most``.

        Left out are plans that finish a job with more nodes than another plan here finishes it with in the same step,
        or hold more than the fewest nodes after that: they are worth no more and use no fewer nodes.
        """
        job = np.arange(self.problem.num_jobs)
        state, net, value = np.zeros_like(job), np.zeros(len(job)), np.zeros(len(job))
        nodes = np.zeros((len(job), 0), dtype=np.int64)
        for step in range(self.problem.steps):
            after = self._successors[step][state]
            done = self._done[step + 1][job[:, None], after]
            total = net[:, None] + self._gain(job, after, step, prices)
            near = total + worth[step + 1][job[:, None], after] >= worth[0][job] - eps - ROUNDING
            ends = (done >= 1.0) & self.problem.legal[job]
            row, place = np.nonzero(near & ~(ends & (np.cumsum(ends, axis=1) > 1)))
            if len(row) > most:
                return None
            nodes = np.hstack([nodes[row], self.problem.widths[place][:, None]])
            job, state, net = job[row], after[row, place], total[row, place]
            value = value[row] + done[row, place]
        return Plans(job, nodes, value)

    def _gain(self, job: Ints, after: Ints, step: int, prices: Floats) -> Floats:
        """Return what each width of a step adds, (rows, K), minus infinity where it is not legal."""
        cost = prices[step] * self.problem.widths
        return np.asarray(self._done[step + 1][job[:, None], after] - cost + self._ban[job])
