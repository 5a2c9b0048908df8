"""What is asked about months ahead, in JSON's own types; the scenario itself travels apart."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from dlsched.studies.growth.answer import GrowthStep
from dlsched.studies.sizing.question import TargetsSpec

MOST_RUNS = 5000
MOST_LOAD = 100.0
"""Demand can be no more times today's."""


class GrowthSpec(TargetsSpec):
    """A policy on the scenario's cluster, month after month.

    ``percent``: growth of demand a month, compounded; ``begin``: the first month ("2026-11", empty = no dates);
    ``steps``: deliveries and retirements; ``lead_months``: from an order to nodes that run jobs.
    """

    percent: float = Field(3.0, ge=-50, le=100, description="Growth of demand a month, %.")
    months: int = Field(12, ge=1, le=60, description="How many months ahead.")
    begin: str = Field(
        "", pattern=r"^$|^[1-9]\d{3}-(0[1-9]|1[0-2])$", description="Today's month; without it months are numbered."
    )
    lead_months: int = Field(3, ge=0, le=60, description="Months from an order to nodes that run jobs.")
    steps: tuple[GrowthStep, ...] = Field((), max_length=100)

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        late = [step for step in self.steps if step.month > self.months]
        if late:
            raise ValueError(f"a step is in month {late[0].month}, after the last of {self.months} months")
        if self.load_in(self.months) > MOST_LOAD:
            raise ValueError(f"demand would be {self.load_in(self.months):.0f} times today's, at most {MOST_LOAD:g}")
        if self.runs > MOST_RUNS:
            raise ValueError(f"months x futures must be at most {MOST_RUNS:,}, got {self.runs:,}")
        return self

    @property
    def runs(self) -> int:
        """How many runs at most, today's month among them."""
        return (self.months + 1) * len(self.futures.seeds)

    def load_in(self, month: int) -> float:
        """Return by what the number of jobs is multiplied in a month."""
        return float((1 + self.percent / 100) ** month)
