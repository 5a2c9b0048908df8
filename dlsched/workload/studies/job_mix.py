"""Job mix: classes of jobs with shares, sizes, run times, due dates and users, on an arrival pattern."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, ValidationError, field_validator, model_validator

from dlsched.domain.cluster import Cluster
from dlsched.domain.errors import InputError, validated
from dlsched.domain.model import FrozenModel
from dlsched.domain.randomness import job_uniforms, stream
from dlsched.domain.scenario import Scenario
from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import Floats, Workload
from dlsched.workload.defaults import default_cluster, describe_default
from dlsched.workload.generators.arrivals import Arrivals
from dlsched.workload.generators.drawing import (
    MOST_JOBS,
    at_least_1_ms,
    check_distinct,
    drawn,
    made_from,
    pick,
    whole_ms,
)
from dlsched.workload.generators.durations import RunTime
from dlsched.workload.import_report import offered_load

_MOST_HOURS = 100 * 365.25 * 24

# Which of a job's uniforms decides what. New draws go to the end, so that old seeds keep their jobs.
_CLASS, _GPUS, _RUN, _DUE, _WEIGHT, _USER = range(6)

Name = Annotated[str, Field(max_length=80)]
Weight = Annotated[float, Field(ge=0, le=1e9)]
Gpus = Annotated[float, Field(ge=0, le=100_000)]


class NoDue(FrozenModel):
    """No due dates."""

    kind: Literal["none"] = "none"


class RunTimeSlack(FrozenModel):
    """Due at submission + U[low, high] x run time."""

    kind: Literal["run-times"] = "run-times"
    low: float = Field(1.0, ge=0, le=1e6, description="Smallest multiple of the run time.")
    high: float = Field(3.0, ge=0, le=1e6, description="Largest multiple of the run time.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.high < self.low:
            raise ValueError(f"high must be at least low, got {self.high:g} and {self.low:g}")
        return self


class FixedSlack(FrozenModel):
    """Due at submission + run time + slack."""

    kind: Literal["fixed"] = "fixed"
    slack_s: float = Field(ge=0, le=1e9, description="Time a job may wait without being late, in seconds.")


Due = Annotated[NoDue | RunTimeSlack | FixedSlack, Field(discriminator="kind")]


class JobClass(FrozenModel):
    """One class of a job mix. A size below 1 is a shared GPU, 0 a CPU job; whole sizes are that many workers."""

    name: str = Field(min_length=1, max_length=80, description="Name of the class.")
    share: float = Field(gt=0, le=1e9, description="Share of the jobs, relative to the other classes.")
    gpus: tuple[Gpus, ...] = Field((1.0,), min_length=1, max_length=100, description="GPU counts to choose from.")
    gpu_weights: tuple[Weight, ...] = Field((), max_length=100, description="Weight of each GPU count; empty = equal.")
    run_time: RunTime
    due: Due = NoDue()
    late_usd_per_h: tuple[Weight, Weight] | None = Field(
        None, description="Cost per hour of lateness in $, drawn evenly from this range; empty = none."
    )
    priority: float | None = Field(None, ge=-1e9, le=1e9, description="Priority; higher values go first; empty = none.")
    users: tuple[Name, ...] = Field((), max_length=10_000, description="Users who submit the jobs; empty = no users.")
    user_skew: float = Field(
        1.0, ge=0, le=10, description="User k submits a number of jobs proportional to 1 / k ** skew."
    )
    group: Name = Field("", description="Team or account of the class.")
    model: Name = Field("", description="Network trained by the class.")
    partition: Name = Field("", description="Partition in which the jobs run; empty = none.")
    gpu_types: Name = Field("", description="GPU types the jobs accept, separated by '|'; empty = any.")
    cpus_per_worker: float | None = Field(None, ge=0, le=1e6, description="CPU cores per worker.")
    mem_gib_per_worker: float | None = Field(None, ge=0, le=1e9, description="Memory per worker in GiB.")
    min_workers: int | None = Field(
        None,
        ge=1,
        le=100_000,
        description="Smallest allowed number of workers; empty = the request, if any class states one.",
    )
    max_workers: int | None = Field(
        None,
        ge=1,
        le=100_000,
        description="Largest allowed number of workers; empty = the request, if any class states one.",
    )

    @field_validator("gpus")
    @classmethod
    def _whole_or_shared(cls, gpus: tuple[float, ...]) -> tuple[float, ...]:
        odd = [size for size in gpus if size > 1 and size != int(size)]
        if odd:
            raise ValueError(f"GPU counts above 1 must be whole, got {odd[0]:g}")
        return gpus

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.gpu_weights and len(self.gpu_weights) != len(self.gpus):
            raise ValueError(f"{len(self.gpus)} GPU counts need as many weights, got {len(self.gpu_weights)}")
        if self.gpu_weights and sum(self.gpu_weights) <= 0:
            raise ValueError("at least one GPU weight must be above 0")
        if self.late_usd_per_h and self.late_usd_per_h[1] < self.late_usd_per_h[0]:
            raise ValueError("the range of costs per hour of lateness must ascend")
        if 0 in self.gpus and not self.cpus_per_worker and not self.mem_gib_per_worker:
            raise ValueError("CPU jobs (0 GPUs) need CPUs or memory per worker")
        return self

    @property
    def size_shares(self) -> Floats:
        """Probability of each GPU count."""
        weights = np.array(self.gpu_weights or [1.0] * len(self.gpus))
        shares: Floats = weights / weights.sum()
        return shares

    @property
    def mean_gpu_s(self) -> float:
        """GPU-seconds of a job of the class, mean; size and run time are drawn independently."""
        return float(self.size_shares @ np.array(self.gpus)) * self.run_time.mean_s


class JobMixSpec(FrozenModel):
    """A job mix: ``jobs`` jobs of these classes on this arrival pattern."""

    kind: Literal["job-mix"] = "job-mix"
    jobs: int = Field(ge=1, le=MOST_JOBS, description="Number of jobs.")
    arrivals: Arrivals
    classes: tuple[JobClass, ...] = Field(min_length=1, max_length=100)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        check_distinct("classes", [job_class.name for job_class in self.classes])
        if self.jobs / self.arrivals.mean_jobs_per_h > _MOST_HOURS:
            raise ValueError(f"{self.jobs} jobs would take over 100 years to arrive: raise the arrival rate")
        return self

    @property
    def mean_gpu_s(self) -> float:
        """GPU-seconds of a job, mean over the classes."""
        shares = np.array([job_class.share for job_class in self.classes])
        return float(shares @ [job_class.mean_gpu_s for job_class in self.classes] / shares.sum())


def draw_job_mix(spec: JobMixSpec, seed: int) -> Workload:
    """Return the workload of a job mix at a seed.

    What a job is depends on (seed, its number) only; a changed share moves just the jobs at the border between
    classes, and a changed class leaves the others as they are.
    """
    job_ids = [f"j{number:04d}" for number in range(1, spec.jobs + 1)]
    uniforms = job_uniforms(seed, "workload", job_ids, _USER + 1)
    submit_s = whole_ms(spec.arrivals.times_s(spec.jobs, stream(seed, "workload")))
    class_of = pick(uniforms[:, _CLASS], np.array([job_class.share for job_class in spec.classes]))
    columns: dict[str, Any] = {"job_id": job_ids, "submit_s": submit_s}
    for number, job_class in enumerate(spec.classes):
        rows = np.flatnonzero(class_of == number)
        for name, values in _class_columns(job_class, submit_s[rows], uniforms[rows]).items():
            empty = "" if name in _TEXT_COLUMNS else 0.0 if name in _ZERO_COLUMNS else np.nan
            whole = np.full(spec.jobs, empty, dtype=object if name in _TEXT_COLUMNS else float)
            columns.setdefault(name, whole)[rows] = values
    for name in {"min_workers", "max_workers"} & set(columns):
        columns[name] = np.where(columns[name] > 0, columns[name], columns["workers"])
    return made_from(columns, seed)


_TEXT_COLUMNS = ("job_class", "user", "group", "model", "partition", "gpu_types")
_ZERO_COLUMNS = ("cpus_per_worker", "mem_gib_per_worker", "min_workers", "max_workers")


def _class_columns(job_class: JobClass, submit_s: Floats, uniforms: Floats) -> dict[str, Any]:
    """Return the columns that a class sets, for its rows."""
    gpus = np.array(job_class.gpus)[pick(uniforms[:, _GPUS], job_class.size_shares)]
    work = at_least_1_ms(job_class.run_time.quantile_s(uniforms[:, _RUN]))
    workers = np.maximum(gpus, 1.0)
    columns: dict[str, Any] = {
        "work": work,
        "workers": workers,
        "gpus_per_worker": np.minimum(gpus, 1.0),
        "job_class": job_class.name,
        "due_s": _due_s(job_class.due, submit_s, work, uniforms[:, _DUE]),
        "min_workers": None if job_class.min_workers is None else np.minimum(job_class.min_workers, workers),
        "max_workers": None if job_class.max_workers is None else np.maximum(job_class.max_workers, workers),
        "priority": job_class.priority,
        "cpus_per_worker": job_class.cpus_per_worker,
        "mem_gib_per_worker": job_class.mem_gib_per_worker,
    }
    columns |= {name: getattr(job_class, name) or None for name in ("group", "model", "partition", "gpu_types")}
    if job_class.late_usd_per_h:
        low, high = job_class.late_usd_per_h
        columns["weight_usd_per_s"] = (low + (high - low) * uniforms[:, _WEIGHT]) / HOUR_S
    if job_class.users:
        skewed = 1 / np.arange(1, len(job_class.users) + 1) ** job_class.user_skew
        columns["user"] = np.array(job_class.users, dtype=object)[pick(uniforms[:, _USER], skewed)]
    return {name: values for name, values in columns.items() if values is not None}


def _due_s(due: Due, submit_s: Floats, work: Floats, uniforms: Floats) -> Floats | None:
    if isinstance(due, RunTimeSlack):
        factor = due.low + (due.high - due.low) * uniforms
        return whole_ms(submit_s + factor * work)
    if isinstance(due, FixedSlack):
        return whole_ms(submit_s + work + due.slack_s)
    return None


def job_mix_scenario(spec: FrozenModel, seed: int, workload: Workload) -> Scenario:
    """Return drawn jobs that name no machines, on the default cluster for them."""
    cluster = default_cluster(workload)
    return drawn(spec, seed, workload, cluster, "Job mix", [describe_default(cluster)])


def expected_load(spec: JobMixSpec, cluster: Cluster) -> float:
    """Return the average load over many draws, as ``workload.import_report.offered_load`` counts it for one.

    Raises
    ------
    InputError
        If the cluster has no GPUs.
    """
    if cluster.num_gpus == 0:
        raise InputError("load", "the cluster has no GPUs", "Add nodes with GPUs")
    return spec.arrivals.mean_jobs_per_h / HOUR_S * spec.mean_gpu_s / cluster.num_gpus


def scale_to_load(spec: JobMixSpec, cluster: Cluster, load: float) -> JobMixSpec:
    """Return the job mix with its arrivals sped up or slowed down to put ``load`` on the cluster on average.

    Raises
    ------
    InputError
        If the load is not above 0, no job uses a GPU or the cluster has none, or the rate it takes is out of range.
    """
    if not 0 < load <= 100:
        raise InputError("load", f"must be above 0 and at most 100, got {load:g}", "Give a share, such as 0.85")
    now = expected_load(spec, cluster)
    if now <= 0:
        raise InputError("load", "no job of the mix uses a GPU", "Add a class with GPUs")
    arrivals = spec.arrivals.scaled(load / now)
    return validated(JobMixSpec, {**spec.model_dump(), "arrivals": arrivals.model_dump()}, f"job mix at load {load:g}")


CLOSE_ENOUGH, MOST_DRAWS = 0.005, 20


def at_load(spec: JobMixSpec, cluster: Cluster, load: float, seed: int) -> JobMixSpec:
    """Return the job mix with its arrivals scaled so that the jobs of this seed put ``load`` on the cluster.

    Few jobs on a large cluster all come in one morning, or are long by chance: with the mean right, those of one seed
    may be far off. Jobs that all come at once keep their arrivals. Within 0.5%, or as near as 20 draws come.

    Raises
    ------
    InputError
        As :func:`scale_to_load`.
    """
    spec = scale_to_load(spec, cluster, load)
    tried: list[tuple[float, float, JobMixSpec]] = []  # arrivals an hour, load over wanted load, the mix
    for _ in range(MOST_DRAWS):
        off = offered_load(draw_job_mix(spec, seed), cluster) / load
        tried.append((spec.arrivals.mean_jobs_per_h, off, spec))
        if abs(off - 1) <= CLOSE_ENOUGH or off <= 0:
            break
        grows = 1.0  # by how much load grows with the rate, on logarithmic scales
        if len(tried) > 1 and tried[-1][0] != tried[-2][0]:
            grows = float(np.log(tried[-1][1] / tried[-2][1]) / np.log(tried[-1][0] / tried[-2][0]))
        step = float(np.clip(off ** (-1 / np.clip(grows, 0.2, 1.0)), 0.25, 4.0))
        try:
            arrivals = spec.arrivals.scaled(step)
            spec = validated(JobMixSpec, {**spec.model_dump(), "arrivals": arrivals.model_dump()}, "job mix")
        except (InputError, ValidationError):  # no rate there: what was tried is as near as it gets
            break
    return min(tried, key=lambda one: abs(one[1] - 1))[2]
