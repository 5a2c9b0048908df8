"""What a table does not say of itself: whether GPUs are those of the job or of each worker, and what cores stand for.

A reader asks instead of guessing. The answer is a field of ReadOptions; each is shown with what it makes of the jobs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dlsched.domain.errors import InputError
from dlsched.domain.workload import Floats
from dlsched.workload.readers.mapping import ColumnMapping, FieldMap

WHOLE_TO_EACH = (("gpus", "gpus_per_worker"), ("cpus", "cpus_per_worker"), ("mem", "mem_per_worker"))


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read a table: the reading choice that means it, in words, and what it makes of the jobs."""

    choice: str
    value: str
    means: str
    gives: str

    def __str__(self) -> str:
        return f"{self.means} ({self.gives})"


class MappingNeeded(InputError):
    """The columns of a table are not clear enough to go on.

    ``guess`` is what a page offers to confirm; ``readings`` the ways between which one reading choice decides.
    """

    guess: ColumnMapping = ColumnMapping()
    readings: tuple[Reading, ...] = ()

    def __init__(
        self,
        what: str,
        why: str,
        do: str = "",
        guess: ColumnMapping | None = None,
        readings: tuple[Reading, ...] = (),
    ) -> None:
        super().__init__(what, why, do)
        self.guess, self.readings = guess or ColumnMapping(), readings

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.what, self.why, self.do, self.guess, self.readings)


def whose_gpus(name: str, mapping: ColumnMapping, gpus: Floats, workers: Floats) -> MappingNeeded | None:
    """Return the question whether GPUs are those of the job or of each worker; None if that makes no difference.

    ``gpus`` and ``workers`` are the columns of the table; NaN where a row has no number.
    """
    several = workers > 1
    if not (several & (gpus > 0)).any():
        return None
    column = mapping.fields["gpus"].column
    readings = (
        Reading("gpus_counted", "per-job", "the GPUs of the whole job", _gives(gpus)),
        Reading("gpus_counted", "per-worker", "the GPUs of each worker", _gives(gpus * workers)),
    )
    why = (
        f"column {column!r} may hold {readings[0]} or {readings[1]}, as column {mapping.fields['workers'].column!r} "
        "gives numbers of workers"
    )
    return _question(name, why, mapping, readings)


def what_are_cores(name: str, mapping: ColumnMapping, cores: Floats) -> MappingNeeded:
    """Return the question whether the cores of a table without GPUs stand for GPUs or are CPU jobs."""
    column = next(mapping.fields[key].column for key in ("cpus", "cpus_per_worker") if key in mapping.fields)
    largest = np.nanmax(cores) if np.isfinite(cores).any() else 0.0
    readings = (
        Reading("processors", "cpus", "the cores of jobs without GPUs", f"largest job: {largest:,.6g} cores"),
        Reading("processors", "gpus", "cores that stand for GPUs", f"with one core for each, {_gives(cores)}"),
    )
    why = f"no column gives GPUs; column {column!r} may hold {readings[0]} or {readings[1]}"
    return _question(name, why, mapping, readings, " with gpus_per_processor")


def per_worker(mapping: ColumnMapping) -> ColumnMapping:
    """Return the mapping in which requests are those of each worker."""
    fields: dict[str, FieldMap] = dict(mapping.fields)
    for whole, each in WHOLE_TO_EACH:
        if whole in fields and each not in fields:
            fields[each] = fields.pop(whole)
    return mapping.model_copy(update={"fields": fields})


def _gives(gpus: Floats) -> str:
    """Return "largest job: 94 GPUs, all jobs: 1,234 GPUs"."""
    finite = gpus[np.isfinite(gpus)]
    largest = float(finite.max()) if finite.size else 0.0
    return f"largest job: {largest:,.6g} GPUs, all jobs: {float(finite.sum()):,.6g} GPUs"


def _question(
    name: str, why: str, mapping: ColumnMapping, readings: tuple[Reading, ...], more: str = ""
) -> MappingNeeded:
    do = "Choose " + " or ".join(f"{one.choice}={one.value}" for one in readings) + more
    return MappingNeeded(f"file {name}", why, do, mapping, readings)
