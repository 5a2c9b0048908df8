"""The lower bound on total cost: by hand, and below whatever any policy makes of any scenario."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from dlsched.domain.cluster import Cluster, VmType
from dlsched.domain.scenario import Scenario, SpeedSpec
from dlsched.domain.timetable import TimeTable
from dlsched.domain.workload import Workload
from dlsched.metrics.summary import summarise
from dlsched.sim.prepare import prepare
from dlsched.sim.simulate import run_policy
from tests.support.chaos import Chaos
from tests.support.logs import Ran, books_inputs
from tests.support.scenarios import scenarios

TIMES = TimeTable(rows={"net": {"slow": (100.0, 60.0), "fast": (50.0, 40.0)}})
CATALOGUE = (
    VmType(name="s1", gpu_type="slow", gpus=1, usd_per_h=36.0),
    VmType(name="s2", gpu_type="slow", gpus=2, usd_per_h=90.0),
    VmType(name="f2", gpu_type="fast", gpus=2, usd_per_h=216.0),
)


def bound(slack_s: float, weight: float = 0.0, *, done: bool = True) -> float | None:
    """Bound of one job of one unit of work on slow GPUs at $0.01 and fast ones at $0.03 a second each."""
    jobs = Workload.from_columns(
        {"job_id": ["a"], "submit_s": [10.0], "work": [1.0], "profile": ["net"], "due_s": [10.0 + slack_s]}
        | {"weight_usd_per_s": [weight]}
    )
    scenario = Scenario(jobs, Cluster(slots=1, catalogue=CATALOGUE), speed=SpeedSpec(kind="table", times=TIMES))
    pieces = (Ran(0, 10, 110, {0: 1}, rate=0.01),) if done else ()
    return summarise(*books_inputs(scenario, pieces, leases=((0, 0, 10, 110),), end_s=110.0))["total_cost_bound"]


@pytest.mark.parametrize(
    ("slack_s", "weight", "usd"),
    [
        pytest.param(500, 1.0, 1.0, id="time enough: 100 s on one slow GPU"),
        pytest.param(80, 1.0, 1.1, id="half on one slow GPU, half on two: 0.5 x $1.0 + 0.5 x $1.2"),
        pytest.param(55, 1.0, 1.35, id="half on two slow GPUs, half on one fast: 0.5 x $1.2 + 0.5 x $1.5"),
        pytest.param(20, 1.0, 22.4, id="late at best: 40 s on two fast GPUs, 20 s late"),
        pytest.param(20, 0.01, 1.6, id="lateness is cheap: two slow GPUs, 40 s late"),
    ],
)
def test_one_job_by_hand(slack_s: float, weight: float, usd: float):
    assert bound(slack_s, weight) == pytest.approx(usd, rel=1e-12)


def test_a_job_that_did_not_finish_counts_nothing():
    assert bound(20, 1.0, done=False) == 0


def test_a_missing_price_leaves_no_bound():
    jobs = Workload.from_columns({"job_id": ["a"], "submit_s": [0.0], "work": [1.0]})
    unpriced = Cluster(slots=1, catalogue=(VmType(name="x", gpus=1),))
    given = books_inputs(Scenario(jobs, unpriced), (Ran(0, 0, 1, {0: 1}),), leases=((0, 0, 0, 1),))
    assert summarise(*given)["total_cost_bound"] is None


@settings(max_examples=300)
@given(scenarios())
def test_no_run_costs_less(scenario: Scenario):
    prepared = prepare(scenario)
    log = run_policy(prepared, Chaos(free_slots=scenario.cluster.free_slots))
    metrics = summarise(prepared.scenario, prepared.truth, log)
    least, total = metrics["total_cost_bound"], metrics["total_cost"]
    if least is not None and total is not None:
        assert total >= least * (1 - 1e-9) - 1e-9
