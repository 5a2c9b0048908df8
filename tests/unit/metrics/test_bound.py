"""The lower bound on total cost: by hand, and below whatever any policy makes of any scenario."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.plan import Plan, Share, run_on
from dlsched.domain.policy import ListRule, ReviewRule
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.domain.state import State
from dlsched.domain.timetable import TimeTable
from dlsched.domain.workload import Workload
from dlsched.metrics.summary import summarise
from dlsched.sim.prepare import prepare
from dlsched.sim.simulate import run_policy
from dlsched.studies.simulation import simulate
from dlsched.testing.bounds import beyond
from tests.support.chaos import Chaos
from tests.support.logs import Ran, facts_inputs
from tests.support.scenarios import scenarios

TIMES = TimeTable(rows={"net": {"slow": (100.0, 60.0), "fast": (50.0, 40.0)}})
CATALOGUE = (
    VmType(name="s1", gpu_type="slow", gpus=1, usd_per_h=36.0),
    VmType(name="s2", gpu_type="slow", gpus=2, usd_per_h=90.0),
    VmType(name="f2", gpu_type="fast", gpus=2, usd_per_h=216.0),
)


def bound(slack_s: float, weight: float = 0.0, *, done: bool = True, slots: int = 1) -> float | None:
    """Bound of one job of one unit of work on one slow GPU at $0.01, two at $0.0125, fast ones at $0.03 a second each.

    It ran on one machine, or with one GPU on each of two.
    """
    jobs = Workload.from_columns(
        {"job_id": ["a"], "submit_s": [10.0], "work": [1.0], "profile": ["net"], "due_s": [10.0 + slack_s]}
        | {"weight_usd_per_s": [weight]}
    )
    scenario = Scenario(jobs, Cluster(slots=slots, catalogue=CATALOGUE), speed=SpeedSpec(kind="table", times=TIMES))
    pieces = (Ran(0, 10, 110, dict.fromkeys(range(slots), 1), rate=0.01),) if done else ()
    leases = tuple((slot, 0, 10, 110) for slot in range(slots))
    return summarise(*facts_inputs(scenario, pieces, leases=leases, end_s=110.0))["total_cost_bound"]


@pytest.mark.parametrize(
    ("slack_s", "weight", "usd"),
    [
        pytest.param(500, 1.0, 1.0, id="time enough: 100 s on one slow GPU"),
        pytest.param(80, 1.0, 1.2, id="part on one slow GPU, part on one fast: 0.6 x $1.0 + 0.4 x $1.5"),
        pytest.param(55, 1.0, 1.45, id="less on one slow GPU, more on one fast: 0.1 x $1.0 + 0.9 x $1.5"),
        pytest.param(20, 1.0, 22.4, id="late at best: 40 s on two fast GPUs, 20 s late"),
        pytest.param(20, 0.01, 1.8, id="lateness is cheap: one fast GPU, 30 s late"),
    ],
)
def test_one_job_by_hand(slack_s: float, weight: float, usd: float):
    assert bound(slack_s, weight) == pytest.approx(usd, rel=1e-9)  # 1e-9 s past due is not late


@pytest.mark.parametrize(
    ("slack_s", "weight", "usd"),
    [
        pytest.param(80, 1.0, 1.1, id="half on one slow GPU, half on two of one each: 0.5 x $1.0 + 0.5 x $1.2"),
        pytest.param(55, 1.0, 1.35, id="half on two slow GPUs, half on one fast: 0.5 x $1.2 + 0.5 x $1.5"),
        pytest.param(20, 0.01, 1.6, id="lateness is cheap: two slow GPUs, 40 s late"),
    ],
)
def test_a_job_that_was_on_two_machines_may_take_two_small_ones(slack_s: float, weight: float, usd: float):
    assert bound(slack_s, weight, slots=2) == pytest.approx(usd, rel=1e-9)


def test_a_rigid_job_needs_a_machine_that_holds_it():
    jobs = Workload.from_columns({"job_id": ["a"], "submit_s": [0.0], "work": [100.0], "workers": [2]})
    scenario = Scenario(jobs, Cluster(slots=2, catalogue=CATALOGUE))
    for nodes, usd in (({0: 2}, 2.5), ({0: 1, 1: 1}, 2.0)):
        given = facts_inputs(scenario, (Ran(0, 0, 100, nodes),), leases=((0, 1, 0, 100),), end_s=100.0)
        assert summarise(*given)["total_cost_bound"] == pytest.approx(usd, rel=1e-9)


# ---- unequal prices: random small renting instances, every run and the optimum ------------------------------------

RISING = {"K80": {1: 0.56, 2: 1.7, 4: 5.0, 8: 15.0}, "M60": {1: 0.62, 2: 1.9, 4: 5.6, 8: 16.8}}
FALLING = {"K80": {1: 0.56, 2: 1.0, 4: 1.7, 8: 2.9}, "M60": {1: 0.62, 4: 1.9, 8: 3.2}}
RENTING = ("market", "greedy", "fifo", "edf", "dp-wct", "dp-adjwct", "randomized-greedy")


def small(prices: Mapping[str, Mapping[int, float]], seed: int, *, jobs: int = 6) -> Scenario:
    """Return jobs of a few hours on slots rented at these prices, with any speed-up, restarts or hours."""
    dice = np.random.default_rng(seed)
    shares = 1.0 / np.arange(1, 9) ** dice.choice([0.3, 0.7, 1.0, 1.12])
    rows = {"net": {kind: tuple(shares * dice.uniform(0.7, 1.4)) for kind in prices}}
    work = dice.uniform(0.3, 8.0, jobs) * 3600
    submit_s = np.sort(dice.uniform(0.0, 4.0, jobs)) * 3600
    columns = {
        "job_id": [f"J{number}" for number in range(jobs)],
        "submit_s": submit_s,
        "work": work,
        "profile": ["net"] * jobs,
        "due_s": submit_s + work * dice.uniform(0.1, 2.0, jobs),
        "weight_usd_per_s": dice.uniform(0.0, 0.01, jobs),
    }
    catalogue = tuple(
        VmType(name=f"{gpus} x {kind}", gpu_type=kind, gpus=gpus, usd_per_h=usd)
        for kind, sizes in prices.items()
        for gpus, usd in sizes.items()
    )
    return Scenario(
        Workload.from_columns(columns),
        Cluster(slots=int(dice.integers(1, 4)), catalogue=catalogue),
        SimulationRules(restart_s=float(dice.choice([0.0, 300.0])), billing=str(dice.choice(["second", "hour"]))),
        SpeedSpec(kind="table", times=TimeTable(rows=rows)),
    )


@pytest.mark.parametrize("prices", [RISING, FALLING], ids=["rising", "falling"])
@pytest.mark.parametrize("policy", RENTING)
def test_no_renting_policy_passes_the_bound_on_unequal_prices(policy: str, prices: Mapping[str, Mapping[int, float]]):
    for seed in range(4):
        run = simulate(small(prices, seed), f"gpuaas-{policy}")
        assert beyond(run.metrics) == []
        assert run.metrics["total_cost_bound"]


WORK, SPEEDS = (4, 3), {1: 1, 2: 2, 3: 3}
"""Units of work of two jobs, and units a second by GPUs: widths that do not divide the work are cut at its end."""


@pytest.mark.parametrize("seed", range(12))
def test_the_bound_is_not_above_the_optimum_of_two_jobs(seed: int):
    """All schedules of two jobs that change at whole seconds, also side by side on one machine, by enumeration."""
    dice = np.random.default_rng(seed)
    price = {gpus: float(dice.integers(1, 9)) * gpus ** float(dice.choice([0.8, 1.3])) for gpus in (1, 2, 3)}
    slots, due_s = int(dice.integers(1, 3)), tuple(dice.integers(1, 5, 2).tolist())
    weight = tuple(dice.choice([0.0, 1.0, 20.0], 2).tolist())

    def second_usd(held: tuple[int, ...]) -> float:
        """Return the price of the cheapest machines that hold these GPUs, infinity if there are none."""
        apart = sum(least(gpus) for gpus in held if gpus)
        alone = min(held) == 0
        return apart if alone or (slots > 1 and apart <= least(sum(held))) else least(sum(held))

    def least(gpus: int) -> float:
        return min((usd for size, usd in price.items() if size >= gpus), default=np.inf)

    @cache
    def optimum(left: tuple[int, ...], at_s: int) -> float:
        if max(left) == 0:
            return 0.0
        if at_s == sum(WORK):  # by then one GPU has done everything, one job after the other
            return np.inf
        late = sum(weight[j] for j in (0, 1) if left[j] and at_s >= due_s[j])
        rest = [tuple(range(4)) if units else (0,) for units in left]
        return min(
            second_usd(held)
            + late
            + optimum(tuple(max(0, u - SPEEDS.get(g, 0)) for u, g in zip(left, held, strict=True)), at_s + 1)
            for held in product(*rest)
            if any(held)
        )

    jobs = Workload.from_columns(
        {"job_id": ["a", "b"], "submit_s": [0.0, 0.0], "work": WORK, "profile": ["net"] * 2, "due_s": due_s}
        | {"weight_usd_per_s": weight}
    )
    catalogue = tuple(VmType(name=f"{g}", gpu_type="slow", gpus=g, usd_per_h=3600 * usd) for g, usd in price.items())
    scenario = Scenario(
        jobs,
        Cluster(slots=slots, catalogue=catalogue),
        speed=SpeedSpec(kind="table", times=TimeTable(rows={"net": {"slow": (1.0, 1 / 2, 1 / 3)}})),
    )
    pieces = tuple(Ran(row, 0, WORK[row], {0: 1}) for row in (0, 1))
    found = summarise(*facts_inputs(scenario, pieces, leases=((0, 2, 0, 4),), end_s=4.0))["total_cost_bound"]
    assert 0 < (found or 0.0) <= optimum(WORK, 0) * (1 + 1e-9)


def test_a_job_that_did_not_finish_counts_nothing():
    assert bound(20, 1.0, done=False) == 0


def test_a_missing_price_leaves_no_bound():
    jobs = Workload.from_columns({"job_id": ["a"], "submit_s": [0.0], "work": [1.0]})
    unpriced = Cluster(slots=1, catalogue=(VmType(name="x", gpus=1),))
    given = facts_inputs(Scenario(jobs, unpriced), (Ran(0, 0, 1, {0: 1}),), leases=((0, 0, 0, 1),))
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


# ---- delayed restarts: the rate of one machine while others are held ------------------------------------------------


class Moves:
    """Carries out what is written down: time -> (row -> shares, slot -> machine type)."""

    kernel_rule: ListRule | None = None
    review = ReviewRule()

    def __init__(self, moves: Mapping[float, tuple[dict[int, Share], dict[int, str | None]]]) -> None:
        self._moves = moves

    def plan(self, state: State) -> Plan:
        shares, vms = self._moves.get(state.now_s, ({}, {}))
        later = min((time_s for time_s in self._moves if time_s > state.now_s), default=None)
        return Plan({row: run_on((share,)) for row, share in shares.items()}, vms=vms, wake_at_s=later)


CHEAP = tuple(VmType(name=f"cheap-{gpus}", gpu_type="slow", gpus=gpus, usd_per_h=3600.0 * gpus) for gpus in (1, 2))


@pytest.mark.parametrize(
    ("dear", "speed"),
    [
        pytest.param(
            VmType(name="dear", gpus=1, speed=4.0, usd_per_h=4.1 * 3600),
            SpeedSpec(kind="scaling", efficiency=1.0, max_factor=2.0),
            id="law",
        ),
        pytest.param(
            VmType(name="dear", gpu_type="fast", gpus=1, usd_per_h=4.1 * 3600),
            SpeedSpec(kind="table", times=TimeTable(rows={"net": {"slow": (1.0, 0.5), "fast": (0.25, 0.125)}})),
            id="table",
        ),
    ],
)
def test_a_rate_from_a_dear_machine_lasts_on_a_cheap_one(dear: VmType, speed: SpeedSpec):
    # 100 s starting on 1 cheap GPU, 1 s at rate 4 on the dear one ($4.1), then 99 s at rate 4 on 2 cheap ones
    jobs = Workload.from_columns({"job_id": ["a"], "submit_s": [0.0], "work": [400.0], "profile": ["net"]})
    scenario = Scenario(
        jobs,
        Cluster(slots=2, catalogue=(dear, *CHEAP)),
        SimulationRules(restart_s=100.0, restart_mode="delayed"),
        speed,
    )
    steps = Moves(
        {
            0.0: ({0: Share(1, 1)}, {1: "cheap-1"}),
            100.0: ({0: Share(0, 1)}, {0: "dear", 1: None}),
            101.0: ({0: Share(1, 2)}, {0: None, 1: "cheap-2"}),
        }
    )
    prepared = prepare(scenario)
    metrics = summarise(prepared.scenario, prepared.truth, run_policy(prepared, steps))
    assert metrics["total_cost"] == pytest.approx(100 + 4.1 + 198)
    assert metrics["total_cost_bound"] == pytest.approx(100)  # 400 at rate 4 on a GPU at $1 a second
    at_once = prepare(scenario.replace(options=SimulationRules()))
    metrics = summarise(at_once.scenario, at_once.truth, run_policy(at_once, steps))
    assert metrics["total_cost_bound"] == pytest.approx(400)  # a cheap GPU at rate 1; the dear one would be $410


def test_a_job_without_gpus_may_end_soonest_on_a_machine_without_gpus():
    times = TimeTable(rows={"net": {"slow": (100.0,), "fast": (1.0,)}})
    pools = (
        Pool(vm=VmType(name="g", gpu_type="slow", gpus=1, cpus=8.0, usd_per_h=1.0), count=1),
        Pool(vm=VmType(name="c", gpu_type="fast", gpus=0, cpus=8.0, usd_per_h=1.0), count=1),
    )
    jobs = Workload.from_columns(
        {"job_id": ["a"], "submit_s": [0.0], "work": [1.0], "profile": ["net"], "gpus_per_worker": [0.0]}
        | {"cpus_per_worker": [1.0], "due_s": [0.5], "weight_usd_per_s": [10.0]}
    )
    for cluster in (Cluster(pools=pools), Cluster(pools=pools[1:])):
        prepared = prepare(Scenario(jobs, cluster, speed=SpeedSpec(kind="table", times=times)))
        log = run_policy(prepared, Moves({0.0: ({0: Share(cluster.num_nodes - 1, 1)}, {})}))
        metrics = summarise(prepared.scenario, prepared.truth, log)
        # Half a second late, and 1 of 8 cores at $1/h for a second.
        assert metrics["total_cost_bound"] == pytest.approx(5.0 + 1 / 8 / 3600, rel=1e-8)
        assert metrics["total_cost"] == pytest.approx(5.0 + cluster.num_nodes / 3600)


@pytest.mark.parametrize("law", ["rigid", "table"])
def test_a_pool_without_nodes_weakens_no_bound(law: str):
    # 100 s on the only machine at $0.01 a second; the pool of fast and free ones is empty, that without a price too
    times = TimeTable(rows={"net": {"slow": (1.0,), "fast": (0.1,)}})
    speed = SpeedSpec(kind="table", times=times) if law == "table" else SpeedSpec()
    absent = (
        VmType(name="f", gpu_type="fast", gpus=8, usd_per_h=0.0, speed=5.0),
        VmType(name="n", gpu_type="fast", gpus=8),
    )
    pools = (Pool(vm=CATALOGUE[0], count=1), *(Pool(vm=vm, count=0) for vm in absent))
    jobs = Workload.from_columns({"job_id": ["a"], "submit_s": [0.0], "work": [100.0], "profile": ["net"]})
    metrics = summarise(*facts_inputs(Scenario(jobs, Cluster(pools=pools), speed=speed), (Ran(0, 0, 100, {0: 1}),)))
    assert metrics["total_cost_bound"] == pytest.approx(1.0)
    assert metrics["jct_mean_bound"] == pytest.approx(100.0)
