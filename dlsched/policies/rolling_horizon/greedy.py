"""The greedy allocator: four scenarios by idle nodes and queue (Section 3 of the paper, Fig. 4)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dlsched.domain.workload import Floats, Ints
from dlsched.policies.rolling_horizon.problem import Problem


class GreedyAnswer(NamedTuple):
    """``nodes`` (J,) that each job gets, 0 = it waits; the ``scenarios`` met, in order: (4,) = nothing to do."""

    nodes: Ints
    scenarios: tuple[int, ...]


def greedy(problem: Problem, held: Ints, elapsed_s: Floats, *, repeated: bool = False) -> GreedyAnswer:
    """Return what the greedy allocator does now. It looks at no remaining time and no rate.

    1 Idle nodes and a queue: the head gets its largest legal number of nodes that is idle, until either runs out.
    2 Idle nodes, no queue: the job that has trained shortest grows as far as they go; one that cannot is passed over.
    3 A queue whose head has too few idle nodes: the job that has trained longest, of those that can, is halved, and
      the head gets what it can of the idle nodes; once, or ``repeated`` until no job waits or can be halved.
      A job that starts in this decision is not halved in it.
    4 Neither idle nodes nor a queue: nothing changes.

    Parameters
    ----------
    problem
        Jobs in order of submission; only ``widths``, ``legal`` and ``nodes`` count.
    held
        (J,) nodes each job has now; 0 = it is in the queue.
    elapsed_s
        (J,) time since the first start. Ties go to the earlier job.
    """
    nodes = held.copy()
    running = np.flatnonzero(held > 0)
    queue = np.flatnonzero(held == 0).tolist()
    met = []
    if _start(problem, nodes, queue):
        met.append(1)
    if queue:
        oldest = running[np.argsort(-elapsed_s[running], kind="stable")].tolist()
        if _halve(problem, nodes, queue, oldest, repeated=repeated):
            met.append(3)
    else:
        youngest = running[np.argsort(elapsed_s[running], kind="stable")].tolist()
        if _grow(problem, nodes, youngest):
            met.append(2)
    return GreedyAnswer(nodes, tuple(met) or (4,))


def _idle(problem: Problem, nodes: Ints) -> int:
    return problem.nodes - int(nodes.sum())


def _largest(problem: Problem, job: int, most: float) -> int:
    """Return the largest legal number of nodes up to ``most``; 0 = none."""
    fitting = problem.widths[problem.legal[job] & (problem.widths <= most)]
    return int(fitting[-1]) if len(fitting) else 0


def _start(problem: Problem, nodes: Ints, queue: list[int]) -> bool:
    """Scenario 1: start the head of the queue while it fits, and take it from the queue."""
    started = False
    while queue:
        width = _largest(problem, queue[0], _idle(problem, nodes))
        if not width:
            break
        nodes[queue.pop(0)] = width
        started = True
    return started


def _grow(problem: Problem, nodes: Ints, youngest: list[int]) -> bool:
    """Scenario 2."""
    grown = False
    for job in youngest:
        width = _largest(problem, job, int(nodes[job]) + _idle(problem, nodes))
        if width > nodes[job]:
            nodes[job] = width
            grown = True
    return grown


def _halve(problem: Problem, nodes: Ints, queue: list[int], oldest: list[int], *, repeated: bool) -> bool:
    """Scenario 3."""
    halved = False
    while queue and (repeated or not halved):
        halves = ((job, _largest(problem, job, int(nodes[job]) / 2)) for job in oldest)
        job, width = next(((job, width) for job, width in halves if width), (-1, 0))
        if not width:
            break
        nodes[job] = width
        halved = True
        _start(problem, nodes, queue)
    return halved
