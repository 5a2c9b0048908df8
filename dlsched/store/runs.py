"""Runs in the store: saving in one piece, finding, listing, deleting and bringing back."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import uuid4

import numpy as np
import pandas as pd
import pyarrow as pa

from dlsched.domain.errors import StoreError
from dlsched.domain.scenario import Scenario
from dlsched.store import scenarios
from dlsched.store.columns import to_arrow
from dlsched.store.record import VERSIONS_JOINED_BY, RunLabel, RunRecord, run_id_of
from dlsched.store.schema import TABLES
from dlsched.store.sql import one

SESSION = uuid4().hex
"""Names this process: a marker of a running run with another name is left over from a process that ended."""

MAX_NOTE = 4000
LIST_METRICS = ("wait_p95", "late_share", "late_jobs", "cost_month", "jobs", "completed", "rejected", "unfinished")


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What is frozen in a run, besides its tables; ``created_at`` is UTC, ``audit`` empty = clean."""

    run_id: str
    key: str
    scenario_hash: str
    scenario_name: str
    policy: str
    params: dict[str, Any]
    seed: int
    code_version: str
    name: str
    note: str
    created_at: datetime
    wall_s: float
    cpu_s: dict[str, float]
    audit: list[str]
    prices: dict[str, float | None]
    read: dict[str, int]
    origin: str
    made_by: str
    plugin: str


def frozen_prices(scenario: Scenario) -> dict[str, float | None]:
    """Return $/h of each VM type, as they were when the run was made."""
    return {vm.name: vm.usd_per_h for vm in scenario.cluster.vm_types}


def row_of(record: RunRecord, now: datetime, made_by: str = "") -> dict[str, Any]:
    """Return the values of a record for the table ``runs``."""
    return {
        "run_key": record.key,
        "scenario_hash": record.scenario.content_hash,
        "scenario_name": record.scenario.name,
        "policy": record.policy,
        "params": json.dumps(dict(record.params), sort_keys=True),
        "seed": record.seed,
        "code_version": record.code_version,
        "name": record.name[: scenarios.MAX_NAME],
        "note": "",
        "created_at": now,
        "wall_s": record.wall_s,
        "cpu_s": json.dumps(dict(record.cpu_s)),
        "audit": json.dumps(list(record.audit)),
        "prices": json.dumps(frozen_prices(record.scenario)),
        "read_counts": json.dumps(dict(record.read or record.scenario.read)),
        "origin": "here",
        "made_by": made_by,
        "plugin": record.plugin,
    }


@dataclass(frozen=True, eq=False)
class NewRun:
    """A run as it is written: its row of the table ``runs``, its metrics and its complete tables."""

    row: Mapping[str, Any]
    metrics: Mapping[str, Any]
    tables: Mapping[str, pa.Table]

    @property
    def key(self) -> str:
        """The run's key."""
        return str(self.row["run_key"])


def insert(cursor: Any, new: Sequence[NewRun]) -> list[str]:
    """Write runs with all their tables; the caller holds the transaction. Return the ids of those that were not there.

    A run with the same key that was deleted before is replaced. Each table is written once for all runs: a statement
    takes longer than the rows of a run.
    """
    keys = list(dict.fromkeys(run.key for run in new))
    purge(cursor, "list_contains(?, run_key) AND deleted_at IS NOT NULL", [keys])
    there = find_all(cursor, keys)
    clear_active(cursor, keys)
    fresh: dict[str, NewRun] = {}
    for run in new:
        if run.key not in there:
            fresh.setdefault(run.key, run)
    if not fresh:
        return []
    numbers = cursor.execute("SELECT nextval('run_numbers') FROM range(?)", [len(fresh)]).fetchall()
    numbered = [(run_no, run) for (run_no,), run in zip(numbers, fresh.values(), strict=True)]
    rows = [
        {
            **run.row,
            "run_no": run_no,
            "run_id": run_id_of(run.key),
            "violations": len(json.loads(run.row["audit"])),
            "jobs": run.tables["job_outcomes"].num_rows,
            "size_bytes": sum(table.nbytes for table in run.tables.values()),
        }
        for run_no, run in numbered
    ]
    _insert_table(cursor, "runs", pa.Table.from_pylist(rows))
    _insert_table(cursor, "metrics", _joined([(run_no, _metrics_table(run.metrics)) for run_no, run in numbered]))
    for name in TABLES:
        _insert_table(cursor, name, _joined([(run_no, run.tables[name]) for run_no, run in numbered]))
    return [row["run_id"] for row in rows]


def complete_tables(tables: Mapping[str, Any]) -> dict[str, pa.Table]:
    """Return every table of a run as typed Arrow; raise StoreError when one is missing or unknown."""
    if set(tables) != set(TABLES):
        odd = sorted(set(tables) ^ set(TABLES))
        raise StoreError(f"A run has the tables {', '.join(TABLES)}; missing or unknown: {', '.join(odd)}.")
    return {name: to_arrow(name, tables[name]) for name in TABLES}


