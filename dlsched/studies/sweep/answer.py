"""What a sweep answers: cells, values with ranges, paired changes, regret, and cost against service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from pydantic import Field

from dlsched.domain.errors import InputError
from dlsched.domain.model import Answer, FrozenModel
from dlsched.domain.names import names_hint
from dlsched.metrics.kpi import KPI
from dlsched.metrics.stats.basis import EXACT_BASIS, Basis
from dlsched.metrics.stats.intervals import Interval, mean_interval
from dlsched.metrics.stats.knee import knee_of
from dlsched.metrics.stats.statements import Change, Estimate, change_of, value_of
from dlsched.studies.design.factors import role_of
from dlsched.studies.design.measures import MEASURES
from dlsched.studies.design.variants import Futures

Value = float | str
Point = tuple[Value | None, ...]
"""The value of each axis; None if the scenario stays as it is."""


class Axis(FrozenModel):
    """What varies: key and label, the unit of its values ("x" = a factor, "" = a share or a name), the values.

    ``present``: the value the scenario has as it is, None if it has none.
    """

    key: str
    label: str
    unit: str
    values: tuple[Value, ...]
    present: Value | None = None


class Cell(FrozenModel):
    """One policy at one point (its number) with one seed: metrics by key, None if undefined or the run failed.

    ``completed``, ``rejected``, ``unfinished`` count its jobs; ``audit`` holds the auditor's complaints, ``error`` what
    ended the run; ``missing``: it was not run yet.
    """

    point: int
    policy: str
    seed: int
    values: Mapping[str, float | None]
    completed: int | None = None
    rejected: int | None = None
    unfinished: int | None = None
    audit: tuple[str, ...] = ()
    error: str = ""
    missing: bool = False


class Sweep(Answer):
    """All cells: points first, then policies, then seeds. The first point is the baseline.

    Cells with one seed saw the same future, whatever their policy and point. ``exact``: nothing is random, so that one
    future says all; ``days``: days of the trace where its whole days are resampled, else 0.
    """

    scenario: str
    scenario_name: str
    mode: Literal["grid", "one-at-a-time"]
    axes: tuple[Axis, ...]
    points: tuple[Point, ...] = Field(min_length=1)
    policies: tuple[str, ...] = Field(min_length=1)
    labels: Mapping[str, str]
    reference: str
    futures: Futures = Field(default_factory=Futures)
    metrics: tuple[str, ...]
    cells: tuple[Cell, ...]
    exact: bool = False
    days: int = 0

    @property
    def basis(self) -> Basis:
        """What may be said of the numbers."""
        if self.exact:
            return EXACT_BASIS
        kind: Literal["recorded", "drawn"] = "recorded" if self.futures.vary else "drawn"
        return Basis(kind=kind, futures=self.futures.count, days=self.days)

    @cached_property
    def _by_place(self) -> dict[tuple[int, str], list[Cell]]:
        by_place: dict[tuple[int, str], list[Cell]] = {}
        for cell in self.cells:
            by_place.setdefault((cell.point, cell.policy), []).append(cell)
        return by_place

    def at(self, point: int, policy: str) -> list[Cell]:
        """Return the cells of a policy at a point, one a seed; KeyError where there is none."""
        return self._by_place[point, policy]

    @property
    def num_missing(self) -> int:
        """How many cells were not run yet."""
        return sum(cell.missing for cell in self.cells)


def shown(value: Value | None) -> str:
    """Return a value of an axis as text, "" where the scenario stays as it is."""
    return "" if value is None else value if isinstance(value, str) else f"{value:g}"


# ---- numbers of one place ----------------------------------------------------------------------------


def values_at(sweep: Sweep, point: int, policy: str, metric: str) -> list[float] | None:
    """Return a metric of every future; None if one has none: the others alone would be other futures.

    Raises
    ------
    InputError
        If the sweep has no such metric.
    """
    if metric not in sweep.metrics:
        raise InputError(f"metric {metric!r:.80}", "is not one of the sweep", names_hint(metric, sweep.metrics))
    values = [cell.values.get(metric) for cell in sweep.at(point, policy)]
    return None if any(value is None for value in values) else [float(value or 0.0) for value in values]


def mean_at(sweep: Sweep, point: int, policy: str, metric: str) -> Interval | None:
    """Return the mean over futures with its 95% interval, for the lab; None if a future has no number."""
    values = values_at(sweep, point, policy, metric)
    return None if values is None else mean_interval(values)


def value_at(sweep: Sweep, point: int, policy: str, metric: str) -> Estimate | None:
    """Return what was recorded, else the mean over futures, with its range; None if a future has no number."""
    values = values_at(sweep, point, policy, metric)
    return None if values is None else value_of(MEASURES[metric], values, sweep.basis)


def against_policy(sweep: Sweep, point: int, policy: str, metric: str, reference: str = "") -> Change | None:
    """Return how a policy differs from the reference policy at one point, by future; None if one has no number."""
    return _change(sweep, (point, policy), (point, reference or sweep.reference), metric)


def against_point(sweep: Sweep, point: int, policy: str, metric: str, baseline: int = 0) -> Change | None:
    """Return how a policy at a point differs from itself at the baseline; None if either has no number."""
    return _change(sweep, (point, policy), (baseline, policy), metric)


def _change(sweep: Sweep, ours: tuple[int, str], theirs: tuple[int, str], metric: str) -> Change | None:
    values, base = values_at(sweep, *ours, metric), values_at(sweep, *theirs, metric)
    return None if values is None or base is None else change_of(MEASURES[metric], values, base, sweep.basis)


# ---- which numbers -----------------------------------------------------------------------------------


COSTS = ("cost_month", "total_cost", "vm_cost")
UNLIKE_TOTALS = ("demand", "arrivals", "days", "horizon_s")
"""Changes after which there are other jobs, or another time: only costs per month compare then."""


def metrics_of(sweep: Sweep) -> list[str]:
    """Return the metrics that can be better or worse and have a number somewhere, in the order asked for."""
    there = {key for cell in sweep.cells for key, value in cell.values.items() if value is not None}
    return [key for key in sweep.metrics if key in there and MEASURES[key].better != "neutral"]


def costs_of(sweep: Sweep) -> list[str]:
    """Return the costs to show: per month alone where jobs or times differ."""
    costs = [key for key in COSTS if key in metrics_of(sweep)]
    moved = {axis.key for axis in sweep.axes} | set(sweep.futures.vary)
    return [key for key in costs if key == "cost_month"] if moved & set(UNLIKE_TOTALS) else costs


# ---- regret ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Regret:
    """Loss of a policy to the best policy at each point, at least 0; None if a policy there has no number.

    ``losses`` in the unit of the metric, ``percents`` of the best (None if the best is 0), one a point; ``worst``
    the largest loss, None if one is missing; ``safest`` whether no policy has a smaller one (minimax regret).
    """

    policy: str
    losses: tuple[float | None, ...]
    percents: tuple[float | None, ...]
    worst: float | None
    worst_percent: float | None
    safest: bool


def regrets(sweep: Sweep, metric: str) -> list[Regret]:
    """Return the regret of every policy, in their order, of what was recorded or of means (Savage 1951).

    The safest choice is by loss in the unit of the metric, not in percent: a percent of nearly nothing says little.
    Policies without a number at some point are never the safest.

    Raises
    ------
    InputError
        If more or less of the metric is neither better nor worse, or the sweep has no such metric.
    """
    sign = _sign(metric)
    means = [[_value(sweep, point, policy, metric) for point in range(len(sweep.points))] for policy in sweep.policies]
    costs = sign * np.array(means, dtype=float)  # (policies, points), less is better; NaN = no number
    best = np.where(np.isnan(costs), np.inf, costs).min(axis=0)
    losses = costs - best
    with np.errstate(divide="ignore", invalid="ignore"):
        percents = np.where(best == 0, np.nan, 100 * losses / np.abs(best))
    worst = losses.max(axis=1)  # NaN where one is missing
    least = np.nanmin(worst) if not np.isnan(worst).all() else np.nan
    return [
        Regret(
            policy=policy,
            losses=tuple(map(_none_if_nan, losses[row].tolist())),
            percents=tuple(map(_none_if_nan, percents[row].tolist())),
            worst=_none_if_nan(float(worst[row])),
            worst_percent=_none_if_nan(float(percents[row].max())),
            safest=bool(worst[row] == least),
        )
        for row, policy in enumerate(sweep.policies)
    ]


def worst_point(regret: Regret) -> int:
    """Return the point at which a policy loses most; ValueError where it lacks a number."""
    losses = [loss for loss in regret.losses if loss is not None]
    if len(losses) < len(regret.losses):
        raise ValueError("a situation has no number")
    return losses.index(max(losses))


def best_at(sweep: Sweep, point: int, metric: str) -> str | None:
    """Return the policy with the best value at a point, the first of equals; None if none has a number."""
    sign = _sign(metric)
    known = {policy: of.value for policy in sweep.policies if (of := value_at(sweep, point, policy, metric))}
    return min(known, key=lambda policy: sign * known[policy]) if known else None


def loss_at(sweep: Sweep, point: int, policy: str, metric: str) -> Change | None:
    """Return how a policy differs from the best one at a point, future by future; None without numbers."""
    best = best_at(sweep, point, metric)
    return None if best is None else against_policy(sweep, point, policy, metric, reference=best)


def _value(sweep: Sweep, point: int, policy: str, metric: str) -> float:
    found = value_at(sweep, point, policy, metric)
    return np.nan if found is None else found.value


def _none_if_nan(value: float) -> float | None:
    return value if np.isfinite(value) else None


def kpi_of(metric: str) -> KPI:
    """Return the entry of a metric that has a better side; InputError where it has none."""
    if metric not in MEASURES:
        raise InputError(f"metric {metric!r:.80}", "there is none of this name", names_hint(metric, MEASURES))
    if MEASURES[metric].better == "neutral":
        raise InputError(f"metric {metric}", "is neither better nor worse when larger", "Take one that is")
    return MEASURES[metric]


def _sign(metric: str) -> float:
    return 1.0 if kpi_of(metric).better == "lower" else -1.0


# ---- cost against service ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Choice:
    """A policy at a point with its cost and service; ``dominated``: another is no worse in both, better in one."""

    point: int
    policy: str
    cost: float
    service: float
    dominated: bool


def frontier(sweep: Sweep, cost: str, service: str, among: Sequence[int] | None = None) -> list[Choice]:
    """Return all choices that have both numbers, points first; those that are not dominated are the frontier.

    ``among``: the points that are compared, all without it; see :func:`choice_points`.

    Values are compared as they are: choices whose ranges overlap may change places in another month.

    Raises
    ------
    InputError
        As :func:`regrets`.
    """
    signs = np.array([_sign(cost), _sign(service)])
    points = range(len(sweep.points)) if among is None else among
    places = [(point, policy) for point in points for policy in sweep.policies]
    means = np.array([[_value(sweep, *place, metric) for metric in (cost, service)] for place in places])
    there = np.flatnonzero(~np.isnan(means).any(axis=1))
    found = means[there] * signs  # (choices, 2), less is better
    choices = []
    for row, place in enumerate(there.tolist()):
        no_worse, better = (found <= found[row]).all(axis=1), (found < found[row]).any(axis=1)
        beaten = bool((no_worse & better).any())
        (point, policy), (paid, served) = places[place], means[place].tolist()
        choices.append(Choice(point, policy, paid, served, beaten))
    return choices


def choice_points(sweep: Sweep, point: int) -> list[int]:
    """Return the points that differ from one only in options: what a condition does to cost and service is no offer."""
    given = [place for place, axis in enumerate(sweep.axes) if role_of(axis.key) == "condition"]
    at = sweep.points[point]
    return [place for place, values in enumerate(sweep.points) if all(values[one] == at[one] for one in given)]


def knee(sweep: Sweep, cost: str, service: str, among: Sequence[int] | None = None) -> Choice | None:
    """Return the knee of the frontier ``among`` points, by :func:`metrics.stats.knee.knee_of`; None without one."""
    signs = [_sign(key) for key in (cost, service)]
    kept = [choice for choice in frontier(sweep, cost, service, among) if not choice.dominated]
    at = knee_of([signs[0] * one.cost for one in kept], [signs[1] * one.service for one in kept])
    return None if at is None else kept[at]


# ---- one at a time -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Swing:
    """What one thing does by itself: point and change against the baseline of its lowest and its highest value."""

    axis: int
    ends: tuple[tuple[int, Change], ...]

    @property
    def size(self) -> float:
        """The largest change, whichever way."""
        return max(abs(change.value) for _, change in self.ends)


def swings(sweep: Sweep, policy: str, metric: str) -> list[Swing]:
    """Return what each thing does by itself, the largest first; those without a number are left out."""
    found = []
    for number_of, _ in enumerate(sweep.axes):
        points = _ascending(sweep, number_of)
        changes = [(at, of) for at in points if (of := against_point(sweep, at, policy, metric)) is not None]
        if changes:
            ends = (changes[0],) if len(changes) == 1 else (changes[0], changes[-1])
            found.append(Swing(number_of, ends))
    return sorted(found, key=lambda swing: -swing.size)


def _ascending(sweep: Sweep, axis: int) -> list[int]:
    """Return the points at which one thing is changed, its lowest value first; names as they were given."""
    values = {at: value for at, point in enumerate(sweep.points) if (value := point[axis]) is not None}
    numbers = {at: value for at, value in values.items() if not isinstance(value, str)}
    return sorted(numbers, key=numbers.__getitem__) if len(numbers) == len(values) else list(values)


# ---- tables ------------------------------------------------------------------------------------------


def rows_of(sweep: Sweep) -> list[dict[str, Any]]:
    """Return all cells as rows: a column for each axis, policy, seed, a column for each metric, audit, error."""
    return [
        {
            **{axis.key: shown(value) for axis, value in zip(sweep.axes, sweep.points[cell.point], strict=True)},
            "policy": cell.policy,
            "seed": cell.seed,
            **{key: cell.values.get(key) for key in sweep.metrics},
            "audit": "; ".join(cell.audit) if cell.audit else "" if cell.error or cell.missing else "ok",
            "error": "not run yet" if cell.missing else cell.error,
        }
        for cell in sweep.cells
    ]


def mean_rows(sweep: Sweep) -> list[dict[str, Any]]:
    """Return the means of all points and policies as rows, each with its half width of 95%, for the lab."""
    rows = []
    for point, values in enumerate(sweep.points):
        for policy in sweep.policies:
            row: dict[str, Any] = {axis.key: shown(value) for axis, value in zip(sweep.axes, values, strict=True)}
            row |= {"policy": policy, "futures": len(sweep.futures.seeds)}
            for key in sweep.metrics:
                of = mean_at(sweep, point, policy, key)
                row |= {key: None if of is None else of.mean, f"{key} ±": None if of is None else of.half_width}
            row["audit"] = "; ".join(text for cell in sweep.at(point, policy) for text in cell.audit) or "ok"
            rows.append(row)
    return rows


def oversize_points(sweep: Sweep) -> list[int]:
    """Return the points at which jobs were dropped or cut in width because they can never fit."""
    return sorted({cell.point for cell in sweep.cells if cell.values.get("oversize")})


def failed(sweep: Sweep) -> list[Cell]:
    """Return the cells whose run ended with an error."""
    return [cell for cell in sweep.cells if cell.error]


def with_violations(sweep: Sweep) -> list[Cell]:
    """Return the cells of whose run the auditor complains."""
    return [cell for cell in sweep.cells if cell.audit]


def unequal_points(sweep: Sweep) -> Iterator[int]:
    """Yield the points at which policies completed different numbers of jobs: their numbers are of unlike jobs.

    Runs that failed or are missing do not count.
    """
    for point in range(len(sweep.points)):
        draws = zip(*(sweep.at(point, policy) for policy in sweep.policies), strict=True)
        if any(len({cell.completed for cell in cells} - {None}) > 1 for cells in draws):
            yield point


def jobs_completed(sweep: Sweep, point: int, policy: str) -> float | None:
    """Return how many jobs a policy completes at a point, as recorded or on average; None if a run has no end."""
    counts = [cell.completed for cell in sweep.at(point, policy)]
    known = [one for one in counts if one is not None][: 1 if sweep.basis.is_recorded else None]
    return sum(known) / len(known) if known and None not in counts else None
