"""Writing the native table, and a template to fill in."""

from __future__ import annotations

import io
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from dlsched.domain.errors import InputError
from dlsched.domain.workload import Workload

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
    workload: Workload, target: Path | str | BinaryIO, kind: Literal["csv", "parquet"] | None = None
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
    """
    suffix = Path(target).suffix.lower() if isinstance(target, (str, Path)) else ""
    chosen = kind or ("parquet" if suffix in {".parquet", ".pq"} else "csv")
    table = _table(workload)
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
