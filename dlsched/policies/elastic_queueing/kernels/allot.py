"""One decision from start to end. ``allot`` is for compiled callers, ``decide`` is kept in numba's cache."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit, types

from dlsched.domain.fingerprint import fingerprint
from dlsched.policies.elastic_queueing.kernels.compiled import OPTIONS, compiled
from dlsched.policies.elastic_queueing.kernels.queues import chunk_size, join_queues, num_chunks, serve_queues
from dlsched.policies.elastic_queueing.kernels.serve import fill, serve_malleable, serve_moldable, set_sizes
from dlsched.policies.elastic_queueing.kernels.tables import (
    MALLEABLE,
    MOLDABLE,
    Answer,
    Curves,
    Jobs,
    Queues,
    Rule,
)


@compiled
def allot(rule: Rule, curves: Curves, jobs: Jobs, queues: Queues, capacity: float, answer: Answer) -> int:
    """Fill in how many workers each job gets; return how many jobs were served.

    ``queues`` matters for the kind QUEUES only; new jobs join theirs. Its scratch holds the chunks of ``rule.chunk``;
    where a job needs larger ones there are fewer.
    """
    set_sizes(jobs, rule.gamma, answer)
    if rule.kind == MALLEABLE:
        served, left = serve_malleable(curves, jobs, capacity, answer)
    elif rule.kind == MOLDABLE:
        served, left = serve_moldable(curves, jobs, capacity, rule.blocking, answer)
    else:
        chunk = chunk_size(curves, jobs, capacity, rule.chunk)
        chunks = num_chunks(capacity, chunk, len(queues.lengths))
        join_queues(queues, chunks)
        served, left = serve_queues(curves, jobs, queues.chunk, chunks, chunk, queues.first, answer)
    if rule.fills:
        fill(curves, jobs, left, answer)
    return served


def tuple_types() -> list[Any]:
    """Return the numba types of rule, curves, jobs, queues, capacity and answer."""
    line, lines = types.Array(types.int64, 1, "C"), types.Array(types.int64, 2, "C")
    floats, tables = types.Array(types.float64, 1, "C"), types.Array(types.float64, 2, "C")
    return [
        types.NamedTuple([types.int64, types.boolean, types.boolean, types.float64, types.float64], Rule),
        types.NamedTuple([tables, lines, tables], Curves),
        types.NamedTuple([line, floats, floats, floats, line, line, line], Jobs),
        types.NamedUniTuple(line, 4, Queues),
        types.float64,
        types.NamedTuple([line, line, floats, floats, line], Answer),
    ]


def _compile(sources: int) -> Callable[[Rule, Curves, Jobs, Queues, float, Answer], int]:
    @njit(types.int64(*tuple_types()), cache=True, **OPTIONS)
    def decide(rule: Rule, curves: Curves, jobs: Jobs, queues: Queues, capacity: float, answer: Answer) -> int:
        if sources < 0:
            return 0
        return allot(rule, curves, jobs, queues, capacity, answer)

    return decide


decide = _compile(fingerprint(Path(__file__).parent.glob("*.py")))
"""``decide(rule, curves, jobs, queues, capacity, answer)``: see :func:`allot`."""
