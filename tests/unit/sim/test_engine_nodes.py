"""The engine by hand: nodes that fail and leave, reservations, VM types on free slots."""

import dataclasses

import pytest

from dlsched.domain.cluster import Absence, Cluster, VmType
from dlsched.domain.errors import PlanError
from dlsched.domain.journal import Evicted, Loses, QuotaFreed
from dlsched.domain.plan import Plan, Step, WaitReason
from dlsched.domain.policy import EventKind, ReviewRule
from dlsched.sim.audit import audit
from dlsched.sim.engine import run_engine
from dlsched.sim.log import JobStatus, PieceEnd
from dlsched.sim.prepare import prepare
from tests.support.sim_fakes import Fake, fifo_plan, jobs, nodes, on, pieces, scenario, script, simulate, step

ALL = ReviewRule(~EventKind.NONE)
DONE, LOST = PieceEnd.COMPLETED, PieceEnd.NODE_LOST
A, C, N, OVER, L = (
    EventKind.ARRIVAL,
    EventKind.COMPLETION,
    EventKind.CAPACITY,
    EventKind.OVERRUN,
    EventKind.RESERVATION_LOST,
)


def fails(node, start_s, end_s=None, cause="fails"):
    return Absence(node=node, start_s=start_s, end_s=end_s, cause=cause)


# ---- absences -----------------------------------------------------------------------------------------


def test_a_failed_node_sends_its_jobs_back_to_the_queue():
    # a takes node 0 and half of node 1, b the rest of node 1, c half of node 2 and is not touched
    cluster = nodes(3, absences=[fails(1, 4, 6)])
    policy = Fake(fifo_plan)
    log = simulate(scenario(jobs((0, 10, 12), (0, 20, 4), (0, 9, 8)), cluster), policy)
    assert pieces(log, 0) == [(0, 4, 12, LOST), (6, 12, 12, DONE)]
    assert pieces(log, 1) == [(0, 4, 4, LOST), (6, 22, 4, DONE)]
    assert pieces(log, 2) == [(0, 9, 8, DONE)]
    assert policy.seen[1:3] == [(4, N), (6, N)]


def test_work_since_the_last_checkpoint_is_lost():
    # restart 1 s, then checkpoints at 4, 7, 10 ...: at 9 two seconds of work are lost, 6 of 12 are kept
    cluster = nodes(1, absences=[fails(0, 9, 20)])
    log = simulate(scenario(jobs((0, 12, 8)), cluster, restart_s=1, checkpoint_s=3), Fake(fifo_plan))
    assert pieces(log, 0) == [(0, 9, 8, LOST), (20, 27, 8, DONE)]
    assert log.piece_lost_work.tolist() == [2, 0]


def test_without_checkpoints_nothing_is_lost():
    log = simulate(scenario(jobs((0, 12, 8)), nodes(1, absences=[fails(0, 9, 20)])), Fake(fifo_plan))
    assert pieces(log, 0) == [(0, 9, 8, LOST), (20, 23, 8, DONE)]


def test_a_failure_during_the_restart_loses_nothing():
    cluster = nodes(1, absences=[fails(0, 1, 5)])
    log = simulate(scenario(jobs((0, 3, 8)), cluster, restart_s=2, checkpoint_s=3), Fake(fifo_plan))
    assert pieces(log, 0) == [(0, 1, 8, LOST), (5, 10, 8, DONE)]
    assert log.piece_lost_work.tolist() == [0, 0]


def test_overlapping_absences_end_with_the_last_one():
    cluster = nodes(1, absences=[fails(0, 2, 6), fails(0, 4, 9)])
    log = simulate(scenario(jobs((0, 5, 8)), cluster), Fake(fifo_plan))
    assert pieces(log, 0) == [(0, 2, 8, LOST), (9, 12, 8, DONE)]


