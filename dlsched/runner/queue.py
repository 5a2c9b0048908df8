"""What waits in the queue of the background runner: runs of a scenario, and questions to a study."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import StrEnum
from heapq import heapify, heappop, heapreplace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pydantic import BaseModel

from dlsched.domain.actor import NO_LOGIN, Actor
from dlsched.domain.scenario import Scenario
from dlsched.runner import worker
from dlsched.runner.executor import WorkerPool
from dlsched.runner.progress import Channel
from dlsched.store.record import (
    CellRecord,
    Finished,
    RunLabel,
    experiment_key,
    run_id_of,
    run_key,
)
from dlsched.studies import registry
from dlsched.studies.cells import CellsSpec
from dlsched.studies.code_version import version_of
from dlsched.studies.design import VariantTask
from dlsched.studies.estimate import estimate_run
from dlsched.studies.simulation import resolve_policy

if TYPE_CHECKING:
    from dlsched.store import Store


class TaskState(StrEnum):
    """Where a task is. DONE: computed, on its way into the store (or there is none)."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    STORED = "stored"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens to the task."""
        return self in _OVER


_OVER = frozenset({TaskState.STORED, TaskState.FAILED, TaskState.CANCELLED})


@dataclass(frozen=True, eq=False)
class RunTask:
    """One run: a scenario under a policy, at a seed."""

    scenario: Scenario
    policy: str
    params: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    name: str = ""


@dataclass(frozen=True, eq=False)
class StudyTask:
    """A question to a study (``registry.STUDIES``), as its spec or in JSON's own types.

    ``subject`` travels with it and is not kept: what is too large for the question, and named in it. ``ahead``: batches
    of its runs (``studies.cells``) that any worker may compute before it; it starts when they are over, with their
    numbers, and is stopped with them. Without a store, which takes their numbers, there are none.
    """

    kind: str
    spec: BaseModel | Mapping[str, Any]
    name: str = ""
    subject: Any = None
    ahead: tuple[StudyTask, ...] = ()


