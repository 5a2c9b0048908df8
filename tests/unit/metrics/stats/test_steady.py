"""Statistics of one long run, on series whose answer is known: M/M/1, AR(1), ramps and counts by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.metrics.stats.steady import (
    backlog_growth,
    before_the_end,
    found_in_system,
    grows,
    lag_1_correlation,
    least_kept,
    steady_mean,
    warm_up,
)
from tests.support.known import known


def mm1(rho, jobs, seed):
    """Return submissions and ends of an M/M/1 queue with service rate 1, by Lindley's recursion."""
    dice = np.random.default_rng(seed)
    gap, service = dice.exponential(1 / rho, jobs), dice.exponential(1.0, jobs)
    walk = np.concatenate([[0.0], np.cumsum(service[:-1] - gap[1:])])
    wait = walk - np.minimum.accumulate(walk)
    submit = np.cumsum(gap)
    return submit, submit + wait + service


def measured(submit, end):
    return steady_mean((end - submit)[warm_up(len(submit)) : max(before_the_end(submit, end), least_kept(len(submit)))])


# ---- how sure the mean is ------------------------------------------------------------------------------


@pytest.mark.parametrize(("rho", "jobs"), [(0.5, 8_000), (0.7, 16_000), (0.9, 64_000)])
def test_the_interval_of_a_queue_covers_its_known_mean(rho, jobs):
    found = [measured(*mm1(rho, jobs, seed)).interval for seed in range(200)]
    covered = sum(not interval.tells_apart(1 / (1 - rho)) for interval in found)  # mean response 1 / (mu - lambda)
    assert covered / 200 >= 0.88
    means = np.array([interval.mean for interval in found])
    assert abs(means.mean() * (1 - rho) - 1) < 0.02  # no bias: the warm-up does not look at the values
    half = np.array([known(interval.half_width) for interval in found])
    assert half.mean() < 3 * 1.96 * means.std()  # wide because it must be, not to be on the safe side


def test_the_interval_of_a_first_order_autoregressive_series_has_the_known_width():
    dice, jobs, r = np.random.default_rng(1), 40_000, 0.9
    halves = []
    for _ in range(20):
        noise = dice.normal(size=jobs)
        series = np.empty(jobs)
        series[0] = noise[0]
        for number in range(1, jobs):
            series[number] = r * series[number - 1] + noise[number]
        halves.append(known(steady_mean(series).interval.half_width))
    exact = 1.96 / (1 - r) / np.sqrt(jobs)  # the variance of the mean is sigma^2 / (1 - r)^2 / n
    assert exact < np.mean(halves) < 1.35 * exact


def test_independent_values_mostly_keep_the_most_batches_and_the_plain_interval():
    found = [steady_mean(np.random.default_rng(seed).normal(5, 1, 3_200)) for seed in range(200)]
    assert np.mean([one.batches == 32 for one in found]) > 0.75  # a correlation above 1 / sqrt(32) by chance: 16%
    half = np.mean([known(one.interval.half_width) for one in found])
    assert 1.96 / np.sqrt(3_200) < half < 1.25 * 1.96 / np.sqrt(3_200)
    covered = np.mean([not one.interval.tells_apart(5) for one in found])
    assert covered > 0.9
    assert all(one.within(0.02) and not one.within(0.001) for one in found)


def test_a_ramp_is_never_settled():
    found = steady_mean(np.arange(6_400.0))
    assert found.batches == 8
    assert found.lag_1 == pytest.approx(5 / 8)  # of 1, 2, ..., 8: 26.25 / 42
    assert not found.settled
    assert not found.within(1.0)
    plain = np.std(np.arange(8) * 800, ddof=1) / np.sqrt(8) * 2.364624
    assert known(found.interval.half_width) == pytest.approx(plain * np.sqrt(1.75 / 0.25))  # r = 5/8 + 1/8


def test_equal_values_are_exact():
    found = steady_mean(np.full(1_000, 7.0))
    assert (found.interval.mean, found.interval.half_width, found.interval.n) == (7.0, 0.0, 1_000)
    assert lag_1_correlation(np.full(5, 7.0)) == 0


