"""Who gets how many nodes: shortest first by a table of widths, then filling (Algorithms 1 and 2, Eq. 5). Compiled."""

from __future__ import annotations

from dlsched.policies.elastic_queueing.kernels.compiled import compiled
from dlsched.policies.elastic_queueing.kernels.heap import pop, push
from dlsched.policies.elastic_queueing.kernels.tables import ROUNDING, Answer, Curves, Jobs

LEAST_WORK = 1e-9
"""A job that outlives its estimate counts as this share of its work: sizes stay above 0."""


@compiled
def set_sizes(jobs: Jobs, gamma: float, answer: Answer) -> None:
    """Set the size of every job: remaining work, times (1 / (1 - progress)) ** gamma for early termination."""
    for k in range(len(jobs.work)):
        left = max(jobs.remaining[k], LEAST_WORK * jobs.work[k])
        answer.size[k] = left if gamma == 0.0 else left ** (1.0 - gamma) * jobs.work[k] ** gamma


@compiled
def budget(jobs: Jobs, k: int, left: float) -> int:
    """Return how many workers of a job this much capacity holds."""
    return min(jobs.most[k], int(left / jobs.cost[k] + ROUNDING))


@compiled
def _wanted(curves: Curves, jobs: Jobs, k: int, left: float) -> int:
    most = min(budget(jobs, k, left), curves.width.shape[1] - 1)
    return curves.width[jobs.curve[k], max(most, 0)]


@compiled
def serve_malleable(curves: Curves, jobs: Jobs, capacity: float, answer: Answer) -> tuple[int, float]:
    """Give nodes to the job with the smallest key, again and again, while any legal width is left.

    A key is the size times the weight of the width that the job wants of what is left. It only grows as less is left,
    so that an old key is a lower bound: a job is served when its key at the top of the heap is still true.
    Return how many were served and the capacity that is left.
    """
    count, least = 0, capacity
    for k in range(len(jobs.curve)):
        answer.given[k] = 0
        width = _wanted(curves, jobs, k, capacity)
        if width > 0:
            least = min(least, jobs.cost[k])
            answer.key[k] = answer.size[k] * curves.weight[jobs.curve[k], width]
            count = push(answer.heap, answer.key, count, k)
    left, served = capacity, 0
    while count > 0 and left / least + ROUNDING >= 1.0:  # a long queue is not worth a look when nothing is left
        k = answer.heap[0]
        width = _wanted(curves, jobs, k, left)
        key = answer.size[k] * curves.weight[jobs.curve[k], width] if width > 0 else answer.key[k]
        count = pop(answer.heap, answer.key, count)
        if width == 0:
            continue
        if key > answer.key[k]:
            answer.key[k] = key
            count = push(answer.heap, answer.key, count, k)
            continue
        answer.given[k] = width
        answer.order[served] = k
        served += 1
        left -= width * jobs.cost[k]
    return served, left


@compiled
def serve_moldable(curves: Curves, jobs: Jobs, capacity: float, blocking: bool, answer: Answer) -> tuple[int, float]:
    """Give every job its one width, smallest key first; a job without room waits, and with ``blocking`` all behind it.

    The width is that of the first start, else what the rule wants of the whole cluster. Where the cluster has shrunk
    below it, the job is molded anew. Return how many were served and the capacity that is left.
    """
    count = 0
    for k in range(len(jobs.curve)):
        whole = budget(jobs, k, capacity)
        width = jobs.fixed[k] if 0 < jobs.fixed[k] <= whole else _wanted(curves, jobs, k, capacity)
        answer.given[k] = width
        if width > 0:
            answer.key[k] = answer.size[k] * curves.weight[jobs.curve[k], width]
            count = push(answer.heap, answer.key, count, k)
    left, served, blocked = capacity, 0, False
    while count > 0:
        k = answer.heap[0]
        count = pop(answer.heap, answer.key, count)
        if blocked or answer.given[k] > budget(jobs, k, left):
            answer.given[k] = 0
            blocked = blocked or blocking
            continue
        answer.order[served] = k
        served += 1
        left -= answer.given[k] * jobs.cost[k]
    return served, left


@compiled
def fill(curves: Curves, jobs: Jobs, left: float, answer: Answer) -> float:
    """Hand out what is left, Eq. (5): the fewest nodes that make their job the one with the least time left, again.

    Ties go to the job that would end sooner, then by source order. Return the capacity that is left then.
    """
    while left > 0:
        first, shortest = -1, 0.0
        for k in range(len(jobs.curve)):
            if answer.given[k] > 0:
                time = answer.size[k] / curves.rate[jobs.curve[k], answer.given[k]]
                if first < 0 or time < shortest:
                    first, shortest = k, time
        if first < 0:
            return left
        # the shortest job first: it mostly needs a single node, which bounds the search for the others
        best, best_width, best_cost, best_time = -1, 0, 0.0, 0.0
        for turn in range(-1, len(jobs.curve)):
            k = first if turn < 0 else turn
            if answer.given[k] == 0 or (turn >= 0 and k == first):
                continue
            width, cost, time = _sooner(curves, jobs, k, left, shortest, best, best_cost, answer)
            if width > 0 and (
                best < 0
                or cost < best_cost
                or (cost == best_cost and (time < best_time or (time == best_time and k < best)))
            ):
                best, best_width, best_cost, best_time = k, width, cost, time
        if best < 0:
            return left
        answer.given[best] = best_width
        left -= best_cost
    return left


@compiled
def _sooner(
    curves: Curves, jobs: Jobs, k: int, left: float, shortest: float, best: int, best_cost: float, answer: Answer
) -> tuple[int, float, float]:
    """Return the smallest larger width with less time left than ``shortest``, what it costs more, and that time."""
    given, curve = answer.given[k], jobs.curve[k]
    extra = int(left / jobs.cost[k] + ROUNDING)
    most = min(jobs.most[k], given + extra, curves.rate.shape[1] - 1)
    for width in range(given + 1, most + 1):
        cost = (width - given) * jobs.cost[k]
        if best >= 0 and cost > best_cost:
            return 0, 0.0, 0.0
        rate = curves.rate[curve, width]
        if rate > 0 and answer.size[k] / rate < shortest:
            return width, cost, answer.size[k] / rate
    return 0, 0.0, 0.0
