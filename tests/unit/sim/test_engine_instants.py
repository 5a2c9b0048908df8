"""Reservation steps and plans at one instant, and timers that nobody answers."""

from __future__ import annotations

import pytest

from dlsched.domain.cluster import Absence
from dlsched.domain.plan import Plan
from dlsched.domain.policy import EventKind, ReviewRule
from dlsched.sim.audit import audit
from dlsched.sim.log import PieceEnd
from dlsched.sim.prepare import prepare
from tests.support.sim_fakes import Fake, fifo_plan, jobs, nodes, on, pieces, scenario, simulate, step

ALL = ReviewRule(~EventKind.NONE)


@pytest.mark.parametrize(
    ("then", "ends_as"),
    [
        ((), PieceEnd.PREEMPTED),
        (on((0, 2)), PieceEnd.RESIZED),
        (on((1, 4)), PieceEnd.MOVED),
        (on((0, 4)), PieceEnd.PREEMPTED),
    ],
)
def test_step_and_plan_at_one_instant_are_one_change(then, ends_as):
    given = scenario(jobs((0, 40, 4), (10, 5, 1)), nodes(2), "scaling")

    def plan(state):
        if state.now_s == 0:
            return Plan({0: (step(None, (0, 4)), step(10.0, (0, 3)))})
        if state.now_s == 10:
            return Plan({0: then, 1: on((1, 1))})
        return fifo_plan(state)

    log = simulate(given, Fake(plan, ALL))
    assert pieces(log, 0)[0] == (0, 10, 4, ends_as)
    prepared = prepare(given)
    assert audit(prepared.scenario, prepared.truth, log) == []


def test_timers_do_not_end_a_run_while_a_node_is_due_back():
    away = Absence(node=0, start_s=0, end_s=50_000.0, cause="arrives")
    log = simulate(scenario(jobs((0, 10, 1)), nodes(1, absences=[away])), Fake(fifo_plan, ReviewRule(every_s=1.0)))
    assert not log.stalled
    assert pieces(log, 0) == [(50_000, 50_010, 1, PieceEnd.COMPLETED)]
    assert len(log.decision_s) < 1100


def test_timers_alone_end_in_a_stall():
    log = simulate(scenario(jobs((0, 10, 1))), Fake(lambda state: Plan(wake_at_s=state.now_s + 1)))
    assert log.stalled
    assert len(pieces(log, 0)) == 0
