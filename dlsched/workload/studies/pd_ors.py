"""Jobs with workers and parameter servers that book machines by the slot, as in Section V of the PD-ORS study.

Bandwidths are not published: ours are evenly drawn, and ten times as large inside a machine. Machines hold 18 times
what a worker requests on average, our reading of "roughly 18 times".
"""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from dlsched.domain.assumptions import Assumption, stated
from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.model import FrozenModel
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import RESOURCES, Floats, Ints, Workload
from dlsched.workload.generators.drawing import JobUniforms, drawn, made_from

AT_BORDER = 1e-9
"""An arrival this part of a slot before a border is on it."""
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
    jobs: int = Field(50, ge=1, le=20_000, description="Number of jobs.")
    machines: int = Field(
        100,
        ge=1,
        le=10_000,
        description="Number of machines, each with 36 GPUs, 99 CPUs, 306 GiB of memory and 135 GiB of disk, enough "
        "for 18 average workers. The study uses 100.",
    )
    slots: int = Field(
        20,
        ge=1,
        le=10_000,
        description="Slots over which jobs arrive; every second slot gets twice as many jobs as the others.",
    )
    slot_s: float = Field(
        3600.0,
        gt=0,
        le=1e7,
        title="Slot",
        description="Length of a slot; the study gives no unit.",
        json_schema_extra={"shown_in": "min"},
    )
    insensitive: float = Field(
        0.10,
        ge=0,
        le=1,
        title="Time does not matter",
        description="Share of the jobs whose value does not depend on when they finish.",
        json_schema_extra={"shown_in": "%"},
    )
    critical: float = Field(
        0.35,
        ge=0,
        le=1,
        title="Time is critical",
        description="Share of the jobs that lose nearly all their value within a slot of their deadline; the rest "
        "lose it gradually.",
        json_schema_extra={"shown_in": "%"},
    )
    slowest_mb_per_slot: float = Field(
        2e5,
        gt=0,
        le=1e12,
        title="Lowest bandwidth",
        description="Bandwidth between machines; assumed, as the study does not say.",
        json_schema_extra={"unit": "MB/slot"},
    )
    fastest_mb_per_slot: float = Field(
        1e6,
        gt=0,
        le=1e12,
        title="Highest bandwidth",
        description="Drawn evenly between the lowest and this; assumed.",
        json_schema_extra={"unit": "MB/slot"},
    )
    inside_factor: float = Field(
        10.0,
        ge=1,
        le=1e6,
        title="Within a machine",
        description="Bandwidth within a machine as a multiple of that between machines; assumed.",
        json_schema_extra={"unit": "x"},
    )

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.insensitive + self.critical > 1 + 1e-12:
            raise ValueError(
                f"time does not matter to {self.insensitive:.0%} of the jobs and is critical to {self.critical:.0%}: "
                "together the shares must be at most 100%"
            )
        if self.slowest_mb_per_slot > self.fastest_mb_per_slot:
            raise ValueError("slowest_mb_per_slot must be at most fastest_mb_per_slot")
        return self


def draw_slotted_jobs(spec: SlottedJobsSpec, seed: int) -> Workload:
    """Return the jobs at a seed. A job depends on (seed, its number) only; it arrives at the start of a slot.

    ``work`` counts samples. A job may have 1 to batch workers; what it asks for is drawn from 1 to 30, for policies
    with fixed widths.
    """
    draws = _PdOrsDraws(spec, seed)
    batch, ratio = draws.whole("batch", 1, 200), draws.between("ratio", 1, 10)
    asked = np.minimum(draws.whole("asked", 1, MOST_AT_FIRST), batch)
    between = draws.between("bandwidth", spec.slowest_mb_per_slot, spec.fastest_mb_per_slot)
    transfer = 2 * draws.between("model_mb", 30, 575) * ratio / batch  # MB a sample, Eq. (1) with Eq. (2)
    near_slots = draws.between("tau", 1e-5, 1e-4) + transfer / (between * spec.inside_factor)
    far_slots = transfer / between - transfer / (between * spec.inside_factor)
    worth, slope, half = draws.utility()
    columns: dict[str, Any] = {
        "job_id": draws.job_ids,
        "submit_s": draws.arrival() * spec.slot_s,
        "work": draws.whole("epochs", 50, 200) * draws.whole("samples", 20_000, 500_000),
        "workers": asked,
        "min_workers": np.ones(spec.jobs),
        "max_workers": batch,
        "servers": np.ceil(asked / ratio - 1e-9),
        "workers_per_server": ratio,
        **{f"{r}_per_worker": draws.amount(f"worker_{r}") for r in RESOURCES},
        **{f"{r}_per_server": draws.amount(f"server_{r}") for r in RESOURCES if r != "gpus"},
        "step_s": near_slots * spec.slot_s,
        "spread_s": far_slots * spec.slot_s,
        "utility_1": worth,
        "utility_2": slope,
        "utility_3": half,
        "job_class": draws.class_names(),
    }
    return made_from(columns, seed)


