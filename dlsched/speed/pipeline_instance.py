"""``solve pipeline``: the layers of a model given as plain values, the time of one iteration and its shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ConfigDict

from dlsched.domain.errors import validated
from dlsched.domain.model import FrozenModel
from dlsched.speed.pipeline import Layers, Overlap, pipeline


class PipelineInput(FrozenModel):
    """The fields of an instance: times of each layer in any one unit; the transfer one way."""

    model_config = ConfigDict(strict=True)

    forward: list[float]
    backward: list[float]
    transfer: list[float]
    slice: float = 0.0
    overlap: Overlap
    seed: int = 0


@dataclass(frozen=True, eq=False)
class PipelineTask:
    """An instance that was read."""

    layers: Layers
    overlap: Overlap


def read(given: Mapping[str, Any]) -> PipelineTask:
    """Return the task that plain values describe; ``seed`` changes nothing.

    Raises
    ------
    InputError
        If a field is unknown, missing, of another length than the others, or outside its range; names the place.
    """
    fields = validated(PipelineInput, given, "instance")
    layers = Layers(fields.forward, fields.backward, fields.transfer, fields.slice)
    return PipelineTask(layers, fields.overlap)


def solve(task: PipelineTask) -> dict[str, Any]:
    """Return the time of an iteration and its three shares, of forward, backward and transfer."""
    found = pipeline(task.layers, task.overlap)
    return {"iteration": found.iteration_s, "eta": list(found.eta)}
