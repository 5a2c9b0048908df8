"""What there is for a group of jobs and what a worker takes of it, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.placement import Site, TrialPlacer
from dlsched.policies.shared.capacity import Amounts, amounts, most_ever, room
from dlsched.policies.shared.facts import JobKind
from dlsched.sim.world import LiveNodes
from tests.support.sim_fakes import jobs


def nodes_of(cluster: Cluster, *down: int) -> LiveNodes:
    """Return the nodes of a cluster in which some are down."""
    site = Site.of(jobs((0, 1, 1)), cluster, "pool")
    nodes = LiveNodes(cluster, site, TrialPlacer(site, site.capacity))
    for node in down:
        nodes.set_away(node, [Absence(node=node)])
    return nodes


def kind(gpus: float, cpus: float = 0.0, partition: str = "", gpu_types: str = "", workers: int = 1) -> JobKind:
    return JobKind(workers, (gpus, cpus, 0.0, 0.0), partition, gpu_types)


def found(cluster: Cluster, *kinds: JobKind, down: tuple[int, ...] = ()) -> Amounts:
    return amounts(list(kinds), nodes_of(cluster, *down), [None] * len(kinds))


TWO_SIZES = Cluster(pools=(Pool(vm=VmType(name="s", gpus=4, cpus=8.0), count=2), Pool(vm=VmType(name="l"), count=1)))


def test_capacity_is_in_gpus_of_the_nodes_that_are_up():
    got = found(TWO_SIZES, kind(1), kind(3), kind(0.5), down=(0,))
    assert got.capacity.tolist() == [12]
    assert got.cost.tolist() == [1, 3, 0.5]
    assert got.most.tolist() == [12, 1 + 2, 24]
    assert got.usable[0].tolist() == [False, True, True]


def test_cpus_limit_how_many_fit():
    got = found(TWO_SIZES, kind(1, 4.0), down=(2,))
    assert got.most.tolist() == [4]  # two a node: 8 CPUs by 4


def test_workers_without_gpus_have_a_decision_of_their_own_by_their_dominant_share():
    cluster = Cluster(pools=(Pool(vm=VmType(name="n", gpus=4, cpus=10.0), count=2),))
    got = found(cluster, kind(1), kind(0, 5.0), kind(0, 1.0))
    assert got.group.tolist() == [0, 1, 1]
    assert got.capacity.tolist() == [8, 8]
    assert got.cost.tolist() == pytest.approx([1, 8 * 5 / 20, 8 * 1 / 20])
    assert got.most.tolist() == [8, 4, 20]


def test_without_a_limit_many_fit_and_a_worker_still_takes_something():
    cluster = Cluster(pools=(Pool(vm=VmType(name="n", gpus=0), count=1),))
    got = found(cluster, kind(0, 5.0))
    assert got.capacity.tolist() == [1]
    assert 0 < got.cost[0] < 1e-6
    assert got.most[0] == 10**9


def test_partitions_and_gpu_types_bound_what_is_usable():
    pools = tuple(
        Pool(vm=VmType(name=name, gpu_type=name, gpus=2), count=1, partition=part)
        for name, part in (("a", ""), ("b", ""), ("c", "p"))
    )
    got = found(Cluster(pools=pools), kind(1), kind(1, gpu_types="b|x"), kind(1, partition="p"), kind(1, gpu_types="x"))
    assert got.group.tolist() == [0, 0, 1, 0]
    assert got.capacity.tolist() == [4, 2]
    assert got.most.tolist() == [4, 2, 2, 0]
    assert got.usable.tolist() == [[True, True, False], [False, True, False], [False, False, True], [False] * 3]


def test_empty_slots_count_as_what_the_widest_job_makes_of_them():
    small, large = VmType(name="s", gpus=2), VmType(name="l", gpus=8)
    nodes = nodes_of(Cluster(slots=3, catalogue=(small, large)), 2)
    got = amounts([kind(1, workers=2), kind(1, workers=6), kind(2, gpu_types="none")], nodes, [small, large, None])
    assert (got.empty, got.capacity.tolist()) == (2, [16])
    assert got.on_slot.tolist() == [2, 8, 0]
    assert got.most.tolist() == [4, 16, 0]


def test_what_all_nodes_could_ever_hold():
    nodes = nodes_of(TWO_SIZES, 2)
    assert most_ever(kind(3), nodes, ()) == 1 + 1 + 2
    slots = nodes_of(Cluster(slots=3, catalogue=(VmType(name="s", gpus=2), VmType(name="l", gpus=8))))
    assert most_ever(kind(1), slots, slots.vm_types) == 24
    assert most_ever(kind(1, gpu_types="none"), slots, slots.vm_types) == 0


def test_room_is_counted_node_by_node():
    assert room(kind(2), np.array([[3.0, 0, 0, 0], [3.0, 0, 0, 0]])) == 2
    assert room(kind(0.1), [[0.3, 0.0, 0.0, 0.0]]) == 3
