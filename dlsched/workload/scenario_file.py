"""Scenario files: JSON and TOML with one content, written whole or not at all.

``docs/scenario-format.md`` describes it for users. A scenario becomes plain data first (dicts, lists, texts, numbers):
a missing value is None in a column and a left-out key elsewhere. JSON has null for it; TOML has no null and uses the
empty text "". Infinity and NaN are in neither. Workloads of more than ``INLINE_JOBS`` jobs go to a Parquet table beside
the file.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from dlsched.domain.assumptions import Assumption, stated
from dlsched.domain.cluster import Cluster
from dlsched.domain.energy import EnergySetup
from dlsched.domain.errors import InputError, reading, validated
from dlsched.domain.model import FrozenModel
from dlsched.domain.names import names_hint
from dlsched.domain.queue_tree import QueueTree
from dlsched.domain.scenario import FORMAT_VERSION, Scenario, SimulationRules, SpeedSpec
from dlsched.domain.slurm import SlurmSetup
from dlsched.domain.workload import COLUMN, Ints, Workload
from dlsched.speed.outside import check_speed
from dlsched.workload.sidecar import read_beside, sha256_of, table_bytes, table_columns
from dlsched.workload.studies.registry import draw, parse

INLINE_JOBS = 5_000
Format = Literal["json", "toml"]
MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""Format version -> function that turns such a document into one of the next version."""

_LARGEST_INT = 2**63 - 1
_DEEPEST = 50
_MOST_BYTES = 200 * 1024**2
_MOST_VALUES = 20_000_000
"""More than a scenario of 200 MiB has that was written by this program; each takes about 100 bytes of memory."""
_DEEP_KEY = re.compile(r"""(?m)(?:^|[\[{,])[ \t]*+((?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){50})""")
"""A key of TOML with more parts than that: a parser of it takes time and memory by their square."""


class WorkloadPart(FrozenModel):
    """Where the jobs come from. With a generator, columns or a table are that draw after edits by hand."""

    generator: dict[str, Any] | None = Field(None, description="Kind of generator and its parameters.")
    columns: dict[str, list[Any]] | None = Field(
        None, description="The jobs themselves: a list for each column, all equally long."
    )
    order: list[int] | None = Field(
        None, description="Beside columns: row numbers of the source, which break ties; empty = order of the lists."
    )
    table: str | None = Field(None, min_length=1, description="Parquet file with the jobs, beside this file.")
    file: str | None = Field(
        None, min_length=1, description="Trace in a format that can be imported, in the folder of this file or below."
    )
    read_options: dict[str, Any] = Field(default_factory=dict, description="How the trace is read.")
    sha256: str | None = Field(
        None, pattern=r"^[0-9a-fA-F]{64}$", description="SHA-256 that the table or trace must have; empty = any."
    )
    meta: dict[str, str] = Field(
        default_factory=dict,
        description="Facts about the source: time_zero (ISO 8601, the date of second 0), time_zone, source.",
    )

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        given = [name for name in ("columns", "table", "file") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"{given[0]} and {given[1]} exclude each other")
        if not given and self.generator is None:
            raise ValueError("needs one of: columns, table, file, generator")
        if self.generator is not None and self.file is not None:
            raise ValueError("file and generator exclude each other")
        return self


class ScenarioDocument(FrozenModel):
    """All keys of a scenario file."""

    schema_ref: str = Field(
        "",
        alias="$schema",
        max_length=2000,
        description="Path or address of the JSON Schema, for editors; it is kept and plays no part in a run.",
    )
    format_version: int = Field(description="1. Files of a newer version are refused; older ones are converted.")
    name: str = Field("scenario", description="Name of the scenario.")
    data_kind: Literal["example", "generated", "trace"] = Field(
        "trace", description="What the jobs are; results carry it as a label."
    )
    seed: int = Field(
        0,
        ge=-_LARGEST_INT,
        le=_LARGEST_INT,
        description="Seed of all draws: estimates, failures, generated jobs.",
    )
    assumptions: tuple[Assumption, ...] = Field(
        (),
        description="What was assumed, shown with every result: texts, or tables with kind, text and, for prices, "
        "since.",
    )
    options: SimulationRules = Field(SimulationRules(), description="Rules of the simulation.")
    speed: SpeedSpec = Field(SpeedSpec(), description="How the speed of a job follows from its number of workers.")
    cluster: Cluster = Field(description="The nodes, or the machines that a policy may rent.")
    read: dict[str, int] = Field(
        default_factory=dict, description="Counts of the reader of the trace: rows, kept, repaired, dropped."
    )
    queues: QueueTree | None = Field(None, description="Quotas of queues for the policy queue-tree; empty = no quotas.")
    slurm: SlurmSetup | None = Field(None, description="Settings of a Slurm; --slurm FILE reads them.")
    energy: EnergySetup | None = Field(
        None, description="Power, price and carbon of electricity, to count the energy of a run; empty = not counted."
    )
    workload: WorkloadPart = Field(description="The jobs.")


