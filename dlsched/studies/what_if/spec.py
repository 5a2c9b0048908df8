"""What a what-if asks, in JSON's own types; the scenario itself travels apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import Field, model_validator

from dlsched.domain.model import FrozenModel
from dlsched.domain.scenario import Scenario
from dlsched.domain.units import DAY_S
from dlsched.policies.registry import find
from dlsched.studies.design import Replications, Variant, check_variant, factor_of
from dlsched.studies.design.factors import without_neutral
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
    case = Variant(policy=policy, params=dict(params or {}))
    return WhatIfSpec(
        scenario=scenario.content_hash, baseline=case, changed=case, draws=default_draws(scenario, policy)
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


def check(spec: WhatIfSpec, scenario: Scenario) -> None:
    """Refuse a question that cannot be computed; InputError naming the change, the value and the way out."""
    require_scenario("what if", spec.scenario, scenario)
    for case in (spec.baseline, spec.changed):
        check_variant(scenario, case, spec.draws)


def is_exact(spec: WhatIfSpec, scenario: Scenario) -> bool:
    """Whether nothing is random on either side, so that one draw says all."""
    return not any(check_variant(scenario, case, spec.draws)[2] for case in (spec.baseline, spec.changed))


def moved(spec: WhatIfSpec, scenario: Scenario) -> tuple[Moved, ...]:
    """Return what differs between the two sides: changes, then the policy, then its parameters."""
    before, after = spec.baseline, spec.changed
    found = []
    for key, value in without_neutral(scenario, after.changes).items():
        change = factor_of(scenario, key)
        found.append(Moved(key=key, label=change.label, unit=change.unit, before=change.own(scenario), after=value))
    if before.policy != after.policy:
        names = [find(case.policy).spoken for case in (before, after)]
        found.append(Moved(key="policy", label="Policy", unit="", before=names[0], after=names[1]))
    return (*found, *_moved_params(before, after))


def _moved_params(before: Variant, after: Variant) -> list[Moved]:
    """Return the parameters that differ; between two policies, those of the new one that are not its defaults."""
    spec = find(after.policy)
    values = _plain_params(after.policy, after.params)
    base = _plain_params(after.policy, before.params if before.policy == after.policy else {})
    return [
        Moved(key=f"param.{name}", label=f"{spec.spoken}, {name.replace('_', ' ')}", unit="", before=base[name],
              after=value)
        for name, value in values.items()
        if value != base[name]
    ]  # fmt: skip


def _plain_params(policy: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return all parameters as numbers or texts; None where one is not set."""
    plain = find(policy).parse(dict(params)).model_dump(mode="json")
    return {name: _one_value(value) for name, value in plain.items()}


def _one_value(value: Any) -> float | str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return float(value)
    return ", ".join(f"{part:g}" if isinstance(part, int | float) else str(part) for part in value)
