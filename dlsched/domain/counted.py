"""Which resource counts for a scenario: the one that load, utilisation, lanes and cost are told in."""

from __future__ import annotations

import numpy as np

from dlsched.domain.cluster import Cluster, VmType, vm_capacity
from dlsched.domain.columns import CPU, GPU, MEM
from dlsched.domain.workload import Floats, Workload


def counted_resource(jobs: Workload, cluster: Cluster) -> int:
    """Return the index in RESOURCES of what counts: GPUs, else CPU cores, else memory.

    GPUs wherever a machine has some and a job asks for some, also beside CPU jobs and CPU nodes. Else the first of
    cores and memory that every machine states and a job asks for. GPUs where nothing limits the jobs at all. Cores go
    before memory even where memory is scarcer, so that the options of a question (more memory, other nodes) are
    counted alike; the load names the scarcest (:func:`dlsched.workload.import_report.offered_load`).
    """
    capacity = np.array([vm_capacity(vm) for vm in machines_of(cluster)])

    def counts(resource: int) -> bool:
        there = capacity[:, resource]
        return bool((jobs.requested[:, resource] > 0).any() and np.isfinite(there).all() and (there > 0).any())

    return next((resource for resource in (GPU, CPU, MEM) if counts(resource)), GPU)


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
