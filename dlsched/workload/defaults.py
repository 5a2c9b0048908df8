"""The cluster that a trace gets when none has been described."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from dlsched.domain.assumptions import Assumption
from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.workload import CPU, GPU, Workload
from dlsched.workload.cluster_from_log import most_at_once
from dlsched.workload.import_report import Bools, arrival_window_s

TARGET_LOAD = 0.7
NODE_GPUS, NODE_CORES = 8, 64
LARGEST_POOL = 100_000
LARGEST_NODE_GPUS, LARGEST_NODE_CORES = 1024, 100_000
ANY_GPU = "GPU"


def default_cluster(workload: Workload) -> Cluster:
    """Return the fewest 8-GPU nodes that hold the largest job and keep the load at or below 0.7.

    Load is that of :func:`dlsched.workload.import_report.offered_load`, but never more nodes than would run every
    job the moment it is submitted, nor more than 100,000. CPUs and memory are no limit, there are no prices and no
    partitions. Jobs with GPU-type constraints get pools of their own: each distinct constraint goes to a type
    already chosen for another one if it accepts it, else to the first type it names; jobs that accept any type have
    a pool of type "GPU". A worker that needs more than 8 GPUs makes the nodes that large.

    Where no job asks for a GPU or names a GPU type, the same rule gives nodes of 64 cores, whose memory is no limit.

    Raises
    ------
    InputError
        Without jobs, or when a job needs more than 100,000 nodes.
    """
    if not len(workload):
        raise InputError("workload", "has no jobs, so no cluster can be chosen for it", "Choose a trace with jobs")
    named_types = workload.gpu_types is not None and (workload.gpu_types != "").any()
    if not workload.gpus_per_worker.any() and workload.requested[:, CPU].any() and not named_types:
        return Cluster(pools=(_pool(workload, np.ones(len(workload), dtype=bool), "", CPU),))
    pools = [_pool(workload, rows, gpu_type, GPU) for gpu_type, rows in _rows_by_type(workload).items()]
    return Cluster(pools=tuple(pools))


def describe_default(cluster: Cluster) -> Assumption:
    """Return the assumption behind a default cluster: what it is, and the rule it follows."""
    parts = ", ".join(f"{pool.count} x {pool.vm.name}" for pool in cluster.pools)
    named = sorted({(pool.vm.gpus, pool.vm.cpus or 0.0) for pool in cluster.pools})
    sizes = " and ".join(f"{gpus}-GPU" if gpus else f"{cores:g}-core" for gpus, cores in named)
    rule = f"the smallest number of {sizes} nodes that fits the largest job at load {TARGET_LOAD:g}"
    return Assumption(kind="default-cluster", text=f"{parts}, {rule}")


def _rows_by_type(workload: Workload) -> dict[str, Bools]:
    """Return GPU type -> mask of the jobs its pool is sized for; every job is in exactly one mask."""
    if workload.gpu_types is None:
        return {ANY_GPU: np.ones(len(workload), dtype=bool)}
    which, constraints = pd.factorize(workload.gpu_types, sort=True)
    accepted = {index: [t for t in text.split("|") if t] for index, text in enumerate(constraints)}
    chosen: dict[int, str] = {}
    for index in sorted(accepted, key=lambda i: len(accepted[i])):  # the least flexible choose first
        types = accepted[index]
        shared = [t for t in types if t in chosen.values()]
        chosen[index] = (shared or types or [ANY_GPU])[0]
    return {t: np.isin(which, [i for i, c in chosen.items() if c == t]) for t in sorted(set(chosen.values()))}


def _pool(workload: Workload, rows: Bools, gpu_type: str, resource: int) -> Pool:
    """Return the pool of these jobs, sized by their GPUs or their cores (index in RESOURCES)."""
    smallest, most, word = (
        (NODE_GPUS, LARGEST_NODE_GPUS, "GPU") if resource == GPU else (NODE_CORES, LARGEST_NODE_CORES, "core")
    )
    per_worker, workers = workload.demand[rows, resource], workload.workers[rows]
    node_size = max(smallest, math.ceil(per_worker.max()))
    if node_size > most:
        what = f"a worker that needs {node_size:,} {word}s"
        raise InputError(what, f"a node has at most {most:,}", "Correct or drop the job")
    on_one_node = np.where(per_worker > 0, np.floor(node_size / np.where(per_worker > 0, per_worker, 1) + 1e-9), np.inf)
    widest = int(np.ceil(workers / on_one_node).max())
    asked, work, submit_s = workload.requested[rows, resource], workload.work[rows], workload.submit_s[rows]
    for_load = float(asked @ work) / arrival_window_s(workload) / TARGET_LOAD
    for_all = most_at_once(submit_s, submit_s + work, asked)  # if every job starts when submitted
    if widest > LARGEST_POOL:
        why = f"the largest job would need {widest:,} nodes of {node_size} {word}s; the limit is {LARGEST_POOL:,}"
        raise InputError("default cluster", why, f"Correct the {word} counts")
    wanted = min(for_load, for_all, LARGEST_POOL * node_size)
    count = max(1, widest, math.ceil(wanted / node_size - 1e-9))
    if resource == CPU:
        return Pool(vm=VmType(name=f"{node_size}-core node", gpu_type="", gpus=0, cpus=node_size), count=count)
    name = f"{node_size}-GPU node" if gpu_type == ANY_GPU else f"{node_size}-GPU {gpu_type} node"[:80]
    return Pool(vm=VmType(name=name, gpu_type=gpu_type[:80], gpus=node_size), count=count)
