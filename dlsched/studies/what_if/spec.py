"""What a what-if asks, in JSON's own types; the scenario itself travels apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from pydantic import Field, model_validator

from dlsched.domain.errors import InputError
from dlsched.domain.model import FrozenModel, Key
from dlsched.domain.scenario import Scenario
from dlsched.metrics.stats.basis import Basis
from dlsched.studies.design import (
    EditedScenarios,
    Futures,
    ResolvedVariant,
    Variant,
    basis_of,
    factor_of,
    resolve_variant,
    usual_futures,
)
from dlsched.studies.design.factors import conditions_of, options_of
from dlsched.studies.design.variants import Value
from dlsched.studies.simulation import ResolvedPolicy, read_policy
from dlsched.studies.study import require_scenario
from dlsched.studies.what_if.answer import Moved


class WhatIfSpec(FrozenModel):
    """Doing nothing under a condition, against an option under the same condition, in the futures 0, 1, ….

    ``condition``: what happens whatever one chooses, as changes by key (demand, run times, prices, failures).
    ``baseline`` is today's cluster and policy, unchanged: for another baseline, edit the scenario. ``changed`` is what
    one chooses: nodes, policy, parameters.
    """

    scenario: str = Field(min_length=1, description="Hash of the scenario.")
    condition: dict[Key, Value] = Field(default_factory=dict, max_length=40)
    baseline: Variant
    changed: Variant
    futures: Futures = Field(default_factory=Futures)

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if self.baseline.changes:
            raise ValueError("the baseline is today's scenario, without changes")
        if self.futures.seeds != tuple(range(len(self.futures.seeds))):
            raise ValueError("futures are numbered 0, 1, 2 and so on")
        return self

    def under(self, option: Variant) -> Variant:
        """Return an option under the condition."""
        return option.model_copy(update={"changes": self.condition | option.changes})

    def with_changes(self, scenario: Scenario, changes: Mapping[str, Value]) -> WhatIfSpec:
        """Return the question with these changes in place of its own, each where it belongs."""
        option = Variant(**dict(self.changed) | {"changes": options_of(scenario, changes)})
        return WhatIfSpec(**dict(self) | {"condition": conditions_of(scenario, changes), "changed": option})

    @property
    def first_future(self) -> WhatIfSpec:
        """The same question about future 0 alone: the quick part of the answer."""
        return self.model_copy(update={"futures": self.futures.recorded})


def unchanged(
    scenario: Scenario, policy: str, params: Mapping[str, Any] | None = None, futures: Futures | None = None
) -> WhatIfSpec:
    """Return the question in which nothing is changed yet; ``futures``: None = the usual ones."""
    variant = Variant(policy=policy, params=dict(params or {}))
    futures = futures or usual_futures(scenario, policy)
    return WhatIfSpec(scenario=scenario.content_hash, baseline=variant, changed=variant, futures=futures)


@dataclass(frozen=True, eq=False)
class WhatIfPlan:
    """A question that can be answered: both sides with everything that decides their runs.

    ``edited``: the scenario with changes, shared by all sides and by all that is asked of the question. ``today``: what
    one has, without the condition.
    """

    spec: WhatIfSpec
    edited: EditedScenarios
    today: ResolvedVariant
    baseline: ResolvedVariant
    changed: ResolvedVariant

    @property
    def sides(self) -> tuple[ResolvedVariant, ...]:
        """Today, doing nothing, the option; those that are the same are one."""
        return tuple(dict.fromkeys((self.today, self.baseline, self.changed)))

    @property
    def made(self) -> Scenario:
        """The scenario with the changes, before anything is drawn."""
        return self.edited.at(self.changed.changes, 0)

    @property
    def basis(self) -> Basis:
        """What may be said of the numbers of both sides."""
        return basis_of(self.edited.scenario, self.sides, self.spec.futures)

    @property
    def conditions(self) -> tuple[Moved, ...]:
        """What happens."""
        return _moved_changes(self.edited.scenario, self.spec.condition)

    @property
    def moved(self) -> tuple[Moved, ...]:
        """What one chooses."""
        return _moved(self.spec, self.edited.scenario, self.baseline.policy, self.changed.policy)


def planned(spec: WhatIfSpec, scenario: Scenario, edited: EditedScenarios | None = None) -> WhatIfPlan:
    """Return what has to be run; InputError naming the change, the value and the way out where that cannot be.

    ``edited``: the scenario with changes, where several questions about it share them.
    """
    require_scenario("what if", spec.scenario, scenario)
    edited = edited or EditedScenarios(scenario)
    for key in conditions_of(scenario, spec.changed.changes):
        raise InputError(f"change {key}", "is a condition, not an option", "Make it part of the condition")
    for key in options_of(scenario, spec.condition):
        raise InputError(f"condition {key}", "is an option, not a condition", "Make it a change of the option")
    today = resolve_variant(edited, spec.baseline, spec.futures)
    baseline = resolve_variant(edited, spec.under(spec.baseline), spec.futures) if spec.condition else today
    if spec.changed == spec.baseline:
        return WhatIfPlan(spec, edited, today, baseline, baseline)
    return WhatIfPlan(spec, edited, today, baseline, resolve_variant(edited, spec.under(spec.changed), spec.futures))


def check(spec: WhatIfSpec, scenario: Scenario) -> None:
    """Refuse a question that cannot be computed, as :func:`planned`."""
    planned(spec, scenario)


def is_exact(spec: WhatIfSpec, scenario: Scenario) -> bool:
    """Whether nothing is random on either side, so that one future says all."""
    return planned(spec, scenario).basis.is_exact


def conditions(spec: WhatIfSpec, scenario: Scenario) -> tuple[Moved, ...]:
    """Return what happens, also of a question that cannot be answered; nothing is edited."""
    return _moved_changes(scenario, spec.condition)


def moved(spec: WhatIfSpec, scenario: Scenario) -> tuple[Moved, ...]:
    """Return what one chooses, also of a question that cannot be answered; nothing is edited."""
    before, after = (read_policy(side.policy, side.params) for side in (spec.baseline, spec.changed))
    return _moved(spec, scenario, before, after)


def _moved(spec: WhatIfSpec, scenario: Scenario, before: ResolvedPolicy, after: ResolvedPolicy) -> tuple[Moved, ...]:
    """Return what differs: changes, then the policy, then its parameters."""
    moved = [*_moved_changes(scenario, spec.changed.changes)]
    if before.spec is not after.spec:
        labels = before.spec.spoken, after.spec.spoken
        moved.append(Moved(key="policy", label="Policy", unit="", before=labels[0], after=labels[1]))
    return (*moved, *_moved_params(before, after))


def _moved_changes(scenario: Scenario, changes: Mapping[str, Value]) -> tuple[Moved, ...]:
    found = [(factor := factor_of(scenario, key), factor.read(value)) for key, value in changes.items()]
    return tuple(
        Moved(key=factor.key, label=factor.label, unit=factor.unit, before=factor.own(scenario), after=read)
        for factor, read in found
        if read != factor.own(scenario)
    )


def _moved_params(before: ResolvedPolicy, after: ResolvedPolicy) -> list[Moved]:
    """Return the parameters that differ; between two policies, those of the new one that are not its defaults."""
    base = before if before.spec is after.spec else None
    usual = after.spec.parse({}).model_dump(mode="json") if base is None else base.values
    fields = after.spec.params.model_fields
    return [
        Moved(
            key=f"param.{name}",
            label=f"{after.spec.spoken}, {fields[name].title or name.replace('_', ' ')}",
            unit="s" if fields[name].title and name.endswith("_s") else "",
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
