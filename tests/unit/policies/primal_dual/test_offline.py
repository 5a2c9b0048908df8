"""The best schedules in hindsight, against trying everything."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from dlsched.domain.errors import InputError
from dlsched.policies.primal_dual import dorm, drf, fifo, oasis, offline
from dlsched.policies.primal_dual.problem import Instance, utility_of, violations
from tests.support.known import known
from tests.support.slot_jobs import best_by_enumeration, case, cases, job, together_and_spread


def test_one_job_alone_finishes_as_early_as_machines_allow() -> None:
    # 2 workers and 2 servers fit a machine of 4: 4 samples in 2 slots, worth u(1) = 10 / (1 + e^-2)
    best = offline.solve(case([job(work=4.0)], [[4.0]], 3))
    assert best.utility == pytest.approx(10 / (1 + np.exp(-2)))
    assert best.status == "optimal"
    assert best.bound == pytest.approx(best.utility)
    assert sorted(known(best.schedules[0])) == [0, 1]


def test_the_internal_speed_is_that_of_one_machine_only() -> None:
    # near: 2 samples a worker-slot. On one machine 2 workers train 4 in a slot; over two machines they train 2.
    fast = job(work=4.0, near=0.5, far=1.0)
    one = offline.solve(case([fast], [[4.0], [0.0]], 3))
    two = offline.solve(case([fast], [[2.0], [2.0]], 3))
    assert one.utility == pytest.approx(fast.worth(0))
    assert two.utility == pytest.approx(fast.worth(1))  # 1 worker with its server trains 2 on one machine as well


def test_where_spreading_is_faster_it_takes_two_machines() -> None:
    odd = job(work=4.0, near=1.0, far=0.5)
    alone = offline.solve(case([odd], [[8.0]], 3))
    beside = offline.solve(case([odd], [[8.0], [1.0]], 3))
    assert alone.utility == pytest.approx(odd.worth(1))
    assert beside.utility == pytest.approx(odd.worth(0))
    assert together_and_spread(known(beside.schedules[0])) == (0, 2)


def test_the_job_that_is_worth_more_goes_first() -> None:
    jobs = [job("cheap", work=4.0, utility=(1.0, 5.0, 1.0)), job("dear", work=4.0, utility=(50.0, 5.0, 1.0))]
    best = offline.solve(case(jobs, [[4.0]], 2))
    assert best.schedules[0] is None
    assert best.utility == pytest.approx(jobs[1].worth(1))


def test_servers_nobody_needs_are_not_booked() -> None:
    best = offline.solve(case([job(work=2.0, ratio=2.0)], [[100.0], [100.0]], 2))
    assert [int(booking.servers.sum()) for booking in known(best.schedules[0]).values()] == [1]


def test_the_last_slot_has_workers_even_where_waiting_pays() -> None:
    patient = job(work=2.0, utility=(10.0, -1.0, 1.0))  # worth more the later it ends
    best = offline.solve(case([patient], [[4.0]], 3))
    assert max(known(best.schedules[0])) == 2
    assert best.utility == pytest.approx(patient.worth(2))


@pytest.mark.parametrize(("workers", "servers", "kept"), [([2, 0], [2, 1], [1, 1]), ([1, 1], [3, 3], [0, 2])])
def test_what_is_spread_stays_so_without_the_servers_nobody_needs(
    workers: list[int], servers: list[int], kept: list[int]
) -> None:
    assert offline._needed(job(ratio=1.0), workers, servers) == kept


@given(cases(jobs=2, machines=2, slots=3, batch=2))
@settings(max_examples=150, deadline=None)
def test_the_optimum_is_that_of_trying_everything(instance: Instance) -> None:
    best = offline.solve(instance)
    assert violations(instance, best.schedules) == []
    assert best.utility == utility_of(instance.jobs, best.schedules)
    assert best.status == "optimal"
    assert best.utility == pytest.approx(best_by_enumeration(instance), rel=1e-6, abs=1e-9)


@given(cases(jobs=3, machines=3, slots=3, batch=6))
@settings(max_examples=80, deadline=None)
def test_no_online_rule_passes_the_bound(instance: Instance) -> None:
    best = offline.solve(instance)
    assert violations(instance, best.schedules) == []
    assert best.utility <= best.bound
    for rule in (oasis, fifo, drf, dorm):
        schedules = rule.solve(instance, np.random.default_rng(1))
        assert utility_of(instance.jobs, schedules) <= best.bound * (1 + 1e-6)


def test_a_search_that_is_cut_short_says_so_and_keeps_its_bound() -> None:
    jobs = [job(f"j{n}", work=3.0 + n, near=0.4 + 0.1 * n, far=0.9, batch=5, ratio=2.0) for n in range(6)]
    instance = case(jobs, [[7.0], [5.0], [6.0]], 5)
    short, whole = offline.solve(instance, node_limit=0), offline.solve(instance)
    assert whole.status == "optimal"
    assert short.utility <= whole.utility <= short.bound * (1 + 1e-6)
    assert (short.status == "optimal") == (short.bound - short.utility <= 1e-6 * short.bound)


def test_nothing_to_do_is_worth_nothing() -> None:
    assert offline.solve(case([], [[1.0]], 2)).utility == 0.0
    late = offline.solve(case([job(arrival=3)], [[9.0]], 2))
    assert (late.schedules, late.utility, late.bound, late.status) == ([None], 0.0, 0.0, "optimal")


def test_cases_that_are_too_large_are_named() -> None:
    with pytest.raises(InputError, match="at most 6 slots, got 7"):
        offline.solve(case([job()], [[4.0]], 7))
    with pytest.raises(InputError, match=r"at most 600 jobs x machines x slots, got 11 x 10 x 6 = 660"):
        offline.solve(case([job(f"j{n}") for n in range(11)], [[4.0]] * 10, 6))
