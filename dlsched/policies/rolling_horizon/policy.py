"""The adapter: an allocator that decides every few minutes becomes a policy of the simulator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.plan import STATUSES, Plan, WaitReason
from dlsched.domain.policy import EventKind, ReviewRule
from dlsched.domain.state import State
from dlsched.domain.workload import Ints
from dlsched.policies.rolling_horizon.greedy import greedy
from dlsched.policies.rolling_horizon.params import AllocatorParams, GreedyParams, OptimalParams
from dlsched.policies.rolling_horizon.pool import (
    Pool,
    held_nodes,
    joining,
    pools,
    problem_of,
    queued_first,
    seconds_left,
    workers_of,
)
from dlsched.policies.rolling_horizon.problem import Problem, Solution
from dlsched.policies.rolling_horizon.solver import solve
from dlsched.policies.rolling_horizon.widths import WidthBook
from dlsched.policies.shared.available_capacity import AvailableCapacity, wake_at_s
from dlsched.policies.shared.facts import JobFacts
from dlsched.policies.shared.placing import Placing
from dlsched.policies.shared.wait_reasons import WaitReasonTracker

INSTANT = 1e-6
"""A call this close to a multiple of the period, as a share of it, is the decision."""


class Verdict(NamedTuple):
    """``workers`` (J,) that the jobs of ``pool`` get, 0 = it waits; what a solver says of it; ``note`` in words."""

    pool: Pool
    workers: Ints
    solution: Solution | None = None
    note: str = ""


Allocator = Callable[[State, Pool, WidthBook], Verdict]


class AllocatorPolicy:
    """Changes widths every ``every_s`` seconds; whenever something happens, jobs start in order of submission.

    Partitions that share no nodes have a queue each, and in it the jobs without GPUs one of their own. The head of a
    queue gets its largest width that is free; while it finds no room, all behind it wait, unless no job of it runs.
    """

    kernel_rule = None

    def __init__(self, allocate: Allocator, params: AllocatorParams) -> None:
        self.review = ReviewRule(every_s=params.every_s)
        self.allocate, self._every_s = allocate, params.every_s
        self._facts, self._book, self._wait_reasons = JobFacts(), WidthBook(params.cap), WaitReasonTracker()
        self._capacity = AvailableCapacity(self._facts, params.vm_type)
        self._decided: int | None = None

    def plan(self, state: State) -> Plan:
        """Return the new widths where a decision is due, and who starts."""
        self._facts.update(state)
        self._capacity.update(state)
        self._book.update(state, self._facts, self._capacity)
        decides = self._decides(state)
        if not len(state.active):
            return Plan(vms=self._capacity.vm_changes(state, None))
        amounts = self._capacity.amounts(state)
        shared = pools(state, self._facts, amounts, _held(state))
        placing = Placing(state, self._facts, self._book.widths, amounts, self._capacity.placer(state))
        verdicts = [self.allocate(state, pool, self._book) for pool in shared] if decides else []
        _carry_out(placing, verdicts)
        for pool in shared:
            self._start(placing, pool)
        waits = [self._who_waits(placing, pool) for pool in shared]
        waiting, codes = np.concatenate([rows for rows, _ in waits]), np.concatenate([codes for _, codes in waits])
        vms = self._capacity.vm_changes(state, placing)
        plan = Plan(
            placing.allocations(),
            vms=vms,
            wake_at_s=wake_at_s(state, vms, len(waiting)),
            reasons=self._wait_reasons.of(waiting, codes, state.active[placing.runs(state.active)]),
        )
        return _with_answer(plan, verdicts)

    def _decides(self, state: State) -> bool:
        """Whether this call is a decision: the timer of a multiple of the period, once each."""
        number = round(state.now_s / self._every_s)
        is_due = abs(state.now_s - number * self._every_s) <= INSTANT * self._every_s
        if not (state.cause & EventKind.TIMER and is_due) or number == self._decided:
            return False
        self._decided = number
        return True

    def _queue(self, placing: Placing, pool: Pool) -> tuple[Ints, NDArray[np.bool_]]:
        """Return the rows of a pool that wait, in order, and which of them some width of fits the nodes that are up."""
        waits = ~placing.runs(pool.rows)
        smallest = self._book.smallest(pool.rows[waits])
        return pool.rows[waits], (smallest > 0) & (smallest <= pool.most[waits])

    def _start(self, placing: Placing, pool: Pool) -> None:
        """Start the queue in order, each job at its largest width that fits what is free."""
        rows, can = self._queue(placing, pool)

        def take(row: int) -> bool:
            return placing.start_up_to(row, placing.room(row))

        placing.first_fit(rows[can], np.arange(int(can.sum())), take, blocking=True)
        if not placing.runs(pool.rows).any():  # else all would wait for the head, and nobody would make room
            placing.first_fit(rows, np.arange(len(rows)), take)

    def _who_waits(self, placing: Placing, pool: Pool) -> tuple[Ints, Ints]:
        """Return the rows of a pool that wait and why, by what is free after the decision."""
        rows, can = self._queue(placing, pool)
        room, smallest = placing.rooms(rows), self._book.smallest(rows)
        codes = np.where((room >= smallest) & (smallest > 0), int(WaitReason.SPLIT), int(WaitReason.NO_ROOM))
        codes[np.flatnonzero(can)[1:]] = int(WaitReason.BEHIND)
        codes[room < 0] = int(WaitReason.NO_NODE)
        return rows, codes


def optimal_policy(params: OptimalParams) -> AllocatorPolicy:
    """Return the rolling-horizon allocator (Section 4): plan ``steps`` periods, carry out the first."""

    def allocate(state: State, pool: Pool, book: WidthBook) -> Verdict:
        short = seconds_left(state, pool, book) < params.min_eta_s
        keeps = np.where(short, pool.workers, 0)
        jobs = joining(pool, book, keeps)
        if not len(jobs.rows):
            return Verdict(jobs, jobs.workers)
        keeps = keeps[np.searchsorted(pool.rows, jobs.rows)]
        problem = problem_of(state, jobs, book, params.steps, params.every_s, keeps)
        solution = solve(problem, params.method)
        if solution.status == "infeasible":
            return Verdict(jobs, jobs.workers, solution, solution.reason)
        nodes = without_idle_cuts(problem, held_nodes(jobs), solution.nodes_now)
        return Verdict(jobs, workers_of(jobs, book, nodes), solution, solution.method)

    return AllocatorPolicy(allocate, params)


def without_idle_cuts(problem: Problem, held: Ints, nodes: Ints) -> Ints:
    """Return the nodes of each job, (J,), where no job shrinks to leave nodes idle.

    Where a job ends within the step at a smaller width too, both are worth the same, and a solver may take either. Who
    shrinks keeps what it ``held`` as long as that is idle, in source order: as more is never slower, no value is lost.
    """
    kept, idle = nodes.copy(), problem.nodes - int(nodes.sum())
    for job in np.flatnonzero(nodes < held).tolist():
        more = int(held[job] - nodes[job])
        if more <= idle:
            kept[job], idle = held[job], idle - more
    return kept


def greedy_policy(params: GreedyParams) -> AllocatorPolicy:
    """Return the greedy allocator (Section 3)."""

    def allocate(state: State, pool: Pool, book: WidthBook) -> Verdict:
        jobs = queued_first(pool, book)
        if not len(jobs.rows):
            return Verdict(jobs, jobs.workers)
        problem = problem_of(state, jobs, book, 1, params.every_s, np.zeros(len(jobs.rows), dtype=np.int64))
        elapsed_s = np.nan_to_num(state.now_s - state.started_s(jobs.rows))
        answer = greedy(problem, held_nodes(jobs), elapsed_s, repeated=params.halving == "repeated")
        note = "scenario " + " and ".join(map(str, answer.scenarios))
        return Verdict(jobs, workers_of(jobs, book, answer.nodes), None, note)

    return AllocatorPolicy(allocate, params)


def _held(state: State) -> Ints:
    """Return the workers that each active row holds."""
    held = {row: sum(share.workers for share in state.held(row)) for row in state.running.tolist()}
    return np.array([held.get(row, 0) for row in state.active.tolist()], dtype=np.int64)


def _carry_out(placing: Placing, verdicts: list[Verdict]) -> None:
    """Place the widths: first who shrinks, then who starts in order of submission, then who grows."""
    for pool, workers, *_ in verdicts:
        less = np.flatnonzero((workers > 0) & (workers < pool.workers))
        for job in less.tolist():
            placing.give_back(int(pool.rows[job]), int(workers[job]))
    for pool, workers, *_ in verdicts:
        starts = np.flatnonzero((pool.workers == 0) & (workers > 0))
        for job in starts.tolist():
            if not placing.start_up_to(int(pool.rows[job]), int(workers[job])):
                break
    for pool, workers, *_ in verdicts:
        more = np.flatnonzero((pool.workers > 0) & (workers > pool.workers))
        for job in more.tolist():
            placing.grow(int(pool.rows[job]), int(workers[job]))


def _with_answer(plan: Plan, verdicts: list[Verdict]) -> Plan:
    """Return a plan with what the decision says of itself: sums over the pools, the weakest status, the notes."""
    solutions = [verdict.solution for verdict in verdicts if verdict.solution]
    note = ", ".join(dict.fromkeys(verdict.note for verdict in verdicts if verdict.note))
    if not solutions:
        return replace(plan, note=note)
    solved = [solution for solution in solutions if solution.status != "infeasible"]
    return replace(
        plan,
        note=note,
        status=max((solution.status for solution in solutions), key=STATUSES.index),
        objective=sum(solution.objective for solution in solved),
        bound=sum(solution.bound for solution in solved),
    )
