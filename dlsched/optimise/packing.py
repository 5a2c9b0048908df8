"""Packing: what to take so that the value is largest and every capacity holds, in whole or in parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.workload import Floats, Ints
from dlsched.optimise.quiet import quiet_output

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class WholePacking:
    """What was found: ``taken`` (I,) or None, ``bound``: proven, nothing is worth more, ``work`` it took in units."""

    taken: Mask | None
    bound: int
    work: float


def whole_packing(value: Ints, weight: Ints, capacity: Ints, *, hint: Mask, work_limit: float) -> WholePacking:
    """Maximise value x with weight x <= capacity and x in {0, 1}^I (CP-SAT, one thread).

    ``value`` (I,), ``weight`` (R, I), ``capacity`` (R,), all at least 0, each sum below 2**62. The search starts from
    ``hint`` (I,) and ends after ``work_limit`` units of its own counted work (about a CPU second each), never by the
    clock: the same question always gets the same answer.
    """
    from ortools.sat.python import cp_model  # heavy import, needed by few runs

    model = cp_model.CpModel()
    taken = [model.new_bool_var("") for _ in value]
    for row, most in zip(weight.tolist(), capacity.tolist(), strict=True):
        model.add(cp_model.LinearExpr.weighted_sum(taken, row) <= most)
    model.maximize(cp_model.LinearExpr.weighted_sum(taken, value.tolist()))
    for variable, first in zip(taken, hint.tolist(), strict=True):
        model.add_hint(variable, first)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = work_limit
    with quiet_output():
        status = solver.solve(model)
    work = float(solver.response_proto.deterministic_time)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return WholePacking(None, int(value.sum()), work)
    found = np.array([bool(solver.value(variable)) for variable in taken], dtype=bool)
    return WholePacking(found, int(solver.best_objective_bound), work)


def fractional_packing(value: Floats, weight: Floats, capacity: Floats) -> tuple[Floats, Floats]:
    """Maximise value x with weight x <= capacity and 0 <= x <= 1; return x (I,) and a price (R,) of each capacity.

    Finite numbers, at least 0, ``weight`` (R, I), R at least 1. x is a vertex, at most R entries are neither 0 nor 1
    (dual simplex of HiGHS); capacities hold within 1e-7. The prices are at least 0.
    """
    from scipy.optimize import linprog  # heavy import, needed by few runs

    nothing = np.zeros(len(value)), np.zeros(len(capacity))
    largest = float(value.max(initial=0.0))
    if largest == 0:
        return nothing
    with quiet_output():
        found = linprog(-value / largest, A_ub=weight, b_ub=capacity, bounds=(0, 1), method="highs-ds")
    if found.x is None:  # numbers the solver cannot cope with: still a solution, and prices that prove a bound
        return nothing
    return np.clip(found.x, 0.0, 1.0), np.maximum(0.0, -found.ineqlin.marginals) * largest
