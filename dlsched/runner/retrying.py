"""An executor that outlives its workers: what a dead one was computing is computed again, alone the second time."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from dlsched.domain.errors import DlschedError

_TRIES = 2
_LOOK_EVERY_S = 1.0


class WorkerDied(DlschedError):
    """The worker of a task ended before its answer came, also at the second try."""


class PoolLost(DlschedError):
    """Nothing can be computed any more where a task was sent; another pool has to be opened."""


class Place(Protocol):
    """Where :class:`RetryingExecutor` has tasks computed.

    ``in_flight``: how many it takes at once; may change while it works. ``deaths_spread``: whether the death of one
    worker ends what the others compute.
    """

    @property
    def in_flight(self) -> int: ...

    @property
    def deaths_spread(self) -> bool: ...

    def start(self, work: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Future[Any]:
        """Have it computed."""
        ...

    def read(self, future: Future[Any]) -> Any:
        """Return the answer behind a future that is done, or raise what the task raised, WorkerDied or PoolLost."""
        ...

    def renew(self) -> None:
        """Replace dead workers; called after WorkerDied, when nothing is in flight."""
        ...

    def look(self) -> None:
        """Called every second in which there is work."""
        ...

    def close(self) -> None:
        """End the workers, or leave them."""
        ...


@dataclass(eq=False)
class _Job:
    """A task: ``outer`` is what the caller waits for, ``inner`` what the place gave for the try under way."""

    work: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    outer: Future[Any] = field(default_factory=Future)
    inner: Future[Any] | None = None
    tries: int = 0

    def stop_if_cancelled(self, _: object = None) -> None:
        inner = self.inner
        if inner is not None and self.outer.cancelled():
            inner.cancel()


class RetryingExecutor(Executor):
    """Tasks in the order given, a few at a time, so that most of them wait here and can be cancelled.

    A future can be cancelled until its answer is there. Where the place cannot stop what it computes, that goes on and
    its answer is dropped. When a worker dies, each task that it may have been computing is tried once more; then it
    raises WorkerDied. Where deaths spread, that is done with nothing beside it, so that the guilty one takes no other
    with it.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False
        # Everything below belongs to the thread. Others only put calls into its queue: futures run their callbacks
        # under locks of their executor, and a callback that needs such a lock again would wait for ever.
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._waiting: deque[_Job] = deque()
        self._in_flight: set[_Job] = set()
        self._worker_died = self._stopping = False

    def submit(self, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Queue a task and return its future; RuntimeError after :meth:`shutdown`."""
        job = _Job(work, args, kwargs)
        job.outer.add_done_callback(job.stop_if_cancelled)
        with self._lock:
            if self._closed:
                raise RuntimeError("this executor was shut down")
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, daemon=True, name="executor")
                self._thread.start()
            self._calls.put(partial(self._waiting.append, job))
        return job.outer

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more tasks; end when those there are done, or at once those that wait where they are cancelled."""
        with self._lock:
            first, self._closed = not self._closed, True
            thread = self._thread
        if thread is None:
            if first:
                self.place.close()
            return
        if cancel_futures:
            self._calls.put(self._cancel_waiting)
        self._calls.put(self._stop)
        if wait:
            thread.join()

    # ---- in the thread -------------------------------------------------------------------------------

    def _serve(self) -> None:
        look_at_s = time.monotonic()
        while not (self._stopping and not self._waiting and not self._in_flight):
            left_s = look_at_s - time.monotonic()
            if self._in_flight and left_s <= 0:  # also while results come all the time
                self.place.look()
                look_at_s = time.monotonic() + _LOOK_EVERY_S
            else:
                with suppress(queue.Empty):
                    self._calls.get(timeout=left_s if self._in_flight else None)()
            self._fill()
        self.place.close()

    def _stop(self) -> None:
        self._stopping = True

    def _cancel_waiting(self) -> None:
        for job in self._waiting:
            job.outer.cancel()

    def _fill(self) -> None:
        while self._waiting and len(self._in_flight) < self.place.in_flight:
            suspects = any(job.tries for job in (self._waiting[0], *self._in_flight))
            if self.place.deaths_spread and (suspects or self._worker_died) and self._in_flight:
                return
            self._start(self._waiting.popleft())

    def _start(self, job: _Job) -> None:
        if job.outer.cancelled():
            job.outer.set_running_or_notify_cancel()
            return
        if self._worker_died:
            self.place.renew()
            self._worker_died = False
        self._in_flight.add(job)
        try:
            job.inner = self.place.start(job.work, job.args, job.kwargs)
        except Exception as error:
            job.inner = Future()
            job.inner.set_exception(error)
        job.stop_if_cancelled()  # the caller may have cancelled it meanwhile
        job.inner.add_done_callback(lambda inner: self._calls.put(partial(self._take, job, inner)))

    def _take(self, job: _Job, inner: Future[Any]) -> None:
        self._in_flight.discard(job)
        job.inner = None
        answer: Any = None
        error: BaseException | None = None
        try:
            answer = self.place.read(inner)
        except WorkerDied as died:
            error, self._worker_died = died, True
            job.tries += 1
            if job.tries < _TRIES:
                self._waiting.appendleft(job)
                return
        except BaseException as raised:
            error = raised
        if not job.outer.set_running_or_notify_cancel():
            return
        if error is not None:
            job.outer.set_exception(error)
        else:
            job.outer.set_result(answer)
