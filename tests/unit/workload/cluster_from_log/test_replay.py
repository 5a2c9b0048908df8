"""From a run on a known cluster to its log, from the log to the cluster, and to the same run again."""

import numpy as np

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Workload
from dlsched.studies.simulation import simulate
from dlsched.workload.cluster_from_log import cluster_of_log, held_by
from dlsched.workload.hostlist import expand

NODES = (  # name, GPUs, cores, GiB, partitions, nodes
    ("thin", 0, 12.0, 48.0, "a", "a[1-2]"),
    ("shared", 0, 8.0, 24.0, "a|b", "b[1-3]"),
    ("gpu", 2, 16.0, 64.0, "gpu", "c1"),
    ("rest", 0, 8.0, 24.0, "b", "d[1-4]"),
)
TRUE = Cluster(
    pools=tuple(
        Pool(
            vm=VmType(name=name, gpu_type="GPU" if gpus else "", gpus=gpus, cpus=cores, mem_gib=gib),
            count=len(expand(nodes)), partition=partitions, nodes=nodes,
        )
        for name, gpus, cores, gib, partitions, nodes in NODES
    )
)  # fmt: skip


def test_the_log_of_a_run_gives_back_its_cluster_and_the_run() -> None:
    """A busy cluster with partitions that overlap under EASY: every node was full at some time."""
    rng = np.random.default_rng(5)
    count = 500
    partition = rng.choice(["a", "b", "gpu"], count, p=[0.4, 0.5, 0.1])
    cores = np.where(partition == "gpu", 8.0, rng.choice([1, 2, 4, 8.0], count))
    jobs = Workload.from_columns(
        {
            "job_id": [f"j{row}" for row in range(count)],
            "submit_s": np.sort(np.floor(rng.uniform(0, 40_000, count))),
            "work": np.ceil(np.exp(rng.normal(7, 1, count))),
            "gpus_per_worker": (partition == "gpu").astype(float),
            "cpus_per_worker": cores,
            "mem_gib_per_worker": np.where(partition == "gpu", 32.0, cores * rng.choice([1.0, 3.0], count)),
            "partition": partition.astype(object),
        }
    )
    run = simulate(Scenario(jobs, TRUE), "easy-backfill")
    table = run.jobs.sort_values("row")
    names = np.array([name for *_, nodes in NODES for name in expand(nodes)], dtype=object)
    log = jobs.with_columns(
        recorded_start_s=table["first_start_s"].to_numpy(),
        recorded_end_s=table["left_s"].to_numpy(),
        recorded_nodes=names[run.segments.sort_values("row")["node"].to_numpy()],
    )
    held = held_by(log)
    assert held is not None
    found = cluster_of_log(held)
    assert found is not None
    assert [(p.vm.gpus, p.vm.cpus, p.vm.mem_gib, p.partition, p.nodes) for p in found.cluster.pools] == [
        (gpus, cores, gib, partitions, nodes) for _, gpus, cores, gib, partitions, nodes in NODES
    ]
    assert table["wait_s"].mean() > 600
    again = simulate(Scenario(log, found.cluster), "easy-backfill").jobs.sort_values("row")
    assert again["first_start_s"].tolist() == table["first_start_s"].tolist()
