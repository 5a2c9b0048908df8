"""Every metric against a calculation by hand on two to four jobs."""

from __future__ import annotations

import math

import pytest

from dlsched.domain.cluster import Absence, Cluster, Pool, VmType
from dlsched.domain.scenario import Scenario, SimulationRules, SpeedSpec
from dlsched.domain.workload import Workload
from dlsched.metrics.kpi import KPIS
from dlsched.metrics.summary import summarise
from dlsched.sim.audit import check_metrics
from dlsched.sim.log import JobStatus, PieceEnd
from tests.support.logs import Ran, facts_inputs
from tests.support.tables import jobs_table, nodes_table

CONTRACT = {
    "jobs", "completed", "rejected", "unfinished", "cancelled", "failed", "jct_mean", "jct_median", "jct_p95",
    "jct_p99", "wait_mean", "wait_p50", "wait_p95", "not_running_mean", "makespan", "allocation_ratio", "goodput",
    "tardiness_total", "tardiness_cost", "vm_cost", "idle_cost", "cost_month", "usd_per_useful_gpu_h",
    "rejection_cost", "total_cost", "total_cost_bound", "late_jobs", "late_share", "utility_total", "slowdown_mean",
    "preemptions", "resizes", "restarts", "jct_mean_bound", "tardiness_total_bound", "utility_total_bound",
}  # fmt: skip
NAN = math.nan


def fixed(nodes: int = 2, gpus: int = 4, usd_per_h: float | None = 3.6, absences=(), **vm) -> Cluster:
    """Nodes for $0.001 a second."""
    return Cluster(
        pools=(Pool(vm=VmType(name="box", gpus=gpus, usd_per_h=usd_per_h, **vm), count=nodes),),
        absences=tuple(absences),
    )


def workload(submit_s, work, workers, **columns) -> Workload:
    names = list("abcdefgh"[: len(submit_s)])
    return Workload.from_columns({"job_id": names, "submit_s": submit_s, "work": work, "workers": workers, **columns})


def three_jobs(**columns) -> Workload:
    due = {"due_s": [150, 90, NAN], "weight_usd_per_s": [0.1, 0.5, 0.2], "user": ["ann", "bob", "ann"]}
    return workload([0, 0, 50], [100, 100, 50], [4, 4, 2], **{**due, **columns})


# a runs 0-100 on node 0; b runs 0-60 on node 1, gives way to c (60-110) and runs on after 10 s of restarting, 110-160
THREE = (
    Ran(0, 0, 100, {0: 4}),
    Ran(1, 0, 60, {1: 4}, PieceEnd.PREEMPTED),
    Ran(2, 60, 110, {1: 2}),
    Ran(1, 110, 160, {1: 4}, progress_from_s=120),
)


@pytest.fixture
def three() -> dict[str, float | int | None]:
    return summarise(*facts_inputs(Scenario(three_jobs(), fixed()), THREE))


