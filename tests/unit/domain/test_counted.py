"""Which resource counts for a scenario."""

from __future__ import annotations

import numpy as np
import pytest

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.counted import counted_capacity, counted_of_vm, counted_resource
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import CPU, GPU, MEM, Workload

GPU_NODE = VmType(name="gpu", gpus=8, cpus=96, mem_gib=1024)
CPU_NODE = VmType(name="cpu", gpus=0, cpus=12, mem_gib=64)
BARE_NODE = VmType(name="bare", gpus=8)
MEMORY_NODE = VmType(name="memory", gpus=0, mem_gib=64)


def jobs(gpus: float = 0.0, cpus: float = 0.0, mem_gib: float = 0.0) -> Workload:
    asked = {"gpus_per_worker": [gpus], "cpus_per_worker": [cpus], "mem_gib_per_worker": [mem_gib]}
    return Workload.from_columns({"job_id": ["a"], "submit_s": [0.0], "work": [60.0], "workers": [3]} | asked)


def cluster(*kinds: VmType) -> Cluster:
    return Cluster(pools=tuple(Pool(vm=kind, count=2) for kind in kinds))


@pytest.mark.parametrize(
    ("asked", "kinds", "counted"),
    [
        ({"gpus": 1.0, "cpus": 90.0}, (GPU_NODE,), GPU),
        ({"gpus": 1.0, "cpus": 4.0}, (GPU_NODE, CPU_NODE), GPU),
        ({"cpus": 4.0, "mem_gib": 60.0}, (CPU_NODE,), CPU),
        ({"cpus": 4.0}, (GPU_NODE, CPU_NODE), CPU),
        ({"gpus": 1.0, "cpus": 4.0}, (CPU_NODE,), CPU),  # the job can never fit; nothing counts GPUs there
        ({"mem_gib": 8.0}, (CPU_NODE,), MEM),
        ({"cpus": 4.0, "mem_gib": 8.0}, (MEMORY_NODE,), MEM),
        ({"cpus": 4.0}, (CPU_NODE, BARE_NODE), GPU),  # unlimited cores on some nodes: nothing binds
        ({"cpus": 4.0}, (BARE_NODE,), GPU),
    ],
)
def test_gpus_then_cores_then_memory(asked, kinds, counted):
    assert counted_resource(jobs(**asked), cluster(*kinds)) == counted
    assert Scenario(jobs(**asked), cluster(*kinds)).counted == counted


def test_pools_without_nodes_and_machine_types_for_rent():
    empty = Cluster(pools=(Pool(vm=CPU_NODE, count=1), Pool(vm=BARE_NODE, count=0)))
    assert counted_resource(jobs(cpus=2.0), empty) == CPU
    rented = Cluster(slots=4, catalogue=(CPU_NODE, VmType(name="large", gpus=0, cpus=64)))
    assert counted_resource(jobs(cpus=2.0), rented) == CPU


def test_capacity_by_machine_and_cores_on_the_cpu_nodes_of_a_gpu_cluster():
    mixed = cluster(GPU_NODE, CPU_NODE, MEMORY_NODE)
    assert counted_capacity(mixed, CPU).tolist() == [96.0, 12.0, 0.0]
    assert [counted_of_vm(vm, GPU) for vm in mixed.vm_types] == [GPU, CPU, GPU]
    assert [counted_of_vm(vm, CPU) for vm in mixed.vm_types] == [CPU, CPU, CPU]


def test_requested_counts_servers_and_gives_the_gpus_of_the_job():
    own = Workload.from_columns(
        {"job_id": ["a", "b"], "submit_s": [0.0, 0.0], "work": [1.0, 1.0], "workers": [3, 2], "servers": [2, 0]}
        | {"gpus_per_worker": [1.0, 0.5], "cpus_per_worker": [4.0, 1.0], "cpus_per_server": [8.0, 8.0]}
    )
    assert own.requested[:, CPU].tolist() == [28.0, 2.0]
    assert np.array_equal(own.requested[:, GPU], own.gpus)


@pytest.mark.parametrize(
    ("gpu_nodes", "gpu_jobs", "counted"),
    [(1, 1, CPU), (2, 1, GPU), (1, 2, GPU), (0, 1, CPU), (1, 0, CPU)],
    ids=["rare", "1 in 20 nodes", "1 in 20 jobs", "no GPU there", "no GPU requested"],
)
def test_a_few_gpus_do_not_speak_for_a_cluster_of_cores(gpu_nodes: int, gpu_jobs: int, counted: int):
    gpus = [1.0] * gpu_jobs + [0.0] * (40 - gpu_jobs)
    columns = {"job_id": [f"j{i}" for i in range(40)], "submit_s": [0.0] * 40, "work": [1.0] * 40}
    asked = Workload.from_columns(columns | {"gpus_per_worker": gpus, "cpus_per_worker": [2.0] * 40})
    nodes = Cluster(pools=(Pool(vm=GPU_NODE, count=gpu_nodes), Pool(vm=CPU_NODE, count=40 - gpu_nodes)))
    assert counted_resource(asked, nodes) == counted
    bare = Cluster(pools=(Pool(vm=GPU_NODE, count=1), Pool(vm=VmType(name="b", gpus=0), count=39)))
    assert counted_resource(asked, bare) == GPU  # no limit on cores there