def test_policies_see_planned_absences_only():
    views = []

    def plan(state):
        views.append(([a.node for a in state.calendar], state.nodes.up.tolist(), state.nodes.free[:, 0].tolist()))
        return fifo_plan(state)

    planned, surprise = fails(1, 3, 5, "maintenance"), fails(2, 4, 6)
    late = fails(0, 0, 2, "arrives")
    cluster = nodes(3, absences=[planned, surprise, late])
    log = simulate(scenario(jobs((1, 1.5, 1), (9, 1, 1)), cluster), Fake(plan))
    assert views[0] == ([1, 0], [False, True, True], [0, 8, 8])
    assert views[1] == ([1], [True, True, True], [8, 7, 8])
    assert log.decision_s.tolist() == [1, 2, 2.5, 3, 4, 5, 6, 9, 10]
    assert views[4] == ([1], [True, False, False], [8, 0, 0])
    assert log.job_first_start_s.tolist() == [1, 9]


def test_a_node_that_is_down_cannot_be_used():
    with pytest.raises(PlanError, match=r"job 'a' requests 8 GPUs on node 0 \(it is down\), which would use 16 of 8"):
        simulate(scenario(jobs((1, 5, 8)), nodes(1, absences=[fails(0, 0)])), Fake(script({1.0: {0: on((0, 8))}})))


# ---- reservations -------------------------------------------------------------------------------------


def test_dated_steps_are_carried_out_and_an_early_end_is_an_overrun():
    # 2 s on node 0, pause, then 3 s on node 1: 5 of 6 done at 9, overrun, 1 s more
    plans = {
        0.0: {0: (step(None, (0, 8)), step(2), step(6, (1, 8)), step(9))},
        9.0: {0: on((0, 8))},
    }
    policy = Fake(script(plans), ALL)
    log = simulate(scenario(jobs((0, 6, 8)), nodes(2)), policy)
    ends = [PieceEnd.PREEMPTED, PieceEnd.OVERRUN, DONE]
    assert pieces(log, 0) == [(0, 2, 8, ends[0]), (6, 9, 8, ends[1]), (9, 10, 8, ends[2])]
    assert log.share_node.tolist() == [0, 1, 0]
    assert policy.seen == [(0, A), (9, OVER), (10, C)]
    assert (log.wait_from_s.tolist(), log.wait_reason.tolist()) == ([2], [WaitReason.BOOKED])  # nobody was asked at 2


def test_a_step_without_end_lasts_until_completion_and_equal_steps_are_no_restart():
    plans = {0.0: {0: (step(1, (0, 4)), step(2, (0, 4)), step(3, (0, 8)))}}
    log = simulate(scenario(jobs((0, 10, 4)), nodes(1), speed="scaling"), Fake(script(plans)))
    # 2 s at rate 1, then 8 of work at rate 1.6
    assert pieces(log, 0) == [(1, 3, 4, PieceEnd.RESIZED), (3, 8, 8, DONE)]


def test_a_reservation_ends_with_its_job():
    plans = {0.0: {0: (step(None, (0, 8)), step(5), step(8, (0, 8)))}, 4.0: {1: on((0, 8))}}
    log = simulate(scenario(jobs((0, 4, 8), (1, 10, 8))), Fake(script(plans)))
    assert pieces(log, 1) == [(4, 14, 8, DONE)]


def test_one_leaves_when_the_other_comes():
    plans = {0.0: {0: (step(None, (0, 8)), step(4)), 1: (step(4, (0, 8)), step(8))}, 8.0: {0: on((0, 8))}}
    log = simulate(scenario(jobs((0, 6, 8), (0, 4, 8))), Fake(script(plans), ALL))
    assert pieces(log, 0) == [(0, 4, 8, PieceEnd.OVERRUN), (8, 10, 8, DONE)]
    assert pieces(log, 1) == [(4, 8, 8, DONE)]


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        pytest.param(
            {0: (step(5, (0, 5)), step(9)), 1: (step(8, (0, 4)), step(9))},
            "At 0 s: job 'b' and others would use 9 GPUs of node 0 at 8 s, which has only 8",
            id="two reservations",
        ),
        pytest.param(
            {0: on((0, 5)), 1: (step(8, (0, 4)),)}, "would use 9 GPUs of node 0 at 8 s", id="no end means for ever"
        ),
        pytest.param(
            {0: (step(15, (0, 5)), step(21))},
            "job 'a' reserves node 0 from 15 s to 21 s, but the node is down",
            id="planned absence",
        ),
    ],
)
def test_reservations_are_checked_when_they_are_made(plan, message):
    cluster = nodes(1, absences=[fails(0, 20, 25, "maintenance")])
    with pytest.raises(PlanError, match=message):
        simulate(scenario(jobs((0, 10, 5), (0, 10, 4)), cluster), Fake(script({0.0: plan})))


