"""Decisions on arrival: by hand, legal on many instances, never above the best in hindsight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.policies.primal_dual import offline
from dlsched.policies.primal_dual.exact_slot import exact
from dlsched.policies.primal_dual.online import PdOrs, bounds_of_all, commit, plan, schedules
from dlsched.policies.primal_dual.prices import Bounds, prices
from dlsched.policies.primal_dual.problem import Instance, utility_of, violations
from dlsched.policies.primal_dual.rounded_slot import Rounding
from dlsched.policies.primal_dual.slot_cost import Spread, one_or_several
from tests.support.known import known
from tests.support.slot_jobs import best_by_enumeration, case, cases, drawn_case, job


def planned(instance: Instance, **options):
    """Return the decisions about an instance at price bounds of all its jobs."""
    return plan(instance, PdOrs(instance.capacity, instance.slots, bounds_of_all(instance), **options))


def test_one_job_by_hand_pays_what_its_bookings_cost():
    instance = case([job(work=4, batch=2, worker=(1, 2), server=(1, 0))], [[4, 4]], slots=4)
    (decision,) = planned(instance)
    (one,) = instance.jobs
    assert {slot: booking.workers.tolist() for slot, booking in known(decision.schedule).items()} == {0: [2], 1: [2]}
    best = known(decision.best)
    lower = bounds_of_all(instance).lower  # nothing is committed: each share of the cluster costs this much
    assert decision.paid == pytest.approx([2 * 4 / 4 * lower, 2 * 4 / 4 * lower])
    assert decision.paid.sum() == pytest.approx(best.cost)
    assert (best.worth, decision.payoff) == pytest.approx((one.worth(1), one.worth(1) - 4 * lower))
    assert known(decision.alternative).last == 2
    assert decision.why == ""


def test_a_dear_slot_turns_away_who_is_worth_less_and_says_by_how_much():
    # a share costs 2 while nobody is there; 2 workers and 2 servers are all 4
    bounds = Bounds(np.array([2.0]), 2.0)
    scheduler = PdOrs(np.array([[4.0]]), 1, bounds)
    free = np.zeros((1, 1, 1))
    poor, rich = (job(name, work=2, utility=(worth, 0.0, 0.0)) for name, worth in (("poor", 3.0), ("rich", 5.0)))
    decision = scheduler.decide(poor, free)
    assert (decision.schedule, decision.why, decision.payoff) == (None, "not worth its price", 1.5 - 2)
    assert decision.paid.tolist() == [2.0]
    decision = scheduler.decide(rich, free)
    assert (list(known(decision.schedule)), decision.why, decision.payoff) == ([0], "", 0.5)


def test_a_payoff_of_zero_is_turned_away():
    decision = PdOrs(np.array([[4.0]]), 1, Bounds(np.array([2.0]), 2.0)).decide(
        job(work=2, utility=(4.0, 0.0, 0.0)), np.zeros((1, 1, 1))
    )
    assert (decision.schedule, decision.payoff) == (None, 0.0)


@pytest.mark.parametrize(
    ("change", "committed", "why"),
    [
        ({"work": 5.0}, 0.0, "cannot finish in time"),
        ({"arrival": 9, "first": 9}, 0.0, "cannot finish in time"),
        ({"worker_demand": np.array([5.0])}, 0.0, "no machine holds a worker"),
        ({"server_demand": np.array([5.0])}, 0.0, "no machine holds a server"),
        ({}, 1.0, "no room left in time"),
    ],
)
def test_reasons(change, committed, why):
    scheduler = PdOrs(np.array([[4.0]]), 2, Bounds(np.array([2.0]), 0.1))
    decision = scheduler.decide(replace(job(work=4), **change), np.full((2, 1, 1), committed))
    assert (decision.schedule, decision.best, decision.why) == (None, None, why)
    assert decision.payoff == -np.inf


def test_prices_follow_from_what_is_committed():
    one, bounds, capacity = job(work=2, batch=2), Bounds(np.array([16.0]), 1.0), np.array([[8.0], [8.0]])
    committed = np.zeros((1, 2, 1))
    scheduler = PdOrs(capacity, 1, bounds)
    for held, at_last in (([4, 0], 16**0.5), ([4, 4], 16**0.5), ([8, 4], 16)):  # the emptier machine is cheaper
        commit(one, scheduler.decide(one, committed).schedule, committed)
        assert committed[0, :, 0].tolist() == held
        assert prices(bounds, capacity, committed).max() * 16 == pytest.approx(at_last)


def test_seen_bounds_stand_on_the_jobs_so_far_and_all_bounds_on_those_to_come():
    first = job("first", work=2, utility=(10.0, 0.5, 3.0))
    later = job("later", work=2, arrival=1, utility=(90.0, 0.5, 3.0))
    instance = case([first, later], [[4.0]], slots=3)
    seen = plan(instance, PdOrs(instance.capacity, 3))
    alone = planned(replace(instance, jobs=(first,)))
    assert known(seen[0].best).cost == known(alone[0].best).cost
    assert known(seen[1].best).cost == pytest.approx(known(planned(instance)[1].best).cost)  # by then all are seen


SPREADS: dict[str, Callable[[], Spread]] = {
    "exact": lambda: exact,
    "rounded": lambda: Rounding(np.random.default_rng(2)),
}


@settings(max_examples=300)
@given(instance=cases())
def test_schedules_are_legal_and_pay_less_than_they_are_worth(instance: Instance):
    for bounds in (bounds_of_all(instance), None):
        decisions = plan(instance, PdOrs(instance.capacity, instance.slots, bounds))
        assert violations(instance, schedules(decisions)) == []
        for decision in decisions:
            assert (decision.schedule is None) == bool(decision.why)
            if decision.schedule is not None:
                best = known(decision.best)
                assert best.last == max(decision.schedule)
                assert 0 <= decision.paid.sum() == pytest.approx(best.cost, abs=1e-12)
                assert best.cost < best.worth


@settings(max_examples=25)
@pytest.mark.parametrize("name", SPREADS)
@given(instance=cases())
def test_other_methods_are_legal_too(name, instance: Instance):
    found = schedules(planned(instance, method=one_or_several(SPREADS[name]())))
    assert violations(instance, found) == []


@given(instance=cases(), units=st.sampled_from([1e-3, 1e3]))
def test_decisions_do_not_depend_on_the_unit_of_utility(instance: Instance, units: float):
    scaled = tuple(replace(one, utility=(one.utility[0] * units, *one.utility[1:])) for one in instance.jobs)
    ours, others = planned(instance), planned(replace(instance, jobs=scaled))
    assert [one.why for one in ours] == [one.why for one in others]
    for one, other in zip(ours, others, strict=True):
        assert other.payoff == pytest.approx(one.payoff * units)


def test_never_above_the_best_in_hindsight_and_not_far_below():
    ours, best = [], []
    for seed in range(60):
        instance = drawn_case(seed, jobs=3, machines=2, slots=4, batch=3)
        optimum = offline.solve(instance)
        assert optimum.status == "optimal"
        ours.append(utility_of(instance.jobs, schedules(planned(instance))))
        best.append(optimum.utility)
        assert ours[-1] <= best[-1] * (1 + 1e-6)
    assert sum(best) > 0
    assert sum(best) / sum(ours) < 1.4  # the study reports 1.0 to 1.4


def test_never_above_trying_everything():
    reached = 0
    for seed in range(25):
        instance = drawn_case(seed, jobs=2, machines=2, slots=3, batch=2)
        best, ours = best_by_enumeration(instance), utility_of(instance.jobs, schedules(planned(instance)))
        assert ours <= best * (1 + 1e-9)
        reached += best > 0 and ours == pytest.approx(best)
    assert reached >= 8
