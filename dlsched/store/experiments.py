"""Answers of experiments: one row each, question and answer as JSON text."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from dlsched.domain.errors import StoreError
from dlsched.store.record import ExperimentInfo, ExperimentRecord, run_id_of
from dlsched.store.sql import insert_row, one

_INFO = "experiment_id, kind, name, code_version, made_at"


def save(cursor: Any, record: ExperimentRecord, now: datetime, made_by: str = "") -> str:
    """Keep an answer and return its id; one to the same question takes the place of the earlier."""
    values = {
        "experiment_key": record.key,
        "experiment_id": run_id_of(record.key),
        "kind": record.kind,
        "name": record.name,
        "spec": json.dumps(dict(record.spec), allow_nan=False),
        "answer": json.dumps(dict(record.answer), allow_nan=False),
        "code_version": record.code_version,
        "plugin": record.plugin,
        "made_at": now,
        "made_by": made_by,
    }
    cursor.execute("DELETE FROM experiments WHERE experiment_key = ?", [record.key])
    insert_row(cursor, "experiments", values)
    return run_id_of(record.key)


def find(cursor: Any, key: str) -> str | None:
    """Return the id of the answer with this key; None when the question was not asked yet."""
    row = one(cursor, "SELECT experiment_id FROM experiments WHERE experiment_key = ?", [key])
    return None if row is None else str(row[0])


def get(cursor: Any, experiment_id: str) -> ExperimentRecord:
    """Return a question with its answer.

    Raises
    ------
    StoreError
        If it is not there.
    """
    query = "SELECT kind, spec, answer, code_version, name, plugin FROM experiments WHERE experiment_id = ?"
    row = one(cursor, query, [experiment_id])
    if row is None:
        raise StoreError(f"Experiment {experiment_id[:12]} is not in this store. Compute it again.")
    kind, spec, answer, code_version, name, plugin = row
    return ExperimentRecord(kind, json.loads(spec), json.loads(answer), code_version, name, plugin or "")


def listed(cursor: Any, kind: str | None) -> list[ExperimentInfo]:
    """Return what was asked, newest first."""
    chosen = "" if kind is None else "WHERE kind = ?"
    query = f"SELECT {_INFO} FROM experiments {chosen} ORDER BY made_at DESC, experiment_id"
    rows = cursor.execute(query, [] if kind is None else [kind]).fetchall()
    return [ExperimentInfo(*row) for row in rows]
