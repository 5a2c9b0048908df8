"""What is run: a choice, and the draws on which all choices are compared."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from dlsched.domain.model import FrozenModel, Key

Value = float | Annotated[str, Field(max_length=1000)]
MOST_DRAWS = 1000


class Variant(FrozenModel):
    """The scenario with changes by key (see ``changes``), under a policy with those parameters that differ."""

    policy: Key
    changes: dict[Key, Value] = Field(default_factory=dict, max_length=40)
    params: dict[Key, Any] = Field(default_factory=dict, max_length=100)


class Replications(FrozenModel):
    """Seeds, and what differs from seed to seed beside what the scenario itself draws.

    ``vary`` holds changes that draw something of their own, by key: whole days of the trace, run times, failures. All
    choices at one seed meet the same days, run times and failures.
    """

    seeds: tuple[int, ...] = Field((0,), min_length=1, max_length=MOST_DRAWS)
    vary: dict[Key, Value] = Field(default_factory=dict, max_length=10)

    @model_validator(mode="after")
    def _differ(self) -> Self:
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError("seeds must differ")
        return self
