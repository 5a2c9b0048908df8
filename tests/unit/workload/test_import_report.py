"""Load, jobs that can never fit, what a cluster does not model; the default cluster."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import SpeedSpec
from dlsched.domain.workload import Workload
from dlsched.placement import can_ever_fit
from dlsched.workload.defaults import default_cluster, describe_default
from dlsched.workload.import_report import (
    Ledger,
    arrival_window_s,
    fit_of,
    in_seconds,
    loads_of,
    never_fit,
    offered_load,
    shares_at_once,
)
from tests.support.server_scenarios import machines, training, with_servers


def jobs(submit_s, work, gpus, **columns) -> Workload:
    names = [f"j{i}" for i in range(len(submit_s))]
    return Workload.from_columns({"job_id": names, "submit_s": submit_s, "work": work, "workers": gpus, **columns})


def nodes(count: int, gpus: int = 8, **pool) -> Cluster:
    return Cluster(pools=(Pool(vm=VmType(name="n", gpus=gpus), count=count, **pool),))


def test_load_by_hand():
    # asked 4 x 100 + 8 x 50 + 1 x 10 = 810 GPU-s; possible 2 nodes x 8 GPUs x (50 - 0) s = 800 GPU-s
    workload = jobs([0, 20, 50], [100, 50, 10], [4, 8, 1])
    assert offered_load(workload, nodes(2)) == 810 / 800
    assert arrival_window_s(workload) == 50


def test_all_at_once_uses_the_longest_run_time():
    workload = jobs([5, 5], [100, 50], [4, 8])  # 800 GPU-s over 100 s
    assert offered_load(workload, nodes(1)) == 1.0


def test_load_of_a_cluster_without_gpus_is_not_a_number():
    assert np.isnan(offered_load(jobs([0], [1], [1]), nodes(1, gpus=0)))


def cores(count: int, cpus: float, mem_gib: float | None = None) -> Cluster:
    return Cluster(pools=(Pool(vm=VmType(name="c", gpus=0, cpus=cpus, mem_gib=mem_gib), count=count),))


def test_load_of_cpu_jobs_is_that_of_the_scarcest_resource():
    # 2 workers x 4 cores x 100 s + 1 x 2 x 50 s = 900 core-seconds of 2 x 12 x 50; 8 and 40 GiB a worker
    workload = jobs([0, 50], [100, 50], [2, 1], gpus_per_worker=[0, 0], cpus_per_worker=[4, 2],
                    mem_gib_per_worker=[8, 40])  # fmt: skip
    assert offered_load(workload, cores(2, 12)) == pytest.approx(900 / 1200)
    assert offered_load(workload, cores(2, 12, 64)) == pytest.approx(900 / 1200)
    assert offered_load(workload, cores(2, 12, 32)) == pytest.approx((16 * 100 + 40 * 50) / (64 * 50))
    assert fit_of(workload, cores(2, 12)).load == pytest.approx(0.75)


def test_gpus_count_on_a_mixed_cluster():
    both = Cluster(pools=(Pool(vm=VmType(name="g", gpus=8, cpus=32), count=1), *cores(1, 12).pools))
    workload = jobs([0, 100], [100, 100], [4, 1], gpus_per_worker=[1, 0], cpus_per_worker=[1, 44])
    assert offered_load(workload, both) == pytest.approx(400 / 800)
    assert loads_of(workload, both)["cpus"] == pytest.approx(4800 / 4400)


@pytest.mark.parametrize(
    ("cpus", "work", "nodes_of_64", "size"),
    [
        pytest.param([64.0, 32.0], [1400, 1400], 2, 64, id="96 cores at once"),
        pytest.param([1.0, 1.0], [10, 10], 1, 64, id="one at least"),
        pytest.param([96.0, 4.0], [7, 7], 1, 96, id="a worker beyond 64 cores makes larger nodes"),
    ],
)
def test_jobs_without_gpus_get_nodes_of_cores(cpus, work, nodes_of_64, size):
    cluster = default_cluster(jobs([0, 1000], work, [1, 1], gpus_per_worker=[0, 0], cpus_per_worker=cpus))
    (pool,) = cluster.pools
    assert (pool.vm.gpus, pool.vm.cpus, pool.vm.mem_gib, pool.count) == (0, size, None, nodes_of_64)
    words = f"{nodes_of_64} x {size}-core node, the smallest number of {size}-core nodes that fits the largest job"
    assert describe_default(cluster).text.startswith(words)


def test_fit_names_what_the_cluster_does_not_follow():
    workload = jobs([0, 1, 2], [9, 9, 9], [4, 17, 1], partition=["a", "b", ""], cpus_per_worker=[1, 0, 2])
    fit = fit_of(workload, nodes(2))
    assert fit.never_fit == ("j1",) == never_fit(workload, nodes(2))
    assert [(f.reason, f.count) for f in fit.not_modelled] == [
        ("job names a partition", 2),
        ("job requests CPU cores", 2),
    ]
    mixed = Cluster(pools=(*nodes(1, partition="a").pools, *nodes(1).pools))
    assert [f.count for f in fit_of(workload, mixed).not_modelled] == [1, 2]


def test_a_ledger_adds_up():
    ledger = Ledger(4)
    bad = np.array([True, True, False, False])
    ledger.repair(bad, "r", "rule")
    ledger.drop(bad & np.array([True, False, False, False]), "d", "rule")
    ledger.drop(bad, "late", "rule", unreadable=False)
    report = ledger.report()
    assert report.counts == {"rows": 4, "kept": 2, "repaired": 0, "dropped": 2}
    assert [(f.reason, f.count) for f in report.of_kind("dropped")] == [("d", 1), ("late", 1)]
    assert report.as_dict()["findings"][0]["examples"][0] == {"line": 1, "value": ""}


# ---- default cluster -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("workload", "count"),
    [
        pytest.param(jobs([0, 1000], [10, 10], [1, 1]), 1, id="small: one node"),
        pytest.param(jobs([0, 1000], [10, 10], [1, 17]), 3, id="widest job: 17 GPUs = 3 nodes"),
        pytest.param(jobs([0, 1000], [700, 700], [8, 8]), 1, id="never both at once: 1 node is enough"),
        # 8 x 1400 / 1000 s = 11.2 GPUs at load 1 = 16 at load 0.7: exactly 2 nodes; a second more needs a third
        pytest.param(jobs([0, 0, 0, 1000], [350] * 4, [8] * 4), 2, id="load 0.7 exactly: 2 nodes"),
        pytest.param(jobs([0, 0, 0, 1000], [350, 350, 350, 351], [8] * 4), 3, id="a little more: 3 nodes"),
        pytest.param(jobs([0, 1, 2], [3600, 3600, 3600], [1, 1, 1]), 1, id="burst: no more than all at once"),
        pytest.param(jobs([0, 1], [9, 9], [3, 1], gpus_per_worker=[5, 1]), 3, id="5 GPUs a worker: one on each node"),
    ],
)
def test_default_cluster_by_hand(workload, count):
    cluster = default_cluster(workload)
    assert [(p.count, p.vm.name, p.vm.gpus, p.vm.usd_per_h) for p in cluster.pools] == [(count, "8-GPU node", 8, None)]


def test_a_worker_beyond_8_gpus_makes_larger_nodes():
    (pool,) = default_cluster(jobs([0], [9], [2], gpus_per_worker=[16])).pools
    assert (pool.count, pool.vm.name) == (2, "16-GPU node")


def test_gpu_types_get_pools():
    # "B" must be there for j1; j0 accepts it too, so "A" is not needed; j2 accepts any type
    workload = jobs([0, 1, 2], [9, 9, 9], [1, 9, 1], gpu_types=["A|B", "B", ""])
    pools = default_cluster(workload).pools
    assert {p.vm.gpu_type: p.count for p in pools} == {"B": 2, "GPU": 1}
    assert "1 x 8-GPU node" in describe_default(Cluster(pools=pools)).text


def test_the_largest_pool_ends_the_search():
    burst = jobs([0] * 60, [9] * 60, [20_000] * 60)  # 1.2 million GPUs at once = 150,000 nodes
    assert [p.count for p in default_cluster(burst).pools] == [100_000]


def test_no_jobs_and_too_many_nodes():
    with pytest.raises(InputError, match="has no jobs"):
        default_cluster(jobs([0], [1], [1]).head(0))
    with pytest.raises(InputError, match="the limit is 100,000"):
        default_cluster(jobs([0], [1], [10**6]))
    with pytest.raises(InputError, match="a node has at most 1,024"):
        default_cluster(jobs([0], [1], [1], gpus_per_worker=[2000]))


@st.composite
def workloads(draw):
    count = draw(st.integers(1, 8))

    def several(values):
        return draw(st.lists(values, min_size=count, max_size=count))

    return jobs(
        several(st.integers(0, 5000)),
        several(st.integers(1, 5000)),
        several(st.integers(1, 70)),
        gpus_per_worker=several(st.sampled_from([0.0, 0.3, 0.5, 1.0, 1.0, 3.0, 8.0, 9.0])),
        cpus_per_worker=several(st.sampled_from([1.0, 500.0])),
        gpu_types=several(st.sampled_from(["", "", "A", "B|A", "C|B"])),
        partition=several(st.sampled_from(["", "p"])),
    )


@given(workloads())
def test_the_default_cluster_holds_every_job(workload):
    cluster = default_cluster(workload)
    for rule in ("pool", "best-fit", "pack", "spread"):
        assert can_ever_fit(workload, cluster, rule).all()


def test_jobs_with_servers_count_load_in_seconds():
    # 10 steps of 6/2 + 1 + 2 = 6 s and 20 steps of 6/3 + 1 + 3 = 6 s; both at once, so the window is 120 s
    scenario = with_servers(training((0, 10, 2, 1), (0, 20, 3, 1)), machines(1, gpus=8, cpus=20.0))
    timed = in_seconds(scenario)
    assert timed.work.tolist() == [60, 120]
    assert arrival_window_s(timed) == 120
    assert offered_load(timed, scenario.cluster) == pytest.approx((2 * 60 + 3 * 120) / (8 * 120))
    # 5 CPUs of a, 7 of b; no node states memory, no job requests disk
    assert shares_at_once(timed, scenario.cluster) == pytest.approx({"gpus": 5 / 8, "cpus": 12 / 20})
    assert loads_of(timed, scenario.cluster) == pytest.approx({"gpus": 0.5, "cpus": (5 * 60 + 7 * 120) / (20 * 120)})


def test_a_request_beyond_the_limit_counts_with_the_fastest_width():
    scenario = with_servers(training((0, 10, 4, 1), limit_gpus=[3.0], min_workers=[1], max_workers=[4]))
    assert in_seconds(scenario).work.tolist() == [10 * (6 / 3 + 1 + 3)]  # steps of 8, 6 and 6 s with 1, 2 and 3 workers


def test_jobs_counted_in_seconds_stay_as_they_are():
    rigid = with_servers(training((0, 10, 2, 1)), speed=SpeedSpec())
    assert in_seconds(rigid) is rigid.workload
    no_servers = with_servers(jobs([0], [1], [70]))
    assert in_seconds(no_servers) is no_servers.workload  # no run is possible: the run says so


def test_resources_nobody_states_are_not_modelled_for_servers_too():
    scenario = with_servers(training((0, 10, 2, 1), (0, 10, 2, 1), disk_gib_per_server=[5.0, 0.0]), machines(1))
    found = fit_of(in_seconds(scenario), scenario.cluster).not_modelled
    assert [(one.reason, one.count) for one in found] == [("job requests disk", 1)]
    assert fit_of(scenario.workload, machines(1, cpus=4.0)).never_fit == ("a", "b")  # 2 workers and a server: 5 CPUs