def test_the_placer_keeps_what_is_reserved_and_widths_find_dated_room():
    seen = []

    def plan(state):
        if state.now_s == 0:
            return Plan({0: (step(None, (0, 5)), step(7)), 1: (Step(3, None, 4.0), Step(0, None, 6.0))})
        if state.now_s == 1:
            free = state.nodes.free[:, 0].tolist()
            seen.append(([state.placer().fits(2, n) for n in (5, 6)], state.reserved(1), state.committed(0), free))
        return Plan({2: on((0, 6))} if state.now_s == 6 else {})

    log = simulate(scenario(jobs((0, 4, 5), (0, 2, 3), (1, 1, 6)), nodes(1)), Fake(plan, ALL))
    # 8 - 5 = 3 are free now, and until further notice only what is free when both hold theirs
    assert seen == [([False, False], (step(4, (0, 3)), Step(0, None, 6.0)), ((4, 6, 1, (3, 0, 0, 0)),), [3])]
    assert pieces(log, 1) == [(4, 6, 3, DONE)]


def test_a_failed_node_breaks_reservations_on_it():
    cluster = nodes(2, absences=[fails(1, 3, 4)])
    plans = {
        0.0: {0: (step(None, (0, 8)), step(6, (1, 8))), 1: (step(5, (1, 8)), step(6))},
        4.0: {0: on((0, 8)), 1: on((1, 8))},
    }
    policy = Fake(script(plans), ALL)
    log = simulate(scenario(jobs((0, 9, 8), (0, 1, 8)), cluster), policy)
    # at 3 both reservations on node 1 are gone; a keeps running on node 0 without its later step
    assert policy.seen[1:2] == [(3, N | L)]
    assert pieces(log, 0) == [(0, 9, 8, DONE)]
    assert pieces(log, 1) == [(4, 5, 8, DONE)]


@pytest.mark.parametrize("fails_s", [3.0, 6.0], ids=["within a step", "as the next begins"])
def test_who_loses_its_reservation_while_it_runs_makes_room_for_who_booked_its_node(fails_s):
    plans = {
        0.0: {0: (step(None, (0, 8)), step(6, (1, 8)), step(9)), 1: (step(6, (0, 8)), step(9))},
        9.0: {0: on((0, 8))},
    }
    policy = Fake(script(plans), ALL)
    log = simulate(scenario(jobs((0, 9, 8), (0, 3, 8)), nodes(2, absences=[fails(1, fails_s, 20)])), policy)
    assert pieces(log, 1) == [(6, 9, 8, DONE)]
    assert pieces(log, 0) == [(0, 6, 8, PieceEnd.OVERRUN), (9, 12, 8, DONE)]
    assert dict(policy.seen)[6.0] == (OVER if fails_s < 6 else N | L | OVER)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (
            (step(None, (0, 8)), step(3, (1, 8)), step(9)),
            [(0, 3, 8, PieceEnd.PREEMPTED), (3, 6, 8, DONE)],
        ),
        (
            (step(None, (0, 8)), step(3), step(5, (0, 8)), step(9)),
            [(0, 3, 8, PieceEnd.PREEMPTED), (5, 8, 8, DONE)],
        ),
        ((step(None, (0, 8)), step(3)), [(0, 3, 8, PieceEnd.OVERRUN), (7, 10, 8, DONE)]),
    ],
    ids=["moves", "pauses", "ends"],
)
def test_who_leaves_a_node_as_it_goes_away_loses_nothing(steps, expected):
    # b arrives at 7 only to have the policy asked
    given = scenario(jobs((0, 6, 8), (7, 1, 1)), nodes(3, absences=[fails(0, 3, 5, "maintenance")]), checkpoint_s=10.0)
    plans = {0.0: {0: steps}, 7.0: {1: on((2, 1))} | ({} if len(steps) > 2 else {0: on((1, 8))})}
    prepared = prepare(given)
    log = run_engine(prepared, Fake(script(plans), ALL))
    assert pieces(log, 0) == expected
    assert log.piece_lost_work.sum() == 0
    assert audit(prepared.scenario, prepared.truth, log) == []
    surprise = given.cluster.model_copy(update={"absences": (fails(0, 3, 5),)})
    (found,) = audit(given.replace(cluster=surprise), prepared.truth, log)
    assert "but one of its nodes goes away then" in str(found)
    told = list(zip(log.wait_row.tolist(), log.wait_from_s.tolist(), log.wait_reason.tolist(), strict=True))
    assert ((0, 3.0, int(WaitReason.BOOKED)) in told) == (expected[1][0] == 5)


