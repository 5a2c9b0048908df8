"""The list of studies: add one by adding its ``STUDY`` here."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from typing import Any

from pydantic import BaseModel

from dlsched.domain.errors import InputError
from dlsched.domain.names import names_hint
from dlsched.store.record import CellStore, ExperimentRecord
from dlsched.studies import (
    calibration,
    cells,
    commitment,
    fitting,
    growth,
    history,
    more_quota,
    sizing,
    steady,
    sweep,
    what_if,
    when_starts,
)
from dlsched.studies.inspect import admissions, dual_prices, look_ahead, queues
from dlsched.studies.reproductions import spec as reproduction
from dlsched.studies.simulation import Progress
from dlsched.studies.study import Study

STUDIES: tuple[Study[Any, Any], ...] = (
    what_if.STUDY,
    sweep.STUDY,
    cells.STUDY,
    sizing.STUDY,
    growth.STUDY,
    commitment.STUDY,
    calibration.STUDY,
    fitting.STUDY,
    history.STUDY,
    when_starts.STUDY,
    when_starts.SCORE_STUDY,
    steady.STUDY,
    look_ahead.STUDY,
    admissions.STUDY,
    dual_prices.STUDY,
    dual_prices.HINDSIGHT_STUDY,
    queues.STUDY,
    more_quota.STUDY,
    reproduction.STUDY,
)


def find(kind: str) -> Study[Any, Any]:
    """Return the study of this kind; raise InputError that lists the known ones."""
    for study in STUDIES:
        if study.kind == kind:
            return study
    kinds = [study.kind for study in STUDIES]
    raise InputError(f"experiment {kind!r:.80}", "does not exist", names_hint(kind, kinds))


def compute(
    kind: str,
    spec: BaseModel | Mapping[str, Any],
    progress: Progress | None = None,
    name: str = "",
    subject: Any = None,
    executor: Executor | None = None,
    store: CellStore | None = None,
) -> ExperimentRecord:
    """Return question and answer, ready for the store; InputError for a bad question. ``subject``: what it is about."""
    return find(kind).compute(spec, subject, progress, name, executor, store)
