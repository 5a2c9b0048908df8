"""Column mapping: which column of a CSV means what, guessed from names and values, confirmed by the user."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
from pydantic import Field, ValidationError, field_validator

from dlsched.domain.columns import GANG_COLUMNS
from dlsched.domain.errors import from_validation
from dlsched.domain.model import FrozenModel
from dlsched.domain.units import DAY_S, HOUR_S, MINUTE_S
from dlsched.workload.readers.convert import Read, clock_spans, numbers, timestamps

Kind = Literal["text", "number", "time", "span", "memory"]
Unit = Literal["", "s", "ms", "us", "min", "h", "d", "unix", "timestamp", "clock", "gib", "mib", "kib", "bytes"]
SECONDS = {"s": 1.0, "unix": 1.0, "ms": 1e-3, "us": 1e-6, "min": MINUTE_S, "h": HOUR_S, "d": DAY_S}
GIB = {"gib": 1.0, "mib": 2.0**-10, "kib": 2.0**-20, "bytes": 2.0**-30}
UNITS: dict[Kind, tuple[Unit, ...]] = {
    "text": ("",),
    "number": ("",),
    "time": ("s", "ms", "us", "min", "h", "d", "unix", "timestamp"),
    "span": ("s", "ms", "us", "min", "h", "d", "clock"),
    "memory": ("gib", "mib", "kib", "bytes"),
}
CONFIDENT = 0.8
GPU_KEYS = ("gpus", "workers", "gpus_per_worker")
CPU_KEYS = ("cpus", "cpus_per_worker")
_DUE = ("due", "due_time", "deadline", "ddl", "deadline_s", "due_date")


@dataclass(frozen=True, slots=True)
class FieldMeaning:
    """One thing a column can mean. ``exact`` names are those of the native table; ``near`` ones are synonyms."""

    key: str
    kind: Kind
    exact: tuple[str, ...]
    near: tuple[str, ...]
    help: str


def _t(key: str, kind: Kind, exact: str, near: str, text: str) -> FieldMeaning:
    return FieldMeaning(key, kind, tuple(exact.split()), tuple(near.split()), text)


TARGETS = (
    _t(
        "job_id",
        "text",
        "job_id",
        "jobid id job job_name jobname name task_id pod pod_name task uid",
        "Job ID.",
    ),
    _t(
        "submit",
        "time",
        "submit_time_s submit_s submit_time",
        "submission_time submissiontime submitted submitted_time submitted_at arrival_time arrival arrive_time created "
        "created_at creation_time ctime submit arrival_s timestamp time queued_at enqueued",
        "Submission time.",
    ),
    _t(
        "run",
        "span",
        "duration_s work",
        "duration run_time runtime run_time_s runtime_s service_time execution_time executiontime elapsed elapsed_s "
        "run_s length_s length walltime running_time",
        "Run time with the requested GPUs.",
    ),
    _t(
        "start",
        "time",
        "recorded_start_s",
        "start_time start started start_s started_at starttime begin_time",
        "Start time.",
    ),
    _t(
        "end",
        "time",
        "recorded_end_s",
        "end_time end ended end_s finish_time finished finished_at completion_time completed_at endtime stop_time",
        "End time.",
    ),
    _t(
        "gpus",
        "number",
        "num_gpus",
        "num_gpu gpus gpu gpu_num gpu_count ngpus n_gpus ngpu gpu_request gpus_requested req_gpus requested_gpus "
        "nr_gpus total_gpus gpu_demand accelerators num_accelerators",
        "GPUs of the whole job.",
    ),
    _t(
        "workers",
        "number",
        "workers",
        "num_workers worker_num n_workers replicas num_replicas num_inst tasks",
        "Number of workers.",
    ),
    _t("gpus_per_worker", "number", "gpus_per_worker", "gpu_per_worker gpus_per_replica", "GPUs of each worker."),
    _t(
        "cpus",
        "number",
        "num_cpus",
        "num_cpu cpus cpu cpu_num ncpus n_cpus cores num_cores cpu_request",
        "CPU cores of the whole job.",
    ),
    _t("cpus_per_worker", "number", "cpus_per_worker", "cpu_per_worker", "CPU cores of each worker."),
    _t(
        "mem",
        "memory",
        "mem_gib",
        "memory_gib mem_gb memory_gb mem memory mem_request memory_mib mem_mib",
        "Memory of the whole job.",
    ),
    _t("mem_per_worker", "memory", "mem_gib_per_worker", "memory_per_worker", "Memory of each worker."),
    _t(
        "limit",
        "span",
        "limit_s",
        "time_limit timelimit requested_time req_time requested_walltime time_limit_s max_run_time",
        "Time limit the user requested; policies believe it to be the run time.",
    ),
    _t("held", "span", "held_s", "", "Time before the submission during which dependencies held the job back."),
    _t(
        "cancel_after",
        "span",
        "cancel_after_s",
        "",
        "Time after the submission at which the user takes the job back, whether it waits or runs.",
    ),
    _t("min_workers", "number", "min_workers", "min_gpus min_width", "Smallest allowed number of workers."),
    _t("max_workers", "number", "max_workers", "max_gpus max_width", "Largest allowed number of workers."),
    _t("user", "text", "user", "user_id username user_name owner submitter", "User who submitted the job."),
    _t(
        "group",
        "text",
        "group",
        "vc team account project department organization virtual_cluster queue",
        "Team or account.",
    ),
    _t("model", "text", "model", "model_name application app network workload", "Network being trained."),
    _t("profile", "text", "profile", "time_profile", "Row of the scenario's time table."),
    _t("job_class", "text", "job_class", "class job_type type category", "Class of the job."),
    _t("partition", "text", "partition", "partition_name", "Exclusive partition in which the job must run."),
    _t(
        "gpu_types",
        "text",
        "gpu_types",
        "gpu_type gpu_model gpu_spec accelerator_type",
        "Accepted GPU types, as in 'A|B'.",
    ),
    _t(
        "features",
        "text",
        "features",
        "constraint constraints required_features node_features",
        "Node features a job needs, as in 'A&B'.",
    ),
    _t("nice", "number", "nice", "", "What the user lowered the priority by in Slurm."),
    _t("priority", "number", "priority", "prio priority_class", "Priority; higher values go first."),
    _t("due", "time", "due_s", " ".join(_DUE), "Due date."),
    _t(
        "weight",
        "number",
        "weight_usd_per_s",
        "weight tardiness_weight tardinessweight",
        "Cost per second of lateness in $.",
    ),
    _t("utility_1", "number", "utility_1", "", "Sigmoid utility g1."),
    _t("utility_2", "number", "utility_2", "", "Sigmoid utility g2."),
    _t("utility_3", "number", "utility_3", "", "Sigmoid utility g3."),
    *(_t(column.name, "number", column.name, "", column.help) for column in GANG_COLUMNS),
    _t("nodes", "text", "recorded_nodes", "node_list nodelist exec_host hosts", "Nodes the job ran on."),
    _t("status", "text", "recorded_status", "status state job_status pod_phase outcome", "Outcome."),
)
TARGET = {target.key: target for target in TARGETS}


class FieldMap(FrozenModel):
    """One meaning: the column that holds it, its unit, and how sure the guess is (1 = certain or confirmed)."""

    column: str = Field(max_length=80)
    unit: Unit = ""
    confidence: float = Field(1.0, ge=0, le=1)


class ColumnMapping(FrozenModel):
    """Meaning -> column. Save with ``model_dump_json``, load with :func:`load_mapping`."""

    version: Literal[1] = 1
    fields: dict[str, FieldMap] = Field(default_factory=dict)

    @field_validator("fields")
    @classmethod
    def _of_known_meaning(cls, fields: dict[str, FieldMap]) -> dict[str, FieldMap]:
        for key, found in fields.items():
            if key not in TARGET:
                raise ValueError(f"{key!r} is not a meaning; known: {', '.join(TARGET)}")
            units = UNITS[TARGET[key].kind]
            if found.unit and found.unit not in units:
                raise ValueError(f"{key!r} cannot be in {found.unit!r}; known: {', '.join(units)}")
        return fields

    def missing(self) -> tuple[str, ...]:
        """Return what is still needed, in words; empty = complete."""
        lacks = []
        if "submit" not in self.fields:
            lacks.append("submission time")
        if "run" not in self.fields and not {"start", "end"} <= set(self.fields):
            lacks.append("run time (or start and end)")
        if not {*GPU_KEYS, *CPU_KEYS} & set(self.fields):
            lacks.append("number of GPUs (or CPU cores)")
        return tuple(lacks)

    @property
    def has_gpus(self) -> bool:
        """Whether a column says how many GPUs or workers a job has."""
        return bool({*GPU_KEYS} & set(self.fields))

    @property
    def confidence(self) -> float:
        """The least sure of the meanings that decide the schedule; 0 when one is missing."""
        if self.missing():
            return 0.0
        deciding = (
            "submit",
            "run",
            *(GPU_KEYS if self.has_gpus else CPU_KEYS),
            *(() if "run" in self.fields else ("start", "end")),
        )
        return min(found.confidence for key, found in self.fields.items() if key in deciding)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns the mapping uses."""
        return tuple(found.column for found in self.fields.values())


