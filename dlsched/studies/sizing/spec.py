"""What a search for a size asks, in JSON's own types; the scenario itself travels apart."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field, model_validator

from dlsched.domain.model import FrozenModel, Key
from dlsched.studies.design.variants import Futures, Value
from dlsched.studies.sizing.rule import Claim
from dlsched.studies.sizing.targets import Target

MOST_TYPES = 3
MOST_NODES = 10_000
MOST_OTHERS = 2_000
"""Combinations of counts of all varying types but one: each is looked at, if only to be skipped."""


class TypeRange(FrozenModel):
    """From how many to how many nodes: ``nodes`` of the one pool or rented machines, or ``nodes.<VM type>``."""

    key: Key
    least: int = Field(ge=0, le=MOST_NODES)
    most: int = Field(ge=1, le=MOST_NODES)

    @model_validator(mode="after")
    def _ascends(self) -> Self:
        if self.least > self.most:
            raise ValueError(f"the least number must not be above the most, got {self.least} to {self.most}")
        return self


class SizeSpec(FrozenModel):
    """The cheapest cluster on which a policy meets all targets.

    ``types`` empty: every VM type the scenario has, see ``sizes.default_types``. ``condition``: what happens to every
    size, today's included, by key of a change, as demand=1.3. ``lack_percent``: of the jobs that today's cluster ends
    in the same future, so many may be left undone.
    """

    scenario: str = Field(min_length=1, description="Hash of the scenario.")
    targets: tuple[Target, ...] = Field(min_length=1, max_length=8)
    policy: Key = "fifo"
    params: dict[Key, Any] = Field(default_factory=dict, max_length=100)
    claim: Claim = Field("average", description="When the targets hold: on average, or in nearly every future.")
    level: float = Field(0.95, ge=0.5, le=0.999, description="Share of futures that must meet the targets.")
    condition: dict[Key, Value] = Field(default_factory=dict, max_length=20, description="What happens to every size.")
    types: tuple[TypeRange, ...] = Field((), max_length=MOST_TYPES)
    futures: Futures = Field(default_factory=Futures)
    lack_percent: float = Field(0.0, ge=0, le=50, description="Jobs that may be left undone, % of today's.")
    headroom: bool = Field(True, description="Also find how much more load the answer and today's cluster take.")
    most_runs: int = Field(2000, ge=100, le=20_000, description="Stop the search before more runs than this.")

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        metrics = [target.metric for target in self.targets]
        for name, given in (("targets", metrics), ("types", [one.key for one in self.types])):
            twice = [value for value in given if given.count(value) > 1]
            if twice:
                raise ValueError(f"{name} must differ, {twice[0]!r:.80} is listed twice")
        if len(self.types) > 1 and any(one.key == "nodes" for one in self.types):
            raise ValueError("nodes is the whole cluster: vary it alone, or nodes.<VM type> of several types")
        if self.futures.seeds[0] != 0:
            raise ValueError(f"futures start with future 0, got {self.futures.seeds[0]}")
        others = combinations_of_others(self.types)
        if others > MOST_OTHERS:
            raise ValueError(f"ranges leave {others:,} combinations beside the widest, at most {MOST_OTHERS:,} can be")
        return self


def combinations_of_others(types: tuple[TypeRange, ...]) -> int:
    """Return the combinations of counts of all types but the one with the widest range."""
    sizes = sorted(one.most - one.least + 1 for one in types)
    product = 1
    for size in sizes[:-1]:
        product *= size
    return product
