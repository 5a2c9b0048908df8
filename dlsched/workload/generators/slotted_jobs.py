"""Jobs with workers and parameter servers for machines over time slots, drawn as in Section V of the PD-ORS study.

Bandwidths are not published: ours are evenly drawn, and ten times as large inside a machine. Machines hold 18 times
what a worker asks for in the mean, our reading of "roughly 18 times".
"""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from dlsched.domain.model import FrozenModel
from dlsched.domain.scenario import SpeedSpec
from dlsched.domain.workload import RESOURCES, Floats, Ints, Workload
from dlsched.workload.generators.ranges import Ranges

MACHINE = {"gpus": 36, "cpus": 99.0, "mem_gib": 306.0, "disk_gib": 135.0}
"""18 times the mean demand of a worker."""
MOST_AT_FIRST = 30
"""The fixed number of workers that the first-in-first-out rival gives a job is drawn from 1 to this."""
CRITICALITY = {"insensitive": (0.0, 0.0), "sensitive": (0.01, 1.0), "critical": (4.0, 6.0)}
"""Slope of the utility, per slot."""
_DRAWS = (
    *("epochs", "samples", "model_mb", "tau", "ratio", "batch", "arrival", "class", "worth", "slope", "half"),
    *("worker_gpus", "worker_cpus", "worker_mem_gib", "worker_disk_gib"),
    *("server_cpus", "server_mem_gib", "server_disk_gib", "bandwidth", "asked"),
)
_NUMBERS = {name: place for place, name in enumerate(_DRAWS)}


class SlottedJobsSpec(FrozenModel):
    """Jobs that arrive over time slots, and the machines they share."""

    kind: Literal["slotted-jobs"] = "slotted-jobs"
    jobs: int = Field(50, ge=1, le=20_000, description="Jobs in all.")
    machines: int = Field(100, ge=1, le=10_000, description="Machines of 36 GPUs, 99 CPUs, 306 GiB and 135 GiB disk.")
    slots: int = Field(20, ge=1, le=10_000, description="Slots over which jobs arrive.")
    slot_s: float = Field(3600.0, gt=0, le=1e7, description="Length of a slot, seconds (the study names no unit).")
    insensitive: float = Field(0.10, ge=0, le=1, description="Share of jobs whose utility never falls.")
    critical: float = Field(0.35, ge=0, le=1, description="Share of jobs whose utility falls at a deadline.")
    slowest_mb_per_slot: float = Field(2e5, gt=0, le=1e12, description="Least bandwidth between machines (assumed).")
    fastest_mb_per_slot: float = Field(1e6, gt=0, le=1e12, description="Largest bandwidth between machines (assumed).")
    inside_factor: float = Field(
        10.0, ge=1, le=1e6, description="Bandwidth inside a machine over that between (assumed)."
    )

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.insensitive + self.critical > 1 + 1e-12:
            raise ValueError("insensitive and critical: the shares must add up to at most 1")
        if self.slowest_mb_per_slot > self.fastest_mb_per_slot:
            raise ValueError("slowest_mb_per_slot must be at most fastest_mb_per_slot")
        return self


def draw_slotted_jobs(spec: SlottedJobsSpec, seed: int) -> Workload:
    """Return the jobs at a seed. A job depends on (seed, its number) only; it arrives at the start of a slot.

    ``work`` counts samples. A job may have 1 to batch workers; what it asks for is drawn from 1 to 30, for policies
    with fixed widths.
    """
    drawn = _Drawn(spec, seed)
    batch, ratio = drawn.whole("batch", 1, 200), drawn.between("ratio", 1, 10)
    asked = np.minimum(drawn.whole("asked", 1, MOST_AT_FIRST), batch)
    between = drawn.between("bandwidth", spec.slowest_mb_per_slot, spec.fastest_mb_per_slot)
    transfer = 2 * drawn.between("model_mb", 30, 575) * ratio / batch  # MB a sample, Eq. (1) with Eq. (2)
    near_slots = drawn.between("tau", 1e-5, 1e-4) + transfer / (between * spec.inside_factor)
    far_slots = transfer / between - transfer / (between * spec.inside_factor)
    worth, slope, half = drawn.utility()
    columns: dict[str, Any] = {
        "job_id": drawn.job_ids,
        "submit_s": drawn.arrival() * spec.slot_s,
        "work": drawn.whole("epochs", 50, 200) * drawn.whole("samples", 20_000, 500_000),
        "workers": asked,
        "min_workers": np.ones(spec.jobs),
        "max_workers": batch,
        "servers": np.ceil(asked / ratio - 1e-9),
        "workers_per_server": ratio,
        **{f"{r}_per_worker": drawn.amount(f"worker_{r}") for r in RESOURCES},
        **{f"{r}_per_server": drawn.amount(f"server_{r}") for r in RESOURCES if r != "gpus"},
        "step_s": near_slots * spec.slot_s,
        "spread_s": far_slots * spec.slot_s,
        "utility_1": worth,
        "utility_2": slope,
        "utility_3": half,
        "job_class": drawn.class_names(),
    }
    return Workload.from_columns(columns, {"source": f"generated, seed {seed}"})


def speed_of_slotted_jobs(spec: SlottedJobsSpec) -> SpeedSpec:
    """Return the law of Eq. (1): each worker trains samples on its own, at a time that depends on the ratio alone."""
    return SpeedSpec(kind="parameter-server", updates="async")


class _Drawn(Ranges):
    """What is drawn from the uniforms of all jobs."""

    def __init__(self, spec: SlottedJobsSpec, seed: int) -> None:
        super().__init__(spec.jobs, seed, _NUMBERS, len(_DRAWS))
        self.spec = spec

    def arrival(self) -> Ints:
        """Return slots from 0; the first, third, ... get half as many jobs as the others."""
        rate = np.where(np.arange(self.spec.slots) % 2 == 0, 1 / 3, 2 / 3)
        bounds = np.cumsum(rate) / rate.sum()
        return np.minimum(np.searchsorted(bounds, self.uniform("arrival")), self.spec.slots - 1)

    def classes(self) -> Ints:
        """Return the place of each job's class in CRITICALITY."""
        bounds = np.array([self.spec.insensitive, 1 - self.spec.critical])
        return np.searchsorted(bounds, self.uniform("class"), side="right")

    def class_names(self) -> list[str]:
        """Return how time matters to each job."""
        names = [f"time-{name}" for name in CRITICALITY]
        return [names[place] for place in self.classes()]

    def utility(self) -> tuple[Floats, Floats, Floats]:
        """Return worth, slope per slot and slots until half of the worth is left."""
        low, high = np.array(list(CRITICALITY.values())).T
        place = self.classes()
        slope = low[place] + (high - low)[place] * self.uniform("slope")
        return self.between("worth", 1, 100), slope, self.between("half", 1, 15)
