"""Numbers of clusters without GPUs, and of mixed ones, by hand; the audit finds the same by code of its own."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import dlsched
from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.domain.truth import Truth
from dlsched.domain.workload import CPU, GPU, Workload
from dlsched.metrics.blockers import _longest
from dlsched.metrics.job_classes import size_classes, sized_by, sizes_of
from dlsched.metrics.run_facts import RunFacts
from dlsched.metrics.stats.basis import EXACT_BASIS
from dlsched.metrics.stats.compare import compare
from dlsched.metrics.summary import summarise
from dlsched.metrics.tables import jobs_of, segments_of, series_of
from dlsched.sim.audit import check_metrics
from dlsched.sim.log import RunLog
from dlsched.wording.counted import COUNTED, GPUS
from dlsched.wording.resources import asked_words
from dlsched.workload.import_report import loads_of, offered_load
from tests.support.logs import Ran, facts_inputs
from tests.support.tables import jobs_table, nodes_table

CORES = COUNTED[CPU]
CPU_NODE = VmType(name="cpu", gpus=0, cpus=12, mem_gib=64, usd_per_h=3600.0)  # $1/s
GPU_NODE = VmType(name="gpu", gpus=8, cpus=32, mem_gib=512, usd_per_h=36_000.0)


def jobs(gpus: list[float], cpus: list[float], mem_gib: list[float]) -> Workload:
    asked = {"gpus_per_worker": gpus, "cpus_per_worker": cpus, "mem_gib_per_worker": mem_gib}
    names = [f"j{i}" for i in range(len(gpus))]
    return Workload.from_columns({"job_id": names, "submit_s": [0.0] * len(gpus), "work": [10.0] * len(gpus)} | asked)


def cluster(*kinds: VmType) -> Cluster:
    return Cluster(pools=tuple(Pool(vm=kind, count=1) for kind in kinds))


def audited(inputs: tuple[Scenario, Truth, RunLog], metrics: Any) -> list[str]:
    return check_metrics(*inputs, metrics, jobs_table(*inputs), nodes_table(*inputs))


def test_a_cluster_of_cores_by_hand():
    # 12 cores for 20 s = 240 core-seconds up; held 4 x 10 + 6 x 20 = 160, of which 6 x 5 are a restart
    scenario = Scenario(jobs([0.0, 0.0], [4.0, 6.0], [8.0, 8.0]), cluster(CPU_NODE))
    inputs = facts_inputs(scenario, [Ran(0, 0, 10, {0: 1}), Ran(1, 0, 20, {0: 1}, progress_from_s=5.0)])
    metrics = summarise(*inputs)
    assert metrics["allocation_ratio"] == pytest.approx(160 / 240)
    assert metrics["goodput"] == pytest.approx(130 / 160)
    assert metrics["gpu_hours_up"] == pytest.approx(240 / 3600)
    assert metrics["gpu_hours_held"] == pytest.approx(160 / 3600)
    assert metrics["gpu_hours_idle"] == pytest.approx(80 / 3600)
    assert metrics["usd_per_useful_gpu_h"] == pytest.approx(20 / (130 / 3600))
    assert metrics["idle_cost"] == 0.0
    assert metrics["spare_cost"] == pytest.approx(20 - 160 / 12)
    assert metrics["restart_cost"] == pytest.approx(30 / 12)
    assert metrics["total_cost_bound"] == pytest.approx((4 + 6) * 10 / 12)
    assert metrics["fairness_max"] is not None
    assert audited(inputs, metrics) == []
    assert any("allocation_ratio" in found for found in audited(inputs, metrics | {"allocation_ratio": 0.5}))


def test_tables_of_a_cluster_of_cores():
    scenario = Scenario(jobs([0.0, 0.0], [4.0, 6.0], [8.0, 8.0]), cluster(CPU_NODE))
    facts = RunFacts(*facts_inputs(scenario, [Ran(0, 0, 10, {0: 1}), Ran(1, 0, 20, {0: 1})]))
    series, pieces, table = series_of(facts), segments_of(facts), jobs_of(facts)
    assert series[["time_s", "gpus_held", "gpus_up"]].to_numpy().tolist()[0] == [0.0, 10.0, 12.0]
    assert pieces[["gpus", "cpus", "mem_gib"]].to_numpy().tolist() == [[0.0, 4.0, 8.0], [0.0, 6.0, 8.0]]
    assert table[["gpus", "cpus", "mem_gib", "gpu_s"]].to_numpy().tolist() == [[0, 4, 8, 40], [0, 6, 8, 120]]


def test_memory_counts_where_no_node_states_its_cores():
    bare = VmType(name="m", gpus=0, mem_gib=64, usd_per_h=3600.0)
    inputs = facts_inputs(Scenario(jobs([0.0], [4.0], [16.0]), cluster(bare)), [Ran(0, 0, 10, {0: 1})])
    metrics = summarise(*inputs)
    assert metrics["allocation_ratio"] == pytest.approx(0.25)
    assert metrics["spare_cost"] == pytest.approx(7.5)
    assert audited(inputs, metrics) == []


def test_gpus_count_on_a_mixed_cluster_and_cpu_jobs_hold_none():
    # 4 of 8 GPUs for 10 s; the CPU job holds 6 of 12 cores of the other node for 10 s at $1/s
    scenario = Scenario(jobs([4.0, 0.0], [4.0, 6.0], [8.0, 8.0]), cluster(GPU_NODE, CPU_NODE))
    inputs = facts_inputs(scenario, [Ran(0, 0, 10, {0: 1}), Ran(1, 0, 10, {1: 1})])
    metrics = summarise(*inputs)
    assert [metrics["allocation_ratio"], metrics["goodput"]] == pytest.approx([0.5, 1.0])
    assert metrics["spare_cost"] == pytest.approx(100 / 2 + 10 / 2)
    assert audited(inputs, metrics) == []


@pytest.mark.parametrize("policy", ["fifo", "easy-backfill", "las"])
def test_runs_of_cpu_and_mixed_clusters_pass_their_audit(policy: str):
    own = jobs([0.0, 0.0, 0.0, 1.0], [6.0, 9.0, 12.0, 2.0], [60.0, 30.0, 1.0, 4.0])
    for kinds in ((CPU_NODE,), (CPU_NODE, GPU_NODE)):
        shown = own.select(slice(0, 3)) if len(kinds) == 1 else own
        run = dlsched.simulate(Scenario(shown, cluster(*kinds)), policy)
        assert run.audit() == []
        assert run.metrics["completed"] == len(shown)
        assert isinstance(run.jobs, pd.DataFrame)


def test_a_comparison_tells_use_in_what_counts():
    runs = [(name, {"allocation_ratio": 0.5, "usd_per_useful_gpu_h": 0.05}) for name in ("A", "B")]
    rows = compare(runs, "A", basis=EXACT_BASIS, keys=("allocation_ratio", "usd_per_useful_gpu_h"), counted=CORES).rows
    assert [row.kpi.label for row in rows] == ["Cores allocated", "Cost per useful core-hour"]
    assert rows[1].of("A").text == "$0.05/core-h"


def test_classes_of_size_are_of_cores_where_no_job_has_gpus():
    cores = pd.DataFrame({"gpus": [0.0, 0.0, 0.0], "cpus": [1.0, 6.0, 48.0], "mem_gib": [0.0, 0.0, 0.0]})
    assert sized_by([cores]) == CORES
    assert size_classes(sizes_of(cores, CORES), CORES)[0].tolist() == ["1 core", "5–8 cores", "more than 16 cores"]
    told = cores.assign(gpus=cores["cpus"], counted=CPU)  # as the pages tell a cluster of cores
    assert sized_by([told]) == CORES
    mixed = pd.DataFrame({"gpus": [4.0, 6.0], "cpus": [8.0, 6.0], "counted": [GPU, CPU]})
    assert sized_by([mixed]) == GPUS
    assert sizes_of(mixed, GPUS).tolist() == [4.0, 0.0]


def test_blockers_and_a_refusal_name_cores():
    table = pd.DataFrame({"job_id": ["a", "b"], "row": [0, 1], "gpus": [12.0, 1.0], "counted": [CPU, CPU]})
    assert _longest(pd.Series({0: 5.0, 1: 2.0}), table).words == "jobs a (12 cores) and b (1 core)"
    wide = Scenario(jobs([0.0, 0.0], [4.0, 16.0], [8.0, 8.0]), cluster(CPU_NODE))
    with pytest.raises(InputError, match=r"1 nodes with 12 cores in total\); the largest is 'j1' with 16 cores"):
        dlsched.simulate(wide, "fifo")


def test_the_audit_finds_the_same_resource_where_gpus_are_rare():
    count = 25
    own = jobs([8.0] + [0.0] * (count - 1), [4.0] * count, [1.0] * count)
    pools = (Pool(vm=GPU_NODE, count=1), Pool(vm=CPU_NODE, count=count - 1))
    inputs = facts_inputs(Scenario(own, Cluster(pools=pools)), [Ran(i, 0, 10, {i: 1}) for i in range(count)])
    metrics = summarise(*inputs)
    assert metrics["allocation_ratio"] == pytest.approx(count * 4 / (32 + 24 * 12))
    assert audited(inputs, metrics) == []
    scenario = inputs[0]
    assert loads_of(scenario.workload, scenario.cluster)["gpus"] > offered_load(scenario.workload, scenario.cluster)
    assert asked_words(scenario).endswith("of cores")
