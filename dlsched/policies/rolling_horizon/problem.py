"""One decision of elastic training as arrays, a plan for it, and what a plan is worth (Section 4 of the paper).

The pure cores of this family take a :class:`Problem` and return a :class:`Solution`; they know neither the simulator
nor the policy protocol. Symbols of the paper: d_i = remaining, K = widths, N = nodes, T = steps, p = step_h.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dlsched.domain.errors import InputError
from dlsched.domain.workload import Floats, Ints

Flags = NDArray[np.bool_]
Status = Literal["optimal", "feasible", "infeasible"]

LEAST_REMAINING = 1e-4
"""Node-hours; a job with less left is planned as if it had this much."""
EFFICIENCY = 0.8
"""What every doubling of the nodes leaves of a node's speed (Fig. 6)."""
PROVEN = 1e-5
"""Objective and bound at most PROVEN x max(1, |bound|) apart: proven optimal."""


@dataclass(frozen=True, eq=False)
class Problem:
    """How many nodes each of J jobs gets at each of T steps, out of K widths. Every job gets nodes at every step.

    remaining     (J,) node-hours left, at least LEAST_REMAINING
    widths        (K,) numbers of nodes, ascending
    legal         (J, K) whether the job may have this many
    rate          (J, K) node-hours of progress per hour; 0 where not legal
    ``nodes``     nodes there are, N
    ``steps``     steps planned ahead, T
    ``step_h``    length of a step in hours, p

    Raises InputError when sizes differ or a value is outside its range.
    """

    remaining: Floats
    widths: Ints
    legal: Flags
    rate: Floats
    nodes: int
    steps: int
    step_h: float

    def __post_init__(self) -> None:
        shape = (len(self.remaining), len(self.widths))
        for name, array in (("legal", self.legal), ("rate", self.rate)):
            if array.shape != shape:
                raise InputError(name, f"must have the shape {shape} (jobs, widths), got {array.shape}")
        if len(self.widths) == 0 or (self.widths < 1).any() or (np.diff(self.widths) <= 0).any():
            raise InputError("widths", f"must be ascending numbers of nodes from 1 on, got {self.widths.tolist()}")
        if not (np.isfinite(self.remaining) & (self.remaining >= LEAST_REMAINING)).all():
            raise InputError("remaining", f"must be finite and at least {LEAST_REMAINING:g} node-hours")
        if not (np.isfinite(self.rate) & (self.rate >= 0)).all() or self.rate[~self.legal].any():
            raise InputError("rate", "must be finite, 0 or more, and 0 where a width is not legal")
        for what, value, least in (("nodes", self.nodes, 0), ("steps", self.steps, 1)):
            if value < least:
                raise InputError(what, f"must be at least {least}, got {value}")
        if not (np.isfinite(self.step_h) and self.step_h > 0):
            raise InputError("step_h", f"must be a positive number of hours, got {self.step_h:g}")

    @property
    def num_jobs(self) -> int:
        """J."""
        return len(self.remaining)

    @cached_property
    def gain(self) -> Floats:
        """Share of its remaining work that one step gives a job at each width, (J, K): p r(k) / d."""
        return np.asarray(self.step_h * self.rate / self.remaining[:, None])

    @cached_property
    def smallest(self) -> Ints:
        """Place of each job's smallest legal width in ``widths``, (J,); K = it has none."""
        return np.where(self.legal.any(axis=1), self.legal.argmax(axis=1), len(self.widths))

    @cached_property
    def fastest(self) -> Ints:
        """Place of each job's fastest legal width, (J,), the smallest such: the largest where more nodes are faster."""
        return np.asarray(np.where(self.legal, self.rate, -1.0).argmax(axis=1))


@dataclass(frozen=True, eq=False)
class Solution:
    """A plan and what is proven of it: no plan of the problem is worth more than ``bound``.

    ``plan`` (J, T) holds nodes; without a plan (``infeasible``) it is all 0, ``objective`` and ``bound`` are minus
    infinity, and ``reason`` says which job or which limit. ``method`` is how the answer was found; ``cpu_s`` is
    for the record and decides nothing.
    """

    plan: Ints
    objective: float
    bound: float
    status: Status
    cpu_s: float
    method: str
    reason: str = ""

    @property
    def nodes_now(self) -> Ints:
        """Nodes of each job in the first step, the only one that is carried out, (J,)."""
        return np.asarray(self.plan[:, 0])

    @property
    def gap(self) -> float:
        """Bound - objective, at least 0; 0 without a plan."""
        return max(0.0, self.bound - self.objective) if self.status != "infeasible" else 0.0


