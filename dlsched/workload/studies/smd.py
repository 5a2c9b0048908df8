"""Whole scenarios of jobs with parameter servers, as in the SMD study."""

from __future__ import annotations

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario, SimulationRules
from dlsched.workload.generators import draw, plain
from dlsched.workload.generators.server_jobs import UNIT, ServerJobsSpec, speed_of_server_jobs

__all__ = ["UTILITY_UNIT_S", "sample_server_jobs", "server_jobs_scenario"]

UTILITY_UNIT_S = {"async": 3600.0, "sync": 86_400.0}
"""Unit of time of the utility by kind of updates: in seconds every job of the study would be worth 0."""


def server_jobs_scenario(
    spec: ServerJobsSpec, seed: int = 0, name: str | None = None, options: SimulationRules | None = None
) -> Scenario:
    """Return the jobs of a specification on its units of capacity taken together; no prices.

    Without ``options`` the utility counts hours for asynchronous and days for synchronous updates.
    """
    plain_spec = plain(spec)
    unit_s = UTILITY_UNIT_S[spec.updates]
    return Scenario(
        workload=draw(plain_spec, seed),
        cluster=Cluster(pools=(Pool(vm=VmType(name="unit of capacity", **UNIT), count=spec.units),)),
        options=options or SimulationRules(placement="pool", utility_unit_s=unit_s, slot_s=spec.interval_s),
        speed=speed_of_server_jobs(spec),
        seed=seed,
        name=name or "Parameter-server jobs",
        data_kind="generated",
        generator=plain_spec,
        assumptions=assumptions_of(spec),
    )


def sample_server_jobs() -> Scenario:
    """Return the bundled sample: 50 asynchronous jobs, one batch, on three units of capacity."""
    return server_jobs_scenario(ServerJobsSpec(), 1, "Parameter-server jobs, 3 units").replace(data_kind="example")


def assumptions_of(spec: ServerJobsSpec) -> tuple[str, ...]:
    """Return what the drawn jobs take for granted, in words."""
    unit = "hours" if spec.updates == "async" else "days"
    instance = (
        f"{spec.instance_gpus:g} GPUs, {spec.instance_cpus:g} CPUs, {spec.instance_mem_gib:g} GiB memory and "
        f"{spec.instance_disk_gib:g} GiB disk"
    )
    return (
        "jobs drawn evenly from the ranges of the SMD study",
        f"speed: parameter servers, {spec.updates} updates, transfers overlap {spec.overlap}; times of layers are per "
        f"{spec.forward_per} forward and per mini-batch backward",
        f"utility counts {unit}; the study names no unit",
        f"limits: 1 to 20 instances of {instance}, raised where one worker and one server need more",
        "each job asks for as many servers as workers, as many as its limit holds",
    )
