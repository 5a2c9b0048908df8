"""The cheapest schedule of one job, against every split over slots and every schedule of tiny cases."""

from __future__ import annotations

from itertools import product
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dlsched.policies.primal_dual.cheapest import Splits, cheapest, trimmed
from dlsched.policies.primal_dual.exact_slot import exact
from dlsched.policies.primal_dual.problem import ROOM, Booking, Instance, violations
from dlsched.policies.primal_dual.slot_cost import Offer, greedy, one_or_several
from tests.support.known import known
from tests.support.slot_jobs import cases, job

COSTS = arrays(float, st.tuples(st.integers(1, 4), st.integers(1, 4)), elements=st.sampled_from([0.0, 1, 2.5, 4, inf]))


@given(cost=COSTS)
def test_splits_are_the_best_of_all_that_end_in_a_slot(cost):
    slots, most = cost.shape
    priced = np.column_stack([np.zeros(slots), cost])
    splits = Splits.of(cost)
    for last in range(slots):
        every = [split for split in product(range(most + 1), repeat=last + 1) if sum(split) == most and split[-1]]
        best = min(sum(priced[slot, part] for slot, part in enumerate(split)) for split in every)
        assert splits.end_cost[last] == pytest.approx(best)
        if np.isfinite(best):
            found = splits.ending(last)
            assert sum(found.values()) == most
            assert max(found) == last
            assert sum(cost[slot, part - 1] for slot, part in found.items()) == pytest.approx(best)


def test_of_equal_splits_the_one_with_less_in_later_slots():
    splits = Splits.of(np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]]))
    assert splits.end_cost.tolist() == [2, 2, 2]
    assert [splits.ending(last) for last in range(3)] == [{0: 2}, {1: 1, 0: 1}, {2: 1, 0: 1}]


def offer_of(one, free, price) -> Offer:
    """Return the offer of slots with one resource: free and price (S, H)."""
    return Offer.of(one, np.array(free, dtype=float)[:, :, None], np.array(price, dtype=float)[:, :, None])


GREEDY = one_or_several(greedy)


def test_waits_for_a_cheap_slot_only_as_long_as_it_pays():
    # 2 workers and 2 servers in one slot: at 1.0 now, or at 0.1 later; u = 4, 3.5.. at slope 0.5, half 4
    one = job(work=2, batch=2, utility=(4.0, 0.5, 4.0))
    free, price = [[4], [4], [4]], [[0.5], [0.4], [0.1]]
    found = known(cheapest(one, offer_of(one, free, price), GREEDY, 20))
    ends = {candidate.last: candidate.cost for candidate in found.candidates}
    assert ends == pytest.approx({0: 2.0, 1: 1.6, 2: 0.4})
    payoffs = [candidate.payoff for candidate in found.candidates]
    assert payoffs == sorted(payoffs, reverse=True)
    assert (found.candidates[0].last, list(found.schedule)) == (2, [2])
    assert found.candidates[0].worth == pytest.approx(4 / (1 + np.exp(0.5 * (2 - 4))))
    urgent = job(work=2, batch=2, utility=(4.0, 6.0, 1.5))
    assert known(cheapest(urgent, offer_of(urgent, free, price), GREEDY, 20)).candidates[0].last == 1


def test_a_job_that_arrived_before_its_first_slot_counts_from_its_arrival():
    one = job(work=2, batch=2, arrival=3)
    found = known(cheapest(one, offer_of(one, [[4], [4]], [[1], [1]]), GREEDY, 20))
    assert (list(found.schedule), found.candidates[0].last) == ([3], 3)
    assert found.candidates[0].worth == one.worth(3)


def test_nothing_is_found_where_nothing_fits_in_time():
    one = job(work=5, batch=2)
    assert cheapest(one, offer_of(one, [[4], [4]], [[1], [1]]), GREEDY, 20) is None
    assert cheapest(one, offer_of(one, [[4], [4], [1]], [[1], [1], [1]]), GREEDY, 20) is None
    assert cheapest(one, offer_of(one, [[4], [4], [2]], [[1], [1], [1]]), GREEDY, 20) is not None


