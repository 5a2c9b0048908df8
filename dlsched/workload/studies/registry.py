"""Kinds of drawn workloads. A new kind is a model with a ``kind`` field, its functions and a line in ``KINDS``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field, field_validator

from dlsched.domain.errors import InputError, validated
from dlsched.domain.model import FrozenModel
from dlsched.domain.names import names_hint
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Workload
from dlsched.workload.generators.drawing import plain
from dlsched.workload.generators.fill_rules import FillRule, apply_rule
from dlsched.workload.studies import gpu_as_a_service, hell_knee, modelarts, pd_ors, smd
from dlsched.workload.studies.job_mix import JobMixSpec, draw_job_mix, job_mix_scenario


class FilledSpec(FrozenModel):
    """Another generator's jobs with missing columns filled by rules, in this order."""

    kind: Literal["filled"] = "filled"
    base: Mapping[str, Any] = Field(description="Specification of the jobs.")
    rules: tuple[FillRule, ...] = Field(min_length=1, max_length=20)

    @field_validator("base")
    @classmethod
    def _canonical(cls, base: Mapping[str, Any]) -> Mapping[str, Any]:
        return canonical(base)


def draw_filled(spec: FilledSpec, seed: int) -> Workload:
    """Return the other generator's jobs at a seed, filled."""
    workload = draw(spec.base, seed)
    for rule in spec.rules:
        workload = apply_rule(rule, workload, seed)
    return workload


@dataclass(frozen=True, slots=True)
class WorkloadKind:
    """A line of the table: the model that validates a specification and the function that draws from it.

    ``scenario`` returns the jobs on the machines they are for, with the speed model they need; None = on the default
    cluster, at the speed that any jobs have.
    """

    model: type[FrozenModel]
    draw: Callable[[Any, int], Workload]
    scenario: Callable[[Any, int], Scenario] | None = None

    @property
    def key(self) -> str:
        """What a specification of this kind says in its field ``kind``."""
        return str(self.model.model_fields["kind"].default)


KINDS = (
    WorkloadKind(JobMixSpec, draw_job_mix),
    WorkloadKind(gpu_as_a_service.GpuaasSpec, gpu_as_a_service.draw_gpuaas, gpu_as_a_service.gpuaas_scenario),
    WorkloadKind(hell_knee.StreamSpec, hell_knee.draw_stream, hell_knee.stream_scenario),
    WorkloadKind(modelarts.ModelArtsSpec, modelarts.draw_modelarts, modelarts.modelarts_scenario),
    WorkloadKind(smd.ServerJobsSpec, smd.draw_server_jobs, smd.server_jobs_scenario),
    WorkloadKind(pd_ors.SlottedJobsSpec, pd_ors.draw_slotted_jobs, pd_ors.slotted_jobs_scenario),
    WorkloadKind(FilledSpec, draw_filled),
)


def draw(spec: Mapping[str, Any], seed: int) -> Workload:
    """Return the workload of a specification at a seed; the same on every machine.

    Raises
    ------
    InputError
        If the specification is not valid; it names the field.
    """
    kind, parsed = _parse(spec)
    return kind.draw(parsed, seed)


def drawn_scenario(spec: Mapping[str, Any], seed: int) -> Scenario:
    """Return the jobs of a specification on the machines they are for, a job mix on the default cluster.

    Raises
    ------
    InputError
        If the specification is not valid; it names the field.
    """
    kind, parsed = _parse(spec)
    if kind.scenario is None:
        return job_mix_scenario(parsed, seed, kind.draw(parsed, seed))
    return kind.scenario(parsed, seed)


def parse(spec: Mapping[str, Any]) -> FrozenModel:
    """Return the validated model of a specification; raise InputError naming the field."""
    return _parse(spec)[1]


def canonical(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the one plain form of a specification, so that equal ones have equal hashes; scenarios hold this form."""
    return plain(parse(spec))


def _parse(spec: Mapping[str, Any]) -> tuple[WorkloadKind, FrozenModel]:
    name, by_key = str(spec.get("kind", "")), {kind.key: kind for kind in KINDS}
    if name not in by_key:
        raise InputError("generator, kind", f"must be a known kind, got {name[:60]!r}", names_hint(name, by_key))
    return by_key[name], validated(by_key[name].model, dict(spec), "generator")