def load_mapping(text: str | bytes) -> ColumnMapping:
    """Return a mapping saved as JSON; InputError names the first thing wrong with it."""
    try:
        return ColumnMapping.model_validate_json(text)
    except ValidationError as error:
        raise from_validation("column mapping", error) from None


def save_mapping(mapping: ColumnMapping, path: Path) -> None:
    """Write a mapping as JSON."""
    path.write_text(mapping.model_dump_json(indent=2), encoding="utf-8")


# ---- guessing ------------------------------------------------------------------------------------

_SUFFIX_UNIT: tuple[tuple[str, Unit], ...] = (
    ("_ms", "ms"), ("_us", "us"), ("_min", "min"), ("_minutes", "min"), ("_h", "h"), ("_hours", "h"), ("_hrs", "h"),
    ("_days", "d"), ("_seconds", "s"), ("_sec", "s"), ("_secs", "s"), ("_s", "s"),
)  # fmt: skip
_SUFFIX_MEMORY: tuple[tuple[str, Unit], ...] = (
    ("_gib", "gib"), ("_gb", "gib"), ("_mib", "mib"), ("_mb", "mib"), ("_kib", "kib"), ("_kb", "kib"),
    ("_bytes", "bytes"),
)  # fmt: skip


def normal_name(name: str) -> str:
    """Return a header name in lower case with single underscores: 'Submit Time (s)' -> 'submit_time_s'."""
    split_camel = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[^a-z0-9]+", "_", split_camel.lower()).strip("_")


