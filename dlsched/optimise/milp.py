"""Mixed-integer programs: columns and rows in, values with a status and a proven bound out (HiGHS through scipy)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dlsched.domain.workload import Floats, Ints
from dlsched.optimise.quiet import quiet_output

MilpStatus = Literal["optimal", "feasible", "infeasible", "unbounded", "unknown"]
"""optimal = proven within PROVEN; feasible = values, bound further off; unknown = stopped without values."""

PROVEN = 1e-6
SOLVER_TOLERANCE = 1e-6
LARGEST_COST = 2.0**20


@dataclass(frozen=True, eq=False)
class MilpAnswer:
    """What the solver found; ``values`` is None without a solution, integer columns hold whole numbers.

    ``bound`` is proven: no solution costs less. ``gap`` = (objective - bound) / |objective|, infinite without a
    solution. ``nodes`` counts the search tree.
    """

    status: MilpStatus
    values: Floats | None
    objective: float
    bound: float
    nodes: int

    @property
    def gap(self) -> float:
        """Relative distance between objective and bound; 0 where they agree."""
        if self.values is None:
            return np.inf
        distance = max(0.0, self.objective - self.bound)
        return distance / abs(self.objective) if distance and self.objective else distance


@dataclass(frozen=True, eq=False)
class MilpArrays:
    """A program as arrays, for other solvers: entry k of ``row``, ``column``, ``value`` is one of the matrix."""

    cost: Floats
    lower: Floats
    upper: Floats
    integer: NDArray[np.bool_]
    row: Ints
    column: Ints
    value: Floats
    low: Floats
    high: Floats


@dataclass
class Milp:
    """A minimisation, built column by column and row by row."""

    _cost: list[Floats] = field(default_factory=list)
    _lower: list[Floats] = field(default_factory=list)
    _upper: list[Floats] = field(default_factory=list)
    _integer: list[NDArray[np.bool_]] = field(default_factory=list)
    _entries: list[tuple[Ints, Ints, Floats]] = field(default_factory=list)
    _low: list[Floats] = field(default_factory=list)
    _high: list[Floats] = field(default_factory=list)
    num_columns: int = 0
    num_rows: int = 0

    def columns(
        self, cost: ArrayLike, *, lower: ArrayLike = 0.0, upper: ArrayLike = np.inf, integer: bool = False
    ) -> Ints:
        """Add one column for each cost and return their numbers, in the shape of ``cost``."""
        costs = np.asarray(cost, dtype=float)
        flat = costs.ravel()
        numbers = np.arange(self.num_columns, self.num_columns + len(flat)).reshape(costs.shape)
        self._cost.append(flat)
        self._lower.append(np.broadcast_to(np.asarray(lower, dtype=float), costs.shape).ravel())
        self._upper.append(np.broadcast_to(np.asarray(upper, dtype=float), costs.shape).ravel())
        self._integer.append(np.full(len(flat), integer))
        self.num_columns += len(flat)
        return numbers

    def rows(
        self, row: ArrayLike, column: ArrayLike, value: ArrayLike, *, low: ArrayLike = -np.inf, high: ArrayLike = np.inf
    ) -> None:
        """Add rows ``low <= sum of value x column <= high``, one for each entry of ``low`` or ``high``.

        Entry k of the three lists puts ``value[k]`` before ``column[k]`` in the new row ``row[k]``, counted from 0.
        """
        lows, highs = np.broadcast_arrays(np.atleast_1d(np.asarray(low, float)), np.atleast_1d(np.asarray(high, float)))
        rows, columns, values = np.broadcast_arrays(np.asarray(row), np.asarray(column), np.asarray(value, dtype=float))
        self._entries.append((rows.ravel() + self.num_rows, columns.ravel(), values.ravel()))
        self._low.append(lows)
        self._high.append(highs)
        self.num_rows += len(lows)

    def arrays(self) -> MilpArrays:
        """Return the program as arrays."""
        row, column, value = zip(*self._entries, strict=True) if self._entries else ([], [], [])
        of_rows = (row, column, value, self._low, self._high)
        parts: tuple[Sequence[NDArray[Any]], ...] = (self._cost, self._lower, self._upper, self._integer, *of_rows)
        kinds = (float, float, float, bool, np.int64, np.int64, float, float, float)
        joined = [np.concatenate([*part, np.zeros(0)]).astype(kind) for part, kind in zip(parts, kinds, strict=True)]
        return MilpArrays(*joined)

    def solve(self, *, relative_gap: float = 0.0, node_limit: int | None = None) -> MilpAnswer:
        """Minimise; the same program and limits always give the same answer.

        The search ends when the gap is at most ``relative_gap`` or after ``node_limit`` nodes of its tree, never by
        the clock.
        """
        options: dict[str, Any] = {"mip_rel_gap": relative_gap}
        if node_limit is not None:
            options["node_limit"] = node_limit
        if self.num_columns == 0:
            return self._without_columns()
        cost = np.concatenate(self._cost)
        # A power of two changes no digit; the solver's absolute tolerances then mean the same in $ and in cents.
        largest = float(np.abs(cost).max())
        scale = 2.0 ** np.floor(np.log2(LARGEST_COST / largest)) if largest > 0 else 1.0
        result = self._run(cost * scale, dict(options))  # scipy empties what it is given
        if result.status == 4 and "infeasible" in result.message:  # or unbounded: its preparation could not tell which
            result = self._run(cost * scale, options | {"presolve": False})
        return self._answer(result, cost, scale)

    def _run(self, cost: Floats, options: Any) -> Any:
        from scipy.optimize import Bounds, LinearConstraint, milp  # heavy import, needed by few runs
        from scipy.sparse import csr_array

        constraints = []
        if self.num_rows:
            row, column, value = (np.concatenate(part) for part in zip(*self._entries, strict=True))
            matrix = csr_array((value, (row, column)), shape=(self.num_rows, self.num_columns))
            constraints = [LinearConstraint(matrix, np.concatenate(self._low), np.concatenate(self._high))]
        with quiet_output():
            return milp(
                cost,
                integrality=np.concatenate(self._integer).astype(np.int64),
                bounds=Bounds(np.concatenate(self._lower), np.concatenate(self._upper)),
                constraints=constraints,
                options=options,
            )

    def _answer(self, result: Any, cost: Floats, scale: float) -> MilpAnswer:
        nodes = int(result.mip_node_count or 0)
        bound = -np.inf if result.mip_dual_bound is None else float(result.mip_dual_bound) / scale
        if result.status in (2, 3):
            infeasible = result.status == 2
            limit = np.inf if infeasible else -np.inf
            return MilpAnswer("infeasible" if infeasible else "unbounded", None, limit, limit, nodes)
        if result.x is None:
            return MilpAnswer("unknown", None, np.inf, bound, nodes)
        values = np.where(np.concatenate(self._integer), np.round(result.x), result.x)
        objective = float(cost @ values)
        near = max(PROVEN * abs(objective), SOLVER_TOLERANCE / scale)
        if result.status == 0 and result.mip_dual_bound is None:  # without integer columns the answer is proven
            bound = objective
        status: MilpStatus = "optimal" if objective - bound <= near else "feasible"
        return MilpAnswer(status, values, objective, min(bound, objective), nodes)

    def _without_columns(self) -> MilpAnswer:
        low, high = (np.concatenate([*part, np.zeros(0)]) for part in (self._low, self._high))
        if ((low <= 0) & (high >= 0)).all():
            return MilpAnswer("optimal", np.zeros(0), 0.0, 0.0, 0)
        return MilpAnswer("infeasible", None, np.inf, np.inf, 0)
