"""The trail: one row for each change that a person asked for, in the transaction of the change."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pandas as pd

from dlsched.store.sql import one

MAX_ROWS = 100_000
MAX_DETAIL = 200
COLUMNS = ("done_at", "who", "action", "kind", "what", "detail")


def add(cursor: Any, now: datetime, who: str, action: str, kind: str, done: Sequence[tuple[str, str]]) -> None:
    """Note what was done, one row for each ``(what, detail)``; the oldest rows beyond MAX_ROWS go."""
    if not done:
        return
    whats, details = [what for what, _ in done], [_short(detail) for _, detail in done]
    cursor.execute(
        "INSERT INTO trail SELECT ?, ?, ?, ?, unnest(?::VARCHAR[]), unnest(?::VARCHAR[])",
        [now, who, action, kind, whats, details],
    )
    (rows,) = one(cursor, "SELECT count(*) FROM trail") or (0,)
    if rows > MAX_ROWS:
        oldest = "SELECT rowid FROM trail ORDER BY done_at, rowid LIMIT ?"
        cursor.execute(f"DELETE FROM trail WHERE rowid IN ({oldest})", [rows - MAX_ROWS])


def _short(detail: str) -> str:
    return detail if len(detail) <= MAX_DETAIL else detail[: MAX_DETAIL - 1] + "…"


def listed(cursor: Any, who: str | None, action: str | None, kind: str | None, text: str, limit: int) -> pd.DataFrame:
    """Return the newest rows that match; see ``Store.trail``."""
    exact = {"who": who, "action": action, "kind": kind}
    chosen = [f"{column} = ${column}" for column, value in exact.items() if value is not None]
    values: dict[str, Any] = {column: value for column, value in exact.items() if value is not None}
    if text:
        chosen.append("(contains(lower(what), $text) OR contains(lower(detail), $text))")
        values["text"] = text.lower()
    where = f"WHERE {' AND '.join(chosen)}" if chosen else ""
    query = f"SELECT {', '.join(COLUMNS)} FROM trail {where} ORDER BY done_at DESC, rowid DESC LIMIT $limit"
    frame: pd.DataFrame = cursor.sql(query, params={**values, "limit": limit}).df()
    return frame
