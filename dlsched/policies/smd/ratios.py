"""Algorithm 1 of the SMD paper: the inner problem with real numbers of workers and servers, as a sum of ratios.

Each part of the time is a ratio of two linear functions of (w, p). The range of all but one ratio is cut by a grid that
grows by 1 + epsilon from step to step; at each grid point the ratio that is left is minimised while the others stay
below theirs, a linear-fractional program over a polygon. Points, lines and linear functions are kept as three numbers:
the point (w, p, 1), and the coefficients of w, p and 1; the cross product of two lines is where they meet.

Differs from the paper: there is at least one worker and one server (not 0), the upper end of each range belongs to the
grid (else the guarantee has a hole there), and parts with the same denominator may be one ratio (fewer grid points).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.errors import InputError
from dlsched.domain.workload import Floats
from dlsched.optimise.milp import Milp
from dlsched.policies.smd.problem import WITHIN, Split

Terms = Literal["merged", "printed"]
Lfp = Literal["vertices", "charnes-cooper"]

CONSTANT = 1e-12
"""A ratio whose largest value is above its least by less than this share does not change."""
MOST_GRID_POINTS = 5_000_000
FIRST_CHUNK, CHUNK = 64, 4_096


@dataclass(frozen=True, slots=True)
class Relaxed:
    """Real numbers of workers and servers with a time of at most 1 + epsilon times the least one.

    ``value`` is the time there and ``bound`` is proven: no workers and servers within the limit, whole or not, take
    less. ``lower_bounds`` and ``upper_bounds`` are the ranges of the ratios that are not 0 (l and phi of the paper), in
    its order; ``grid_points`` is the size of the grid, of which those that cannot matter are not looked at.
    """

    workers: float
    servers: float
    value: float
    bound: float
    lower_bounds: tuple[float, ...]
    upper_bounds: tuple[float, ...]
    grid_points: int


@dataclass(frozen=True, eq=False)
class Ratios:
    """Minimise one of J ratios over a polygon while the others keep below given values.

    numerator, denominator   (J, 3) coefficients of w, p and 1; the last ratio is the one to minimise
    lines                    (K, 3) sides of the polygon: line . point <= 0 inside
    corners                  (C, 3) its corners
    """

    numerator: Floats
    denominator: Floats
    lines: Floats
    corners: Floats

    def keep_below(self, points: Floats) -> Floats:
        """Return the lines (P, J-1, 3) that hold the other ratios below ``points`` (P, J-1)."""
        return self.numerator[:-1] - points[:, :, None] * self.denominator[:-1]


Solver = Callable[[Ratios, Floats], tuple[Floats, Floats]]
"""From a program and grid points (P, J-1) to the best point (P, 3) and its ratio (P,), infinite where none will do."""


def approximate(problem: Split, epsilon: float = 0.1, terms: Terms = "merged", lfp: Lfp = "vertices") -> Relaxed:
    """Return workers and servers, not whole, whose time is proven within 1 + ``epsilon`` of the least (Algorithm 1).

    ``terms`` "printed" keeps every part of Eqs. 9 and 10 a ratio of its own; ``lfp`` chooses how the linear-fractional
    programs are solved: by the corners of their polygons, or as linear programs (Charnes-Cooper), thousands of times
    slower. Raises InputError when epsilon is not within 0 and 1 or the grid has more than MOST_GRID_POINTS points.
    """
    if not 0 < epsilon < 1:
        raise InputError("epsilon", f"must be above 0 and below 1, got {epsilon:g}")
    lines, corners = polygon(problem)
    numerator, denominator = _parts(problem, terms)
    at_corners = (corners @ numerator.T) / (corners @ denominator.T)
    lower, upper = at_corners.min(axis=0), at_corners.max(axis=0)
    spread = upper / lower
    changing = np.flatnonzero(spread > 1 + CONSTANT)
    if len(changing) == 0:
        best, constant, least, count = corners[0], float(lower.sum()), 0.0, 0
    else:
        widest = changing[np.argmax(spread[changing])]
        order = np.append(changing[changing != widest], widest)
        ratios = Ratios(numerator[order], denominator[order], lines, corners)
        axes = [_axis(lower[j], upper[j], epsilon) for j in order[:-1]]
        solver = by_corners if lfp == "vertices" else by_linear_programs
        best, least, count = _search(ratios, axes, float(lower[widest]), solver)
        constant = float(lower.sum() - lower[changing].sum())
    fixed = problem.fixed_time if terms == "printed" or problem.mode == "async" else 0.0
    bound = max(least / (1 + epsilon) + constant, float(lower.sum())) + fixed
    workers, servers = max(1.0, float(best[0])), max(1.0, float(best[1]))
    value = problem.time_of(workers, servers)
    return Relaxed(workers, servers, value, min(bound, value), tuple(lower.tolist()), tuple(upper.tolist()), count)


def polygon(problem: Split) -> tuple[Floats, Floats]:
    """Return the sides (K, 3) and the corners (C, 3) of what is feasible without the rule of whole numbers."""
    limits = problem.rows * [1, 1, -1]
    lines = np.concatenate((limits / np.abs(limits).max(axis=1)[:, None], [[-1.0, 0.0, 1.0], [0.0, -1.0, 1.0]]))
    meet = _meeting(lines[None, :, None], lines[None, None, :]).reshape(-1, 3)
    corners = np.unique(meet[_inside(lines, meet)], axis=0)
    touching = _slack(lines, corners) >= -WITHIN
    return lines[touching.any(axis=0)], corners


def by_corners(ratios: Ratios, points: Floats) -> tuple[Floats, Floats]:
    """Solve the programs of grid points (P, J-1): the least ratio over a polygon is at one of its corners."""
    cuts = ratios.keep_below(points)
    number = len(points)
    crossed = _meeting(cuts[:, :, None], ratios.lines[None, None])
    crossed = crossed.reshape(number, cuts.shape[1] * len(ratios.lines), 3)
    pairs = [_meeting(cuts[:, one], cuts[:, other])[:, None] for one, other in combinations(range(cuts.shape[1]), 2)]
    corners = np.broadcast_to(ratios.corners, (number, *ratios.corners.shape))
    candidates = np.concatenate((corners, crossed, *pairs), axis=1)
    with np.errstate(invalid="ignore", over="ignore"):
        above = candidates @ ratios.numerator.T  # (P, candidates, J)
        below = candidates @ ratios.denominator.T
        good = _inside(ratios.lines, candidates)
        good &= (above[..., :-1] <= points[:, None] * below[..., :-1] * (1 + WITHIN)).all(axis=-1)
        values = np.divide(above[..., -1], below[..., -1], out=np.full(good.shape, np.inf), where=good)
    best = values.argmin(axis=1)
    every = np.arange(number)
    return candidates[every, best], values[every, best]


def by_linear_programs(ratios: Ratios, points: Floats) -> tuple[Floats, Floats]:
    """Solve the programs of grid points (P, J-1) one by one as linear programs (Charnes-Cooper).

    With y = t (w, p, 1) and t so that the denominator is 1: minimise numerator . y; lines stay lines.
    """
    best, values = np.ones((len(points), 3)), np.full(len(points), np.inf)
    for place, cuts in enumerate(ratios.keep_below(points)):
        program = Milp()
        y = program.columns(ratios.numerator[-1] / ratios.numerator[-1].max())
        sides = np.concatenate((ratios.lines, cuts / np.abs(cuts).max(axis=1)[:, None]))
        row, column = np.indices(sides.shape)
        program.rows(row.ravel(), y[column.ravel()], sides.ravel(), high=np.zeros(len(sides)))
        program.rows(np.zeros(3, dtype=int), y, ratios.denominator[-1], low=1.0, high=1.0)
        answer = program.solve()
        if answer.values is not None and answer.values[2] > 0:
            best[place] = answer.values / answer.values[2]
            values[place] = (ratios.numerator[-1] @ best[place]) / (ratios.denominator[-1] @ best[place])
    return best, values


def _search(ratios: Ratios, axes: list[Floats], least_last: float, solver: Solver) -> tuple[Floats, float, int]:
    """Return the best point, the least sum of a grid point and the ratio there, and the number of grid points.

    By ascending sums of the grid point: once one plus the least value of the last ratio is no better, none is.
    """
    count = int(np.prod([len(axis) for axis in axes], dtype=float))
    if count > MOST_GRID_POINTS:
        why = f"the grid would have {count:,} points, more than {MOST_GRID_POINTS:,}"
        raise InputError("epsilon", why, "Choose a larger epsilon, or merged terms")
    points = (
        np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(count, len(axes)) if axes else np.zeros((1, 0))
    )
    sums = points.sum(axis=1)
    order = np.argsort(sums, kind="stable")
    best, least, start, size = ratios.corners[0], np.inf, 0, FIRST_CHUNK
    while start < count and sums[order[start]] + least_last < least:
        chosen = order[start : start + size]
        found, values = solver(ratios, points[chosen])
        totals = sums[chosen] + values
        first = int(totals.argmin())
        if totals[first] < least:
            best, least = found[first], float(totals[first])
        start, size = start + size, CHUNK
    return best, least, count


def _parts(problem: Split, terms: Terms) -> tuple[Floats, Floats]:
    """Return numerators and denominators (J, 3) of the parts of the time that are not 0."""
    one, w, p = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
    t = problem.theta
    parts: list[tuple[Floats, Floats]]
    if problem.mode == "sync":
        linear = [(t[0] * w, one), (t[1] * p, one)] if terms == "printed" else [(np.array(t[:3]), one)]
        parts = [*linear, (t[3] * w, p), (t[4] * one, w)]
    else:
        shared = [(t[1] * p, w), (t[2] * one, w)] if terms == "printed" else [(np.array([0.0, t[1], t[2]]), w)]
        parts = [*shared, (t[3] * one, p)]
    kept = [(above, below) for above, below in parts if above.any()]
    return np.array([above for above, _ in kept]).reshape(-1, 3), np.array([below for _, below in kept]).reshape(-1, 3)


def _axis(lower: float, upper: float, epsilon: float) -> Floats:
    """Return lower (1 + epsilon)^n for all n that stay below ``upper``, and ``upper``."""
    steps = int(np.log(upper / lower) / np.log1p(epsilon))
    values = lower * (1 + epsilon) ** np.arange(steps + 1)
    return np.append(values[values < upper], upper)


def _meeting(one: Floats, other: Floats) -> Floats:
    """Return the points where lines meet; not finite where they are parallel."""
    crossed = np.cross(one, other)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.asarray(crossed / crossed[..., 2:])


def _slack(lines: Floats, points: Floats) -> Floats:
    """Return how far (..., K) the points are beyond each line, relative to the constant part of the line."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(points @ lines.T / np.abs(lines[:, 2]))


def _inside(lines: Floats, points: Floats) -> NDArray[np.bool_]:
    return np.asarray((_slack(lines, points) <= WITHIN).all(axis=-1))