def test_has_exactly_the_contract_and_each_number_has_an_entry_in_the_dictionary(three):
    assert set(three) >= CONTRACT
    assert set(three) <= set(KPIS)
    assert all(value is None or type(value) in (int, float) for value in three.values())


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("jobs", 3),
        ("completed", 3),
        ("rejected", 0),
        pytest.param("wait_mean", 10 / 3, id="wait 0, 0, 10: mean"),
        pytest.param("wait_p50", 0, id="wait 0, 0, 10: median"),
        pytest.param("wait_p95", 9, id="wait 0, 0, 10: 95 of 100, linear between 0 and 10"),
        pytest.param("jct_mean", 320 / 3, id="turnaround time 100, 160, 60: mean"),
        pytest.param("jct_median", 100, id="turnaround time: median"),
        pytest.param("jct_p95", 154, id="turnaround time: 100 + 0.9 * 60"),
        pytest.param("jct_p99", 158.8, id="turnaround time: 100 + 0.98 * 60"),
        pytest.param("not_running_mean", 70 / 3, id="a 0, b 160 - 60 - 40, c 10"),
        pytest.param("not_running_p95", 55.0, id="0, 10, 60: 9/10 of the way from 10 to 60"),
        pytest.param("slowdown_mean", (1 + 1.6 + 1.2) / 3, id="100/100, 160/100, 60/50"),
        pytest.param("slowdown_bounded_mean", 1, id="all below 600 s"),
        ("makespan", 160),
        pytest.param("allocation_ratio", 940 / 1280, id="(400 + 240 + 100 + 200) of 8 * 160 GPU-s"),
        pytest.param("goodput", 900 / 940, id="4 GPUs restart for 10 s"),
        pytest.param("tardiness_total", 70, id="b is due at 90 and done at 160"),
        pytest.param("tardiness_cost", 35, id="70 s * $0.5"),
        ("late_jobs", 1),
        pytest.param("late_share", 0.5, id="of the two jobs with a due time"),
        pytest.param("vm_cost", 0.32, id="2 nodes * 160 s * $0.001"),
        pytest.param("idle_cost", 0.06, id="node 0 from 100 to 160"),
        pytest.param("cost_month", 0.1 / 50 * 30.4 * 86_400, id="$0.1 in the 50 s of arrivals"),
        pytest.param("usd_per_job", 0.32 / 3, id="three jobs completed"),
        pytest.param("usd_per_useful_gpu_h", 0.32 / (900 / 3600), id="per kept GPU-hour"),
        ("rejection_cost", 0),
        pytest.param("total_cost", 35.32, id="machines + lateness"),
        pytest.param("total_cost_bound", 5.225, id="900 GPU-s at a quarter of $0.001, b is 10 s late at best"),
        pytest.param("jct_mean_bound", 87.5, id="ends from 100, 100, 112.5: 900 GPU-s on 8 GPUs"),
        pytest.param("tardiness_total_bound", 10, id="b is due at 90 and takes 100"),
        ("utility_total", None),
        ("utility_total_bound", None),
        ("preemptions", 1),
        ("resizes", 0),
        ("other_width_share", 0),
        ("restarts", 1),
        pytest.param("queue_max", 1, id="c from 50, then b from 60"),
        pytest.param("fairness_users_jain", 2.7**2 / (2 * 3.77), id="ann (1 + 1.2) / 2, bob 1.6: 2.7 and 1.21 + 2.56"),
        pytest.param("fairness_max", 1.6, id="b: 160 s; alone on 1/2 of 8 GPUs (2 jobs on average) 100 s"),
        ("stalled", 0),
    ],
)
def test_three_jobs(three, key, value):
    assert three[key] == (None if value is None else pytest.approx(value, rel=1e-12, abs=1e-12))


def test_the_independent_recomputation_of_the_auditor_agrees():
    given = facts_inputs(Scenario(three_jobs(), fixed()), THREE)
    assert check_metrics(*given, summarise(*given), jobs_table(*given), nodes_table(*given)) == []


def test_undefined_numbers_are_none():
    jobs = workload([0], [10], [1])
    metrics = summarise(*facts_inputs(Scenario(jobs, fixed(usd_per_h=None)), [Ran(0, 0, 10, {0: 1})]))
    undefined = {key for key in CONTRACT if metrics[key] is None}
    assert undefined == {
        "tardiness_total", "tardiness_cost", "late_jobs", "late_share", "utility_total", "vm_cost", "idle_cost",
        "cost_month", "usd_per_useful_gpu_h", "total_cost", "total_cost_bound", "tardiness_total_bound",
        "utility_total_bound",
    }  # fmt: skip


def test_no_completed_job_has_no_cost() -> None:
    jobs = workload([0], [10], [1])
    assert summarise(*facts_inputs(Scenario(jobs, fixed()), [], end_s=5.0, stalled=True))["usd_per_job"] is None


def test_nothing_that_never_started_has_a_wait_and_its_cores_stand_idle():
    jobs = workload([0], [10], [1], gpus_per_worker=[0.0], cpus_per_worker=[2.0])
    cluster = fixed(gpus=0, cpus=4.0)
    metrics = summarise(*facts_inputs(Scenario(jobs, cluster), [], end_s=5.0, stalled=True))
    assert metrics["allocation_ratio"] == 0.0
    assert metrics["gpu_hours_up"] == pytest.approx(2 * 4 * 5 / 3600)  # core-hours of two nodes
    assert metrics["goodput"] is None
    assert metrics["wait_mean"] is None
    assert metrics["makespan"] is None
    assert (metrics["unfinished"], metrics["stalled"]) == (1, 1)


