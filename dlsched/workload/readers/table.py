"""Delimited text and Parquet to named Arrow columns; ragged lines are set aside and counted."""

from __future__ import annotations

import csv
import difflib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from dlsched.domain.errors import InputError
from dlsched.domain.names import first_of
from dlsched.domain.workload import Ints
from dlsched.workload.import_report import EXAMPLES, Example, Ledger, example_text
from dlsched.workload.parquet import ParquetLimits
from dlsched.workload.readers.source import TraceText

DELIMITERS = (",", "\t", ";", "|")
SAMPLE_LINES = 200
MAX_HEADER_BYTES = 1 << 20
MAX_COLUMNS = 10_000
MAX_PARQUET_ROWS = 20_000_000
MAX_RAGGED = 1_000_000
BLOCK_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a text table is written: header names (made unique), delimiter, where the data begin, quotes or not.

    ``header_line`` is the header's line number; ``sample`` the first data rows as lists of strings.
    """

    delimiter: str
    header: tuple[str, ...]
    offset: int
    header_line: int
    sample: tuple[tuple[str, ...], ...]
    quoted: bool = True


@dataclass(frozen=True)
class Table:
    """Named columns of equal length; ``ragged`` = (line or row number, text) of lines with a wrong field count."""

    header: tuple[str, ...]
    columns: dict[str, Any]
    rows: int
    delimiter: str = ""
    ragged: int = 0
    ragged_examples: tuple[Example, ...] = ()
    line_of: Callable[[Ints], Ints] | None = None
    notes: tuple[str, ...] = field(default=())

    def ledger(self, names: str = "") -> Ledger:
        """Open the books of this table: its rows and the lines that never became rows; ``names`` = id column."""
        ledger = Ledger(self.rows, self.line_of, self.columns.get(names))
        rule = f"Dropped: the header has {len(self.header)} columns"
        ledger.lost(self.ragged, "wrong number of fields in the line", rule, self.ragged_examples)
        ledger.notes.extend(self.notes)
        return ledger


# ---- what kind of table --------------------------------------------------------------------------


def sniff(data: bytes, *, delimiter: str = "", quoted: bool = True) -> Dialect:
    """Return the dialect of a text table from its first lines.

    Raises
    ------
    InputError
        The first line is too long or has too many columns.
    """
    offset, number = _header_start(data)
    end = _line_end(data, offset)
    if end - offset > MAX_HEADER_BYTES:
        why = f"it is {end - offset:,} bytes long; the limit for a header is {MAX_HEADER_BYTES:,}"
        raise InputError("first line", why, "Check that the file is a text table")
    first = data[offset:end].decode("utf-8", "replace").rstrip("\r\n")
    lines = _sample_lines(data, end)
    chosen = delimiter or _best_delimiter(first, lines)
    header, *rows = _split([first, *lines], chosen, quoted=quoted) or [[]]
    if len(header) > MAX_COLUMNS:
        raise InputError(
            "first line", f"it has {len(header):,} columns; the limit is {MAX_COLUMNS:,}", "Export fewer columns"
        )
    width = Counter(len(row) for row in rows).most_common(1)[0][0] if rows else len(header)
    if width == len(header) + 1 and all(row[-1] == "" for row in rows if len(row) == width):
        header = [*header, ""]  # every line ends with a delimiter, the header does not
    return Dialect(chosen, _unique(header), end, number, tuple(tuple(row) for row in rows), quoted)


def without_header(data: bytes, names: Sequence[str], delimiter: str = ",") -> Dialect:
    """Return the dialect of a table without a header line, whose columns are these names in order."""
    offset, number = _header_start(data)
    sample = _split(_sample_lines(data, offset), delimiter)
    return Dialect(delimiter, tuple(names), offset, number - 1, tuple(tuple(row) for row in sample))


def _header_start(data: bytes) -> tuple[int, int]:
    """Return offset and line number of the first line that is not blank, a comment or Excel's ``sep=``."""
    offset, number = 0, 1
    while offset < len(data):
        line = data[offset : min(_line_end(data, offset), offset + 200)].strip()
        if line and not line.startswith(b"#") and not line.lower().startswith(b"sep="):
            break
        offset, number = _line_end(data, offset), number + 1
    return offset, number


def _line_end(data: bytes, offset: int) -> int:
    end = data.find(b"\n", offset)
    return len(data) if end < 0 else end + 1


def _sample_lines(data: bytes, offset: int) -> list[str]:
    head = data[offset : offset + (1 << 18)]
    lines = head.decode("utf-8", "replace").splitlines()
    if offset + len(head) < len(data) and len(lines) > 1:
        lines.pop()
    return [line for line in lines[:SAMPLE_LINES] if line.strip()]


