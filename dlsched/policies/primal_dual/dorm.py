"""Dorm: every slot a program says how many workers each job gets, so that most of the machines is in use.

The study describes it in one sentence: numbers of workers and servers "are computed and placed by an MILP resource
utilization maximization problem with fairness and adjustment overhead constraints". Ours, where it says no more:

- utilisation is the sum over resources of the part in use; a worker counts with its part 1 / ratio of a server;
- the program sees all machines together; jobs are then placed one worker at a time, round-robin in order of arrival,
  and get fewer where there is no room; who keeps its number keeps its machines;
- fairness: what dominant shares differ from those of DRF adds up to at most ``fairness`` x 2 R (no sum is above 2 R);
- adjustment: of the jobs that ran in the slot before, at most ``adjustment`` of them, rounded up, change their number;
- where both limits cannot hold together, that of fairness gives way;
- no job gets more workers than finish it in the slot, unless it had them before.
"""

from __future__ import annotations

import math

import numpy as np

from dlsched.domain.errors import InputError
from dlsched.domain.workload import Floats, Ints
from dlsched.optimise.milp import Milp
from dlsched.policies.primal_dual.drf import fill
from dlsched.policies.primal_dual.problem import Booking, Instance, Schedule
from dlsched.policies.primal_dual.round_robin import Gang, RoundRobin
from dlsched.policies.primal_dual.slot_by_slot import SlotState, completed, play

FAIRNESS = 0.1
ADJUSTMENT = 0.1
RELATIVE_GAP = 5e-3
"""The search for most utilisation ends within this part of its bound ..."""
NODE_LIMIT = 200
"""... or after so many nodes of its tree."""


def solve(
    instance: Instance,
    rng: np.random.Generator,
    fairness: float = FAIRNESS,
    adjustment: float = ADJUSTMENT,
    effort: tuple[float, int] = (RELATIVE_GAP, NODE_LIMIT),
) -> list[Schedule | None]:
    """Return a schedule for each job that completes; ``rng`` is not used.

    ``effort``: relative gap and nodes at which the search of a slot ends.

    Raises
    ------
    InputError
        If a limit is not between 0 and 1.
    """
    for name, value in (("fairness", fairness), ("adjustment", adjustment)):
        if not 0 <= value <= 1:
            raise InputError(f"limit {name}", f"must be between 0 and 1, got {value:.10g}", "Correct the limit")
    return completed(instance.jobs, play(instance, lambda state: slot_plan(state, fairness, adjustment, effort)))


def slot_plan(
    state: SlotState,
    fairness: float = FAIRNESS,
    adjustment: float = ADJUSTMENT,
    effort: tuple[float, int] = (RELATIVE_GAP, NODE_LIMIT),
) -> list[Booking | None]:
    """Return what each job gets in this slot."""
    workers = worker_counts(state, fairness, adjustment, effort)
    machines = RoundRobin(state.capacity)
    bookings: list[Booking | None] = []
    for job, held, count in zip(state.jobs, state.held, workers, strict=True):
        stays = held is not None and _workers_of(held) == count
        bookings.append(held if stays else None)
        if held is not None and stays:
            machines.hold(job, held)
    for row, job in enumerate(state.jobs):
        if bookings[row] is None:
            gang = Gang(job, machines)
            gang.grow(workers[row])
            bookings[row] = gang.booking
    return bookings


def worker_counts(
    state: SlotState, fairness: float, adjustment: float, effort: tuple[float, int] = (RELATIVE_GAP, NODE_LIMIT)
) -> list[int]:
    """Return how many workers the program gives each job, before any is placed."""
    if not state.jobs:
        return []
    had = np.array([_workers_of(booking) for booking in state.held])
    most = np.maximum(state.useful_workers(), had)
    for limit in (fairness, math.inf):
        program, columns = _program(state, had, most, limit, adjustment)
        answer = program.solve(relative_gap=effort[0], node_limit=effort[1])
        if answer.values is not None:
            return [round(count) for count in answer.values[columns].tolist()]
    return [int(count) for count in had]


def _program(state: SlotState, had: Ints, most: Ints, fairness: float, adjustment: float) -> tuple[Milp, Ints]:
    """Return the program and the columns of the numbers of workers (jobs,)."""
    jobs = state.jobs
    rows = np.arange(len(jobs))
    ratio = np.array([job.ratio for job in jobs])
    total = state.capacity.sum(axis=0)
    of_worker, of_server = (
        np.divide(demand, total, out=(demand > 0).astype(float), where=total > 0)  # none of it there: 1 fills it
        for demand in (np.array([job.worker_demand for job in jobs]), np.array([job.server_demand for job in jobs]))
    )
    part = of_worker + of_server / ratio[:, None]

    program = Milp()
    workers = program.columns(-part.sum(axis=1), upper=most, integer=True)
    most_servers = [job.servers_for(int(count)) for job, count in zip(jobs, most, strict=True)]
    servers = program.columns(np.zeros(len(jobs)), upper=most_servers, integer=True)
    resource = np.broadcast_to(np.arange(len(total))[:, None], (len(total), 2 * len(jobs)))
    both = np.concatenate([workers, servers])
    program.rows(resource, both[None, :], np.vstack([of_worker, of_server]).T, high=(total > 0).astype(float))
    program.rows([rows, rows], [workers, servers], [np.ones(len(jobs)), -ratio], high=np.zeros(len(jobs)))
    if math.isfinite(fairness):
        _limit_unfairness(program, workers, state, most, part.max(axis=1), fairness)
    _limit_changes(program, workers, had, most, adjustment)
    return program, workers


def _limit_unfairness(
    program: Milp, workers: Ints, state: SlotState, most: Ints, share_of_worker: Floats, fairness: float
) -> None:
    """Add: the distances from DRF's dominant shares sum up to at most ``fairness`` x 2 R."""
    pool = state.capacity.sum(axis=0, keepdims=True)
    fair = np.array([_workers_of(booking) for booking in fill(pool, state.jobs, most.tolist())])
    away = program.columns(np.zeros(len(fair)))
    rows = np.arange(len(fair))
    for sign in (1.0, -1.0):  # sign (share - fair share) <= away
        values = [sign * share_of_worker, np.full(len(fair), -1.0)]
        program.rows([rows, rows], [workers, away], values, high=sign * share_of_worker * fair)
    program.rows(np.zeros(len(fair), int), away, 1.0, high=fairness * 2 * pool.size)


def _limit_changes(program: Milp, workers: Ints, had: Ints, most: Ints, adjustment: float) -> None:
    """Add: at most so many of the jobs that have workers get another number."""
    running = np.flatnonzero(had > 0)
    if not len(running):
        return
    changed = program.columns(np.zeros(len(running)), upper=1.0, integer=True)
    rows = np.arange(len(running))
    numbers, before, largest = workers[running], had[running], np.maximum(most, had)[running]
    ones = np.ones(len(running))
    program.rows([rows, rows], [numbers, changed], [ones, -(largest - before)], high=before)
    program.rows([rows, rows], [numbers, changed], [ones, before], low=before)
    program.rows(np.zeros(len(running), int), changed, 1.0, high=math.ceil(adjustment * len(running) - 1e-9))


def _workers_of(booking: Booking | None) -> int:
    return 0 if booking is None else int(booking.workers.sum())