def of(
    remaining: ArrayLike,
    nodes: int,
    widths: Sequence[int] | Ints,
    steps: int = 5,
    step_h: float = 1 / 12,
    min_nodes: ArrayLike = 1,
    max_nodes: ArrayLike | None = None,
    efficiency: float = EFFICIENCY,
) -> Problem:
    """Return the problem of jobs that speed up as published: r(k) = k x efficiency^log2(k).

    Parameters
    ----------
    remaining
        (J,) node-hours left, positive; less than LEAST_REMAINING counts as that much.
    widths
        Numbers of nodes a job may have, in any order.
    min_nodes, max_nodes
        (J,) or one number for all: limits of each job's widths; no largest by default.

    Raises
    ------
    InputError
        If a value is outside its range or lengths differ.
    """
    left = np.atleast_1d(np.asarray(remaining, dtype=float))
    bad = np.flatnonzero(~(np.isfinite(left) & (left > 0)))
    if len(bad):
        raise InputError(
            f"remaining, job {bad[0]}", f"must be a positive number of node-hours, got {left[bad[0]]:g}",
            "Leave out jobs that are done",
        )  # fmt: skip
    sizes = np.unique(np.asarray(widths, dtype=np.int64))
    low = _per_job("min_nodes", min_nodes, len(left))
    high = _per_job("max_nodes", sizes.max(initial=1) if max_nodes is None else max_nodes, len(left))
    legal = (sizes >= low[:, None]) & (sizes <= high[:, None])
    speed = sizes * efficiency ** np.log2(np.maximum(sizes, 1))
    return Problem(np.maximum(left, LEAST_REMAINING), sizes, legal, np.where(legal, speed, 0.0), nodes, steps, step_h)


def progress(problem: Problem, plan: Ints) -> Floats:
    """Return the share of each job's remaining work that is done after each step of a plan, (J, T): s/d in [0, 1].

    Raises
    ------
    InputError
        If the plan has another shape or a number of nodes that is none of the widths.
    """
    if plan.shape != (problem.num_jobs, problem.steps):
        raise InputError("plan", f"must have the shape {(problem.num_jobs, problem.steps)}, got {plan.shape}")
    place = np.minimum(np.searchsorted(problem.widths, plan), len(problem.widths) - 1)
    if (problem.widths[place] != plan).any():
        raise InputError("plan", f"must take its numbers of nodes from {problem.widths.tolist()}")
    return np.minimum(1.0, np.cumsum(np.take_along_axis(problem.gain, place, axis=1), axis=1))


def objective_of(problem: Problem, plan: Ints) -> float:
    """Return what a plan is worth: the sum over jobs and steps of s/d, as printed in Section 4.4.

    s is cumulative, so work done early counts at every later step; a job is worth at most T. Raises as `progress`.
    """
    return float(progress(problem, plan).sum())


def violations(problem: Problem, plan: Ints) -> list[str]:
    """Return what makes a plan infeasible, empty if nothing does."""
    shape = (problem.num_jobs, problem.steps)
    if plan.shape != shape:
        return [f"the plan has the shape {plan.shape}, not {shape}"]
    violations = []
    place = np.minimum(np.searchsorted(problem.widths, plan), len(problem.widths) - 1)
    legal = (problem.widths[place] == plan) & np.take_along_axis(problem.legal, place, axis=1)
    for job, step in np.argwhere(~legal).tolist():
        violations.append(f"job {job} has {plan[job, step]} nodes at step {step}, which is not legal")
    used = plan.sum(axis=0)
    for step in np.flatnonzero(used > problem.nodes).tolist():
        violations.append(f"{used[step]} nodes are in use at step {step} of {problem.nodes}")
    return violations


def _per_job(name: str, values: ArrayLike, jobs: int) -> Ints:
    given = np.asarray(values, dtype=np.int64)
    if given.ndim and given.shape != (jobs,):
        raise InputError(name, f"must have {jobs} entries, one for each job, got {given.size}")
    return np.broadcast_to(given, (jobs,))