# ---- free slots ---------------------------------------------------------------------------------------

CATALOGUE = (VmType(name="small", gpus=2, usd_per_h=1), VmType(name="big", gpus=4, usd_per_h=3, speed=2))


def slots(count, absences=()):
    return Cluster(slots=count, catalogue=CATALOGUE, absences=tuple(absences))


def leases(log):
    columns = (log.lease_node, log.lease_vm, log.lease_start_s, log.lease_end_s)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_leases_open_change_and_close_and_a_change_restarts_the_jobs_that_stay():
    plans = {
        0.0: Plan({0: on((1, 2))}, vms={1: "small"}),
        2.0: Plan(vms={1: "big"}),
        6.0: Plan(vms={1: None}),
    }
    log = simulate(scenario(jobs((0, 8, 2), (2, 1, 1)), slots(2), horizon_s=9, restart_s=1), Fake(script(plans)))
    # 1 s restart, 1 s work; on big (speed 2) 1 s restart, 7 left at rate 2
    assert pieces(log, 0) == [(0, 2, 2, PieceEnd.VM_CHANGED), (2, 6.5, 2, DONE)]


def test_vm_leases_are_billed_from_plan_to_plan():
    plans = {
        0.0: Plan({0: on((1, 2))}, vms={1: "small"}),
        2.0: Plan(vms={1: "big", 0: "small"}),
        5.0: Plan({1: on((0, 1))}, vms={1: None}),
    }
    log = simulate(scenario(jobs((0, 8, 2), (2, 4, 1)), slots(2)), Fake(script(plans)))
    assert pieces(log, 0) == [(0, 2, 2, PieceEnd.VM_CHANGED), (2, 5, 2, DONE)]
    assert leases(log) == [(1, 0, 0, 2), (0, 0, 2, 9), (1, 1, 2, 5)]


def test_slots_of_a_plan_are_renamed_so_that_jobs_stay_put():
    # the second plan says the same thing with other slot numbers: nothing moves, no lease changes
    plans = {
        0.0: Plan({0: on((0, 2)), 1: on((1, 4))}, vms={0: "small", 1: "big"}),
        1.0: Plan({0: on((2, 2)), 1: on((0, 4)), 2: on((1, 1))}, vms={0: "big", 1: "small", 2: "small"}),
    }
    log = simulate(scenario(jobs((0, 10, 2), (0, 10, 4), (1, 3, 1)), slots(3)), Fake(script(plans)))
    assert pieces(log, 0) == [(0, 10, 2, DONE)]
    assert pieces(log, 1) == [(0, 5, 4, DONE)]
    assert pieces(log, 2) == [(1, 4, 1, DONE)]
    assert leases(log) == [(0, 0, 0, 10), (1, 1, 0, 10), (2, 0, 1, 10)]


def test_alike_shares_of_a_spread_job_keep_slots_of_their_own():
    plans = {
        0.0: Plan({0: on((0, 2), (1, 2))}, vms={0: "small", 1: "small"}),
        1.0: Plan({0: on((2, 2), (3, 2))}, vms={0: None, 1: None, 2: "small", 3: "small"}),
    }
    log = simulate(scenario(jobs((0, 10, 4), (1, 30, 1)), slots(4), horizon_s=20), Fake(script(plans)))
    assert pieces(log, 0) == [(0, 10, 4, DONE)]
    assert [lease[0] for lease in leases(log)] == [0, 1]


