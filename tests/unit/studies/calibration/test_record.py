"""What a record says: from when on it is complete, which jobs are judged, how users react, what stood idle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Workload
from dlsched.metrics.idle_and_wanted import held_from_s
from dlsched.studies.calibration import read_spec, run_calibration
from dlsched.studies.calibration.idle import idle_beside_long_waits, idle_of_record, idle_wanted_share
from dlsched.studies.calibration.record import closed_loop, complete_from_s, halves, record_of
from tests.support.known import known

NAN = float("nan")


def jobs(rows: Sequence[tuple[float, float, float]], **more: Any) -> Workload:
    """Return jobs of 1 GPU given as (submit, start, end)."""
    submit_s, start_s, end_s = np.array(rows, float).T
    columns = {"job_id": [f"j{n}" for n in range(len(rows))], "submit_s": submit_s, "work": np.full(len(rows), 10.0),
               "gpus_per_worker": np.ones(len(rows)), "recorded_start_s": start_s, "recorded_end_s": end_s}  # fmt: skip
    return Workload.from_columns(columns | more)


def two_nodes(partitions: tuple[str, str] = ("", "")) -> Cluster:
    return Cluster(pools=tuple(Pool(vm=VmType(name="four", gpus=4), count=1, partition=name) for name in partitions))


def test_a_log_is_complete_from_its_first_end_unless_most_jobs_came_before() -> None:
    long = [(0, 0, 900), (100, 100, 950), (500, 500, 600), (700, 700, 720), (710, 710, 790), (800, 800, 801)]
    assert complete_from_s(jobs(long)) == 600
    together = [(5, 5, 900), (6, 6, 950), (7, 900, 990), (1000, 1000, 1001)]
    assert complete_from_s(jobs(together)) == 5
    assert complete_from_s(jobs([(3, 3, NAN)])) == 3


def test_early_jobs_the_warm_up_and_jobs_without_a_wait_are_not_judged() -> None:
    rows = [(0.0, 0.0, 900.0), (10.0, 10.0, 50.0), *((100.0 + n, 100.0 + n, 2000.0) for n in range(40))]
    rows[-1] = (139.0, NAN, 150.0)
    first, second = halves(record_of(jobs(rows)))
    assert np.flatnonzero(~first & ~second).tolist() == [0, 1, 2, 41]  # 5% of 39 is 1
    # The median submission of the 39 is that of row 21, with the warm-up.
    assert np.flatnonzero(first).tolist() == list(range(3, 21))
    assert np.flatnonzero(second).tolist() == list(range(21, 41))


def test_users_who_submit_after_their_own_ends() -> None:
    # u ends a job at 100 s and at 208 s; submissions at 105 s (reacts), 209 s (reacts), 300 s (does not).
    rows = [(0, 0, 100), (105, 105, 208), (209, 209, 250), (300, 300, 320), (310, 310, 400)]
    loop = known(closed_loop(jobs(rows, user=["u", "u", "u", "u", "v"])))
    # Complete from 100 s: 4 submissions within 205 s, of which 2 react; u has 4 ends, v has 1.
    assert loop.share == pytest.approx(2 / 4)
    assert loop.expected == pytest.approx((3 * 40 / 205 + 10 / 205) / 4)
    assert loop.most_at_once == 1
    assert closed_loop(jobs(rows)) is None


def test_what_stood_idle_counts_each_partition_for_itself() -> None:
    rows = [(0.0, 0.0, 10.0), (0.0, 60.0, 70.0), (100.0, 100.0, 110.0)]
    assert idle_of_record(jobs(rows), two_nodes()) == pytest.approx(1 / 8)  # from 0 to 60 s
    apart = jobs(rows, partition=["a", "b", "b"])
    assert idle_of_record(apart, two_nodes(("a", "b"))) == pytest.approx(1 / 4)
    assert idle_of_record(jobs([(0, 0, 10), (5, 5, 8)]), two_nodes()) is None


def test_the_resource_with_the_highest_load_counts() -> None:
    busy = jobs([(0.0, 0.0, 10.0), (0.0, 60.0, 70.0), (100.0, 100.0, 110.0)], cpus_per_worker=np.full(3, 8.0))
    cluster = Cluster(pools=(Pool(vm=VmType(name="few cores", gpus=4, cpus=16), count=1),))
    start_s, end_s = known(busy.recorded_start_s), known(busy.recorded_end_s)
    assert idle_wanted_share(busy, cluster, start_s, end_s) == pytest.approx(1 / 2)


def test_absent_nodes_are_not_idle() -> None:
    rows = [(0.0, 0.0, 10.0), (0.0, 60.0, 70.0), (100.0, 100.0, 110.0)]
    absences = (Absence(node=1, start_s=0, end_s=90), Absence(node=0, start_s=0, end_s=35))
    away = two_nodes().model_copy(update={"absences": absences})
    assert idle_of_record(jobs(rows), away) == pytest.approx(25 / 60 / 8)  # for 35 of 60 s, no node is there


def test_a_sample_of_jobs_is_refused() -> None:
    rows = [(10.0 * n, 3000.0 + 10 * n, 3010.0 + 10 * n) for n in range(8)]
    wide = jobs(rows, workers=np.full(8, 8))
    scenario = Scenario(workload=wide, cluster=two_nodes())
    spec = read_spec({"scenario": scenario.content_hash, "policies": ["fifo"]})
    with pytest.raises(InputError, match=r"100% of the cluster stood idle .* a sample of the jobs.*Export all jobs"):
        run_calibration(spec, scenario)


def test_short_waits_on_an_idle_cluster_are_no_sample() -> None:
    rows = [(1000.0 * n, 1000.0 * n + 30, 1000.0 * n + 40) for n in range(8)]
    assert idle_beside_long_waits(jobs(rows), two_nodes()) is None
    rows[4] = (4000.0, 4900.0, 4950.0)
    assert known(idle_beside_long_waits(jobs(rows), two_nodes())) == 1  # from 4,000 to 4,900 s
    rows[3] = (3000.0, 3000.0, 4450.0)
    assert known(idle_beside_long_waits(jobs(rows), two_nodes())) == pytest.approx(1 - 450 / 900 / 8)


def test_jobs_that_ran_when_a_cut_log_starts_hold_their_nodes() -> None:
    rows = [(0.0, NAN, 10.0), (0.0, NAN, 500.0), (1.0, 30.0, 40.0), (5.0, 50.0, 60.0), (90.0, NAN, 95.0)]
    assert held_from_s(jobs(rows))[[0, 2, 3]].tolist() == [0, 30, 50]
    assert np.isnan(held_from_s(jobs(rows))[[1, 4]]).all()  # of 10 s of work: it did not run until 500 s


EVENTS = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 40), st.sampled_from("uvw")), min_size=1, max_size=30)


@given(EVENTS)
def test_reactions_are_those_counted_user_by_user(events: list[tuple[int, int, str]]) -> None:
    rows = [(float(submit), float(submit), float(submit + run)) for submit, run, _ in sorted(events)]
    users = [user for *_, user in sorted(events)]
    of = jobs(rows, user=users)
    asked = [(row[0], user) for row, user in zip(rows, users, strict=True) if row[0] >= complete_from_s(of)]
    found = closed_loop(of)
    if len({submit for submit, _ in asked}) < 2:
        assert found is None
        return
    ends = {user: [row[2] for row, other in zip(rows, users, strict=True) if other == user] for user in users}
    reacts = [any(submit - 10 <= end <= submit for end in ends[user]) for submit, user in asked]
    at_once = [
        sum(other == user and row[0] <= submit < row[2] for row, other in zip(rows, users, strict=True))
        for submit, user in asked
    ]
    assert known(found).share == pytest.approx(np.mean(reacts))
    assert known(found).most_at_once == pytest.approx(np.quantile(at_once, 0.9))
