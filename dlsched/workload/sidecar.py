"""Files that a scenario file names: found only below its own folder, checked by hash; exact tables of jobs."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import numpy as np

from dlsched.domain.errors import InputError
from dlsched.domain.workload import Workload

MOST_ROWS = 10_000_000


def sha256_of(data: bytes) -> str:
    """Return the SHA-256 of bytes in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def read_beside(name: str, sha256: str | None, base_dir: Path | None) -> bytes:
    """Return the content of a file that a scenario names.

    Raises
    ------
    InputError
        If there is no folder to look in, the name leads out of it, the file is missing or has another hash.
    """
    what = f"scenario, file {name[:200]!r}"
    if base_dir is None:
        raise InputError(what, "a scenario without a folder cannot name another file", "Save it with the jobs inside")
    path = _below(base_dir, name, what)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(what, f"cannot be read from {base_dir} ({error.strerror})", "Put the file there") from error
    if sha256 is not None and sha256_of(data) != sha256.lower():
        raise InputError(what, "has changed since the scenario was saved", "Restore the file or remove sha256")
    return data


def _below(base_dir: Path, name: str, what: str) -> Path:
    """Return the path of a name below a folder; links must not lead out of it either."""
    posix, windows = PurePosixPath(name), PureWindowsPath(name)
    inside = bool(posix.parts) and not (posix.is_absolute() or windows.drive or "\\" in name or ".." in posix.parts)
    if not inside or "\0" in name or not (base_dir / name).resolve().is_relative_to(base_dir.resolve()):
        raise InputError(what, "must be a plain relative path below the scenario's folder", "Move the file there")
    return base_dir / name


def table_bytes(workload: Workload) -> bytes:
    """Return the jobs as a Parquet table with the exact numbers and the source order."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {**workload.columns(), "order": workload.order}
    arrays = {name: pa.array(values.tolist() if values.dtype == object else values) for name, values in columns.items()}
    buffer = io.BytesIO()
    pq.write_table(pa.table(arrays), buffer, compression="zstd")
    return buffer.getvalue()


def table_columns(data: bytes, name: str) -> dict[str, Any]:
    """Return the columns of a table written by :func:`table_bytes`; raise InputError when it is not one."""
    from dlsched.workload.parquet import ParquetLimits

    limits = ParquetLimits(f"scenario, table {name[:200]!r}", "Save the scenario again", MOST_ROWS)
    names = limits.open(data).schema_arrow.names
    table = limits.columns(data, names)
    return {name: _plain_column(table.column(place)) for place, name in enumerate(names)}


def _plain_column(column: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string(column.type):
        return column.to_numpy()
    is_number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    return np.array(column.to_numpy()) if is_number else column.to_pylist()
