"""All that is in a store file, to compare before and after."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb


def rows_of(source: Path | Any) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of every table by its name, sorted; ``source``: a file no process has open, or a cursor."""
    cursor = duckdb.connect(str(source), read_only=True) if isinstance(source, Path) else source
    try:
        names = [name for (name,) in cursor.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()]
        return {name: sorted(cursor.execute(f'SELECT * FROM "{name}"').fetchall(), key=repr) for name in names}
    finally:
        if isinstance(source, Path):
            cursor.close()
