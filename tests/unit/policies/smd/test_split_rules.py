"""Equal numbers and one more at a time, by hand and against the definition."""

from __future__ import annotations

import pytest
from hypothesis import given

from dlsched.policies.smd.problem import Choice, Split
from dlsched.policies.smd.rules import equal, optimus
from dlsched.policies.smd.split import exact
from tests.support.split_problems import exact_time, fits, real_problems, whole_problems

ASYNC = Split("async", [1, 2, 6, 8], [1], [1], [6])


def test_equal_by_hand():
    assert equal(ASYNC) == Choice(3, 3, ASYNC.time_of(3, 3))
    assert equal(ASYNC).time == pytest.approx(1 + 2 + 2 + 8 / 3)
    assert equal(Split("async", [1, 2, 6, 8], [1, 0.1], [1, 0.2], [99, 0.9])).workers == 3  # 3 x 0.3 is above 0.9
    # w + 16/w is least at 4, yet as much as the limit allows is taken
    assert equal(Split("sync", [1, 0, 0, 0, 16], [1], [1], [17])) == Choice(8, 8, 10)


def test_optimus_by_hand():
    # 17 at (1, 1), then 13, 10 and 8.33 at (2, 1), (2, 2), (3, 2), 7.5 at (4, 2), where nothing more fits
    assert optimus(ASYNC) == Choice(4, 2, 7.5)
    # more room, and (4, 3) is 6.67, (5, 2) is 7, (5, 3) is 6.07, (6, 3) is 5.67, (5, 4) is 5.8, where 9 end it
    wide = Split("async", [1, 2, 6, 8], [1], [1], [9])
    assert optimus(wide) == Choice(6, 3, wide.time_of(6, 3))
    assert wide.time_of(6, 3) == pytest.approx(1 + 1 + 1 + 8 / 3)


def test_optimus_stays_where_only_both_together_would_help():
    problem = Split("sync", [0, 2.1, 0, 4, 6], [1], [1], [4])
    # 12.1 at (1, 1), 13.1 with a worker more, 12.2 with a server more, 11.2 with both
    assert [problem.time_of(*pair) for pair in ((1, 1), (2, 1), (1, 2), (2, 2))] == pytest.approx(
        [12.1, 13.1, 12.2, 11.2]
    )
    assert optimus(problem) == Choice(1, 1, problem.time_of(1, 1))
    assert exact(problem) == Choice(2, 2, problem.time_of(2, 2))


def test_optimus_takes_the_worker_of_equal_gains():
    assert optimus(Split("async", [1, 0, 6, 6], [1], [1], [3])) == Choice(2, 1, 10)


@given(whole_problems())
def test_equal_is_the_largest_that_fits(problem):
    found = equal(problem)
    most = min(problem.most_workers, problem.most_servers)
    assert found.workers == found.servers == max(n for n in range(1, most + 1) if fits(problem, n, n))
    assert found.time == pytest.approx(float(exact_time(problem, found.workers, found.servers)))


@given(whole_problems() | real_problems())
def test_rules_keep_the_limit_and_never_beat_the_optimum(problem):
    best = exact(problem)
    for found in (equal(problem), optimus(problem)):
        assert problem.feasible(found.workers, found.servers)
        assert found.time == problem.time_of(found.workers, found.servers)
        assert found.time >= best.time * (1 - 1e-11)


@given(whole_problems() | real_problems())
def test_optimus_ends_where_no_single_step_gains(problem):
    found = optimus(problem)
    assert found.time <= problem.time_of(1, 1)
    for workers, servers in ((found.workers + 1, found.servers), (found.workers, found.servers + 1)):
        if problem.feasible(workers, servers):
            assert problem.time_of(workers, servers) >= found.time * (1 - 1e-13)
