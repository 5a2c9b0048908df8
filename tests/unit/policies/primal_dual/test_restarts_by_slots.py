"""A restart that takes a whole slot: a booking of one slot would bring nothing, and be made again for ever."""

import pytest

from dlsched.domain.errors import InputError
from dlsched.domain.policy import Need
from dlsched.domain.scenario import Scenario
from dlsched.policies.registry import find, unmet_needs
from dlsched.sim.log import JobStatus
from dlsched.studies.simulation import simulate
from tests.support.booked_jobs import SLOT_S, booked, cluster, in_slots, run, statuses

BOOKING = ("pd-ors", "oasis")


def with_restarts(restart_s: float) -> Scenario:
    """One unit of work for one worker: a slot without restarts."""
    return in_slots(booked((0, 1, 1)), cluster(1, 1), restart_s=restart_s)


@pytest.mark.parametrize("key", BOOKING)
@pytest.mark.parametrize("restart_s", [SLOT_S, 2.5 * SLOT_S])
def test_a_restart_of_a_whole_slot_is_refused(key: str, restart_s: float) -> None:
    with pytest.raises(InputError, match=Need.SHORT_RESTARTS.value):
        simulate(with_restarts(restart_s), key)


@pytest.mark.parametrize("key", BOOKING)
def test_shorter_restarts_bring_the_rest_of_each_slot(key: str) -> None:
    log = run(with_restarts(0.5 * SLOT_S), key)
    assert statuses(log) == [JobStatus.COMPLETED]
    # the job is not done at the end of its first booking and goes on there in the next one: another half slot is lost
    assert log.job_end_s[0] == pytest.approx(2 * SLOT_S)


def test_policies_that_book_nothing_ahead_take_any_restart() -> None:
    for key in ("pd-ors-fifo", "pd-ors-drf", "dorm"):
        assert Need.SHORT_RESTARTS not in unmet_needs(find(key), with_restarts(2.5 * SLOT_S))
