"""What a what-if asks, in JSON's own types; the scenario itself travels apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from pydantic import Field, model_validator

from dlsched.domain.model import FrozenModel
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
from dlsched.studies.simulation import ResolvedPolicy, read_policy
from dlsched.studies.study import require_scenario
from dlsched.studies.what_if.answer import Moved


class WhatIfSpec(FrozenModel):
    """The scenario as it is under a policy, against the scenario with changes, in the futures 0, 1, ….

    ``baseline`` has no changes of its own: who wants another baseline edits the scenario.
    """

    scenario: str = Field(min_length=1, description="Hash of the scenario.")
    baseline: Variant
    changed: Variant
    futures: Futures = Field(default_factory=Futures)

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if self.baseline.changes:
            raise ValueError("the baseline is the scenario as it is, without changes")
        if self.futures.seeds != tuple(range(len(self.futures.seeds))):
            raise ValueError("futures are numbered 0, 1, 2 and so on")
        return self

    @property
    def first_future(self) -> WhatIfSpec:
        """The same question about future 0 alone: the quick part of the answer."""
        return self.model_copy(update={"futures": self.futures.recorded})


def unchanged(
    scenario: Scenario, policy: str, params: Mapping[str, Any] | None = None, futures: Futures | None = None
) -> WhatIfSpec:
    """Return the question in which nothing is changed yet; ``futures``: None = the usual ones."""
    variant = Variant(policy=policy, params=dict(params or {}))
    futures = futures or usual_futures(scenario)
    return WhatIfSpec(scenario=scenario.content_hash, baseline=variant, changed=variant, futures=futures)


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
        return self.edited.at(self.changed.changes, 0)

    @property
    def basis(self) -> Basis:
        """What may be said of the numbers of both sides."""
        return basis_of(self.edited.scenario, (self.baseline, self.changed), self.spec.futures)

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
    baseline = resolve_variant(edited, spec.baseline, spec.futures)
    same = spec.changed == spec.baseline
    return WhatIfPlan(spec, edited, baseline, baseline if same else resolve_variant(edited, spec.changed, spec.futures))


def check(spec: WhatIfSpec, scenario: Scenario) -> None:
    """Refuse a question that cannot be computed, as :func:`planned`."""
    planned(spec, scenario)


def is_exact(spec: WhatIfSpec, scenario: Scenario) -> bool:
    """Whether nothing is random on either side, so that one future says all."""
    return planned(spec, scenario).basis.is_exact


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