def _metrics_table(metrics: Mapping[str, Any]) -> pa.Table:
    values = [None if value is None else float(value) for value in metrics.values()]
    clean = [None if value is None or math.isnan(value) else value for value in values]
    return pa.table(
        {
            "key": pa.array(metrics, pa.string()),
            "value": pa.array(clean, pa.float64()),
            "whole": pa.array([isinstance(value, int) for value in metrics.values()], pa.bool_()),
        }
    )


def _joined(tables: Sequence[tuple[int, pa.Table]]) -> pa.Table:
    """Return the rows of runs, by run number, as one table, with the numbers of run and row in front."""
    parts = []
    for run_no, table in tables:
        numbered = table.add_column(0, "run_no", pa.repeat(pa.scalar(run_no, pa.int32()), table.num_rows))
        parts.append(numbered.add_column(1, "row_no", pa.array(np.arange(table.num_rows, dtype=np.int32))))
    return pa.concat_tables(parts)


def _insert_table(cursor: Any, name: str, table: pa.Table) -> None:
    cursor.register("incoming", table)
    try:
        cursor.execute(f"INSERT INTO {name} BY NAME SELECT * FROM incoming")
    finally:
        cursor.unregister("incoming")


def find(cursor: Any, key: str) -> str | None:
    """Return the id of the run with this key; None when it is not there or deleted."""
    row = one(cursor, "SELECT run_id FROM runs WHERE run_key = ? AND deleted_at IS NULL", [key])
    return None if row is None else str(row[0])


def find_all(cursor: Any, keys: Sequence[str]) -> dict[str, str]:
    """Return the ids of the runs with these keys, by key; those that are not there or deleted are left out."""
    query = "SELECT run_key, run_id FROM runs WHERE run_key IN (SELECT unnest(?)) AND deleted_at IS NULL"
    return dict(cursor.execute(query, [list(keys)]).fetchall()) if keys else {}


def number(cursor: Any, run_id: str) -> int:
    """Return the number that rows of a run carry.

    Raises
    ------
    StoreError
        If the run is not there.
    """
    row = one(cursor, "SELECT run_no FROM runs WHERE run_id = ? AND deleted_at IS NULL", [run_id])
    if row is None:
        raise _missing(run_id)
    return int(row[0])


def _missing(run_id: str) -> StoreError:
    return StoreError(
        f"Run {run_id[:12]} is not in this store. Ask its owner for an export file and import it (Run > History), "
        "or run the scenario again."
    )


def info(cursor: Any, run_id: str) -> RunInfo:
    """Return what is frozen in a run; StoreError when it is not there."""
    row = one(
        cursor,
        """SELECT run_id, run_key, scenario_hash, scenario_name, policy, params, seed, code_version, name, note,
            created_at, wall_s, cpu_s, audit, prices, read_counts, origin, coalesce(made_by, ''),
            coalesce(plugin, '') FROM runs
            WHERE run_id = ? AND deleted_at IS NULL""",
        [run_id],
    )
    if row is None:
        raise _missing(run_id)
    parsed = [json.loads(row[i]) if i in {5, 12, 13, 14, 15} else row[i] for i in range(len(row))]
    return RunInfo(*parsed)


def metrics(cursor: Any, run_id: str) -> dict[str, float | int | None]:
    """Return the metrics of a run in the order they were computed; counts are whole numbers."""
    rows = cursor.execute(
        "SELECT key, value, whole FROM metrics WHERE run_no = ? ORDER BY row_no", [number(cursor, run_id)]
    ).fetchall()
    return {key: int(value) if whole and value is not None else value for key, value, whole in rows}


