"""What is asked about months ahead, in JSON's own types; the scenario itself travels apart."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field, model_validator

from dlsched.domain.model import FrozenModel, Key
from dlsched.studies.design.variants import Futures, Value
from dlsched.studies.growth.answer import GrowthStep
from dlsched.studies.sizing.rule import Claim
from dlsched.studies.sizing.targets import Target

MOST_RUNS = 5000
MOST_LOAD = 100.0
"""Demand can be no more times today's."""


class GrowthSpec(FrozenModel):
    """A policy on the scenario's cluster, month after month.

    ``percent``: growth of demand a month, compounded; ``begin``: the first month ("2026-11", empty = no dates);
    ``steps``: deliveries and retirements; ``lead_months``: from an order to nodes that run jobs. Targets, claim, level
    and condition as in :class:`studies.sizing.spec.SizeSpec`.
    """

    scenario: str = Field(min_length=1, description="Hash of the scenario.")
    policy: Key
    params: dict[Key, Any] = Field(default_factory=dict, max_length=100)
    targets: tuple[Target, ...] = Field(min_length=1, max_length=8)
    claim: Claim = Field("average", description="When the targets hold: on average, or in nearly every future.")
    level: float = Field(0.95, ge=0.5, le=0.999, description="Share of futures that must meet the targets.")
    condition: dict[Key, Value] = Field(default_factory=dict, max_length=20, description="What happens in every month.")
    percent: float = Field(3.0, ge=-50, le=100, description="Growth of demand a month, %.")
    months: int = Field(12, ge=1, le=60, description="How many months ahead.")
    begin: str = Field(
        "", pattern=r"^$|^[1-9]\d{3}-(0[1-9]|1[0-2])$", description="Today's month; without it months are numbered."
    )
    lead_months: int = Field(3, ge=0, le=60, description="Months from an order to nodes that run jobs.")
    steps: tuple[GrowthStep, ...] = Field((), max_length=100)
    futures: Futures = Field(default_factory=Futures)

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        metrics = [target.metric for target in self.targets]
        twice = [metric for metric in metrics if metrics.count(metric) > 1]
        if twice:
            raise ValueError(f"targets must be of different metrics, {twice[0]} is listed twice")
        late = [step for step in self.steps if step.month > self.months]
        if late:
            raise ValueError(f"a step is in month {late[0].month}, after the last of {self.months} months")
        if self.load_in(self.months) > MOST_LOAD:
            raise ValueError(f"demand would be {self.load_in(self.months):.0f} times today's, at most {MOST_LOAD:g}")
        if self.futures.seeds[0] != 0:
            raise ValueError(f"futures start with future 0, got {self.futures.seeds[0]}")
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
