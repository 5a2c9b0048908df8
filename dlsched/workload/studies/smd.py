"""Batches of jobs with parameter servers on units of capacity taken together, as in Section V of the SMD study.

All numbers are drawn evenly from the published ranges. The study does not say how layers overlap, whether a forward
pass is timed per sample or per mini-batch, nor the instances behind users' limits: parameters with our defaults.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import Field

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.model import FrozenModel
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.domain.units import DAY_S, HOUR_S
from dlsched.domain.workload import RESOURCES, Floats, Workload
from dlsched.speed.layered_step import step_columns, transfer_seconds
from dlsched.speed.pipeline import Layers, pipeline
from dlsched.workload.generators.drawing import JobUniforms, drawn, made_from

UTILITY_UNIT_S = {"async": HOUR_S, "sync": DAY_S}
"""Unit of time of the utility by kind of updates: in seconds every job of the study would be worth 0."""
UNIT = {"gpus": 600, "cpus": 3400.0, "mem_gib": 1400.0, "disk_gib": 1200.0}
"""One unit of capacity."""
MOST_LAYERS = 100
_FIXED = 40  # uniforms before those of the layers; new draws take the next free number below it
_DRAWS = (
    *("steps", "model_mb", "mini_batch", "batches", "layers"),
    *("worker_gpus", "worker_cpus", "worker_mem_gib", "worker_disk_gib"),
    *("server_cpus", "server_mem_gib", "server_disk_gib", "gbps", "instances"),
    *("worker_overhead", "server_overhead", "at_once", "worth", "slope", "half", "submit"),
)
_NUMBERS = {name: place for place, name in enumerate(_DRAWS)}


class ServerJobsSpec(FrozenModel):
    """Jobs with workers and parameter servers, and the capacity they are admitted to."""

    kind: Literal["server-jobs"] = "server-jobs"
    jobs: int = Field(50, ge=1, le=20_000, description="Number of jobs.")
    units: int = Field(
        3,
        ge=1,
        le=1000,
        title="Units of capacity",
        description="Each unit has 600 GPUs, 3,400 CPUs, 1,400 GiB of memory and 1,200 GiB of disk; all units form "
        "one pool.",
    )
    updates: Literal["async", "sync"] = Field(
        "async",
        description="Asynchronous: each worker makes steps on its own. Synchronous: all workers make each step "
        "together, on a batch of fixed size.",
    )
    overlap: Literal["sequential", "wait-free", "priority"] = Field(
        "wait-free",
        title="Transfers overlap",
        description="Whether layers are sent while others compute: not at all, each as soon as it is ready, or those "
        "needed first going first. Assumed, as the study does not say.",
    )
    forward_per: Literal["sample", "mini-batch"] = Field(
        "sample",
        title="Forward time is per",
        description="Whether the forward time of a layer, 1 to 500 ms, is per sample or per mini-batch; the study "
        "does not say.",
    )
    intervals: int = Field(1, ge=1, le=1000, description="Intervals over which jobs arrive; 1 = all arrive together.")
    interval_s: float = Field(
        3600.0,
        gt=0,
        le=1e7,
        title="Interval",
        description="Length of a scheduling interval; admission is decided once per interval.",
        json_schema_extra={"shown_in": "min"},
    )
    instance_gpus: float = Field(
        4.0, gt=0, le=1024, title="Instance: GPUs", description="A limit is 1 to 20 instances. Assumed."
    )
    instance_cpus: float = Field(
        36.0, gt=0, le=1e4, title="Instance: CPUs", description="The largest C4 instance has 36."
    )
    instance_mem_gib: float = Field(
        60.0, gt=0, le=1e5, title="Instance: memory (GiB)", description="The largest C4 instance has 60 GiB."
    )
    instance_disk_gib: float = Field(60.0, gt=0, le=1e6, title="Instance: disk (GiB)", description="Assumed.")


def draw_server_jobs(spec: ServerJobsSpec, seed: int) -> Workload:
    """Return the jobs at a seed. A job depends on (seed, its number) only.

    ``work`` counts iterations. The request is as many servers as workers, as many as the user's limit holds. A limit
    that does not hold one worker and one server is raised to it.
    """
    draws = _SmdDraws(spec, seed)
    demand = np.column_stack([draws.amount(f"worker_{resource}") for resource in RESOURCES])
    of_server = np.column_stack([np.zeros(spec.jobs), *(draws.amount(f"server_{r}") for r in RESOURCES[1:])])
    instance = [getattr(spec, f"instance_{resource}") for resource in RESOURCES]
    limit = np.maximum(draws.whole("instances", 1, 20)[:, None] * np.array(instance), demand + of_server)
    with np.errstate(divide="ignore", invalid="ignore"):
        pairs = np.where(demand + of_server > 0, np.floor(limit / (demand + of_server) + 1e-9), np.inf).min(axis=1)
    pairs = np.maximum(pairs, 1).astype(np.int64)
    columns: dict[str, Any] = {
        "job_id": draws.job_ids,
        "submit_s": draws.submit_s(),
        "work": draws.whole("steps", 50, 200),
        "workers": pairs,
        "servers": pairs,
        **{f"{r}_per_worker": demand[:, n] for n, r in enumerate(RESOURCES)},
        **{f"{r}_per_server": of_server[:, n] for n, r in enumerate(RESOURCES) if r != "gpus"},
        **{f"limit_{r}": limit[:, n] for n, r in enumerate(RESOURCES)},
        **draws.step_terms(),
        "utility_1": draws.between("worth", 1, 100),
        "utility_2": draws.between("slope", 4, 6),
        "utility_3": draws.between("half", 1, 15),
    }
    return made_from(columns, seed)


def speed_of_server_jobs(spec: ServerJobsSpec) -> SpeedSpec:
    """Return the law of a training step (Eqs. 4, 5)."""
    return SpeedSpec(kind="parameter-server", updates=spec.updates)


def layers_of(spec: ServerJobsSpec, seed: int) -> dict[str, Layers]:
    """Return the layers of each job by its id, times per sample."""
    draws = _SmdDraws(spec, seed)
    return dict(zip(draws.job_ids, draws.layers(), strict=True))


class _SmdDraws(JobUniforms):
    """What is drawn from the uniforms of all jobs."""

    def __init__(self, spec: ServerJobsSpec, seed: int) -> None:
        super().__init__(spec.jobs, seed, _NUMBERS, _FIXED + 3 * MOST_LAYERS)
        self.spec = spec

    def submit_s(self) -> Floats:
        """Return submissions: all at 0 s, or even over the intervals, to whole seconds."""
        if self.spec.intervals == 1:
            return np.zeros(self.spec.jobs)
        return np.floor(self.between("submit", 0, self.spec.intervals * self.spec.interval_s))

    def layers(self) -> list[Layers]:
        """Return the layers of every job: 10 to 100 of them, f in 1-500, b in 1-300, r in 80-500 ms."""
        counts = self.whole("layers", 10, MOST_LAYERS).astype(int)
        layers = []
        for row, count in enumerate(counts):
            times = self.uniforms[row, _FIXED:].reshape(3, MOST_LAYERS)[:, :count]
            forward, backward, transfer = (
                (low + (high - low) * part) / 1000
                for (low, high), part in zip(((1, 500), (1, 300), (80, 500)), times, strict=True)
            )
            layers.append(Layers(forward, backward, transfer))
        return layers

    def step_terms(self) -> dict[str, Floats]:
        """Return the seconds of a step by column (Eqs. 4, 5 over the law of :mod:`dlsched.speed.parameter_server`)."""
        layers = self.layers()
        eta = np.array([pipeline(one, self.spec.overlap).eta for one in layers])
        forward_s = np.array([one.forward_s.sum() for one in layers])
        backward_s = np.array([one.backward_s.sum() for one in layers])
        batch = self.whole("mini_batch", 10, 100)
        if self.spec.updates == "sync":
            batch = batch * self.whole("batches", 1, 100)
        # "mini-batch": the drawn time is of a mini-batch, so a batch of K samples is K / m of them
        samples = batch if self.spec.forward_per == "sample" else batch / self.whole("mini_batch", 10, 100)
        return step_columns(
            synchronous=self.spec.updates == "sync",
            forward_s=eta[:, 0] * samples * forward_s,
            backward_s=eta[:, 1] * backward_s,
            transfer_s=transfer_seconds(self.between("model_mb", 30, 575), self.between("gbps", 5, 20), eta[:, 2]),
            senders_share=self.between("at_once", 0, 1),
            worker_overhead_s=self.between("worker_overhead", 3, 4),
            server_overhead_s=self.between("server_overhead", 0, 0.01),
        )


def server_jobs_scenario(
    spec: ServerJobsSpec, seed: int = 0, name: str = "Parameter-server jobs", options: SimulationRules | None = None
) -> Scenario:
    """Return the jobs of a specification on its units of capacity taken together; no prices.

    Without ``options`` the utility counts hours for asynchronous and days for synchronous updates.
    """
    unit_s = UTILITY_UNIT_S[spec.updates]
    cluster = Cluster(pools=(Pool(vm=VmType(name="unit of capacity", **UNIT), count=spec.units),))
    return drawn(
        spec,
        seed,
        draw_server_jobs(spec, seed),
        cluster,
        name,
        assumptions_of(spec),
        speed=speed_of_server_jobs(spec),
        options=options or SimulationRules(placement="pool", utility_unit_s=unit_s, slot_s=spec.interval_s),
    )


def sample_server_jobs() -> Scenario:
    """Return the bundled sample: 50 asynchronous jobs, one batch, on three units of capacity."""
    return server_jobs_scenario(ServerJobsSpec(), 1, "Parameter-server jobs, 3 units").replace(data_kind="example")


def assumptions_of(spec: ServerJobsSpec) -> tuple[str, ...]:
    """Return the assumptions of the drawn jobs, in words."""
    unit = "hours" if spec.updates == "async" else "days"
    instance = (
        f"{spec.instance_gpus:g} GPUs, {spec.instance_cpus:g} CPUs, {spec.instance_mem_gib:g} GiB memory and "
        f"{spec.instance_disk_gib:g} GiB disk"
    )
    return (
        "jobs drawn evenly from the ranges of the SMD study",
        f"speed: parameter servers, {spec.updates} updates, transfers overlap {spec.overlap}; times of layers are per "
        f"{spec.forward_per} forward and per mini-batch backward",
        f"utility counts {unit}; the study gives no unit",
        f"limits: 1 to 20 instances of {instance}, raised where one worker and one server need more",
        "each job requests as many servers as workers, up to its limit",
    )
