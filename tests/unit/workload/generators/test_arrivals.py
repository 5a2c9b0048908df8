"""Arrival patterns against the theory of the process each one claims to be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from dlsched.domain.errors import InputError
from dlsched.domain.randomness import stream
from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import Workload
from dlsched.workload.generators.arrivals import (
    Arrivals,
    Batches,
    Bursts,
    Daily,
    Gaps,
    HourlyRates,
    Poisson,
    gaps_of,
    hourly_rates_of,
)

OFFICE = tuple([1.0] * 8 + [4.0] * 10 + [2.0] * 6)
PATTERNS = {
    "poisson": Poisson(jobs_per_h=6),
    "batches": Batches(jobs_per_h=6, mean_batch=4),
    "bursts": Bursts(jobs_per_h=6, burst_factor=5, burst_h=1, calm_h=3),
    "daily": Daily(jobs_per_h=6, hour_weights=OFFICE, weekday_weights=(1, 1, 1, 1, 1, 0.3, 0.2)),
    "hourly-rates": HourlyRates(jobs_in_hour=(0, 12, 0, 3, 0), factor=2),
    "gaps": Gaps(gaps_s=(0, 30, 1170), factor=2 / 3),
}
each_pattern = pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)


def times_s(pattern, count, seed=0):
    return pattern.times_s(count, stream(seed, "workload"))


@each_pattern
def test_long_run_rate_is_the_stated_one(pattern):
    assert pattern.mean_jobs_per_h == pytest.approx(6)
    assert 40_000 / times_s(pattern, 40_000)[-1] * HOUR_S == pytest.approx(6, rel=0.05)


@each_pattern
@given(count=st.integers(1, 300), seed=st.integers(0, 5))
def test_ascending_and_a_longer_draw_begins_with_the_shorter(pattern, count, seed):
    longer = times_s(pattern, 300, seed)
    assert (np.diff(longer) >= 0).all()
    assert longer[0] >= 0
    assert np.allclose(times_s(pattern, count, seed), longer[:count], rtol=1e-12)


@each_pattern
@given(factor=st.floats(0.01, 100))
def test_scaled_has_the_scaled_rate(pattern, factor):
    assert pattern.scaled(factor).mean_jobs_per_h == pytest.approx(factor * pattern.mean_jobs_per_h)


@each_pattern
def test_seeds_differ(pattern):
    assert times_s(pattern, 50, 1).tolist() == times_s(pattern, 50, 1).tolist()
    assert times_s(pattern, 50, 1).tolist() != times_s(pattern, 50, 2).tolist()


def test_poisson_gaps_are_exponential():
    gaps = np.diff(times_s(Poisson(jobs_per_h=3600), 200_000))
    assert gaps.mean() == pytest.approx(1, rel=0.01)
    assert gaps.var() == pytest.approx(1, rel=0.03)
    assert (gaps > 2).mean() == pytest.approx(np.exp(-2), rel=0.02)


def test_batches_are_geometric_at_poisson_times():
    when, sizes = np.unique(times_s(Batches(jobs_per_h=3600, mean_batch=4), 200_000), return_counts=True)
    assert sizes.mean() == pytest.approx(4, rel=0.02)
    assert sizes.var() == pytest.approx((1 - 1 / 4) * 16, rel=0.05)  # geometric: (1 - p) / p**2
    assert np.diff(when).var() == pytest.approx(4**2, rel=0.05)  # exponential gaps, mean 4 s


def test_bursts_overdisperse_counts_as_theory_says():
    # Two-state Poisson process, counts in windows of length t: variance / mean =
    # 1 + 2 s1 s2 (l1 - l2)**2 / ((s1 + s2)**2 (l1 s2 + l2 s1)) * (1 - (1 - exp(-(s1 + s2) t)) / ((s1 + s2) t))
    pattern = Bursts(jobs_per_h=20, burst_factor=10, burst_h=1, calm_h=4)
    calm, burst = pattern.calm_jobs_per_h, 10 * pattern.calm_jobs_per_h
    leave_calm, leave_burst, window_h = 1 / 4, 1.0, 2.0
    total = leave_calm + leave_burst
    swing = 2 * leave_calm * leave_burst * (calm - burst) ** 2 / (total**2 * (calm * leave_burst + burst * leave_calm))
    expected = 1 + swing * (1 - (1 - np.exp(-total * window_h)) / (total * window_h))
    hours = times_s(pattern, 400_000) / HOUR_S
    counts = np.bincount((hours // window_h).astype(int))[:-1]
    assert counts.var() / counts.mean() == pytest.approx(expected, rel=0.05)


def test_daily_counts_follow_hours_and_weekdays():
    weekdays = (1, 1, 1, 1, 1, 0.5, 0)
    hours = times_s(Daily(jobs_per_h=10, hour_weights=OFFICE, weekday_weights=weekdays), 300_000) // HOUR_S
    of_hour = np.bincount((hours % 24).astype(int), minlength=24) / len(hours)
    of_day = np.bincount((hours // 24 % 7).astype(int), minlength=7) / len(hours)
    assert of_hour == pytest.approx(np.array(OFFICE) / sum(OFFICE), rel=0.05)
    assert of_day == pytest.approx(np.array(weekdays) / 5.5, rel=0.02)


def test_rates_of_a_trace():
    trace = Workload.from_columns(
        {"job_id": list("abcd"), "submit_s": [7300, 7400, 14_000, 18_100], "work": [1, 1, 1, 1]}
    )
    assert hourly_rates_of(trace).jobs_in_hour == (2, 1, 0, 1)
    assert gaps_of(trace).gaps_s == (100, 6600, 4100)


def test_rates_of_too_little_trace():
    lone = Workload.from_columns({"job_id": ["a"], "submit_s": [5], "work": [1]})
    pair = Workload.from_columns({"job_id": ["a", "b"], "submit_s": [5, 5], "work": [1, 1]})
    assert hourly_rates_of(lone).jobs_in_hour == (1,)
    for jobs in (lone, pair):
        with pytest.raises(InputError, match="arrivals"):
            gaps_of(jobs)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"kind": "poisson", "jobs_per_h": 0}, "greater than 0"),
        ({"kind": "daily", "jobs_per_h": 1, "hour_weights": [1] * 23}, "at least 24"),
        ({"kind": "daily", "jobs_per_h": 1, "hour_weights": [0] * 24}, "at least one weight must be above 0"),
        ({"kind": "gaps", "gaps_s": [0, 0]}, "at least one gap must be above 0 s"),
        ({"kind": "hourly-rates", "jobs_in_hour": [0]}, "at least one hour must have jobs"),
        ({"kind": "never"}, "does not match any of the expected tags"),
    ],
)
def test_bad_patterns_are_refused(spec, message):
    with pytest.raises(ValidationError, match=message):
        TypeAdapter(Arrivals).validate_python(spec)
