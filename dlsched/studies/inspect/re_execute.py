"""A stored run once more, up to the decisions that are asked for, with everything that its policy saw.

The state of a decision is not stored. The simulator is deterministic, so it comes again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, ClassVar, Generic, Self, TypeVar

from pydantic import Field, model_validator

from dlsched.domain.errors import InputError, validated
from dlsched.domain.model import FrozenModel
from dlsched.domain.policy import Policy, ReviewRule
from dlsched.domain.scenario import Scenario
from dlsched.sim.engine import run_engine
from dlsched.sim.prepare import Prepared, prepare
from dlsched.studies.simulation import Progress, resolve_policy

Decision = TypeVar("Decision")
Watched = TypeVar("Watched", bound=Policy)


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
    def _of_a_policy_of_ours(self) -> Self:
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
    """Decisions ``first`` to ``last`` of a run; ``noun`` is what one of them is called."""

    noun: ClassVar[str] = "decision"

    first: int = Field(ge=1)
    last: int = Field(ge=1)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.last < self.first:
            raise ValueError(f"last must be at least first = {self.first}, got {self.last}")
        return self


class EnoughDecisions(Exception):
    """The last decision that is wanted was taken; stops a run from inside its policy."""


class DecisionWatcher(Generic[Decision]):
    """A policy that plans as the one it watches and keeps its decisions; the base of such policies.

    A subclass has ``plan``, and calls :meth:`keep` for each decision, numbered from 1.
    """

    kernel_rule = None

    def __init__(self, spec: InspectedDecisions, review: ReviewRule, progress: Progress | None) -> None:
        self.spec, self.review, self._progress = spec, review, progress
        self.decisions: list[Decision] = []

    def keep(self, number: int, decision: Callable[[], Decision]) -> None:
        """Keep a decision if it is asked for; raise EnoughDecisions when it is the last of these."""
        last = self.spec.last
        if self._progress is not None:
            self._progress(min(1.0, number / last), f"{self.spec.noun} {number:,} of {last:,}")
        if self.spec.first <= number <= last:
            self.decisions.append(decision())
        if number >= last:
            raise EnoughDecisions


def re_execute(spec: InspectedRun, scenario: Scenario, watch: Callable[[FrozenModel, Prepared], Watched]) -> Watched:
    """Run a policy on its scenario again and return what watched it.

    Parameters
    ----------
    watch
        Returns a policy that plans as the one asked about, from its parameters and the jobs as they are run. It may
        raise EnoughDecisions to end the run.

    Raises
    ------
    InputError
        If this is another scenario than the question names, or the policy cannot run it.
    """
    spec.check_scenario(scenario)
    policy, values = resolve_policy(scenario, spec.policy, spec.params)
    prepared = prepare(scenario, spec.seed)
    watcher = watch(policy.parse(values), prepared)
    with suppress(EnoughDecisions):
        run_engine(prepared, watcher, spec.seed)
    return watcher
