"""The inner problem of SMD: its times, what fits, and what is refused."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.policies.smd.problem import MOST_COUNT, Split
from tests.support.split_problems import exact_time, fits, real_problems, whole_problems

SYNC = Split("sync", [1, 2, 3, 4, 100], [1, 2], [0, 1], [8, 30])
ASYNC = Split("async", [1, 2, 6, 8], [1], [1], [6])


def test_times_by_hand():
    assert SYNC.time_of(5, 2) == 5 + 4 + 3 + 10 + 20
    assert SYNC.time_of(2.5, 2) == 2.5 + 4 + 3 + 5 + 40
    assert ASYNC.time_of(4, 2) == 1 + 1 + 1.5 + 4
    assert SYNC.fixed_time == 3
    assert ASYNC.fixed_time == 1


def test_what_fits_by_hand():
    assert SYNC.feasible(8, 14)  # 8 of 8, 16 + 14 of 30
    assert not SYNC.feasible(8, 15)
    assert not SYNC.feasible(9, 1)
    assert not SYNC.feasible(0, 1)
    assert not SYNC.feasible(1, 0.5)
    assert SYNC.exceeded(9, 13) == ("resource 1", "resource 2")
    assert SYNC.exceeded(8, 14) == ()
    assert (SYNC.workers_most, SYNC.servers_most) == (8, 28)
    assert SYNC.workers_beside(np.array([1.0, 14, 15, 28])).tolist() == [8, 8, 7, 1]
    assert (SYNC.workers_beside(np.array([29.0, 40])) < 1).all()
    apart = Split("async", [1, 1, 1, 1], [1, 0], [0, 1], [5, 3])  # servers have a resource of their own
    beside = apart.workers_beside(np.array([1.0, 3, 4]))
    assert beside[:2].tolist() == [5, 5]
    assert beside[2] < 1


@pytest.mark.parametrize(
    ("worker", "server", "limit", "servers"),
    [
        (0.5972246576328856, 2.899393315871321, 321.8524280367019, 97),  # the quotient is rounded down below 68
        (7.506461977689124, 5.748920313850828, 3045.256217127075, 185),  # and here up to 264
    ],
    ids=["down", "up"],
)
def test_rounding_of_a_quotient_changes_nothing(worker, server, limit, servers):
    problem = Split("async", [1, 1, 1, 1], [worker], [server], [limit])
    most = int(problem.workers_beside(np.array([float(servers)]))[0])
    assert problem.feasible(most, servers)
    assert not problem.feasible(most + 1, servers)


def test_three_tenths_hold_three_of_a_tenth():
    problem = Split("async", [1, 1, 1, 1], [0.1], [0], [0.3], most_servers=2)
    assert 3 * 0.1 > 0.3
    assert problem.workers_most == 3
    assert problem.feasible(3, 1)
    assert not problem.feasible(4, 1)


def test_grid_holds_times_and_gaps():
    grid = ASYNC.grid()
    assert grid.shape == (5, 5)
    assert grid[3, 1] == 7.5
    assert np.isfinite(grid).sum() == 5 + 4 + 3 + 2 + 1
    assert np.isnan(grid[3, 2])
    assert SYNC.grid().shape == (8, 20)
    assert SYNC.grid(3, 4).shape == (3, 4)


@given(whole_problems())
def test_grid_is_what_enumeration_says(problem):
    grid = problem.grid()
    for w in range(1, problem.most_workers + 1):
        for p in range(1, problem.most_servers + 1):
            inside = w <= grid.shape[0] and p <= grid.shape[1]
            assert fits(problem, w, p) == (inside and not np.isnan(grid[w - 1, p - 1])) == problem.feasible(w, p)
            if fits(problem, w, p):
                assert grid[w - 1, p - 1] == pytest.approx(float(exact_time(problem, w, p)), rel=1e-13)


@given(real_problems(), st.floats(0, 1))
def test_the_most_beside_is_the_most_that_fits(problem, place):
    servers = 1 + int(place * (problem.servers_most - 1))
    most = int(problem.workers_beside(np.array([float(servers)]))[0])
    assert problem.feasible(most, servers)
    assert not problem.feasible(most + 1, servers)
    assert problem.feasible(1, problem.servers_most)
    assert not problem.feasible(1, problem.servers_most + 1)


def test_what_nothing_limits_is_said():
    free = Split("async", [1, 1, 1, 1], [1, 0], [0, 0], [math.inf, 5])
    assert (free.workers_most, free.servers_most) == (1_000, 1_000)
    assert free.assumed == (
        "Nothing limits the workers: 1,000 is used as the limit.",
        "Nothing limits the servers: 1,000 is used as the limit.",
    )
    given_most = Split("async", [1, 1, 1, 1], [1, 0], [0, 1], [math.inf, 5], most_workers=7)
    assert (given_most.workers_most, given_most.servers_most) == (7, 5)
    assert given_most.assumed == ()


def test_a_limit_alone_may_allow_more_than_is_taken_without_one():
    assert Split("async", [1, 1, 1, 1], [1], [1], [5_001]).workers_most == 5_000


def test_sequences_are_kept_as_they_were():
    theta = [1.0, 2, 6, 8]
    problem = Split("async", theta, [1], [1], [6])
    theta[0] = 99
    assert problem == ASYNC
    assert hash(problem) == hash(ASYNC)
    assert pickle.loads(pickle.dumps(problem)) == ASYNC


NAN = math.nan


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"mode": "both"}, "mode: must be one of sync, async, got 'both'"),
        ({"theta": [1, 2, 3]}, "theta: must have 4 numbers for async training, got 3"),
        ({"mode": "sync"}, "theta: must have 5 numbers for sync training, got 4"),
        ({"theta": [1, -2, 3, 4]}, "theta2: must be 0 or within 1e-30 and 1e+30, got -2"),
        ({"theta": [1, 2, NAN, 4]}, "theta3: must be 0 or within 1e-30 and 1e+30, got nan"),
        ({"theta": [1, 2, math.inf, 4]}, "theta3: must be 0 or within 1e-30 and 1e+30, got inf"),
        ({"theta": [0, 0, 0, 0]}, "theta: must have a positive entry, got zeros only"),
        ({"worker_demand": [1]}, "worker_demand: must have 2 entries, one for each resource of limit, got 1"),
        ({"server_demand": [1, 1, 1]}, "server_demand: must have 2 entries, one for each resource of limit, got 3"),
        ({"resources": ["GPU"]}, "resources: must have 2 entries"),
        ({"worker_demand": [1, -1]}, "worker_demand of resource 2: must be 0 or within 1e-30 and 1e+30, got -1"),
        ({"server_demand": [NAN, 1]}, "server_demand of resource 1: must be 0 or within 1e-30 and 1e+30, got nan"),
        ({"limit": [9, NAN]}, "limit of resource 2: must be 0 or within 1e-30 and 1e+30, got nan. Write an infinite"),
        ({"limit": [-9, 9]}, "limit of resource 1: must be 0 or within 1e-30 and 1e+30, got -9"),
        ({"limit": [9, 0]}, "resource 2: one worker and one server need 3 together; the limit is 0. Raise"),
        (
            {"limit": [9, 2.9], "resources": ["GPU", "CPU"]},
            "CPU: one worker and one server need 3 together; the limit is 2.9. Raise the limit of the job or request "
            "less",
        ),
        ({"limit": [1e9, 1e9]}, f"limit: allows more than {MOST_COUNT:,} workers. Give most_workers"),
        ({"limit": [1e9, 1e9], "most_workers": 5}, f"limit: allows more than {MOST_COUNT:,} servers"),
        ({"most_workers": 0}, "most_workers: must be within 1 and 100,000, got 0"),
        ({"most_servers": -1}, "most_servers: must be within 1 and 100,000, got -1"),
    ],
)
def test_what_is_refused(fields, message):
    good = {
        "mode": "async", "theta": [1, 2, 3, 4], "worker_demand": [1, 2], "server_demand": [1, 1], "limit": [9, 9],
    }  # fmt: skip
    with pytest.raises(InputError) as caught:
        Split(**(good | fields))
    assert message in str(caught.value)
