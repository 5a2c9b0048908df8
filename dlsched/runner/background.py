"""Runs and experiments in the background: a queue, worker processes, progress, cancelling; results go into the store.

Knows no page library. The app keeps one ``Runner`` for the whole server, so that work goes on when a tab is closed.
"""

from __future__ import annotations

import logging
import queue
import shutil
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dlsched.domain.errors import DlschedError
from dlsched.runner import worker
from dlsched.runner.executor import WorkerPool, open_pool
from dlsched.runner.progress import Channel, cancel_file, read_progress
from dlsched.runner.queue import QueueItem, RunItem, RunTask, StudyItem, StudyTask, TaskState, item_of
from dlsched.runner.retrying import PoolLost
from dlsched.sim.simulate import Cancelled
from dlsched.store.record import ExperimentRecord, RunRecord

if TYPE_CHECKING:
    from dlsched.store import Store

__all__ = ["RunTask", "Runner", "StudyTask", "TaskState", "TaskStatus"]

log = logging.getLogger(__name__)
_SHARE_FOR_ETA = 0.03


@dataclass(frozen=True, slots=True)
class TaskStatus:
    """What a page shows of a task: ``share`` done from 0 to 1, ``eta_s`` seconds of computing left (rough).

    ``run_id`` of a run, ``experiment_id`` of a question: where its result is in the store.
    """

    id: str
    name: str
    state: TaskState
    share: float
    text: str
    eta_s: float | None
    message: str
    run_id: str | None
    experiment_id: str | None = None


