"""What may be learned from: the rows of a log submitted and started before a cut, and nodes learned from them.

Nothing that happens at or after the cut is in what these functions return: ends after it are set to the cut.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dlsched.domain.cluster import Cluster
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Workload
from dlsched.studies.calibration.record import WARM_UP, Mask, RecordedTimes, complete_from_s, halves, record_of
from dlsched.workload.cluster_from_log import ClusterFound, cluster_of_log, held_by
from dlsched.workload.cluster_from_log.absent import with_absences
from dlsched.workload.hostlist import expand, in_order

FEWEST_TRAINING_JOBS = 40
"""With fewer judged jobs in the first half nothing is learned; ours."""


@dataclass(frozen=True)
class Cuts:
    """Where a record is cut, seconds: the first quarter fits, the second chooses, the second half judges.

    ``quarter_s`` and ``half_s`` are the median submissions of the judged jobs of the first half and of all judged jobs.
    """

    quarter_s: float
    half_s: float


def cuts_of(record: RecordedTimes) -> Cuts:
    """Return where a record is cut; InputError where its first half has too few jobs to learn from.

    Only submissions decide, so that a change of what happens later moves no cut.
    """
    first, second = halves(record)
    if len(record.submit_s) > 1 and not np.ptp(record.submit_s):
        why = "all jobs of the log were submitted at the same time, so it has no two halves"
        raise InputError("fit", why, "Give a log of jobs that arrive one after the other")
    if int(first.sum()) < FEWEST_TRAINING_JOBS or not second.any():
        raise InputError(
            "fit",
            f"the first half of the log has {int(first.sum()):,} jobs with a recorded wait, at least "
            f"{FEWEST_TRAINING_JOBS} are needed",
            "Give a longer log",
        )
    return Cuts(float(np.median(record.submit_s[first])), float(record.submit_s[second].min()))


def judged_in(jobs: Workload, from_s: float, until_s: float) -> Mask:
    """Return which jobs are compared when something is learned or chosen, shape (jobs,).

    Submitted from ``from_s`` on, with a recorded wait, submitted and started before ``until_s``, without the first 5%
    of the jobs that are known by then.
    """
    record = record_of(jobs)
    known = np.isfinite(record.wait_s) & (record.submit_s >= complete_from_s(jobs)) & (record.submit_s < until_s)
    known &= record.submit_s + np.where(np.isfinite(record.wait_s), record.wait_s, np.inf) < until_s
    rows = np.flatnonzero(known)
    known[rows[: int(WARM_UP * len(rows))]] = False
    return np.asarray(known & (record.submit_s >= from_s))


def known_before(jobs: Workload, cut_s: float) -> Workload:
    """Return the jobs that were submitted and started before a cut, as far as they are known by then.

    So are those that ran before the log, which have nodes but no start to compare with, and those that left without
    a start. A job that still ran at the cut has its end there, and its time limit for its run time, or how long it had
    run where it has no longer limit.
    """
    start_s = jobs.recorded_start_s
    assert start_s is not None  # as `record_of` checks
    end_s = np.full(len(jobs), np.nan) if jobs.recorded_end_s is None else jobs.recorded_end_s
    ran_before = np.zeros(len(jobs), dtype=bool)
    if jobs.recorded_nodes is not None:
        ran_before = np.asarray(np.isnan(start_s) & (jobs.recorded_nodes != ""), dtype=bool)
    with np.errstate(invalid="ignore"):
        is_known = (jobs.submit_s < cut_s) & ((start_s < cut_s) | ran_before | (np.isnan(start_s) & (end_s < cut_s)))
        known = jobs.select(np.flatnonzero(is_known))
        assert known.recorded_start_s is not None
        so_far_s = cut_s - np.where(np.isnan(known.recorded_start_s), known.submit_s, known.recorded_start_s)
        has_limit = np.isfinite(known.recorded_start_s) & (known.limit_s is not None)
        limit_s = so_far_s if known.limit_s is None else np.fmax(known.limit_s, so_far_s)
        believed_s = np.where(has_limit, limit_s, so_far_s)
        changes: dict[str, Any] = {"work": np.where(known.work > so_far_s, believed_s, known.work)}
        if known.recorded_end_s is not None:
            changes["recorded_end_s"] = np.minimum(known.recorded_end_s, cut_s)
    return replace(known, **changes)


@dataclass(frozen=True, eq=False)
class LearnedNodes:
    """The cluster of a replay, and what of it was learned.

    ``from_log``: its nodes are those of the log before the cut; ``absences``: how many times of absence were inferred;
    ``later``: names of nodes first seen after the cut.
    """

    cluster: Cluster
    from_log: bool
    absences: int = 0
    later: tuple[str, ...] = ()


def nodes_before(scenario: Scenario, cut_s: float) -> LearnedNodes:
    """Return the nodes as they are known at a cut, with the times at which they were absent before it.

    Where the assumptions say that the cluster is what the whole log tells of, the nodes, their size and their
    partitions are learned again from the log before the cut: nodes first seen later are not there. A described cluster
    stays as it is. Absences that were inferred from the log are inferred again, from before the cut; others stay.
    """
    jobs, known = scenario.workload, known_before(scenario.workload, cut_s)
    told = scenario.cluster.absences
    if jobs.recorded_nodes is not None:  # those that `with_absences` wrote are of the whole log
        told = tuple(one for one in told if not (one.cause == "maintenance" and one.billed))
    cluster = scenario.cluster.model_copy(update={"absences": told})
    held_before = held_by(known)
    from_log = any(one.is_cluster_of_log for one in scenario.assumptions) and jobs.recorded_nodes is not None
    later: tuple[str, ...] = ()
    if from_log:
        found = None if held_before is None else cluster_of_log(held_before)
        if found is None:
            raise InputError("fit", "no job of the first half of the log names a node", "Give a longer log")
        later = tuple(in_order(_names(cluster) - _names(found.cluster)))
        cluster = found.cluster.model_copy(update={"absences": () if later else told})
    if jobs.recorded_nodes is None:
        return LearnedNodes(cluster, from_log, 0, later)
    inferred = with_absences(ClusterFound(cluster.model_copy(update={"absences": ()}), ""), known).cluster.absences
    absences = (*cluster.absences, *inferred)
    return LearnedNodes(cluster.model_copy(update={"absences": absences}), from_log, len(inferred), later)


def _names(cluster: Cluster) -> set[str]:
    return {name for pool in cluster.pools for name in expand(pool.nodes)}
