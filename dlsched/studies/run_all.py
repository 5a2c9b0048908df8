"""Many tasks, here or wherever there is room, answered in their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, as_completed
from typing import TypeVar

from dlsched.studies.simulation import Progress

T = TypeVar("T")
R = TypeVar("R")


def run_all(
    tasks: Sequence[T],
    work: Callable[..., R],
    executor: Executor | None = None,
    progress: Progress | None = None,
    each: Callable[[T, R], object] | None = None,
    *,
    noun: str = "task",
    stored: int = 0,
) -> list[R]:
    """Return the results of tasks in their order.

    Parameters
    ----------
    work
        From a task to its result. Another process has to find it by its name; here it gets a progress as its second
        argument, where there is one.
    executor
        Where to compute; None = here, one after the other.
    progress
        Told the share done and how many of the tasks that is, here also within a task. What it or a task raises cancels
        the rest and comes through.
    each
        Gets every task with its result as soon as it is there, in no order.
    noun
        What a task is called in the progress.
    stored
        How many more were computed before; they count as done.
    """
    results: dict[int, R] = {}
    whole = stored + len(tasks)

    def tell(done: float, text: str = "") -> None:
        if progress is not None:
            count = f"{stored + len(results)} of {whole} {noun}s" + (f", {stored} from the store" if stored else "")
            progress((stored + done) / whole, f"{count}, {text}" if text else count)

    if executor is None:
        for place, task in enumerate(tasks):
            inside = None if progress is None else lambda share, text, place=place: tell(place + share, text)
            results[place] = work(task) if inside is None else work(task, inside)
            if each is not None:
                each(task, results[place])
            tell(len(results))
        return list(results.values())
    places: dict[Future[R], int] = {executor.submit(work, task): place for place, task in enumerate(tasks)}
    try:
        for future in as_completed(list(places)):
            place = places.pop(future)  # a result may be large, and a future keeps it
            results[place] = future.result()
            if each is not None:
                each(tasks[place], results[place])
            tell(len(results))
    finally:
        for future in places:
            future.cancel()
    return [results[place] for place in range(len(tasks))]
