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
    fresh = [*{record.key: record for record in records if record.key not in there}.values()]
    if not fresh:
        return
    columns = [
        [record.key for record in fresh],
        [record.scenario_hash for record in fresh],
        [record.policy for record in fresh],
        [record.seed for record in fresh],
        [json.dumps(dict(record.metrics), allow_nan=False) for record in fresh],
        [json.dumps(list(record.audit)) for record in fresh],
    ]
    texts = "unnest(?::VARCHAR[])"  # row by row takes three times as long
    cursor.execute(
        f"INSERT INTO cells SELECT {texts}, {texts}, {texts}, unnest(?::BIGINT[]), {texts}, {texts}, ?", [*columns, now]
    )


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
