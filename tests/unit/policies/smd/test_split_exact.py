"""The exact optimum of the inner problem against calculation by hand and enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given

from dlsched.policies.smd.problem import MODES, Choice, Split
from dlsched.policies.smd.split import exact
from tests.support.split_problems import by_enumeration, least_continuous, real_problems, whole_problems


@pytest.mark.parametrize(
    ("problem", "answer"),
    [
        # w + 16/w is least at 4; no server changes it
        (Split("sync", [1, 0, 0, 0, 16], [1], [1], [9]), Choice(4, 1, 8)),
        # the limit stops at 3: 3 + 16/3
        (Split("sync", [1, 0, 0, 0, 16], [1], [1], [4]), Choice(3, 1, 3 + 16 / 3)),
        # w + 12/w is 7 at 3 and at 4
        (Split("sync", [1, 0, 0, 0, 12], [1], [1], [9]), Choice(3, 1, 7)),
        # 7 + 8 + 3 + 7 + 100/7; beside it (7, 3) 39.62, (8, 4) 39.5, (6, 4) 39.67, (7, 5) 39.89
        (Split("sync", [1, 2, 3, 4, 100], [1, 2], [0, 1], [8, 30]), Choice(7, 4, 25 + 100 / 7)),
        # nothing is shared among workers: one is enough
        (Split("sync", [0, 0, 7, 0, 0], [1], [1], [9]), Choice(1, 1, 7)),
        # (4, 2): 1 + 1 + 1.5 + 4; (3, 3): 7.67, (2, 4): 10, (5, 1): 10.6
        (Split("async", [1, 2, 6, 8], [1], [1], [6]), Choice(4, 2, 7.5)),
        # only servers help
        (Split("async", [0, 0, 0, 4], [1], [1], [5]), Choice(1, 4, 1)),
        (Split("async", [5, 0, 0, 0], [1], [1], [5]), Choice(1, 1, 5)),
        # no limit but the most that was given: 50 workers, sqrt(8 x 50 / 2) = 14.14 servers
        (Split("async", [0, 2, 6, 8], [1], [1], [math.inf], 50, 99), Choice(50, 14, 28 / 50 + 6 / 50 + 8 / 14)),
    ],
)
def test_by_hand(problem, answer):
    found = exact(problem)
    assert (found.workers, found.servers) == (answer.workers, answer.servers)
    assert found.time == pytest.approx(answer.time, rel=1e-14)


@given(whole_problems())
def test_is_the_optimum_of_enumeration_with_its_ties(problem):
    least, workers, servers = by_enumeration(problem)
    found = exact(problem)
    assert (found.workers, found.servers) == (workers, servers)
    assert found.time == pytest.approx(float(least), rel=1e-13)


@given(real_problems())
def test_is_the_least_of_the_grid_and_no_less_than_real_numbers_allow(problem):
    found = exact(problem)
    grid = problem.grid(10_000, 10_000)
    assert problem.feasible(found.workers, found.servers)
    assert found.time == problem.time_of(found.workers, found.servers) == pytest.approx(np.nanmin(grid), rel=1e-11)
    assert found.time >= least_continuous(problem) * (1 - 1e-3)


def test_a_large_fixed_part_hides_no_difference():
    assert exact(Split("sync", [1, 0, 1e14, 0, 16], [1], [1], [9])).workers == 4


def test_extreme_numbers_pass():
    for mode in MODES:
        theta = [1e30, 1e-30, 1e-30, 1e30, 1e-30][: 5 if mode == "sync" else 4]
        found = exact(Split(mode, theta, [1e-30], [1e-30], [1e-26]))
        assert math.isfinite(found.time)
