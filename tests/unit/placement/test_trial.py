"""The trial placer: taking, giving back, claims on nodes, VM slots, messages."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.errors import PlanError
from dlsched.domain.plan import Share
from dlsched.domain.workload import Workload
from dlsched.placement import Site, TrialPlacer, can_ever_fit, largest_width
from tests.support.sim_fakes import jobs, nodes


def placer(workload, cluster, rule="best-fit"):
    site = Site.of(workload, cluster, rule)
    return TrialPlacer(site, site.capacity, now_s=120.0)


def test_place_takes_and_release_gives_back():
    trial = placer(jobs((0, 1, 5), (0, 1, 4)), nodes(1))
    shares = trial.place(0, 5)
    assert shares == (Share(0, 5),)
    assert not trial.fits(1, 4)
    assert trial.place(1, 4) is None
    other = trial.copy()
    other.release(0, shares)
    assert other.fits(1, 4)
    assert not trial.fits(1, 4)


def test_overbooking_names_time_node_resource_use_capacity_and_job():
    trial = placer(jobs((0, 1, 5), (0, 1, 4)), nodes(1))
    trial.place(0, 5)
    with pytest.raises(PlanError, match=r"At 120 s: job 'b' requests 4 GPUs on node 0, which would use 9 of 8\."):
        trial.take(1, (Share(0, 4),))


def test_partitions_are_exclusive():
    vm = VmType(name="vm", gpus=8)
    cluster = Cluster(pools=(Pool(vm=vm, count=1, partition="x"), Pool(vm=vm, count=1), Pool(vm=vm, count=1)))
    workload = jobs((0, 1, 8), (0, 1, 8), (0, 1, 8), (0, 1, 16), partition=["x", "", "elsewhere", "x"])
    trial = placer(workload, cluster)
    assert trial.place(0, 8) == (Share(0, 8),)
    assert trial.place(1, 8) == (Share(1, 8),)
    assert trial.place(2, 8) == (Share(2, 8),)
    with pytest.raises(PlanError, match=r"job 'd' \(partition x, GPU types any\) may not use node 1 \(partition none"):
        trial.take(3, (Share(1, 8),))
    assert can_ever_fit(workload, cluster, "best-fit").tolist() == [True, True, True, False]


def test_partitions_overlap():
    """Node 0 is in x and y, node 1 in y, node 2 in none: a job may use every node that is in one of its partitions."""
    vm = VmType(name="vm", gpus=8)
    cluster = Cluster(pools=tuple(Pool(vm=vm, count=1, partition=entry) for entry in ("x | y", "y", "")))
    wanted = ["x", "y", "x|y", "z|y", "z", ""]
    site = Site.of(jobs(*[(0, 1, 1)] * len(wanted), partition=wanted), cluster, "pool")
    allowed = [np.flatnonzero(np.asarray(site.allowed(row))).tolist() for row in range(len(wanted))]
    assert allowed == [[0], [0, 1], [0, 1], [0, 1], [2], [2]]
    wide = jobs((0, 1, 16), (0, 1, 16), (0, 1, 24), partition=["x", "y", "x|y"])
    assert largest_width(wide, cluster, "pool").tolist() == [8, 16, 16]


def test_features_are_obeyed():
    """Node 0 has ib, node 1 ib and big, node 2 none: all that are joined by & are needed, one of those joined by |."""
    vm = VmType(name="vm", gpus=8)
    pools = tuple(Pool(vm=vm, count=1, features=entry) for entry in ("ib", "big | ib", ""))
    wanted = ["", "ib", "big & ib", "big|fast", "big&fast", "fast", "&|"]
    workload = jobs(*[(0, 1, 1)] * len(wanted), features=wanted)
    site = Site.of(workload, Cluster(pools=pools), "pool")
    masks = [site.allowed(row) for row in range(len(wanted))]
    allowed = [[0, 1, 2] if mask is None else np.flatnonzero(mask).tolist() for mask in masks]
    assert allowed == [[0, 1, 2], [0, 1], [1], [1], [], [], [0, 1, 2]]
    fits = can_ever_fit(workload, Cluster(pools=pools), "best-fit")
    assert fits.tolist() == [True, True, True, True, False, False, True]
    with pytest.raises(PlanError, match=r"features big & ib\) may not use node 0 \(.*features ib\)"):
        placer(workload, Cluster(pools=pools)).take(2, (Share(0, 1),))
    unknown = Cluster(pools=(Pool(vm=vm, count=3),))
    assert can_ever_fit(workload, unknown, "best-fit").all()


def test_a_partition_no_pool_has_means_nothing():
    workload = jobs((0, 1, 8), partition=["x"])
    assert placer(workload, nodes(1)).fits(0, 8)


def test_gpu_types_are_obeyed_and_unknown_ones_never_fit():
    pools = tuple(Pool(vm=VmType(name=name, gpu_type=name, gpus=4), count=1) for name in ("V100", "A100"))
    workload = jobs((0, 1, 1), (0, 1, 1), (0, 1, 1), gpu_types=["A100|H100", "H100", ""])
    trial = placer(workload, Cluster(pools=pools))
    assert trial.place(0, 1) == (Share(1, 1),)
    assert not trial.fits(1, 1)
    assert can_ever_fit(workload, Cluster(pools=pools), "pack").tolist() == [True, False, True]


def test_fractional_gpus_share_a_node_and_an_emptied_node_is_exactly_empty():
    workload = Workload.from_columns(
        {"job_id": list("abcd"), "submit_s": [0.0] * 4, "work": [1.0] * 4, "gpus_per_worker": [1 / 3, 1 / 3, 1 / 3, 1]}
    )
    trial = placer(workload, nodes(1, gpus=1))
    for row in range(3):
        assert trial.place(row, 1) == (Share(0, 1),)
    assert not trial.fits(0, 1)
    for row in (1, 0, 2):
        trial.release(row, (Share(0, 1),))
    assert trial.free[0, 0] == 1.0


def test_cpu_jobs_go_where_cpus_are_and_anywhere_when_cpus_are_not_modelled():
    columns = {"job_id": ["a"], "submit_s": [0.0], "work": [1.0], "gpus_per_worker": [0.0], "cpus_per_worker": [4.0]}
    workload = Workload.from_columns(columns)
    assert placer(workload, nodes(1)).fits(0, 1)
    assert not placer(workload, nodes(1, cpus=3.0)).fits(0, 1)
    assert can_ever_fit(workload, nodes(1, cpus=3.0), "best-fit").tolist() == [False]


def test_open_puts_a_vm_on_an_empty_slot_of_the_trial_only():
    cluster = Cluster(slots=2, catalogue=(VmType(name="small", gpus=2), VmType(name="big", gpus=4, gpu_type="A100")))
    workload = jobs((0, 1, 3), gpu_types=["A100"])
    trial = placer(workload, cluster)
    other = trial.copy()
    assert not trial.fits(0, 3)
    trial.open(1, "big")
    assert trial.place(0, 3) == (Share(1, 3),)
    assert not other.fits(0, 3)
    with pytest.raises(PlanError, match=r"slot 1 already has a machine"):
        trial.open(1, "small")
    with pytest.raises(PlanError, match=r"'huge' is not in the catalogue. Known: small, big"):
        trial.open(0, "huge")


def test_free_slots_can_all_take_the_type_that_holds_most():
    cluster = Cluster(slots=2, catalogue=(VmType(name="small", gpus=2), VmType(name="big", gpus=4)))
    workload = jobs((0, 1, 8), (0, 1, 9))
    assert can_ever_fit(workload, cluster, "best-fit").tolist() == [True, False]
    assert largest_width(workload, cluster, "best-fit").tolist() == [8, 8]


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 3)), min_size=1, max_size=3),
    st.integers(1, 14),
    st.sampled_from([0.5, 1.0, 2.0]),
    st.sampled_from(["pool", "best-fit", "pack", "spread"]),
)
def test_can_ever_fit_equals_placing_on_the_empty_cluster(pools, workers, gpus_per_worker, rule):
    kinds = tuple(Pool(vm=VmType(name=f"v{n}", gpus=g), count=c) for n, (g, c) in enumerate(pools))
    if not sum(count for _, count in pools):
        return
    cluster = Cluster(pools=kinds)
    workload = jobs((0, 1, workers), gpus_per_worker=[gpus_per_worker])
    fits = bool(can_ever_fit(workload, cluster, rule)[0])
    assert fits == placer(workload, cluster, rule).fits(0, workers)
    assert isinstance(largest_width(workload, cluster, rule), np.ndarray)