def test_slots_of_jobs_the_plan_does_not_name_keep_their_name():
    plans = {
        0.0: Plan({0: on((0, 2)), 1: on((1, 2))}, vms={0: "small", 1: "small"}),
        1.0: Plan({0: on((2, 2))}, vms={0: None, 2: "small"}),
    }
    log = simulate(scenario(jobs((0, 10, 2), (0, 10, 2), (1, 1, 1)), slots(3), horizon_s=20), Fake(script(plans)))
    assert pieces(log, 0) == [(0, 10, 2, DONE)]
    assert pieces(log, 1) == [(0, 10, 2, DONE)]


def test_a_slot_that_fails_loses_its_vm():
    plans = {
        0.0: Plan({0: on((0, 2))}, vms={0: "small"}),
        5.0: Plan({0: on((0, 2))}, vms={0: "small"}),
    }
    log = simulate(scenario(jobs((0, 10, 2)), slots(1, [fails(0, 3, 5)])), Fake(script(plans)))
    assert pieces(log, 0) == [(0, 3, 2, LOST), (5, 12, 2, DONE)]
    assert leases(log) == [(0, 0, 0, 3), (0, 0, 5, 12)]


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        pytest.param(Plan(vms={0: "huge"}), "VM type 'huge' is not in the catalogue: small, big", id="unknown"),
        pytest.param(Plan(vms={4: "big"}), "there is no slot 4; the last one is 2", id="no slot"),
        pytest.param(Plan(vms={2: "big"}), "slot 2 is down", id="down"),
        pytest.param(Plan({0: on((0, 2))}), "requests 2 GPUs on node 0, which would use 2 of 0", id="empty slot"),
    ],
)
def test_impossible_vm_plans_are_refused(plan, message):
    with pytest.raises(PlanError, match=message):
        simulate(scenario(jobs((1, 10, 2)), slots(3, [fails(2, 0)])), Fake(script({1.0: plan})))


def test_status_of_everybody_when_slots_never_open():
    log = simulate(scenario(jobs((0, 1, 1)), slots(1)), Fake(lambda state: Plan()))
    assert log.stalled
    assert log.job_status.tolist() == [JobStatus.UNFINISHED]


# ---- evictions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("loses", "lost"), [("checkpoint", 2), ("all", 8), ("nothing", 0)])
def test_an_evicted_job_loses_what_the_plan_says(loses, lost):
    # restart 1 s, 20 s of work: of 9 s until the eviction 8 make progress; after 7 s the second of two checkpoints
    evict = Plan({0: on((0, 8)), 1: on((1, 1))}, evicted={0: loses}, journal=(QuotaFreed(0),))
    given = scenario(jobs((0, 20, 8), (9, 1, 1)), nodes(2), restart_s=1, checkpoint_s=3)
    log = simulate(given, Fake(script({0: {0: on((0, 8))}, 9: evict})))
    assert pieces(log, 0) == [(0, 9, 8, PieceEnd.PREEMPTED), (9, 9 + 1 + 20 - 8 + lost, 8, DONE)]
    assert log.piece_lost_work.tolist()[:2] == [lost, 0]
    assert list(log.journal) == [(9, QuotaFreed(0)), (9, Evicted(0, loses))]
    prepared = prepare(given)
    assert audit(prepared.scenario, prepared.truth, log) == []
    tampered = dataclasses.replace(log, journal=())
    found = audit(prepared.scenario, prepared.truth, tampered)
    assert bool(lost) == any("without a lost node or an eviction" in text for text in found)
    others: set[Loses] = {"checkpoint", "all", "nothing"}
    for other in others - {loses}:
        tampered = dataclasses.replace(log, journal=((9, Evicted(0, other)),))
        assert any("of work" in text for text in audit(prepared.scenario, prepared.truth, tampered))


def test_only_running_jobs_can_be_evicted():
    with pytest.raises(PlanError, match="evicts row 0, which is not a running job"):
        simulate(scenario(jobs((0, 3, 8))), Fake(script({0: Plan(evicted={0: "nothing"})})))
