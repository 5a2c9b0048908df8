"""How values and points of a sweep are written: "8 nodes", "arrivals +20%", "2 nodes fail", "as it is"."""

from __future__ import annotations

from dlsched.studies.sweep.answer import Axis, Sweep, Value
from dlsched.wording.formats import MINUS, amount, count, duration, money, number, share

AS_IT_IS = "as it is"
NODES_OF = "nodes."
SHARES = ("estimate_error", "bug_share", "cancel_share")
LARGE_FACTOR = 2.0
"""From here on a factor is written as one: "x 3", below as a change: "+20%"."""


def value_words(axis: Axis, value: Value) -> str:
    """Return a value as ticks and ends of bars show it: 8, +20%, 5 min, ± 50%."""
    if isinstance(value, str):
        return _of_names(axis, value)
    if axis.unit == "x":
        return factor_words(value)
    if axis.unit == "s":
        return duration(value)
    if axis.unit == "h":
        return duration(3600 * value)
    if axis.unit == "$":
        return money(value)
    if axis.unit == "nodes":
        return count(value)
    if axis.key == "run_time_spread":
        return f"± {share(value)}"
    return share(value) if axis.key in SHARES else number(value, exact=True)


def factor_words(factor: float) -> str:
    """Return a factor as the change it is: +20%, −20%, unchanged; from 2 on x 2."""
    if factor >= LARGE_FACTOR:
        return f"x {number(factor)}"
    percent = 100 * (factor - 1)
    if abs(percent) < 1e-9:
        return "unchanged"
    return f"{'+' if percent > 0 else MINUS}{number(abs(percent))}%"


def _of_names(axis: Axis, value: str) -> str:
    """Return failures as their number, else the names."""
    return f"{amount(value.count('+') + 1, 'node')} fail" if axis.key == "failure_at" else value.replace("+", ", ")


def situation_words(axis: Axis, value: Value) -> str:
    """Return a value with what it is of: 8 nodes, arrivals +20%, 2 nodes fail."""
    if axis.key == "nodes":
        return amount(int(float(value)), "node")
    if axis.key.startswith(NODES_OF):
        return f"{amount(int(float(value)), 'node')} of {axis.key.removeprefix(NODES_OF)}"
    if axis.key == "failure_at":
        return _of_names(axis, str(value))
    label = "Run times" if axis.key == "run_time_spread" else axis.label
    label = label[:1].lower() + label[1:] if label[1:2].islower() else label
    return label if axis.key == "days" else f"{label} {value_words(axis, value)}"


def point_words(sweep: Sweep, point: int) -> str:
    """Return a point: "8 nodes, arrivals +20%"; "as it is" for the scenario without a change."""
    parts = [
        situation_words(axis, value)
        for axis, value in zip(sweep.axes, sweep.points[point], strict=True)
        if value is not None
    ]
    return ", ".join(parts) or AS_IT_IS


def draw_words(sweep: Sweep) -> str:
    """Return what differs from draw to draw beside what the scenario draws: "days resampled, run times ± 30%"."""
    return ", ".join(_drawn(key, float(value)) for key, value in sweep.vary.items())


def _drawn(key: str, value: float) -> str:
    if key == "days":
        return "days resampled"
    if key == "run_time_spread":
        return f"run times ± {share(value)}"
    return f"nodes fail, each once in {duration(3600 * value)}" if key == "failures" else f"{key} {value:g}"


def axis_title(axis: Axis) -> str:
    """Return the title of an axis of a chart, with the unit of the values on it."""
    if axis.unit == "x":
        return f"{axis.label} (change, %)"
    if axis.key == "run_time_spread" or axis.key in SHARES:
        return f"{axis.label} (%)"
    if axis.unit in ("s", "h"):
        return f"{axis.label} (hours)"
    return f"{axis.label} ({axis.unit})" if axis.unit and axis.unit != "nodes" else axis.label


def position(axis: Axis, value: Value) -> float:
    """Return where a number stands on its axis, in the unit of :func:`axis_title`; TypeError for a name."""
    if isinstance(value, str):
        raise TypeError(f"{axis.key} has names, got {value!r}")
    if axis.unit == "x":
        return 100 * (value - 1)
    if axis.key == "run_time_spread" or axis.key in SHARES:
        return 100 * value
    return value / 3600 if axis.unit == "s" else value
