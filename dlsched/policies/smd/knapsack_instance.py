"""``solve knapsack``: items given as plain values, and which of them to take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import ConfigDict, Field

from dlsched.domain.errors import InputError, validated
from dlsched.domain.model import FrozenModel
from dlsched.domain.workload import Floats
from dlsched.policies.smd import knapsack

Amount = Annotated[float, Field(ge=0, le=knapsack.LARGEST)]
Capacity = Annotated[float, Field(ge=0, allow_inf_nan=True)]


class KnapsackInput(FrozenModel):
    """The fields of an instance: value and weights of each item, the capacity of each resource."""

    model_config = ConfigDict(strict=True)

    value: list[Amount] = Field(max_length=knapsack.MOST_ITEMS)
    weight: list[list[Amount]]
    capacity: list[Capacity] = Field(max_length=knapsack.MOST_RESOURCES)
    method: knapsack.Method = "exact"
    size: Literal[0, 1, 2] = 1
    seed: int = 0


@dataclass(frozen=True, eq=False)
class KnapsackTask:
    """An instance that was read: shapes (I,), (I, R), (R,), and how to solve it."""

    value: Floats
    weight: Floats
    capacity: Floats
    method: knapsack.Method
    size: int


def read(given: Mapping[str, Any]) -> KnapsackTask:
    """Return the task that plain values describe; ``seed`` changes nothing.

    Raises
    ------
    InputError
        If a field is unknown, missing, of another size than the others, or outside its range; names the place.
    """
    fields = validated(KnapsackInput, given, "instance")
    items, resources = len(fields.value), len(fields.capacity)
    if len(fields.weight) != items:
        why = f"must have {items:,} rows, as many as value has entries, got {len(fields.weight):,}"
        raise InputError("instance, weight", why, "Give each item its weights")
    for item, row in enumerate(fields.weight):
        if len(row) != resources:
            why = f"must have {resources} entries, as many as capacity, got {len(row)}"
            raise InputError(f"instance, weight.{item}", why, "Give each item one weight of each resource")
    weight = np.array(fields.weight, dtype=np.float64).reshape(items, resources)
    return KnapsackTask(np.array(fields.value), weight, np.array(fields.capacity), fields.method, fields.size)


def solve(task: KnapsackTask) -> dict[str, Any]:
    """Return 0 or 1 for each item, the value of those taken, a proven bound and the status."""
    found = knapsack.solve(task.value, task.weight, task.capacity, task.method, task.size)
    return {
        "selected": found.selected.astype(int).tolist(),
        "value": found.value,
        "bound": found.bound,
        "status": found.status,
    }
