"""Prices by hand (Eqs. 12-14), and what they do not depend on."""

from __future__ import annotations

from dataclasses import replace
from math import exp

import numpy as np
import pytest
from hypothesis import given

from dlsched.policies.primal_dual.online import bounds_of_all
from dlsched.policies.primal_dual.prices import Bounds, bounds_of, claim_of, prices
from dlsched.policies.primal_dual.problem import Instance
from tests.support.known import known
from tests.support.slot_jobs import case, cases, job

CAPACITY = np.array([[4.0, 10.0], [4.0, 30.0]])  # 8 and 40 in all

# Together 12 / (3 workers) = 4 slots: it can end 3 slots after its first. A worker with a server: 2 of 8, 5 of 40.
LONG = job("long", work=12, near=1, far=1.5, batch=3, worker=(1, 3), server=(1, 2), utility=(10, 1, 3))


def sigmoid(top, slope, half, at):
    return top / (1 + exp(slope * (at - half)))


def test_terms_of_one_job_by_hand():
    claim = known(claim_of(LONG, CAPACITY, slots=10))
    best = sigmoid(10, 1, 3, 3)
    assert claim.best == pytest.approx([best / (2 / 8), best / (5 / 40)])
    assert claim.size == pytest.approx(18 * (2 / 8 + 5 / 40))  # ceil(12 x 1.5) worker-slots
    assert claim.late == pytest.approx(max(sigmoid(10, 1, 3, 9), 0.01 * sigmoid(10, 1, 3, 0)) / claim.size)


def test_the_bracket_is_rounded_up_and_fractions_of_a_slot_count_whole():
    claim = known(claim_of(replace(LONG, work=10.0, far=1.25), CAPACITY, slots=10))
    assert claim.size == pytest.approx(13 * 0.375)  # 12.5 worker-slots
    assert claim.best[0] == pytest.approx(sigmoid(10, 1, 3, 3) / 0.25)  # 3.3 slots: it ends in the fourth


def test_a_job_that_may_start_later_is_worth_less_at_best():
    late = replace(LONG, arrival=1, first=2)
    assert known(claim_of(late, CAPACITY, slots=10)).best[0] == pytest.approx(sigmoid(10, 1, 3, 4) / 0.25)


def test_an_urgent_job_counts_at_the_end_as_a_part_of_what_it_is_worth_at_once():
    urgent = replace(LONG, utility=(10.0, 6.0, 4.0))
    claim = known(claim_of(urgent, CAPACITY, slots=10, least_worth=0.02))
    assert claim.late * claim.size == pytest.approx(0.02 * sigmoid(10, 6, 4, 0))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"work": 1000.0}, id="too long"),
        pytest.param({"worker_demand": np.array([5.0, 1.0])}, id="fits no machine"),
        pytest.param({"utility": (0.0, 1.0, 3.0)}, id="worth nothing"),
        pytest.param({"worker_demand": np.zeros(2), "server_demand": np.zeros(2)}, id="needs nothing"),
    ],
)
def test_jobs_that_say_nothing_about_prices(change):
    assert claim_of(replace(LONG, **change), CAPACITY, slots=10) is None


def test_bounds_of_two_jobs_by_hand():
    # the second needs nothing of resource 1: 1 of 8 for 4 worker-slots, all in one slot
    short = job("short", work=4, near=1, far=1, batch=4, worker=(0.5, 0), server=(0.5, 0), utility=(3, 0, 0))
    claims = [known(claim_of(one, CAPACITY, slots=10)) for one in (LONG, short)]
    bounds = bounds_of(claims, CAPACITY, slots=10)
    assert bounds.upper == pytest.approx([max(5 / 0.25, 1.5 / 0.125), 5 / 0.125])
    one_over_mu = (4 / 8) / (10 * 2)  # of a size of 18 x 0.375 and one of 4 / 8, over 10 slots of 2 resources
    at_the_end = [max(sigmoid(10, 1, 3, 9), 0.01 * sigmoid(10, 1, 3, 0)) / (18 * 0.375), 1.5 / 0.5]
    assert bounds.lower == pytest.approx(0.5 * one_over_mu * min(at_the_end))


def test_bounds_without_a_job_make_everything_free():
    bounds = bounds_of([], CAPACITY, slots=3)
    assert not prices(bounds, CAPACITY, np.ones((3, 2, 2))).any()


def test_price_grows_from_lower_to_upper_with_what_is_committed():
    bounds = Bounds(np.array([16.0, 4.0]), 1.0)
    committed = np.array([[[0.0, 0.0], [2.0, 15.0]], [[4.0, 10.0], [3.0, 30.0]]])
    found = prices(bounds, CAPACITY, committed)
    per_share = np.array([[[1, 1], [16**0.5, 4**0.5]], [[16, 4], [16**0.75, 4]]])
    assert found == pytest.approx(per_share / [8, 40])


def test_what_a_machine_does_not_have_costs_as_if_used_up_and_nothing_where_nobody_has_it():
    bounds = Bounds(np.array([16.0, 4.0, 2.0]), 1.0)
    capacity = np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    found = prices(bounds, capacity, np.zeros((1, 2, 3)))
    assert found[0] == pytest.approx(np.array([[1 / 2, 1 / 2, 0], [16 / 2, 1 / 2, 0]]))


@given(case=cases())
def test_bounds_do_not_depend_on_units(case: Instance):
    bounds = bounds_of_all(case)
    scale = np.array([1000.0, 1 / 64])
    jobs = tuple(
        replace(one, worker_demand=one.worker_demand * scale, server_demand=one.server_demand * scale)
        for one in case.jobs
    )
    other = bounds_of_all(replace(case, capacity=case.capacity * scale, jobs=jobs))
    assert other.upper == pytest.approx(bounds.upper)
    assert other.lower == pytest.approx(bounds.lower)


@given(case=cases())
def test_all_machines_and_slots_are_first_worth_half_of_any_one_job_at_most(case: Instance):
    bounds = bounds_of_all(case)
    assert (bounds.upper >= bounds.lower).all()
    free = prices(bounds, case.capacity, np.zeros((case.slots, *case.capacity.shape)))
    for one in case.jobs:  # what the proof of the competitive ratio starts from (Lemma 8)
        claim = claim_of(one, case.capacity, case.slots)
        if claim is not None:
            assert (free * case.capacity).sum() <= 0.5 * claim.late * claim.size * (1 + 1e-9)


def test_a_resource_nobody_asks_for_has_the_same_price_always():
    alone = case([job(worker=(1, 0), server=(1, 0))], [[4, 4]], slots=5)
    bounds = bounds_of_all(alone)
    assert bounds.upper[1] == bounds.lower > 0
