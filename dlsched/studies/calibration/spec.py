"""What a calibration asks, in JSON's own types; the scenario itself travels apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from dlsched.domain.model import FrozenModel
from dlsched.policies import registry

Key = Annotated[str, Field(min_length=1, max_length=80)]


class CalibrationSpec(FrozenModel):
    """Replay a scenario's jobs under each policy with one seed. ``params``: by policy; the rest is filled in."""

    scenario: str = Field(min_length=1, description="Hash of the scenario.")
    policies: tuple[Key, ...] = Field(min_length=1, max_length=12, description="Keys of policies.")
    params: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict, description="Parameters by policy.")
    seed: int = Field(0, ge=0, description="Seed of what is random in the scenario's options.")

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        """Check the policies, and fill in all parameters, so that the same question has the same key."""
        twice = [key for key in self.policies if self.policies.count(key) > 1]
        if twice:
            raise ValueError(f"policies must differ, {twice[0]!r:.80} is listed twice")
        stray = [key for key in self.params if key not in self.policies]
        if stray:
            raise ValueError(f"params are for a policy that is not asked for, got {stray[0]!r:.80}")
        complete = {
            key: registry.find(key).parse(dict(self.params.get(key, {}))).model_dump(mode="json")
            for key in self.policies
        }
        object.__setattr__(self, "params", complete)
        return self
