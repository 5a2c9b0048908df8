"""Which decisions of which run are asked for, in JSON's own types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import Field, ValidationError, model_validator

from dlsched.domain.cluster import Frozen
from dlsched.domain.errors import InputError, from_validation
from dlsched.domain.scenario import Scenario
from dlsched.experiments.look_ahead.replay import POLICIES, Known, window
from dlsched.metrics.look_ahead import LookAhead


class Asked(Frozen):
    """Decisions ``first`` to ``last`` of the run of a scenario under a policy; the scenario itself travels apart."""

    scenario: str = Field(description="Hash of the scenario", min_length=1)
    policy: str
    params: dict[str, Any]
    seed: int = 0
    first: int = Field(ge=1)
    last: int = Field(ge=1)

    @model_validator(mode="after")
    def _known(self) -> Asked:
        if self.policy not in POLICIES:
            raise ValueError(f"policy must be one of {', '.join(POLICIES)}, got {self.policy}")
        if self.last < self.first:
            raise ValueError(f"last must be at least first = {self.first}, got {self.last}")
        return self


def read_asked(plain: Mapping[str, Any]) -> Asked:
    """Return the question; InputError for a bad one."""
    try:
        return Asked.model_validate(dict(plain))
    except ValidationError as error:
        raise from_validation("look-ahead", error) from error


@dataclass(frozen=True, eq=False)
class Subject:
    """What a question is about: the scenario, and what is stored of the run."""

    scenario: Scenario
    known: Known | None = None


def answered(asked: Asked, subject: Subject, progress: Callable[[float, str], None] | None = None) -> list[LookAhead]:
    """Return the decisions asked for; InputError when the subject is another scenario than the question names."""
    if asked.scenario != subject.scenario.content_hash:
        got = subject.scenario.content_hash[:8]
        raise InputError("look-ahead", f"asks about scenario {asked.scenario[:8]}, got {got}", "Ask with that scenario")
    return window(
        subject.scenario, asked.policy, asked.params, asked.seed, asked.first, asked.last, subject.known, progress
    )
