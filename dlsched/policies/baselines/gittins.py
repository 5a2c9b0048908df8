"""Gittins index of jobs by the GPU time they have used, from how much of it other jobs of the site needed."""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np

from dlsched.domain.plan import Plan
from dlsched.domain.policy import ListRule
from dlsched.domain.state import State
from dlsched.domain.workload import Floats, Ints
from dlsched.policies.baselines import orders
from dlsched.policies.baselines.disciplines import preemptive
from dlsched.policies.baselines.params import GittinsParams
from dlsched.policies.baselines.policy import ListPolicy
from dlsched.policies.shared.ranks import NEARLY, NUM_WIDTHS, next_learning, width_class

UNTIL_GPU_S: Floats = 2.0 ** (np.arange(64) / 2)
"""The GPU-seconds that jobs need in all are known in steps: up to 1, up to 1.4, 2, ... 3e9."""
AGES_GPU_S: Floats = np.concatenate([[0.0], UNTIL_GPU_S[:-1]])
"""GPU-seconds used at which a job gets another rank."""
NEEDS_GPU_S: Floats = (AGES_GPU_S + UNTIL_GPU_S) / 2
"""What the jobs in between are taken to need."""
PRIOR_JOBS = 10.0
"""What is assumed, that each factor in what a job needs is as likely, weighs as much as so many jobs.

It is assumed of needs from the least that was seen on: that jobs may be shorter than all before would put every new
job first for ever.
"""
ENOUGH_JOBS = 30
"""A width is judged by its own jobs when so many have ended; till then by all jobs."""
SHORT_S = 10.0
"""A job shorter than this counts as so long, so that jobs of seconds do not outweigh all others."""
STEPS_PER_DOUBLING = 4
"""Ranks are compared in so many steps for a factor of 2; within a step, first come, first served."""
_THRESHOLDS_GPU_S = tuple(AGES_GPU_S[1:].tolist())


def inverse_index(weights: Floats, needs: Floats, until: Floats, worth: Floats) -> Floats:
    """Return 1 / Gittins index at each age, shape (needs,): the job with the lowest is served first.

    At age ``a``, the least over all ``b > a`` of ``E[min(X, b) - a] / E[worth of X; X <= b]``, both given ``X > a``:
    the time spent for each unit of worth if the job is served until it has used ``b``, or ends. Infinite where no job
    gets that old. (Gittins, JRSS B 41, 1979; by attained service in an M/G/1 queue: Aalto, Ayesta, Righter, Queueing
    Systems 63, 2009.)

    Parameters
    ----------
    weights
        How often each need occurs, shape (needs,); need not sum to 1.
    needs
        ``X``: what a job needs in all, GPU-seconds, rising, shape (needs,).
    until
        ``b``: when to look again, a time from each need on and below the next. Ages are 0 and all of these but the
        last.
    worth
        What the end of a job with each need is worth, shape (needs,): 1 for the least mean time, 1 / run time for the
        least mean slowdown.
    """
    ages = np.concatenate([[0.0], until[:-1]])[:, None]
    later = np.triu(np.ones((len(needs), len(needs))))  # [age, b]: needs after the age, up to b
    older = weights[None, :] * later
    ended, gained = np.cumsum(older, axis=1), np.cumsum(older * worth, axis=1)
    spent = np.cumsum(older * (needs[None, :] - ages), axis=1)
    spent += (ended[:, -1:] - ended) * (until[None, :] - ages)
    ratios = np.divide(spent, gained, out=np.full(spent.shape, np.inf), where=(gained > 0) & (later > 0))
    return np.asarray(ratios.min(axis=1))


