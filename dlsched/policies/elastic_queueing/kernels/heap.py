"""A binary heap of job numbers by (key, number) in arrays that exist already. Compiled."""

from __future__ import annotations

from dlsched.policies.elastic_queueing.kernels.compiled import compiled
from dlsched.policies.elastic_queueing.kernels.tables import Floats, Ints


@compiled
def _before(key: Floats, one: int, other: int) -> bool:
    return key[one] < key[other] or (key[one] == key[other] and one < other)


@compiled
def push(heap: Ints, key: Floats, count: int, number: int) -> int:
    """Put a number in; return how many there are now."""
    place = count
    while place > 0 and _before(key, number, heap[(place - 1) // 2]):
        heap[place] = heap[(place - 1) // 2]
        place = (place - 1) // 2
    heap[place] = number
    return count + 1


@compiled
def pop(heap: Ints, key: Floats, count: int) -> int:
    """Take the first number, ``heap[0]``, out; return how many there are now."""
    count -= 1
    number, place = heap[count], 0
    while 2 * place + 1 < count:
        child = 2 * place + 1
        if child + 1 < count and _before(key, heap[child + 1], heap[child]):
            child += 1
        if not _before(key, heap[child], number):
            break
        heap[place] = heap[child]
        place = child
    heap[place] = number
    return count
