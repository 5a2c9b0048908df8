"""Numbers of single runs, one row each: what they say in one future, without the tables of a run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from dlsched.store.record import CellRecord

_FIELDS = "cell_key, scenario_hash, policy, seed, metrics, audit"


def save(cursor: Any, records: Sequence[CellRecord], now: datetime) -> None:
    """Keep the numbers of runs; those that are there already stay."""
    there = set(find(cursor, [record.key for record in records]))
    rows = [
        [
            record.key,
            record.scenario_hash,
            record.policy,
            record.seed,
            json.dumps(dict(record.metrics), allow_nan=False),
            json.dumps(list(record.audit)),
            now,
        ]
        for record in {record.key: record for record in records}.values()
        if record.key not in there
    ]
    if rows:
        cursor.executemany("INSERT INTO cells VALUES (?, ?, ?, ?, ?, ?, ?)", rows)


def find(cursor: Any, keys: Sequence[str]) -> dict[str, CellRecord]:
    """Return what is known of these keys."""
    query = f"SELECT {_FIELDS} FROM cells WHERE cell_key IN (SELECT unnest(?))"
    return _records(cursor.execute(query, [list(keys)]).fetchall() if keys else [])


def of_scenario(cursor: Any, scenario_hash: str, most: int) -> dict[str, CellRecord]:
    """Return the newest numbers that are known of a scenario and of changes of it."""
    query = f"SELECT {_FIELDS} FROM cells WHERE scenario_hash = ? ORDER BY made_at DESC LIMIT ?"
    return _records(cursor.execute(query, [scenario_hash, most]).fetchall())


def _records(rows: Sequence[Sequence[Any]]) -> dict[str, CellRecord]:
    return {
        key: CellRecord(key, scenario, policy, seed, json.loads(metrics), tuple(json.loads(audit)))
        for key, scenario, policy, seed, metrics, audit in rows
    }
