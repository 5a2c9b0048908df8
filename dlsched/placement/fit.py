"""Which jobs can never fit, whatever the policy does."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.cluster import Cluster, vm_capacity
from dlsched.domain.scenario import PlacementRule
from dlsched.domain.workload import Floats, Ints, Texts, Workload
from dlsched.placement.eligibility import Claims, eligible
from dlsched.placement.rules import ROOM_TOLERANCE
from dlsched.placement.site import Site
from dlsched.placement.trial import TrialPlacer


def can_ever_fit(workload: Workload, cluster: Cluster, rule: PlacementRule) -> NDArray[np.bool_]:
    """Return which jobs fit the whole empty cluster at their requested width, shape (jobs,).

    Absences are ignored. All four rules place a job on an empty cluster exactly when its workers fit one by one
    (best-fit splits what is larger than every node), so ``rule`` makes no difference today.
    """
    return largest_width(workload, cluster, rule) >= workload.workers


def largest_width(workload: Workload, cluster: Cluster, rule: PlacementRule) -> Ints:
    """Return the most workers of each job that fit the empty cluster, at most the requested, shape (jobs,)."""
    claims = Claims.of(workload)
    of_row = np.asarray(claims.of_row)
    widest = np.zeros(len(workload), dtype=np.int64)
    capacity, *told = _kinds(cluster)
    for number, claim in enumerate(claims.distinct):
        rows = np.flatnonzero(of_row == number)
        mask = eligible(claim, *told)
        kinds = _counted(capacity if mask is None else capacity[mask])
        widest[rows] = _workers_held(workload.demand[rows], workload.workers[rows], kinds, cluster)
    return _with_servers(workload, cluster, rule, widest) if workload.has_servers else widest


def _with_servers(workload: Workload, cluster: Cluster, rule: PlacementRule, widest: Ints) -> Ints:
    """Return the largest width of each job at which the empty cluster holds its servers too."""
    site = Site.of(workload, cluster, rule)
    empty = TrialPlacer(site, site.capacity)
    found = widest.copy()
    for row in np.flatnonzero(widest):
        while found[row] and not empty.fits(int(row), int(found[row])):
            found[row] -= 1
    return found


def _kinds(cluster: Cluster) -> tuple[Floats, Texts, Texts, Texts]:
    """Return capacity, partition, GPU type and features of every node, or of every VM type for rented slots."""
    if not cluster.free_slots:
        nodes = cluster.nodes
        return nodes.capacity, nodes.partition, nodes.gpu_type, nodes.features
    catalogue = cluster.catalogue
    capacity = np.array([vm_capacity(vm) for vm in catalogue])
    gpu_type = np.array([vm.gpu_type for vm in catalogue], dtype=object)
    blank = np.array([""] * len(catalogue), dtype=object)
    return capacity, blank, gpu_type, blank


def _counted(capacity: Floats) -> list[tuple[Floats, int]]:
    if not len(capacity):
        return []
    distinct, counts = np.unique(capacity, axis=0, return_counts=True)
    return list(zip(distinct, counts.tolist(), strict=True))


def _workers_held(demand: Floats, workers: Ints, kinds: list[tuple[Floats, int]], cluster: Cluster) -> Ints:
    """Return how many workers all nodes hold; on rented slots every slot takes the type that holds most."""
    total, asked = np.zeros(len(demand)), np.flatnonzero(demand.any(axis=0))
    for capacity, count in kinds:
        per_node = workers.astype(np.float64)
        for resource in asked:
            with np.errstate(divide="ignore", invalid="ignore"):
                room = np.floor((capacity[resource] + ROOM_TOLERANCE) / demand[:, resource])
            np.minimum(per_node, room, out=per_node, where=demand[:, resource] > 0)
        total = np.maximum(total, cluster.slots * per_node) if cluster.free_slots else total + count * per_node
    return np.minimum(total, workers).astype(np.int64)
