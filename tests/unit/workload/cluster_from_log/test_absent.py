"""Times at which nodes were probably absent: idle for long although jobs that fit waited."""

from collections.abc import Mapping
from dataclasses import replace

from dlsched.domain.workload import Workload
from dlsched.workload.cluster_from_log import ClusterFound, cluster_of_log, held_by
from dlsched.workload.cluster_from_log.absent import with_absences

Row = tuple[float, float, float, str, float, str]
"""Submission, start, end, node, cores, partition."""
LOG: dict[str, Row] = {
    "a": (0, 0, 20_000, "n1", 4, "p"),
    "b": (0, 0, 1_000, "n2", 4, "p"),
    "c": (900, 9_000, 12_000, "n2", 4, "p"),
    "d": (13_000, 15_000, 16_000, "n2", 4, "p"),
    "other": (0, 5_000, 6_000, "m1", 4, "q"),
}


def jobs_of(log: Mapping[str, Row]) -> Workload:
    submit_s, start_s, end_s, nodes, cores, partition = zip(*log.values(), strict=True)
    return Workload.from_columns(
        {
            "job_id": list(log), "submit_s": submit_s, "work": [b - a for a, b in zip(start_s, end_s, strict=True)],
            "gpus_per_worker": [0.0] * len(log), "cpus_per_worker": cores, "partition": partition,
            "recorded_start_s": start_s, "recorded_end_s": end_s, "recorded_nodes": nodes,
        }
    )  # fmt: skip


def found(jobs: Workload) -> ClusterFound:
    held = held_by(jobs)
    assert held is not None
    cluster = cluster_of_log(held)
    assert cluster is not None
    return with_absences(cluster, jobs)


def absences(log: Mapping[str, Row]) -> list[tuple[str, float, float]]:
    answer = found(jobs_of(log)).cluster
    names = ["m1", "n1", "n2"]
    assert [pool.nodes for pool in answer.pools] == ["m1", "n[1-2]"]
    return [(names[one.node], one.start_s, one.until_s) for one in answer.absences]


def test_a_node_is_absent_while_it_is_idle_and_jobs_that_fit_wait() -> None:
    """c waited while n2 was idle from 1,000 to 9,000 s; d waited for 2,000 of the 3,000 s before it started.

    After d nothing waited; m1 is of another partition, whose first job waited until it started there.
    """
    assert absences(LOG) == [("m1", 0.0, 5_000.0), ("n2", 1_000.0, 9_000.0)]


def test_short_idle_times_do_not_count() -> None:
    """n2 was idle for 1,100 s only before c."""
    short = LOG | {"c": (900, 2_100, 12_000, "n2", 4, "p"), "other": (0, 0, 6_000, "m1", 4, "q")}
    assert absences(short) == []
    assert not any("Absent" in note for note in found(jobs_of(short)).notes)


def test_jobs_that_are_too_large_do_not_count() -> None:
    """c asks for more than m1 has, so it waits for n2 alone."""
    log: dict[str, Row] = {
        "a": (0, 0, 9_000, "n2", 8, ""),
        "b": (0, 0, 1_000, "m1", 4, ""),
        "c": (500, 9_000, 9_500, "n2", 6, ""),
    }
    assert not found(jobs_of(log)).cluster.absences


def test_what_is_absent_is_said_to_describe_the_log() -> None:
    (note,) = (note for note in found(jobs_of(LOG)).notes if "Absent" in note)
    assert note.startswith("Absent at times, 22% of all: 2 nodes (m1, n2)")


def test_what_ran_before_the_log_holds_its_node() -> None:
    """b has no recorded start because it ran before; its node is busy from its arrival on."""
    jobs = jobs_of(LOG)
    assert jobs.recorded_start_s is not None
    starts = jobs.recorded_start_s.copy()
    starts[jobs.job_id == "a"] = float("nan")
    log = replace(jobs, recorded_start_s=starts)
    cluster = cluster_of_log(held_by(jobs))  # type: ignore[arg-type]
    assert cluster is not None
    assert [one.node for one in with_absences(cluster, log).cluster.absences] == [0, 2]
