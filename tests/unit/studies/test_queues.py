"""Queues of jobs and nodes, by hand."""

from __future__ import annotations

import numpy as np

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.workload import Workload
from dlsched.studies.queues import busiest_types, load_of, separate_queues


def cluster(**partition_of: str) -> Cluster:
    """Return one node of 4 cores for each name, in a partition."""
    pools = [Pool(vm=VmType(name=name, gpus=0, cpus=4), count=1, partition=of) for name, of in partition_of.items()]
    return Cluster(pools=tuple(pools))


def jobs(*rows: tuple[str, float, float]) -> Workload:
    """Return jobs of (partition, cores, seconds), one a second."""
    names, cores, work = zip(*rows, strict=True)
    return Workload.from_columns({
        "job_id": [f"j{row}" for row in range(len(rows))], "submit_s": np.arange(len(rows)), "work": work,
        "gpus_per_worker": np.zeros(len(rows)), "cpus_per_worker": cores, "partition": list(names),
    })  # fmt: skip


def test_partitions_that_share_a_node_share_a_queue() -> None:
    of_job, of_node = separate_queues(jobs(("p", 1, 1), ("q", 1, 1), ("r", 1, 1)), cluster(a="p", b="p|q", c="r"))
    assert of_job.tolist() == [0, 0, 2]
    assert of_node.tolist() == [0, 0, 2]


def test_types_of_the_busiest_queue_come_first() -> None:
    log = jobs(("p", 1, 10), ("q", 4, 10), ("r", 2, 10))
    assert busiest_types(log, cluster(a="p", b="q", c="r")) == ("b", "c", "a")
    assert busiest_types(log, cluster(a="p", b="p|q", c="r")) == ("a", "b", "c")  # 50 of 8, 20 of 4


def test_a_resource_that_is_not_stated_has_no_load() -> None:
    assert load_of(np.array([8.0, 4.0, 2.0]), np.array([4.0, np.inf, 0.0])).tolist() == [2, 0, 0]
