"""What a worker process does with one task. Imports no page library: workers are started from scratch."""

from __future__ import annotations

import contextlib
import pickle
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from dlsched.domain.cluster import Cluster, Pool, VmType
from dlsched.domain.errors import DlschedError
from dlsched.domain.queue_tree import Queue, QueueTree, Quota
from dlsched.domain.scenario import Scenario
from dlsched.domain.truth import realise
from dlsched.domain.workload import Workload
from dlsched.policies import registry
from dlsched.runner.carried import CarriedCells
from dlsched.runner.executor import open_pool
from dlsched.runner.progress import Channel, Reporter
from dlsched.sim.prepare import Prepared
from dlsched.store.columns import to_arrow
from dlsched.store.record import CellRecord, ExperimentRecord, RunRecord
from dlsched.studies.registry import compute, find
from dlsched.studies.simulation import simulate
from dlsched.workload.studies.gpu_as_a_service import PROTOTYPE, gpuaas_scenario

WARMING = "Compiling, first run only"
EVERYDAY = ("fifo", "srtf")
"""One policy for each of the loops that everyday policies run in."""


@dataclass(frozen=True, eq=False)
class RunOrder:
    """A task as it travels: the scenario in a file, or with it where the worker sees other files."""

    task_id: str
    folder: Path
    channel: Channel
    scenario_key: str
    policy: str
    params: Mapping[str, Any]
    seed: int
    name: str = ""
    scenario: Scenario | None = None


def scenario_file(folder: Path, scenario_key: str) -> Path:
    """Return the file with the pickled scenario that several tasks share."""
    return folder / f"{scenario_key}.scenario"


def carry_out_run(order: RunOrder) -> Path | bytes:
    """Compute, audit and summarise a task; return the file (or the bytes) of its pickled RunRecord.

    The record travels without its scenario: who asked has it.
    """
    report = Reporter(order.channel, order.task_id)
    scenario = order.scenario or _read_scenario(scenario_file(order.folder, order.scenario_key))
    if _takes_fast_code(scenario, order.policy, order.params):
        report.force(0.0, WARMING)
        _warm_up(order.policy)
    report.force(0.0, "Starting")
    run = simulate(scenario, order.policy, order.params, order.seed, report)
    report.force(1.0, "Auditing the run")
    record = packed(run.record(order.name))
    report.force(1.0, "Saving")
    content = pickle.dumps(record, protocol=5)
    if order.scenario is not None:
        return content
    path = order.folder / f"{order.task_id}.result"
    path.write_bytes(content)
    return path


def packed(record: RunRecord) -> RunRecord:
    """Return a record as it travels: tables as the store keeps them, and without its scenario, which who asked has."""
    tables = {name: to_arrow(name, table) for name, table in record.tables.items()}
    return replace(record, tables=tables, scenario=_placeholder())


def get_ready() -> None:
    """Load, and on a new machine compile, the loops of everyday policies before the first run waits for them."""
    _warm_up_all(EVERYDAY)


def compile_all() -> None:
    """Compile all fast code, on all cores: minutes that the first runs on a machine are spared."""
    groups = defaultdict[str, list[str]](list)
    for spec in registry.POLICIES:
        if spec.compiled:
            groups[spec.key if spec.family == "everyday" else spec.family].append(spec.key)
    with open_pool().executor as executor:
        tasks = [executor.submit(_warm_up_all, group) for group in (*groups.values(), *zip(EVERYDAY))]
        for task in tasks:
            task.result()


def _warm_up_all(policies: Iterable[str]) -> None:
    for policy in policies:
        _warm_up(policy)


def record_of(outcome: Path | bytes, scenario: Scenario) -> RunRecord:
    """Return the record behind what :func:`carry_out_run` returned; our own worker wrote it, so unpickling is safe."""
    content = outcome if isinstance(outcome, bytes) else outcome.read_bytes()
    record: RunRecord = pickle.loads(content)
    return replace(record, scenario=scenario)


@lru_cache(maxsize=2)
def _read_scenario(path: Path) -> Scenario:
    scenario: Scenario = pickle.loads(path.read_bytes())
    return scenario


@lru_cache(maxsize=1)
def _placeholder() -> Scenario:
    """Return the smallest scenario every everyday policy can run: with due dates, weights, users, prices, a queue."""
    columns = {
        "job_id": ["a", "b", "c"],
        "submit_s": np.zeros(3),
        "work": np.array([3.0, 2.0, 1.0]),
        "user": ["u", "v", "u"],
        "priority": np.arange(3.0),
        "due_s": np.full(3, 2.0),
        "weight_usd_per_s": np.ones(3),
    }
    cluster = Cluster(pools=(Pool(vm=VmType(name="one", gpus=1, usd_per_h=1.0), count=1),))
    queues = QueueTree(unmapped="all", tree={"all": Queue(quota=(Quota(nominal=1),))})
    return Scenario(Workload.from_columns(columns), cluster, queues=queues, name="placeholder")


@cache
def _warm_up(policy: str) -> None:
    """Compile the fast code of a policy on a few jobs: seconds on a new machine, nothing after that.

    Done apart from the run, so that the user is told what takes long and the run's time is its own.
    """
    # Six jobs on two slots with different machines: enough for a search to come through all of its code. One-GPU nodes:
    # what the simulator's own loops can run.
    spec = registry.find(policy)
    tiny = [_placeholder(), gpuaas_scenario(PROTOTYPE)] if spec.compiled else [_placeholder()]
    for scenario in tiny:
        if not registry.unmet_needs(spec, scenario):
            with contextlib.suppress(DlschedError):
                simulate(scenario, policy)


def _takes_fast_code(scenario: Scenario, policy: str, params: Mapping[str, Any]) -> bool:
    spec = registry.find(policy)
    if spec.compiled:
        return True
    if spec.clairvoyant or (built := spec.build(spec.parse(dict(params)))).kernel_rule is None:
        return False
    from dlsched.sim import kernels

    return kernels.eligible(Prepared(scenario, realise(scenario)), built)


@dataclass(frozen=True, eq=False)
class StudyOrder:
    """A question as it travels to a worker."""

    task_id: str
    channel: Channel
    kind: str
    spec: BaseModel
    name: str
    subject: Any = None
    known: Mapping[str, CellRecord] = field(default_factory=dict)


def carry_out_study(order: StudyOrder) -> tuple[ExperimentRecord, list[CellRecord]]:
    """Compute in a worker process; return question and answer, and the numbers of single futures made for it.

    Of an answer that consists of such numbers, what the store does not keep.
    """
    report = Reporter(order.channel, order.task_id)
    report.force(0.0, "Starting")
    study, own = find(order.kind), CarriedCells(order.known)
    with open_pool().executor if study.shared_out else contextlib.nullcontext() as executor:
        record = compute(order.kind, order.spec, report, order.name, order.subject, executor, own)
    cells = [*own.made.values()]
    if study.split is not None:
        made, record = study.split(record)
        cells += made
    report.force(1.0, "Saving")
    return record, cells
