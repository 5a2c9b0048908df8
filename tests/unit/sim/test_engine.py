"""The engine by hand: rigid jobs, preemption, resizing, restarts, endings."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from dlsched.domain.errors import PlanError
from dlsched.domain.plan import Plan, Step, WaitReason
from dlsched.domain.policy import EventKind, ReviewRule
from dlsched.sim.engine import run_engine
from dlsched.sim.log import JobStatus, PieceEnd
from dlsched.sim.prepare import prepare
from tests.support.sim_fakes import Fake, fifo_plan, jobs, nodes, on, pieces, scenario, script, simulate

DONE, PREEMPTED, RESIZED = PieceEnd.COMPLETED, PieceEnd.PREEMPTED, PieceEnd.RESIZED
A, C = EventKind.ARRIVAL, EventKind.COMPLETION


def test_fifo_on_one_node():
    # a holds 5 of 8 GPUs to 10, so b (4) waits; c (1) is behind b
    policy = Fake(fifo_plan)
    log = simulate(scenario(jobs((0, 10, 5), (2, 5, 4), (3, 1, 1))), policy)
    assert pieces(log, 0) == [(0, 10, 5, DONE)]
    assert pieces(log, 1) == [(10, 15, 4, DONE)]
    assert pieces(log, 2) == [(10, 11, 1, DONE)]
    assert policy.seen == [(0, A), (2, A), (3, A), (10, C), (11, C), (15, C)]
    assert log.job_status.tolist() == [JobStatus.COMPLETED] * 3
    assert log.job_first_start_s.tolist() == [0, 10, 10]
    assert log.job_end_s.tolist() == [10, 15, 11]
    assert (log.start_s, log.end_s, log.stalled) == (0, 15, False)
    assert log.share_first.tolist() == [0, 1, 2, 3]
    assert log.share_workers.tolist() == [5, 4, 1]
    assert log.decision_cpu_s.min() >= 0


def test_all_that_happens_at_one_instant_is_one_call_and_completions_come_first():
    policy = Fake(fifo_plan)
    log = simulate(scenario(jobs((0, 10, 8), (10, 5, 8), (10 + 1e-9, 5, 8))), policy)
    assert policy.seen[1] == (10 + 1e-9, A | C)
    assert log.job_end_s[0] == 10
    assert pieces(log, 1)[0][0] == 10 + 1e-9


def test_preempted_work_is_kept():
    plans = {0.0: {0: on((0, 8))}, 4.0: {0: (), 1: on((0, 8))}, 7.0: {0: on((0, 8))}}
    log = simulate(scenario(jobs((0, 10, 8), (4, 3, 8))), Fake(script(plans)))
    assert pieces(log, 0) == [(0, 4, 8, PREEMPTED), (7, 13, 8, DONE)]
    assert pieces(log, 1) == [(4, 7, 8, DONE)]


def test_resizing_follows_the_scaling_law():
    # 4 -> 8 workers at efficiency 0.8 is rate 1.6: 20 - 5 = 15 left, 15 / 1.6 = 9.375 s
    plans = {0.0: {0: on((0, 4))}, 5.0: {0: on((0, 8))}}
    log = simulate(scenario(jobs((0, 20, 4), (5, 1, 8)), speed="scaling"), Fake(script(plans | {14.375: fifo_all()})))
    assert pieces(log, 0) == [(0, 5, 4, RESIZED), (5, 14.375, 8, DONE)]
    assert log.piece_rate.tolist() == pytest.approx([1, 1.6, 1])


def fifo_all():
    return {1: on((0, 8))}


def test_equal_allocations_and_equal_widths_are_no_restart():
    plans = {0.0: {0: on((0, 2), (1, 1))}, 5.0: {0: on((1, 1), (0, 2)), 1: on((1, 1))}, 6.0: {0: (Step(3),)}}
    three = jobs((0, 10, 3), (5, 1, 1), (6, 1, 1))
    log = simulate(scenario(three, nodes(2), restart_s=1), Fake(script(plans | {7.0: {2: on((1, 1))}})))
    assert pieces(log, 0) == [(0, 11, 3, DONE)]


def test_a_width_alone_is_placed_by_the_rule_of_the_scenario():
    log = simulate(
        scenario(jobs((0, 10, 3)), nodes(2, gpus=2), placement="spread"), Fake(script({0.0: {0: (Step(3),)}}))
    )
    assert list(zip(log.share_node.tolist(), log.share_workers.tolist(), strict=True)) == [(0, 2), (1, 1)]


def test_other_nodes_at_the_same_width_is_a_move():
    plans = {0.0: {0: on((0, 3))}, 5.0: {0: on((1, 3)), 1: on((0, 8))}}
    log = simulate(scenario(jobs((0, 10, 3), (5, 1, 8)), nodes(2), restart_s=2), Fake(script(plans)))
    # 2 s start, 3 s work, move at 5, 2 s restart, 7 s work
    assert pieces(log, 0) == [(0, 5, 3, PieceEnd.MOVED), (5, 14, 3, DONE)]
    assert log.piece_progress_from_s.tolist() == [2, 7, 7]


@pytest.mark.parametrize(
    ("mode", "ends"),
    [
        # pause: 2 s start + 3 s work; up to 8 at 5: 2 s nothing, 15/1.6; then down to 4 at 10: see comments
        pytest.param("pause", [5, 10, 22.2], id="pause: 3 + 3*1.6 = 7.8 of 18; 2 s nothing; 10.2 s"),
        pytest.param("delayed", [5, 10, 18.2], id="delayed: 3 + 2*1 + 3*1.6 = 9.8 of 18; 8.2 s"),
    ],
)
def test_restart_modes(mode, ends):
    plans = {0.0: {0: on((0, 4))}, 5.0: {0: on((0, 8))}, 10.0: {0: on((0, 4))}}
    given = scenario(jobs((0, 18, 4)), speed="scaling", restart_s=2, restart_mode=mode)
    log = simulate(given, Fake(script(plans), ReviewRule(every_s=5)))
    assert log.piece_end_s.tolist() == pytest.approx(ends)
    assert log.piece_restart_rate.tolist() == [0, 1 if mode == "delayed" else 0, 0]


def test_a_job_can_finish_during_a_delayed_scale_up():
    plans = {0.0: {0: on((0, 4))}, 5.0: {0: on((0, 8))}}
    given = scenario(jobs((0, 6, 4)), speed="scaling", restart_s=2, restart_mode="delayed")
    log = simulate(given, Fake(script(plans), ReviewRule(every_s=5)))
    # 2 s start, 3 s at rate 1, then the old rate 1 for 2 s (2 more), 1 left at 1.6
    assert log.job_end_s[0] == pytest.approx(7.625)


def test_a_move_does_not_cut_a_delayed_start_short():
    plans = {0.0: {0: on((0, 4))}, 1.0: {0: on((1, 4))}}
    given = scenario(jobs((0, 6, 4), (1, 1, 1)), nodes(2), restart_s=3, restart_mode="delayed", horizon_s=20)
    log = simulate(given, Fake(script(plans)))
    assert pieces(log, 0) == [(0, 1, 4, PieceEnd.MOVED), (1, 9, 4, DONE)]
    assert log.piece_progress_from_s.tolist() == [3, 3]


def test_node_speed_of_the_slowest_node_counts():
    from dlsched.domain.cluster import Cluster, Pool, VmType

    fast, slow = (VmType(name=name, gpus=2, speed=speed) for name, speed in (("f", 2.0), ("s", 0.5)))
    cluster = Cluster(pools=(Pool(vm=fast, count=1), Pool(vm=slow, count=1)))
    plans = {0.0: {0: on((0, 2))}, 1.0: {1: on((0, 1), (1, 1))}}
    log = simulate(scenario(jobs((0, 2, 2), (1, 2, 2)), cluster), Fake(script(plans)))
    assert log.job_end_s.tolist() == [1, 5]


def with_truth(given, **columns):
    prepared = prepare(given)
    truth: dict[str, Any] = {name: np.array(values) for name, values in columns.items()}
    return dataclasses.replace(prepared, truth=dataclasses.replace(prepared.truth, **truth))


def test_a_bug_job_fails_when_its_short_work_is_done():
    prepared = with_truth(scenario(jobs((0, 10, 8), (1, 5, 8))), work=[3.0, 5.0], is_bug=[True, False])
    log = run_engine(prepared, Fake(fifo_plan))
    assert log.job_status.tolist() == [JobStatus.FAILED, JobStatus.COMPLETED]
    assert pieces(log, 0) == [(0, 3, 8, PieceEnd.FAILED)]
    assert pieces(log, 1) == [(3, 8, 8, DONE)]


def test_users_take_jobs_back_while_running_or_waiting():
    three = jobs((0, 10, 8), (1, 5, 8), (2, 1, 8))
    prepared = with_truth(scenario(three), cancel_s=[4.0, 3.0, math.inf])
    policy = Fake(fifo_plan)
    log = run_engine(prepared, policy)
    assert log.job_status.tolist() == [JobStatus.CANCELLED, JobStatus.CANCELLED, JobStatus.COMPLETED]
    assert log.job_end_s.tolist() == [4, 3, 5]
    assert pieces(log, 0) == [(0, 4, 8, PieceEnd.CANCELLED)]
    assert pieces(log, 1) == []
    assert (3, EventKind.CANCEL) in policy.seen


def test_completion_beats_cancellation_at_one_instant():
    log = run_engine(with_truth(scenario(jobs((0, 10, 8))), cancel_s=[10.0]), Fake(fifo_plan))
    assert log.job_status.tolist() == [JobStatus.COMPLETED]


def test_rejection_ends_a_job():
    plans = {0.0: Plan(rejected=(0,)), 1.0: {1: on((0, 1))}}
    log = simulate(scenario(jobs((0, 10, 8), (1, 5, 1))), Fake(script(plans)))
    assert log.job_status.tolist() == [JobStatus.REJECTED, JobStatus.COMPLETED]
    assert log.job_end_s.tolist() == [0, 6]


def test_the_horizon_ends_the_run_there():
    log = simulate(scenario(jobs((0, 10, 8), (1, 5, 8), (100, 1, 1)), horizon_s=7), Fake(fifo_plan))
    assert pieces(log, 0) == [(0, 7, 8, PieceEnd.RUN_ENDED)]
    assert log.job_status.tolist() == [JobStatus.UNFINISHED] * 3
    assert np.isnan(log.job_end_s).all()
    assert (log.end_s, log.stalled) == (7, False)


@pytest.mark.parametrize("review", [ReviewRule(), ReviewRule(every_s=1.0)])
def test_a_policy_that_starts_nobody_stalls(review):
    log = simulate(scenario(jobs((0, 10, 8), (5, 5, 8))), Fake(lambda state: Plan(), review))
    assert log.stalled
    assert log.job_status.tolist() == [JobStatus.UNFINISHED] * 2
    assert log.end_s >= 5


def test_reviews_come_on_the_grid_while_jobs_are_active():
    policy = Fake(fifo_plan, ReviewRule(EventKind.NONE, every_s=10, phase_s=3))
    log = simulate(scenario(jobs((0, 12, 8), (33, 1, 8), (100, 1, 8))), policy)
    # active 0-15 (started at 3), 33-34 (33 is on the grid), 100-104 (next grid point 103)
    assert [time_s for time_s, _ in policy.seen] == [3, 13, 33, 103]
    assert log.job_end_s.tolist() == [15, 34, 104]
    assert log.decision_cause.tolist() == [EventKind.TIMER, EventKind.TIMER, A | EventKind.TIMER, EventKind.TIMER]


def test_every_plan_sets_the_wake_up_anew():
    plans = {
        0.0: Plan({0: on((0, 8))}, wake_at_s=4),
        1.0: Plan(wake_at_s=5),
        5.0: Plan(wake_at_s=8),
        6.0: Plan(),
    }
    policy = Fake(script(plans))
    simulate(scenario(jobs((0, 10, 8), (1, 1, 1), (6, 1, 1), (10, 1, 1)), horizon_s=12), policy)
    assert [time_s for time_s, _ in policy.seen] == [0, 1, 5, 6, 10]


def test_waking_in_the_past_is_refused_and_now_means_the_next_instant():
    with pytest.raises(PlanError, match="woken at 1 s"):
        simulate(scenario(jobs((2, 1, 1))), Fake(lambda state: Plan(wake_at_s=1.0)))
    policy = Fake(script({2.0: Plan(wake_at_s=2.0)}))
    simulate(scenario(jobs((2, 1, 1))), policy)
    assert len(policy.seen) == 2
    assert 2 < policy.seen[1][0] < 2 + 1e-8


def test_only_changes_of_reasons_are_recorded_and_silence_once():
    def plan(state):
        reasons = (np.array([0]), np.array([WaitReason.NO_ROOM if state.now_s < 4 else WaitReason.BEHIND]))
        return Plan(reasons=reasons if state.now_s >= 1 else None)

    log = simulate(scenario(jobs((0, 1, 1), (1, 1, 1))), Fake(plan, ReviewRule(every_s=1)), 0)
    waits = list(zip(log.wait_row.tolist(), log.wait_from_s.tolist(), log.wait_reason.tolist(), strict=True))
    silent, no_room, behind = (int(r) for r in (WaitReason.NOT_RECORDED, WaitReason.NO_ROOM, WaitReason.BEHIND))
    assert waits == [(0, 0, silent), (0, 1, no_room), (1, 1, silent), (0, 4, behind)]


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        pytest.param({1: on((0, 5)), 0: on((0, 4))}, "At 0 s: job 'a' requests 4 GPUs on node 0, .* 9 of 8", id="full"),
        pytest.param({0: on((0, 3))}, "job 'a' cannot run with 3 workers; allowed are 4 to 4", id="width"),
        pytest.param({0: on((1, 4))}, "there is no node 1; the last one is 0", id="node"),
        pytest.param({2: on((0, 1))}, "names row 2, which has not been submitted yet", id="later row"),
        pytest.param({0: on((0, 2), (0, 2))}, "two shares on one node", id="double"),
        pytest.param({0: (Step(4), Step(4))}, "each after the one before; step 2", id="undated second step"),
        pytest.param({0: (Step(4),), 1: (Step(5),)}, "finds no node for job 'b' with 5 workers", id="no room"),
        pytest.param({0: (Step(4, on((0, 3))[0].shares),)}, r"the shares hold \(3, 0\), not \(4, 0\)", id="sum"),
        pytest.param(Plan(rejected=(2,)), "rejects row 2, which is not a waiting job", id="reject"),
        pytest.param(Plan(vms={0: "vm"}), "but the nodes are owned", id="fixed"),
    ],
)
def test_impossible_plans_are_refused(plan, message):
    with pytest.raises(PlanError, match=message):
        simulate(scenario(jobs((0, 10, 4), (0, 10, 5), (1, 10, 1))), Fake(script({0.0: plan})))


def test_pool_counts_what_jobs_block_beyond_their_use():
    def plan(state):
        if state.now_s == 0:
            return Plan({0: (Step(2, None, None, 0, (6.0, 0.0, 0.0, 0.0)),)})
        placer = state.placer()
        fits.append((placer.fits(1, 10), placer.fits(1, 11)))
        return Plan()

    fits: list[tuple[bool, bool]] = []
    given = scenario(jobs((0, 10, 2), (1, 1, 11)), nodes(2), placement="pool", horizon_s=2)
    simulate(given, Fake(plan))
    assert fits == [(True, False)]


def test_a_single_server_with_constant_service_waits_as_theory_says():
    # M/D/1, load 0.7: mean wait = rho / (2 (1 - rho)) service times = 1.1667
    rng = np.random.default_rng(7)
    submit_s = np.cumsum(rng.exponential(1 / 0.7, 4000))
    given = scenario(jobs(*((float(at_s), 1.0, 1) for at_s in submit_s)), nodes(1, gpus=1))
    log = simulate(given, Fake(fifo_plan))
    wait_s = log.job_first_start_s - submit_s
    assert wait_s.mean() == pytest.approx(0.7 / (2 * 0.3), rel=0.15)
    # Lindley's recursion is exact
    expected = np.zeros(len(submit_s))
    for job in range(1, len(submit_s)):
        expected[job] = max(0.0, expected[job - 1] + 1 - (submit_s[job] - submit_s[job - 1]))
    assert wait_s == pytest.approx(expected, abs=1e-6)
