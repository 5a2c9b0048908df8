"""Many tasks at once, wherever there is room, answered in their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, as_completed
from typing import TypeVar

T = TypeVar("T")
A = TypeVar("A")


def spread(
    executor: Executor,
    work: Callable[[T], A],
    tasks: Sequence[T],
    told: Callable[[int], None],
    each: Callable[[T, A], A] | None = None,
) -> list[A]:
    """Return the answers to tasks in their order, computed wherever there is room.

    ``told`` gets the number that are done after each; what it or a task raises cancels the rest and comes through.
    ``each`` gets every task with its answer as soon as it is there, in no order, and returns what of it is to stay.
    """
    place_of = {executor.submit(work, task): place for place, task in enumerate(tasks)}
    answers: dict[int, A] = {}
    try:
        for done, future in enumerate(as_completed(list(place_of)), 1):
            place = place_of.pop(future)  # an answer may be large, and a future keeps it
            answer = future.result()
            answers[place] = answer if each is None else each(tasks[place], answer)
            told(done)
    finally:
        for future in place_of:
            future.cancel()
    return [answers[place] for place in range(len(tasks))]
