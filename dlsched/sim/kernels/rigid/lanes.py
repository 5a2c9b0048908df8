"""Who waits, in order: trees over the places of a queue, compiled.

A lane holds rows in the order of their queue. A tree over it knows the shortest believed work of those that wait: the
first waiting job behind a place, or the first that is short enough, is found in O(log jobs).
"""

from __future__ import annotations

import numpy as np

from dlsched.domain.workload import Floats
from dlsched.sim.kernels.compiled import compiled, inlined
from dlsched.sim.kernels.rigid.tables import Run

ANY = 1e300
"""More work than any job has, and less than infinity, which stands for jobs that do not wait."""


@inlined
def set_leaf(run: Run, lane: int, index: int, value: float) -> None:
    """Set the believed work of a job in a lane; infinity = it does not wait."""
    tree, base = run.tree, run.lanes[lane].base
    node = run.lanes[lane].size + index
    tree[base + node] = value
    node >>= 1
    while node > 0:
        least = min(tree[base + 2 * node], tree[base + 2 * node + 1])
        if tree[base + node] == least:
            break
        tree[base + node] = least
        node >>= 1


@compiled
def first_at_most(tree: Floats, base: int, size: int, start: int, most: float) -> int:
    """Return the first place from ``start`` on with a value of at most ``most``; -1 = none."""
    if start >= size:
        return -1
    node = size + start if start > 0 else 1  # all places at once
    while tree[base + node] > most:
        while node & 1:  # a right child: what lies behind it begins at the next node of a level above
            node >>= 1
            if node == 0:
                return -1
        node += 1
    while node < size:
        node <<= 1
        if tree[base + node] > most:
            node += 1
    return node - size


@inlined
def next_waiting(run: Run, lane: int, start: int, most: float) -> int:
    """Return the index in a lane of the first waiting job from ``start`` on with believed work of at most ``most``."""
    return first_at_most(run.tree, run.lanes[lane].base, run.lanes[lane].size, start, most)


@inlined
def index_behind(run: Run, lane: int, place: int) -> int:
    """Return the index in a lane of the first row with a place above ``place``."""
    low, high = run.lanes[lane].first, run.lanes[lane + 1].first
    while low < high:
        middle = (low + high) // 2
        if run.jobs[run.lane_rows[middle]].place > place:
            high = middle
        else:
            low = middle + 1
    return low - run.lanes[lane].first


@compiled
def move_ahead(run: Run, row: int) -> None:
    """A row that does not wait has got a lower key: it takes its new place among those of its kind and queue."""
    kind = run.jobs[row].kind
    if run.rule[0].looks_by_kind:
        _move_in_lane(run, kind, row, run.jobs[row].in_kind)
    _move_in_lane(run, len(run.kinds) + run.kinds[kind].queue, row, run.jobs[row].place)


@compiled
def _move_in_lane(run: Run, lane: int, row: int, index: int) -> None:
    """Move a row to an index up to the one it has; those between move back by one."""
    jobs, rows, tree = run.jobs, run.lane_rows, run.tree
    first, base, size = run.lanes[lane].first, run.lanes[lane].base, run.lanes[lane].size
    low, high = 0, index
    while low < high:
        middle = (low + high) // 2
        other = rows[first + middle]
        if jobs[other].key > jobs[row].key or (jobs[other].key == jobs[row].key and other > row):
            high = middle
        else:
            low = middle + 1
    for k in range(index, low - 1, -1):
        moved = rows[first + k - 1] if k > low else row
        rows[first + k] = moved
        tree[base + size + k] = tree[base + size + k - 1] if k > low else np.inf
        if lane < len(run.kinds):
            jobs[moved].in_kind = k
        else:
            jobs[moved].place = k
    left, right = (size + low) >> 1, (size + index) >> 1
    while left > 0:
        for node in range(left, right + 1):
            tree[base + node] = min(tree[base + 2 * node], tree[base + 2 * node + 1])
        left, right = left >> 1, right >> 1
