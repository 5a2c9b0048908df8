"""Runs of which only numbers are kept, as one question to the background runner: these, or the error of each."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from dlsched.domain.errors import InputError
from dlsched.domain.model import FrozenModel
from dlsched.domain.scenario import Scenario
from dlsched.sim.simulate import Cancelled
from dlsched.store.record import CellRecord, ExperimentRecord
from dlsched.studies.design.run import SOURCES, RunResult, VariantTask, carry_out
from dlsched.studies.run_all import run_all
from dlsched.studies.simulation import Progress
from dlsched.studies.study import Study, one_piece
from dlsched.wording.formats import amount

log = logging.getLogger(__name__)
KIND = "cells"
RUN_S = 0.3
"""CPU seconds of a run of 1,000 jobs, about."""


class CellSpec(FrozenModel):
    """One run: as :class:`studies.design.VariantTask` without its scenario; ``key`` is the task's."""

    key: str
    changes: dict[str, Any]
    policy: str
    params: dict[str, Any]
    seed: int
    reference: tuple[str, dict[str, Any]] | None = None


class CellsSpec(FrozenModel):
    """Runs of one scenario, named by its hash."""

    scenario: str = Field(min_length=1)
    cells: tuple[CellSpec, ...] = Field(min_length=1)


@dataclass(frozen=True, eq=False)
class CellResults:
    """What the runs say, in the order of the question."""

    results: tuple[RunResult, ...]

    def to_plain(self) -> dict[str, Any]:
        """Return them in JSON's own types."""
        return {
            "outcomes": [{"metrics": one.metrics, "audit": list(one.audit), "error": one.error} for one in self.results]
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> CellResults:
        """Return the results written by :meth:`to_plain`."""
        return cls(tuple(RunResult(one["metrics"], tuple(one["audit"]), one["error"]) for one in plain["outcomes"]))


def spec_of(tasks: Mapping[str, VariantTask]) -> dict[str, Any]:
    """Return the question that asks for these tasks, by key, all of one scenario."""
    first = next(iter(tasks.values()))
    cells = [
        {"key": key, "changes": dict(task.changes), "policy": task.policy, "params": dict(task.params),
         "seed": task.seed, "reference": task.reference}
        for key, task in tasks.items()
    ]  # fmt: skip
    return {"scenario": first.scenario.content_hash, "cells": cells}


def run(spec: CellsSpec, scenario: Scenario, progress: Progress | None = None) -> CellResults:
    """Return the results in the order of the cells; a run that fails has its error, and the others go on.

    Raises
    ------
    InputError
        As :func:`check`.
    """
    check(spec, scenario)
    tasks = [_task(cell, scenario) for cell in spec.cells]
    return CellResults(tuple(run_all(tasks, _safely, None, progress, noun="run")))


def check(spec: CellsSpec, scenario: Scenario) -> None:
    """Raise InputError if this program would ask for other runs under these keys: another version of it did."""
    if any(_task(cell, scenario).key != cell.key for cell in spec.cells):
        raise InputError("runs", "were requested by another version of this program", "Run them again")


def _task(cell: CellSpec, scenario: Scenario) -> VariantTask:
    return VariantTask(scenario, cell.changes, cell.policy, cell.params, cell.seed, cell.reference)


def _safely(task: VariantTask, progress: Progress | None = None) -> RunResult:
    try:
        return carry_out(task, progress)
    except Cancelled:
        raise
    except Exception as error:  # one bad run may not take those beside it along
        log.exception("A run failed: %s %s, seed %d", task.policy, dict(task.changes), task.seed)
        return RunResult(error=f"Unexpected {type(error).__name__}: {error}. Details are in the log")


def split(record: ExperimentRecord) -> tuple[list[CellRecord], ExperimentRecord]:
    """Return the numbers of runs that came to their end, and the question and answer of those that did not."""
    spec, answer = STUDY.read_record(record)
    found = list(zip(spec.cells, answer.results, strict=True))
    made = [
        CellRecord(cell.key, spec.scenario, cell.policy, cell.seed, result.metrics, result.audit)
        for cell, result in found
        if result.metrics is not None
    ]
    rest = [(cell, result) for cell, result in found if result.metrics is None]
    cells = {"scenario": spec.scenario, "cells": [cell.model_dump(mode="json") for cell, _ in rest]}
    results = CellResults(tuple(result for _, result in rest))
    return made, ExperimentRecord(
        record.kind, cells, results.to_plain(), record.code_version, record.name, record.plugin
    )


def outcomes_of(record: ExperimentRecord) -> dict[str, RunResult]:
    """Return the results a record holds, by key; none if :func:`split` left none."""
    results = STUDY.read_answer(record.answer).results
    return {cell["key"]: result for cell, result in zip(record.spec["cells"], results, strict=True)}


STUDY = Study(
    kind=KIND,
    label="Runs",
    page="Run",
    spec=CellsSpec,
    answer=CellResults,
    check=check,
    run=one_piece(run),
    estimate_s=lambda spec, scenario=None: RUN_S * len(spec.cells),
    words=lambda answer: f"{amount(len(answer.results), 'run')}.",
    sources=SOURCES,
    split=split,
)
