"""Rows of one run within a window of time, nodes or one job."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dlsched.store.schema import ENERGY_COLUMNS, TABLES, column_list


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Which rows of a run: those that touch [from_s, to_s), on these nodes, of this job; and which columns.

    None = all.
    """

    from_s: float | None = None
    to_s: float | None = None
    nodes: Sequence[int] | None = None
    job: str | None = None
    columns: Collection[str] | None = None


# (start, end) of a row in time, and the columns of node and job, per table. An end that is null is still to come.
_SPAN = {
    "job_outcomes": ("submit_s", "left_s"),
    "segments": ("start_s", "end_s"),
    "node_intervals": ("start_s", "end_s"),
    "decisions": ("time_s", "time_s"),
    "waits": ("from_s", "to_s"),
    "series": ("time_s", "time_s"),
}


def rows(cursor: Any, table: str, run_no: int, window: RowFilter) -> pd.DataFrame:
    """Return the rows of a run's table inside a window, in the order they were saved."""
    start, end = _SPAN[table]
    terms, values = ["run_no = $run_no"], {"run_no": run_no}
    bounds: dict[str, tuple[str, Any]] = {
        "from_s": (f"coalesce({end}, 'infinity') {'>=' if start == end else '>'} $from_s", window.from_s),
        "to_s": (f"{start} < $to_s", window.to_s),
        "nodes": (_on_nodes(table), None if window.nodes is None else [int(node) for node in window.nodes]),
        "job": ("job_id = $job" if "job_id" in TABLES[table] else "", window.job),
    }
    for name, (term, value) in bounds.items():
        if value is not None and term:
            terms.append(term)
            values[name] = value
    query = f"SELECT {column_list(table, window.columns)} FROM {table} WHERE {' AND '.join(terms)} ORDER BY row_no"
    frame = _frame_of(cursor.sql(query, params=values).fetchnumpy())
    # Columns that the saved table did not have: a text or energy that is there is never null.
    optional = [column for column, kind in TABLES[table].items() if kind == "text" or column in ENERGY_COLUMNS]
    lacking = [column for column in optional if column in frame and len(frame) and frame[column].isna().all()]
    return frame.drop(columns=lacking)


def _frame_of(columns: Mapping[str, NDArray[Any]]) -> pd.DataFrame:
    """Return DuckDB's columns as its own ``df`` does, but each on its own: pandas takes longer to gather them into
    blocks than DuckDB to read them.
    """
    found: dict[str, Any] = {}
    for name, values in columns.items():
        if not isinstance(values, np.ma.MaskedArray):
            found[name] = values
        elif values.dtype.kind == "i":
            found[name] = pd.arrays.IntegerArray(values.data, np.ma.getmaskarray(values))
        else:
            nothing: Any = np.nan if values.dtype.kind == "f" else None
            found[name] = np.where(np.ma.getmaskarray(values), nothing, values.data)
    return pd.DataFrame(found, copy=False)


def _on_nodes(table: str) -> str:
    if "node" in TABLES[table]:
        return "list_contains($nodes, node)"
    if table == "job_outcomes":
        return "job_id IN (SELECT job_id FROM segments WHERE run_no = $run_no AND list_contains($nodes, node))"
    return ""
