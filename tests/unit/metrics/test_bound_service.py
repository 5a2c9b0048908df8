"""Bounds on turnaround time, lateness and utility: by hand, against all schedules of tiny cases, under wild moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.domain.timetable import TimeTable
from dlsched.domain.workload import Workload
from dlsched.metrics.bounds import fluid
from dlsched.metrics.bounds.fluid import earliest_ends, srpt_ends
from dlsched.metrics.summary import summarise
from dlsched.sim.log import JobStatus, PieceEnd
from dlsched.sim.prepare import prepare
from dlsched.sim.simulate import run_policy
from dlsched.studies.simulation import simulate
from dlsched.testing.bounds import beyond, beyond_of
from tests.support.chaos import Chaos
from tests.support.logs import Ran, facts_inputs
from tests.support.scenarios import scenarios
from tests.support.server_scenarios import machines, training, with_servers
from tests.support.sim_fakes import Fake, fifo_plan

NAN = float("nan")
PLAIN = SimulationRules()
Jobs = tuple[tuple[int, int, int], ...]
"""(Submission, run time, GPUs) of each job, whole numbers."""


def on(gpus: int, count: int = 1, **vm: float | str) -> Cluster:
    return Cluster(pools=(Pool(vm=VmType(name="box", gpus=gpus, **vm), count=count),))


def scenario_of(jobs: Jobs, cluster: Cluster, options: SimulationRules = PLAIN, **columns: Any) -> Scenario:
    submit_s, work, workers = zip(*jobs, strict=True)
    names = [f"j{number}" for number in range(len(jobs))]
    given = {"job_id": names, "submit_s": submit_s, "work": work, "workers": workers, **columns}
    return Scenario(Workload.from_columns(given), cluster, options)


def metrics_of(scenario: Scenario, policy: str = "fifo") -> dict[str, float | int | None]:
    return simulate(scenario, policy).metrics


# ---- the fluid machine ----------------------------------------------------------------------------------


def test_shortest_remaining_first_by_hand():
    # 0-2 first job, 2-3 the short one, which goes before the 4 s that are left of the first, 3-7
    assert srpt_ends(np.array([0.0, 2.0]), np.array([6.0, 1.0])).tolist() == [3.0, 7.0]
    assert srpt_ends(np.zeros(0), np.zeros(0)).tolist() == []
    assert srpt_ends(np.array([0.0, 0.0, 5.0]), np.array([0.0, 3.0, 0.0])).tolist() == [0.0, 3.0, 5.0]


def earliest_kth_ends(jobs: Sequence[tuple[int, int]]) -> list[int]:
    """Return for every k when k jobs can be done at the earliest: one machine, all orders of whole seconds tried."""

    @cache
    def least(now: int, left: tuple[int, ...], k: int) -> int:
        if sum(not rest for rest in left) >= k:
            return now
        ready = [row for row, rest in enumerate(left) if rest and jobs[row][0] <= now]
        after = [tuple(rest - (row == chosen) for row, rest in enumerate(left)) for chosen in ready] or [left]
        return min(least(now + 1, new, k) for new in after)

    return [least(0, tuple(length for _, length in jobs), k + 1) for k in range(len(jobs))]


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 4)), min_size=1, max_size=4).map(sorted))
def test_no_order_completes_k_jobs_sooner(jobs: list[tuple[int, int]]):
    submit_s, length_s = np.array(jobs, dtype=float).T
    assert srpt_ends(submit_s, length_s).tolist() == earliest_kth_ends(jobs)


lengths = st.sampled_from([0.0, 0.5, 1 / 3]) | st.floats(0, 10)


@settings(max_examples=200)
@given(st.lists(st.tuples(st.floats(0, 20), lengths), max_size=12).map(sorted))
def test_ends_equal_those_of_a_plain_simulation(jobs: list[tuple[float, float]]):
    submit_s, length_s = np.array(jobs, dtype=float).reshape(-1, 2).T
    left, ends, now = dict(enumerate(length_s.tolist())), [], 0.0
    while left:
        ready = [row for row in left if submit_s[row] <= now]
        coming = min((float(submit_s[row]) for row in left if submit_s[row] > now), default=np.inf)
        if not ready:
            now = coming
            continue
        row = min(ready, key=left.__getitem__)
        served = min(left[row], coming - now)
        left[row] -= served
        now = coming if served < left[row] + served else now + served
        if left[row] <= 0:
            ends.append(now)
            del left[row]
    assert srpt_ends(submit_s, length_s) == pytest.approx(np.array(ends), rel=1e-9, abs=1e-9)


@settings(max_examples=100)
@given(st.lists(st.tuples(st.floats(0, 20), lengths), max_size=12).map(sorted))
def test_compiled_code_gives_the_same_ends(jobs: list[tuple[float, float]]):
    submit_s, length_s = np.array(jobs, dtype=float).reshape(-1, 2).T.copy()
    plain = srpt_ends(submit_s, length_s)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fluid, "MANY", 0)
        assert srpt_ends(submit_s, length_s).tolist() == plain.tolist()


def test_the_kth_end_is_after_both_relaxations():
    # alone 5, 6, 11; two GPUs' worth of work for each on one machine: 2, 4, 12
    submit_s, alone_s = np.array([0.0, 1, 10]), np.array([5.0, 5, 1])
    assert earliest_ends(submit_s, alone_s, np.array([[2.0, 2, 2]])).tolist() == [5, 6, 12]
    assert earliest_ends(submit_s, alone_s, np.array([[2.0, 2, 2], [0, 0, 9]])).tolist() == [5, 6, 19]
    assert earliest_ends(submit_s, alone_s, np.zeros((0, 3))).tolist() == [5, 6, 11]


# ---- all schedules of tiny cases ------------------------------------------------------------------------


def least_cost(jobs: Jobs, gpus: int, cost: Callable[[int, int], float]) -> float:
    """Return the least sum of cost(job, its end) over all schedules that change each second; None of it is left out."""

    @cache
    def least(now: int, left: tuple[int, ...]) -> float:
        if not any(left):
            return 0.0
        ready = [row for row, rest in enumerate(left) if rest and jobs[row][0] <= now]
        best = np.inf if ready else least(now + 1, left)
        for size in range(1, len(ready) + 1):
            for running in combinations(ready, size):
                if sum(jobs[row][2] for row in running) <= gpus:
                    after = tuple(rest - (row in running) for row, rest in enumerate(left))
                    done = sum(cost(row, now + 1) for row in running if not after[row])
                    best = min(best, done + least(now + 1, after))
        return best

    return least(0, tuple(length for _, length, _ in jobs))


tiny = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3), st.integers(1, 2)), min_size=1, max_size=4)


@settings(max_examples=60)
@given(tiny.map(sorted).map(tuple), st.lists(st.integers(0, 8), min_size=4, max_size=4), st.integers(2, 3))
def test_no_schedule_of_a_tiny_case_is_beyond(jobs: Jobs, due: list[int], gpus: int):
    due_s = due[: len(jobs)]
    worth = {"utility_1": np.full(len(jobs), 10.0), "utility_2": np.full(len(jobs), 2.0),
             "utility_3": np.array(due_s, dtype=float)}  # fmt: skip
    options = SimulationRules(utility_unit_s=1.0)
    metrics = metrics_of(scenario_of(jobs, on(gpus), options, due_s=due_s, **worth))
    total_s = least_cost(jobs, gpus, lambda row, end: end - jobs[row][0])
    late_s = least_cost(jobs, gpus, lambda row, end: max(0, end - due_s[row]))
    lost = least_cost(jobs, gpus, lambda row, end: -10 / (1 + np.exp(2.0 * (end - jobs[row][0] - due_s[row]))))
    assert float(metrics["jct_mean_bound"] or 0) <= total_s / len(jobs) * (1 + 1e-12)
    assert float(metrics["tardiness_total_bound"] or 0) <= late_s * (1 + 1e-12)
    assert float(metrics["utility_total_bound"] or 0) >= -lost * (1 - 1e-12)


@settings(max_examples=60)
@given(tiny.map(sorted).map(lambda jobs: tuple((at, length, 1) for at, length, _ in jobs)))
def test_on_one_gpu_the_least_time_in_system_is_exact(jobs: Jobs):
    least_s = least_cost(jobs, 1, lambda row, end: end - jobs[row][0])
    assert metrics_of(scenario_of(jobs, on(1)))["jct_mean_bound"] == pytest.approx(least_s / len(jobs))


# ---- by hand --------------------------------------------------------------------------------------------

THREE: Jobs = ((0, 4, 2), (0, 2, 2), (1, 1, 1))
"""Areas 8, 4 and 1 GPU-s."""


def test_three_jobs_on_two_gpus():
    # fluid at 2 GPUs: lengths 4, 2, 0.5; SRPT ends 1.5, 2.5, 6.5; alone 2, 2, 4. In order: 2, 2.5, 6.5
    metrics = metrics_of(scenario_of(THREE, on(2), due_s=[4, 2, 2]))
    assert metrics["jct_mean_bound"] == pytest.approx((2 + 2.5 + 6.5 - 1) / 3)
    assert metrics["tardiness_total_bound"] == pytest.approx(0 + 0.5 + 2.5)


def test_jobs_without_a_due_time_may_end_last():
    metrics = metrics_of(scenario_of(THREE, on(2), due_s=[NAN, 2, NAN]))
    assert metrics["tardiness_total_bound"] == 0.0
    metrics = metrics_of(scenario_of(THREE, on(2), due_s=[NAN, 1, 0.5]))
    assert metrics["tardiness_total_bound"] == pytest.approx(1.5 + 1.5)  # 2 and 2.5 against 0.5 and 1


def test_the_due_time_of_one_job_alone_may_say_more():
    # due 1, 9 and 9: in order 2, 2.5, 6.5 is late by 1; alone the job of 4 s is late by 3
    assert metrics_of(scenario_of(THREE, on(2), due_s=[1, 9, 9]))["tardiness_total_bound"] == pytest.approx(3)


def test_utility_by_hand_and_the_horizon():
    # all worth 10 if done by 3, else nothing: the two short jobs have 5 of the 6 GPU-s, the long one is too late alone
    worth = {"utility_1": [10.0] * 3, "utility_2": [1e4] * 3, "utility_3": [3.5, 3.5, 2.5]}
    options = SimulationRules(utility_unit_s=1.0)
    assert metrics_of(scenario_of(THREE, on(2), options, **worth))["utility_total_bound"] == pytest.approx(20)
    until = options.model_copy(update={"horizon_s": 1.5})  # alone only the job of 1 s could not even end by then
    assert metrics_of(scenario_of(THREE, on(2), until, **worth))["utility_total_bound"] == 0
    forever = worth | {"utility_3": [100.0] * 3}
    until = options.model_copy(update={"horizon_s": 4.0})  # 8 GPU-s: 1 and 4 whole, 3 of the 8 of the long one
    found = metrics_of(scenario_of(THREE, on(2), until, **forever))["utility_total_bound"]
    assert found == pytest.approx(10 + 10 + 10 * 3 / 8)


def test_jobs_that_share_what_there_is_cannot_all_be_early():
    # four jobs of 2 s on one GPU, worth 10 by 4 s: no two of them beyond; alone all are worth 10
    jobs: Jobs = tuple((0, 2, 1) for _ in range(4))
    worth = {"utility_1": [10.0] * 4, "utility_2": [1e4] * 4, "utility_3": [4.5] * 4}
    found = metrics_of(scenario_of(jobs, on(1), SimulationRules(utility_unit_s=1.0), **worth))["utility_total_bound"]
    assert found == pytest.approx(25, rel=1e-6)  # asked at 8 s x k / 16: best at 5 s, where 2.5 jobs are done


def test_bounds_of_time_are_of_the_jobs_that_ended_and_utility_is_of_all():
    worth = {"utility_1": [7.0, 5.0], "utility_2": [0.0] * 2, "utility_3": [1.0] * 2}
    given = scenario_of(((0, 10, 1), (0, 4, 1)), on(1), PLAIN, due_s=[1, 1], **worth)
    ends = {0: (JobStatus.REJECTED, 0.0)}
    metrics = summarise(*facts_inputs(given, (Ran(1, 0, 4, {0: 1}),), ends))
    assert (metrics["jct_mean_bound"], metrics["tardiness_total_bound"]) == pytest.approx((4, 3), rel=1e-12)
    assert metrics["utility_total_bound"] == pytest.approx(3.5 + 2.5)
    nobody = summarise(*facts_inputs(given, (Ran(0, 0, 1, {0: 1}, PieceEnd.RUN_ENDED),), end_s=1.0))
    assert (nobody["jct_mean_bound"], nobody["tardiness_total_bound"]) == (None, 0)


def test_without_due_times_and_utilities_there_is_no_bound_on_them():
    metrics = metrics_of(scenario_of(THREE, on(2)))
    assert metrics["tardiness_total_bound"] is metrics["utility_total_bound"] is None


def test_a_bug_job_is_worth_nothing_under_any_policy():
    worth = {"utility_1": [10.0] * 3, "utility_2": [0.0] * 3, "utility_3": [1.0] * 3}
    metrics = metrics_of(scenario_of(THREE, on(2), SimulationRules(bug_share=1.0), **worth))
    assert metrics["utility_total_bound"] == 0


def test_a_worth_that_rises_is_bounded_by_its_limit():
    worth = {"utility_1": [10.0] * 3, "utility_2": [-1.0] * 3, "utility_3": [1.0] * 3}
    assert metrics_of(scenario_of(THREE, on(2), PLAIN, **worth))["utility_total_bound"] == pytest.approx(30)


def test_scaling_is_fastest_wide_and_thriftiest_narrow():
    # one job of 8 s at 2 workers, 1 to 4 allowed, 80% a doubling: 8 / 1.6 s at 4, 8 x 1.6 s on one GPU
    given = scenario_of(((0, 8, 2), (0, 8, 2)), on(4), min_workers=[1, 1], max_workers=[4, 4])
    metrics = metrics_of(given.replace(speed=SpeedSpec(kind="scaling", efficiency=0.8)))
    assert metrics["jct_mean_bound"] == pytest.approx((5 + max(5, 2 * 12.8 / 4)) / 2)


def test_a_table_by_machine_type():
    # slow: 10 s on 1 GPU, 6 s on 2; fast, whose GPUs count twice: 4 s on 1, 3 s on 2. Least time 3 s, least weight 8
    times = TimeTable(rows={"net": {"slow": (10.0, 6.0), "fast": (8.0, 6.0)}})
    pools = (
        Pool(vm=VmType(name="s", gpu_type="slow", gpus=2), count=1),
        Pool(vm=VmType(name="f", gpu_type="fast", gpus=2, speed=2.0), count=1),
    )
    jobs = Workload.from_columns({"job_id": list("abcd"), "submit_s": [0.0] * 4, "work": [1.0] * 4,
                                  "profile": ["net"] * 4})  # fmt: skip
    metrics = metrics_of(Scenario(jobs, Cluster(pools=pools), speed=SpeedSpec(kind="table", times=times)))
    # 6 GPUs' worth: fluid ends 8/6, 16/6, 4, 32/6, each not before the 3 s alone
    assert metrics["jct_mean_bound"] == pytest.approx((3 + 3 + 4 + 32 / 6) / 4)


def test_parameter_servers_need_the_least_over_all_gangs():
    # w workers, p servers: 6 / w + 1 + w / p; at most 8 workers, and 32 CPUs: 2 w + p <= 32
    jobs = training((0, 100, 1, 1), max_workers=[4], limit_cpus=[32.0])
    least_s = 6 / 4 + 1 + 4 / 24
    metrics = metrics_of(with_servers(jobs, machines()))
    assert metrics["jct_mean_bound"] == pytest.approx(100 * least_s)


def test_cpus_are_a_machine_of_their_own():
    # jobs without GPUs, 10 s on 6 of 8 CPUs each: no two at once, on the fluid machine 7.5 s each
    jobs: Jobs = ((0, 10, 1), (0, 10, 1), (0, 10, 1))
    asks = {"gpus_per_worker": [0.0] * 3, "cpus_per_worker": [6.0] * 3}
    metrics = metrics_of(scenario_of(jobs, on(0, cpus=8.0), PLAIN, **asks))
    assert metrics["jct_mean_bound"] == pytest.approx((10 + 15 + 22.5) / 3)
    # with 2 GPUs of 8 each they need 2.5 s of all GPUs: CPUs say more; where CPUs are no limit GPUs do
    both = asks | {"gpus_per_worker": [2.0] * 3}
    metrics = metrics_of(scenario_of(jobs, on(8, cpus=8.0), PLAIN, **both))
    assert metrics["jct_mean_bound"] == pytest.approx((10 + 15 + 22.5) / 3)
    metrics = metrics_of(scenario_of(jobs, on(2), PLAIN, **both))
    assert metrics["jct_mean_bound"] == pytest.approx(20)


def test_in_delayed_restarts_all_gpus_count_alike():
    # a job that grew from the fast machine to the slow one goes on at the fast rate for the restart
    pools = (Pool(vm=VmType(name="f", gpus=1, speed=4.0), count=1), Pool(vm=VmType(name="s", gpus=2), count=1))
    jobs: Jobs = ((0, 100, 1), (0, 100, 1))
    plain = scenario_of(jobs, Cluster(pools=pools))
    delayed = plain.replace(options=SimulationRules(restart_s=50.0, restart_mode="delayed"))
    assert metrics_of(plain)["jct_mean_bound"] == pytest.approx((25 + 200 / 6) / 2)
    assert metrics_of(delayed)["jct_mean_bound"] == pytest.approx((25 + 25) / 2)  # 25 GPU-s each on 3 GPUs


# ---- whatever happens -----------------------------------------------------------------------------------


@settings(max_examples=300)
@given(scenarios())
def test_wild_moves_are_never_beyond(scenario: Scenario):
    prepared = prepare(scenario)
    log = run_policy(prepared, Chaos(free_slots=scenario.cluster.free_slots))
    assert beyond_of(prepared.scenario, prepared.truth, log) == []


@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(st.integers(0, 24), st.integers(1, 40), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=8
    ),
    st.sampled_from([1e-9, 1e-6, 1e-3, 1.0, 1e9]),
    st.sampled_from([0.0, 1.6e9]),
    st.sampled_from(["law", "table"]),
)
def test_jobs_that_run_alone_are_at_the_bound_and_not_beyond_on_any_clock(rows, scale, since, law):
    submit_s, work = (np.array(sorted(rows))[:, column] * scale for column in (0, 1))
    columns = {
        "job_id": [f"j{number}" for number in range(len(rows))], "submit_s": since + submit_s, "work": work,
        "due_s": since + submit_s + work * np.array(sorted(rows))[:, 2], "weight_usd_per_s": np.ones(len(rows)),
        "profile": ["net"] * len(rows),
    }  # fmt: skip
    table = SpeedSpec(kind="table", times=TimeTable(rows={"net": {"GPU": (1.0,)}}))
    speed = table if law == "table" else SpeedSpec()
    prepared = prepare(Scenario(Workload.from_columns(columns), on(8, usd_per_h=0.0), PLAIN, speed))
    log = run_policy(prepared, Fake(fifo_plan))
    metrics = summarise(prepared.scenario, prepared.truth, log)
    assert beyond(metrics) == []
    assert metrics["jct_mean_bound"] == pytest.approx(metrics["jct_mean"], abs=2e-12 * (since or 1e3), rel=1e-11)


def test_a_job_shorter_than_a_step_of_the_clock_costs_at_least_nothing():
    # what it does within two steps of the clock is not certain; it cannot run on the other machine
    table = SpeedSpec(kind="table", times=TimeTable(rows={"net": {"A": (1.0,)}, "other": {"B": (1.0,)}}))
    columns = {"job_id": ["tiny"], "submit_s": [1.6e9], "work": [1e-9], "profile": ["net"]}
    boxes = [VmType(name=gpu_type, gpus=8, gpu_type=gpu_type, usd_per_h=8.0) for gpu_type in "AB"]
    cluster = Cluster(pools=tuple(Pool(vm=box, count=1) for box in boxes))
    scenario = Scenario(Workload.from_columns(columns), cluster, PLAIN, table)
    with np.errstate(invalid="raise"):
        assert metrics_of(scenario)["total_cost_bound"] == 0.0


@pytest.mark.parametrize("policy", ["fifo", "srtf", "hell-malleable"])
def test_times_since_1970_do_not_blur_the_bound(policy: str):
    given = scenario_of(tuple((at, 50, 1) for at in range(0, 200, 10)), on(4))
    since = 1.7e9
    late = given.workload.with_columns(submit_s=given.workload.submit_s + since)
    now, then = metrics_of(given, policy), metrics_of(given.replace(workload=late), policy)
    assert now["jct_mean_bound"] == pytest.approx(then["jct_mean_bound"], rel=1e-7)  # the clock steps by 2.4e-7 s
