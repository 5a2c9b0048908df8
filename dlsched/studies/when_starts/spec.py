"""What is asked of a queue, in JSON's own types; the scenario with its jobs travels apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field, model_validator

from dlsched.domain.model import FrozenModel, Key
from dlsched.domain.scenario import Scenario
from dlsched.policies import registry

USUAL_POLICY = "easy-backfill"


def usual_policy(scenario: Scenario) -> str:
    """Return the policy that decides where none is named: that of the quotas or Slurm settings given, else EASY."""
    given = {"queue-tree": scenario.queues, "slurm": scenario.slurm}
    can_run = (
        key for key, settings in given.items() if settings and not registry.unmet_needs(registry.find(key), scenario)
    )
    return next(can_run, USUAL_POLICY)


class _QueueSpec(FrozenModel):
    """What both questions have: the log, the policy, and what is drawn."""

    scenario: str = Field(
        min_length=1, description="Hash of the scenario: jobs that ran, run and wait, and the cluster."
    )
    policy: Key = Field(USUAL_POLICY, description="Policy that decides from now on.")
    params: Mapping[str, Any] = Field(default_factory=dict, description="Parameters of the policy.")
    seed: int = Field(0, ge=0, lt=2**31, description="Seed of the run times that are drawn.")
    later: bool = Field(
        False, description="Let jobs arrive later too, as they did in the log. Without them, later jobs that the "
        "policy puts ahead can push a start back.",
    )  # fmt: skip

    @model_validator(mode="after")
    def _complete(self) -> Self:
        """Fill in all parameters, so that the same question has the same key."""
        complete = registry.find(self.policy).parse(dict(self.params)).model_dump(mode="json")
        object.__setattr__(self, "params", complete)
        return self


class WhenSpec(_QueueSpec):
    """When the jobs that wait at an instant start; ``job``: and what if that one asked for less."""

    at_s: float = Field(ge=0, le=1e15, description="The instant, in seconds from the start of the log.")
    futures: int = Field(200, ge=10, le=2000, description="Futures: run times drawn anew in each.")
    job: str = Field("", max_length=1000, description="Waiting job that may ask for less; empty = none.")


class ScoreSpec(_QueueSpec):
    """How often jobs started within the interval that would have been told at instants of the second half of a log."""

    instants: int = Field(25, ge=2, le=200, description="Instants of the second half of the log.")
    futures: int = Field(60, ge=10, le=1000, description="Futures at each instant.")
