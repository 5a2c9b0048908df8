"""GPU as a service (the path-relinking study): jobs whose run time depends on GPU type and GPUs, on rented slots.

Section 4.1: a job is due a multiple of its fastest time after submission, and each second late has a price. The study
does not say how long its jobs run nor how fast they come under its rates: run times are assumed here, the gaps of the
rates low, high and high450 are fitted to the numbers of jobs it reports at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import AfterValidator, Field, model_validator

from dlsched.domain.cluster import Cluster, VmType
from dlsched.domain.model import FrozenModel
from dlsched.domain.randomness import job_uniforms, stream
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.domain.timetable import TimeTable
from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import Floats, Workload
from dlsched.workload.catalogue import PAPER, price_list
from dlsched.workload.generators.drawing import (
    MOST_JOBS,
    at_least_1_ms,
    check_distinct,
    drawn,
    made_from,
    pick,
    whole_ms,
)
from dlsched.workload.generators.fill_rules import usd_text
from dlsched.workload.prices.price_list import price_notes, to_vm_types
from dlsched.workload.profiles.profile import Profile, profile_of

JOBS_PER_NODE = 10
MIXED_BLOCK = 10
"""Submissions after which the rate mixed goes from high to low and back."""
NODE_GAP_S = {
    "exponential": 75_000.0, "low": 140_000.0, "high": 35_000.0, "high450": 46_000.0, "even": 75_000.0,
}  # fmt: skip
"""Mean gap between submissions x nodes, seconds."""
BASE_TYPE, OTHER_TYPE = "K80", "M60"
_APPLICATION, _HOURS, _DUE, _WEIGHT = range(4)  # which of a job's uniforms decides what; new draws go to the end


_Hours = Annotated[float, Field(gt=0, le=1e6)]
_Factor = Annotated[float, Field(ge=1, le=1e6)]
_Weight = Annotated[float, Field(ge=0, le=1e6)]


def _ascending(limits: tuple[float, float]) -> tuple[float, float]:
    if limits[1] < limits[0]:
        raise ValueError(f"a range must ascend, got {limits[0]:g} to {limits[1]:g}")
    return limits


Rate = Literal["exponential", "low", "high", "high450", "mixed", "even"]
Hours = Annotated[tuple[_Hours, _Hours], AfterValidator(_ascending)]
Factors = Annotated[tuple[_Factor, _Factor], AfterValidator(_ascending)]
Weights = Annotated[tuple[_Weight, _Weight], AfterValidator(_ascending)]


class ServiceApplication(FrozenModel):
    """An application and how long its jobs run: t(GPUs) = t1 x (1 - parallel + parallel / GPUs), t1 on one K80."""

    name: str = Field(min_length=1, max_length=80, description="Name of the application.")
    share: float = Field(1.0, gt=0, le=1e9, description="Share of the jobs, relative to the other applications.")
    parallel: float = Field(ge=0, le=1, description="Share of the run time that scales with more GPUs.")
    m60_ratio: float = Field(gt=0, le=100, description="Run time on an M60 divided by the run time on a K80.")
    k80_hours: Hours = Field(
        (40.0, 160.0), description="Run time on one K80 in hours, drawn evenly from this range (assumed)."
    )

    def time_share(self, gpus: int) -> float:
        """Return the time with so many GPUs over the time with one (Amdahl's law)."""
        return (1 - self.parallel) + self.parallel / gpus

    def profile(self, most_gpus: int) -> Profile:
        """Return run times per second on one K80, with 1 to ``most_gpus`` GPUs of a type."""
        row = [self.time_share(gpus) for gpus in range(1, most_gpus + 1)]
        return profile_of({BASE_TYPE: row, OTHER_TYPE: [self.m60_ratio * seconds for seconds in row]})


APPLICATIONS = tuple(
    ServiceApplication(name=name, parallel=parallel, m60_ratio=m60_ratio)
    for name, parallel, m60_ratio in (
        ("DeepSpeech", 0.88, 0.85),
        ("VGG19-PyTorch", 0.82, 0.80),
        ("VGG19-TensorFlow", 0.80, 0.93),
        ("AlexNet", 0.72, 1.02),
        ("ResNet50-PyTorch", 0.95, 0.88),
        ("ResNet50-TensorFlow", 0.93, 0.95),
    )
)
"""Section 4.1, Table 3. The paper does not print their times: shares and ratios are this project's."""


class GpuaasSpec(FrozenModel):
    """Jobs for a cluster of ``nodes`` rented slots."""

    kind: Literal["gpuaas"] = "gpuaas"
    nodes: int = Field(10, ge=1, le=10_000, description="Rented machines, at most; the policy chooses their types.")
    jobs: int | None = Field(
        None,
        ge=1,
        le=MOST_JOBS,
        description="Number of jobs; empty = ten per node.",
        json_schema_extra={"placeholder": "10 per node"},
    )
    rate: Rate = Field(
        "exponential",
        description="Arrival rate: exponential gaps of 75,000 s / nodes; low, high and high450 as fitted; mixed = "
        "high and low in turn; even = equal gaps.",
    )
    gap_s: float | None = Field(
        None,
        gt=0,
        le=1e9,
        description="Mean gap in seconds for the rates exponential and even; empty = 75,000 / nodes.",
    )
    due: Factors = Field(
        (1.0, 3.0),
        description="Due date as a multiple of the fastest run time after submission, drawn evenly from this range.",
        json_schema_extra={"unit": "x"},
    )
    late_usd_per_s: Weights = Field(
        (0.003, 0.015),
        title="Late",
        description="Cost of lateness (a planning weight), drawn evenly from this range.",
        json_schema_extra={"shown_in": "$/h"},
    )
    applications: tuple[ServiceApplication, ...] = Field(APPLICATIONS, min_length=1, max_length=100)
    in_turn: bool = Field(False, description="Take the applications in turn instead of drawing them by share.")
    most_gpus: int = Field(8, ge=1, le=64, description="GPUs of the largest machine that can be rented.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        check_distinct("applications", [one.name for one in self.applications])
        if self.gap_s is not None and self.rate not in ("exponential", "even"):
            raise ValueError(f"gap_s is only for the rates exponential and even, got rate {self.rate}")
        return self

    @property
    def num_jobs(self) -> int:
        """Number of jobs."""
        return self.jobs or JOBS_PER_NODE * self.nodes

    def mean_gaps_s(self) -> Floats:
        """Return the mean gap before each job but the first, seconds, shape (jobs - 1,)."""
        gaps = self.num_jobs - 1
        if self.rate == "mixed":
            is_low = np.arange(gaps) // MIXED_BLOCK % 2 == 1
            return np.where(is_low, NODE_GAP_S["low"], NODE_GAP_S["high"]) / self.nodes
        return np.full(gaps, self.gap_s or NODE_GAP_S[self.rate] / self.nodes)


def draw_gpuaas(spec: GpuaasSpec, seed: int) -> Workload:
    """Return the jobs at a seed; the first comes at 0 s. What a job is depends on (seed, its number) only."""
    job_ids = [f"JJ{number}" for number in range(1, spec.num_jobs + 1)]
    uniforms = job_uniforms(seed, "workload", job_ids, _WEIGHT + 1)
    gaps_s = spec.mean_gaps_s()
    if spec.rate != "even":
        gaps_s = gaps_s * stream(seed, "workload").standard_exponential(len(gaps_s))
    submit_s = whole_ms(np.append(0.0, np.cumsum(gaps_s)))
    which = np.arange(len(uniforms)) % len(spec.applications)
    if not spec.in_turn:
        which = pick(uniforms[:, _APPLICATION], np.array([one.share for one in spec.applications]))
    profiles = [one.profile(spec.most_gpus) for one in spec.applications]
    names = np.array([one.name for one in spec.applications], dtype=object)[which]
    k80_s = HOUR_S * _between(np.array([one.k80_hours for one in spec.applications])[which], uniforms[:, _HOURS])
    fastest_s = whole_ms(k80_s * np.array([profile.fastest_s for profile in profiles])[which])
    due_s = submit_s + _between(np.array(spec.due), uniforms[:, _DUE]) * fastest_s
    columns = {
        "job_id": job_ids,
        "submit_s": submit_s,
        "work": at_least_1_ms(fastest_s),
        "workers": np.array([profile.gpus for profile in profiles])[which],
        "model": names,
        "profile": names,
        "due_s": whole_ms(due_s),
        "weight_usd_per_s": _between(np.array(spec.late_usd_per_s), uniforms[:, _WEIGHT]),
    }
    return made_from(columns, seed)


def speed_of_gpuaas(spec: GpuaasSpec) -> SpeedSpec:
    """Return the time table of the applications."""
    rows = {one.name: one.profile(spec.most_gpus).rows for one in spec.applications}
    return SpeedSpec(kind="table", times=TimeTable(rows=rows))


def _between(limits: Floats, uniforms: Floats) -> Floats:
    """Return the place of each uniform between two limits; ``limits`` of shape (2,) or (jobs, 2)."""
    low, high = limits[..., 0], limits[..., 1]
    between: Floats = low + (high - low) * uniforms
    return between


PROTOTYPE = GpuaasSpec(
    nodes=2,
    jobs=6,
    rate="even",
    gap_s=300.0,
    in_turn=True,
    most_gpus=4,
    applications=tuple(
        ServiceApplication(name=name, parallel=parallel, m60_ratio=ratio, k80_hours=(hours, hours))
        for name, parallel, ratio, hours in (
            ("DeepSpeech (TensorFlow)", 0.88, 0.85, 1.6),
            ("VGG19 (PyTorch)", 0.82, 0.80, 2.0),
            ("VGG19 (TensorFlow)", 0.80, 0.93, 2.2),
            ("AlexNet (PyTorch)", 0.72, 1.02, 1.8),
            ("ResNet50 (PyTorch)", 0.95, 0.88, 3.0),
            ("ResNet50 (TensorFlow)", 0.93, 0.95, 3.2),
        )
    ),
)
"""Section 4.6, Table 3: six applications, one every 300 s, two nodes. The run times are this project's."""


def study_types() -> tuple[VmType, ...]:
    """Return the eight machine types of the study (Table 2); the last two are made up there."""
    return to_vm_types(price_list(PAPER))


def gpuaas_scenario(
    spec: GpuaasSpec,
    seed: int = 0,
    catalogue: Sequence[VmType] | None = None,
    name: str = "GPU as a service",
) -> Scenario:
    """Return the jobs of a specification on ``spec.nodes`` rented slots, with their time table.

    Without a catalogue the slots hold the machine types of the study (Table 2).
    """
    rented = study_types() if catalogue is None else tuple(catalogue)
    return drawn(
        spec,
        seed,
        draw_gpuaas(spec, seed),
        Cluster(slots=spec.nodes, catalogue=rented),
        name,
        (*assumptions_of(spec), *price_notes(rented, price_list(PAPER), len(rented))),
        speed=speed_of_gpuaas(spec),
        options=SimulationRules(placement="best-fit"),
    )


def prototype_scenario(seed: int = 0) -> Scenario:
    """Return the six applications of the study's cloud experiment on the six machine types it used."""
    return gpuaas_scenario(PROTOTYPE, seed, study_types()[:6], "Six applications, two nodes")


def sample_gpuaas() -> Scenario:
    """Return the bundled sample: 100 jobs of the study's applications on ten rented slots."""
    spec = GpuaasSpec(nodes=10)
    return gpuaas_scenario(spec, 1, name=f"GPU as a service, {spec.nodes} nodes").replace(data_kind="example")


def assumptions_of(spec: GpuaasSpec) -> tuple[str, ...]:
    """Return the assumptions of a drawn workload, in words."""
    low = min(one.k80_hours[0] for one in spec.applications)
    high = max(one.k80_hours[1] for one in spec.applications)
    (due_low, due_high), (late_low, late_high) = spec.due, spec.late_usd_per_s
    fitted = {"low", "high", "high450", "mixed"}
    return (
        f"run time on one {BASE_TYPE}: {low:g}–{high:g} h (assumed, as the study does not say)",
        f"{BASE_TYPE}, {OTHER_TYPE} and 1–{spec.most_gpus} GPUs: speed laws of the applications (assumed)",
        *([f"rate {spec.rate}: fitted to the study's numbers of jobs at once"] if spec.rate in fitted else []),
        f"due dates: submission + {due_low:g} to {due_high:g} times the fastest run time",
        f"a second of lateness costs {usd_text(late_low)}–{usd_text(late_high)}",
    )
