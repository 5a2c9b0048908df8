"""Where runs are computed: processes of this machine, or a Dask cluster when an address is configured."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TypeVar

from dlsched.domain.errors import InputError
from dlsched.optimise.quiet import divert_output

WORKERS_VARIABLE = "DLSCHED_WORKERS"
DASK_VARIABLE = "DLSCHED_DASK"
_MOST_WORKERS = 1024
_WATCH_EVERY_S = 0.5
T = TypeVar("T")
A = TypeVar("A")


@dataclass(frozen=True)
class Pool:
    """An executor, how many runs it computes at once, and whether its workers see other files than this process."""

    executor: Executor
    width: int
    remote: bool


def executor(address: str | None = None, workers: int | None = None) -> Executor:
    """Return the executor of :func:`open_pool`."""
    return open_pool(address, workers).executor


def open_pool(address: str | None = None, workers: int | None = None) -> Pool:
    """Return where to compute.

    Parameters
    ----------
    address
        Address of a Dask scheduler ("tcp://host:8786"); None takes the variable DLSCHED_DASK, else this machine.
    workers
        Processes on this machine; None takes the variable DLSCHED_WORKERS, else one a core.

    Raises
    ------
    InputError
        If Dask is not installed, its scheduler does not answer, or the number of workers is none.
    """
    address = address or os.environ.get(DASK_VARIABLE)
    if address:
        return _dask(address)
    width = num_workers() if workers is None else workers
    # Spawned, not forked: the app's process has threads and an open database. The initialiser ends orphans.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(width, mp_context=context, initializer=follow_parent, initargs=(os.getpid(),))
    return Pool(pool, width, remote=False)


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


def num_workers() -> int:
    """Return how many processes to use on this machine; InputError when DLSCHED_WORKERS is no such number."""
    given = os.environ.get(WORKERS_VARIABLE)
    if not given:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not (given.isascii() and given.isdigit() and 1 <= int(given) <= _MOST_WORKERS):
        raise InputError(
            f"variable {WORKERS_VARIABLE}", f"must be a number from 1 to {_MOST_WORKERS}, got {given!r}", "Correct it"
        )
    return int(given)


def follow_parent(parent_pid: int) -> None:
    """Let this worker give way to the app on a busy machine, and end it when the app is gone.

    A killed server cannot stop its workers; each watches whether it got another parent. What solvers print of
    themselves in a worker would appear between the server's own messages: it is discarded.
    """
    divert_output()
    if hasattr(os, "nice"):
        os.nice(5)

    def watch() -> None:
        while os.getppid() == parent_pid:
            time.sleep(_WATCH_EVERY_S)
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="watch-parent").start()


def _dask(address: str) -> Pool:
    try:
        from distributed import Client
    except ImportError:
        raise InputError(
            f"Dask scheduler {address}", "dask is not installed", "Install it with: pip install distributed"
        ) from None
    try:
        client = Client(address, timeout="10s")
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError(f"Dask scheduler {address}", f"does not answer ({error})", "Check the address") from error
    return Pool(client.get_executor(), max(1, sum(client.ncores().values())), remote=True)
