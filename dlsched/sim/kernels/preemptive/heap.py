"""Heaps of rows by key, then by row, in a part of an array; compiled."""

from __future__ import annotations

from dlsched.sim.kernels.compiled import compiled, inlined
from dlsched.sim.kernels.tables import Table


@inlined
def goes_before(key: float, row: int, other_key: float, other_row: int) -> bool:
    """Whether one is ahead of another: by key, then in source order."""
    return key < other_key or (key == other_key and row < other_row)


@compiled
def push(heap: Table, base: int, count: int, key: float, row: int) -> None:
    """Put a row into the heap of ``count`` entries from ``base`` on."""
    place = count
    while place > 0:
        above = heap[base + (place - 1) // 2]
        if not goes_before(key, row, above.key, above.row):
            break
        heap[base + place] = above
        place = (place - 1) // 2
    heap[base + place].key = key
    heap[base + place].row = row


@compiled
def pop(heap: Table, base: int, count: int) -> None:
    """Take the first entry, ``heap[base]``, out of ``count``."""
    count -= 1
    key, row, place = heap[base + count].key, heap[base + count].row, 0
    while 2 * place + 1 < count:
        below = 2 * place + 1
        if below + 1 < count:
            left, right = heap[base + below], heap[base + below + 1]
            if goes_before(right.key, right.row, left.key, left.row):
                below += 1
        if not goes_before(heap[base + below].key, heap[base + below].row, key, row):
            break
        heap[base + place] = heap[base + below]
        place = below
    heap[base + place].key = key
    heap[base + place].row = row
