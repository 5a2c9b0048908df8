"""Costs of parts of a job in one slot, against every booking there is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from math import inf, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.policies.primal_dual.exact_slot import SlotProgram, exact
from dlsched.policies.primal_dual.problem import ROOM, Job
from dlsched.policies.primal_dual.reach import fits, most_samples, most_together, why_never
from dlsched.policies.primal_dual.rounded_slot import Gain, Rounding, gain_for_capacity, gain_for_work, repair
from dlsched.policies.primal_dual.slot_cost import Levels, Offer, Spread, greedy, on_one_machine, one_or_several
from tests.support.known import known
from tests.support.slot_jobs import job

SPREADS: dict[str, Callable[[], Spread]] = {
    "greedy": lambda: greedy,
    "exact": lambda: exact,
    "rounded": lambda: Rounding(np.random.default_rng(1)),
}


def offered(one: Job, free, price) -> Offer:
    """Return the offer of one slot: free (H, R) and price of a unit (H, R)."""
    return Offer.of(one, np.array([free], dtype=float), np.array([price], dtype=float))


def drawn(seed: int) -> tuple[Job, Offer]:
    """Return a job of up to 4 workers and a slot of up to 3 machines with prices of their own."""
    rng = np.random.default_rng(seed)
    one = job(
        work=float(rng.integers(1, 9)),
        near=float(rng.choice([0.5, 1.0])),
        far=float(rng.choice([1.0, 1.5])),
        batch=int(rng.integers(1, 5)),
        ratio=float(rng.choice([1.0, 1.5, 3.0])),
        worker=rng.choice([0.0, 0.5, 1.0, 2.0], 2).tolist(),
        server=rng.choice([0.0, 0.5, 1.0], 2).tolist(),
    )
    machines = int(rng.integers(1, 4))
    return one, offered(one, rng.uniform(0, 5, (machines, 2)).round(1), rng.uniform(0.1, 3, (machines, 2)))


def cheapest_by_enumeration(one: Job, offer: Offer, workers: int, *, together: bool) -> float:
    """Return the least cost of so many workers and their servers in slot 0 over all ways to place them."""
    machines, best = offer.free.shape[1], inf
    servers = one.servers_for(workers)
    if workers > one.batch:
        return inf
    for counts in product(range(workers + 1), repeat=machines):
        if sum(counts) != workers:
            continue
        for others in product(range(servers + 1), repeat=machines):
            used = sum(w + s > 0 for w, s in zip(counts, others, strict=True))
            if sum(others) != servers or (together and used != 1):
                continue
            held = np.outer(counts, one.worker_demand) + np.outer(others, one.server_demand)
            if (held * (1 - ROOM) <= offer.free[0]).all():
                best = min(best, float(counts @ offer.worker_price[0] + others @ offer.server_price[0]))
    return best


SEEDS = st.integers(0, 2**32 - 1)


@given(seed=SEEDS)
def test_one_machine_and_the_exact_method_are_the_best_of_all_bookings(seed):
    one, offer = drawn(seed)
    workers = np.arange(1, one.batch + 2)
    together, several = on_one_machine(one, workers, offer).cost[0], exact(one, workers, offer).cost[0]
    for level, count in enumerate(workers.tolist()):
        assert together[level] == pytest.approx(cheapest_by_enumeration(one, offer, count, together=True))
        assert several[level] == pytest.approx(cheapest_by_enumeration(one, offer, count, together=False))


@pytest.mark.parametrize("name", SPREADS)
@given(seed=SEEDS)
def test_every_method_answers_with_legal_bookings_that_cost_what_it_says(name, seed):
    one, offer = drawn(seed)
    levels = Levels.of(one, 1, chunks=4)
    costs = one_or_several(SPREADS[name]())(one, levels, offer)
    samples = np.minimum(np.arange(1, len(levels.spread) + 1) / len(levels.spread), 1) * one.work
    for level in np.flatnonzero(np.isfinite(costs.cost[0])).tolist():
        booking = costs.booking(0, level)
        assert offer.cost_of(0, booking) == pytest.approx(costs.cost[0, level])
        assert one.samples(booking) >= samples[level] * (1 - ROOM)
        surplus = booking.servers.sum() - one.servers_for(int(booking.workers.sum()))
        assert surplus >= 0
        assert surplus == 0 or name == "rounded"  # rounding up may place more; trimming takes it off again
        assert 1 <= booking.workers.sum() <= one.batch
        assert (one.held(booking) * (1 - ROOM) <= offer.free[0, booking.machine]).all()


def test_no_method_is_cheaper_than_the_exact_one_and_the_sweeps_come_near():
    ratios, missed, found = [], 0, 0
    for seed in range(150):
        one, offer = drawn(seed)
        workers = np.arange(1, one.batch + 1)
        least, swept = exact(one, workers, offer).cost[0], greedy(one, workers, offer).cost[0]
        rounded = Rounding(np.random.default_rng(seed))(one, workers, offer).cost[0]
        assert (swept >= least * (1 - 1e-9)).all()
        assert (rounded >= least * (1 - 1e-9)).all()
        both = np.isfinite(swept) & (least > 0)
        ratios += (swept[both] / least[both]).tolist()
        missed += int((np.isinf(swept) & np.isfinite(least)).sum())
        found += int(np.isfinite(least).sum())
    assert found > 150
    assert np.mean(ratios) < 1.03
    assert missed <= 0.02 * found


@pytest.mark.parametrize("name", ["exact", "rounded"])
def test_equal_slots_are_solved_once_and_what_they_cost_stays_the_same(name, monkeypatch):
    one, offer = drawn(2)
    workers, solved, solve = np.arange(1, one.batch + 1), [], SlotProgram.solve
    dearer = Offer(offer.free, 2 * offer.worker_price, 2 * offer.server_price)
    slots = (offer, offer, dearer, offer)
    joined = Offer(*(np.concatenate([getattr(slot, part) for slot in slots]) for part in vars(offer)))

    def counted(program, **options):
        solved.append(program)
        return solve(program, **options)

    monkeypatch.setattr(SlotProgram, "solve", counted)
    together = SPREADS[name]()(one, workers, joined).cost
    once = len(solved)
    solved.clear()
    spread = SPREADS[name]()  # its draws go on from slot to slot
    apart = np.concatenate([spread(one, workers, slot).cost for slot in slots])
    assert np.isfinite(together).any()
    assert together.tolist() == apart.tolist()
    assert once == len(solved) / 2


def test_two_orders_because_either_alone_misses():
    # one machine is cheap for both kinds and holds one of them: who goes there first decides
    one = job(batch=1, worker=(1, 0), server=(1, 1))
    free, prices = [[1, 9], [9, 9]], [[1, 1], [3, 5]]
    offer = offered(one, free, prices)  # workers cost 1 or 3, servers 2 or 8
    assert greedy(one, np.array([1]), offer).cost[0, 0] == 5  # the server there; workers first: 1 + 8
    offer = offered(one, free, [[1, 1], [9, 0.5]])  # workers cost 1 or 9, servers 2 or 9.5
    assert greedy(one, np.array([1]), offer).cost[0, 0] == 10.5  # the worker there; servers first: 2 + 9


def test_a_level_is_cheaper_together_where_the_inner_network_saves_workers():
    one = job(work=4, near=1, far=2, batch=8, ratio=4)
    levels = Levels.of(one, 1, chunks=1)
    assert (levels.spread.tolist(), levels.together.tolist()) == ([8], [4])
    free, prices = np.full((3, 1), 6.0), np.full((3, 1), 1.0)
    costs = one_or_several(greedy)(one, levels, offered(one, free, prices))
    assert (costs.cost[0, 0], costs.booking(0, 0).together) == (5, True)  # 4 + 1 on one machine
    costs = one_or_several(greedy)(one, levels, offered(one, free - 2, prices))
    assert (costs.cost[0, 0], costs.booking(0, 0).together) == (10, False)  # 8 + 2 on three


@pytest.mark.parametrize(
    ("work", "batch", "slots", "chunks", "spread"),
    [
        pytest.param(10, 10, 1, 5, [2, 4, 6, 8, 10], id="ten in five"),
        pytest.param(11, 11, 1, 5, [3, 6, 9, 11], id="2.75 at a time and not 3"),
        pytest.param(28, 7, 4, 7, [4, 7, 11, 14, 18, 21, 25, 28], id="not four of seven for ever"),
        pytest.param(3, 9, 2, 20, [1, 2, 3], id="never less than one worker"),
        pytest.param(9, 2, 9, 3, [1, 2, 3, 4, 5, 6, 7, 8, 9], id="as many as slots"),
    ],
)
def test_levels_by_hand(work, batch, slots, chunks, spread):
    levels = Levels.of(job(work=work, batch=batch), slots, chunks)
    assert levels.spread.tolist() == levels.together.tolist() == spread


@given(seed=SEEDS)
def test_nobody_trains_more_in_an_empty_slot_than_the_bound(seed):
    one, offer = drawn(seed)
    bound = most_samples(one, offer.free[0])
    for workers in range(1, one.batch + 1):
        if np.isfinite(exact(one, np.array([workers]), offer).cost[0, 0]):
            assert workers / one.far <= bound * (1 + 1e-9)
        if np.isfinite(on_one_machine(one, np.array([workers]), offer).cost[0, 0]):
            assert workers / one.near <= bound * (1 + 1e-9)
            assert workers <= most_together(one, offer.free[0]).max()


def test_why_never_by_hand():
    one = job(work=8, batch=4, near=1, far=2)
    for capacity, slots, why in (
        ([[5.0]], 2, "cannot finish in time"),  # together 2 workers and 2 servers: 2 samples a slot
        ([[5.0]], 4, None),
        ([[0.5], [0.9]], 9, "no machine holds a worker"),
    ):
        assert why_never(one, np.array(capacity), slots) == why
    assert why_never(replace(one, server_demand=np.array([7.0])), np.array([[5.0]]), 9) == "no machine holds a server"


def test_how_many_fit_counts_sums_of_fractions_as_whole():
    assert fits(np.array([[0.3, 9], [0.1 + 0.2, 9], [0.0, 9]]), np.array([0.1, 0.0]), 5).tolist() == [3, 3, 0]


@pytest.mark.parametrize("delta", [0.02, 0.5, 1.0])
@pytest.mark.parametrize("size", [0.7, 15.0, 400.0])
def test_gains_solve_the_equations_of_their_proofs(delta, size):
    rows = 401
    low, high = gain_for_capacity(delta, size, rows), gain_for_work(delta, size)
    assert 0 < low < 1 < high
    assert (1 - low) ** 2 / low == pytest.approx(3 * log(3 * rows / delta) / size)
    assert (high - 1) ** 2 / high == pytest.approx(2 * log(3 / delta) / size)


def test_no_room_means_no_gain():
    assert gain_for_capacity(0.1, 0.0, 401) == 0


def test_repair_adds_what_is_missing_where_it_is_cheapest():
    one = job(batch=4, ratio=2)
    program = SlotProgram.of(one, 4, offered(one, [[2], [3], [2]], [[1], [2], [3]]), 0)
    assert known(repair(program, np.array([1, 0, 0, 0, 1, 0.0]))).tolist() == [2, 2, 0, 0, 1, 1]
    assert known(repair(program, np.array([0, 0, 2, 2, 0, 0.0]))).tolist() == [0, 2, 2, 2, 0, 0]
    full = SlotProgram.of(one, 4, offered(one, [[2], [3]], [[1], [2]]), 0)
    assert repair(full, np.zeros(4)) is None


def test_gains_of_the_theorems_reach_the_rounding():
    one = job(batch=4, ratio=2)
    offer = offered(one, [[3], [3]], [[1], [2]])
    gains: tuple[Gain, ...] = (1.0, "capacity", "work")
    for gain in gains:
        method = Rounding(np.random.default_rng(3), gain)
        assert method(one, np.array([4]), offer).cost[0, 0] == 3 + 2 * 3
        assert method.rounded + method.repaired == 1
    # 3 rows: two machines and the batch; room for 3 of either kind
    assert Rounding(np.random.default_rng(3), "capacity")._gain_of(SlotProgram.of(one, 4, offer, 0)) == pytest.approx(
        gain_for_capacity(0.1, 3, 3)
    )
