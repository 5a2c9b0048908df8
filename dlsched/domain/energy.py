"""Energy: what GPUs draw, idle and busy, and what electricity costs and emits, constant or by the hour."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Self

from pydantic import Field, model_validator

from dlsched.domain.cluster import Cluster
from dlsched.domain.model import FrozenModel
from dlsched.domain.units import HOUR_S

MOST_STEPS = 300_000
"""A year by two minutes."""
Price = Annotated[float, Field(ge=-1000, le=1000)]
Carbon = Annotated[float, Field(ge=0, le=100_000)]


class GpuPower(FrozenModel):
    """What one GPU of a type draws, in watts, with its part of the machine where that is known."""

    gpu_type: str = Field(max_length=80, title="GPU type", description="GPU type, as in the machine types.")
    idle_w: float = Field(ge=0, le=100_000, title="Idle (W)", description="Watts of one GPU that no job holds.")
    busy_w: float = Field(ge=0, le=100_000, title="Busy (W)", description="Watts of one GPU that a job holds.")


class EnergySetup(FrozenModel):
    """What a run's energy follows from. It changes no schedule, only what is counted.

    Prices and carbon have one entry, or one for each step of ``step_s`` seconds from ``first_s`` on.
    A list of several begins again at its end, and holds before its start in the same way.
    """

    power: tuple[GpuPower, ...] = Field(max_length=1000, title="Power", description="Watts by GPU type.")
    pue: float = Field(
        1.3,
        ge=1,
        le=5,
        title="PUE",
        description="Power of the building per power of the machines (power usage effectiveness).",
    )
    usd_per_kwh: tuple[Price, ...] = Field(
        (),
        max_length=MOST_STEPS,
        title="Electricity ($/kWh)",
        description="Price of electricity: one entry, or one for each step; empty = no price.",
    )
    g_per_kwh: tuple[Carbon, ...] = Field(
        (),
        max_length=MOST_STEPS,
        title="Carbon (g CO2e/kWh)",
        description="Carbon intensity of electricity: one entry, or one for each step; empty = not known.",
    )
    step_s: float = Field(
        HOUR_S, ge=60, le=1e9, title="Step (s)", description="Length of a step of the lists, in seconds."
    )
    first_s: float = Field(
        0.0, ge=-1e12, le=1e12, title="First step (s)", description="Time of the trace at which the lists begin."
    )

    @model_validator(mode="after")
    def _each_type_once(self) -> Self:
        names = [one.gpu_type for one in self.power]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"the GPU type {twice!r} has two rows of power")
        return self

    def unknown_types(self, gpu_types: Collection[str]) -> list[str]:
        """Return the GPU types among these whose power is not given, sorted."""
        return sorted(set(gpu_types) - {one.gpu_type for one in self.power})


def gpu_types_of(cluster: Cluster) -> set[str]:
    """Return the GPU types of the machine types that have GPUs."""
    return {vm.gpu_type for vm in cluster.vm_types if vm.gpus}
