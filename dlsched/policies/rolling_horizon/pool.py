"""From the simulator's state to a :class:`Problem` and from numbers of nodes back to workers.

On equal nodes that hold one worker each a node is a node. Elsewhere jobs share an amount (GPUs; without GPUs their
dominant resource), and the "nodes" of the problem are the smallest parts of it that make every worker a whole number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dlsched.domain.state import State
from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import Floats, Ints
from dlsched.policies.rolling_horizon.problem import LEAST_REMAINING, Problem
from dlsched.policies.rolling_horizon.widths import WidthBook
from dlsched.policies.shared.capacity import Amounts
from dlsched.policies.shared.facts import JobFacts

PARTS = (1, 2, 4, 8, 16, 3, 5, 10, 100)
"""Parts of a GPU that are tried; where none makes every worker a whole number, workers are rounded up to the last."""
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Pool:
    """Jobs that share an amount.

    ``rows`` (J,) active rows, in source order; ``workers`` (J,) held now; ``units`` (J,) parts of a GPU, for
    instance, that a worker takes; ``most`` (J,) workers that fit when all is empty; ``nodes`` units there are.
    """

    rows: Ints
    workers: Ints
    units: Floats
    most: Ints
    nodes: int

    def take(self, jobs: Ints) -> Pool:
        """Return the pool with these of its jobs alone."""
        return Pool(self.rows[jobs], self.workers[jobs], self.units[jobs], self.most[jobs], self.nodes)

    def cost(self, job: int, workers: Ints) -> Ints:
        """Return what these numbers of workers take."""
        return _whole(workers * self.units[job])


def pools(state: State, facts: JobFacts, amounts: Amounts, workers: Ints) -> list[Pool]:
    """Return the active jobs by what they share; ``workers`` is what each active row holds."""
    rows = state.active
    kinds = facts.kind_of(rows)
    group = amounts.group[kinds]
    answer = []
    for number in np.flatnonzero(np.bincount(group)).tolist():
        here = group == number
        cost = amounts.cost[kinds[here]]
        parts = parts_of(cost)
        nodes = int(amounts.capacity[number] * parts + ROUNDING)
        answer.append(Pool(rows[here], workers[here], cost * parts, amounts.most[kinds[here]], nodes))
    return answer


def parts_of(cost: Floats) -> float:
    """Return parts in one unit of cost, below 1 where a part is several: the fewest that make all costs whole.

    Workers of 8 GPUs count as one part of 8 GPUs each, workers of 8 and of half a GPU as 16 and 1 of half a GPU.
    """
    for parts in PARTS:
        if _is_whole(cost * parts):
            return parts / float(np.gcd.reduce(np.round(cost * parts).astype(np.int64)) or 1)
    return float(PARTS[-1])


def joining(pool: Pool, book: WidthBook, keeps: Ints | None = None) -> Pool:
    """Return the jobs of a decision: those that run, then the queue in order while the smallest widths fit together.

    A job that no width of fits the nodes that are up is passed over. ``keeps`` (J,) workers that a job must keep,
    0 = it need not; such a job counts with these.
    """
    smallest = book.smallest(pool.rows)
    can = (smallest > 0) & (smallest <= pool.most) | (pool.workers > 0)
    order = np.concatenate([np.flatnonzero(can & (pool.workers > 0)), np.flatnonzero(can & (pool.workers == 0))])
    least = smallest if keeps is None else np.maximum(smallest, keeps)
    needed = np.cumsum(_whole(least[order] * pool.units[order]))
    return pool.take(np.sort(order[needed <= pool.nodes]))


def queued_first(pool: Pool, book: WidthBook) -> Pool:
    """Return the jobs that run and as much of the queue as could start at all."""
    smallest = book.smallest(pool.rows)
    waits = (pool.workers == 0) & (smallest > 0) & (smallest <= pool.most)
    return pool.take(np.sort(np.concatenate([np.flatnonzero(pool.workers > 0), np.flatnonzero(waits)[: pool.nodes]])))


def problem_of(state: State, pool: Pool, book: WidthBook, steps: int, step_s: float, keeps: Ints) -> Problem:
    """Return the decision as arrays.

    Remaining work is in hours at the job's smallest width, rates are relative to it. ``keeps`` (J,) workers a job
    must keep, 0 = it may have any of its widths.
    """
    rows = pool.rows.tolist()
    taken = [pool.cost(job, book.widths(row)) for job, row in enumerate(rows)]
    widths = np.unique(np.concatenate(taken))
    legal = np.zeros((len(rows), len(widths)), dtype=bool)
    rate = np.zeros(legal.shape)
    base = np.ones(len(rows))
    columns = zip(rows, taken, pool.workers.tolist(), pool.most.tolist(), keeps.tolist(), strict=True)
    for job, (row, units, held, most, kept) in enumerate(columns):
        workers, rates = book.widths(row), book.rates(row)
        may = (workers == kept) if kept else (workers <= most) | (workers == held)
        places = np.searchsorted(widths, units[may])
        base[job] = rates[0]
        legal[job, places] = True
        rate[job, places] = rates[may] / rates[0]
    remaining_h = state.remaining(pool.rows) / base / HOUR_S
    return Problem(np.maximum(remaining_h, LEAST_REMAINING), widths, legal, rate, pool.nodes, steps, step_s / HOUR_S)


def held_nodes(pool: Pool) -> Ints:
    """Return what each job of a pool takes now, in the units of the problem, (J,)."""
    return _whole(pool.workers * pool.units)


def workers_of(pool: Pool, book: WidthBook, nodes: Ints) -> Ints:
    """Return the workers that take so many units, (J,): the most that do."""
    given = np.zeros(len(nodes), dtype=np.int64)
    for job, (row, units) in enumerate(zip(pool.rows.tolist(), nodes.tolist(), strict=True)):
        if units:
            widths = book.widths(row)
            given[job] = widths[np.searchsorted(pool.cost(job, widths), units, side="right") - 1]
    return given


def seconds_left(state: State, pool: Pool, book: WidthBook) -> Floats:
    """Return when each running job of a pool ends at the width it holds, as believed; infinity for who waits."""
    s_per_work = np.full(len(pool.rows), np.inf)
    for job in np.flatnonzero(pool.workers > 0).tolist():
        row, at = int(pool.rows[job]), pool.workers[job]
        s_per_work[job] = 1 / book.rates(row)[np.searchsorted(book.widths(row), at)]
    return np.where(np.isfinite(s_per_work), s_per_work * state.remaining(pool.rows), np.inf)


def _is_whole(values: Floats) -> bool:
    return bool((np.abs(values - np.round(values)) <= ROUNDING).all())


def _whole(values: Floats) -> Ints:
    """Round up; what is more than nothing, of a resource without limit for instance, is at least 1."""
    return np.maximum(np.ceil(values - ROUNDING), values > 0).astype(np.int64)
