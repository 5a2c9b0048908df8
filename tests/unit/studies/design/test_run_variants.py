"""Choices on the same draws: what varies between draws is the same for all, and nothing random is run once."""

from __future__ import annotations

import numpy as np
import pytest

from dlsched.domain.errors import InputError
from dlsched.domain.scenario import Scenario
from dlsched.studies.design import Futures, Variant, changed, plan_of, run_variants
from dlsched.studies.design.run import is_exact
from dlsched.studies.simulation import simulate
from dlsched.workload.generators.resample import resample_days
from tests.support.runs_for_store import small_scenario

SEEDS = (0, 3)


def over_days(days: int = 5, each: int = 8) -> Scenario:
    """Return jobs of several days; those of day k take k + 1 hours."""
    day = np.repeat(np.arange(days), each)
    scenario = small_scenario(days * each)
    submit_s = 86_400.0 * day + 600.0 * np.tile(np.arange(each), days)
    return scenario.replace(workload=scenario.workload.with_columns(submit_s=submit_s, work=3600.0 * (day + 1)))


def test_every_variant_is_run_in_every_future_and_future_0_is_as_recorded() -> None:
    scenario = over_days()
    cases = [Variant(policy="fifo"), Variant(policy="sjf", changes={"arrivals": 1.5})]
    played = run_variants(scenario, cases, Futures(seeds=SEEDS, vary={"days": 1, "failures": 40.0}))
    assert played.computed == 4
    for case, outcomes in zip(cases, played.results, strict=True):
        for seed, outcome in zip(SEEDS, outcomes, strict=True):
            hand = changed(scenario, case.changes, seed)
            if seed:  # future 0 is as recorded
                days = scenario.replace(workload=resample_days(scenario.workload, scenario.seed + seed))
                hand = changed(days, {**case.changes, "failures": 40.0}, seed)
            metrics = simulate(hand, case.policy, seed=seed).metrics
            assert outcome.metrics is not None
            for key in ("jct_mean", "completed", "vm_cost", "makespan"):
                assert outcome.metrics[key] == metrics[key]
            assert outcome.audit == ()
    assert played.results[0][0].metrics != played.results[0][1].metrics


def test_nothing_random_is_run_once_and_says_so() -> None:
    scenario = over_days()
    case, seeds = Variant(policy="fifo"), Futures(seeds=SEEDS)
    assert is_exact(scenario, case, seeds)
    played = run_variants(scenario, [case, Variant(policy="fifo", changes={"prices": 1.0})], seeds)
    assert played.computed == 1
    assert played.results[0][0] is played.results[1][1]
    assert not is_exact(scenario, case, Futures.first(1, {"run_time_spread": 0.2}))


def test_run_times_spread_around_their_own() -> None:
    scenario = over_days(days=40, each=50)
    work = scenario.workload.work
    first, again, other = (changed(scenario, {"run_time_spread": 0.5}, seed).workload.work for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).all()
    factors = first / work
    assert factors.mean() == pytest.approx(1.0, abs=4 * 0.5 / np.sqrt(2000))
    assert factors.std() == pytest.approx(0.5, rel=0.15)
    assert (changed(scenario, {"run_time_spread": 0}, 1).workload.work == work).all()


def test_days_come_before_other_changes_of_the_jobs() -> None:
    scenario = over_days()
    both = changed(scenario, {"arrivals": 2.0, "days": 1}, 7).workload
    days = resample_days(scenario.workload, scenario.seed + 7)
    np.testing.assert_allclose(both.submit_s - both.submit_s[0], (days.submit_s - days.submit_s[0]) / 2)


def test_days_of_a_trace_of_one_day_are_always_the_same() -> None:
    one_day = small_scenario(4)
    jobs = one_day.workload
    later = one_day.replace(workload=jobs.with_columns(submit_s=jobs.submit_s + 86_400.0 * (jobs.order == 3)))
    of_days = Futures(seeds=(0, 1, 2), vary={"days": 1})
    assert [is_exact(made, Variant(policy="fifo"), of_days) for made in (one_day, later)] == [True, False]
    assert len(plan_of(one_day, [Variant(policy="fifo")], of_days).tasks) == 1
    both = Futures(seeds=(0, 1), vary={"days": 1, "run_time_spread": 0.3})
    assert not is_exact(one_day, Variant(policy="fifo"), both)


def test_what_cannot_vary_between_draws_is_refused() -> None:
    scenario = over_days()
    with pytest.raises(InputError, match=r"arrivals.*has no randomness of its own.*Vary days"):
        run_variants(scenario, [Variant(policy="fifo")], Futures(vary={"arrivals": 2.0}))
    with pytest.raises(InputError, match=r"failures.*is a change and varies"):
        run_variants(scenario, [Variant(policy="fifo", changes={"failures": 9})], Futures(vary={"failures": 5}))
    with pytest.raises(ValueError, match="seeds must differ"):
        Futures(seeds=(1, 1))
