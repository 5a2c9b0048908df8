"""Kinds of generators. A new kind is a model with a ``kind`` field, a draw function and a line in ``KINDS``."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field, field_validator

from dlsched.domain.errors import InputError, validated
from dlsched.domain.model import FrozenModel
from dlsched.domain.scenario import SpeedSpec
from dlsched.domain.workload import Workload
from dlsched.workload.generators.gpuaas import GpuaasSpec, draw_gpuaas, speed_of_gpuaas
from dlsched.workload.generators.mix import JobMixSpec, draw_job_mix
from dlsched.workload.generators.modelarts import ModelArtsSpec, draw_modelarts, speed_of_modelarts
from dlsched.workload.generators.server_jobs import ServerJobsSpec, draw_server_jobs, speed_of_server_jobs
from dlsched.workload.generators.slotted_jobs import SlottedJobsSpec, draw_slotted_jobs, speed_of_slotted_jobs
from dlsched.workload.generators.training_stream import StreamSpec, draw_stream, speed_of_stream
from dlsched.workload.rules import FillRule, apply_rule


class FilledSpec(FrozenModel):
    """Another generator's jobs with missing columns filled by rules, in this order."""

    kind: Literal["filled"] = "filled"
    base: Mapping[str, Any] = Field(description="Specification of the jobs.")
    rules: tuple[FillRule, ...] = Field(min_length=1, max_length=20)

    @field_validator("base")
    @classmethod
    def _known(cls, base: Mapping[str, Any]) -> Mapping[str, Any]:
        return canonical(base)


def _draw_filled(spec: FilledSpec, seed: int) -> Workload:
    workload = draw(spec.base, seed)
    for rule in spec.rules:
        workload = apply_rule(rule, workload, seed)
    return workload


@dataclass(frozen=True, slots=True)
class Kind:
    """A line of the table: the model that validates a specification and the function that draws from it.

    ``speed`` returns the speed model that the jobs need; None = they run as the scenario says.
    """

    key: str
    model: type[FrozenModel]
    draw: Callable[[Any, int], Workload]
    speed: Callable[[Any], SpeedSpec | None] = lambda spec: None


KINDS = (
    Kind("job-mix", JobMixSpec, draw_job_mix),
    Kind("gpuaas", GpuaasSpec, draw_gpuaas, speed_of_gpuaas),
    Kind("training-stream", StreamSpec, draw_stream, speed_of_stream),
    Kind("modelarts", ModelArtsSpec, draw_modelarts, speed_of_modelarts),
    Kind("server-jobs", ServerJobsSpec, draw_server_jobs, speed_of_server_jobs),
    Kind("slotted-jobs", SlottedJobsSpec, draw_slotted_jobs, speed_of_slotted_jobs),
    Kind("filled", FilledSpec, _draw_filled, lambda spec: speed_of(spec.base)),
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


def speed_of(spec: Mapping[str, Any]) -> SpeedSpec | None:
    """Return the speed model that the jobs of a specification need; None = any. Whoever makes a scenario sets it."""
    kind, parsed = _parse(spec)
    return kind.speed(parsed)


def parse(spec: Mapping[str, Any]) -> FrozenModel:
    """Return the validated model of a specification; raise InputError naming the field."""
    return _parse(spec)[1]


def canonical(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the one plain form of a specification, so that equal ones have equal hashes; scenarios hold this form."""
    return plain(parse(spec))


def plain(model: FrozenModel) -> dict[str, Any]:
    """Return a specification model as plain data: lists, texts and numbers, empty fields left out."""
    return model.model_dump(mode="json", exclude_none=True)


def _parse(spec: Mapping[str, Any]) -> tuple[Kind, FrozenModel]:
    name = str(spec.get("kind", ""))
    kind = next((kind for kind in KINDS if kind.key == name), None)
    if kind is None:
        known = [kind.key for kind in KINDS]
        near = difflib.get_close_matches(name, known, n=1)
        way_out = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(known)}"
        raise InputError("generator, kind", f"must be a known kind, got {name[:60]!r}", way_out)
    return kind, validated(kind.model, dict(spec), "generator")