def read_scenario(source: Path | str | bytes, base_dir: Path | None = None) -> Scenario:
    """Return the scenario of a file or of a file's bytes; JSON or TOML, recognised by content.

    Parameters
    ----------
    source
        Path of the file, or its content.
    base_dir
        Folder below which files named by the scenario are looked for; by default the folder of the path, for bytes
        none.

    Raises
    ------
    InputError
        Naming the place in the file, the rule and the value.
    """
    if not isinstance(source, bytes):
        path = Path(source)
        try:
            _check_size(path.stat().st_size)
            source, base_dir = path.read_bytes(), base_dir or path.parent
        except OSError as error:
            raise InputError(f"file {path}", f"cannot be read ({error.strerror})", "Check the path") from error
    with reading("scenario"):
        return from_document(_parsed(source), base_dir)


def write_scenario(scenario: Scenario, path: Path | str, *, inline: bool = False) -> None:
    """Write a scenario to ``NAME.json`` or ``NAME.toml``; a failed write leaves an earlier file as it was.

    More than ``INLINE_JOBS`` jobs go to ``NAME.jobs.parquet`` beside it, unless ``inline``.

    Raises
    ------
    InputError
        If the name ends otherwise or the file cannot be written.
    """
    path = Path(path)
    kind = path.suffix.lower().lstrip(".")
    if kind not in ("json", "toml"):
        raise InputError(f"file {path}", "must end in .json or .toml", "Choose another name")
    document = to_document(scenario)
    if not inline and "columns" in document["workload"] and len(scenario.workload) > INLINE_JOBS:
        document["workload"] |= _write_table(scenario, path)
        for name in ("columns", "order"):
            document["workload"].pop(name, None)
    _write_whole(path, _text(document, "json" if kind == "json" else "toml").encode())


def scenario_bytes(scenario: Scenario, kind: Format = "json") -> bytes:
    """Return the content of a scenario file with all jobs inside, for a download."""
    return _text(to_document(scenario), kind).encode()


def to_document(scenario: Scenario) -> dict[str, Any]:
    """Return a scenario as plain data that holds everything.

    A generated workload that was not edited is written as its generator, other jobs as columns.
    """
    rules = {"queues": scenario.queues, "slurm": scenario.slurm, "energy": scenario.energy}
    return {
        **({"$schema": scenario.schema_ref} if scenario.schema_ref else {}),
        "format_version": FORMAT_VERSION,
        "name": scenario.name,
        "data_kind": scenario.data_kind,
        "seed": scenario.seed,
        "assumptions": [one.plain() for one in scenario.assumptions],
        "options": scenario.options.model_dump(mode="json", exclude_none=True),
        "speed": scenario.speed.model_dump(mode="json", exclude_none=True),
        "cluster": scenario.cluster.model_dump(mode="json", exclude_none=True),
        "read": {name: int(count) for name, count in scenario.read.items()},
        **{
            name: one.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
            for name, one in rules.items()
            if one is not None
        },
        "workload": _workload_part(scenario),
    }


def from_document(document: Mapping[str, Any], base_dir: Path | None = None) -> Scenario:
    """Return the scenario of a document; files it names are looked for below ``base_dir``.

    Raises
    ------
    InputError
        Naming the place in the document, the rule and the value.
    """
    if not isinstance(document, Mapping):
        raise InputError("scenario", "must be an object with keys such as format_version", "Choose a scenario file")
    _check_values(document, "")
    parts = validated(ScenarioDocument, _migrated(dict(document)), "scenario")
    check_speed(parts.speed)
    jobs = _read_jobs(parts, base_dir)
    return Scenario(
        workload=jobs.workload,
        cluster=parts.cluster,
        options=parts.options,
        speed=parts.speed,
        seed=parts.seed,
        name=parts.name,
        data_kind=parts.data_kind,
        generator=parts.workload.generator,
        read=parts.read or jobs.read,
        queues=parts.queues,
        slurm=parts.slurm,
        energy=parts.energy,
        schema_ref=parts.schema_ref,
        assumptions=tuple(dict.fromkeys([*parts.assumptions, *stated(*jobs.assumptions)])),
    )


