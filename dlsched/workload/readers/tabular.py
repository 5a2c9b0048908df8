"""Generic CSV through a column mapping, and the native table (CSV or Parquet), which is a mapping by exact names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from dlsched.domain.columns import GANG_COLUMNS
from dlsched.domain.errors import InputError
from dlsched.domain.names import first_of
from dlsched.domain.workload import Floats
from dlsched.workload.readers.canonical import Draft, optional, required
from dlsched.workload.readers.convert import NUMBER, Read, clock_spans, numbers, split_gpus, timestamps
from dlsched.workload.readers.formats import Head, Signs, TraceFormat
from dlsched.workload.readers.mapping import (
    CONFIDENT,
    CPU_KEYS,
    GIB,
    GPU_KEYS,
    SECONDS,
    TARGET,
    ColumnMapping,
    Unit,
    guess_mapping,
)
from dlsched.workload.readers.options import ReadOptions
from dlsched.workload.readers.questions import MappingNeeded, per_worker, what_are_cores, whose_gpus
from dlsched.workload.readers.source import TraceText, guarded, open_trace
from dlsched.workload.readers.table import (
    Table,
    need_columns,
    parquet_columns,
    parquet_sample,
    parquet_table,
    read_table,
    sniff,
)

EPOCH_FROM_S = 1e8
_TEXTS = {
    "job_id": "job_id", "user": "user", "group": "group", "model": "model", "profile": "profile",
    "job_class": "job_class",
    "partition": "partition", "gpu_types": "gpu_types", "features": "features", "status": "recorded_status",
    "nodes": "recorded_nodes",
}  # fmt: skip
_NUMBERS = {
    "min_workers": "min_workers", "max_workers": "max_workers", "nice": "nice", "priority": "priority",
    "weight": "weight_usd_per_s", "utility_1": "utility_1", "utility_2": "utility_2", "utility_3": "utility_3",
    **{column.name: column.name for column in GANG_COLUMNS},
}  # fmt: skip
_TIMES = {"due": "due_s", "start": "recorded_start_s", "end": "recorded_end_s"}
_SPANS = {"limit": "limit_s", "held": "held_s", "cancel_after": "cancel_after_s"}


def table_head(text: TraceText) -> tuple[tuple[str, ...], list[list[str]]]:
    """Return header and first rows, as strings, of a CSV or Parquet table."""
    if not text.is_parquet:
        dialect = sniff(text.data)
        return dialect.header, [list(row) for row in dialect.sample]
    return tuple(parquet_columns(text)), parquet_sample(text)


@guarded
def file_head(source: bytes, name: str) -> tuple[tuple[str, ...], list[list[str]]]:
    """Return header and first rows, as strings, of a file with a table; InputError if it cannot be read."""
    return table_head(open_trace(source, name))


def read_csv(text: TraceText, options: ReadOptions) -> Draft:
    """Read a table through the given mapping, or through the guessed one where that is clear.

    The native table is the case where every deciding column has its native name.
    """
    if options.mapping is None:
        return _read_guessed(text, options)
    need_columns(table_head(text)[0], options.mapping.columns, f"file {text.name} with this column mapping")
    return read_mapped(text, options.mapping, options)


def _read_guessed(text: TraceText, options: ReadOptions) -> Draft:
    header, sample = table_head(text)
    guess = guess_mapping(header, sample)
    _refuse_unclear(text.name, header, guess)
    sure = ColumnMapping(fields={k: f for k, f in guess.fields.items() if f.confidence >= CONFIDENT})
    is_per_worker = _is_per_worker(text, sure, options)
    used = per_worker(sure) if is_per_worker else sure
    draft = read_mapped(text, used, options)
    if is_per_worker:
        draft.assumptions.append("GPUs, CPUs and memory are those of each worker")
    for key, found in used.fields.items():
        if found.confidence < 1:
            draft.assumptions.append(f"Column {found.column!r} was read as: {TARGET[key].help.rstrip('.').lower()}")
    unused = [name for name in header if name and name not in sure.columns]
    if unused:
        draft.ledger.notes.append(f"Columns not used: {first_of(unused, 20)}")
    return draft


def _is_per_worker(text: TraceText, mapping: ColumnMapping, options: ReadOptions) -> bool:
    """Return whether requests are those of each worker; MappingNeeded where that is not known and matters."""
    fields = mapping.fields
    if not {"gpus", "workers"} <= set(fields) or "gpus_per_worker" in fields:
        return False
    if options.gpus_counted != "ask":
        return options.gpus_counted == "per-worker"
    if fields["gpus"].confidence == fields["workers"].confidence == 1:
        return False  # by the names of our own table, which are defined
    table = _columns(text, (fields["gpus"].column, fields["workers"].column))
    gpus, workers = (
        numbers(table.columns[fields[key].column], decimal_comma=table.delimiter == ";").values
        for key in ("gpus", "workers")
    )
    question = whose_gpus(text.name, mapping, gpus, workers)
    if question is not None:
        raise question
    return False


def _columns(text: TraceText, names: Sequence[str]) -> Table:
    return parquet_table(text, names) if text.is_parquet else read_table(text, sniff(text.data), names)


def _refuse_unclear(name: str, header: Sequence[str], guess: ColumnMapping) -> None:
    if missing := guess.missing():
        why = f"no column was recognised for {', '.join(missing)}; its columns are: {first_of(header)}"
        do = "Map the columns, or rename them to job_id, submit_time_s, num_gpus, duration_s"
        if sum(re.fullmatch(NUMBER, name.strip()) is not None for name in header) > len(header) / 2:
            why, do = f"its first line holds numbers, not column names: {first_of(header)}", "Add a header line"
        raise MappingNeeded(f"file {name}", why, do, guess)
    if guess.confidence < CONFIDENT:
        pairs = ", ".join(f"{f.column!r} for {k}" for k, f in guess.fields.items() if f.confidence < CONFIDENT)
        raise MappingNeeded(f"file {name}", f"the columns are not clear: perhaps {pairs}", "Confirm the mapping", guess)


# ---- reading through a mapping -------------------------------------------------------------------


def read_mapped(text: TraceText, mapping: ColumnMapping, options: ReadOptions) -> Draft:
    """Return the draft of a table whose columns are known.

    Raises
    ------
    InputError
        When the mapping is incomplete, or dates and plain seconds are mixed; MappingNeeded also where only cores are
        given and ``options.processors`` does not say what they stand for.
    """
    if missing := mapping.missing():
        raise MappingNeeded(f"file {text.name}", f"the mapping lacks {', '.join(missing)}", "Map them too", mapping)
    return _Mapped(_columns(text, mapping.columns), mapping, options, text.name).draft()


def instants(column: Any, unit: Unit, *, decimal_comma: bool = False) -> tuple[Read, bool]:
    """Return a column of times in seconds, and whether they count from 1970."""
    if unit == "timestamp" or pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        return timestamps(column), True
    read = numbers(column, decimal_comma=decimal_comma)
    return Read(read.values * SECONDS[unit or "s"], read.missing, read.bad), unit == "unix"


def spans(column: Any, unit: Unit, *, decimal_comma: bool = False) -> Read:
    """Return a column of durations in seconds."""
    if unit == "clock":
        return clock_spans(column)
    read = numbers(column, decimal_comma=decimal_comma)
    return Read(read.values * SECONDS[unit or "s"], read.missing, read.bad)


def looks_like_epoch(values: Floats) -> bool:
    """Return whether every known time is more than three years after zero: then zero is 1970."""
    return bool(np.isfinite(values).any() and np.nanmin(values) >= EPOCH_FROM_S)


class _Mapped:
    """One pass over a mapped table."""

    def __init__(self, table: Table, mapping: ColumnMapping, options: ReadOptions, name: str) -> None:
        self.table, self.mapping, self.fields = table, mapping, mapping.fields
        self.options, self.name = options, name
        self.ledger = table.ledger(mapping.fields["job_id"].column if "job_id" in mapping.fields else "")
        self.comma = table.delimiter == ";"
        self.assumptions: list[str] = []

    def draft(self) -> Draft:
        submit_s, absolute = self._submit()
        floats = {name: self._time(key, absolute) for key, name in _TIMES.items() if key in self.fields}
        run_s = self._run(floats)
        workers, per_worker = self._gpus()
        floats |= self._demands(workers)
        for key, name in _NUMBERS.items():
            if key in self.fields:
                floats[name] = optional(self.ledger, self._numbers(key), key, self._column(key))
        for key, name in _SPANS.items():
            if key in self.fields:
                floats[name] = optional(self.ledger, self._span(key), key, self._column(key))
        texts = {name: self._column(key) for key, name in _TEXTS.items() if key in self.fields}
        return Draft(
            self.ledger, submit_s, run_s, workers, per_worker, texts, floats, absolute, assumptions=self.assumptions
        )

    def _column(self, key: str) -> Any:
        return self.table.columns[self.fields[key].column]

    def _numbers(self, key: str) -> Read:
        return numbers(self._column(key), decimal_comma=self.comma)

    def _instants(self, key: str) -> tuple[Read, bool]:
        """Return times in seconds and whether they are dates."""
        return instants(self._column(key), self.fields[key].unit, decimal_comma=self.comma)

    def _submit(self) -> tuple[Floats, bool]:
        read, dates = self._instants("submit")
        submit_s = required(self.ledger, read, "submission time", self._column("submit"))
        if not dates and self.fields["submit"].column != "submit_s" and looks_like_epoch(submit_s):
            self.assumptions.append("Submission times look like seconds since 1970; time zero = the first submission")
            return submit_s, True
        if dates:
            self.assumptions.append("Time zero = the first submission; times without a time zone are used as recorded")
        return submit_s, dates

    def _time(self, key: str, absolute: bool) -> Floats:
        """Return a time column on the clock of the submissions."""
        read, dates = self._instants(key)
        values = optional(self.ledger, read, key, self._column(key))
        has_times = np.isfinite(values).any()
        if has_times and absolute != (dates or (absolute and looks_like_epoch(values))):
            is_date, is_plain = ("submissions", key) if absolute else (key, "submissions")
            why = f"the {is_date} are dates but the {is_plain} are plain seconds"
            raise InputError(f"column {self.fields[key].column!r}", why, "Use the same form for both")
        return values

    def _run(self, floats: dict[str, Floats]) -> Floats:
        if "run" not in self.fields:
            self.assumptions.append("Run time = end - start")
            return floats["recorded_end_s"] - floats["recorded_start_s"]
        return required(self.ledger, self._span("run"), "run time", self._column("run"))

    def _span(self, key: str) -> Read:
        return spans(self._column(key), self.fields[key].unit, decimal_comma=self.comma)

    def _gpus(self) -> tuple[Floats, Floats]:
        """Return workers and GPUs per worker from whichever of the three columns are there."""
        if not self.mapping.has_gpus:
            return self._cores()
        keys = [key for key in GPU_KEYS if key in self.fields]
        have = {
            key: required(self.ledger, self._numbers(key), key.replace("_", " "), self._column(key)) for key in keys
        }
        gpus, workers, each = have.get("gpus"), have.get("workers"), have.get("gpus_per_worker")
        if workers is not None and each is not None:
            return workers, each
        if gpus is not None and workers is not None:
            return workers, gpus / np.where(workers > 0, workers, np.nan)
        if gpus is not None and each is not None:
            return np.where(each > 0, gpus / np.where(each > 0, each, 1), 1.0), each
        if gpus is not None:
            return split_gpus(gpus)
        if workers is not None:
            self.assumptions.append("No GPU column: one GPU per worker")
            return workers, np.ones(len(workers))
        self.assumptions.append("No worker column: one worker per job")
        return np.ones(self.table.rows), have["gpus_per_worker"]

    def _cores(self) -> tuple[Floats, Floats]:
        """Return workers and GPUs per worker of a table that gives only cores: as GPUs, or jobs without GPUs."""
        key = next(key for key in CPU_KEYS if key in self.fields)
        cores = required(self.ledger, self._numbers(key), "number of cores", self._column(key))
        if self.options.processors == "auto":
            raise what_are_cores(self.name, self.mapping, cores)
        if self.options.processors == "cpus":
            self.assumptions.append("No GPU column: jobs without GPUs, each with all its cores on one node")
            return split_gpus(np.where(np.isnan(cores), np.nan, 0.0))
        each = self.options.gpus_per_processor
        self.assumptions.append(f"No GPU column: one core counted as {each:g} GPU")
        return split_gpus(cores * each)

    def _demands(self, workers: Floats) -> dict[str, Floats]:
        demands: dict[str, Floats] = {}
        for name, whole, each, scale in (
            ("cpus_per_worker", "cpus", "cpus_per_worker", dict[str, float]()),
            ("mem_gib_per_worker", "mem", "mem_per_worker", GIB),
        ):
            key = each if each in self.fields else whole
            cores_are_gpus = not self.mapping.has_gpus and self.options.processors == "gpus"
            if key in self.fields and not (key in CPU_KEYS and cores_are_gpus):
                values = optional(self.ledger, self._numbers(key), key, self._column(key))
                values = values * scale.get(self.fields[key].unit or "gib", 1.0)
                demands[name] = values if key == each else values / np.maximum(workers, 1)
        return demands


# ---- signs -----------------------------------------------------------------------------------------


def _native_signs(head: Head) -> Signs | None:
    if head.is_parquet:
        return Signs(1, 1)
    header = set(head.dialect.header)
    signs = ({"job_id"}, {"submit_time_s", "submit_s", "submit_time"},
             {"num_gpus", "workers", "gpus_per_worker"}, {"duration_s", "work"})  # fmt: skip
    return Signs(len(signs), len(signs)) if all(sign & header for sign in signs) else None


def _csv_signs(head: Head) -> Signs | None:
    if head.is_parquet:
        return None
    dialect = head.dialect
    if head.data.lstrip().startswith((b"[", b"{", b"<", b";")) or not any(name for name in dialect.header):
        return None
    needed = 3 - len(guess_mapping(dialect.header, dialect.sample).missing())
    return Signs(1 + needed, 4)


NATIVE = TraceFormat("native", "dlsched table", _native_signs, read_csv, reads_parquet=True)
CSV = TraceFormat(
    "csv",
    "generic CSV",
    _csv_signs,
    read_csv,
    choices=("gpus_counted", "processors", "gpus_per_processor"),
    reads_parquet=True,
    fallback=True,
)
