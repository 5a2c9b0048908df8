"""Writing the native table, and a template to fill in."""

from __future__ import annotations

import io
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from dlsched.domain.errors import InputError
from dlsched.domain.units import DAY_S
from dlsched.domain.workload import Workload

DATED = {"submit_s": "submit_time", "recorded_start_s": "start_time", "recorded_end_s": "end_time", "due_s": "due_date"}
"""Columns that hold instants, and what they are called where they hold dates."""
LONGEST_S = 200 * 365 * DAY_S
TEMPLATE = """\
job_id,submit_time_s,num_gpus,duration_s,user,group,priority,due_s
train-1,0,8,7200,ada,vision,0,14400
train-2,600,1,1800,ben,speech,1,
train-3,900,16,36000,ada,vision,0,86400
"""


def template_csv() -> str:
    """Return a CSV to download and fill in: the four required columns, some optional ones, three jobs."""
    return TEMPLATE


def write_native(
    workload: Workload,
    target: Path | str | BinaryIO,
    kind: Literal["csv", "parquet"] | None = None,
    *,
    dates: bool = False,
) -> None:
    """Write a workload as a native table with the workload's own column names; reading it gives equal columns.

    Empty values of optional columns stay empty. Texts are written as they are: a spreadsheet may run a name that
    starts with '=' as a formula. The CSV does not hold ``meta`` (time zero), Parquet does.

    Parameters
    ----------
    target
        Path (``.parquet`` writes Parquet, anything else CSV) or an open binary file.
    kind
        Overrides what the name says.
    dates
        Write instants as dates, to the microsecond, where the workload has a date of second 0.
    """
    suffix = Path(target).suffix.lower() if isinstance(target, (str, Path)) else ""
    chosen = kind or ("parquet" if suffix in {".parquet", ".pq"} else "csv")
    table = _with_dates(_table(workload), workload) if dates else _table(workload)
    buffer = io.BytesIO()
    if chosen == "parquet":
        pa_parquet.write_table(table, buffer)
    else:
        pa_csv.write_csv(table, buffer, pa_csv.WriteOptions(quoting_style="needed"))
    if not isinstance(target, (str, Path)):
        target.write(buffer.getvalue())
        return
    try:
        Path(target).write_bytes(buffer.getvalue())
    except OSError as error:
        raise InputError(f"file {target}", f"it cannot be written: {error.strerror}", "Check the folder") from None


def _table(workload: Workload) -> pa.Table:
    arrays = {}
    for name, values in workload.columns().items():
        empty = np.isnan(values) if values.dtype == np.float64 else None
        arrays[name] = pa.array(values, type=pa.string() if values.dtype == object else None, mask=empty)
    meta = {f"dlsched.{key}": value for key, value in workload.meta.items()}
    return pa.table(arrays).replace_schema_metadata(meta)


def _with_dates(table: pa.Table, workload: Workload) -> pa.Table:
    """Return the table with instants as dates, under the names that dates have; as it is without a date of second 0."""
    try:
        zero = np.datetime64(datetime.fromisoformat(workload.meta.get("time_zero", "")).replace(tzinfo=None), "us")
    except ValueError:
        return table
    latest = max(float(np.nanmax(getattr(workload, name), initial=0.0)) for name in DATED if name in table.column_names)
    if latest > LONGEST_S:
        return table
    for name, dated in DATED.items():
        if name in table.column_names:
            values = getattr(workload, name)
            known = np.isfinite(values)
            spans = np.round(1e6 * np.where(known, values, 0.0)).astype("timedelta64[us]")
            place = table.column_names.index(name)
            table = table.set_column(place, dated, pa.array(zero + spans, type=pa.timestamp("us"), mask=~known))
    return table