@dataclass(eq=False)
class QueueItem(ABC):
    """A task in the queue. ``kept_id``: id of the result in the store; ``kept``: the result where there is no store.

    ``actor``: who asked for it first, and under whose name the result is kept; ``owners``: all who asked for it
    and have not cancelled it since; ``turn_of``: the owner whose turn it was when it started; ``ended_s``: when the
    runner knew that nothing more happens to it; ``after``: ids of the batches of its runs that come first; ``rest``:
    what of the result the store is not to hold.
    """

    name: str
    actor: Actor = NO_LOGIN
    owners: set[str] = field(default_factory=set)
    turn_of: str = ""
    id: str = field(default_factory=lambda: uuid4().hex[:12])
    key: str = ""
    state: TaskState = TaskState.QUEUED
    message: str = ""
    kept_id: str | None = None
    kept: Any = None
    guess_s: float = 0.0
    started_s: float = 0.0
    ended_s: float | None = None
    future: Future[Any] | None = None
    after: tuple[str, ...] = ()
    rest: Any = None

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens to it."""
        return self.state.is_over or self.kept is not None

    @abstractmethod
    def admit(self, store: Store | None) -> None:
        """Find out key, name and guess, and of a question whether the store has the answer.

        DlschedError when it cannot be computed.
        """

    @abstractmethod
    def send(self, pool: WorkerPool, channel: Channel, folder: Path) -> Future[Any]:
        """Give it to a worker, which tells by the channel how far it is."""

    @abstractmethod
    def finished(self, outcome: Any) -> Finished:
        """Return what the store is to keep of what the worker made."""

    @abstractmethod
    def note_stored(self, finished: Finished) -> None:
        """Note where in the store it is, and what of it is not there."""


@dataclass(eq=False)
class RunItem(QueueItem):
    """A run."""

    task: RunTask = field(kw_only=True)
    params: dict[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> RunLabel:
        """How the store lists it while it is under way."""
        scenario = self.task.scenario
        return RunLabel(self.key, scenario.content_hash, scenario.name, self.task.policy, self.params, self.task.seed)

    def admit(self, store: Store | None) -> None:
        """See :class:`QueueItem`."""
        task = self.task
        policy = resolve_policy(task.scenario, task.policy, task.params)
        spec, self.params = policy.spec, policy.values
        self.name = task.name or spec.label + (f", future {task.seed}" if task.seed else "")
        version = version_of(task.scenario, [spec.key])
        self.key = run_key(task.scenario.content_hash, spec.key, self.params, task.seed, version)
        self.guess_s = estimate_run(task.scenario, task.policy, store).seconds

    def send(self, pool: WorkerPool, channel: Channel, folder: Path) -> Future[Any]:
        """See :class:`QueueItem`; tasks of one scenario share its file."""
        task, key = self.task, self.task.scenario.content_hash
        path = worker.scenario_file(folder, key)
        if not pool.remote and not path.exists():
            path.write_bytes(pickle.dumps(task.scenario, protocol=5))
        sent = task.scenario if pool.remote else None
        order = worker.RunOrder(self.id, folder, channel, key, task.policy, self.params, task.seed, self.name, sent)
        return pool.executor.submit(worker.carry_out_run, order)

    def finished(self, outcome: Any) -> Finished:
        """See :class:`QueueItem`."""
        record = worker.record_of(outcome, self.task.scenario)
        task = VariantTask(self.task.scenario, {}, record.policy, record.params, record.seed)
        about = task.scenario.content_hash
        cell = CellRecord(task.key, about, task.policy, task.seed, record.metrics, record.audit)
        return Finished(run=record, cells=(cell,), made_by=self.actor.name)

    def note_stored(self, finished: Finished) -> None:
        """See :class:`QueueItem`."""
        assert finished.run is not None
        self.kept_id = run_id_of(finished.run.key)


@dataclass(eq=False)
class StudyItem(QueueItem):
    """A question to a study."""

    task: StudyTask = field(kw_only=True)
    spec: BaseModel | None = None
    known: Mapping[str, CellRecord] = field(default_factory=dict)

    def admit(self, store: Store | None) -> None:
        """See :class:`QueueItem`."""
        found = registry.find(self.task.kind)
        spec = self.spec = found.question(self.task.spec)
        self.name = self.task.name or found.label
        self.key = experiment_key(found.kind, spec.model_dump(mode="json"), found.version_of(spec, self.task.subject))
        self.kept_id = store.find_experiment(self.key) if store is not None and found.split is None else None
        self.guess_s = found.estimate_s(spec)
        about = self.task.subject
        if found.by_future and store is not None and self.kept_id is None and isinstance(about, Scenario):
            self.known = store.cells_of(about.content_hash)

    @property
    def num_runs(self) -> int:
        """How many runs a batch has, 1 for another question."""
        return len(self.spec.cells) if isinstance(self.spec, CellsSpec) else 1

    def take(self, batch: StudyItem, store: Store) -> None:
        """Take along the numbers of a batch of runs that has come to its end."""
        assert isinstance(batch.spec, CellsSpec)
        self.known = {**self.known, **store.find_cells([cell.key for cell in batch.spec.cells])}

    def send(self, pool: WorkerPool, channel: Channel, folder: Path) -> Future[Any]:
        """See :class:`QueueItem`."""
        assert self.spec is not None
        order = worker.StudyOrder(self.id, channel, self.task.kind, self.spec, self.name, self.task.subject, self.known)
        return pool.executor.submit(worker.carry_out_study, order)

    def finished(self, outcome: Any) -> Finished:
        """See :class:`QueueItem`."""
        record, cells = outcome
        if registry.find(self.task.kind).split is None:
            return Finished(experiment=record, cells=cells, made_by=self.actor.name)
        self.rest = record
        return Finished(cells=cells, made_by=self.actor.name)

    def note_stored(self, finished: Finished) -> None:
        """See :class:`QueueItem`."""
        self.known = {}
        self.kept_id = self.key if finished.experiment is None else run_id_of(finished.experiment.key)
        self.kept = self.rest


def in_turn(
    waiting: Iterable[QueueItem], held: Mapping[str, int], served: Mapping[str, int]
) -> Iterator[tuple[str, QueueItem]]:
    """Return whose turn it is and the task that starts, in order: the first task of the owner with the fewest workers.

    Among owners with as many workers it is the turn of the one who was served longest ago. The tasks of one owner keep
    their order, and many of them delay another owner's first only by what is already running.

    Parameters
    ----------
    waiting
        Tasks in the order in which they were asked for.
    held
        How many workers each owner has now.
    served
        Number of the turn in which each owner was served last; those who were never served come first.
    """
    lines: dict[str, deque[QueueItem]] = {}
    for item in waiting:
        for owner in item.owners or {""}:
            lines.setdefault(owner, deque()).append(item)
    turns = [(held.get(owner, 0), served.get(owner, 0), place, owner) for place, owner in enumerate(lines)]
    heapify(turns)
    turn = max(served.values(), default=0)
    given: set[str] = set()
    while turns:
        workers, _, place, owner = turns[0]
        line = lines[owner]
        while line and line[0].id in given:  # it was another owner's as well
            line.popleft()
        if not line:
            heappop(turns)
            continue
        item = line.popleft()
        given.add(item.id)
        turn += 1
        heapreplace(turns, (workers + 1, turn, place, owner))
        yield owner, item


def item_of(task: RunTask | StudyTask) -> RunItem | StudyItem:
    """Return a new entry for a task."""
    if isinstance(task, StudyTask):
        return StudyItem(task.name or task.kind, task=task)
    return RunItem(task.name or task.policy + (f", future {task.seed}" if task.seed else ""), task=task)
