"""What is learned before a cut: nothing that happens later changes it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Workload
from dlsched.studies.calibration.record import record_of
from dlsched.studies.fitting.families import PARTS, coordinates, ground_of
from dlsched.studies.fitting.training import Cuts, cuts_of, judged_in, known_before, nodes_before
from dlsched.studies.simulation import simulate
from dlsched.workload.load import scenario_of
from dlsched.workload.readers import read_trace
from tests.support.sacct_log import busy_scenario, sacct_log

NAN = float("nan")


def jobs(rows: Sequence[tuple[float, float, float]], **more: Any) -> Workload:
    """Return jobs of 1 GPU given as (submit, start, end)."""
    submit_s, start_s, end_s = np.array(rows, float).T
    run_s = np.where(np.isnan(end_s - start_s), 10.0, end_s - start_s)
    columns = {"job_id": [f"j{n}" for n in range(len(rows))], "submit_s": submit_s, "work": run_s,
               "recorded_start_s": start_s, "recorded_end_s": end_s}  # fmt: skip
    return Workload.from_columns(columns | more)


@cache
def log() -> Scenario:
    """Return a log of 300 jobs that EASY backfill ran, read as sacct prints it."""
    return read(sacct_log(simulate(busy_scenario(300), "easy-backfill")))


def read(text: str) -> Scenario:
    return scenario_of(read_trace(text.encode(), "log.txt"), "log")


def test_only_jobs_that_started_before_the_cut_are_known_and_their_ends_are_cut() -> None:
    rows = [(0, 0, 50), (10, 20, 150), (30, 120, 130), (40, 41, 99), (100, 100, 110), (5, NAN, 60), (6, NAN, 160)]
    known = known_before(jobs(rows), 100)
    assert known.job_id.tolist() == ["j0", "j5", "j1", "j3"]  # j6 left after the cut, j2 and j4 started after it
    assert known.recorded_end_s is not None
    assert known.recorded_end_s.tolist() == [50, 60, 100, 99]
    assert known.work.tolist() == [50, 10, 80, 58]  # j1 has run 80 s by then


def test_a_job_that_still_runs_is_known_by_its_limit() -> None:
    known = known_before(jobs([(0, 0, 500), (0, 0, 500), (0, 10, 20)], limit_s=[300.0, 60.0, 40.0]), 100)
    assert known.work.tolist() == [300, 100, 10]  # the second one ran beyond its limit


def test_halves_and_quarter_by_hand() -> None:
    rows = [(float(n), float(n) + 1, float(n) + 2) for n in range(0, 400)]
    found = cuts_of(record_of(jobs(rows)))
    # complete from the first end, 2 s; 398 jobs from there, median submission 200.5; the first 19 are the warm-up
    assert found == Cuts(quarter_s=float(np.median(np.arange(2 + 19, 201))), half_s=201.0)
    few = [(float(n), float(n) + 1, float(n) + 2) for n in range(60)]
    with pytest.raises(InputError, match="at least 40 are needed"):
        cuts_of(record_of(jobs(few)))


def test_judged_while_fitting_are_jobs_that_started_in_time() -> None:
    rows = [(0, 0, 1), *((float(n), float(n) + 5, float(n) + 9) for n in range(1, 101)), (101, 300, 400)]
    judged = judged_in(jobs(rows), 50, 106)
    assert np.flatnonzero(judged).tolist() == list(range(50, 101))  # the last one started after the cut


def test_nodes_come_from_the_first_half_where_the_log_told_of_them_and_stay_where_they_were_described() -> None:
    scenario = log()
    cuts = cuts_of(record_of(scenario.workload))
    found = nodes_before(scenario, cuts.half_s)
    assert found.from_log
    assert found.cluster.num_nodes + len(found.later) == scenario.cluster.num_nodes
    described = scenario.replace(assumptions=())
    assert nodes_before(described, cuts.half_s).cluster.pools == scenario.cluster.pools
    assert not nodes_before(described, cuts.half_s).from_log


def test_nodes_first_seen_later_are_named_and_not_there() -> None:
    rows = [(float(n), float(n) + 1, float(n) + 2) for n in range(0, 100)]
    nodes = ["a1"] * 80 + ["b1"] * 20
    found = jobs(rows, recorded_nodes=nodes)
    text = Scenario(found, log().cluster, assumptions=log().assumptions)
    learned = nodes_before(text.replace(cluster=_cluster_of(found)), 50)
    assert learned.later == ("b1",)
    assert [pool.nodes for pool in learned.cluster.pools] == ["a1"]


def _cluster_of(found: Workload) -> Any:
    from dlsched.workload.cluster_from_log import cluster_of_log, held_by

    held = held_by(found)
    assert held is not None
    told = cluster_of_log(held)
    assert told is not None
    return told.cluster


def learned(scenario: Scenario, cuts: Cuts) -> tuple[Any, ...]:
    """Return all that is learned before the half, except the scores of replays."""
    nodes = nodes_before(scenario, cuts.half_s)
    known = known_before(scenario.workload, cuts.half_s)
    ground = ground_of(scenario.replace(workload=known, cluster=nodes.cluster))
    grids = tuple(tuple(coordinates(part, ground).items()) for part in PARTS)
    judged = judged_in(known, 0.0, cuts.half_s)
    return (
        known.content_hash,
        nodes.cluster,
        ground.period_s,
        ground.policy,
        dict(ground.params),
        grids,
        judged.tolist(),
    )


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_a_change_of_the_second_half_changes_nothing_that_is_learned(data: st.DataObject) -> None:
    scenario = log()
    found = scenario.workload
    cuts = cuts_of(record_of(found))
    start_s, end_s = np.array(found.recorded_start_s), np.array(found.recorded_end_s)
    late = np.flatnonzero((found.submit_s >= cuts.half_s) | (start_s >= cuts.half_s))
    rows = data.draw(st.lists(st.sampled_from(late.tolist()), min_size=1, max_size=40, unique=True))
    delay_s = data.draw(st.floats(0, 1e5))
    start_s[rows] = np.maximum(start_s[rows], cuts.half_s) + delay_s
    work, limit_s, nodes = np.array(found.work), np.array(found.limit_s), np.array(found.recorded_nodes)
    work[rows] = data.draw(st.floats(1, 1e5))
    limit_s[rows] = data.draw(st.floats(1, 1e6))
    end_s[rows] = start_s[rows] + work[rows]
    user = np.array(found.user)
    user[rows] = "somebody new"
    nodes[rows] = data.draw(st.sampled_from(["gpu00", "gpu[00-05]", "new[1-3]"]))
    # of jobs that still ran at the half, the rest of the run is not known either
    runs_on = (start_s < cuts.half_s) & (end_s > cuts.half_s)
    end_s[runs_on] += delay_s
    work[runs_on] += delay_s
    changed = found.with_columns(
        recorded_start_s=start_s, recorded_end_s=end_s, work=work, limit_s=limit_s, user=user, recorded_nodes=nodes
    )
    assert cuts_of(record_of(changed)) == cuts
    assert learned(scenario.replace(workload=changed), cuts) == learned(scenario, cuts)