def test_correlation_by_hand():
    assert lag_1_correlation(np.array([1.0, -1.0, 1.0, -1.0])) == pytest.approx(-3 / 4)


def test_few_values_are_refused():
    with pytest.raises(ValueError, match="need at least 16 values, got 15"):
        steady_mean(np.ones(15))
    with pytest.raises(ValueError, match="need at least 40 jobs, got 39"):
        backlog_growth(np.ones(39, dtype=np.int64))


# ---- what is left out ----------------------------------------------------------------------------------


def test_the_first_tenth_warms_up():
    assert [warm_up(jobs) for jobs in (1, 10, 4_000, 4_001)] == [1, 1, 400, 401]


def test_the_last_jobs_are_cut_by_submission():
    submit = np.arange(100.0)
    assert before_the_end(submit, submit + 10) == 90  # submitted at 0 to 89, 10 before the last submission at 99
    assert before_the_end(submit, submit + 1_000) == 0
    assert least_kept(100) == 75


def test_jobs_that_the_draining_made_quicker_are_left_out():
    submit = np.arange(200.0)
    end = submit + 50
    end[end > 199] = 199 + (end[end > 199] - 199) / 2  # nobody comes any more: all go twice as fast
    kept = before_the_end(submit, end)
    assert kept == 150
    assert (end - submit)[:kept].mean() == 50
    assert (end - submit).mean() < 47


# ---- whether the queue grows ---------------------------------------------------------------------------


def test_found_in_system_by_hand():
    submit, end = np.array([0.0, 1.0, 2.0, 3.0]), np.array([10.0, 2.0, 4.0, 5.0])
    assert found_in_system(submit, end).tolist() == [0, 1, 1, 2]  # the second has left when the third comes


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0.01, 10)), min_size=1, max_size=30))
def test_found_in_system_is_a_count(jobs):
    submit = np.cumsum([gap for gap, _ in jobs])
    end = submit + np.array([stay for _, stay in jobs])
    slow = [sum(end[other] > submit[job] for other in range(job)) for job in range(len(jobs))]
    # A job submitted at the same instant as a later one counts by order; it is still there.
    assert found_in_system(submit, end).tolist() == slow


def test_growth_of_a_ramp_is_its_slope():
    growth = backlog_growth(np.arange(4_000) // 10)
    assert growth.mean == pytest.approx(10, rel=0.01)
    assert grows(growth)


def test_a_level_backlog_does_not_grow_and_a_trifle_is_not_called_growth():
    assert not grows(backlog_growth(np.full(4_000, 500)))
    assert not grows(backlog_growth(np.arange(4_000) // 250))  # 0.4 per 100 arrivals, without any doubt


def test_filling_up_is_no_growth():
    full = np.minimum(np.arange(4_000), 300)  # 300 jobs run at a time from job 300 on
    assert backlog_growth(full).mean == 0


@pytest.mark.parametrize("rho", [0.5, 0.7, 0.9])
def test_stable_queues_are_not_called_growing(rho):
    alarms = sum(grows(backlog_growth(found_in_system(*mm1(rho, 4_000, seed)))) for seed in range(300))
    assert alarms == 0


def test_an_overloaded_queue_is_told_from_a_stable_one_as_soon_as_its_growth_shows():
    """At load 1.05 the backlog grows by 100 (1 - 1 / 1.05) = 4.8 jobs per 100 arrivals."""
    for jobs, least in ((4_000, 0.4), (16_000, 0.95)):
        growth = [backlog_growth(found_in_system(*mm1(1.05, jobs, seed))) for seed in range(100)]
        assert np.mean([one.mean for one in growth]) == pytest.approx(100 * (1 - 1 / 1.05), rel=0.1)
        assert np.mean([grows(one) for one in growth]) >= least


def test_an_overloaded_queue_has_no_settled_mean():
    """Should the growth not show yet, the mean must not pass for one."""
    assert not any(measured(*mm1(1.05, 4_000, seed)).within(0.05) for seed in range(100))
