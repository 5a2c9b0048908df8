"""OASiS: workers and servers on halves of their own, at prices as in PD-ORS."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.domain.workload import Floats
from dlsched.policies.primal_dual import oasis
from dlsched.policies.primal_dual.problem import Instance, Job, utility_of, violations
from dlsched.policies.primal_dual.slot_cost import Levels, Offer
from tests.support.known import known
from tests.support.slot_jobs import case, cases, job

NO_DICE = np.random.default_rng(0)


def test_a_job_trains_at_the_external_speed_on_two_machines() -> None:
    # 2 workers a slot, 1 sample each: 2 slots, though one machine alone would do it in 1
    fast = job(work=4.0, near=0.5, far=1.0)
    instance = case([fast], [[4.0], [4.0]], 3)
    schedule = known(oasis.solve(instance, NO_DICE)[0])
    assert sum(int(booking.workers.sum()) for booking in schedule.values()) == 4
    assert {tuple(booking.machine.tolist()) for booking in schedule.values()} == {(0, 1)}
    assert utility_of([fast], [schedule]) == pytest.approx(fast.worth(1))


def test_one_machine_is_for_workers_and_nobody_runs() -> None:
    assert oasis.solve(case([job()], [[9.0]], 3), NO_DICE) == [None]


def test_of_three_machines_two_hold_workers() -> None:
    # 4 workers a slot need machines 0 and 2, 1 server machine 1
    schedule = known(oasis.solve(case([job(batch=4, work=4.0, ratio=4.0)], [[2.0]] * 3, 2), NO_DICE)[0])
    assert [(b.workers.tolist(), b.servers.tolist()) for b in schedule.values()] == [([2, 0, 2], [0, 1, 0])]


@given(instance=cases())
@settings(max_examples=200)
def test_schedules_are_legal_and_halves_are_kept(instance: Instance) -> None:
    schedules = oasis.solve(instance, NO_DICE)
    assert violations(instance, schedules) == []
    for schedule in schedules:
        for booking in (schedule or {}).values():
            assert not booking.workers[booking.machine % 2 == 1].any()
            assert not booking.servers[booking.machine % 2 == 0].any()


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=100)
def test_a_slot_costs_the_least_of_all_bookings_on_halves(seed: int) -> None:
    rng = np.random.default_rng(seed)
    one = job(
        batch=4, work=4.0, ratio=float(rng.choice([0.5, 1.0, 1.5, 3.0])),
        worker=rng.choice([0.0, 1.0, 2.0], 2).tolist(), server=rng.choice([0.0, 1.0, 2.0], 2).tolist(),
    )  # fmt: skip
    free, price = rng.integers(0, 6, (1, 4, 2)).astype(float), rng.random((1, 4, 2))
    offer = Offer.of(one, free, price)
    costs = oasis.on_halves(one, Levels(np.array([1, 2, 3, 4]), np.array([1, 2, 3, 4])), offer)
    expected = [_least(one, workers, free[0], offer) for workers in (1, 2, 3, 4)]
    assert costs.cost[0] == pytest.approx(expected)
    for level in np.flatnonzero(np.isfinite(costs.cost[0])).tolist():
        assert offer.cost_of(0, costs.booking(0, level)) == pytest.approx(costs.cost[0, level])


def _least(one: Job, workers: int, free: Floats, offer: Offer) -> float:
    """Return the least cost by trying all counts on machines 0 and 2 (workers) and 1 and 3 (servers)."""
    at_work = _least_of(workers, one.worker_demand, free[::2], offer.worker_price[0, ::2])
    return at_work + _least_of(one.servers_for(workers), one.server_demand, free[1::2], offer.server_price[0, 1::2])


def _least_of(number: int, demand: Floats, free: Floats, price: Floats) -> float:
    ways = [way for way in product(range(number + 1), repeat=len(free)) if sum(way) == number]
    legal = [way for way in ways if (np.outer(way, demand) <= free).all()]
    return min((float(np.dot(way, price)) for way in legal), default=np.inf)
