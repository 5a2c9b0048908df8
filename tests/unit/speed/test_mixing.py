"""The least a job costs over all mixtures, against hand calculation and a linear-programming solver."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from dlsched.speed.mixing import job_lower_bounds

INF = np.inf


def bound(times, slack, weight, price=(1.0,)):
    """The bound of one job; ``times`` by GPU type and GPUs."""
    given = np.asarray(times, dtype=float)[None]
    return job_lower_bounds(given, np.asarray(price), np.array([slack], float), np.array([weight], float))[0]


@pytest.mark.parametrize(
    ("slack", "weight", "cost"),
    [
        (10.0, 9.0, 10.0),  # one GPU is in time and cheapest: 10 x 1
        (INF, 9.0, 10.0),
        (8.0, 9.0, 11.0),  # half of the work on each: 0.5 x 12 + 0.5 x 10
        (6.0, 9.0, 12.0),
        (5.0, 9.0, 21.0),  # late by 1 at least
        (8.0, 0.4, 10.8),  # being late by 2 costs less than the faster half
        (8.0, 0.0, 10.0),
    ],
)
def test_two_configurations_by_hand(slack, weight, cost):
    assert bound([[10.0, 6.0]], slack, weight) == pytest.approx(cost)


def test_a_type_that_is_not_for_rent_or_cannot_run_the_job_does_not_count():
    assert bound([[10.0, 6.0], [1.0, 1.0]], 8.0, 9.0, (1.0, INF)) == pytest.approx(11.0)
    assert bound([[10.0, INF], [INF, 6.0]], 8.0, 9.0, (1.0, 1.0)) == pytest.approx(11.0)
    assert bound([[INF, INF]], 8.0, 9.0) == INF
    assert bound([[INF, INF]], INF, 0.0) == INF


def test_no_jobs():
    assert job_lower_bounds(np.zeros((0, 1, 2)), np.ones(1), np.zeros(0), np.zeros(0)).shape == (0,)


def solved(times, price, slack, weight):
    """The same minimum by a solver: shares x and lateness >= sum x t - slack, lateness >= 0."""
    gpus = np.broadcast_to(np.arange(1, times.shape[1] + 1), times.shape)
    legal = np.isfinite(times)
    time, cost = times[legal], (times * gpus * price[:, None])[legal]
    rows = None if np.isinf(slack) else np.append(time, -1.0)[None]
    sums = np.append(np.ones(len(time)), 0.0)[None]
    return linprog(np.append(cost, weight), rows, None if rows is None else [slack], sums, [1.0]).fun


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 2**32))
def test_equals_the_linear_program(seed):
    rng = np.random.default_rng(seed)
    jobs, families, gpus = 6, int(rng.integers(1, 4)), int(rng.integers(1, 6))
    times = rng.uniform(1, 20, (jobs, families, gpus))
    times[rng.random(times.shape) < 0.2] = INF
    times[:, 0, 0] = rng.uniform(1, 20, jobs)
    price = rng.uniform(0, 3, families)
    slack = np.where(rng.random(jobs) < 0.15, INF, rng.uniform(-5, 20, jobs))
    weight = np.where(rng.random(jobs) < 0.2, 0.0, rng.uniform(0, 20, jobs))
    expected = [solved(times[job], price, slack[job], weight[job]) for job in range(jobs)]
    np.testing.assert_allclose(job_lower_bounds(times, price, slack, weight), expected, rtol=1e-8, atol=1e-8)
