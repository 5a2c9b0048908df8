"""The cluster that a log tells of: by hand, and on random logs every job fits and the record is within capacity."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.cluster import Cluster
from dlsched.domain.errors import InputError
from dlsched.domain.workload import RESOURCES, Workload
from dlsched.placement import can_ever_fit
from dlsched.workload.cluster_from_log import ClusterFound, cluster_of_log, held_by, most_at_once
from dlsched.workload.cluster_from_log.found import Node, cluster_of
from dlsched.workload.hostlist import expand


def log(*jobs: tuple[float, float, str, float, float, float], **columns: Any) -> Workload:
    """Return jobs of (start, end, nodes, GPUs, cores and GiB in all); one worker per GPU, else one per node."""
    count = [max(int(gpus), 1) if gpus else max(len(expand(nodes)), 1) for _, _, nodes, gpus, _, _ in jobs]
    return Workload.from_columns(
        {
            "job_id": [f"j{row}" for row in range(len(jobs))],
            "submit_s": np.arange(len(jobs)) * 0.001,
            "work": [max(end - start, 1.0) for start, end, *_ in jobs],
            "workers": count,
            "gpus_per_worker": [float(gpus > 0) for _, _, _, gpus, _, _ in jobs],
            "cpus_per_worker": [cores / n for (*_, cores, _), n in zip(jobs, count, strict=True)],
            "mem_gib_per_worker": [gib / n for (*_, gib), n in zip(jobs, count, strict=True)],
            "recorded_start_s": [start for start, *_ in jobs],
            "recorded_end_s": [end for _, end, *_ in jobs],
            "recorded_nodes": [nodes for _, _, nodes, *_ in jobs],
            **columns,
        }
    )


def found(jobs: Workload) -> ClusterFound:
    held = held_by(jobs)
    assert held is not None
    answer = cluster_of_log(held)
    assert answer is not None
    return answer


def kinds(cluster: Cluster) -> list[tuple[Any, ...]]:
    return [(p.nodes, p.count, p.vm.gpus, p.vm.cpus, p.vm.mem_gib, p.partition) for p in cluster.pools]


def test_the_most_held_at_once_on_each_node() -> None:
    """On n1 4 + 3 cores overlap, the third job starts as the first ends; the fourth holds half of 6 cores on each."""
    jobs = log(
        (0, 10, "n1", 0, 4, 8), (5, 20, "n1", 0, 3, 8), (10, 20, "n1", 0, 4, 7), (30, 40, "n[2-3]", 0, 6, 5),
    )  # fmt: skip
    assert kinds(found(jobs).cluster) == [("n1", 1, 0, 7.0, 16.0, ""), ("n[2-3]", 2, 0, 3.0, 3.0, "")]


def test_gpus_come_whole_and_as_the_workers_lie() -> None:
    """3 GPUs on 2 nodes: one of them held 2, and with them 2 of 3 parts of the 9 cores."""
    assert kinds(found(log((0, 10, "g1,g2", 3, 9, 0))).cluster) == [("g[1-2]", 2, 2, 6.0, None, "")]


def test_a_job_without_a_length_counts_alone() -> None:
    assert kinds(found(log((5, 5, "n1", 0, 4, 1), (5, 9, "n1", 0, 3, 1))).cluster) == [("n1", 1, 0, 4.0, 1.0, "")]


def test_nodes_are_in_the_partitions_whose_jobs_ran_there() -> None:
    jobs = log((0, 9, "n1", 0, 2, 1), (9, 10, "n1,n2", 0, 4, 2), (0, 9, "n3", 0, 2, 1), partition=["a", "b", "c"])
    assert [(p.nodes, p.partition) for p in found(jobs).cluster.pools] == [("n1", "a|b"), ("n2", "b"), ("n3", "c")]


def test_where_jobs_without_a_partition_ran_partitions_are_left_out() -> None:
    """n1 has jobs of a and none, n2 of a and b: neither a nor b can be kept, c can."""
    runs = [(0.0, 9.0, name, 0.0, 2.0, 1.0) for name in ("n1", "n1", "n2", "n2", "n3")]
    jobs = log(*runs, partition=["a", "", "a", "b", "c"])
    answer = found(jobs)
    assert [(p.nodes, p.partition) for p in answer.cluster.pools] == [("n[1-2]", ""), ("n3", "c")]
    assert any("Partitions" in note for note in answer.notes)


def test_the_gpu_type_of_most_jobs_is_taken() -> None:
    runs = [(0.0, 9.0, "g1", 1.0, 1.0, 1.0)] * 4
    answer = found(log(*runs, gpu_types=["a100", "a100", "h100", "a100|h100"]))
    assert answer.cluster.pools[0].vm.gpu_type == "a100"
    assert "g1" in answer.notes[-1]


def test_where_one_job_tells_no_cores_or_memory_they_are_no_limit() -> None:
    answer = found(log((0, 9, "n1", 1, 4, 0), (0, 9, "n1", 1, 0, 2)))
    assert kinds(answer.cluster) == [("n1", 1, 2, None, None, "")]
    assert len(answer.notes) == 2


def test_lists_that_cannot_be_read_are_counted() -> None:
    jobs = log((0, 9, "n1", 0, 4, 1), (0, 9, "n2", 0, 4, 1)).with_columns(recorded_nodes=["n1", "n[2-"])
    answer = found(jobs)
    assert answer.cluster.num_nodes == 1
    assert "Host lists that could not be read" in answer.notes[-1]


def test_a_log_without_nodes_tells_of_no_cluster() -> None:
    jobs = log((0, 9, "n1", 0, 4, 1))
    assert held_by(jobs.with_columns(recorded_nodes=None)) is None
    held = held_by(jobs.with_columns(recorded_nodes=["None assigned"]))
    assert held is not None
    assert cluster_of_log(held) is None


def test_where_jobs_accept_several_gpu_types_the_node_has_one_that_all_accept() -> None:
    runs = [(0.0, 9.0, "g1", 1.0, 1.0, 1.0)] * 3
    answer = found(log(*runs, gpu_types=["a100|h100", "a100|b200", ""]))
    assert answer.cluster.pools[0].vm.gpu_type == "a100"
    assert not answer.notes


@pytest.mark.parametrize(
    ("nodes", "gpus", "why"), [("n[1-90000],m[1-20000]", 0, "more than 100,000"), ("n1", 2000, "at most 1,024")]
)
def test_what_no_cluster_can_hold_is_refused(nodes: str, gpus: float, why: str) -> None:
    two = [*nodes.split(","), nodes.split(",")[0]][:2]
    held = held_by(log(*[(0, 9, "n1", gpus, 4, 1)] * 2).with_columns(recorded_nodes=two))
    assert held is not None
    with pytest.raises(InputError, match=why):
        cluster_of_log(held)


def test_names_of_node_types_differ_whatever_partitions_are_called() -> None:
    """Two kinds are called "4 cores, a" and one is in a partition of the name that would tell them apart."""
    kinds = [Node("n1", 4, 1, 0, "", "a"), Node("n2", 4, 1, 0, "b", "a"), Node("n3", 4, 2, 0, "", "a, type 1")]
    names = [pool.vm.name for pool in cluster_of(kinds).pools]
    assert len(set(names)) == 3


NODES = st.lists(st.sampled_from("abcd"), min_size=1, max_size=3)
JOB = st.tuples(
    st.integers(0, 20).map(float), st.integers(0, 9).map(float), NODES,
    st.integers(0, 5).map(float), st.sampled_from([0.5, 1, 3, 7]), st.sampled_from([0.1, 1, 2.5, 40]),
    st.sampled_from(["", "p", "q", "p|r"]),
)  # fmt: skip


@given(st.lists(JOB, min_size=1, max_size=12))
def test_the_record_is_within_the_cluster_and_every_job_fits(drawn: list[tuple[Any, ...]]) -> None:
    jobs = log(
        *((start, start + run, ",".join(names), gpus, cores, gib) for start, run, names, gpus, cores, gib, _ in drawn),
        partition=[entry for *_, entry in drawn],
    )
    cluster = found(jobs).cluster
    assert can_ever_fit(jobs, cluster, "best-fit").all()
    number = {name: node for node, name in enumerate(name for p in cluster.pools for name in expand(p.nodes))}
    assert jobs.recorded_start_s is not None
    assert jobs.recorded_end_s is not None
    assert jobs.recorded_nodes is not None
    for at in jobs.recorded_start_s.tolist():
        used = np.zeros((cluster.num_nodes, len(RESOURCES)))
        for row in np.flatnonzero((jobs.recorded_start_s <= at) & (at < jobs.recorded_end_s)):
            nodes = sorted({number[name] for name in expand(jobs.recorded_nodes[row])})
            used[nodes] += jobs.demand[row] * jobs.workers[row] / len(nodes)
        assert (used <= cluster.nodes.capacity + 1e-6).all()


spans = st.tuples(st.integers(0, 6), st.sampled_from([0, 1, 2, 5, np.nan]), st.sampled_from([0, 1, 3]))


@given(st.lists(spans, max_size=8))
def test_most_at_once_is_the_largest_sum_of_those_that_run(jobs: list[tuple[int, float, int]]):
    start_s, lasts_s, amount = np.array(jobs, dtype=float).reshape(-1, 3).T
    known = [(start, start + lasts, held) for start, lasts, held in jobs if lasts == lasts]
    sums = [sum(held for start, end, held in known if start <= at < end) for at, _, _ in known]
    assert most_at_once(start_s, start_s + lasts_s, amount) == max(sums, default=0)