def listed(cursor: Any, keys: Sequence[str], code_version: str | None, plugins: Collection[str] = ()) -> pd.DataFrame:
    """Return the runs of the list page, newest first; see ``Store.list_runs``."""
    wide = "".join(f", any_value(CASE WHEN m.key = $k{i} THEN m.value END) AS m{i}" for i in range(len(keys)))
    query = f"""
        WITH wide AS (SELECT run_no {wide} FROM metrics m GROUP BY run_no)
        SELECT 'stored' AS state, r.run_id, r.run_key AS key, r.name, r.scenario_hash, coalesce(s.name,
            r.scenario_name) AS scenario_name, s.version, s.data_kind, r.policy, r.params, r.seed,
            count(*) OVER (PARTITION BY r.scenario_hash, r.policy, r.params, r.code_version) AS draws,
            r.violations, r.created_at, r.note, r.size_bytes, r.wall_s, r.code_version,
            $version IS NOT NULL AND (split_part(r.code_version, $and, 1) <> $version
                OR NOT list_has_all($plugins, string_split(r.code_version, $and)[2:])) AS stale, r.origin,
            coalesce(r.made_by, '') AS made_by, coalesce(r.plugin, '') AS plugin, w.* EXCLUDE (run_no)
        FROM runs r JOIN wide w USING (run_no) LEFT JOIN scenarios s ON s.scenario_hash = r.scenario_hash
        WHERE r.deleted_at IS NULL
        UNION ALL BY NAME
        SELECT CASE WHEN a.session = $session THEN 'running' ELSE 'interrupted' END AS state, a.run_key AS key,
            a.scenario_hash, a.scenario_name, s.version, s.data_kind, a.policy, a.params, a.seed,
            a.started_at AS created_at, false AS stale
        FROM active_runs a LEFT JOIN scenarios s ON s.scenario_hash = a.scenario_hash
        ORDER BY created_at DESC, key"""
    values: dict[str, Any] = {f"k{i}": key for i, key in enumerate(keys)}
    values |= {"version": code_version, "plugins": sorted(plugins), "and": VERSIONS_JOINED_BY, "session": SESSION}
    frame: pd.DataFrame = cursor.sql(query, params=values).df()
    return frame.rename(columns={f"m{i}": key for i, key in enumerate(keys)})


def mark_active(cursor: Any, labels: Sequence[RunLabel], now: datetime) -> None:
    """Note that these runs are under way in this process, so that a crash leaves a trace of them."""
    clear_active(cursor, [label.key for label in labels])
    rows = [
        {
            "run_key": label.key,
            "session": SESSION,
            "scenario_hash": label.scenario_hash,
            "scenario_name": label.scenario_name,
            "policy": label.policy,
            "params": json.dumps(dict(label.params), sort_keys=True),
            "seed": label.seed,
            "started_at": now,
        }
        for label in {label.key: label for label in labels}.values()
    ]
    if rows:
        _insert_table(cursor, "active_runs", pa.Table.from_pylist(rows))


def clear_active(cursor: Any, keys: Sequence[str]) -> None:
    """Forget that runs are under way, or that they were interrupted."""
    cursor.execute("DELETE FROM active_runs WHERE list_contains(?, run_key)", [list(keys)])


def set_text(cursor: Any, run_id: str, column: str, text: str, limit: int) -> None:
    """Change the name or the note of a run."""
    cursor.execute(f"UPDATE runs SET {column} = ? WHERE run_no = ?", [text[:limit], number(cursor, run_id)])


def mark_deleted(cursor: Any, run_ids: Sequence[str], when: datetime | None) -> list[str]:
    """Hide runs, or show them again with None; return the ids of those that this changed."""
    changed = f"list_contains(?, run_id) AND deleted_at IS {'NOT ' if when is None else ''}NULL"
    rows = cursor.execute(f"UPDATE runs SET deleted_at = ? WHERE {changed} RETURNING run_id", [when, list(run_ids)])
    return [run_id for (run_id,) in rows.fetchall()]


def deleted_before(cursor: Any, moment: datetime) -> list[str]:
    """Return the ids of the runs that were deleted until then."""
    rows = cursor.execute("SELECT run_id FROM runs WHERE deleted_at <= ? ORDER BY run_no", [moment]).fetchall()
    return [run_id for (run_id,) in rows]


def described(cursor: Any, run_ids: Sequence[str]) -> list[tuple[str, str]]:
    """Return ids of runs, deleted ones too, with a line each: policy, scenario, seed and name."""
    rows = cursor.execute(
        """SELECT run_id, policy || ' on ' || scenario_name || ', seed ' || seed
            || CASE WHEN name = '' THEN '' ELSE ': ' || name END FROM runs WHERE list_contains(?, run_id)
            ORDER BY run_no""",
        [list(run_ids)],
    ).fetchall()
    return [(run_id, line) for run_id, line in rows]


def purge(cursor: Any, condition: str, values: Sequence[Any]) -> int:
    """Remove the runs that meet a condition, with all their rows; return how many."""
    rows = cursor.execute(f"SELECT run_no FROM runs WHERE {condition}", list(values)).fetchall()
    numbers = [number for (number,) in rows]
    if numbers:
        for table in ("runs", "metrics", *TABLES):
            cursor.execute(f"DELETE FROM {table} WHERE list_contains(?, run_no)", [numbers])
    return len(numbers)


def past_seconds(cursor: Any) -> dict[str, list[tuple[int, float]]]:
    """Return (jobs, wall seconds) of the latest 20 runs of each policy that were made here, by policy."""
    rows = cursor.execute(
        """SELECT policy, jobs, wall_s FROM runs WHERE origin = 'here'
            QUALIFY row_number() OVER (PARTITION BY policy ORDER BY created_at DESC) <= 20"""
    ).fetchall()
    found: dict[str, list[tuple[int, float]]] = {}
    for policy, jobs, wall_s in rows:
        found.setdefault(policy, []).append((int(jobs), float(wall_s)))
    return found
