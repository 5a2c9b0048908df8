"""Parquet files with one byte changed: they are read, or told to be damaged."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dlsched.domain.errors import InputError
from dlsched.workload.parquet import ParquetLimits


def test_wherever_a_byte_is_wrong_the_file_is_read_or_told_to_be_damaged():
    written = io.BytesIO()
    pq.write_table(pa.table({"gpus": [1, 2], "job": ["a", "b"]}), written)
    limits = ParquetLimits("the file", "Export it again", most_rows=1000)
    told = []
    for place in range(len(written.getvalue())):
        content = bytearray(written.getvalue())
        content[place] = 0xFA  # never a byte of UTF-8
        try:
            limits.columns(bytes(content), limits.open(bytes(content)).schema_arrow.names)
        except InputError as error:
            told.append(str(error))
    assert set(told) == {"the file: its Parquet data are damaged. Export it again."}
    assert len(told) > len(written.getvalue()) / 2
    with pytest.raises(InputError, match="damaged"):
        limits.columns(written.getvalue().replace(b"gpus", b"gp\xfas", 1), ["gpus", "job"])
