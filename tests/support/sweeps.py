"""Sweeps written by hand, for tests of what is said and shown of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dlsched.studies.design import Futures
from dlsched.studies.sweep.answer import Axis, Cell, Point, Sweep

Draws = Sequence[float | None]
NODES = Axis(key="nodes", label="Nodes", unit="nodes", values=(4.0, 8.0), present=8.0)
ARRIVALS = Axis(key="arrivals", label="Arrivals", unit="x", values=(0.8, 1.2), present=1.0)
FAILS = Axis(key="failure_at", label="Failures at given times", unit="", values=("0@5for2+1@5for2",))
MISHAPS = Axis(key="mishaps", label="Mishaps", unit="", values=("own", "mishaps"), present="own")
LABELS = {"fifo": "FIFO", "sjf": "SJF", "modelarts-greedy": "ModelArts, greedy"}


def made(
    values: Mapping[str, Mapping[str, Sequence[Draws]]], axes: Sequence[Axis] = (NODES,), mode: str = "grid",
    vary: Mapping[str, float | str] | None = None, **more: Any,
) -> Sweep:  # fmt: skip
    """Return the sweep with these numbers: metric -> policy -> a list of draws for each point; None = missing cell."""
    first = next(iter(values.values()))
    policies, draws = tuple(first), len(next(iter(first.values()))[0])
    points = points_of(axes, mode)
    cells = [
        Cell(
            point=point, policy=policy, seed=seed, completed=10,
            values={metric: values[metric][policy][point][seed] for metric in values},
            missing=all(values[metric][policy][point][seed] is None for metric in values),
        )
        for point in range(len(points))
        for policy in policies
        for seed in range(draws)
    ]  # fmt: skip
    return Sweep(
        scenario="0", scenario_name="by hand", mode=mode, axes=tuple(axes), points=points, policies=policies,
        labels={key: LABELS.get(key, key.upper()) for key in policies}, reference=policies[0],
        futures=Futures(seeds=tuple(range(draws)), vary=vary or {}), metrics=tuple(values), cells=tuple(cells), **more,
    )  # fmt: skip


def points_of(axes: Sequence[Axis], mode: str) -> tuple[Point, ...]:
    """Return the points of axes: all pairs of a grid, else the scenario as it is and each value by itself."""
    if mode == "grid":
        first, *rest = (axis.values for axis in axes)
        return tuple((one, *other) for one in first for other in (((value,) for value in rest[0]) if rest else ((),)))
    unchanged: list[Any] = [None] * len(axes)
    alone = [
        tuple(value if at == place else None for at in range(len(axes)))
        for place, axis in enumerate(axes)
        for value in axis.values
    ]
    return (tuple(unchanged), *alone)


MIN = 60.0


def two_policies() -> Sweep:
    """FIFO and SJF on 4 and 8 nodes, two draws: minutes in system, cost per month; FIFO is dearer where it waits."""
    return made(
        {
            "jct_mean": {
                "fifo": [[100 * MIN, 120 * MIN], [50 * MIN, 54 * MIN]],
                "sjf": [[80 * MIN, 90 * MIN], [50 * MIN, 58 * MIN]],
            },
            "cost_month": {"fifo": [[1000, 1000], [2000, 2000]], "sjf": [[1000, 1000], [2000, 2000]]},
        }
    )