def speed_of_slotted_jobs(spec: SlottedJobsSpec) -> SpeedSpec:
    """Return the law of Eq. (1): each worker trains samples on its own, at a time that depends on the ratio alone."""
    return SpeedSpec(kind="parameter-server", updates="async")


class _PdOrsDraws(JobUniforms):
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


def slotted_jobs_scenario(
    spec: SlottedJobsSpec, seed: int = 0, name: str = "Jobs that book machines", options: SimulationRules | None = None
) -> Scenario:
    """Return the jobs of a specification on its machines; utility by slots; no prices."""
    slots = SimulationRules(placement="pack", utility_clock="slots", utility_unit_s=spec.slot_s, slot_s=spec.slot_s)
    return drawn(
        spec,
        seed,
        draw_slotted_jobs(spec, seed),
        Cluster(pools=(Pool(vm=VmType(name="machine", **MACHINE), count=spec.machines),)),
        name,
        assumptions_of(spec),
        speed=speed_of_slotted_jobs(spec),
        options=options or slots,
    )


def with_arrivals_of(
    source: Scenario, spec: SlottedJobsSpec, seed: int = 0, name: str = "Jobs that book machines"
) -> Scenario:
    """Return the jobs of a specification, arriving over its slots as the jobs of another scenario do.

    The time from its first to its last submission becomes the slots; of more or fewer jobs, evenly spread ones are
    taken. A job arrives at the start of a slot. The jobs are fixed: a run seed draws no others.

    Raises
    ------
    InputError
        If the jobs of ``source`` all come at once.
    """
    submit_s = np.sort(source.workload.submit_s)
    window_s = submit_s[-1] - submit_s[0]
    if not window_s > 0:
        raise InputError(
            f"arrivals of {source.name!r}",
            "all jobs arrive at the same time",
            "Choose a scenario whose jobs arrive one after the other",
        )
    made = slotted_jobs_scenario(spec, seed, name)
    picked = (np.arange(spec.jobs) + 0.5) / spec.jobs * len(submit_s)
    at = (submit_s[picked.astype(np.int64)] - submit_s[0]) / window_s
    slot = np.minimum(np.floor(at * spec.slots + AT_BORDER), spec.slots - 1)
    note = f"jobs arrive as those of “{source.name}” do, its {window_s / HOUR_S:.3g} h scaled to {spec.slots} slots"
    return made.replace(
        workload=made.workload.with_columns(submit_s=slot * spec.slot_s),
        generator=None,
        assumptions=stated(*made.assumptions, note),
    )


def sample_slotted_jobs() -> Scenario:
    """Return the bundled sample: 50 jobs over 20 slots of an hour on 30 machines."""
    return slotted_jobs_scenario(SlottedJobsSpec(machines=30), 1, "Jobs that book 30 machines").replace(
        data_kind="example"
    )


def assumptions_of(spec: SlottedJobsSpec) -> tuple[Assumption, ...]:
    """Return the assumptions of the drawn jobs."""
    sensitive = 1 - spec.insensitive - spec.critical
    return stated(
        "jobs drawn evenly from the ranges of the PD-ORS study",
        Assumption(
            kind="bandwidth",
            text=f"bandwidth between machines: {spec.slowest_mb_per_slot:g} to {spec.fastest_mb_per_slot:g} MB per "
            f"slot, {spec.inside_factor:g} times as much within one (assumed, as the study does not say)",
        ),
        f"time does not matter to {spec.insensitive:.0%} of the jobs, somewhat to {sensitive:.0%}, critically to "
        f"{spec.critical:.0%}",
        f"a slot is {spec.slot_s / HOUR_S:g} h; utility counts slots from arrival to the last one used",
        "each machine holds 18 times what a worker requests on average",
        "policies with a fixed number of workers give each job 1 to 30 workers, drawn at random",
    )
