"""What waits in the queue of the background runner: runs of a scenario, and questions to a study."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pydantic import BaseModel

from dlsched.domain.scenario import Scenario
from dlsched.runner import worker
from dlsched.runner.executor import WorkerPool
from dlsched.runner.progress import Channel
from dlsched.store.record import CellRecord, ExperimentRecord, RunLabel, RunRecord, experiment_key, run_key
from dlsched.studies import registry
from dlsched.studies.code_version import code_version
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
        return self in {TaskState.STORED, TaskState.FAILED, TaskState.CANCELLED}


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

    ``subject`` travels with it and is not kept: what is too large for the question, and named in it.
    """

    kind: str
    spec: BaseModel | Mapping[str, Any]
    name: str = ""
    subject: Any = None


@dataclass(eq=False)
class QueueItem(ABC):
    """A task in the queue. ``kept_id``: id of the result in the store; ``kept``: the result where there is no store."""

    name: str
    id: str = field(default_factory=lambda: uuid4().hex[:12])
    key: str = ""
    state: TaskState = TaskState.QUEUED
    message: str = ""
    kept_id: str | None = None
    kept: Any = None
    guess_s: float = 0.0
    started_s: float = 0.0
    future: Future[Any] | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing more happens to it."""
        return self.state.is_over or self.kept is not None

    @abstractmethod
    def admit(self, store: Store | None) -> None:
        """Find out key, name, guess and whether the store has the answer; DlschedError when it cannot be computed."""

    @abstractmethod
    def send(self, pool: WorkerPool, channel: Channel, folder: Path) -> Future[Any]:
        """Give it to a worker, which tells by the channel how far it is."""

    @abstractmethod
    def result(self, outcome: Any) -> Any:
        """Return the record behind what the worker made."""

    @abstractmethod
    def save(self, store: Store, record: Any) -> str:
        """Keep the record and return its id."""


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
        self.key = run_key(task.scenario.content_hash, spec.key, self.params, task.seed, code_version())
        self.kept_id = store.find_run(self.key) if store is not None else None
        self.guess_s = estimate_run(task.scenario, task.policy, store).seconds

    def send(self, pool: WorkerPool, channel: Channel, folder: Path) -> Future[Any]:
        """See :class:`QueueItem`; tasks of one scenario share its file."""
        task, key = self.task, self.task.scenario.content_hash
        path = worker.scenario_file(folder, key)
        content = pickle.dumps(task.scenario, protocol=5) if pool.remote or not path.exists() else None
        if not pool.remote and content is not None:
            path.write_bytes(content)
        sent = content if pool.remote else None
        order = worker.RunOrder(self.id, folder, channel, key, task.policy, self.params, task.seed, self.name, sent)
        return pool.executor.submit(worker.carry_out_run, order)

    def result(self, outcome: Any) -> RunRecord:
        """See :class:`QueueItem`."""
        return worker.record_of(outcome, self.task.scenario)

    def save(self, store: Store, record: RunRecord) -> str:
        """See :class:`QueueItem`."""
        task = VariantTask(self.task.scenario, {}, record.policy, record.params, record.seed)
        about = task.scenario.content_hash
        store.save_cells([CellRecord(task.key, about, task.policy, task.seed, record.metrics, record.audit)])
        return store.save_run(record)


@dataclass(eq=False)
class StudyItem(QueueItem):
    """A question to a study."""

    task: StudyTask = field(kw_only=True)
    spec: BaseModel | None = None
    known: Mapping[str, CellRecord] = field(default_factory=dict)
    made: list[CellRecord] = field(default_factory=list)

    def admit(self, store: Store | None) -> None:
        """See :class:`QueueItem`."""
        found = registry.find(self.task.kind)
        spec = self.spec = found.question(self.task.spec)
        self.name = self.task.name or found.label
        self.key = experiment_key(found.kind, spec.model_dump(mode="json"), found.version)
        self.kept_id = store.find_experiment(self.key) if store is not None and found.keep is None else None
        self.guess_s = found.estimate_s(spec)
        about = self.task.subject
        if found.by_future and store is not None and self.kept_id is None and isinstance(about, Scenario):
            self.known = store.cells_of(about.content_hash)

    def send(self, pool: WorkerPool, channel: Channel, folder: Path) -> Future[Any]:
        """See :class:`QueueItem`."""
        assert self.spec is not None
        order = worker.StudyOrder(self.id, channel, self.task.kind, self.spec, self.name, self.task.subject, self.known)
        return pool.executor.submit(worker.carry_out_study, order)

    def result(self, outcome: Any) -> ExperimentRecord:
        """See :class:`QueueItem`."""
        record: ExperimentRecord
        record, self.made = outcome
        return record

    def save(self, store: Store, record: ExperimentRecord) -> str:
        """See :class:`QueueItem`; what the store does not hold of the answer stays here."""
        store.save_cells(self.made)
        self.known, self.made = {}, []
        keep = registry.find(self.task.kind).keep
        if keep is None:
            return store.save_experiment(record)
        self.kept = keep(store, record)
        return self.key


def item_of(task: RunTask | StudyTask) -> RunItem | StudyItem:
    """Return a new entry for a task."""
    if isinstance(task, StudyTask):
        return StudyItem(task.name or task.kind, task=task)
    return RunItem(task.name or task.policy + (f", future {task.seed}" if task.seed else ""), task=task)
