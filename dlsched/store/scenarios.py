"""Scenarios in the store: whole, under their content hash, with their line of versions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pandas as pd

from dlsched.domain.errors import StoreError
from dlsched.domain.scenario import Scenario
from dlsched.store.columns import definition_of, scenario_of
from dlsched.store.sql import insert_row, one
from dlsched.workload.sidecar import table_bytes

MAX_NAME = 120

_FIELDS = """scenario_hash, name, version, based_on, lineage, data_kind, jobs, nodes, gpus, created_at,
    coalesce(made_by, '') AS made_by"""


@dataclass(frozen=True, slots=True)
class Deletion:
    """What went at one moment of one scenario: versions and runs, runs alone where they were deleted on their own.

    ``when`` is UTC; with ``lineage`` it names the deletion. ``scenario_hash`` is the newest version's.
    """

    lineage: str
    when: datetime
    name: str
    scenario_hash: str
    versions: int
    runs: int


@dataclass(frozen=True, slots=True)
class ScenarioInfo:
    """One line of the list of scenarios; ``created_at`` is UTC."""

    scenario_hash: str
    name: str
    version: int
    based_on: str | None
    lineage: str
    data_kind: str
    jobs: int
    nodes: int
    gpus: int
    created_at: datetime
    made_by: str


def save(cursor: Any, scenario: Scenario, based_on: str | None, now: datetime, made_by: str = "") -> ScenarioInfo:
    """Keep a scenario; one that is there already keeps its name and version, a deleted one comes back."""
    existing = info(cursor, scenario.content_hash, deleted_too=True)
    if existing is not None:
        cursor.execute("UPDATE scenarios SET deleted_at = NULL WHERE scenario_hash = ?", [existing.scenario_hash])
        return existing
    parent = info(cursor, based_on, deleted_too=True) if based_on else None
    lineage = parent.lineage if parent else scenario.content_hash
    newest = one(cursor, "SELECT max(version) FROM scenarios WHERE lineage = ?", [lineage])
    _keep_workload(cursor, scenario)
    cluster = scenario.cluster
    values = {
        "scenario_hash": scenario.content_hash,
        "name": scenario.name[:MAX_NAME],
        "lineage": lineage,
        "version": 1 + ((newest and newest[0]) or 0),
        "based_on": parent.scenario_hash if parent else None,
        "data_kind": scenario.data_kind,
        "created_at": now,
        "workload_hash": scenario.workload.content_hash,
        "jobs": len(scenario.workload),
        "nodes": cluster.num_nodes,
        "gpus": cluster.num_gpus,
        "definition": definition_of(scenario),
        "made_by": made_by,
    }
    insert_row(cursor, "scenarios", values)
    saved = info(cursor, scenario.content_hash)
    assert saved is not None
    return saved


def _keep_workload(cursor: Any, scenario: Scenario) -> None:
    key = scenario.workload.content_hash
    if one(cursor, "SELECT 1 FROM workloads WHERE workload_hash = ?", [key]) is None:
        values = {"workload_hash": key, "jobs": len(scenario.workload), "content": table_bytes(scenario.workload)}
        insert_row(cursor, "workloads", values)


def info(cursor: Any, scenario_hash: str, deleted_too: bool = False) -> ScenarioInfo | None:
    """Return the line of a scenario, found by its hash or the unique start of it (8 digits or more)."""
    alive = "" if deleted_too else "AND deleted_at IS NULL"
    rows = cursor.execute(
        f"SELECT {_FIELDS} FROM scenarios WHERE starts_with(scenario_hash, ?) {alive} LIMIT 2", [scenario_hash]
    ).fetchall()
    return ScenarioInfo(*rows[0]) if len(rows) == 1 and len(scenario_hash) >= 8 else None


def unknown(cursor: Any, hashes: Sequence[str]) -> list[str]:
    """Return those of whole hashes that are of no scenario here; a deleted one is not here."""
    query = "SELECT scenario_hash FROM scenarios WHERE list_contains(?, scenario_hash) AND deleted_at IS NULL"
    known = {scenario_hash for (scenario_hash,) in cursor.execute(query, [list(hashes)]).fetchall()}
    return [scenario_hash for scenario_hash in hashes if scenario_hash not in known]


def get(cursor: Any, scenario_hash: str) -> Scenario:
    """Return a scenario by its hash or the start of it, also one that was deleted but still has runs.

    Raises
    ------
    StoreError
        If there is none.
    """
    line = info(cursor, scenario_hash, deleted_too=True)
    if line is None:
        raise StoreError(f"Scenario {scenario_hash[:8]} is not in this store. Ask its owner for the export file.")
    query = "SELECT definition, content FROM scenarios JOIN workloads USING (workload_hash) WHERE scenario_hash = ?"
    row = one(cursor, query, [line.scenario_hash])
    assert row is not None
    definition, content = row
    return scenario_of(content, json.loads(definition), line.name, line.data_kind)


def listed(cursor: Any) -> pd.DataFrame:
    """Return the scenarios that are not deleted, newest first, with the number of their runs."""
    query = f"""SELECT {_FIELDS}, (SELECT count(*) FROM runs
            WHERE runs.scenario_hash = scenarios.scenario_hash AND runs.deleted_at IS NULL) AS runs
        FROM scenarios WHERE deleted_at IS NULL ORDER BY created_at DESC, version DESC, scenario_hash"""
    frame: pd.DataFrame = cursor.sql(query).df()
    return frame


def rename(cursor: Any, scenario_hash: str, name: str) -> ScenarioInfo:
    """Give all versions of a scenario's line a new name; return what it was."""
    line = info(cursor, scenario_hash)
    if line is None:
        raise StoreError(f"Scenario {scenario_hash[:8]} is not in this store.")
    cursor.execute("UPDATE scenarios SET name = ? WHERE lineage = ?", [name.strip()[:MAX_NAME], line.lineage])
    return line


