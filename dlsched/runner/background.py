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
        self._entries: dict[str, QueueItem] = {}
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
        entries: list[QueueItem] = []
        for task in tasks:
            entries.append(self._admit(task, entries))
        fresh = {e.id: e for e in entries if e.state is TaskState.QUEUED and e.id not in self._entries}
        runs = [entry.label for entry in fresh.values() if isinstance(entry, RunItem)]
        if self._store is not None and runs:
            self._store.mark_running(runs)
        with self._lock:
            for entry in entries:
                self._entries.setdefault(entry.id, entry)
            self._waiting.extend(fresh.values())
            self._fill()
        return [entry.id for entry in entries]

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
            questions = [entry for entry in self._entries.values() if isinstance(entry, StudyItem)]
            return self._statuses([entry for entry in questions if kind in (None, entry.task.kind)])

    def cancel(self, ids: Sequence[str] | None = None) -> None:
        """Stop tasks, all runs without ``ids``; finished ones stay. Of a question that is stopped nothing is kept."""
        with self._lock:
            chosen = [entry for entry in self._named(ids) if entry.state in {TaskState.QUEUED, TaskState.RUNNING}]
            for entry in chosen:
                if entry.state is TaskState.QUEUED:
                    self._waiting.remove(entry)
                else:
                    self._stop(entry)
                entry.state, entry.message = TaskState.CANCELLED, "Cancelled"
        self._tell_store(chosen)

    def _named(self, ids: Sequence[str] | None) -> Sequence[QueueItem]:
        """Return the entries of these ids that are still on the list; without ids all runs."""
        return self._runs() if ids is None else [self._entries[i] for i in ids if i in self._entries]

    def _runs(self) -> list[RunItem]:
        return [entry for entry in self._entries.values() if isinstance(entry, RunItem)]

    def _stop(self, entry: QueueItem) -> None:
        """Have a worker stop: one elsewhere does not see our files, one here learns nothing from its future."""
        if self._opened is not None and self._opened[0].remote and entry.future is not None:
            entry.future.cancel()
        else:
            cancel_file(self._folder, entry.id).touch()

    def record(self, task_id: str) -> RunRecord | None:
        """Return the record of a run when there is no store; None otherwise."""
        return next((run.kept for run in self._runs() if run.id == task_id), None)

    def answer(self, task_id: str) -> ExperimentRecord | None:
        """Return question and answer, or what of them the store does not hold; None when it holds all."""
        entry = self._entries.get(task_id)
        return entry.kept if isinstance(entry, StudyItem) else None

    def task(self, task_id: str) -> RunTask:
        """Return which run was asked for; KeyError when it is no longer on the list."""
        entry = self._entries[task_id]
        if not isinstance(entry, RunItem):
            raise KeyError(task_id)
        return entry.task

    def forget(self, ids: Sequence[str] | None = None) -> None:
        """Take finished tasks off the list; without ``ids`` all finished runs, as nobody is shown others unasked."""
        with self._lock:
            over = {entry.id for entry in self._named(ids) if entry.is_over}
            self._entries = {i: entry for i, entry in self._entries.items() if i not in over}

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until nothing is queued or running; return whether that came true in time."""
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            with self._lock:
                if all(entry.is_over for entry in self._entries.values()) and not self._in_flight:
                    return True
            if until is not None and time.monotonic() > until:
                return False
            time.sleep(0.02)

    def close(self) -> None:
        """Cancel everything, end the workers and remove the temporary files."""
        self.cancel([*self._entries])
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
        """Return the entry of a task, which may be one that is under way or came before it in the same batch."""
        entry = item_of(task)
        try:
            entry.admit(self._store)
        except DlschedError as error:
            entry.state, entry.message = TaskState.FAILED, str(error)
            return entry
        if entry.kept_id is not None:
            entry.state, entry.message = TaskState.STORED, "Answered from the store"
            return entry
        with self._lock:
            others = [*self._entries.values(), *batch]
            return next((e for e in others if e.key == entry.key and not e.is_over), entry)

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

    def _start(self, entry: QueueItem, pool: WorkerPool, channel: Channel) -> None:
        entry.state, entry.started_s = TaskState.RUNNING, time.monotonic()
        self._in_flight[entry.id] = entry
        entry.future = entry.send(pool, channel, self._folder)
        entry.future.add_done_callback(lambda done: self._events.put((entry.id, pool, done)))

    def _listen(self) -> None:
        """Take results as they come and put them into the store; the one thread that does."""
        while (event := self._events.get()) is not None:
            task_id, pool, future = event
            with self._lock:
                entry = self._in_flight.pop(task_id)
                entry.future = None  # an answer may be large, and a future keeps it
                outcome = self._outcome(entry, pool, future)
                self._fill()
                self._tidy()
            if outcome is not None:
                self._keep(entry, outcome)
            for path in self._folder.glob(f"{task_id}.*"):
                path.unlink(missing_ok=True)

    def _outcome(self, entry: QueueItem, pool: WorkerPool, future: Future[Any]) -> Any:
        """Return what a worker made, None when it made nothing; say so in the entry."""
        try:
            outcome = future.result()
        except (Cancelled, CancelledError):
            self._end(entry, TaskState.CANCELLED, "Cancelled")
        except PoolLost as error:
            self._end(entry, TaskState.FAILED, str(error))
            if self._opened is not None and self._opened[0] is pool:
                self._opened = None
                pool.executor.shutdown(wait=False)
        except DlschedError as error:
            self._end(entry, TaskState.FAILED, str(error))
        except Exception as error:
            log.exception("Task %s failed", entry.name, exc_info=error)
            self._end(entry, TaskState.FAILED, f"Unexpected {type(error).__name__}: {error}. Details are in the log")
        else:
            if entry.state is TaskState.RUNNING:
                entry.state = TaskState.DONE
                return outcome
        return None

    def _keep(self, entry: QueueItem, outcome: Any) -> None:
        """Write a result into the store (seconds for a large one, so without the lock)."""
        try:
            record = entry.result(outcome)
            if self._store is None:
                entry.kept = record
                return
            entry.kept_id = entry.save(self._store, record)
        except Exception as error:
            log.exception("Result of %s was not kept", entry.name, exc_info=error)
            with self._lock:
                self._end(entry, TaskState.FAILED, f"Computed, but not kept: {error}")
            return
        entry.state = TaskState.STORED

    def _end(self, entry: QueueItem, state: TaskState, message: str) -> None:
        if entry.state.is_over:
            return
        entry.state, entry.message = state, message
        self._tell_store([entry])

    def _tell_store(self, ended: Sequence[QueueItem]) -> None:
        """Take runs off the store's list of those under way, all in one transaction."""
        runs = [entry for entry in ended if isinstance(entry, RunItem)]
        if self._store is None or not runs:
            return
        try:
            self._store.clear_running([entry.key for entry in runs])
        except DlschedError:
            log.warning("The store could not be told that %s ended", ", ".join(entry.name for entry in runs))

    def _tidy(self) -> None:
        """Remove the scenario files when nothing is left to do."""
        if not self._in_flight and not self._waiting:
            for path in self._folder.glob("*.scenario"):
                path.unlink(missing_ok=True)

    # ---- telling -------------------------------------------------------------------------------------

    def _statuses(self, entries: Sequence[QueueItem]) -> list[TaskStatus]:
        places = {entry.id: place for place, entry in enumerate(self._waiting)}
        return [self._status(entry, places) for entry in entries]

    def _status(self, entry: QueueItem, places: Mapping[str, int]) -> TaskStatus:
        share, text, eta_s = 0.0, entry.message, None
        if entry.state is TaskState.QUEUED:
            ahead = places.get(entry.id, 0)
            text, eta_s = f"Waiting, {ahead} before it" if ahead else "Waiting", entry.guess_s
        elif entry.state is TaskState.RUNNING:
            share, text = read_progress(self._folder, entry.id)
            text, eta_s = text or "Starting a worker", self._seconds_left(entry, share)
        elif entry.state in {TaskState.DONE, TaskState.STORED}:
            share = 1.0
        kept = (entry.kept_id, None) if isinstance(entry, RunItem) else (None, entry.kept_id)
        return TaskStatus(entry.id, entry.name, entry.state, share, text, eta_s, entry.message, *kept)

    def _seconds_left(self, entry: QueueItem, share: float) -> float | None:
        gone_s = time.monotonic() - entry.started_s
        if share >= _SHARE_FOR_ETA:
            return gone_s * (1 - share) / share
        return max(1.0, entry.guess_s - gone_s)
