"""In which unit a spreadsheet or a chart holds a metric, and how it writes it there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dlsched.domain.units import HOUR_S
from dlsched.wording.formats import Kind

Bars = tuple[float, float]
"""How far a range reaches below and above a value; 0 where there is none."""
Dot = tuple[float, float, Bars, Bars]
"""x and y with the ranges around them."""


@dataclass(frozen=True, slots=True)
class Unit:
    """``name`` of the unit, the factor from the metric's own unit to it, and the number format of spreadsheets."""

    name: str
    factor: float
    number_format: str

    def of(self, value: float) -> float:
        """Return a value of the metric in this unit."""
        return value * self.factor


UNITS: dict[Kind, Unit] = {
    "duration": Unit("h", 1 / HOUR_S, "#,##0.00"),
    "hours": Unit("h", 1 / HOUR_S, "#,##0.0"),
    "usd": Unit("$", 1.0, "$#,##0.00"),
    "usd_per_month": Unit("$/month", 1.0, "$#,##0"),
    "usd_per_gpu_h": Unit("$/GPU-h", 1.0, "$#,##0.0000"),
    "usd_per_core_h": Unit("$/core-h", 1.0, "$#,##0.0000"),
    "usd_per_gib_h": Unit("$/GiB-h", 1.0, "$#,##0.0000"),
    "share": Unit("%", 100.0, "#,##0.00"),
    "factor": Unit("x", 1.0, "#,##0.00"),
    "count": Unit("", 1.0, "#,##0"),
    "number": Unit("", 1.0, "#,##0.00"),
    "kwh": Unit("kWh", 1.0, "#,##0.0"),
    "kg": Unit("kg", 1.0, "#,##0.0"),
}


def titled(label: str, kind: Kind) -> str:
    """Return a label with the unit its numbers are in: "p95 wait (h)"."""
    unit = UNITS[kind].name
    return f"{label} ({unit})" if unit else label


Scale = Literal["linear", "log", "cut"]
FLAT = 30.0
"""A bar this many times as long as another makes the other invisible."""


def scale_of(values: Sequence[float]) -> Scale:
    """Return on which scale bars can all be read: linear, logarithmic, or with the longest cut where one is 0."""
    ordered = sorted(abs(value) for value in values)
    if len(ordered) < 2 or ordered[-1] < FLAT * ordered[0] or not ordered[-2]:
        return "linear"
    if ordered[0] > 0 and min(values) > 0:
        return "log"
    return "cut" if ordered[-1] >= FLAT * ordered[-2] else "linear"


def cut_at(values: Sequence[float]) -> float:
    """Return where an axis ends whose longest bar is cut: at twice the second longest."""
    return 2 * sorted(abs(value) for value in values)[-2]


SCALE_NOTES: dict[Scale, str] = {"linear": "", "log": ", logarithmic scale", "cut": ", the longest bar is cut"}
