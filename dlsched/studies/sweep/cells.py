"""Some runs of a sweep as one question to the background runner: the numbers of each, or the error that ended it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import Field

from dlsched.domain.errors import InputError, validated
from dlsched.domain.model import FrozenModel
from dlsched.domain.scenario import Scenario
from dlsched.sim.simulate import Cancelled
from dlsched.store.record import CellRecord, ExperimentRecord
from dlsched.studies.design.run import RunResult, VariantTask, carry_out
from dlsched.studies.simulation import Progress

if TYPE_CHECKING:
    from dlsched.store import Store

log = logging.getLogger(__name__)
KIND = "cells"


class CellAsked(FrozenModel):
    """One run: as :class:`studies.design.VariantTask` without its scenario; ``key`` is the task's."""

    key: str
    changes: dict[str, Any]
    policy: str
    params: dict[str, Any]
    seed: int


class CellsAsked(FrozenModel):
    """Runs of one scenario, named by its hash."""

    scenario: str = Field(min_length=1)
    cells: tuple[CellAsked, ...] = Field(min_length=1)


def spec_of(tasks: Mapping[str, VariantTask]) -> dict[str, Any]:
    """Return the question that asks for these tasks, by key, all of one scenario."""
    first = next(iter(tasks.values()))
    cells = [
        {"key": key, "changes": dict(task.changes), "policy": task.policy, "params": dict(task.params),
         "seed": task.seed}
        for key, task in tasks.items()
    ]  # fmt: skip
    return {"scenario": first.scenario.content_hash, "cells": cells}


def read_cells(plain: Mapping[str, Any]) -> CellsAsked:
    """Return the question of plain data; InputError naming the field."""
    return validated(CellsAsked, dict(plain), "runs of a sweep")


def answered(asked: CellsAsked, scenario: Scenario, progress: Progress | None = None) -> dict[str, Any]:
    """Return ``outcomes``, in the order of the cells: metrics, audit and error of each.

    Raises
    ------
    InputError
        If this program would ask for other runs under these keys: the question is of another version of it.

    A run that fails has its error; the others go on, whatever the error is.
    """
    outcomes = []
    for done, cell in enumerate(asked.cells):
        task = VariantTask(scenario, cell.changes, cell.policy, cell.params, cell.seed)
        if task.key != cell.key:
            raise InputError("runs of a sweep", "were asked for by another version of this program", "Ask again")
        found = _safely(task, _part(progress, done, len(asked.cells)))
        outcomes.append({"metrics": found.metrics, "audit": list(found.audit), "error": found.error})
    return {"outcomes": outcomes}


def _part(progress: Progress | None, done: int, cells: int) -> Progress:
    """Return where one run tells how far it is, and is stopped."""

    def tell(share: float, _: str) -> None:
        if progress is not None:
            progress((done + share) / cells, f"{done} of {cells} runs")

    tell(0.0, "")
    return tell


def _safely(task: VariantTask, progress: Progress) -> RunResult:
    try:
        return carry_out(task, progress)
    except Cancelled:
        raise
    except Exception as error:  # one bad run may not take those beside it along
        log.exception("A run of a sweep failed: %s %s, seed %d", task.policy, dict(task.changes), task.seed)
        return RunResult(error=f"Unexpected {type(error).__name__}: {error}. Details are in the log")


def keep(store: Store, record: ExperimentRecord) -> ExperimentRecord:
    """Keep the numbers of runs that came to their end; return the question and answer of those that did not."""
    asked = read_cells(record.spec)
    found = list(zip(asked.cells, record.answer["outcomes"], strict=True))
    store.save_cells(
        [
            CellRecord(cell.key, asked.scenario, cell.policy, cell.seed, outcome["metrics"], tuple(outcome["audit"]))
            for cell, outcome in found
            if outcome["metrics"] is not None
        ]
    )
    rest = [(cell, outcome) for cell, outcome in found if outcome["metrics"] is None]
    spec = {"scenario": asked.scenario, "cells": [cell.model_dump(mode="json") for cell, _ in rest]}
    answer = {"outcomes": [outcome for _, outcome in rest]}
    return ExperimentRecord(record.kind, spec, answer, record.code_version, record.name)


def outcomes_of(record: ExperimentRecord) -> dict[str, RunResult]:
    """Return the outcomes a record holds, by key."""
    return {
        cell["key"]: RunResult(outcome["metrics"], tuple(outcome["audit"]), outcome["error"])
        for cell, outcome in zip(record.spec["cells"], record.answer["outcomes"], strict=True)
    }