def test_trimming_takes_dear_late_workers_and_the_servers_they_needed():
    one = job(work=5.0, near=1, far=1, batch=4, ratio=2)
    offer = offer_of(one, [[4, 4], [4, 4]], [[1, 2], [1, 2]])
    slot = Booking.of({0: 2, 1: 2}, {0: 1, 1: 1})
    kept = trimmed(one, offer, {0: slot, 1: slot})
    assert (kept[0].workers.sum(), kept[0].servers.sum()) == (4, 2)
    assert (kept[1].machine.tolist(), kept[1].workers.tolist(), kept[1].servers.tolist()) == ([0], [1], [1])
    assert list(trimmed(job(work=4.0, batch=4, ratio=2), offer, {0: slot, 1: slot})) == [0]


def test_trimming_leaves_a_job_alone_that_is_slower_on_one_machine():
    one = job(work=1.0, near=2, far=1, batch=4, ratio=2)
    offer = offer_of(one, [[4, 4]], [[1, 2]])
    booking = Booking.of({0: 1, 1: 1}, {0: 1})
    assert trimmed(one, offer, {0: booking}) == {0: booking}


@given(instance=cases(jobs=1), seed=st.integers(0, 2**32 - 1))
def test_schedules_are_legal_trimmed_and_cost_no_more_than_their_chunks(instance: Instance, seed):
    (one,) = instance.jobs
    rng = np.random.default_rng(seed)
    shape = (instance.slots - one.first, *instance.capacity.shape)
    offer = Offer.of(one, np.broadcast_to(instance.capacity, shape), rng.uniform(0.1, 2, shape))
    found = cheapest(one, offer, GREEDY, 20)
    if found is None:
        return
    assert violations(instance, [found.schedule]) == []
    first, *others = found.candidates
    assert first.last == max(found.schedule)
    assert first.cost == pytest.approx(sum(offer.cost_of(t - one.first, b) for t, b in found.schedule.items()))
    assert all(first.payoff >= other.payoff - 1e-9 for other in others)
    if one.near <= one.far:
        spare = sum(map(one.samples, found.schedule.values())) - one.work
        latest = found.schedule[max(found.schedule)]
        assert spare * (one.near if latest.together else one.far) < 1 + 1e-6  # else the latest worker were not needed


def cheapest_of_all(one, offer: Offer) -> float:
    """Return the best payoff over all schedules of a job with one machine: any workers in any slot."""
    best = -inf
    prices = offer.worker_price[:, 0], offer.server_price[:, 0]
    for counts in product(range(one.batch + 1), repeat=len(offer.free)):
        if sum(counts) / one.near < one.work * (1 - ROOM):
            continue
        cost = 0.0
        for slot, workers in enumerate(counts):
            servers = one.servers_for(workers)
            held = workers * one.worker_demand + servers * one.server_demand
            cost += workers * prices[0][slot] + servers * prices[1][slot]
            cost += inf if (held * (1 - ROOM) > offer.free[slot, 0]).any() else 0.0
        last = max(slot for slot, workers in enumerate(counts) if workers)
        best = max(best, one.worth(one.first + last) - cost)
    return best


@given(seed=st.integers(0, 2**32 - 1))
def test_chunks_of_one_worker_find_the_best_of_all_schedules(seed):
    rng = np.random.default_rng(seed)
    one = job(
        work=float(rng.integers(1, 6)), batch=int(rng.integers(1, 4)), ratio=float(rng.choice([1.0, 2.0])),
        utility=(9.0, float(rng.choice([0.0, 0.7])), 2.0),
    )  # fmt: skip
    slots = int(rng.integers(1, 5))
    offer = offer_of(one, rng.integers(0, 7, (slots, 1)), rng.uniform(0.1, 2, (slots, 1)))
    for method in (GREEDY, one_or_several(exact)):
        found = cheapest(one, offer, method, 20)
        payoff = found.candidates[0].payoff if found else -inf
        assert payoff == pytest.approx(cheapest_of_all(one, offer))


def test_work_lost_beside_what_is_trained_keeps_a_worker():
    one = job(work=1e-18, batch=4)
    found = known(cheapest(one, offer_of(one, [[8]], [[1]]), GREEDY, 20))
    assert found.schedule[0].workers.tolist() == [1]
    offer = offer_of(one, [[8]], [[1]])
    assert trimmed(one, offer, {0: Booking.of({0: 4}, {0: 4})})[0].workers.tolist() == [1]
