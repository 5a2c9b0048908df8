"""Parquet files from outside: opened with limits on rows, read with a limit on bytes, dictionaries kept folded."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dlsched.domain.errors import InputError

MOST_BYTES = 512 * 1024**2
"""Of the columns that are read, decompressed; four columns of texts of 20 million jobs are about that."""
BATCH_ROWS = 65_536


@dataclass(frozen=True)
class ParquetLimits:
    """What is said of a file that cannot be read or is too large: its name for messages and the way out."""

    what: str
    do: str
    most_rows: int
    most_bytes: int = MOST_BYTES

    def open(self, data: bytes) -> pq.ParquetFile:
        """Return the opened file; InputError if it is damaged, has too many rows, or names a column twice."""
        try:
            file = pq.ParquetFile(io.BytesIO(data))
            rows, names = file.metadata.num_rows, file.schema_arrow.names
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._damaged() from error
        if rows > self.most_rows:
            raise InputError(self.what, f"it has {rows:,} rows; the limit is {self.most_rows:,}", "Split it")
        if len(set(names)) < len(names):
            twice = next(name for place, name in enumerate(names) if name in names[:place])
            raise InputError(self.what, f"two of its columns are called {twice[:60]!r}", "Rename one of them")
        return file

    def columns(self, data: bytes, names: Sequence[str]) -> pa.Table:
        """Return these columns; texts that the file keeps in a dictionary come as one, and may not unfold too far.

        Raises
        ------
        InputError
            Damaged, or more than ``most_bytes`` when decompressed: told as soon as it is known, without unfolding.
        """
        schema = self.open(data).schema_arrow
        batches = list(self._batches(data, names, BATCH_ROWS))
        if batches:
            return pa.Table.from_batches(batches)
        return pa.schema([schema.field(name) for name in names]).empty_table()

    def first_rows(self, data: bytes, rows: int) -> pa.RecordBatch | None:
        """Return all columns of the first rows, None if there are none; raises as :meth:`columns`."""
        return next(self._batches(data, self.open(data).schema_arrow.names, rows), None)

    def _batches(self, data: bytes, names: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        size = 0
        try:
            schema = pq.read_schema(io.BytesIO(data))
            texts = [name for name in names if _is_text(schema.field(name).type)]
            file = pq.ParquetFile(io.BytesIO(data), read_dictionary=texts)
            if rows == BATCH_ROWS:
                self._check_stated(file.metadata, set(names))
            for batch in file.iter_batches(rows, columns=list(names), use_threads=False):
                size += sum(map(_unfolded_bytes, batch.columns))
                if size > self.most_bytes:
                    raise self._too_large(size)
                yield batch
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # the last: names of columns
            raise self._damaged() from error

    def _check_stated(self, metadata: Any, names: set[str]) -> None:
        """Raise what the file itself says of its size; a file may lie, then the batches tell."""
        size = 0
        for group in range(metadata.num_row_groups):
            of = metadata.row_group(group)
            chunks = (of.column(number) for number in range(of.num_columns))
            size += sum(chunk.total_uncompressed_size for chunk in chunks if chunk.path_in_schema in names)
        if size > self.most_bytes:
            raise self._too_large(size)

    def _too_large(self, size: int) -> InputError:
        why = f"it is too large when decompressed: {size / 1024**2:,.0f} MiB or more, the limit is"
        do = "Split it, or export fewer columns"
        return InputError(self.what, f"{why} {self.most_bytes // 1024**2:,} MiB", do)

    def _damaged(self) -> InputError:
        return InputError(self.what, "its Parquet data are damaged", self.do)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _unfolded_bytes(column: pa.Array) -> int:
    """Return the bytes of a column whose dictionary is written out."""
    if not pa.types.is_dictionary(column.type):
        return int(column.nbytes)
    lengths = pc.binary_length(column.dictionary).take(column.indices)
    return int(pc.sum(lengths.cast(pa.int64())).as_py() or 0) + 4 * len(column)
