"""EASY backfill with parameter servers: a gang on several nodes ends later, and its promise says so."""

import pytest

from dlsched.domain.scenario import SpeedSpec
from dlsched.studies.simulation import simulate
from tests.support.server_scenarios import machines, training, with_servers


@pytest.mark.parametrize(("updates", "head_s"), [("sync", 120.0), ("async", 40.0)])
def test_who_ends_before_a_spread_gang_may_start_beside_it(updates, head_s):
    # a: 10 steps of 6/3 + 1 + 3 s on one node, 6 s more on two; b needs all 4 GPUs; c: 13 or 4 steps of 8 s
    steps = 13 if updates == "sync" else 4
    jobs = training((0, 10, 3, 1), (1, 1, 4, 1), (2, steps, 1, 1), spread_s=[6.0, 6.0, 0.0])
    given = with_servers(
        jobs, machines(2, gpus=2), SpeedSpec(kind="parameter-server", updates=updates), placement="pool"
    )
    log = simulate(given, "easy-backfill").log
    assert log.job_first_start_s.tolist() == [0, head_s, 2]  # c is through before a
    assert log.job_end_s[0] == head_s


def test_a_spread_gang_that_would_end_too_late_does_not_delay_the_head():
    # c is apart: 7 steps of 8 + 6 s from 2 s on end at 100 s, after a at 60 s; 8 s a step would be in time
    jobs = training((0, 10, 3, 1), (1, 1, 4, 1), (2, 7, 1, 1), spread_s=[0.0, 6.0, 6.0])
    log = simulate(with_servers(jobs, machines(2, gpus=2), placement="pool"), "easy-backfill").log
    assert log.job_first_start_s[1] == 60
    assert log.job_first_start_s[2] > 60
