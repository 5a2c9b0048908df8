"""Which resource counts for a scenario: the one that load, utilisation, lanes and cost are told in."""

from __future__ import annotations

import numpy as np

from dlsched.domain.cluster import Cluster, VmType, vm_capacity
from dlsched.domain.columns import CPU, GPU, MEM
from dlsched.domain.workload import Floats, Workload

RARE = 0.05
"""GPUs that fewer nodes have and fewer jobs ask for than this share do not speak for a cluster of cores."""


def counted_resource(jobs: Workload, cluster: Cluster) -> int:
    """Return the index in RESOURCES of what counts: GPUs, else CPU cores, else memory.

    GPUs wherever a machine has some and a job asks for some, also beside CPU jobs and CPU nodes, unless GPUs are rare
    (:data:`RARE`) and cores or memory count. These count where every machine states them and a job asks for them, cores
    first. GPUs where nothing limits the jobs at all. Cores go
    before memory even where memory is scarcer, so that the options of a question (more memory, other nodes) are
    counted alike; the load names the scarcest (:func:`dlsched.workload.import_report.offered_load`).
    """
    capacity = np.array([vm_capacity(vm) for vm in machines_of(cluster)])

    def counts(resource: int) -> bool:
        there = capacity[:, resource]
        return bool((jobs.requested[:, resource] > 0).any() and np.isfinite(there).all() and (there > 0).any())

    others = next((resource for resource in (CPU, MEM) if counts(resource)), GPU)
    return others if not counts(GPU) or _gpus_are_rare(jobs, cluster) else GPU


def _gpus_are_rare(jobs: Workload, cluster: Cluster) -> bool:
    """Whether hardly any node has GPUs and hardly any job asks for some."""
    kinds = [(1, vm) for vm in cluster.catalogue] or [(pool.count, pool.vm) for pool in cluster.pools]
    of_nodes = sum(many for many, vm in kinds if vm.gpus) / sum(many for many, _ in kinds)
    return of_nodes < RARE and float((jobs.gpus_per_worker > 0).mean()) < RARE


def machines_of(cluster: Cluster) -> tuple[VmType, ...]:
    """Return the machine types that a cluster has or may rent."""
    return cluster.catalogue if cluster.free_slots else tuple(pool.vm for pool in cluster.pools if pool.count)


def counted_of_vm(vm: VmType, counted: int) -> int:
    """Return what counts on one machine type: the counted resource, and cores on the CPU nodes of a GPU cluster."""
    without_gpus = counted == GPU and not vm.gpus
    return CPU if without_gpus and vm.cpus else counted


def counted_capacity(cluster: Cluster, counted: int) -> Floats:
    """Return the counted resource of each machine type, shape (VM types,); 0 where it is not stated."""
    capacity = np.array([vm_capacity(vm)[counted] for vm in cluster.vm_types], dtype=float)
    return np.where(np.isfinite(capacity), capacity, 0.0)
