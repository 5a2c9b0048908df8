"""Decisions of a stored run that are worked out again: which ones are asked for, in JSON's own types.

The state of a decision is not stored. The simulator is deterministic, so it comes again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from dlsched.domain.errors import InputError, validated
from dlsched.domain.model import FrozenModel
from dlsched.domain.scenario import Scenario


class InspectedRun(FrozenModel):
    """All decisions of the run of a scenario under a policy; the scenario itself travels apart.

    A subclass says for which ``policies``, and in messages what it is (``what``).
    """

    policies: ClassVar[tuple[str, ...]] = ()
    what: ClassVar[str] = "decisions"

    scenario: str = Field(description="Hash of the scenario", min_length=1)
    policy: str
    params: dict[str, Any]
    seed: int = 0

    @model_validator(mode="after")
    def _known(self) -> Self:
        if self.policy not in self.policies:
            raise ValueError(f"policy must be one of {', '.join(self.policies)}, got {self.policy}")
        return self

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> Self:
        """Return the question; InputError for a bad one."""
        return validated(cls, dict(plain), cls.what)

    def check_scenario(self, scenario: Scenario) -> None:
        """Raise InputError when this is another scenario than the question names."""
        if self.scenario != scenario.content_hash:
            got = scenario.content_hash[:8]
            raise InputError(self.what, f"asks about scenario {self.scenario[:8]}, got {got}", "Ask with that scenario")


class InspectedDecisions(InspectedRun):
    """Decisions ``first`` to ``last`` of a run."""

    first: int = Field(ge=1)
    last: int = Field(ge=1)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.last < self.first:
            raise ValueError(f"last must be at least first = {self.first}, got {self.last}")
        return self


class EnoughDecisions(Exception):
    """The last decision that is wanted was taken; stops a run from inside its policy."""
