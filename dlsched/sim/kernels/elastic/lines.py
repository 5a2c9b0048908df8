"""Who waits behind whom under JSQ-Chunk, compiled: decisions look at the first job of each chunk only.

The others wait in a heap of rows for each chunk, out of the active rows. A heap is a skew heap (Sleator and Tarjan,
Self-adjusting heaps, SIAM J. Comput. 15(1), 1986): two of them are melded in O(log jobs), on average over a run.
"""

from __future__ import annotations

from numba import njit

from dlsched.domain.workload import Ints
from dlsched.policies.elastic_queueing.kernels.compiled import OPTIONS, compiled
from dlsched.policies.elastic_queueing.kernels.queues import num_chunks
from dlsched.sim.kernels.elastic.tables import Count, Run

inlined = njit(inline="always", **OPTIONS)
allocating = njit(**(OPTIONS | {"_nrt": True}))
_ACTIVE, _CAPACITY = int(Count.ACTIVE), int(Count.CAPACITY)


@compiled
def _meld(one: int, other: int, left: Ints, right: Ints) -> int:
    """Return the first row of two heaps that become one; -1 = an empty heap."""
    first, above = -1, -1
    while one >= 0 and other >= 0:
        if other < one:
            one, other = other, one
        if above < 0:
            first = one
        else:
            left[above] = one
        above, one = one, right[one]
        right[above] = left[above]
    rest = max(one, other)
    if above < 0:
        return rest
    left[above] = rest
    return first


@compiled
def chunk_needed(run: Run) -> float:
    """Return the size of a chunk: what was asked for, more while a job in the system needs more."""
    lines = run.lines
    last = len(lines.needs) - 1
    while last > 0 and lines.unfinished[last] == 0:
        last -= 1
    return max(run.rule.chunk, float(lines.needs[last]))


@compiled
def call_up(run: Run, count: int, chunk: float) -> int:
    """Put back those behind into the ``count`` active rows where a chunk has lost its job or is gone itself.

    Return how many are active now, in source order. A job that could never run is active all the time.
    """
    lines, busy = run.lines, run.queues.first
    chunks = num_chunks(float(run.counts[_CAPACITY]), chunk, len(lines.first))
    busy[:] = 0
    for k in range(count):
        row = run.active[k]
        job = run.jobs[row]
        if job.chunk >= 0 and _can_run(run, row):
            busy[job.chunk] = 1
    before = count
    for number in range(len(lines.first)):
        while lines.first[number] >= 0 and (number >= chunks or not busy[number]):
            row = lines.first[number]
            lines.first[number] = _meld(lines.left[row], lines.right[row], lines.left, lines.right)
            run.queues.behind[number] -= 1
            run.active[count] = row
            busy[number] = 1
            count += 1
    if count > before:
        _sort(run.active[:count])
    return count


@inlined
def _can_run(run: Run, row: int) -> bool:
    return run.lines.needs[run.lines.need[run.jobs[row].curve]] > 0


@allocating
def _sort(rows: Ints) -> None:
    rows.sort()


@compiled
def set_aside(run: Run) -> None:
    """Take those that wait behind another job of their chunk out of the active rows."""
    lines, kept = run.lines, 0
    for k in range(run.counts[_ACTIVE]):
        row = run.active[k]
        job = run.jobs[row]
        if job.held > 0 or run.queues.first[job.chunk] == k or not _can_run(run, row):
            run.active[kept] = row
            kept += 1
        else:
            lines.left[row] = lines.right[row] = -1
            lines.first[job.chunk] = _meld(lines.first[job.chunk], row, lines.left, lines.right)
            run.queues.behind[job.chunk] += 1
    run.counts[_ACTIVE] = kept
