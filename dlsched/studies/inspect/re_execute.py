"""A stored run once more, up to the decisions that are asked for, with everything that its policy saw.

The state of a decision is not stored. The simulator is deterministic, so it comes again.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import Any, ClassVar, Generic, Self, TypeVar

from pydantic import Field, model_validator

from dlsched.domain.model import Answer, FrozenModel
from dlsched.domain.policy import Policy, ReviewRule
from dlsched.domain.scenario import Scenario
from dlsched.sim.engine import run_engine
from dlsched.sim.prepare import Prepared, prepare
from dlsched.studies.simulation import Progress, resolve_policy
from dlsched.studies.study import require_scenario
from dlsched.wording.formats import amount


class InspectedDecision(FrozenModel):
    """A decision of a run; ``number`` in the run, from 1, and ``time_s`` when."""

    number: int
    time_s: float


Kept = TypeVar("Kept", bound=InspectedDecision)
Watched = TypeVar("Watched", bound=Policy)


class InspectedRun(FrozenModel):
    """All decisions of the run of a scenario under a policy; the scenario itself travels apart.

    A subclass says for which ``policies``.
    """

    policies: ClassVar[tuple[str, ...]] = ()

    scenario: str = Field(description="Hash of the scenario", min_length=1)
    policy: str
    params: dict[str, Any]
    seed: int = 0

    @model_validator(mode="after")
    def _of_a_policy_of_ours(self) -> Self:
        if self.policy not in self.policies:
            raise ValueError(f"policy must be one of {', '.join(self.policies)}, got {self.policy}")
        return self


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


class Decisions(Answer, Generic[Kept]):
    """The answer to :class:`InspectedDecisions`: those the run has, in their order."""

    decisions: tuple[Kept, ...]

    @cached_property
    def by_number(self) -> dict[int, Kept]:
        """The decisions by their number in the run, from 1."""
        return {one.number: one for one in self.decisions}

    @property
    def words(self) -> str:
        """How many there are."""
        return f"{amount(len(self.decisions), 'decision')}."


def check_scenario(spec: InspectedRun, scenario: Scenario) -> None:
    """Raise InputError when this is another scenario than the question names."""
    require_scenario(f"run of {spec.policy}", spec.scenario, scenario)


class EnoughDecisions(Exception):
    """The last decision that is wanted was taken; stops a run from inside its policy."""


class DecisionWatcher(Generic[Kept]):
    """A policy that plans as the one it watches and keeps its decisions; the base of such policies.

    A subclass has ``plan``, and calls :meth:`keep` for each decision, numbered from 1.
    """

    kernel_rule = None

    def __init__(self, spec: InspectedDecisions, review: ReviewRule, progress: Progress | None) -> None:
        self.spec, self.review, self._progress = spec, review, progress
        self.decisions: list[Kept] = []

    def keep(self, number: int, decision: Callable[[], Kept]) -> None:
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
    check_scenario(spec, scenario)
    policy = resolve_policy(scenario, spec.policy, spec.params)
    prepared = prepare(scenario, spec.seed)
    watcher = watch(policy.params, prepared)
    with suppress(EnoughDecisions):
        run_engine(prepared, watcher, spec.seed)
    return watcher
