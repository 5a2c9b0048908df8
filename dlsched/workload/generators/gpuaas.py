"""GPU as a service (Section 4.1 of the path-relinking study): applications whose run time depends on GPU type and GPUs.

A job is due a multiple of its fastest time after submission, and each second late has a price. The study does not say
how long its jobs run nor how fast they come under its rates: run times are assumed here, the gaps of the rates low,
high and high450 are fitted to the numbers of jobs it reports at once.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

import numpy as np
from pydantic import AfterValidator, Field, model_validator

from dlsched.domain.model import FrozenModel
from dlsched.domain.randomness import job_uniforms, stream
from dlsched.domain.scenario import SpeedSpec
from dlsched.domain.timetable import TimeTable
from dlsched.domain.workload import Floats, Ints, Workload
from dlsched.workload.applications import APPLICATIONS, Application
from dlsched.workload.generators.arrivals import HOUR_S
from dlsched.workload.generators.mix import MOST_JOBS, pick
from dlsched.workload.profiles.profile import Profile, profile_of

JOBS_PER_NODE = 10
MIXED_BLOCK = 10
"""Submissions after which the rate mixed goes from high to low and back."""
NODE_GAP_S = {
    "exponential": 75_000.0, "low": 140_000.0, "high": 35_000.0, "high450": 46_000.0, "even": 75_000.0,
}  # fmt: skip
"""Mean gap between submissions x nodes, seconds."""
BASE_TYPE, OTHER_TYPE = "K80", "M60"
_DECIMALS = 3
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
    parallel: float = Field(ge=0, le=1, description="Share of the run time that more GPUs divide.")
    m60_ratio: float = Field(gt=0, le=100, description="Run time on an M60 over run time on a K80.")
    k80_hours: Hours = Field(
        (40.0, 160.0), description="Run time on one K80, hours, drawn evenly from this range (assumed)."
    )

    def profile(self, most_gpus: int) -> Profile:
        """Return run times per second on one K80, with 1 to ``most_gpus`` GPUs of a type."""
        law = Application(self.name, self.parallel, self.m60_ratio)
        row = [law.share(gpus) for gpus in range(1, most_gpus + 1)]
        return profile_of({BASE_TYPE: row, OTHER_TYPE: [self.m60_ratio * seconds for seconds in row]})


DEFAULT_APPLICATIONS = tuple(
    ServiceApplication(name=one.name, parallel=one.parallel, m60_ratio=one.m60_ratio) for one in APPLICATIONS
)


class GpuaasSpec(FrozenModel):
    """Jobs for a cluster of ``nodes`` free slots."""

    kind: Literal["gpuaas"] = "gpuaas"
    nodes: int = Field(10, ge=1, le=10_000, description="Slots of the cluster, for which gaps are scaled.")
    jobs: int | None = Field(None, ge=1, le=MOST_JOBS, description="Number of jobs; empty = 10 for each node.")
    rate: Rate = Field(
        "exponential",
        description="How fast jobs come: exponential gaps of 75,000 s / nodes; low, high and high450 as fitted; "
        "mixed = high and low in turn; even = equal gaps.",
    )
    gap_s: float | None = Field(
        None, gt=0, le=1e9, description="Mean gap of the rates exponential and even, seconds; empty = 75,000 / nodes."
    )
    due: Factors = Field((1.0, 3.0), description="Due after a multiple of the fastest time, from – to.")
    late_usd_per_s: Weights = Field((0.003, 0.015), description="Cost of a second late, $, from – to.")
    applications: tuple[ServiceApplication, ...] = Field(DEFAULT_APPLICATIONS, min_length=1, max_length=100)
    in_turn: bool = Field(False, description="Applications one after the other instead of drawn by share.")
    most_gpus: int = Field(8, ge=1, le=64, description="GPUs of the largest machine that can be rented.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        names = [one.name for one in self.applications]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two applications are called {twice[0]!r}")
        if self.gap_s is not None and self.rate not in ("exponential", "even"):
            raise ValueError(f"a gap goes with the rates exponential and even, the rate is {self.rate}")
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
    submit_s = _submissions(spec, seed)
    which = _applications(spec, uniforms[:, _APPLICATION])
    profiles = [one.profile(spec.most_gpus) for one in spec.applications]
    names = np.array([one.name for one in spec.applications], dtype=object)[which]
    k80_s = HOUR_S * _between(np.array([one.k80_hours for one in spec.applications])[which], uniforms[:, _HOURS])
    work = np.round(k80_s * np.array([profile.fastest_s for profile in profiles])[which], _DECIMALS)
    factor = _between(np.array(spec.due), uniforms[:, _DUE])
    columns = {
        "job_id": job_ids,
        "submit_s": submit_s,
        "work": np.maximum(work, 10.0**-_DECIMALS),
        "workers": np.array([profile.gpus for profile in profiles])[which],
        "model": names,
        "profile": names,
        "due_s": np.round(submit_s + factor * work, _DECIMALS),
        "weight_usd_per_s": _between(np.array(spec.late_usd_per_s), uniforms[:, _WEIGHT]),
    }
    return Workload.from_columns(columns, {"source": f"generated, seed {seed}"})


def speed_of_gpuaas(spec: GpuaasSpec) -> SpeedSpec:
    """Return the time table of the applications."""
    rows = {one.name: one.profile(spec.most_gpus).rows for one in spec.applications}
    return SpeedSpec(kind="table", times=TimeTable(rows=rows))


def _submissions(spec: GpuaasSpec, seed: int) -> Floats:
    gaps_s = spec.mean_gaps_s()
    if spec.rate != "even":
        gaps_s = gaps_s * stream(seed, "workload").standard_exponential(len(gaps_s))
    return np.round(np.append(0.0, np.cumsum(gaps_s)), _DECIMALS)


def _applications(spec: GpuaasSpec, uniforms: Floats) -> Ints:
    if spec.in_turn:
        return np.arange(len(uniforms)) % len(spec.applications)
    return pick(uniforms, np.array([one.share for one in spec.applications]))


def _between(limits: Floats, uniforms: Floats) -> Floats:
    """Return the place of each uniform between two limits; ``limits`` of shape (2,) or (jobs, 2)."""
    low, high = limits[..., 0], limits[..., 1]
    between: Floats = low + (high - low) * uniforms
    return between
