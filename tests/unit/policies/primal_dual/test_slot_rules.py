"""FIFO, DRF and Dorm: what they give in a slot by hand, and legal schedules everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings

from dlsched.domain.errors import InputError
from dlsched.policies.primal_dual import dorm, drf, fifo
from dlsched.policies.primal_dual.problem import Booking, Instance, Job, Schedule, violations
from dlsched.policies.primal_dual.reach import why_never
from dlsched.policies.primal_dual.round_robin import Gang, RoundRobin
from dlsched.policies.primal_dual.slot_by_slot import SlotPlan, SlotState, completed, play
from tests.support.known import known
from tests.support.slot_jobs import case, cases, job

RULES = {"fifo": fifo, "drf": drf, "dorm": dorm}


def state(
    jobs: Sequence[Job], capacity: Sequence[Sequence[float]], held: Sequence[Booking | None] | None = None
) -> SlotState:
    """Return the start of a slot: nothing is trained yet; nobody holds anything unless said."""
    remaining = [one.work for one in jobs]
    return SlotState(np.array(capacity), [*range(len(jobs))], [*jobs], remaining, [*(held or [None] * len(jobs))])


def counts(bookings: Sequence[Booking | None]) -> list[tuple[int, int]]:
    """Return workers and servers of each booking."""
    return [(0, 0) if one is None else (int(one.workers.sum()), int(one.servers.sum())) for one in bookings]


def plan_of(rule: ModuleType, instance: Instance) -> SlotPlan:
    """Return what a rule does in a slot of an instance."""
    if rule is fifo:
        workers = fifo.fixed_workers(instance.jobs, instance.capacity, 7)
        return lambda now: fifo.slot_plan(now, [workers[row] for row in now.rows])
    plan: SlotPlan = rule.slot_plan
    return plan


# ---- placing ------------------------------------------------------------------------------------------------


def test_workers_and_servers_go_round_the_machines() -> None:
    # 1 server for 2 workers: w0 s1 | w2 | w0 s1 | w2, then machine 2 has no room for a worker of 2
    machines = RoundRobin(np.array([[4.0], [2.0], [4.0]]))
    gang = Gang(job(ratio=2.0, worker=[2.0], server=[1.0], batch=9), machines)
    assert gang.grow(5) == 4
    booking = known(gang.booking)
    assert booking.machine.tolist() == [0, 1, 2]
    assert booking.workers.tolist() == [2, 0, 2]
    assert booking.servers.tolist() == [0, 2, 0]


def test_a_worker_without_room_for_its_server_is_taken_back() -> None:
    machines = RoundRobin(np.array([[1.0, 0.0], [1.0, 1.0]]))
    first = Gang(job(worker=[1.0, 0.0], server=[0.0, 1.0]), machines)
    assert first.grow(2) == 1  # the second worker fits, its server does not
    assert Gang(job(worker=[1.0, 0.0], server=[0.0, 0.0]), machines).grow(5) == 1  # what it left behind


def test_ten_tenths_fit() -> None:
    assert Gang(job(worker=[0.1], server=[0.0], batch=99), RoundRobin(np.array([[1.0]]))).grow(99) == 10


def test_workers_that_finish_a_job_do_so_at_its_slower_speed() -> None:
    jobs = [job(work=3.0, near=near, far=far, batch=batch) for near, far, batch in
            ((0.5, 1.0, 9), (1.0, 0.5, 9), (0.5, 0.4, 9), (1.0, 1.0, 2))]  # fmt: skip
    assert state(jobs, [[1.0]]).useful_workers() == [3, 3, 2, 2]


# ---- DRF ----------------------------------------------------------------------------------------------------


def test_drf_gives_the_textbook_shares() -> None:
    # 9 CPUs, 18 GB; A (1 CPU, 4 GB) and B (3 CPUs, 1 GB): 3 tasks of A and 2 of B, both with a share of 2/3
    tasks = [job(name, worker=demand, server=[0.0, 0.0], batch=99, work=99.0) for name, demand in
             (("a", [1.0, 4.0]), ("b", [3.0, 1.0]))]  # fmt: skip
    assert [workers for workers, _ in counts(drf.slot_plan(state(tasks, [[9.0, 18.0]])))] == [3, 2]


def test_drf_counts_servers_in_the_share() -> None:
    # One worker needs one server of the same size: 2 of 12 a step; the other 1 of 12: 3 x 2 + 6 x 1 = 12
    jobs = [job("a", batch=99, work=99.0), job("b", server=[0.0], batch=99, work=99.0)]
    assert counts(drf.slot_plan(state(jobs, [[12.0]]))) == [(3, 3), (6, 6)]


def test_drf_goes_on_past_a_job_without_room_and_stops_at_batch_and_need() -> None:
    wide = job("wide", worker=[5.0], server=[0.0], batch=9, work=99.0)
    batch = job("batch", worker=[0.5], server=[0.0], batch=3, work=99.0)
    done = job("done", worker=[0.5], server=[0.0], batch=99, work=2.5)  # 3 workers train 3 samples a slot
    assert counts(drf.slot_plan(state([wide, batch, done], [[9.0]]))) == [(1, 1), (3, 3), (3, 3)]


# ---- FIFO ---------------------------------------------------------------------------------------------------


def test_fifo_blocks_all_behind_the_first_that_does_not_fit() -> None:
    sizes = (("a", 1.0), ("b", 2.0), ("c", 1.0))  # c would fit beside a
    jobs = [job(name, worker=[size], server=[0.0], batch=9, work=12.0) for name, size in sizes]
    bookings = fifo.slot_plan(state(jobs, [[4.0]]), [3, 1, 1])
    assert counts(bookings) == [(3, 3), (0, 0), (0, 0)]


def test_fifo_keeps_workers_and_machines_until_a_job_is_done() -> None:
    # a: 3 workers, 12 samples, slots 0 to 3; b waits with 2, c behind it though it would fit; then both
    jobs = [job(name, server=[0.0], batch=9, work=work) for name, work in (("a", 12.0), ("b", 2.0), ("c", 2.0))]
    instance = case(jobs, [[3.0], [1.0]], 6)
    a, b, c = play(instance, lambda now: fifo.slot_plan(now, [[3, 2, 1][row] for row in now.rows]))
    assert [sorted(each) for each in (a, b, c)] == [[0, 1, 2, 3], [4], [4, 5]]
    assert all(booking is a[0] for booking in a.values())


def test_a_job_of_which_no_worker_fits_blocks_nobody() -> None:
    jobs = [job("giant", worker=[9.0]), job("small", server=[0.0], work=1.0)]
    schedules = fifo.solve(case(jobs, [[4.0]], 2), np.random.default_rng(0))
    assert schedules[0] is None
    assert sorted(known(schedules[1])) == [0]


def test_a_job_that_is_not_done_by_the_end_holds_machines_and_gets_nothing() -> None:
    jobs = [job("long", server=[0.0], batch=1, work=99.0), job("short", server=[0.0], batch=1, work=1.0)]
    instance = case(jobs, [[1.0]], 3)
    played = play(instance, plan_of(fifo, instance))
    assert [sorted(each) for each in played] == [[0, 1, 2], []]
    assert completed(jobs, played) == [None, None]


def test_numbers_of_workers_are_a_jobs_own_even_and_cut_to_batch_and_machines() -> None:
    jobs = [job(f"j{n}", worker=[0.0], server=[0.0], batch=99) for n in range(3000)]
    drawn = fifo.fixed_workers(jobs, np.array([[1.0]]), 5)
    assert fifo.fixed_workers(jobs[7:9], np.array([[1.0]]), 5) == drawn[7:9]
    assert (min(drawn), max(drawn)) == (1, 30)
    assert np.mean(drawn) == pytest.approx(15.5, abs=4 * np.sqrt((30**2 - 1) / 12 / 3000))
    narrow = [replace(one, batch=4) for one in jobs[:50]]
    assert fifo.fixed_workers(narrow, np.array([[1.0]]), 5) == [min(count, 4) for count in drawn[:50]]
    large = [replace(one, worker_demand=np.array([1.0])) for one in jobs[:50]]
    assert fifo.fixed_workers(large, np.array([[3.0], [2.9]]), 5) == [min(count, 5) for count in drawn[:50]]


# ---- Dorm ---------------------------------------------------------------------------------------------------


def test_dorm_uses_more_of_the_machines_than_a_fair_split() -> None:
    # 10 CPUs, 10 GPUs: "both" uses 2 units of a CPU and a GPU each, "half" only CPUs. Without a limit "both" gets all.
    jobs = [
        job("half", worker=[1.0, 0.0], server=[0.0, 0.0], batch=99, work=99.0),
        job("both", worker=[1.0, 1.0], server=[0.0, 0.0], batch=99, work=99.0),
    ]
    now = state(jobs, [[10.0, 10.0]])
    assert dorm.worker_counts(now, fairness=1.0, adjustment=1.0) == [0, 10]
    assert dorm.worker_counts(now, fairness=0.0, adjustment=1.0) == [5, 5]  # as DRF
    # 0.1 x 2 R = 0.4: each may be 0.2 = 2 workers from the fair 5
    assert dorm.worker_counts(now, fairness=0.1, adjustment=1.0) == [3, 7]


def test_dorm_changes_only_as_many_running_jobs_as_it_may() -> None:
    jobs = [job(name, server=[0.0], batch=6, work=99.0) for name in "abc"]
    held = [Booking.of({0: 2}, {0: 2}), Booking.of({0: 2}, {0: 2}), Booking.of({0: 2}, {0: 2})]
    now = state(jobs, [[18.0]], held)
    for adjustment, changed in ((0.0, 0), (0.3, 1), (0.5, 2), (1.0, 3)):
        workers = dorm.worker_counts(now, 1.0, adjustment)
        assert sorted(workers) == [2] * (3 - changed) + [6] * changed


def test_dorm_takes_workers_away_within_the_same_limit() -> None:
    # 4 GPUs, held by "plain"; "rich" would use as much of them and all memory: it comes only where plain may change.
    plain = job("plain", worker=[1.0, 0.0], server=[0.0, 0.0], batch=4, work=99.0)
    rich = job("rich", worker=[1.0, 1.0], server=[0.0, 0.0], batch=4, work=99.0)
    now = state([plain, rich], [[4.0, 4.0]], [Booking.of({0: 4}, {0: 4}), None])
    assert dorm.worker_counts(now, 1.0, 0.0) == [4, 0]
    assert dorm.worker_counts(now, 1.0, 1.0) == [0, 4]


def test_dorm_gives_fairness_up_where_both_limits_cannot_hold() -> None:
    jobs = [job(name, server=[0.0], batch=9, work=99.0) for name in "ab"]
    now = state(jobs, [[10.0]], [Booking.of({0: 2}, {0: 2}), None])
    assert dorm.worker_counts(now, 0.0, 1.0) == [5, 5]
    assert dorm.worker_counts(now, 0.0, 0.0) == [2, 8]


def test_dorm_lets_a_job_keep_more_workers_than_finish_it() -> None:
    jobs = [job("nearly", server=[0.0], batch=9, work=1.0), job("new", server=[0.0], batch=9, work=99.0)]
    now = state(jobs, [[10.0]], [Booking.of({0: 2}, {0: 2}), None])
    assert dorm.worker_counts(now, 1.0, 0.0) == [2, 8]
    assert dorm.worker_counts(now, 1.0, 1.0) in ([1, 9], [2, 8])


def test_dorm_keeps_the_machines_of_who_keeps_its_number_and_cuts_what_does_not_fit() -> None:
    stays = job("stays", worker=[1.0], server=[0.0], batch=2, work=99.0)
    new = job("new", worker=[2.0], server=[0.0], batch=9, work=99.0)
    held = Booking.of({0: 1, 1: 1}, {0: 2})
    now = state([stays, new], [[2.0], [2.0], [2.0]], [held, None])
    assert dorm.worker_counts(now, 1.0, 0.0) == [2, 2]  # 6 - 2 = 4 in all, but in pieces of 1, 1 and 2
    bookings = dorm.slot_plan(now, 1.0, 0.0)
    assert bookings[0] is held
    assert counts(bookings) == [(2, 2), (1, 1)]


def test_dorm_says_which_limit_is_none() -> None:
    with pytest.raises(InputError, match=r"limit adjustment: must be between 0 and 1, got 1\.5"):
        dorm.solve(case([job()], [[4.0]], 2), np.random.default_rng(0), adjustment=1.5)


# ---- everywhere ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RULES)
@given(instance=cases())
@settings(max_examples=200)
def test_schedules_are_legal(name: str, instance: Instance) -> None:
    played = play(instance, plan_of(RULES[name], instance))
    # a job that is not done counts as one with as much work as it was trained
    trained = [sum(map(one.samples, each.values())) for one, each in zip(instance.jobs, played, strict=True)]
    jobs = tuple(replace(one, work=min(one.work, done)) for one, done in zip(instance.jobs, trained, strict=True))
    schedules: list[Schedule | None] = [each or None for each in played]
    assert violations(replace(instance, jobs=jobs), schedules) == []

    done = RULES[name].solve(instance, np.random.default_rng(3))
    assert violations(instance, done) == []
    for one, schedule in zip(instance.jobs, done, strict=True):
        if why_never(one, instance.capacity, instance.slots) is not None:
            assert schedule is None


@given(instance=cases())
@settings(max_examples=200)
def test_drf_leaves_no_room_for_one_more_worker(instance: Instance) -> None:
    # without servers: a worker may sit where its server should
    jobs = [replace(one, server_demand=np.zeros(2)) for one in instance.jobs]
    now = state(jobs, instance.capacity.tolist())
    bookings = drf.slot_plan(now)
    machines = RoundRobin(instance.capacity)
    for one, held in zip(jobs, bookings, strict=True):
        if held is not None:
            machines.hold(one, held)
    for one, most, (workers, _) in zip(jobs, now.useful_workers(), counts(bookings), strict=True):
        assert workers <= most
        assert workers == most or machines.take(one.worker_demand.tolist()) is None


@given(instance=cases())
@settings(max_examples=100)
def test_dorm_keeps_its_limits(instance: Instance) -> None:
    first = state(instance.jobs, instance.capacity.tolist())
    held = drf.slot_plan(first)
    now = replace(first, held=held)
    had = [workers for workers, _ in counts(held)]
    running = sum(workers > 0 for workers in had)
    new = dorm.worker_counts(now, 1.0, 0.3)
    assert sum(b > 0 and a != b for a, b in zip(new, had, strict=True)) <= np.ceil(0.3 * running)
    total = instance.capacity.sum(axis=0)
    pairs = zip(instance.jobs, new, strict=True)
    held_in_all = sum(n * one.worker_demand + one.servers_for(n) * one.server_demand for one, n in pairs)
    assert (held_in_all <= total * (1 + 1e-5)).all()