# ---- writing ---------------------------------------------------------------------------------------


def _workload_part(scenario: Scenario) -> dict[str, Any]:
    workload = scenario.workload
    part: dict[str, Any] = {}
    if scenario.generator is not None:
        part["generator"] = _without_none(scenario.generator)
        if draw(scenario.generator, scenario.seed) == workload:
            return part
    part["meta"] = dict(workload.meta)
    part["columns"] = {name: _plain_values(values) for name, values in workload.columns().items()}
    if not np.array_equal(workload.order, np.arange(len(workload))):
        part["order"] = workload.order.tolist()
    return part


def _plain_values(values: np.ndarray[Any, Any]) -> list[Any]:
    if values.dtype == np.float64 and np.isnan(values).any():
        return [None if math.isnan(value) else value for value in values.tolist()]
    plain: list[Any] = values.tolist()
    return plain


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _without_none(part) for key, part in value.items() if part is not None}
    if isinstance(value, (list, tuple)):
        return [_without_none(part) for part in value]
    return value


# ---- reading ---------------------------------------------------------------------------------------


def _check_values(value: Any, path: str, depth: int = 0) -> None:
    """Raise InputError at the first number that is not finite or too large, half a character, or too deep nesting."""
    if depth > _DEEPEST:
        raise InputError(
            f"scenario, {path[:80]}…", f"is nested more than {_DEEPEST} levels deep", "Choose a scenario file"
        )
    if isinstance(value, Mapping):
        for key, part in value.items():
            _check_values(key, path or "a key")
            _check_values(part, f"{path}.{key}" if path else str(key), depth + 1)
    elif isinstance(value, (list, tuple)):
        for number, part in enumerate(value):
            _check_values(part, f"{path}.{number}", depth + 1)
    elif isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            why = f"has {ascii(value[error.start])[1:-1]}, half of a character without the other half"
            raise InputError(f"scenario, {path}", why, "Write the whole character") from None
    elif isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"scenario, {path}", f"must be a finite number, got {value}", "Leave out missing values")
    elif isinstance(value, int) and abs(value) > _LARGEST_INT:
        raise InputError(f"scenario, {path}", f"must be at most {_LARGEST_INT:,}", "Correct the value")


