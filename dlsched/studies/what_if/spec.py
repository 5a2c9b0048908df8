"""What a what-if asks, in JSON's own types; the scenario itself travels apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from pydantic import Field, model_validator

from dlsched.domain.model import FrozenModel
from dlsched.domain.scenario import Scenario
from dlsched.domain.units import DAY_S
from dlsched.policies.registry import find
from dlsched.studies.design import EditedScenarios, Replications, ResolvedVariant, Variant, factor_of, resolve_variant
from dlsched.studies.simulation import ResolvedPolicy, read_policy
from dlsched.studies.study import require_scenario
from dlsched.studies.what_if.answer import Moved
from dlsched.wording.assumptions import is_random

DRAWS = 10
LEAST_DAYS = 3
"""Days of a trace from which whole days can be drawn anew: of fewer, draws are hardly different."""


class WhatIfSpec(FrozenModel):
    """The scenario as it is under a policy, against the scenario with changes, on the draws 0, 1, ….

    ``baseline`` has no changes of its own: who wants another baseline edits the scenario.
    """

    scenario: str = Field(min_length=1, description="Hash of the scenario.")
    baseline: Variant
    changed: Variant
    draws: Replications = Field(default_factory=Replications)

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if self.baseline.changes:
            raise ValueError("the baseline is the scenario as it is, without changes")
        if self.draws.seeds != tuple(range(len(self.draws.seeds))):
            raise ValueError("draws are numbered 0, 1, 2 and so on")
        return self

    @property
    def first_draw(self) -> WhatIfSpec:
        """The same question about the first draw alone: a rough answer, and a quick one."""
        return self.model_copy(update={"draws": Replications(seeds=(0,), vary=self.draws.vary)})


def unchanged(scenario: Scenario, policy: str, params: Mapping[str, Any] | None = None) -> WhatIfSpec:
    """Return the question in which nothing is changed yet, on the usual draws."""
    variant = Variant(policy=policy, params=dict(params or {}))
    return WhatIfSpec(
        scenario=scenario.content_hash, baseline=variant, changed=variant, draws=default_draws(scenario, policy)
    )


def default_draws(scenario: Scenario, policy: str) -> Replications:
    """Return what is drawn at first: what is random in the scenario, else its days, else nothing.

    A trace is one draw of the jobs there could have been. Whole days drawn with replacement stand for others (a block
    bootstrap with blocks of a day); a trace of fewer than LEAST_DAYS days is left as it is.
    """
    if is_random(scenario) or find(policy).draws:
        return Replications(seeds=tuple(range(DRAWS)))
    if num_days(scenario) >= LEAST_DAYS:
        return Replications(seeds=tuple(range(DRAWS)), vary={"days": 1})
    return Replications()


def num_days(scenario: Scenario) -> int:
    """Return over how many days, counted from the trace's zero, jobs are submitted."""
    submit_s = scenario.workload.submit_s
    return int(submit_s[-1] // DAY_S - submit_s[0] // DAY_S) + 1 if len(submit_s) else 0


@dataclass(frozen=True, eq=False)
class WhatIfPlan:
    """A question that can be answered: both sides with everything that decides their runs.

    ``edited``: the scenario with changes, shared by both sides and by all that is asked of the question.
    """

    spec: WhatIfSpec
    edited: EditedScenarios
    baseline: ResolvedVariant
    changed: ResolvedVariant

    @property
    def made(self) -> Scenario:
        """The scenario with the changes, before anything is drawn."""
        drawn = self.spec.draws.vary
        return self.edited.at({key: value for key, value in self.changed.changes.items() if key not in drawn}, 0)

    @property
    def exact(self) -> bool:
        """Whether nothing is random on either side, so that one draw says all."""
        return not (self.baseline.differs or self.changed.differs)

    @property
    def moved(self) -> tuple[Moved, ...]:
        """What differs between the two sides."""
        return _moved(self.spec, self.edited.scenario, self.baseline.policy, self.changed.policy)


def planned(spec: WhatIfSpec, scenario: Scenario, edited: EditedScenarios | None = None) -> WhatIfPlan:
    """Return what has to be run; InputError naming the change, the value and the way out where that cannot be.

    ``edited``: the scenario with changes, where several questions about it share them.
    """
    require_scenario("what if", spec.scenario, scenario)
    edited = edited or EditedScenarios(scenario)
    baseline = resolve_variant(edited, spec.baseline, spec.draws)
    same = spec.changed == spec.baseline
    return WhatIfPlan(spec, edited, baseline, baseline if same else resolve_variant(edited, spec.changed, spec.draws))


def check(spec: WhatIfSpec, scenario: Scenario) -> None:
    """Refuse a question that cannot be computed, as :func:`planned`."""
    planned(spec, scenario)


def is_exact(spec: WhatIfSpec, scenario: Scenario) -> bool:
    """Whether nothing is random on either side; see :class:`WhatIfPlan`."""
    return planned(spec, scenario).exact


def moved(spec: WhatIfSpec, scenario: Scenario) -> tuple[Moved, ...]:
    """Return what differs between the two sides, also of a question that cannot be answered; nothing is edited."""
    before, after = (read_policy(side.policy, side.params) for side in (spec.baseline, spec.changed))
    return _moved(spec, scenario, before, after)


def _moved(spec: WhatIfSpec, scenario: Scenario, before: ResolvedPolicy, after: ResolvedPolicy) -> tuple[Moved, ...]:
    """Return what differs: changes, then the policy, then its parameters."""
    moved = []
    for key, value in spec.changed.changes.items():
        factor = factor_of(scenario, key)
        if (read := factor.read(value)) != factor.own(scenario):
            moved.append(Moved(key=key, label=factor.label, unit=factor.unit, before=factor.own(scenario), after=read))
    if before.spec is not after.spec:
        labels = before.spec.spoken, after.spec.spoken
        moved.append(Moved(key="policy", label="Policy", unit="", before=labels[0], after=labels[1]))
    return (*moved, *_moved_params(before, after))


def _moved_params(before: ResolvedPolicy, after: ResolvedPolicy) -> list[Moved]:
    """Return the parameters that differ; between two policies, those of the new one that are not its defaults."""
    base = before if before.spec is after.spec else None
    usual = after.spec.parse({}).model_dump(mode="json") if base is None else base.values
    return [
        Moved(
            key=f"param.{name}",
            label=f"{after.spec.spoken}, {name.replace('_', ' ')}",
            unit="",
            before=_one_value(usual[name]),
            after=_one_value(value),
        )
        for name, value in after.values.items()
        if _one_value(value) != _one_value(usual[name])
    ]


def _one_value(value: Any) -> float | str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return float(value)
    return ", ".join(f"{part:g}" if isinstance(part, int | float) else str(part) for part in value)
