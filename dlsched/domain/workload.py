"""A workload: equal-length columns, one row a job, sorted by submission and then by source order."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.columns import COLUMN, COLUMNS, CPU, DISK, GPU, MEM, RESOURCES, STEP_TERMS, Column
from dlsched.domain.errors import InputError
from dlsched.domain.names import names_hint
from dlsched.domain.units import DAY_S

__all__ = [
    "COLUMN", "COLUMNS", "CPU", "DISK", "GPU", "MEM", "RESOURCES", "STEP_TERMS", "Column", "Floats", "Ints", "Texts",
    "Workload", "feature_choices", "gpu_type_names", "partition_names",
]  # fmt: skip

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Texts = NDArray[np.object_]

LARGEST_NUMBER = 1e15
_TEXTS_AT_ONCE = 20_000
MOST_SERVERS = 10**9
SAME_NUMBER = 1e-9
NOT_NEGATIVE = (
    *(f"{resource}_per_{part}" for resource in RESOURCES[1:] for part in ("worker", "server")),
    *STEP_TERMS,
    "held_s",
)


@dataclass(frozen=True, eq=False)
class Workload:
    """Jobs as numpy columns of equal length, sorted by (submit_s, order).

    ``order`` is the row in the source and breaks every tie. Optional columns are None when absent; a missing
    value inside an optional float column is NaN, inside a text column the empty string. Build with
    :meth:`from_columns`, which checks and sorts; the columns are made read-only.
    """

    job_id: Texts
    submit_s: Floats
    work: Floats
    workers: Ints
    gpus_per_worker: Floats
    order: Ints
    cpus_per_worker: Floats | None = None
    mem_gib_per_worker: Floats | None = None
    disk_gib_per_worker: Floats | None = None
    servers: Ints | None = None
    cpus_per_server: Floats | None = None
    mem_gib_per_server: Floats | None = None
    disk_gib_per_server: Floats | None = None
    workers_per_server: Floats | None = None
    limit_gpus: Floats | None = None
    limit_cpus: Floats | None = None
    limit_mem_gib: Floats | None = None
    limit_disk_gib: Floats | None = None
    batch_s: Floats | None = None
    step_s: Floats | None = None
    transfer_s: Floats | None = None
    worker_overhead_s: Floats | None = None
    server_overhead_s: Floats | None = None
    spread_s: Floats | None = None
    min_workers: Ints | None = None
    max_workers: Ints | None = None
    limit_s: Floats | None = None
    held_s: Floats | None = None
    cancel_after_s: Floats | None = None
    user: Texts | None = None
    group: Texts | None = None
    model: Texts | None = None
    profile: Texts | None = None
    job_class: Texts | None = None
    partition: Texts | None = None
    gpu_types: Texts | None = None
    features: Texts | None = None
    priority: Floats | None = None
    nice: Floats | None = None
    due_s: Floats | None = None
    weight_usd_per_s: Floats | None = None
    utility_1: Floats | None = None
    utility_2: Floats | None = None
    utility_3: Floats | None = None
    recorded_start_s: Floats | None = None
    recorded_end_s: Floats | None = None
    recorded_status: Texts | None = None
    recorded_nodes: Texts | None = None
    meta: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any], meta: Mapping[str, str] | None = None) -> Workload:
        """Return a checked, sorted workload.

        Parameters
        ----------
        columns
            Column name -> array-like of equal lengths; required: job_id, submit_s, work. ``workers`` and
            ``gpus_per_worker`` default to 1. ``order`` defaults to the position.
        meta
            Facts about the source: ``time_zero`` (ISO 8601), ``time_zone``, ``source``.

        Raises
        ------
        InputError
            Naming row (1-based), column, value and rule of the first violation.
        """
        unknown = sorted(set(columns) - set(COLUMN) - {"order"})
        if unknown:
            raise InputError(f"column {unknown[0]!r}", "is not a workload column", names_hint(unknown[0], COLUMN))
        missing = [name for name in ("job_id", "submit_s", "work") if columns.get(name) is None]
        if missing:
            raise InputError("workload", f"needs the column {missing[0]!r}", "Add it or map it from another column")
        length = len(columns["job_id"])
        given: dict[str, Any] = {"workers": np.ones(length, np.int64), "gpus_per_worker": np.ones(length)}
        given |= {name: values for name, values in columns.items() if values is not None}
        typed: dict[str, Any] = {name: _typed(COLUMN[name], given[name], length) for name in given if name != "order"}
        typed["order"] = np.asarray(given.get("order", np.arange(length)), dtype=np.int64)
        _check(typed)
        by_time = np.lexsort((typed["order"], typed["submit_s"]))
        sorted_columns = {name: _frozen(values[by_time]) for name, values in typed.items()}
        return cls(**sorted_columns, meta=dict(meta or {}))

    def __len__(self) -> int:
        return len(self.submit_s)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns that are present, in table order, without ``order``."""
        return {c.name: values for c in COLUMNS if (values := getattr(self, c.name)) is not None}

    def select(self, rows: Any) -> Workload:
        """Return the workload of these rows (index array, mask or slice; sorted order is the caller's to keep)."""
        return self._map(lambda values: values[rows])

    def head(self, count: int) -> Workload:
        """Return a view of the first ``count`` rows (no copy, also of the computed columns)."""
        view = object.__new__(Workload)  # checked already, and asked for at each arrival
        view.__dict__.update({name: values[:count] for name, values in self._present}, meta=self.meta)
        view.__dict__.update(demand=self.demand[:count], gpus=self.gpus[:count])
        if "server_demand" in self.__dict__:
            view.__dict__.update(server_demand=self.server_demand[:count])
        return view

    @cached_property
    def _present(self) -> list[tuple[str, NDArray[Any]]]:
        return [*self.columns().items(), ("order", self.order)]

    def with_columns(self, **columns: Any) -> Workload:
        """Return a copy with these columns added or replaced (None removes), checked again."""
        merged: dict[str, Any] = {**self.columns(), "order": self.order, **columns}
        return Workload.from_columns({k: v for k, v in merged.items() if v is not None}, self.meta)

    def _map(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Workload:
        present = {name: change(values) for name, values in self.columns().items()}
        return Workload(**present, order=change(self.order), meta=self.meta)

    @cached_property
    def demand(self) -> Floats:
        """What one worker holds, shape (jobs, resources) in the order of RESOURCES."""
        parts = (self.gpus_per_worker, self.cpus_per_worker, self.mem_gib_per_worker, self.disk_gib_per_worker)
        return self._side_by_side(parts, 0.0)

    @cached_property
    def server_demand(self) -> Floats:
        """What one parameter server holds, shape (jobs, resources); no GPUs."""
        parts = (None, self.cpus_per_server, self.mem_gib_per_server, self.disk_gib_per_server)
        return self._side_by_side(parts, 0.0)

    @cached_property
    def requested(self) -> Floats:
        """What the whole job holds at its requested width, servers included, shape (jobs, resources)."""
        held = self.workers[:, None] * self.demand
        if self.servers is not None:
            held = held + self.servers[:, None] * self.server_demand
        return _frozen(held)

    @cached_property
    def limit(self) -> Floats:
        """The user's limit for the whole job, shape (jobs, resources); infinite where there is none."""
        parts = (self.limit_gpus, self.limit_cpus, self.limit_mem_gib, self.limit_disk_gib)
        limit = np.array(self._side_by_side(parts, np.inf))
        return _frozen(np.where(np.isnan(limit), np.inf, limit))

    def _side_by_side(self, parts: Sequence[Floats | None], missing: float) -> Floats:
        fill = np.full(len(self), missing)
        return _frozen(np.column_stack([fill if part is None else part for part in parts]))

    @property
    def has_servers(self) -> bool:
        """Whether some job runs with parameter servers."""
        return self.servers is not None and bool(self.servers.any())

    @property
    def has_recorded_starts(self) -> bool:
        """Whether some job has a recorded start that a replay can be compared with: at or after its submission."""
        return self.recorded_start_s is not None and bool((self.recorded_start_s >= self.submit_s).any())

    @property
    def days(self) -> int:
        """Number of 24 h days, from the start of the trace, in which jobs are submitted; resampling draws from them."""
        return 0 if len(self) == 0 else int(self.submit_s[-1] // DAY_S) - int(self.submit_s[0] // DAY_S) + 1

    @property
    def all_at_once(self) -> bool:
        """Whether all jobs are submitted at one instant: they cannot arrive faster or slower."""
        return len(self) > 0 and bool(self.submit_s[0] == self.submit_s[-1])

    def servers_for(self, rows: Any, workers: Any) -> Ints:
        """Return the parameter servers that go with a width where no policy chooses them, shape of ``rows``.

        As many for each worker as the job requests, rounded up, and enough for ``workers_per_server``; 0 for jobs
        without servers.
        """
        width = np.asarray(workers, dtype=np.int64)
        if self.servers is None:
            return np.zeros(np.broadcast(np.asarray(rows), width).shape, dtype=np.int64)
        asked, of = self.servers[rows], self.workers[rows]
        servers = -(-asked * width // of)
        if self.workers_per_server is not None:
            ratio = self.workers_per_server[rows]
            served = np.where(np.isnan(ratio), np.inf, ratio)
            with np.errstate(over="ignore"):  # more than any cluster holds is as good as infinite
                needed = np.minimum(np.ceil(width / served - 1e-9), MOST_SERVERS)
            servers = np.maximum(servers, np.where(asked > 0, needed, 0)).astype(np.int64)
        return np.asarray(servers, dtype=np.int64)

    def widest_within_limit(self, most: Ints) -> Ints:
        """Return the largest width up to ``most`` (jobs,) that the user's limit holds with the servers that go with it.

        0 where it holds not even one worker.
        """
        if all(getattr(self, f"limit_{resource}") is None for resource in RESOURCES):
            return most
        rows, low, high = np.arange(len(self)), np.zeros_like(most), most
        while (low < high).any():  # what a gang holds only grows with its width
            middle = (low + high + 1) // 2
            held = middle[:, None] * self.demand + self.servers_for(rows, middle)[:, None] * self.server_demand
            holds = (held <= self.limit * (1 + SAME_NUMBER)).all(axis=1)
            low, high = np.where(holds, middle, low), np.where(holds, high, middle - 1)
        return low

    @cached_property
    def gpus(self) -> Floats:
        """GPUs of the whole job at its requested width."""
        return _frozen(self.workers * self.gpus_per_worker)

    @cached_property
    def content_hash(self) -> str:
        """Hash of every column's values; equal workloads have equal hashes on every machine."""
        digest = blake2b(digest_size=16)
        for name, values in self.columns().items():
            digest.update(name.encode() + b"\0")
            if values.dtype == object:
                for first in range(0, len(values), _TEXTS_AT_ONCE):
                    texts = list(map(str.encode, values[first : first + _TEXTS_AT_ONCE].tolist()))
                    parts = [b""] * (2 * len(texts))
                    parts[::2] = map(_length_bytes, map(len, texts))
                    parts[1::2] = texts
                    digest.update(b"".join(parts))
            else:
                digest.update(np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<")).data)
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Workload) and self.content_hash == other.content_hash

    def __hash__(self) -> int:
        return hash(self.content_hash)

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}


def gpu_type_names(accepted: str) -> frozenset[str]:
    """Return the names in a ``gpu_types`` entry, "A|B"; empty = every type."""
    return frozenset(name.strip() for name in accepted.split("|") if name.strip())


@lru_cache(maxsize=4096)
def partition_names(entry: str) -> frozenset[str]:
    """Return the names in a ``partition`` or ``features`` entry of a node, "a|b", or of a job's partition."""
    return gpu_type_names(entry)


@lru_cache(maxsize=4096)
def feature_choices(wanted: str) -> tuple[frozenset[str], ...]:
    """Return the sets of features of which a node must have one, of a job's "A&B" or "A&B|C"; empty = any node."""
    choices = (frozenset(name.strip() for name in one.split("&") if name.strip()) for one in wanted.split("|"))
    return tuple(names for names in choices if names)


@lru_cache(maxsize=4096)
def _length_bytes(length: int) -> bytes:
    return length.to_bytes(8, "little")


def _frozen(values: NDArray[Any]) -> NDArray[Any]:
    values = np.array(values) if values.base is not None and values.flags.writeable else values
    values.flags.writeable = False
    return values


def _typed(column: Column, values: Any, length: int) -> NDArray[Any]:
    """Return the column as its numpy type; say which row cannot be read."""
    if len(values) != length:
        raise InputError(f"column {column.name}", f"has {len(values)} rows, job_id has {length}", "Give equal lengths")
    if column.kind == "text":
        if isinstance(values, np.ndarray) and values.dtype == object and set(map(type, values)) <= {str}:
            return values  # readers hand over millions of ready strings
        return np.array([_text(value) for value in values], dtype=object)
    try:
        numbers = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.array([_number(column, row, value) for row, value in enumerate(values)])
    if column.kind == "float":
        return numbers
    whole = (np.abs(numbers) <= LARGEST_NUMBER) & (numbers == np.floor(numbers))
    bad = np.flatnonzero(~whole)
    if bad.size:
        raise _row_error(column.name, int(bad[0]), values[bad[0]], "must be a whole number")
    return numbers.astype(np.int64)


def _text(value: Any) -> str:
    missing = value is None or (isinstance(value, float) and np.isnan(value))
    return "" if missing else str(value)


def _number(column: Column, row: int, value: Any) -> float:
    try:
        return float("nan") if value is None else float(value)
    except (TypeError, ValueError):
        raise _row_error(column.name, row, value, "must be a number") from None


def _row_error(column: str, row: int, value: object, rule: str) -> InputError:
    shown = value.item() if isinstance(value, np.generic) else value
    return InputError(f"row {row + 1}, column {column}", f"{rule}, got {str(shown)[:60]!r}", "Correct or drop the row")


def _first_bad(columns: Mapping[str, Any], name: str, good: NDArray[np.bool_], rule: str) -> None:
    bad = np.flatnonzero(~good)
    if bad.size:
        raise _row_error(name, int(bad[0]), columns[name][bad[0]], rule)


def _check(columns: Mapping[str, Any]) -> None:
    """Raise InputError for the first row that breaks a rule."""
    _check_ids(columns["job_id"])
    for name, low, strict in (("submit_s", 0.0, False), ("work", 0.0, True), ("gpus_per_worker", 0.0, False)):
        values = columns[name]
        in_range = (values > low) if strict else (values >= low)
        _first_bad(
            columns,
            name,
            np.isfinite(values) & in_range & (values <= LARGEST_NUMBER),
            f"must be finite and {'above' if strict else 'at least'} {low:g}",
        )
    _first_bad(columns, "workers", (columns["workers"] >= 1) & (columns["workers"] <= 10**9), "must be at least 1")
    for name in NOT_NEGATIVE:
        if name in columns:
            _first_bad(
                columns,
                name,
                np.isfinite(columns[name]) & (columns[name] >= 0),
                "must be finite and at least 0",
            )
    if "weight_usd_per_s" in columns:
        weight = columns["weight_usd_per_s"]
        _first_bad(
            columns,
            "weight_usd_per_s",
            np.isnan(weight) | ((weight >= 0) & np.isfinite(weight)),
            "must be at least 0",
        )
    for name in (
        "due_s",
        "priority",
        "nice",
        "recorded_start_s",
        "recorded_end_s",
        "utility_1",
        "utility_2",
        "utility_3",
    ):
        if name in columns:
            _first_bad(columns, name, ~np.isinf(columns[name]), "must be finite or empty")
    for name in ("limit_s", "cancel_after_s"):
        if name in columns:
            values = columns[name]
            _first_bad(columns, name, np.isnan(values) | ((values > 0) & np.isfinite(values)), "must be above 0")
    asks = sum(columns.get(f"{resource}_per_worker", 0) for resource in RESOURCES)
    _first_bad(columns, "gpus_per_worker", asks > 0, "a job must request GPUs, CPUs or memory")
    _check_widths(columns)
    _check_servers(columns)


def _check_servers(columns: Mapping[str, Any]) -> None:
    if "servers" in columns:
        _first_bad(columns, "servers", (columns["servers"] >= 0) & (columns["servers"] <= 10**9), "must be at least 0")
    for name in ("workers_per_server", *(f"limit_{resource}" for resource in RESOURCES)):
        if name in columns:
            values = columns[name]
            good = np.isnan(values) | (np.isfinite(values) & (values > 0))
            _first_bad(columns, name, good, "must be above 0 or empty")


def _check_widths(columns: Mapping[str, Any]) -> None:
    low, high = columns.get("min_workers", columns["workers"]), columns.get("max_workers", columns["workers"])
    if "min_workers" in columns:
        _first_bad(
            columns,
            "min_workers",
            (low >= 1) & (low <= columns["workers"]),
            "must be from 1 to the requested workers",
        )
    if "max_workers" in columns:
        _first_bad(columns, "max_workers", high >= columns["workers"], "must be at least the requested workers")


def _check_ids(job_ids: Texts) -> None:
    distinct = set(job_ids)
    if len(distinct) == len(job_ids) and "" not in distinct:
        return
    seen: dict[str, int] = {}
    for row, job_id in enumerate(job_ids):
        if not job_id:
            raise _row_error("job_id", row, job_id, "must not be empty")
        if job_id in seen:
            raise _row_error("job_id", row, job_id, f"must be unique, row {seen[job_id] + 1} has it too")
        seen[job_id] = row
