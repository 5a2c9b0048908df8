"""What is run: a choice, and the futures on which all choices are compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from dlsched.domain.model import FrozenModel, Key
from dlsched.studies.design.shaking import SHAKING

Value = float | Annotated[str, Field(max_length=1000)]
MOST_FUTURES = 1000


class Variant(FrozenModel):
    """The scenario with changes by key (see ``changes``), under a policy with those parameters that differ."""

    policy: Key
    changes: dict[Key, Value] = Field(default_factory=dict, max_length=40)
    params: dict[Key, Any] = Field(default_factory=dict, max_length=100)


class Futures(FrozenModel):
    """Seeds of the futures on which all choices are compared, and what differs between them.

    Future 0 is the jobs as they were recorded, or as the scenario's own seed draws them. ``vary`` holds changes that
    draw something of their own, by key (whole days of the trace, run times, failures): they make the other futures of a
    recorded trace, and future 0 stays as it was recorded. All choices in one future meet the same days, run times and
    failures. Where nothing but replays are shaken, all of them are alike in kind, future 0 too.
    """

    seeds: tuple[int, ...] = Field((0,), min_length=1, max_length=MOST_FUTURES + 1)
    vary: dict[Key, Value] = Field(default_factory=dict, max_length=10)

    @model_validator(mode="after")
    def _differ(self) -> Self:
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError("seeds must differ")
        return self

    @classmethod
    def first(cls, count: int, vary: Mapping[str, Value] | None = None) -> Self:
        """Return future 0 and this many others."""
        return cls(seeds=tuple(range(count + 1)), vary=dict(vary or {}))

    @property
    def count(self) -> int:
        """How many futures there are beside future 0."""
        return len(self.seeds) - 1

    @property
    def recorded(self) -> Futures:
        """Future 0 alone: the quick part of an answer."""
        return Futures(seeds=(0,), vary=self.vary)

    def changes_in(self, seed: int) -> dict[str, Value]:
        """Return what a future changes of the scenario by itself."""
        return dict(self.vary) if seed or self.are_replays else {}

    @property
    def are_replays(self) -> bool:
        """Whether they are replays of what was recorded that differ by a second, and nothing else."""
        return set(self.vary) == {SHAKING}