def gittins_ranks(ended: Ints, sample: Ints, *, by_width: bool, goal: Literal["slowdown", "turnaround"]) -> Ints:
    """Return the rank of jobs by width and age, shape (widths, ages), lowest first, in steps of a common scale.

    Parameters
    ----------
    ended
        How many jobs of each class of width ended with each need, shape (widths, needs).
    sample
        The same of jobs of unknown width that ended before the run, shape (needs,).
    by_width
        Whether jobs are compared with those of their width, see :data:`ENOUGH_JOBS`, or with all.
    goal
        Whether an end is worth 1 / run time, or 1.
    """
    of_all = ended.sum(axis=0) + sample
    ranks = np.zeros(ended.shape, dtype=np.int64)
    for width, of_width in enumerate(ended):
        seen = of_width if by_width and of_width.sum() >= ENOUGH_JOBS else of_all
        weights = seen + (np.cumsum(seen) >= min(1, seen.sum())) * (PRIOR_JOBS / len(seen))
        run_times_s = np.maximum(NEEDS_GPU_S / 2.0**width, SHORT_S)
        worth = 1 / run_times_s if goal == "slowdown" else np.ones(len(seen))
        inverse = inverse_index(weights, NEEDS_GPU_S, UNTIL_GPU_S, worth)
        ranks[width] = np.rint(STEPS_PER_DOUBLING * np.log2(inverse))
    return ranks


def number_of_need(gpu_s: Floats) -> Ints:
    """Return which of the needs GPU-seconds used by jobs that have ended count as."""
    return np.searchsorted(np.array(_THRESHOLDS_GPU_S) * NEARLY, gpu_s, side="left").astype(np.int64)


class GittinsPolicy(ListPolicy):
    """Runs the jobs with the lowest rank; ranks come from the jobs that have ended by the decision before.

    They are made anew when a tenth more jobs have ended, see :func:`next_learning`.
    """

    def __init__(self, params: GittinsParams) -> None:
        needs = number_of_need(np.array(params.sample_gpu_s))
        sample = np.bincount(needs, minlength=len(NEEDS_GPU_S))
        self._ranks_from = partial(gittins_ranks, sample=sample, by_width=params.by_width, goal=params.goal)
        rule = ListRule(
            "attained",
            blocking=False,
            preemptive=True,
            thresholds_gpu_s=_THRESHOLDS_GPU_S,
            ranks=self._ranks_from,
            makes_room=True,
        )
        in_order = partial(preemptive, makes_room=True)
        super().__init__(self._rank, in_order, rule, self._next_setback_s, params.vm_type)
        self._ended = np.zeros((NUM_WIDTHS, len(NEEDS_GPU_S)), dtype=np.int64)
        self._learn_at = 1
        self._active, self._num_seen = np.zeros(0, dtype=np.int64), 0
        self._learn()

    def plan(self, state: State) -> Plan:
        """Return starts and stops by the ranks; then note who has ended."""
        if self._ended.sum() >= self._learn_at:
            self._learn_at = next_learning(int(self._ended.sum()))
            self._learn()
        known = np.concatenate([self._active, np.arange(self._num_seen, len(state.jobs))])
        gone = known[~np.isin(known, state.active)]
        used_gpu_s = state.attained_gpu_s(gone)
        gone, used_gpu_s = gone[used_gpu_s > 0], used_gpu_s[used_gpu_s > 0]
        np.add.at(self._ended, (width_class(orders.gpus(state, gone)), number_of_need(used_gpu_s)), 1)
        self._active, self._num_seen = state.active, len(state.jobs)
        return super().plan(state)

    def _learn(self) -> None:
        self._ranks = self._ranks_from(self._ended)

    def _rank(self, state: State, rows: Ints) -> Floats:
        age = orders.queue_number(state, rows, _THRESHOLDS_GPU_S).astype(np.int64)
        return self._ranks[width_class(orders.gpus(state, rows)), age].astype(np.float64)

    def _next_setback_s(self, state: State, running: Ints) -> float | None:
        by_age = self._ranks[width_class(orders.gpus(state, running))]
        return orders.next_setback_s(state, running, self._rank, by_age, _THRESHOLDS_GPU_S)
