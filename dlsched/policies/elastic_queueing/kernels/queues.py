"""JSQ-Chunk: equal chunks of nodes with a queue each. Compiled."""

from __future__ import annotations

from dlsched.policies.elastic_queueing.kernels.compiled import compiled
from dlsched.policies.elastic_queueing.kernels.serve import budget
from dlsched.policies.elastic_queueing.kernels.tables import ROUNDING, Answer, Curves, Ints, Jobs, Queues


@compiled
def chunk_size(curves: Curves, jobs: Jobs, capacity: float, asked: float) -> float:
    """Return the capacity of a chunk: what was asked for, more where the widest job needs more, at most all there is.

    What a job needs is its smallest legal width: in a smaller chunk it would wait for ever.
    """
    chunk = min(asked, capacity)
    for k in range(len(jobs.curve)):
        most = max(0, min(budget(jobs, k, capacity), curves.width.shape[1] - 1))
        width = max(0, min(budget(jobs, k, chunk), most))
        if curves.width[jobs.curve[k], width] > 0 or curves.width[jobs.curve[k], most] == 0:
            continue
        while curves.width[jobs.curve[k], width] == 0:
            width += 1
        chunk = min(width * jobs.cost[k], capacity)
    return chunk


@compiled
def num_chunks(capacity: float, chunk: float, most: int) -> int:
    """Return how many chunks of this size there are: at least one, and no more than ``most``."""
    return min(most, max(1, int(capacity / chunk + ROUNDING))) if chunk > 0 else 1


@compiled
def join_queues(queues: Queues, chunks: int) -> None:
    """Let every job without a chunk (-1, or one that is gone) join the shortest queue, the first of equal ones."""
    chunk, lengths = queues.chunk, queues.lengths
    for number in range(len(lengths)):
        lengths[number] = queues.behind[number]
    for k in range(len(chunk)):
        if 0 <= chunk[k] < chunks:
            lengths[chunk[k]] += 1
        else:
            chunk[k] = -1
    for k in range(len(chunk)):
        if chunk[k] < 0:
            shortest = 0
            for number in range(1, chunks):
                if lengths[number] < lengths[shortest]:
                    shortest = number
            chunk[k] = shortest
            lengths[shortest] += 1


@compiled
def serve_queues(
    curves: Curves, jobs: Jobs, chunk: Ints, chunks: int, capacity: float, first: Ints, answer: Answer
) -> tuple[int, float]:
    """Let each chunk of this capacity run the job it runs, else the first of its queue that can run at all now.

    ``first`` (at least ``chunks``,) is scratch. Return how many were served and the capacity that the chunks leave
    unused.
    """
    first[:] = -1
    for k in range(len(chunk)):
        most = max(0, min(budget(jobs, k, capacity), curves.width.shape[1] - 1))
        answer.given[k] = jobs.held[k] if 0 < jobs.held[k] <= most else curves.width[jobs.curve[k], most]
        head = first[chunk[k]]
        if answer.given[k] == 0:
            continue
        if head >= 0 and (jobs.held[head] > 0 or jobs.held[k] == 0):
            answer.given[k] = 0
            continue
        if head >= 0:
            answer.given[head] = 0
        first[chunk[k]] = k
    left, served = capacity * chunks, 0
    for number in range(chunks):
        k = first[number]
        if k >= 0:
            answer.order[served] = k
            served += 1
            left -= answer.given[k] * jobs.cost[k]
    return served, left
