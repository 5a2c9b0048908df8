"""Where runs are computed: processes of this machine, or a Dask cluster when an address is configured."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from dlsched.domain.errors import InputError
from dlsched.optimise.quiet import divert_output
from dlsched.plugins import with_plugins
from dlsched.runner.dask_access import DaskAccess
from dlsched.runner.progress import Channel, FileChannel
from dlsched.runner.retrying import RetryingExecutor, WorkerDied

WORKERS_VARIABLE = "DLSCHED_WORKERS"
_MOST_WORKERS = 1024
_WATCH_EVERY_S = 0.5


class WorkerPool:
    """An executor, how many runs it computes at once, and whether its workers see other files than this process."""

    def __init__(self, executor: Executor, width: int, *, remote: bool) -> None:
        self.executor, self.remote = executor, remote
        self._width = width

    @property
    def width(self) -> int:
        """How many runs to send at once."""
        return self._width

    @property
    def waiting(self) -> str:
        """How far the waiting for workers is, as in "0 so far, 3 min 20 s of 30 min"; "" while there are some."""
        return ""

    def on_change(self, call: Callable[[], object]) -> None:
        """Have this called, in a thread of the pool, when its width changes, and every second while it waits."""

    def warm_up(self, work: Callable[[], object]) -> None:
        """Have every worker do this about once; no caller waits for it."""
        for _ in range(self.width):
            self.executor.submit(work)

    def channel(self, folder: Path) -> Channel:
        """Return the way by which its workers tell progress; what they tell is noted in the folder."""
        return FileChannel(folder)


class Processes:
    """Processes of this machine; see :class:`dlsched.runner.retrying.Place`."""

    def __init__(self, width: int) -> None:
        self._width = width
        self.in_flight = width + 1  # the next task is there when one is done
        self.deaths_spread = True
        self.renew()

    def start(self, work: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Future[Any]:
        """Have it computed."""
        call, own, named = with_plugins(work, args, kwargs)
        return self.pool.submit(call, *own, **named)

    def read(self, future: Future[Any]) -> Any:
        """Return the answer, or raise what the task raised; one death breaks all that is in flight."""
        try:
            return future.result()
        except BrokenProcessPool as error:
            raise WorkerDied("The worker process died, probably because it ran out of memory.") from error

    def renew(self) -> None:
        """Start new processes; the pool of a dead one has ended the others."""
        # Spawned, not forked: the app's process has threads and an open database. The initialiser ends orphans.
        context = multiprocessing.get_context("spawn")
        self.pool = ProcessPoolExecutor(
            self._width, mp_context=context, initializer=follow_parent, initargs=(os.getpid(),)
        )

    def look(self) -> None:
        """A pool notices by itself what happens to its processes."""

    def close(self) -> None:
        """End the processes."""
        self.pool.shutdown()


def open_pool(dask: DaskAccess | None = None, workers: int | None = None) -> WorkerPool:
    """Return where to compute.

    Parameters
    ----------
    dask
        A Dask cluster; None takes what the variables ``DLSCHED_DASK...`` name where ``workers`` is None too, else this
        machine. Within a task on a Dask worker it is that cluster.
    workers
        Processes on this machine; None takes the variable DLSCHED_WORKERS, else one a core.

    Raises
    ------
    InputError
        If the number of workers is none, or as :func:`dlsched.runner.dask_pool.open_dask`.

    A task whose worker dies is computed again by another one, and raises WorkerDied when that dies too.
    """
    if dask is None and workers is None:
        if sys.modules.get("distributed") is not None:
            from dlsched.runner.dask_pool import pool_around

            if (around := pool_around()) is not None:
                return around
        dask = DaskAccess.configured()
    if dask is not None:
        from dlsched.runner.dask_pool import open_dask

        return open_dask(dask)
    width = num_workers() if workers is None else workers
    return WorkerPool(RetryingExecutor(Processes(width)), width, remote=False)


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
