"""What a search for a size asks, in JSON's own types; the scenario itself travels apart."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from dlsched.domain.model import FrozenModel, Key
from dlsched.studies.sizing.question import TargetsSpec

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


class SizeSpec(TargetsSpec):
    """The cheapest cluster on which a policy meets all targets.

    ``types`` empty: every VM type the scenario has, see ``sizes.default_types``. ``condition`` holds for today's size
    too. ``lack_percent``: of the jobs that today's cluster ends in the same future, so many may be left undone.
    """

    types: tuple[TypeRange, ...] = Field((), max_length=MOST_TYPES)
    lack_percent: float = Field(0.0, ge=0, le=50, description="Jobs that may be left undone, % of today's.")
    headroom: bool = Field(True, description="Also find how much more load the answer and today's cluster take.")
    most_runs: int = Field(2000, ge=100, le=20_000, description="Stop the search before more runs than this.")

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        keys = [one.key for one in self.types]
        twice = [key for key in keys if keys.count(key) > 1]
        if twice:
            raise ValueError(f"types must differ, {twice[0]!r:.80} is listed twice")
        if len(self.types) > 1 and any(one.key == "nodes" for one in self.types):
            raise ValueError("nodes is the whole cluster: vary it alone, or nodes.<VM type> of several types")
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