def _migrated(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document in the current format."""
    version = document.get("format_version")
    if version is None:
        what, why = "scenario, format_version", "is missing, so this may not be a scenario file"
        raise InputError(what, why, f"Add format_version = {FORMAT_VERSION}")
    if not isinstance(version, int) or isinstance(version, bool):
        raise InputError("scenario, format_version", f"must be a whole number, got {version!r:.60}", "Correct it")
    if version > FORMAT_VERSION:
        why = f"is {version}: written by a newer dlsched; this one reads up to {FORMAT_VERSION}"
        raise InputError("scenario, format_version", why, "Update dlsched")
    while version < FORMAT_VERSION:
        if version not in MIGRATIONS:
            raise InputError("scenario, format_version", f"{version} was never used", f"Use {FORMAT_VERSION}")
        document = {**MIGRATIONS[version](document), "format_version": version + 1}
        version += 1
    return document


@dataclass(frozen=True)
class _Jobs:
    """Jobs; where a trace reader was used, its counts and what it assumed."""

    workload: Workload
    read: Mapping[str, int] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()


def _read_jobs(parts: ScenarioDocument, base_dir: Path | None) -> _Jobs:
    part = parts.workload
    if part.generator is not None:
        parse(part.generator)
    if part.file is not None:
        return _read_trace(part, base_dir)
    if part.table is not None:
        columns = table_columns(read_beside(part.table, part.sha256, base_dir), part.table)
        return _Jobs(Workload.from_columns(columns, part.meta))
    if part.columns is not None:
        columns = {name: _column(name, values) for name, values in part.columns.items()}
        if part.order is not None:
            columns["order"] = _order(part.order, columns)
        return _Jobs(Workload.from_columns(columns, part.meta))
    return _Jobs(draw(part.generator or {}, parts.seed))


def _read_trace(part: WorkloadPart, base_dir: Path | None) -> _Jobs:
    from dlsched.workload.readers import ReadOptions, read_trace  # kept local: readers are slow to import

    name = part.file or ""
    options = validated(ReadOptions, part.read_options, "scenario, workload.read_options")
    trace = read_trace(read_beside(name, part.sha256, base_dir), name, options)
    return _Jobs(trace.workload, trace.report.counts, trace.assumptions)


def _column(name: str, values: list[Any]) -> list[Any]:
    """Return the values with None for missing ones; say which one has the wrong type."""
    if name not in COLUMN:
        raise InputError(f"scenario, workload.columns.{name[:60]}", "is not a column", names_hint(name, COLUMN))
    is_text = COLUMN[name].kind == "text"
    allowed: tuple[type, ...] = (str, int) if is_text else (int, float)
    for number, value in enumerate(values):
        missing = value is None or (not is_text and value == "")
        if not missing and (not isinstance(value, allowed) or isinstance(value, bool)):
            what = f"scenario, workload.columns.{name}.{number}"
            raise InputError(what, f"must be a {'text' if is_text else 'number'}, got {value!r:.60}", "Correct it")
    return values if is_text else [None if value == "" else value for value in values]


def _order(order: list[int], columns: Mapping[str, list[Any]]) -> Ints:
    jobs = len(columns.get("job_id", ()))
    if len(order) != jobs:
        raise InputError("scenario, workload.order", f"has {len(order)} numbers for {jobs} jobs", "Leave it out")
    return np.array(order, dtype=np.int64)


# ---- text to document ---------------------------------------------------------------------------------------


def _check_size(size: int) -> None:
    if size > _MOST_BYTES:
        why = f"has {size / 1024**2:,.0f} MiB; the limit is {_MOST_BYTES // 1024**2} MiB"
        raise InputError("scenario", why, "Keep the jobs in a table beside it")


def _check_text(text: str, *, is_json: bool) -> None:
    """Raise InputError for what a parser would need too much time or memory for."""
    values = text.count(",") + text.count("[") + text.count("{" if is_json else "=")
    if values > _MOST_VALUES:
        why = f"has about {values:,} values; the limit is {_MOST_VALUES:,}"
        raise InputError("scenario", why, "Keep the jobs in a table beside it")
    if not is_json and (deep := _DEEP_KEY.search(text)) is not None:
        line = text.count("\n", 0, deep.start(1)) + 1
        why = f"a key has more than {_DEEPEST} parts: {deep[1][:40]}…"
        raise InputError(f"scenario, line {line}", why, "Choose a scenario file")


def _parsed(data: bytes) -> dict[str, Any]:
    _check_size(len(data))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError("scenario", "is not UTF-8 text", "Save the file as UTF-8") from error
    if not text.strip():
        raise InputError("scenario", "the file is empty", "Choose a scenario file")
    is_json = text.lstrip().startswith("{")
    _check_text(text, is_json=is_json)
    try:
        return dict(json.loads(text)) if is_json else tomllib.loads(text)
    except RecursionError as error:
        raise InputError("scenario", "is nested too deeply", "Choose a scenario file") from error
    except ValueError as error:
        # Python's own words on a number that it will not read are about Python.
        told = "a number has more than 4,300 digits" if "integer string conversion" in str(error) else str(error)
        why = f"is not valid {'JSON' if is_json else 'TOML'}: {told:.200}"
        raise InputError("scenario", why, "Correct the file there") from error


# ---- document to text ---------------------------------------------------------------------------------------


def _text(document: Mapping[str, Any], kind: Format) -> str:
    if kind == "json":
        return _json(document, "") + "\n"
    import tomli_w  # kept local: only TOML files need it

    return tomli_w.dumps(_for_toml(document))


def _json(value: Any, indent: str) -> str:
    """Return JSON with one key a line and lists of plain values on one line, so that columns stay readable."""
    inner = indent + "  "
    if isinstance(value, Mapping) and value:
        keys = [
            f"{inner}{json.dumps(str(key), ensure_ascii=False)}: {_json(part, inner)}" for key, part in value.items()
        ]
        return "{\n" + ",\n".join(keys) + f"\n{indent}}}"
    if isinstance(value, (list, tuple)) and any(isinstance(part, (Mapping, list, tuple)) for part in value):
        return "[\n" + ",\n".join(inner + _json(part, inner) for part in value) + f"\n{indent}]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _for_toml(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _for_toml(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return ["" if part is None else _for_toml(part) for part in value]
    return value


def _write_table(scenario: Scenario, path: Path) -> dict[str, str]:
    data = table_bytes(scenario.workload)
    name = f"{path.stem}.jobs.parquet"
    _write_whole(path.with_name(name), data)
    return {"table": name, "sha256": sha256_of(data)}


def _write_whole(path: Path, data: bytes) -> None:
    """Write a file under another name first, so that a reader never sees half of it."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise InputError(f"file {path}", f"cannot be written ({error.strerror})", "Choose another folder") from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink()
