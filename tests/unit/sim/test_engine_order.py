"""What comes first at one instant, and within one plan."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from dlsched.domain.cluster import Absence
from dlsched.domain.errors import PlanError
from dlsched.domain.plan import Plan, Step
from dlsched.domain.policy import EventKind, ReviewRule
from dlsched.sim.engine import run_engine
from dlsched.sim.log import JobStatus, PieceEnd
from dlsched.sim.prepare import prepare
from tests.support.sim_fakes import Fake, fifo_plan, jobs, nodes, on, pieces, scenario, script, simulate, step

DONE = PieceEnd.COMPLETED


def failing(node, start_s, end_s=None):
    return Absence(node=node, start_s=start_s, end_s=end_s, cause="fails")


def test_completion_comes_before_the_failure_of_its_node():
    log = simulate(scenario(jobs((0, 10, 8)), nodes(1, absences=[failing(0, 10.0)])), Fake(fifo_plan))
    assert pieces(log, 0) == [(0, 10, 8, DONE)]
    assert log.job_status.tolist() == [JobStatus.COMPLETED]


def test_arrival_and_cancellation_at_one_instant_are_one_call():
    prepared = prepare(scenario(jobs((0, 10, 8), (5, 2, 8))))
    cancel_s = np.array([5.0, math.inf])
    prepared = dataclasses.replace(prepared, truth=dataclasses.replace(prepared.truth, cancel_s=cancel_s))
    policy = Fake(fifo_plan)
    log = run_engine(prepared, policy)
    assert policy.seen[1:2] == [(5, EventKind.ARRIVAL | EventKind.CANCEL)]
    assert pieces(log, 0) == [(0, 5, 8, PieceEnd.CANCELLED)]
    assert pieces(log, 1) == [(5, 7, 8, DONE)]


def test_cancellation_comes_before_the_reservation_step_of_its_job():
    prepared = prepare(scenario(jobs((0, 10, 8), (3, 2, 8))))
    cancel_s = np.array([4.0, math.inf])
    prepared = dataclasses.replace(prepared, truth=dataclasses.replace(prepared.truth, cancel_s=cancel_s))
    plans = {0.0: {0: (step(4, (0, 8)), step(20))}, 4.0: {1: on((0, 8))}}
    log = run_engine(prepared, Fake(script(plans)))
    assert pieces(log, 0) == []
    assert pieces(log, 1) == [(4, 6, 8, DONE)]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_releases_come_before_starts_whatever_the_order_of_a_plan(order):
    swap = {0: on((1, 8)), 1: on((0, 8))}
    plans = {0.0: {0: on((0, 8)), 1: on((1, 8))}, 2.0: {row: swap[row] for row in order}}
    log = simulate(scenario(jobs((0, 4, 8), (0, 4, 8), (2, 1, 1)), nodes(2), horizon_s=9), Fake(script(plans)))
    assert [piece[:2] for piece in pieces(log, 0)] == [(0, 2), (2, 4)]
    assert log.share_node.tolist() == [0, 1, 1, 0]


def test_widths_are_placed_after_all_named_shares():
    # best fit would put the width of 4 on node 0, of which the second row names 5 GPUs
    plans = {0.0: {0: (Step(4),), 1: on((0, 5))}}
    log = simulate(scenario(jobs((0, 1, 4), (0, 1, 5)), nodes(2)), Fake(script(plans)))
    assert dict(zip(log.piece_row.tolist(), log.share_node.tolist(), strict=True)) == {0: 1, 1: 0}


def test_a_plan_that_is_refused_names_the_job_and_ends_the_run():
    plans = {0.0: {0: on((0, 4))}, 1.0: {0: (), 1: on((0, 9))}}
    with pytest.raises(PlanError, match="job 'b' requests 9 GPUs on node 0"):
        simulate(scenario(jobs((0, 9, 4), (1, 1, 9)), nodes(2)), Fake(script(plans)))


def test_nothing_is_reserved_on_a_node_that_has_failed():
    cluster = nodes(2, absences=[failing(1, 3.0, 5.0)])
    plans = {4.0: {0: (step(6, (1, 8)), step(9))}}
    with pytest.raises(PlanError, match="reserves node 1 from 6 s to 9 s, but the node is down"):
        simulate(scenario(jobs((4, 3, 8)), cluster), Fake(script(plans)))


def test_capacity_changes_before_the_first_submission_ask_nobody():
    policy = Fake(fifo_plan)
    simulate(scenario(jobs((10, 1, 8)), nodes(1, absences=[failing(0, 2.0, 4.0)])), policy)
    assert [time_s for time_s, _ in policy.seen] == [10, 11]


def test_the_policy_is_asked_when_the_last_job_ends():
    policy = Fake(fifo_plan)
    simulate(scenario(jobs((0, 3, 8))), policy)
    assert policy.seen[-1] == (3, EventKind.COMPLETION)


def test_only_the_events_of_the_review_rule_ask_the_policy():
    policy = Fake(fifo_plan, ReviewRule(EventKind.ARRIVAL))
    simulate(scenario(jobs((0, 3, 8), (7, 1, 8)), nodes(2)), policy)
    assert policy.seen == [(0, EventKind.ARRIVAL), (7, EventKind.ARRIVAL)]


def test_a_restart_follows_every_start_resize_and_move():
    plans = {0.0: {0: on((0, 4))}, 10.0: {0: on((0, 2))}, 20.0: {0: on((1, 2))}, 30.0: Plan()}
    given = scenario(jobs((0, 40, 4)), nodes(2), speed="scaling", restart_s=2, horizon_s=40)
    log = simulate(given, Fake(script(plans), ReviewRule(every_s=10)))
    assert [(end, start) for _, start, _, end in pieces(log, 0)][:3] == [
        (PieceEnd.RESIZED, 10), (PieceEnd.MOVED, 20), (PieceEnd.RUN_ENDED, 40)
    ]  # fmt: skip
    assert log.piece_progress_from_s.tolist() == [2, 12, 22]
