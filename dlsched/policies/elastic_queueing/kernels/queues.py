"""JSQ-Chunk: equal chunks of nodes with a queue each. Compiled."""

from __future__ import annotations

from dlsched.policies.elastic_queueing.kernels.compiled import compiled
from dlsched.policies.elastic_queueing.kernels.serve import budget
from dlsched.policies.elastic_queueing.kernels.tables import Answer, Curves, Ints, Jobs


@compiled
def join_queues(chunk: Ints, lengths: Ints) -> None:
    """Let every job without a chunk (-1, or one that is gone) join the shortest queue, the first of equal ones.

    ``chunk`` (jobs,) of the active jobs in source order; ``lengths`` (chunks,) is scratch.
    """
    lengths[:] = 0
    for k in range(len(chunk)):
        if 0 <= chunk[k] < len(lengths):
            lengths[chunk[k]] += 1
        else:
            chunk[k] = -1
    for k in range(len(chunk)):
        if chunk[k] < 0:
            shortest = 0
            for number in range(1, len(lengths)):
                if lengths[number] < lengths[shortest]:
                    shortest = number
            chunk[k] = shortest
            lengths[shortest] += 1


@compiled
def serve_queues(
    curves: Curves, jobs: Jobs, chunk: Ints, capacity: float, first: Ints, answer: Answer
) -> tuple[int, float]:
    """Let each chunk of this capacity run the job it runs, else the first of its queue; ``first`` (chunks,) is scratch.

    Return how many were served and the capacity that the chunks leave unused.
    """
    first[:] = -1
    for k in range(len(chunk)):
        answer.given[k] = 0
        head = first[chunk[k]]
        if head < 0 or (jobs.held[head] == 0 and jobs.held[k] > 0):
            first[chunk[k]] = k
    left, served = capacity * len(first), 0
    for number in range(len(first)):
        k = first[number]
        if k < 0:
            continue
        most = min(budget(jobs, k, capacity), curves.width.shape[1] - 1)
        width = jobs.held[k] if 0 < jobs.held[k] <= most else curves.width[jobs.curve[k], max(most, 0)]
        if width == 0:
            continue
        answer.given[k] = width
        answer.order[served] = k
        served += 1
        left -= width * jobs.cost[k]
    return served, left
