"""Runs as one file to hand over: a zip of Parquet files and a manifest. Nothing in a file is believed unchecked."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

import dlsched
from dlsched.domain.errors import DAMAGED, InputError, StoreError, from_validation, reading, validated
from dlsched.domain.scenario import Scenario
from dlsched.store import runs, scenarios
from dlsched.store.columns import definition_of, scenario_of, table_schema, to_arrow
from dlsched.store.manifest import FORMAT, VERSION, Manifest, RunEntry, ScenarioEntry
from dlsched.store.record import run_id_of, run_key
from dlsched.store.schema import ADDED_COLUMNS, ENERGY_COLUMNS, TABLES, column_list
from dlsched.workload.parquet import ParquetLimits
from dlsched.workload.sidecar import MOST_ROWS, table_bytes

MAX_FILE_BYTES = 512 * 2**20
MAX_UNPACKED_BYTES = 512 * 2**20
"""What is exported is packed within its Parquet files: an archive is never much smaller than its files."""
MAX_TABLES_BYTES = 2**30
"""Of all tables of all runs in memory; a run of 100,000 jobs has about 50 MB."""
MAX_MANIFEST_BYTES = 32 * 2**20
_MANIFEST = "manifest.json"
_ASK = "Ask its owner to export it again"


@dataclass(frozen=True, slots=True)
class ImportReport:
    """Ids of the runs that are new, and of those that were here already."""

    added: tuple[str, ...]
    known: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Bundle:
    """A checked export file in memory."""

    manifest: Manifest
    scenarios: dict[str, Scenario]
    tables: dict[str, dict[str, pa.Table]]


# ---- writing -------------------------------------------------------------------------------------------


def export(cursor: Any, run_ids: Sequence[str]) -> bytes:
    """Return the runs and their scenarios as the bytes of a zip; StoreError when a run is not there."""
    if not run_ids:
        raise StoreError("Name at least one run to export.")
    files: dict[str, bytes] = {}
    rows: dict[str, int] = {}
    entries = [_export_run(cursor, run_id, files, rows) for run_id in dict.fromkeys(run_ids)]
    hashes = dict.fromkeys(entry["scenario_hash"] for entry in entries)
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": dlsched.__version__,
        "scenarios": [_export_scenario(cursor, scenario_hash, files, rows) for scenario_hash in hashes],
        "runs": entries,
        "files": {name: {"sha256": sha256(data).hexdigest(), "rows": rows[name]} for name, data in files.items()},
    }
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_MANIFEST, json.dumps(manifest, indent=1))
        for name, data in files.items():
            archive.writestr(name, data)
    return sink.getvalue()


def _export_run(cursor: Any, run_id: str, files: dict[str, bytes], rows: dict[str, int]) -> dict[str, Any]:
    info, run_no = runs.info(cursor, run_id), runs.number(cursor, run_id)
    tables = {}
    for table in TABLES:
        query = f"SELECT {column_list(table)} FROM {table} WHERE run_no = ? ORDER BY row_no"
        data = cursor.sql(query, params=[run_no]).to_arrow_table()
        name = tables[table] = f"runs/{info.run_id}/{table}.parquet"
        sink = io.BytesIO()
        pq.write_table(to_arrow(table, data), sink, compression="zstd")
        files[name], rows[name] = sink.getvalue(), data.num_rows
    return {
        "run_key": info.key,
        "scenario_hash": info.scenario_hash,
        "scenario_name": info.scenario_name,
        "policy": info.policy,
        "params": info.params,
        "seed": info.seed,
        "code_version": info.code_version,
        "name": info.name,
        "note": info.note,
        "created_at": info.created_at.isoformat(),
        "wall_s": info.wall_s,
        "cpu_s": info.cpu_s,
        "audit": info.audit,
        "prices": info.prices,
        "read_counts": info.read,
        "metrics": runs.metrics(cursor, run_id),
        "tables": tables,
        **_said({"made_by": info.made_by, "plugin": info.plugin}),
    }


def _export_scenario(cursor: Any, scenario_hash: str, files: dict[str, bytes], rows: dict[str, int]) -> dict[str, Any]:
    scenario = scenarios.get(cursor, scenario_hash)
    line = scenarios.info(cursor, scenario_hash, deleted_too=True)
    assert line is not None
    name = f"workloads/{scenario.workload.content_hash}.parquet"
    files[name], rows[name] = table_bytes(scenario.workload), len(scenario.workload)
    return {
        "scenario_hash": scenario_hash,
        "name": line.name,
        "version": line.version,
        "based_on": line.based_on,
        "lineage": line.lineage,
        "data_kind": line.data_kind,
        "created_at": line.created_at.isoformat(),
        "definition": json.loads(definition_of(scenario)),
        "workload": name,
        **_said({"made_by": line.made_by}),
    }


def _said(names: dict[str, str]) -> dict[str, str]:
    """Return what is not empty: files without names can be read by versions that know of none."""
    return {key: name for key, name in names.items() if name}


# ---- reading -------------------------------------------------------------------------------------------


def read(content: bytes) -> Bundle:
    """Return the checked contents of an export file.

    Raises
    ------
    InputError
        Naming the part of the file and the rule it breaks.
    """
    if len(content) > MAX_FILE_BYTES:
        raise _refuse(f"is {len(content) / 2**20:.0f} MiB; the limit is {MAX_FILE_BYTES / 2**20:.0f} MiB")
    with reading("import file"):
        return _read(content)


def _read(content: bytes) -> Bundle:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            files = _unpack(archive)
    except DAMAGED as error:
        if isinstance(error, InputError):
            raise
        raise _refuse(f"is not a readable zip file ({error})") from error
    manifest = _manifest(files.pop(_MANIFEST))
    _same_files(manifest, files)
    by_hash = {entry.scenario_hash: _scenario(entry, manifest, files) for entry in manifest.scenarios}
    left = _Left(MAX_TABLES_BYTES)
    tables = {entry.run_key: _run_tables(entry, manifest, files, by_hash, left) for entry in manifest.runs}
    return Bundle(manifest, by_hash, tables)


@dataclass
class _Left:
    """Bytes that the tables of the runs still to come may have."""

    bytes: int


def _refuse(why: str, what: str = "import file") -> InputError:
    return InputError(what, why, _ASK)


def _unpack(archive: zipfile.ZipFile) -> dict[str, bytes]:
    entries = archive.infolist()
    names = [entry.filename for entry in entries]
    if _MANIFEST not in names:
        raise _refuse(f"has no {_MANIFEST}: it was not exported from Run > History")
    if len(set(names)) != len(names):
        raise _refuse("has two files with the same name")
    if sum(entry.file_size for entry in entries) > MAX_UNPACKED_BYTES:
        raise _refuse(
            f"unpacks to {sum(entry.file_size for entry in entries) / 2**20:,.0f} MiB; the limit is "
            f"{MAX_UNPACKED_BYTES / 2**20:.0f} MiB"
        )
    if archive.getinfo(_MANIFEST).file_size > MAX_MANIFEST_BYTES:
        raise _refuse(f"has a {_MANIFEST} of more than {MAX_MANIFEST_BYTES / 2**20:.0f} MiB")
    return {entry.filename: _bounded(archive, entry) for entry in entries}


def _bounded(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """Read no more than the entry says it holds: sizes in a zip can lie."""
    with archive.open(entry) as stream:
        data = stream.read(entry.file_size + 1)
    if len(data) != entry.file_size:
        raise _refuse(f"states {entry.file_size} bytes, but has another size", entry.filename[:80])
    return data


def _manifest(data: bytes) -> Manifest:
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _refuse(f"is not JSON ({error})", _MANIFEST) from error
    version = raw.get("version") if isinstance(raw, dict) else None
    if isinstance(version, int) and version > VERSION:
        raise InputError(
            "import file",
            f"has format {version}, but this version of dlsched reads only format {VERSION}",
            "Update dlsched",
        )
    return validated(Manifest, raw, _MANIFEST)


def _same_files(manifest: Manifest, files: dict[str, bytes]) -> None:
    odd = sorted(set(manifest.files) ^ set(files))
    if odd:
        raise _refuse("must be both in the manifest and in the file", odd[0][:80])
    for name, entry in manifest.files.items():
        if sha256(files[name]).hexdigest() != entry.sha256:
            raise _refuse("does not match the hash in the manifest: the file was changed or truncated", name)


def _parquet(
    name: str, manifest: Manifest, files: dict[str, bytes], schema: pa.Schema | None, most_bytes: int
) -> pa.Table:
    """Read a Parquet file that may lie about its size."""
    if name not in files:
        raise _refuse("is listed but missing from the file", name)
    stated = manifest.files[name].rows
    limits = ParquetLimits(name, _ASK, MOST_ROWS, most_bytes)
    source = limits.open(files[name])
    if source.metadata.num_rows != stated:
        raise _refuse(f"should have {stated:,} rows, has {source.metadata.num_rows:,}", name)
    found = source.schema_arrow.remove_metadata()
    if schema is not None and found not in (schema, *_older(schema)):
        raise _refuse(f"has other columns than {', '.join(schema.names)}", name)
    table = limits.columns(files[name], found.names)
    if table.num_rows != stated:
        raise _refuse(f"holds {table.num_rows:,} rows, not the {stated:,} it states", name)
    return table.cast(found)


def _older(schema: pa.Schema) -> list[pa.Schema]:
    """Return the schemas of files written before jobs told their energy, and before that their cores and memory."""
    lacking = (ENERGY_COLUMNS, (*ENERGY_COLUMNS, *ADDED_COLUMNS))
    return [pa.schema([field for field in schema if field.name not in names]) for names in lacking]


def _scenario(entry: ScenarioEntry, manifest: Manifest, files: dict[str, bytes]) -> Scenario:
    what = f"scenario {entry.scenario_hash[:8]}"
    _parquet(entry.workload, manifest, files, None, MAX_FILE_BYTES)  # for its checks: what comes out of the file
    try:
        scenario = scenario_of(files[entry.workload], entry.definition, entry.name, entry.data_kind)
        agrees = scenario.content_hash == entry.scenario_hash
    except ValidationError as error:
        raise from_validation(what, error) from error
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, RecursionError, pa.ArrowException) as error:
        raise _refuse(f"is not complete ({str(error)[:200]})", what) from error
    if not agrees:
        raise _refuse("does not match its hash", what)
    return scenario


def _run_tables(
    entry: RunEntry, manifest: Manifest, files: dict[str, bytes], by_hash: dict[str, Scenario], left: _Left
) -> dict[str, pa.Table]:
    what = f"run {run_id_of(entry.run_key)}"
    if entry.scenario_hash not in by_hash:
        raise _refuse(f"needs scenario {entry.scenario_hash[:8]}, which is not in the file", what)
    key = run_key(entry.scenario_hash, entry.policy, entry.params, entry.seed, entry.code_version)
    if key != entry.run_key:
        raise _refuse("does not match the key of its policy, parameters and seed", what)
    tables = {}
    for name in TABLES:
        table = _parquet(entry.tables[name], manifest, files, table_schema(name), left.bytes)
        tables[name] = to_arrow(name, table)
        left.bytes -= table.nbytes
    return tables


# ---- taking in -----------------------------------------------------------------------------------------


def insert(cursor: Any, bundle: Bundle, now: datetime) -> ImportReport:
    """Write what is new in a bundle; the caller holds the transaction."""
    for entry in bundle.manifest.scenarios:
        _insert_scenario(cursor, entry, bundle.scenarios[entry.scenario_hash], now)
    entries = bundle.manifest.runs
    present = runs.find_all(cursor, [run.run_key for run in entries])
    new = [runs.NewRun(_row_of(run), run.metrics, bundle.tables[run.run_key]) for run in entries]
    added = runs.insert(cursor, new)
    return ImportReport(tuple(added), tuple(present[run.run_key] for run in entries if run.run_key in present))


def _insert_scenario(cursor: Any, entry: ScenarioEntry, scenario: Scenario, now: datetime) -> None:
    if scenarios.info(cursor, entry.scenario_hash, deleted_too=True) is not None:
        scenarios.save(cursor, scenario, None, now)  # brings a deleted one back
        return
    scenarios.save(cursor, scenario, None, now, entry.made_by)
    query = "SELECT version FROM scenarios WHERE lineage = ? AND scenario_hash <> ?"
    taken = {number for (number,) in cursor.execute(query, [entry.lineage, entry.scenario_hash]).fetchall()}
    version = max(taken) + 1 if entry.version in taken else entry.version
    cursor.execute(
        "UPDATE scenarios SET lineage = ?, version = ?, based_on = ?, created_at = ? WHERE scenario_hash = ?",
        [entry.lineage, version, entry.based_on, _plain(entry.created_at), entry.scenario_hash],
    )


def _plain(moment: datetime) -> datetime:
    """Return a time as UTC without a zone, as the store keeps it."""
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment


def _row_of(run: RunEntry) -> dict[str, Any]:
    as_json = {
        "params": json.dumps(run.params, sort_keys=True),
        "cpu_s": json.dumps(run.cpu_s),
        "audit": json.dumps(run.audit),
        "prices": json.dumps(run.prices),
        "read_counts": json.dumps(run.read_counts),
    }
    same = ("run_key", "scenario_hash", "scenario_name", "policy", "seed", "code_version", "name", "note", "wall_s",
            "made_by", "plugin")  # fmt: skip
    plain = {name: getattr(run, name) for name in same}
    return {**plain, **as_json, "created_at": _plain(run.created_at), "origin": "imported"}
