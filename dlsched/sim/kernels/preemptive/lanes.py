"""Who waits, by kind, compiled: the first of a kind in order, the others in a heap.

Keys do not change while a job waits, but where ranks are made anew between two instants. Decisions look at the first
jobs of a kind only, so few have to be in order.
"""

from __future__ import annotations

from dlsched.sim.kernels.compiled import compiled
from dlsched.sim.kernels.preemptive.heap import goes_before, pop, push
from dlsched.sim.kernels.preemptive.tables import MOST_SORTED
from dlsched.sim.kernels.tables import Table


@compiled
def insert(lanes: Table, ordered: Table, heap: Table, kind: int, key: float, row: int) -> None:
    """Put a row that does not wait among those of its kind."""
    lane = lanes[kind]
    if lane.past - lane.first >= MOST_SORTED:
        while lane.past - lane.first > MOST_SORTED // 2:
            lane.past -= 1
            push(heap, lane.begin, lane.in_heap, ordered[lane.past].key, ordered[lane.past].row)
            lane.in_heap += 1
    last = ordered[lane.past - 1]
    if lane.past == lane.first or not goes_before(key, row, last.key, last.row):
        push(heap, lane.begin, lane.in_heap, key, row)
        lane.in_heap += 1
        return
    low, high = lane.first, lane.past - 1
    while low < high:
        middle = (low + high) // 2
        if goes_before(key, row, ordered[middle].key, ordered[middle].row):
            high = middle
        else:
            low = middle + 1
    if lane.first > lane.begin:
        low -= 1
        lane.first -= 1
        for k in range(lane.first, low):
            ordered[k] = ordered[k + 1]
    else:
        for k in range(lane.past, low, -1):
            ordered[k] = ordered[k - 1]
        lane.past += 1
    ordered[low].key = key
    ordered[low].row = row


@compiled
def has(lanes: Table, ordered: Table, heap: Table, jobs: Table, kind: int, index: int) -> bool:
    """Whether more than ``index`` jobs of a kind wait; then so many are in order, ``ordered[first + index]`` too."""
    lane = lanes[kind]
    while lane.past - lane.first <= index:
        if lane.in_heap == 0:
            return False
        if lane.past == lane.end:
            for k in range(lane.first, lane.past):
                ordered[lane.begin + k - lane.first] = ordered[k]
            lane.past -= lane.first - lane.begin
            lane.first = lane.begin
        if jobs[heap[lane.begin].row].waits:  # it may have been cancelled
            ordered[lane.past] = heap[lane.begin]
            lane.past += 1
        pop(heap, lane.begin, lane.in_heap)
        lane.in_heap -= 1
    return True


@compiled
def remove(lanes: Table, ordered: Table, kind: int, row: int) -> None:
    """Take out a row that will never wait again; one in the heap is left there, to be passed over."""
    lane = lanes[kind]
    for place in range(lane.first, lane.past):
        if ordered[place].row == row:
            for k in range(place, lane.past - 1):
                ordered[k] = ordered[k + 1]
            lane.past -= 1
            return
