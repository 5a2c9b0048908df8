"""A Dask cluster as a place to compute: opened and checked, tasks as bytes, and one clear message when it is gone."""

from __future__ import annotations

import logging
import pickle
import time
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from dlsched.domain.errors import InputError
from dlsched.runner.dask_worker import TopicChannel, answer, check_worker, identity
from dlsched.runner.executor import WorkerPool
from dlsched.runner.progress import Channel, FileChannel
from dlsched.runner.retrying import PoolLost, RetryingExecutor, WorkerDied
from dlsched.wording.formats import amount

CONNECT_S = 10.0
GONE_S = 30.0
"""A worker that a supervisor restarts is back within seconds; without any for so long, none is coming."""
_HOW = "Start workers with: dask worker {} --nworkers -1 --nthreads 1"


@dataclass(frozen=True)
class DaskPool(WorkerPool):
    """The pool of a Dask cluster; see :class:`WorkerPool`."""

    client: Any = field(kw_only=True)

    def warm_up(self, work: Callable[[], object]) -> None:
        """Have every worker do this once; no caller waits for it."""
        import distributed

        leave: Any = distributed.fire_and_forget  # has no types
        order = pickle.dumps((work, (), {}), protocol=5)
        for worker in self.client.nthreads():
            leave(self.client.submit(answer, order, identity(), pure=False, workers=[worker]))

    def channel(self, folder: Path) -> Channel:
        """Return the way by which its workers tell progress; what they tell is noted in the folder."""
        topic, noted = f"dlsched-{uuid4().hex}", FileChannel(folder)
        self.client.subscribe_topic(topic, lambda event: noted.tell(*event[1]))
        return TopicChannel(topic)


class DaskCluster:
    """See :class:`dlsched.runner.retrying.Place`. Dask itself gives tasks of a dead worker to another one."""

    def __init__(self, client: Any, address: str, width: int) -> None:
        self._client, self._address = client, address
        self._executor = client.get_executor(pure=False)
        self._pending: set[Future[Any]] = set()
        self._alone_since_s: float | None = None
        self._lost = ("has ended, or the connection to it was lost", "Start it and run again")
        self._is_lost = False
        self.in_flight = 2 * width  # the next task is there when one is done; all others wait here

    def start(self, work: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Future[Any]:
        """Send a task as bytes: Dask neither looks into it nor changes what it raises."""
        if self._is_lost or self._client.status != "running":
            raise self._gone()
        order = pickle.dumps((work, args, dict(kwargs)), protocol=5)
        future: Future[Any] = self._executor.submit(answer, order, identity())
        self._pending.add(future)
        return future

    def read(self, future: Future[Any]) -> Any:
        """Return the answer, or raise what the task raised."""
        from distributed import KilledWorker

        self._pending.discard(future)
        try:
            is_answer, content = pickle.loads(future.result())
        except KilledWorker as error:
            died = amount(error.allowed_failures + 1, "Dask worker")
            why = f"{died} died while computing this, as many as at the first attempt, probably for lack of memory"
            raise WorkerDied(f"{why}. Their logs say more.") from error
        except CancelledError as error:
            raise self._gone() from error
        if not is_answer:
            raise content
        return content

    def renew(self) -> None:
        """Dask starts workers anew by itself."""

    def look(self) -> None:
        """Give up when there is no worker left for long: Dask would wait for ever."""
        try:
            is_alone = not self._client.nthreads()
        except Exception as error:  # whatever it is, the scheduler did not answer
            self._give_up(f"no longer answers ({type(error).__name__})", self._lost[1])
            return
        now_s = time.monotonic()
        if not is_alone:
            self._alone_since_s = None
        elif self._alone_since_s is None:
            self._alone_since_s = now_s
        elif now_s - self._alone_since_s > GONE_S:
            self._give_up(f"has had no worker for {GONE_S:g} s", _HOW.format(self._address))

    def close(self) -> None:
        """Leave the cluster; it goes on for others."""
        self._executor.shutdown(wait=False)
        self._client.close()

    def _give_up(self, why: str, do: str) -> None:
        self._lost, self._is_lost = (why, do), True
        for future in list(self._pending):
            future.cancel()

    def _gone(self) -> PoolLost:
        why, do = self._lost
        return PoolLost(f"Dask scheduler {self._address}: {why}. {do}.")


def open_dask(address: str) -> DaskPool:
    """Return the pool of a Dask cluster whose workers compute what this process would.

    Raises
    ------
    InputError
        If Dask is not installed, the scheduler does not answer or has no workers, or one of them has several threads,
        other code than this process, or none.
    """
    thing = f"Dask scheduler {address}"
    try:
        import dask
        import distributed
        from distributed.comm.addressing import resolve_address
    except ImportError:
        why, do = "dask is not installed", "Install it with: pip install distributed"
        raise InputError(thing, why, do) from None
    # A task of ours is one block of bytes, however large: Dask's advice to split it does not apply.
    dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"})
    for name in ("distributed", "distributed.client"):  # what it logs of a lost connection, our message says
        logging.getLogger(name).setLevel(logging.CRITICAL)
    connect: Any = distributed.Client  # has no types
    try:
        resolve_address(address)  # a client of a bad address would not close
        client = connect(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:  # a timeout is an OSError
        raise InputError(thing, f"does not answer ({error})", "Check the address, as in tcp://host:8786") from error
    try:
        width = _checked(client, address)
    except BaseException:
        client.close()
        raise
    return DaskPool(RetryingExecutor(DaskCluster(client, address, width)), width, remote=True, client=client)


def _checked(client: Any, address: str) -> int:
    """Return the number of workers; InputError when one of them is not as it should be."""
    try:
        client.wait_for_workers(1, timeout=CONNECT_S)
    except TimeoutError:
        raise InputError(f"Dask scheduler {address}", "has no workers", _HOW.format(address)) from None
    threads, ours = client.nthreads(), identity()
    for worker, theirs in client.run(identity, on_error="return").items():
        if isinstance(theirs, Exception):
            why, do = f"cannot load dlsched ({theirs})", "Install dlsched there and restart the worker"
            raise InputError(f"Dask worker {worker}", why, do)
        check_worker(worker, threads.get(worker, 1), theirs, ours)
    return len(threads)