def test_each_way_to_end_is_counted_and_judged_when_the_job_left():
    # due 10 each: rejected not judged; cancelled at 8 not late; failed at 12 is 2 late; unfinished at 20 is 10 late
    jobs = workload([0, 0, 0, 0], [50] * 4, [1] * 4, due_s=[10.0] * 4, weight_usd_per_s=[1.0] * 4)
    scenario = Scenario(jobs, fixed(), SimulationRules(rejection_usd=7))
    pieces = [
        Ran(1, 0, 8, {0: 1}, PieceEnd.CANCELLED),
        Ran(2, 0, 12, {0: 1}, PieceEnd.FAILED),
        Ran(3, 0, 20, {0: 1}, PieceEnd.RUN_ENDED),
    ]
    ends = {0: (JobStatus.REJECTED, 0.0), 1: (JobStatus.CANCELLED, 8.0), 2: (JobStatus.FAILED, 12.0)}
    metrics = summarise(*facts_inputs(scenario, pieces, ends, end_s=20.0))
    counts = [metrics[key] for key in ("completed", "rejected", "cancelled", "failed", "unfinished")]
    assert counts == [0, 1, 1, 1, 1]
    assert metrics["late_jobs"] == 2
    assert metrics["late_share"] == pytest.approx(2 / 3)
    assert metrics["tardiness_total"] == pytest.approx(12)
    assert metrics["rejection_cost"] == 7
    assert metrics["total_cost"] == pytest.approx(2 * 20 * 0.001 + 12 + 7)
    assert metrics["jct_mean"] is None


def test_done_exactly_at_the_due_time_is_not_late_even_after_rounding():
    jobs = workload([0.1], [0.2], [1], due_s=[0.3])
    metrics = summarise(*facts_inputs(Scenario(jobs, fixed()), [Ran(0, 0.1, 0.1 + 0.2, {0: 1})]))
    assert 0.1 + 0.2 > 0.3
    assert (metrics["late_jobs"], metrics["tardiness_total"]) == (0, 0)


def test_restarts_resizes_and_lost_work():
    # 1 GPU-worker job: 2 workers 0-10, widened to 4 (no gap: a resize, no restart) 10-20, its node fails and 5 s of
    # 4 workers are lost; joined start on the other node 20-40 (a restart without a gap)
    jobs = workload([0], [100], [2])
    pieces = [
        Ran(0, 0, 10, {0: 2}, PieceEnd.RESIZED, rate=1.0),
        Ran(0, 10, 20, {0: 4}, PieceEnd.NODE_LOST, rate=2.0, lost_work=10.0),
        Ran(0, 20, 40, {1: 4}, rate=2.0),
    ]
    metrics = summarise(*facts_inputs(Scenario(jobs, fixed(), speed=SpeedSpec(kind="scaling")), pieces))
    assert (metrics["resizes"], metrics["restarts"], metrics["preemptions"]) == (1, 1, 0)
    assert metrics["gpu_hours_held"] == pytest.approx((20 + 40 + 80) / 3600)
    assert metrics["goodput"] == pytest.approx((140 - 4 * 5) / 140)


def test_delayed_restarts_make_progress_and_work_lost_there_is_counted_at_its_own_rate():
    # 10 s at the old rate 1, then 5 s at rate 2 = 20 work; 14 lost = 5 s at 2 and 4 s at 1 -> 9 s of 2 GPUs
    jobs = workload([0], [100], [2])
    piece = Ran(0, 0, 15, {0: 2}, PieceEnd.NODE_LOST, rate=2.0, restart_rate=1.0, progress_from_s=10, lost_work=14.0)
    metrics = summarise(*facts_inputs(Scenario(jobs, fixed()), [piece], end_s=15.0))
    assert metrics["goodput"] == pytest.approx(1 - 18 / 30)


def test_a_piece_that_ends_while_restarting_is_all_restart():
    jobs = workload([0], [100], [2])
    piece = Ran(0, 0, 6, {0: 2}, PieceEnd.PREEMPTED, progress_from_s=10)
    metrics = summarise(*facts_inputs(Scenario(jobs, fixed()), [piece], end_s=6.0))
    assert metrics["goodput"] == pytest.approx(0)


@pytest.mark.parametrize(
    ("clock", "unit_s", "utility"),
    [
        pytest.param("elapsed", 10, 8 / (1 + math.exp(0.5 * (2.5 - 3))), id="25 s = 2.5 units"),
        pytest.param("slots", 10, 8 / (1 + math.exp(0.5 * (3 - 3))), id="slot 3 minus slot 0 = 3 units"),
    ],
)
def test_utility(clock, unit_s, utility):
    # arrives in slot 0 (5 s), done at 30 + 5 = slots 0 to 3 of 10 s
    jobs = workload([5, 5], [25, 25], [1, 1], utility_1=[8.0, 1.0], utility_2=[0.5, 1e9], utility_3=[3.0, 0.0])
    options = SimulationRules(utility_clock=clock, utility_unit_s=unit_s, slot_s=10)
    pieces = [Ran(0, 5, 30 if clock == "elapsed" else 35, {0: 1}), Ran(1, 5, 30, {0: 1})]
    metrics = summarise(*facts_inputs(Scenario(jobs, fixed(), options), pieces))
    assert metrics["utility_total"] == pytest.approx(utility)