def duplicate(cursor: Any, scenario_hash: str, now: datetime, made_by: str = "") -> ScenarioInfo:
    """Keep a copy of a scenario as version 1 of a line of its own, with the settings of the line it comes from."""
    line = info(cursor, scenario_hash)
    if line is None:
        raise StoreError(f"Scenario {scenario_hash[:8]} is not in this store.")
    made = get(cursor, line.scenario_hash)
    made = made.replace(name=f"{line.name[: MAX_NAME - 7]} (copy)")
    while info(cursor, made.content_hash, deleted_too=True) is not None:
        made = made.replace(copy_number=made.copy_number + 1)
    copied = save(cursor, made, None, now, made_by)
    cursor.execute(
        """INSERT INTO settings SELECT replace(key, ?, ?), value, ? FROM settings WHERE ends_with(key, '/' || ?)""",
        [line.lineage, copied.lineage, now, line.lineage],
    )
    return copied


def delete(cursor: Any, scenario_hash: str, now: datetime) -> Deletion:
    """Hide a scenario with all its versions and their runs; one moment for all, by which :func:`restore` finds them.

    Raises
    ------
    StoreError
        If there is none.
    """
    line = info(cursor, scenario_hash)
    if line is None:
        raise StoreError(f"Scenario {scenario_hash[:8]} is not in this store.")
    cursor.execute(f"UPDATE runs SET deleted_at = ? WHERE deleted_at IS NULL AND {_OF_LINEAGE}", [now, line.lineage])
    cursor.execute(f"DELETE FROM active_runs WHERE {_OF_LINEAGE}", [line.lineage])
    cursor.execute("UPDATE scenarios SET deleted_at = ? WHERE lineage = ? AND deleted_at IS NULL", [now, line.lineage])
    return next(one for one in deletions(cursor) if (one.lineage, one.when) == (line.lineage, now))


_OF_LINEAGE = "scenario_hash IN (SELECT scenario_hash FROM scenarios WHERE lineage = ?)"


def restore(cursor: Any, lineage: str, when: datetime) -> None:
    """Bring back what was deleted of a scenario at one moment."""
    cursor.execute("UPDATE scenarios SET deleted_at = NULL WHERE lineage = ? AND deleted_at = ?", [lineage, when])
    cursor.execute(f"UPDATE runs SET deleted_at = NULL WHERE deleted_at = ? AND {_OF_LINEAGE}", [when, lineage])


def deletions(cursor: Any) -> list[Deletion]:
    """Return what can be brought back, the latest first."""
    rows = cursor.execute(
        """WITH gone AS (
            SELECT lineage, deleted_at, 1 AS versions, 0 AS runs FROM scenarios WHERE deleted_at IS NOT NULL
            UNION ALL
            SELECT s.lineage, r.deleted_at, 0, 1 FROM runs r JOIN scenarios s USING (scenario_hash)
                WHERE r.deleted_at IS NOT NULL)
        SELECT lineage, gone.deleted_at, arg_max(name, version), arg_max(scenario_hash, version),
            any_value(versions), any_value(runs)
        FROM (SELECT lineage, deleted_at, sum(versions)::INT AS versions, sum(runs)::INT AS runs FROM gone
            GROUP BY ALL) gone JOIN scenarios USING (lineage)
        GROUP BY ALL ORDER BY gone.deleted_at DESC, lineage"""
    ).fetchall()
    return [Deletion(lineage, when, *rest) for lineage, when, *rest in rows]


def deletion_of(cursor: Any, scenario_hash: str) -> Deletion | None:
    """Return the deletion that took a scenario away; None if it is here, or was never."""
    line = info(cursor, scenario_hash, deleted_too=True)
    if line is None:
        return None
    row = one(cursor, "SELECT deleted_at FROM scenarios WHERE scenario_hash = ?", [line.scenario_hash])
    moment = (line.lineage, row and row[0])
    return next((found for found in deletions(cursor) if (found.lineage, found.when) == moment), None)


def purge(cursor: Any, before: datetime) -> list[tuple[str, str]]:
    """Remove for good the scenarios deleted before this that no run is of, and jobs that no scenario has.

    Return the hashes and names of the scenarios.
    """
    gone = cursor.execute(
        """DELETE FROM scenarios WHERE deleted_at <= ? AND scenario_hash NOT IN (SELECT scenario_hash FROM runs)
            RETURNING scenario_hash, name""",
        [before],
    ).fetchall()
    cursor.execute("DELETE FROM workloads WHERE workload_hash NOT IN (SELECT workload_hash FROM scenarios)")
    return [(scenario_hash, name) for scenario_hash, name in gone]
