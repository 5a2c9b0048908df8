"""The load a job mix puts on a cluster, and the arrival rate for a wanted load."""

from __future__ import annotations

from dlsched.domain.cluster import Cluster
from dlsched.domain.errors import InputError, validated
from dlsched.workload.generators.arrivals import HOUR_S
from dlsched.workload.generators.mix import JobMixSpec


def expected_load(spec: JobMixSpec, cluster: Cluster) -> float:
    """Return the load in the mean over many draws, as ``workload.import_report.offered_load`` counts it for one.

    Raises
    ------
    InputError
        If the cluster has no GPUs.
    """
    if cluster.num_gpus == 0:
        raise InputError("load", "the cluster has no GPUs", "Add a pool of GPU nodes")
    return spec.arrivals.mean_jobs_per_h / HOUR_S * spec.mean_gpu_s / cluster.num_gpus


def scale_to_load(spec: JobMixSpec, cluster: Cluster, load: float) -> JobMixSpec:
    """Return the job mix with its arrivals sped up or slowed down to put ``load`` on the cluster, in the mean.

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
