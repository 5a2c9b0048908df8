"""Curves of a run, by hand on a log of three pieces."""

import numpy as np
import pytest

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario
from dlsched.domain.workload import Workload
from dlsched.sim.log import PieceEnd
from dlsched.studies.steady.curves import fraction_times_s, in_system, nodes_per_job
from tests.support.logs import Ran, make_log

SUBMIT_S = np.array([0.0, 3600.0, 36_000.0])
WORK = np.array([36_000.0, 7200.0, 3600.0])


@pytest.fixture
def log():
    """Job 0: 2 h on 2 nodes at rate 2, stopped for 2 h, then 6 h on 1 node; job 1 runs in between on 4 nodes."""
    jobs = Workload.from_columns({"job_id": ["a", "b", "c"], "submit_s": SUBMIT_S, "work": WORK})
    cluster = Cluster(pools=(Pool(vm=VmType(name="one", gpus=1), count=4),))
    pieces = [
        Ran(0, 0, 7200, {0: 1, 1: 1}, PieceEnd.PREEMPTED, rate=2.0),
        Ran(1, 7200, 14_400, {0: 1, 1: 1, 2: 1, 3: 1}),
        Ran(0, 14_400, 36_000, {0: 1}),
        Ran(2, 36_000, 39_600, {0: 1}),
    ]
    return make_log(Scenario(jobs, cluster), pieces)


@pytest.mark.parametrize(
    ("fraction", "hours"),
    [
        (0.2, [1.0, 1.4, 0.2]),  # job 0: 2 h of work at rate 2; job 1 begins 1 h after its submission
        (0.4, [2.0, 1.8, 0.4]),  # job 0 reaches 4 of 10 h just when it is stopped
        (0.5, [5.0, 2.0, 0.5]),  # 2 h + 2 h stopped + 1 h
        (1.0, [10.0, 3.0, 1.0]),
    ],
)
def test_early_results_by_hand(log, fraction, hours):
    assert fraction_times_s(log, SUBMIT_S, WORK, fraction) / 3600 == pytest.approx(hours)


def test_nearly_all_of_the_work_is_nearly_the_end_of_the_job(log):
    nearly = fraction_times_s(log, SUBMIT_S, WORK, 1 - 1e-12)
    assert nearly == pytest.approx(fraction_times_s(log, SUBMIT_S, WORK, 1.0))


def test_nodes_per_job_by_hand(log):
    curve = nodes_per_job(log, SUBMIT_S, bins=5)  # of 2 h
    assert curve.at_h == pytest.approx([0, 2, 4, 6, 8])
    assert curve.value == pytest.approx([2, 4, 1, 1, 1])
    whole = nodes_per_job(log, SUBMIT_S, bins=1)
    assert whole.value == pytest.approx([(2 * 2 + 4 * 2 + 1 * 6) / 10])


def test_no_nodes_where_nobody_runs():
    jobs = Workload.from_columns({"job_id": ["a", "b"], "submit_s": [0.0, 100.0], "work": [50.0, 1.0]})
    scenario = Scenario(jobs, Cluster(pools=(Pool(vm=VmType(name="one", gpus=1), count=1),)))
    log = make_log(scenario, [Ran(0, 0, 50, {0: 1}), Ran(1, 100, 101, {0: 1})])
    assert nodes_per_job(log, jobs.submit_s, bins=2).value == (1.0, 0.0)


def test_jobs_in_the_system_by_hand(log):
    curve = in_system(log, SUBMIT_S)
    assert list(curve.at_h) == [0, 1, 4, 10]  # nothing after the last submission: the cluster runs empty then
    assert list(curve.value) == [1, 2, 1, 1]


def test_long_curves_are_thinned_and_keep_their_peaks():
    count = 5_000
    submit = np.arange(count, dtype=float)
    jobs = Workload.from_columns({"job_id": [str(n) for n in range(count)], "submit_s": submit, "work": np.ones(count)})
    scenario = Scenario(jobs, Cluster(pools=(Pool(vm=VmType(name="one", gpus=1), count=50),)))
    stay = np.where(np.arange(count) // 1_000 == 2, 30.5, 0.5)
    log = make_log(scenario, [Ran(row, submit[row], submit[row] + stay[row], {0: 1}) for row in range(count)])
    curve = in_system(log, submit)
    assert len(curve.at_h) <= 400
    assert max(curve.value) == 31  # of a stay of 30.5 s, one a second
    assert min(curve.value) == 0
