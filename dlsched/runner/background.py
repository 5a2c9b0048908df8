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
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet, finalize

from dlsched.domain.actor import NO_LOGIN, Actor
from dlsched.domain.errors import DlschedError, NotAllowed
from dlsched.runner import reading, worker
from dlsched.runner.executor import WorkerPool, open_pool
from dlsched.runner.progress import Channel, cancel_file, read_progress
from dlsched.runner.queue import QueueItem, RunItem, RunTask, StudyItem, StudyTask, TaskState, in_turn, item_of
from dlsched.runner.retrying import PoolLost
from dlsched.sim.simulate import Cancelled
from dlsched.store.record import ExperimentRecord, RunRecord

if TYPE_CHECKING:
    from dlsched.store import Store

__all__ = ["RunTask", "Runner", "StudyTask", "TaskState", "TaskStatus"]

log = logging.getLogger(__name__)
_SHARE_FOR_ETA = 0.03
TOGETHER_S, TOGETHER_BYTES = 1.0, 64 * 2**20
"""Results of a busy queue are stored together, in a third of the time: those that come within so long of the first, if
they are not larger than this. The last ones of a user do not wait."""
REMEMBERED_S = 3600.0
"""How long a task that is over stays on the list when its owner does not take it off."""


@dataclass(frozen=True, slots=True)
class TaskStatus:
    """What a page shows of a task: ``share`` done from 0 to 1, ``eta_s`` seconds of computing left (rough).

    ``run_id`` of a run, ``experiment_id`` of a question: where its result is in the store. ``mine``: whether the user
    who looks asked for it, and may stop it; ``asked_by``: the name of the first who did, "" where there is no login.
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
    mine: bool = True
    asked_by: str = ""


_RUNNERS: WeakSet[Runner] = WeakSet()


def stop_all() -> None:
    """Stop the runners of this process; see :meth:`Runner.stop`."""
    for runner in _RUNNERS:
        runner.stop()


def _bytes_of(made: Sequence[tuple[QueueItem, Any]]) -> int:
    """Return the size of results in files; those in memory are there already."""
    return sum(outcome.stat().st_size for _, outcome in made if isinstance(outcome, Path))


class Runner:
    """A queue of runs and questions over a pool of workers.

    Owners of tasks take turns (:func:`dlsched.runner.queue.in_turn`), and what one asked for another neither stops nor
    takes off the list.

    Parameters
    ----------
    store
        Where results go and known questions are answered from; None keeps records in memory for :meth:`record`.
    make_pool
        Opens the pool at the first run, and again after it was lost.
    who
        Returns the user who calls now: results are kept under the name, tasks belong to the ``owner``; a reader starts
        and stops nothing.
    """

    def __init__(
        self,
        store: Store | None = None,
        make_pool: Callable[[], WorkerPool] = open_pool,
        who: Callable[[], Actor] = lambda: NO_LOGIN,
    ) -> None:
        self._store, self._make_pool, self._who = store, make_pool, who
        self._opened: tuple[WorkerPool, Channel] | None = None
        self._folder = Path(tempfile.mkdtemp(prefix="dlsched-"))
        self._remove_folder = finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._lock = threading.RLock()
        self._items: dict[str, QueueItem] = {}
        self._waiting: dict[str, QueueItem] = {}
        self._served: dict[str, int] = {}
        self._places: dict[str, int] | None = None
        self._in_flight: dict[str, QueueItem] = {}
        self._events: queue.SimpleQueue[tuple[str, WorkerPool, Future[Any]] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = self._stopped = False
        _RUNNERS.add(self)

    # ---- what pages call -----------------------------------------------------------------------------

    def prepare(self) -> None:
        """Start the workers, which load their fast code, and what uploads are read in, before anything waits for it."""
        reading.prepare()
        with self._lock:
            if self._opened is None and not self._closed:
                with suppress(DlschedError):  # the first task will tell
                    self._open()[0].warm_up(worker.get_ready)

    def submit(self, tasks: Iterable[RunTask | StudyTask]) -> list[str]:
        """Queue runs and questions and return their ids, in order.

        One that was computed before is answered at once; one that is under way gets the id it has and one more owner;
        one that cannot be computed is listed as failed with the reason, and the others go on.

        Raises
        ------
        NotAllowed
            If the user is a reader.
        """
        actor = self._planner()
        asked = [(task, item_of(task)) for task in tasks]
        self._recognise([item for _, item in asked])
        with self._lock:
            under_way = {item.key: item for item in reversed(self._items.values()) if not item.is_over}
        items: list[QueueItem] = []
        everything: list[QueueItem] = []
        for task, new in asked:
            items.append(item := self._admit(new, under_way))
            everything += [*self._admit_ahead(item, task, under_way), item]
        fresh = {e.id: e for e in everything if e.state is TaskState.QUEUED and e.id not in self._items}
        for item in fresh.values():
            item.actor = actor
        runs = [item.label for item in fresh.values() if isinstance(item, RunItem)]
        if self._store is not None and runs:
            self._store.acting(actor).mark_running(runs)
        with self._lock:
            self._forget_old()
            for item in everything:
                self._items.setdefault(item.id, item).owners.add(actor.owner)
            self._waiting.update(fresh)
            self._places = None
            self._fill()
        return [item.id for item in items]

    def ask(self, question: StudyTask) -> str:
        """Queue a question and return its id."""
        return self.submit([question])[0]

    def status(self, ids: Sequence[str] | None = None, *, mine: bool = False) -> list[TaskStatus]:
        """Return how tasks are doing, oldest first; all runs without ``ids``. ``mine``: only those of the user."""
        with self._lock:
            items = self._named(ids)
            owner = self._who().owner if mine else ""
            return self._statuses([item for item in items if owner in item.owners] if mine else items)

    def questions(self, kind: str | None = None) -> list[TaskStatus]:
        """Return how questions of a kind are doing, of all kinds without one, oldest first."""
        with self._lock:
            questions = [item for item in self._items.values() if isinstance(item, StudyItem)]
            return self._statuses([item for item in questions if kind in (None, item.task.kind)])

    def cancel(self, ids: Sequence[str] | None = None) -> None:
        """Stop the user's own tasks, without ``ids`` all of the user's runs; finished ones stay.

        Of a question that is stopped nothing is kept. A task that another user asked for as well goes on for that user.

        Raises
        ------
        NotAllowed
            If the user is a reader.
        """
        owner = self._planner().owner
        with self._lock:
            named = self._named(ids)
            every = [*named, *self._batches_of(named)]
            own = [item for item in every if owner in item.owners and not item.state.is_over]
            shared = [item for item in own if len(item.owners) > 1]
            for item in shared:
                item.owners.discard(owner)
            self._places = None
        self._cancel([item for item in own if item not in shared])

    def _planner(self) -> Actor:
        """Return the user who calls; NotAllowed for a reader."""
        actor = self._who()
        if not actor.may_write:
            raise NotAllowed(f"{actor.name or 'This user'} may read here, but not start or stop computations.")
        return actor

    def _cancel(self, items: Sequence[QueueItem]) -> None:
        with self._lock:
            chosen = [item for item in items if item.state in {TaskState.QUEUED, TaskState.RUNNING}]
            for item in chosen:
                if item.state is TaskState.QUEUED:
                    del self._waiting[item.id]
                else:
                    self._stop(item)
                item.state, item.message = TaskState.CANCELLED, "Cancelled"
            self._places = None
        self._tell_store(chosen)

    def _named(self, ids: Sequence[str] | None) -> Sequence[QueueItem]:
        """Return the items of these ids that are still on the list; without ids all runs."""
        return self._runs() if ids is None else [self._items[i] for i in ids if i in self._items]

    def _runs(self) -> list[RunItem]:
        return [item for item in self._items.values() if type(item) is RunItem]  # isinstance of an ABC takes long

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
        """Take the user's own finished tasks off the list; without ``ids`` all finished runs of the user."""
        owner = self._planner().owner
        with self._lock:
            over = [item for item in self._named(ids) if item.is_over and owner in item.owners]
            parts = [part for part in self._batches_of(over) if part.is_over and owner in part.owners]
            for item in (*over, *parts):
                item.owners.discard(owner)
                if not item.owners:
                    del self._items[item.id]

    def _forget_old(self) -> None:
        """Take off the list what was over long ago: its owners may have closed their tabs. The lock is held."""
        now_s = time.monotonic()
        for item in [item for item in self._items.values() if item.is_over]:
            if item.ended_s is None:
                item.ended_s = now_s
            elif now_s - item.ended_s > REMEMBERED_S:
                del self._items[item.id]

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
        with self._lock:
            left = [*self._items.values()]
        self._cancel(left)
        with self._lock:
            self._closed = True
            opened, thread = self._opened, self._thread
        if opened is not None:
            opened[0].executor.shutdown(wait=True, cancel_futures=True)
        if thread is not None:
            self._events.put(None)
            thread.join()
        self._remove_folder()

    def stop(self) -> None:
        """Start nothing more and take in nothing: the process is about to end, and its workers are ended next.

        What is under way stays on the store's list, as interrupted.
        """
        self._closed = self._stopped = True

    # ---- taking in -----------------------------------------------------------------------------------

    def _recognise(self, items: Sequence[QueueItem]) -> None:
        """Find out what items ask for, and what of it the store has: of runs with one question for all of them."""
        for item in items:
            try:
                item.admit(self._store)
            except DlschedError as error:
                item.state, item.message = TaskState.FAILED, str(error)
        runs = [item for item in items if isinstance(item, RunItem) and item.state is TaskState.QUEUED]
        if self._store is not None and runs:
            known = self._store.find_runs([run.key for run in runs])
            for run in runs:
                run.kept_id = known.get(run.key)
        for item in items:
            if item.kept_id is not None:
                item.state, item.message = TaskState.STORED, "Answered from the store"

    def _admit(self, item: QueueItem, under_way: dict[str, QueueItem]) -> QueueItem:
        """Return the item, or the one with the same key that is under way; ``under_way`` takes it in."""
        return item if item.state.is_over else under_way.setdefault(item.key, item)

    def _admit_ahead(
        self, item: QueueItem, task: RunTask | StudyTask, under_way: dict[str, QueueItem]
    ) -> list[QueueItem]:
        """Return the batches of runs that come before a question, which may be under way with it."""
        if not isinstance(task, StudyTask) or item.state is not TaskState.QUEUED or self._store is None:
            return []
        with self._lock:
            if item.id in self._items:
                return self._batches_of([item])
        new = [item_of(part) for part in task.ahead]
        self._recognise(new)
        parts = [self._admit(part, under_way) for part in new]
        item.after = tuple(part.id for part in parts)
        return parts

    def _batches_of(self, items: Sequence[QueueItem]) -> list[QueueItem]:
        """Return the batches of runs that questions wait for, as far as they are on the list. The lock is held."""
        return [self._items[part] for item in items for part in item.after if part in self._items]

    def _is_held(self, item: QueueItem) -> bool:
        """Whether batches of its runs are not in the store yet. The lock is held."""
        return bool(item.after) and any(not part.state.is_over for part in self._batches_of([item]))

    def _ready(self) -> Iterator[QueueItem]:
        """Return waiting tasks that can start once there is room. The lock is held."""
        return (item for item in self._waiting.values() if not self._is_held(item))

    # ---- computing -----------------------------------------------------------------------------------

    def _fill(self) -> None:
        """Start waiting tasks while there is room; the caller holds the lock."""
        if self._closed or not self._waiting:
            return
        try:
            pool, channel = self._open()
        except DlschedError as error:
            for item in self._waiting.values():
                self._end(item, TaskState.FAILED, str(error))
            self._waiting.clear()
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._listen, daemon=True, name="runner")
            self._thread.start()
        self._places = None
        for owner, item in [*islice(self._order(), max(pool.width - len(self._in_flight), 0))]:
            del self._waiting[item.id]
            item.turn_of, self._served[owner] = owner, max(self._served.values(), default=0) + 1
            self._start(item, pool, channel)

    def _order(self) -> Iterator[tuple[str, QueueItem]]:
        """Return waiting tasks in the order in which they start, and whose turn it is."""
        held = Counter(item.turn_of for item in self._in_flight.values())
        return in_turn(self._ready(), held, self._served)

    def _refill(self) -> None:
        with self._lock:
            self._fill()

    def _open(self) -> tuple[WorkerPool, Channel]:
        """Return the pool and the way its workers tell progress; opened where there is none. The lock is held."""
        if self._opened is None:
            pool = self._make_pool()
            pool.on_change(self._refill)
            self._opened = pool, pool.channel(self._folder)
        return self._opened

    def _start(self, item: QueueItem, pool: WorkerPool, channel: Channel) -> None:
        item.state, item.started_s = TaskState.RUNNING, time.monotonic()
        self._in_flight[item.id] = item
        item.future = item.send(pool, channel, self._folder)
        item.future.add_done_callback(lambda done: self._events.put((item.id, pool, done)))

    def _listen(self) -> None:
        """Take results as they come and put them into the store, several at once; the one thread that does."""
        made: list[tuple[QueueItem, Any]] = []
        until_s, is_open = 0.0, True
        while is_open:
            event = None
            with suppress(queue.Empty):
                event = self._events.get(timeout=max(until_s - time.monotonic(), 0.0) if made else None)
                is_open = event is not None
            if self._stopped:
                return
            if event is not None:
                until_s = until_s if made else time.monotonic() + TOGETHER_S
                made += self._taken(*event)
            is_due = event is None or time.monotonic() >= until_s or _bytes_of(made) > TOGETHER_BYTES
            if made and (is_due or self._is_awaited(made)):
                self._keep(made)
                self._remove_files(made)
                made = []
                self._refill()  # a question may have waited for it

    def _is_awaited(self, made: Sequence[tuple[QueueItem, Any]]) -> bool:
        """Whether an owner of results has nothing else that is computed or could be."""
        idle = {owner for item, _ in made for owner in item.owners}
        with self._lock:
            for item in chain(self._in_flight.values(), self._ready()):
                idle -= item.owners
                if not idle:
                    return False
        return bool(idle)

    def _taken(self, task_id: str, pool: WorkerPool, future: Future[Any]) -> list[tuple[QueueItem, Any]]:
        """Start what comes next; return the task with what was made, nothing where nothing was."""
        with self._lock:
            item = self._in_flight.pop(task_id)
            self._places = None
            item.future = None  # an answer may be large, and a future keeps it
            outcome = self._outcome(item, pool, future)
            self._fill()
            self._tidy()
        if outcome is not None:
            return [(item, outcome)]
        self._remove_files([(item, None)])
        return []

    def _remove_files(self, made: Sequence[tuple[QueueItem, Any]]) -> None:
        for item, _ in made:
            for path in self._folder.glob(f"{item.id}.*"):
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

    def _keep(self, made: Sequence[tuple[QueueItem, Any]]) -> None:
        """Write results into the store (seconds for large ones, so without the lock); one that fails fails alone."""
        try:
            finished = [item.finished(outcome) for item, outcome in made]
            if self._store is not None:
                self._store.save_finished(finished)
        except Exception as error:
            if len(made) > 1:
                for alone in made:
                    self._keep([alone])
                return
            self._not_kept(made[0][0], error)
            return
        for (item, _), one in zip(made, finished, strict=True):
            if self._store is None:
                item.kept = one.run or one.experiment or item.rest
                continue
            try:
                item.note_stored(one)
                self._hand_on(item, self._store)
            except Exception as error:
                self._not_kept(item, error)
            else:
                item.state = TaskState.STORED

    def _not_kept(self, item: QueueItem, error: Exception) -> None:
        log.exception("Result of %s was not kept", item.name, exc_info=error)
        with self._lock:
            self._end(item, TaskState.FAILED, f"Computed, but not saved: {error}")

    def _hand_on(self, item: QueueItem, store: Store) -> None:
        """Give the numbers of a batch of runs to the questions that wait for it."""
        with self._lock:
            waiting = [one for one in self._waiting.values() if item.id in one.after]
        for question in waiting:
            if isinstance(question, StudyItem) and isinstance(item, StudyItem):
                question.take(item, store)

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
        """Remove the scenario files when nothing is left to do, and forget whose turn it was."""
        if not self._in_flight and not self._waiting:
            self._served.clear()
            for path in self._folder.glob("*.scenario"):
                path.unlink(missing_ok=True)

    # ---- telling -------------------------------------------------------------------------------------

    def _statuses(self, items: Sequence[QueueItem]) -> list[TaskStatus]:
        owner = self._who().owner if items else ""
        return [self._status(item, owner) for item in items]

    def _place(self, item: QueueItem) -> int:
        """Return how many tasks start before a waiting one; worked out anew when the queue has changed."""
        if self._places is None:
            self._places = {item.id: place for place, (_, item) in enumerate(self._order())}
        return self._places.get(item.id, 0)

    def _status(self, item: QueueItem, owner: str) -> TaskStatus:
        share, text, eta_s = 0.0, item.message, None
        if item.state is TaskState.QUEUED and self._is_held(item):
            share, text, eta_s = self._ahead_of(item)
        elif item.state is TaskState.QUEUED:
            ahead = self._place(item)
            text, eta_s = f"Waiting, {ahead:,} ahead of it" if ahead else "Waiting", item.guess_s
        elif item.state is TaskState.RUNNING:
            share, text = read_progress(self._folder, item.id)
            text, eta_s = text or "Starting a worker", self._seconds_left(item, share)
            if self._opened is not None and (waiting := self._opened[0].waiting):
                text, eta_s = f"Waiting for workers: {waiting}", None
        elif item.state is TaskState.DONE:
            share, text = 1.0, "Saving"
        elif item.state is TaskState.STORED:
            share = 1.0
        run_id, experiment_id = (item.kept_id, None) if isinstance(item, RunItem) else (None, item.kept_id)
        return TaskStatus(
            item.id, item.name, item.state, share, text, eta_s, item.message, run_id, experiment_id,
            mine=owner in item.owners, asked_by=item.actor.name,
        )  # fmt: skip

    def _ahead_of(self, item: QueueItem) -> tuple[float, str, float | None]:
        """Return share, text and seconds left of a question whose runs are computed in batches before it."""
        parts = [part for part in self._batches_of([item]) if isinstance(part, StudyItem)]
        runs = [part.num_runs for part in parts]
        done = sum(
            many * (1.0 if part.state.is_over else read_progress(self._folder, part.id)[0])
            for many, part in zip(runs, parts, strict=True)
        )
        share = done / sum(runs)
        begun_s = [part.started_s for part in parts if part.started_s]
        if not begun_s:
            return share, "Waiting", None
        gone_s = time.monotonic() - min(begun_s)
        left_s = gone_s * (1 - share) / share if share >= _SHARE_FOR_ETA else None
        return share, f"{int(done):,} of {sum(runs):,} runs", left_s

    def _seconds_left(self, item: QueueItem, share: float) -> float | None:
        gone_s = time.monotonic() - item.started_s
        if share >= _SHARE_FOR_ETA:
            return gone_s * (1 - share) / share
        return max(1.0, item.guess_s - gone_s)
