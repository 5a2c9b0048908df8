"""In which unit a spreadsheet or a chart holds a metric, and how it writes it there."""

from __future__ import annotations

from dataclasses import dataclass

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
    "share": Unit("%", 100.0, "#,##0.00"),
    "factor": Unit("x", 1.0, "#,##0.00"),
    "count": Unit("", 1.0, "#,##0"),
    "number": Unit("", 1.0, "#,##0.00"),
}


def titled(label: str, kind: Kind) -> str:
    """Return a label with the unit its numbers are in: "Wait, p95 (h)"."""
    unit = UNITS[kind].name
    return f"{label} ({unit})" if unit else label