def guess_mapping(header: Sequence[str], sample: Sequence[Sequence[str]]) -> ColumnMapping:
    """Return the likely mapping, a confidence per field.

    1 = the native name, 0.9 = a common synonym first in its list, less for later ones and for names that only
    contain one; a column whose values do not suit the meaning (text for a number) is chosen by a native name only.

    Parameters
    ----------
    header
        Column names.
    sample
        First rows, as strings.
    """
    guesses: list[tuple[float, int, int, str, Unit]] = []
    for position, name in enumerate(map(normal_name, header)):
        for rank, target in enumerate(TARGETS):
            sure = _name_confidence(name, target)
            if sure > 0:
                values = [row[position] for row in sample if position < len(row)]
                unit, suits = _unit_of(target, name, values)
                if suits or sure == 1:  # a native name is meant; the import report speaks of its values
                    guesses.append((-sure, rank, position, target.key, unit))
    fields: dict[str, FieldMap] = {}
    taken: set[int] = set()
    for minus_sure, _, position, key, unit in sorted(guesses):
        if key not in fields and position not in taken:
            fields[key] = FieldMap(column=header[position], unit=unit, confidence=round(-minus_sure, 2))
            taken.add(position)
    return ColumnMapping(fields={key: fields[key] for key in TARGET if key in fields})


def _name_confidence(name: str, target: FieldMeaning) -> float:
    if name in target.exact:
        return 1.0
    if not target.near:
        return 0.0  # known by its own name only
    if name in target.near:
        return 0.9 - 0.1 * target.near.index(name) / len(target.near)
    bare = re.sub(r"_(s|sec|secs|seconds|ms|us|min|minutes|h|hours|hrs|days|gib|gb|mib|mb|kib|kb|bytes)$", "", name)
    if bare != name and bare in (*target.exact, *target.near):
        return 0.85
    words = (*target.exact, *target.near)
    if any(len(word) >= 4 and f"_{word}_" in f"_{name}_" for word in words):
        return 0.5
    alike = [word for word in target.exact if word[0] == name[:1]]  # typing errors rarely hit the first letter
    return 0.6 if alike and len(name) >= 5 and difflib.get_close_matches(name, alike, 1, 0.85) else 0.0


def _unit_of(target: FieldMeaning, name: str, values: Sequence[str]) -> tuple[Unit, bool]:
    """Return the unit of a column and whether its values suit the meaning."""
    if target.kind == "text":
        return "", True
    column = pa.array(list(values), pa.string())
    read = numbers(column, decimal_comma=True)
    numeric = _mostly_read(read)
    if target.kind == "number":
        return "", numeric
    if target.kind == "memory":
        return _suffix(name, _SUFFIX_MEMORY, "gib"), numeric
    if numeric:
        default: Unit = "s"
        if target.kind == "time" and np.isfinite(read.values).any():
            median = float(np.nanquantile(read.values, 0.5, method="lower"))  # no sum, which may overflow
            default = "us" if median > 1e14 else "ms" if median > 1e11 else "s"  # a date of this century
        return _suffix(name, _SUFFIX_UNIT, default), True
    if target.kind == "time":
        dates = _mostly_read(timestamps(column))
        return "timestamp" if dates else "s", dates
    clock = _mostly_read(clock_spans(column))
    return "clock" if clock else "s", clock


def _mostly_read(read: Read) -> bool:
    return not len(read.values) or bool(np.isfinite(read.values).sum() >= read.bad.sum())


def _suffix(name: str, units: Sequence[tuple[str, Unit]], default: Unit) -> Unit:
    return next((unit for suffix, unit in units if name.endswith(suffix)), default)