def _split(lines: Iterable[str], delimiter: str, *, quoted: bool = True) -> list[list[str]]:
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    csv.field_size_limit(MAX_HEADER_BYTES)
    rows: list[list[str]] = []
    for line in lines:
        try:
            rows.extend(csv.reader([line.replace("\0", "")], delimiter=delimiter, quoting=quoting))
        except csv.Error:
            rows.append(line.split(delimiter))
    return rows


def _best_delimiter(first: str, lines: Sequence[str]) -> str:
    """Return the delimiter that cuts the header most, among those that cut the lines like it."""

    def score(delimiter: str) -> tuple[float, int]:
        header, *rows = [len(row) for row in _split([first, *lines[:50]], delimiter)] or [0]
        alike = sum(abs(width - header) <= 1 for width in rows) / len(rows) if rows else 1.0
        return (alike if header > 1 else 0.0, header)

    return max(DELIMITERS, key=score)


def _unique(names: Sequence[str]) -> tuple[str, ...]:
    """Return printable names of at most 80 characters; a repeated name gets its count."""
    seen: Counter[str] = Counter()
    result: dict[str, None] = {}
    for raw in names:
        bare = name = "".join(c for c in raw if c.isprintable()).strip()[:70]  # with its count at most 80
        while name in result:
            seen[bare] += 1
            name = f"{bare} ({seen[bare] + 1})"
        result[name] = None
    return tuple(result)


# ---- reading -------------------------------------------------------------------------------------


def read_table(text: TraceText, dialect: Dialect, wanted: Iterable[str]) -> Table:
    """Return the wanted columns of a text table as strings; memory follows the wanted columns only."""
    names = [name for name in dialect.header if name in set(wanted)] or list(dialect.header[:1])
    quoted = dialect.quoted and b'"' in text.data
    notes: list[str] = []
    if quoted and text.data.count(b'"') % 2:
        quoted = False
        notes.append("Quotes are not balanced: read as plain characters")
    parsed = _parse(text, dialect, names, quoted=quoted)
    if quoted and parsed.rows + parsed.ragged < parsed.lines:  # quoted line breaks, or a stray quote ate lines
        plain = _parse(text, dialect, names, quoted=False)
        if plain.rows > parsed.rows:
            parsed = plain
            notes.append("A quote spans several lines: quotes read as plain characters")
    return Table(
        header=dialect.header,
        columns=parsed.columns,
        rows=parsed.rows,
        delimiter=dialect.delimiter,
        ragged=parsed.ragged,
        ragged_examples=parsed.examples(),
        line_of=parsed.line_of,
        notes=tuple(notes),
    )


@dataclass(frozen=True)
class _Parsed:
    """One pass of the parser. Rows map to lines exactly unless quoted line breaks make that impossible."""

    columns: dict[str, Any]
    rows: int
    ragged_at: tuple[int, ...]
    ragged_text: tuple[str, ...]
    text: bytes
    dialect: Dialect

    @property
    def ragged(self) -> int:
        return len(self.ragged_at)

    @cached_property
    def _line_numbers(self) -> Ints:
        """Line numbers of the data lines that are not blank."""
        numbers_of_blocks: list[Ints] = []
        line, offset, size = self.dialect.header_line, self.dialect.offset, len(self.text)
        while offset < size:
            stop = min(size, max(_line_end(self.text, offset), offset + BLOCK_BYTES))
            stop = stop if stop == size else _line_end(self.text, stop - 1)
            block = np.frombuffer(self.text, np.uint8, stop - offset, offset)
            ends = np.flatnonzero(block == 10)
            ends = ends if len(ends) and ends[-1] == len(block) - 1 else np.append(ends, len(block))
            starts = np.append(0, ends[:-1] + 1)
            only_cr = (ends - starts == 1) & (block[starts.clip(max=len(block) - 1)] == 13)
            numbers_of_blocks.append(line + 1 + np.flatnonzero((ends > starts) & ~only_cr))
            line, offset = line + len(ends), stop
        return np.concatenate(numbers_of_blocks) if numbers_of_blocks else np.zeros(0, np.int64)

    @property
    def lines(self) -> int:
        return len(self._line_numbers)

    def line_of(self, rows: Ints) -> Ints:
        """Return line numbers of table rows; where quotes hide line breaks, counted in rows instead."""
        good = np.ones(self.rows + self.ragged, dtype=bool)
        good[list(self.ragged_at)] = False
        position = np.flatnonzero(good)[rows]
        return self._numbers(position)

    def examples(self) -> tuple[Example, ...]:
        lines = self._numbers(np.array(self.ragged_at[:EXAMPLES], dtype=np.int64))
        return tuple(Example(int(n), example_text(t)) for n, t in zip(lines, self.ragged_text, strict=False))

    def _numbers(self, position: Ints) -> Ints:
        exact = self.lines == self.rows + self.ragged
        return self._line_numbers[position] if exact else position + self.dialect.header_line + 1


