"""The same mixed-integer programs through CBC (its binary comes with PuLP), to compare with published programs."""

from __future__ import annotations

import numpy as np

from dlsched.optimise.milp import Milp, MilpAnswer, MilpStatus


def solve_with_cbc(milp: Milp, *, node_limit: int | None = None) -> MilpAnswer:
    """Minimise to gap 0 or until ``node_limit`` nodes of the search tree, never by the clock; one thread.

    CBC says no bound of its own: where it says optimal the bound is its objective, else minus infinity. ``nodes`` is
    -1, not told. The program is passed through a file, and its CPU time is that of a child process.
    """
    import pulp  # heavy import, needed by few runs

    program = milp.arrays()
    problem = pulp.LpProblem("program", pulp.LpMinimize)
    kinds = [pulp.LpInteger if integer else pulp.LpContinuous for integer in program.integer.tolist()]
    columns = [
        problem.add_variable(f"x{at}", None if low == -np.inf else low, None if high == np.inf else high, kind)
        for at, (low, high, kind) in enumerate(zip(program.lower.tolist(), program.upper.tolist(), kinds, strict=True))
    ]
    problem += pulp.LpAffineExpression(list(zip(columns, program.cost.tolist(), strict=True)))
    by_row: list[list[tuple[pulp.LpVariable, float]]] = [[] for _ in range(milp.num_rows)]
    for row, column, value in zip(program.row.tolist(), program.column.tolist(), program.value.tolist(), strict=True):
        by_row[row].append((columns[column], value))
    for entries, low, high in zip(by_row, program.low.tolist(), program.high.tolist(), strict=True):
        total = pulp.LpAffineExpression(entries)
        if low == high:
            problem += total == low
        else:
            if low > -np.inf:
                problem += total >= low
            if high < np.inf:
                problem += total <= high
    problem.solve(pulp.PULP_CBC_CMD(msg=False, threads=1, gapRel=0.0, maxNodes=node_limit))
    if problem.status == pulp.LpStatusInfeasible:
        return MilpAnswer("infeasible", None, np.inf, np.inf, -1)
    if problem.sol_status not in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible):
        return MilpAnswer("unknown", None, np.inf, -np.inf, -1)
    raw = np.array([column.varValue or 0.0 for column in columns])
    values = np.where(program.integer, np.round(raw), raw)
    objective = float(program.cost @ values)
    proven = problem.sol_status == pulp.LpSolutionOptimal
    status: MilpStatus = "optimal" if proven else "feasible"
    return MilpAnswer(status, values, objective, objective if proven else -np.inf, -1)
