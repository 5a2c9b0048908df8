"""Machines that are gone for good: the run ends when nothing can happen any more, not after a thousand tries."""

import numpy as np
import pytest

from dlsched.domain.cluster import Absence
from dlsched.domain.scenario import Scenario
from dlsched.sim.log import JobStatus
from dlsched.studies.simulation import simulate
from tests.support.booked_jobs import SLOT_S, booked, cluster, in_slots, run, statuses

BOOKING = ("pd-ors", "oasis")
BY_SLOTS = ("pd-ors-fifo", "pd-ors-drf", "dorm")


def fails_at_half_past_one(end_s: float | None) -> Scenario:
    """Three units of work for one worker; both machines fail in the second slot."""
    gone = tuple(Absence(node=node, start_s=1.5 * SLOT_S, end_s=end_s) for node in (0, 1))
    return in_slots(booked((0, 3, 1)), cluster(1, 1, absences=gone))


@pytest.mark.parametrize("key", BOOKING + BY_SLOTS)
def test_the_run_ends_where_nothing_can_happen_any_more(key: str) -> None:
    log = simulate(fails_at_half_past_one(None), key).log
    assert statuses(log) == [JobStatus.UNFINISHED]
    assert log.stalled
    assert log.end_s <= 2 * SLOT_S


@pytest.mark.parametrize("key", BOOKING + BY_SLOTS)
def test_who_waits_goes_on_when_machines_come_back(key: str) -> None:
    log = run(fails_at_half_past_one(70.25 * SLOT_S), key)
    assert statuses(log) == [JobStatus.COMPLETED]
    assert log.job_end_s[0] == pytest.approx((71 + 1.5) * SLOT_S)  # 1.5 of 3 slots are done when they fail


def test_who_lost_its_machine_tries_at_every_slot_while_others_hold_theirs() -> None:
    # a has booked all 4 slots of the horizon on the machine that stays; b's machine fails for good in slot 0
    gone = Absence(node=1, start_s=0.5 * SLOT_S)
    log = run(in_slots(booked((0, 4, 1), (0, 2, 1)), cluster(1, 1, absences=(gone,))), horizon_slots=4)
    assert np.allclose(log.decision_s / SLOT_S, [0, 0.5, 1, 2])  # from 2 on slots 4 and 5 can be booked
    assert statuses(log) == [JobStatus.COMPLETED, JobStatus.COMPLETED]
    assert log.job_end_s[1] == pytest.approx(5.5 * SLOT_S)  # half a slot of work was done