def test_an_end_on_a_slot_border_uses_the_slot_before_it():
    jobs = workload([0], [20], [1], utility_1=[1.0], utility_2=[1.0], utility_3=[1.0])
    options = SimulationRules(utility_clock="slots", utility_unit_s=10, slot_s=10)
    metrics = summarise(*facts_inputs(Scenario(jobs, fixed(), options), [Ran(0, 0, 20, {0: 1})]))
    assert metrics["utility_total"] == pytest.approx(0.5)


def test_absences_are_not_up_and_are_billed_only_if_they_say_so():
    # 100 s, 2 nodes: node 0 away 20-40 unbilled and 30-50 unbilled (overlap), node 1 away 60-100 but billed
    away = [
        Absence(node=0, start_s=20, end_s=40),
        Absence(node=0, start_s=30, end_s=50),
        Absence(node=1, start_s=60, end_s=None, billed=True),
    ]
    jobs = workload([0], [100], [4])
    pieces = [
        Ran(0, 0, 20, {0: 4}, PieceEnd.NODE_LOST),
        Ran(0, 20, 60, {1: 4}, PieceEnd.NODE_LOST),
        Ran(0, 60, 100, {0: 4}),
    ]
    metrics = summarise(*facts_inputs(Scenario(jobs, fixed(absences=away)), pieces))
    assert metrics["allocation_ratio"] == pytest.approx(400 / (4 * (70 + 60)))
    assert metrics["vm_cost"] == pytest.approx(0.07 + 0.1)
    assert metrics["idle_cost"] == pytest.approx(0.17 - 0.1)


def test_stays_are_rounded_up_to_the_hour():
    # node 0: 0-3600 exactly one hour, then away, then 5400-7201 = 1801 s -> 1 h; node 1: 7201 s -> 3 h
    away = [Absence(node=0, start_s=3600, end_s=5400)]
    jobs = workload([0], [7201], [4])
    scenario = Scenario(jobs, fixed(absences=away), SimulationRules(billing="hour"))
    metrics = summarise(*facts_inputs(scenario, [Ran(0, 0, 7201, {1: 4})]))
    assert metrics["vm_cost"] == pytest.approx(3.6 * 5)
    assert metrics["idle_cost"] == pytest.approx(3.6 * 5 - 7.201)


def test_leases_are_billed_at_the_price_of_their_own_type():
    small, big = VmType(name="s", gpus=1, usd_per_h=3.6), VmType(name="b", gpus=4, usd_per_h=36)
    cluster = Cluster(slots=2, catalogue=(small, big))
    jobs = workload([0, 0], [100, 100], [1, 2])
    # slot 0: small 0-50, big 50-100 (job a goes on there, b beside it from 50); slot 1: never leased
    pieces = [Ran(0, 0, 50, {0: 1}, PieceEnd.VM_CHANGED), Ran(0, 50, 100, {0: 1}), Ran(1, 50, 100, {0: 2})]
    given = facts_inputs(Scenario(jobs, cluster), pieces, leases=[(0, 0, 0.0, 50.0), (0, 1, 50.0, 110.0)], end_s=110.0)
    metrics = summarise(*given)
    assert metrics["vm_cost"] == pytest.approx(0.05 + 0.6)
    assert metrics["idle_cost"] == pytest.approx(0.1)
    assert metrics["allocation_ratio"] == pytest.approx((50 + 50 + 100) / (50 + 240))
    assert metrics["restarts"] == 1
    assert list(jobs_table(*given)["cost"]) == pytest.approx([0.05 + 0.5 / 3, 1.0 / 3])


def test_running_at_another_width_than_asked_for():
    pieces = [Ran(0, 0, 30, {0: 2}, PieceEnd.RESIZED, rate=2), Ran(0, 30, 70, {0: 1}), Ran(1, 70, 100, {0: 1})]
    metrics = summarise(*facts_inputs(Scenario(workload([0, 0], [100, 30], [1, 1]), fixed()), pieces))
    assert metrics["other_width_share"] == pytest.approx(30 / 100)


def test_a_job_alone_on_a_faster_node_can_be_faster_than_its_run_time():
    metrics = summarise(
        *facts_inputs(Scenario(workload([0], [100], [1]), fixed(speed=2.0)), [Ran(0, 0, 50, {0: 1}, rate=2)])
    )
    assert metrics["slowdown_mean"] == pytest.approx(0.5)