def _parse(text: TraceText, dialect: Dialect, names: list[str], *, quoted: bool) -> _Parsed:
    ragged_at: list[int] = []
    ragged_text: list[str] = []

    def set_aside(row: Any) -> str:
        if len(ragged_at) > MAX_RAGGED:
            return "error"
        ragged_at.append(int(row.number))
        if len(ragged_text) < EXAMPLES:
            ragged_text.append(row.text)
        return "skip"

    keys = {name: str(number) for number, name in enumerate(dialect.header)}
    try:
        table = pa_csv.read_csv(
            pa.BufferReader(memoryview(text.data)[dialect.offset :]),
            pa_csv.ReadOptions(use_threads=False, column_names=list(keys.values()), block_size=BLOCK_BYTES),
            pa_csv.ParseOptions(
                delimiter=dialect.delimiter,
                quote_char='"' if quoted else False,
                newlines_in_values=quoted,
                invalid_row_handler=set_aside,
            ),
            pa_csv.ConvertOptions(
                column_types={keys[name]: pa.string() for name in names},
                include_columns=[keys[name] for name in names],
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid as error:
        if "Empty CSV" in str(error):
            return _Parsed({name: pa.array([], pa.string()) for name in names}, 0, (), (), text.data, dialect)
        if len(ragged_at) > MAX_RAGGED:
            why = f"more than {MAX_RAGGED:,} lines do not have the {len(keys):,} fields of the header"
            raise InputError(f"file {text.name}", why, "Check the delimiter and the header of the export") from None
        why = "a line is too long" if "straddling" in str(error) else "its lines cannot be split into columns"
        raise InputError(f"file {text.name}", why, "Check the quotes and line ends of the export") from None
    columns = {name: table.column(keys[name]) for name in names}
    return _Parsed(columns, table.num_rows, tuple(n - 1 for n in ragged_at), tuple(ragged_text), text.data, dialect)


def _limits(text: TraceText) -> ParquetLimits:
    return ParquetLimits(f"file {text.name}", "Export it again", MAX_PARQUET_ROWS)


def parquet_columns(text: TraceText) -> dict[str, str]:
    """Return the columns of a Parquet file, by names of at most 80 characters as those of a CSV: that in the file."""
    names = _limits(text).open(text.data).schema_arrow.names
    if len(names) > MAX_COLUMNS:
        why = f"it has {len(names):,} columns; the limit is {MAX_COLUMNS:,}"
        raise InputError(f"file {text.name}", why, "Export fewer columns")
    return dict(zip(_unique(names), names, strict=True))


def parquet_sample(text: TraceText, rows: int = 50) -> list[list[str]]:
    """Return the first rows of a Parquet file as strings, nulls as empty strings."""
    first = _limits(text).first_rows(text.data, rows)
    cells = [] if first is None else [["" if v is None else str(v) for v in c.to_pylist()] for c in first.columns]
    return [list(row) for row in zip(*cells, strict=True)]


def parquet_table(text: TraceText, wanted: Iterable[str]) -> Table:
    """Return the wanted columns of a Parquet file in their own types; rows are numbered from 1."""
    in_file, asked = parquet_columns(text), set(wanted)
    names = [name for name in in_file if name in asked]
    table = _limits(text).columns(text.data, [in_file[name] for name in names])
    columns = {name: _plain_column(table.column(place), name) for place, name in enumerate(names)}
    return Table(tuple(in_file), columns, table.num_rows)


def _plain_column(column: Any, name: str) -> Any:
    """Return a Parquet column of a type that the converters know; InputError for lists, structures and bytes."""
    kind, types = column.type, pa.types
    if types.is_dictionary(kind):
        return _plain_column(column.cast(kind.value_type), name)
    plain = (types.is_string, types.is_integer, types.is_floating, types.is_decimal, types.is_timestamp, types.is_date,
             types.is_duration)  # fmt: skip
    if any(is_plain(kind) for is_plain in plain):
        return column
    if types.is_large_string(kind) or types.is_string_view(kind) or types.is_boolean(kind) or types.is_null(kind):
        return column.cast(pa.string())
    raise InputError(f"column {name!r}", f"its Parquet type {kind} cannot be read", "Use numbers, texts or times")


def need_columns(header: Sequence[str], needed: Iterable[str], what: str) -> None:
    """Raise InputError that names the missing columns and near names."""
    missing = [name for name in needed if name not in header]
    if not missing:
        return
    hints = [f"{near[0]!r} for {name!r}" for name in missing if (near := difflib.get_close_matches(name, header, 1))]
    did = f"Did you mean {', '.join(hints)}? " if hints else ""
    why = f"missing columns: {', '.join(missing)}"
    raise InputError(what, why, f"{did}The file has: {first_of(header)}")
