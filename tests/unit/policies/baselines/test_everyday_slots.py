"""Everyday policies on free slots: which VMs are opened and when they are given back."""

from __future__ import annotations

from typing import Any

import pytest

from dlsched.domain.cluster import Cluster, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.workload import Workload
from dlsched.policies.registry import find
from dlsched.policies.shared.facts import JobKind
from dlsched.policies.shared.slots import cheapest_vm
from dlsched.sim.engine import run_engine
from dlsched.sim.prepare import prepare
from dlsched.testing.scenarios import free_slots
from tests.support.sim_fakes import jobs, scenario

SMALL, MIDDLE, LARGE = range(3)


def leases(key: str, workload: Workload, cluster: Cluster | None = None, **params: Any) -> list[tuple[int, ...]]:
    """Return (slot, VM type, from, to) of every lease."""
    spec = find(key)
    log = run_engine(prepare(scenario(workload, cluster or free_slots())), spec.build(spec.parse(params)))
    return list(zip(log.lease_node, log.lease_vm, log.lease_start_s, log.lease_end_s, strict=True))


def test_a_vm_lives_as_long_as_its_jobs():
    assert leases("fifo", jobs((0, 10, 2), (5, 10, 2))) == [(0, MIDDLE, 0, 15)]
    assert leases("fifo", jobs((0, 10, 4), (5, 10, 4))) == [(0, MIDDLE, 0, 10), (1, MIDDLE, 5, 15)]


def test_the_widest_job_so_far_sets_the_type():
    assert leases("fifo", jobs((0, 10, 2), (5, 10, 8), (6, 10, 1))) == [
        (0, MIDDLE, 0, 16),
        (1, LARGE, 5, 15),
    ]


def test_a_job_wider_than_every_type_takes_several_vms():
    assert leases("fifo", jobs((0, 10, 10))) == [(slot, MIDDLE, 0, 10) for slot in range(3)]


def test_the_type_can_be_given():
    assert leases("srtf", jobs((0, 10, 2)), vm_type="large") == [(0, LARGE, 0, 10)]
    with pytest.raises(InputError, match=r"'larg' is not among the cluster's machine types\. Try 'large'"):
        leases("srtf", jobs((0, 10, 2)), vm_type="larg")


def test_preemption_reuses_the_vm():
    assert leases("srtf", jobs((0, 100, 4), (10, 5, 4)), free_slots(1)) == [(0, MIDDLE, 0, 105)]


def test_slots_that_are_all_open_are_a_limit():
    assert leases("fifo", jobs((0, 10, 4), (0, 10, 4)), free_slots(1)) == [(0, MIDDLE, 0, 20)]


def test_backfill_opens_no_slot_the_head_is_promised():
    """Two slots of 4: the head wants 8 at 100; a long job would take the second slot, a short one may."""
    workload = jobs((0, 100, 4), (1, 10, 8), (2, 500, 4), (3, 50, 4))
    assert leases("easy-backfill", workload, free_slots(2), vm_type="middle") == [
        (0, MIDDLE, 0, 610),
        (1, MIDDLE, 3, 53),
        (1, MIDDLE, 100, 110),
    ]


def test_a_slot_that_empties_gets_the_type_the_next_job_needs():
    """Nothing else happens at 10: without another look b would wait for ever."""
    catalogue = (VmType(name="a", gpu_type="A", gpus=4), VmType(name="b", gpu_type="B", gpus=4))
    given = leases("fifo", jobs((0, 10, 4), (1, 10, 4), gpu_types=["A", "B"]), Cluster(slots=1, catalogue=catalogue))
    assert given == [(0, 0, 0, 10), (0, 1, pytest.approx(10), pytest.approx(20))]


def test_a_type_too_small_for_the_job_on_all_slots_is_not_chosen():
    catalogue = (VmType(name="cheap", gpus=4, usd_per_h=1.0), VmType(name="big", gpus=8, usd_per_h=9.0))
    assert leases("dlas", jobs((0, 10, 12)), Cluster(slots=2, catalogue=catalogue)) == [(0, 1, 0, 10), (1, 1, 0, 10)]


def kind(workers: int, gpu_types: str = "") -> JobKind:
    return JobKind(workers, (1.0, 0.0, 0.0, 0.0), "", gpu_types)


def test_cheapest_type_per_gpu():
    catalogue = (
        VmType(name="a1", gpu_type="A", gpus=1, usd_per_h=1.0),
        VmType(name="a4", gpu_type="A", gpus=4, usd_per_h=2.0),
        VmType(name="b8", gpu_type="B", gpus=8, usd_per_h=2.4),
        VmType(name="free", gpu_type="A", gpus=16),
        VmType(name="cpu", gpu_type="", gpus=0, usd_per_h=0.1),
    )

    def name(asked: JobKind, *seen: JobKind) -> str:
        vm = cheapest_vm(asked, [asked, *seen], catalogue, slots=99)
        return "" if vm is None else vm.name

    assert name(kind(1)) == "b8"  # 0.30 $ per GPU and hour
    assert name(kind(1, "A")) == "a4"
    assert name(kind(1, "A"), kind(9)) == "a4"  # the wide job takes any type: not its like
    assert name(kind(1, "A"), kind(9, "A")) == "free"  # without a price, but the only one that holds 9
    assert name(kind(99)) == "b8"  # none holds it whole
    assert name(kind(1, "C")) == ""