class Runner:
    """A queue of runs and questions over a pool of workers.

    Parameters
    ----------
    store
        Where results go and known questions are answered from; None keeps records in memory for :meth:`record`.
    make_pool
        Opens the pool at the first run, and again after it was lost.
    """

    def __init__(self, store: Store | None = None, make_pool: Callable[[], WorkerPool] = open_pool) -> None:
        self._store, self._make_pool = store, make_pool
        self._opened: tuple[WorkerPool, Channel] | None = None
        self._folder = Path(tempfile.mkdtemp(prefix="dlsched-"))
        self._lock = threading.RLock()
        self._items: dict[str, QueueItem] = {}
        self._waiting: deque[QueueItem] = deque()
        self._in_flight: dict[str, QueueItem] = {}
        self._events: queue.SimpleQueue[tuple[str, WorkerPool, Future[Any]] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False

    # ---- what pages call -----------------------------------------------------------------------------

    def prepare(self) -> None:
        """Start the workers and let them load their fast code, so that the first run does not wait for it."""
        with self._lock:
            if self._opened is None and not self._closed:
                with suppress(DlschedError):  # the first task will tell
                    self._open()[0].warm_up(worker.get_ready)

    def submit(self, tasks: Iterable[RunTask | StudyTask]) -> list[str]:
        """Queue runs and questions and return their ids, in order.

        One that was computed before is answered at once; one that is under way gets the id it has; one that cannot
        be computed is listed as failed with the reason, and the others go on.
        """
        items: list[QueueItem] = []
        for task in tasks:
            items.append(self._admit(task, items))
        fresh = {e.id: e for e in items if e.state is TaskState.QUEUED and e.id not in self._items}
        runs = [item.label for item in fresh.values() if isinstance(item, RunItem)]
        if self._store is not None and runs:
            self._store.mark_running(runs)
        with self._lock:
            for item in items:
                self._items.setdefault(item.id, item)
            self._waiting.extend(fresh.values())
            self._fill()
        return [item.id for item in items]

    def ask(self, question: StudyTask) -> str:
        """Queue a question and return its id."""
        return self.submit([question])[0]

    def status(self, ids: Sequence[str] | None = None) -> list[TaskStatus]:
        """Return how tasks are doing, oldest first; all runs without ``ids``."""
        with self._lock:
            return self._statuses(self._named(ids))

    def questions(self, kind: str | None = None) -> list[TaskStatus]:
        """Return how questions of a kind are doing, of all kinds without one, oldest first."""
        with self._lock:
            questions = [item for item in self._items.values() if isinstance(item, StudyItem)]
            return self._statuses([item for item in questions if kind in (None, item.task.kind)])

    def cancel(self, ids: Sequence[str] | None = None) -> None:
        """Stop tasks, all runs without ``ids``; finished ones stay. Of a question that is stopped nothing is kept."""
        with self._lock:
            chosen = [item for item in self._named(ids) if item.state in {TaskState.QUEUED, TaskState.RUNNING}]
            for item in chosen:
                if item.state is TaskState.QUEUED:
                    self._waiting.remove(item)
                else:
                    self._stop(item)
                item.state, item.message = TaskState.CANCELLED, "Cancelled"
        self._tell_store(chosen)

    def _named(self, ids: Sequence[str] | None) -> Sequence[QueueItem]:
        """Return the items of these ids that are still on the list; without ids all runs."""
        return self._runs() if ids is None else [self._items[i] for i in ids if i in self._items]

    def _runs(self) -> list[RunItem]:
        return [item for item in self._items.values() if isinstance(item, RunItem)]

    def _stop(self, item: QueueItem) -> None:
        """Have a worker stop: one elsewhere does not see our files, one here learns nothing from its future."""
        if self._opened is not None and self._opened[0].remote and item.future is not None:
            item.future.cancel()
        else:
            cancel_file(self._folder, item.id).touch()

    def record(self, task_id: str) -> RunRecord | None:
        """Return the record of a run when there is no store; None otherwise."""
        return next((run.kept for run in self._runs() if run.id == task_id), None)

    def answer(self, task_id: str) -> ExperimentRecord | None:
        """Return question and answer, or what of them the store does not hold; None when it holds all."""
        item = self._items.get(task_id)
        return item.kept if isinstance(item, StudyItem) else None

    def task(self, task_id: str) -> RunTask:
        """Return which run was asked for; KeyError when it is no longer on the list."""
        item = self._items[task_id]
        if not isinstance(item, RunItem):
            raise KeyError(task_id)
        return item.task

    def forget(self, ids: Sequence[str] | None = None) -> None:
        """Take finished tasks off the list; without ``ids`` all finished runs, as no user is shown others unasked."""
        with self._lock:
            over = {item.id for item in self._named(ids) if item.is_over}
            self._items = {i: item for i, item in self._items.items() if i not in over}

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until nothing is queued or running; return whether that came true in time."""
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            with self._lock:
                if all(item.is_over for item in self._items.values()) and not self._in_flight:
                    return True
            if until is not None and time.monotonic() > until:
                return False
            time.sleep(0.02)

    def close(self) -> None:
        """Cancel everything, end the workers and remove the temporary files."""
        self.cancel([*self._items])
        with self._lock:
            self._closed = True
            opened, thread = self._opened, self._thread
        if opened is not None:
            opened[0].executor.shutdown(wait=True, cancel_futures=True)
        if thread is not None:
            self._events.put(None)
            thread.join()
        shutil.rmtree(self._folder, ignore_errors=True)

    # ---- taking in -----------------------------------------------------------------------------------

    def _admit(self, task: RunTask | StudyTask, batch: Sequence[QueueItem]) -> QueueItem:
        """Return the item of a task, which may be one that is under way or came before it in the same batch."""
        item = item_of(task)
        try:
            item.admit(self._store)
        except DlschedError as error:
            item.state, item.message = TaskState.FAILED, str(error)
            return item
        if item.kept_id is not None:
            item.state, item.message = TaskState.STORED, "Answered from the store"
            return item
        with self._lock:
            others = [*self._items.values(), *batch]
            return next((e for e in others if e.key == item.key and not e.is_over), item)

    # ---- computing -----------------------------------------------------------------------------------

    def _fill(self) -> None:
        """Start waiting tasks while there is room; the caller holds the lock."""
        if self._closed or not self._waiting:
            return
        try:
            pool, channel = self._open()
        except DlschedError as error:
            while self._waiting:
                self._end(self._waiting.popleft(), TaskState.FAILED, str(error))
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._listen, daemon=True, name="runner")
            self._thread.start()
        while self._waiting and len(self._in_flight) < pool.width:
            self._start(self._waiting.popleft(), pool, channel)

    def _open(self) -> tuple[WorkerPool, Channel]:
        """Return the pool and the way its workers tell progress; opened where there is none. The lock is held."""
        if self._opened is None:
            pool = self._make_pool()
            self._opened = pool, pool.channel(self._folder)
        return self._opened

    def _start(self, item: QueueItem, pool: WorkerPool, channel: Channel) -> None:
        item.state, item.started_s = TaskState.RUNNING, time.monotonic()
        self._in_flight[item.id] = item
        item.future = item.send(pool, channel, self._folder)
        item.future.add_done_callback(lambda done: self._events.put((item.id, pool, done)))

    def _listen(self) -> None:
        """Take results as they come and put them into the store; the one thread that does."""
        while (event := self._events.get()) is not None:
            task_id, pool, future = event
            with self._lock:
                item = self._in_flight.pop(task_id)
                item.future = None  # an answer may be large, and a future keeps it
                outcome = self._outcome(item, pool, future)
                self._fill()
                self._tidy()
            if outcome is not None:
                self._keep(item, outcome)
            for path in self._folder.glob(f"{task_id}.*"):
                path.unlink(missing_ok=True)

    def _outcome(self, item: QueueItem, pool: WorkerPool, future: Future[Any]) -> Any:
        """Return what a worker made, None when it made nothing; say so in the item."""
        try:
            outcome = future.result()
        except (Cancelled, CancelledError):
            self._end(item, TaskState.CANCELLED, "Cancelled")
        except PoolLost as error:
            self._end(item, TaskState.FAILED, str(error))
            if self._opened is not None and self._opened[0] is pool:
                self._opened = None
                pool.executor.shutdown(wait=False)
        except DlschedError as error:
            self._end(item, TaskState.FAILED, str(error))
        except Exception as error:
            log.exception("Task %s failed", item.name, exc_info=error)
            self._end(item, TaskState.FAILED, f"Unexpected {type(error).__name__}: {error}. Details are in the log")
        else:
            if item.state is TaskState.RUNNING:
                item.state = TaskState.DONE
                return outcome
        return None

    def _keep(self, item: QueueItem, outcome: Any) -> None:
        """Write a result into the store (seconds for a large one, so without the lock)."""
        try:
            record = item.result(outcome)
            if self._store is None:
                item.kept = record
                return
            item.kept_id = item.save(self._store, record)
        except Exception as error:
            log.exception("Result of %s was not kept", item.name, exc_info=error)
            with self._lock:
                self._end(item, TaskState.FAILED, f"Computed, but not saved: {error}")
            return
        item.state = TaskState.STORED

    def _end(self, item: QueueItem, state: TaskState, message: str) -> None:
        if item.state.is_over:
            return
        item.state, item.message = state, message
        self._tell_store([item])

    def _tell_store(self, ended: Sequence[QueueItem]) -> None:
        """Take runs off the store's list of those under way, all in one transaction."""
        runs = [item for item in ended if isinstance(item, RunItem)]
        if self._store is None or not runs:
            return
        try:
            self._store.clear_running([item.key for item in runs])
        except DlschedError:
            log.warning("The store could not be told that %s ended", ", ".join(item.name for item in runs))

    def _tidy(self) -> None:
        """Remove the scenario files when nothing is left to do."""
        if not self._in_flight and not self._waiting:
            for path in self._folder.glob("*.scenario"):
                path.unlink(missing_ok=True)

    # ---- telling -------------------------------------------------------------------------------------

    def _statuses(self, items: Sequence[QueueItem]) -> list[TaskStatus]:
        places = {item.id: place for place, item in enumerate(self._waiting)}
        return [self._status(item, places) for item in items]

    def _status(self, item: QueueItem, places: Mapping[str, int]) -> TaskStatus:
        share, text, eta_s = 0.0, item.message, None
        if item.state is TaskState.QUEUED:
            ahead = places.get(item.id, 0)
            text, eta_s = f"Waiting, {ahead:,} ahead of it" if ahead else "Waiting", item.guess_s
        elif item.state is TaskState.RUNNING:
            share, text = read_progress(self._folder, item.id)
            text, eta_s = text or "Starting a worker", self._seconds_left(item, share)
        elif item.state in {TaskState.DONE, TaskState.STORED}:
            share = 1.0
        kept = (item.kept_id, None) if isinstance(item, RunItem) else (None, item.kept_id)
        return TaskStatus(item.id, item.name, item.state, share, text, eta_s, item.message, *kept)

    def _seconds_left(self, item: QueueItem, share: float) -> float | None:
        gone_s = time.monotonic() - item.started_s
        if share >= _SHARE_FOR_ETA:
            return gone_s * (1 - share) / share
        return max(1.0, item.guess_s - gone_s)
