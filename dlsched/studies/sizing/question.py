"""What studies of targets share: what is asked of a policy on a scenario, and the head of their answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field, model_validator

from dlsched.domain.model import Answer, FrozenModel, Key
from dlsched.studies.design.variants import Futures, Value
from dlsched.studies.sizing.rule import Claim, Rule, check_targets_differ
from dlsched.studies.sizing.targets import Target


class TargetsSpec(FrozenModel):
    """A policy on a scenario, the targets it must meet and in which futures.

    ``condition``: what happens in every run that is compared, by key of a change, as demand=1.3.
    """

    scenario: str = Field(min_length=1, description="Hash of the scenario.")
    targets: tuple[Target, ...] = Field(min_length=1, max_length=8)
    policy: Key = "fifo"
    params: dict[Key, Any] = Field(default_factory=dict, max_length=100)
    claim: Claim = Field("average", description="When the targets hold: on average, or in nearly every future.")
    level: float = Field(0.95, ge=0.5, le=0.999, description="Share of futures that must meet the targets.")
    condition: dict[Key, Value] = Field(default_factory=dict, max_length=20, description="What happens in every run.")
    futures: Futures = Field(default_factory=Futures)

    @model_validator(mode="after")
    def _asks_once(self) -> Self:
        check_targets_differ(self.targets)
        if self.futures.seeds[0] != 0:
            raise ValueError(f"futures start with future 0, got {self.futures.seeds[0]}")
        return self


class TargetsAnswer(Answer):
    """What was asked: the policy with its ``label``, the same ``futures`` for all that is compared, and the rule."""

    scenario: str
    scenario_name: str
    policy: str
    label: str
    params: Mapping[str, Any]
    futures: Futures
    condition: Mapping[str, Value] = Field(default_factory=dict)
    rule: Rule
