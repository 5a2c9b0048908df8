"""Two small calls on a cursor that every part of the store needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def one(cursor: Any, query: str, values: Sequence[Any] = ()) -> tuple[Any, ...] | None:
    """Return the first row, None when there is none.

    The result is read to its end: DuckDB refuses a cursor its next query while a result is unfinished, as it is
    after ``fetchone``.
    """
    rows = cursor.execute(query, list(values)).fetchall()
    return rows[0] if rows else None


def insert_row(cursor: Any, table: str, values: dict[str, Any]) -> None:
    """Insert one row; table and column names come from this package, never from a user."""
    names, marks = ", ".join(values), ", ".join("?" * len(values))
    cursor.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(values.values()))
