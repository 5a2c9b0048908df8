"""From the data of an outcome to what can be drawn: panels of series of points, with intervals where there are some.

Data of outcomes are nested by policy, size and so on, in no fixed order: a part of the path names the panel, the first
number in it is the place on the axis, and what is left names the series.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from dlsched.policies.registry import POLICIES

Series = tuple[str, ...]
"""Names of a series, from the outermost: ("SMD", "knapsack")."""


@dataclass(frozen=True, slots=True)
class PanelKind:
    """How a panel is drawn: title, axis with its unit, what x counts, factor from the data's unit, log axis.

    ``half``: the panel that holds half widths where they are apart from the means; ``gap``: why one may be missing.
    """

    title: str
    y: str
    x: str = ""
    scale: float = 1.0
    log: bool = False
    half: str = ""
    gap: str = "no number"


@dataclass(frozen=True, slots=True)
class Point:
    """A number at a place; ``half_width`` of its 95% interval, None if there is none; ``n`` draws, 0 = not said."""

    x: float | str
    mean: float
    half_width: float | None = None
    n: int = 0


@dataclass(frozen=True, eq=False)
class Panel:
    """What is drawn together; ``gaps``: how many numbers are missing in the data."""

    key: str
    kind: PanelKind
    series: Mapping[Series, tuple[Point, ...]]
    gaps: int = 0

    @property
    def has_numbers(self) -> bool:
        """Whether places on the axis are numbers."""
        return all(isinstance(point.x, float) for points in self.series.values() for point in points)

    @property
    def choices(self) -> tuple[int, list[str]] | None:
        """Return which part of the names a reader chooses first where there are too many series to distinguish.

        The first part that does not name policies, as these are what is compared; None if nothing is left to choose.
        """
        depth = min(map(len, self.series), default=0)
        if len(self.series) <= MOST_SERIES or depth < 2:
            return None
        for place in range(depth):
            names = list(dict.fromkeys(name[place] for name in self.series))
            if len(names) > 1 and any(policy_of(name) is None for name in names):
                return place, names
        return None

    def only(self, place: int, chosen: str) -> Panel:
        """Return the series that have this name at a place of theirs, without it."""
        left = {
            (*name[:place], *name[place + 1 :]): points for name, points in self.series.items() if name[place] == chosen
        }
        return Panel(self.key, self.kind, left)


def policy_of(name: str) -> str | None:
    """Return the key of the policy that a name in the data stands for; None if it is no policy."""
    key = NAMES_OF_POLICIES.get(name, name)
    return key if key in {spec.key for spec in POLICIES} else None


MOST_SERIES = 6
"""More lines than these cannot be distinguished."""
NAMES_OF_POLICIES: Mapping[str, str] = {
    "hell": "hell-malleable",
    "knee": "knee-malleable",
    "srpt": "srpt-all-nodes",
    "moldable-hell": "hell-moldable",
    "moldable-knee": "knee-moldable",
    "optimal": "modelarts-optimal",
    "greedy": "modelarts-greedy",
    "SMD": "smd",
    "Optimus": "optimus",
    "ESW": "esw",
    "PD-ORS": "pd-ors",
    "OASiS": "oasis",
    "FIFO": "pd-ors-fifo",
    "DRF": "pd-ors-drf",
    "Dorm": "dorm",
}
"""What outcomes call policies, and their keys."""
_UTILITY = "Total utility (no unit)"
_NODES, _WORKERS = "Nodes of the pool", "Workers"
_SIZE = "over"
"""Stands for what the data say they go over: jobs, machines, units."""
KINDS: Mapping[str, PanelKind] = {
    "mean_total_cost_usd": PanelKind("Mean total cost", "Mean total cost ($, log scale)", "Nodes", log=True),
    "ratio_to_edf": PanelKind("Cost over EDF's", "Mean total cost over EDF's (log scale)", "Nodes", log=True),
    "saving": PanelKind("Saved by path relinking", "Saved of the other's cost (%)", scale=100.0),
    "mean_decision_cpu_s": PanelKind("Time of a decision", "CPU time of a decision (s, log scale)", "Nodes", log=True),
    "mean_response_h": PanelKind(
        "Mean response", "Mean turnaround time (h)", "Load", half="half_width_h", gap="queue grows, no mean"
    ),
    "mean_h_to_fraction": PanelKind(
        "Time to a share of the work", "Mean time since submission (h)", "Share of the work done"
    ),
    "minibatches_per_s": PanelKind("Throughput", "Throughput (mini-batches/s)", _WORKERS),
    "simulated_one_after_the_other": PanelKind("Simulated throughput", "Throughput (mini-batches/s)", _WORKERS),
    "mean_error_share": PanelKind("Mean error", "Mean error (%)", scale=100.0),
    "error_share": PanelKind("Mean error of the model", "Mean error (%)", scale=100.0),
    "hell_nodes": PanelKind("Width chosen by HELL", "Nodes"),
    "knee_nodes": PanelKind("Width chosen by KNEE", "Nodes"),
    "simulated": PanelKind("Speed, simulated", "Speed over that on one node", "Nodes of the job"),
    "planned": PanelKind("Speed, planned with", "Speed over that on one node", "Nodes of the job"),
    "share_done": PanelKind("Share of the work done", "Share done (%)", "Half hours", scale=100.0),
    "wait_saved": PanelKind("Queueing time saved", "Shorter than greedy's (%)", _NODES, scale=100.0),
    "additional_jobs_per_100": PanelKind("Additional jobs", "Additional jobs for 100 of greedy's", _NODES),
    "change_of_additional_jobs": PanelKind("Change of additional jobs", "Additional jobs, change to without", _NODES),
    "mean_wait_min": PanelKind("Queueing time", "Mean queueing time (min)", _NODES),
    "mean_total_min": PanelKind("Total time", "Mean total time (min)", _NODES),
    "seconds": PanelKind("Time of decisions", "CPU time of a decision (s, log scale)", log=True),
    "total_utility": PanelKind("Total utility", _UTILITY, _SIZE),
    "smd_with_knapsack_minus": PanelKind("Gain of SMD", "Utility of SMD with the knapsack, less the other's", _SIZE),
    "pd_ors_minus": PanelKind("Gain of PD-ORS", "Utility of PD-ORS less the other's", _SIZE),
    "pd_ors_over_oasis": PanelKind("PD-ORS over OASiS", "Utility of PD-ORS over OASiS'", _SIZE),
    "ratio": PanelKind("Ratio to the best", "Ratio of utilities", "Jobs"),
    "used_of_reserved": PanelKind("Used of what is reserved", "Used share of reservations (%)", "Jobs", scale=100.0),
    "median_training_slots": PanelKind("Median training time", "Median training time (slots)"),
    "completed_jobs": PanelKind("Completed jobs", "Completed jobs of a seed"),
    "part_of_the_best": PanelKind(
        "Part of the best", "Part of the best utility (%)", "Factor G before rounding", scale=100.0
    ),
    "crossing_by_workers": PanelKind(
        "From which delta on it says something", "Least delta", "Workers asked for in a slot"
    ),
    "right_side": PanelKind("Right side of the promise", "3 m / exp(G W / 2) (log scale)", "Delta", log=True),
}
"""Panels by the name they have in the data; the order is that in which they are offered. Other data are not drawn."""
WRAPPERS = ("cases", "mix", "networks", "by_delta", "decision_cpu", "throughput_by_servers")
"""Names that say nothing about a series."""
AXES = ("workers", "nodes")
"""Lists that say where the numbers of other lists stand."""
OVER = {"units": "Units of capacity", "jobs": "Jobs", "machines": "Machines"}
HALVES = {kind.half for kind in KINDS.values() if kind.half}


def panels_of(data: Mapping[str, Any]) -> list[Panel]:
    """Return what of the data of an outcome can be drawn, in the order of ``KINDS``."""
    axes = [[float(one) for one in data[name]] for name in AXES if _rises(data.get(name))]
    points_of: dict[str, dict[Series, list[Point]]] = {}
    gaps: Counter[str] = Counter()
    for path, leaf in _leaves(data, ()):
        panel = next((name for name in path if name in KINDS or name in HALVES), "")
        rest = [name for name in path if name != panel and name not in WRAPPERS]
        if panel and isinstance(leaf, list | Mapping) and (points := _points_of_lists(leaf, axes)):
            points_of.setdefault(panel, {}).setdefault(tuple(rest), []).extend(points)
        elif panel and leaf is None:
            gaps[panel] += 1
        elif panel and (point := _number(leaf)) is not None:
            place, series = _place(rest)
            points_of.setdefault(panel, {}).setdefault(series, []).append(Point(place, *point))
    over = OVER.get(str(data.get("over")), "Size")
    return [
        Panel(
            name,
            replace(kind, x=over) if kind.x == _SIZE else kind,
            _with_halves(points_of[name], points_of.get(kind.half, {})),
            gaps[name],
        )
        for name, kind in KINDS.items()
        if name in points_of and any(points_of[name].values())
    ]


def tables_of(data: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the parts of the data that are lists of rows, by their names; the parts of the claim stay out."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for path, leaf in _leaves(data, ()):
        if isinstance(leaf, list) and leaf and all(isinstance(row, Mapping) for row in leaf) and path[-1] != "checks":
            tables[", ".join(path).replace("_", " ")] = [dict(row) for row in leaf]
    return tables


def _leaves(value: Any, path: Series) -> Iterator[tuple[Series, Any]]:
    """Yield whatever is no further level, with the names that lead to it."""
    is_interval = isinstance(value, Mapping) and "mean" in value and value.keys() & {"half_width", "min", "n"}
    if isinstance(value, Mapping) and not is_interval:
        for name, part in value.items():
            yield from _leaves(part, (*path, str(name)))
    elif path:
        yield path, value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(leaf: Any) -> tuple[float, float | None, int] | None:
    """Return mean, half width and draws of a leaf; None if it holds no number."""
    if _is_number(leaf):
        return float(leaf), None, 0
    if not isinstance(leaf, Mapping) or not _is_number(leaf.get("mean")):
        return None
    half: Any = leaf.get("half_width")
    return float(leaf["mean"]), float(half) if _is_number(half) else None, int(leaf.get("n") or 0)


def _points_of_lists(leaf: Any, axes: Sequence[list[float]]) -> list[Point]:
    """Return the points of a list of numbers, or of lists of means and half widths; none if it is no such thing."""
    means, halves = (leaf.get("mean"), leaf.get("half_width")) if isinstance(leaf, Mapping) else (leaf, None)
    if not isinstance(means, list) or len(means) < 2 or not all(map(_is_number, means)):
        return []
    places = next((axis for axis in axes if len(axis) == len(means)), [1.0 + place for place in range(len(means))])
    widths = halves if isinstance(halves, list) else [None] * len(means)
    return [Point(x, float(mean), half) for x, mean, half in zip(places, means, widths, strict=True)]


def _rises(values: Any) -> bool:
    return (
        isinstance(values, list)
        and all(map(_is_number, values))
        and all(one < other for one, other in pairwise(values))
    )


def _place(names: Sequence[str]) -> tuple[float | str, Series]:
    """Return where a number stands, and the names that are left: the first number among them, else the last name."""
    for place, name in enumerate(names):
        try:
            return float(name), (*names[:place], *names[place + 1 :])
        except ValueError:
            continue
    return (names[-1], tuple(names[:-1])) if names else ("", ())


def _with_halves(
    series: Mapping[Series, list[Point]], halves: Mapping[Series, list[Point]]
) -> dict[Series, tuple[Point, ...]]:
    """Return series with half widths that stand apart in the data, ordered along the axis where that is one."""
    whole_series = {}
    for name, points in series.items():
        width = {point.x: point.mean for point in halves.get(name, ())}
        whole = [Point(one.x, one.mean, width.get(one.x, one.half_width), one.n) for one in points]
        numbers = all(isinstance(one.x, float) for one in whole)
        whole_series[name] = tuple(sorted(whole, key=lambda one: float(one.x)) if numbers else whole)
    return whole_series
