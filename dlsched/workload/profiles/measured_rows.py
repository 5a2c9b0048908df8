"""What readers of measurements share: columns by their many names, positive numbers, placements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dlsched.domain.errors import InputError
from dlsched.domain.workload import LARGEST_NUMBER, Floats
from dlsched.workload.import_report import Ledger
from dlsched.workload.readers.convert import numbers, strings, texts
from dlsched.workload.readers.source import TraceText
from dlsched.workload.readers.table import Table, parquet_table, read_table, sniff


def find_columns(header: tuple[str, ...], names: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return what each recognised column is -> its name in the file; the first name of a list in ``names`` wins."""
    bare = {"".join(letter for letter in name.lower() if letter.isalnum()): name for name in reversed(header)}
    return {
        key: bare[known[0]] for key, known_as in names.items() if (known := [name for name in known_as if name in bare])
    }


MOST_ROWS = 10_000


def measured_table(text: TraceText, columns: Iterable[str]) -> Table:
    """Return these columns of a file of measurements; InputError where it has more rows than measurements have."""
    wanted = [*columns]
    table = parquet_table(text, wanted) if text.is_parquet else read_table(text, sniff(text.data), wanted)
    if table.rows > MOST_ROWS:
        why = f"it has {table.rows:,} rows; the limit is {MOST_ROWS:,}"
        raise InputError(f"file {text.name}", why, "Give the mean of repeated measurements, or a sample")
    return table


def stem_of(source: Path | bytes, text: TraceText) -> str:
    """Return what rows without a name are called: as the folder of a path, as the file that was uploaded."""
    return source.parent.name if isinstance(source, Path) else Path(text.name).name.split(".")[0]


class MeasuredRows:
    """A table of measurements with its books; ``found`` maps what a column is to its name in the file."""

    def __init__(self, table: Table, found: Mapping[str, str], notes: list[str], examples: str = "") -> None:
        self.table, self.found = table, found
        self.ledger: Ledger = table.ledger(examples)
        self.notes = self.ledger.notes
        self.notes.extend(notes)

    def column(self, key: str) -> Any:
        """Return a column as it is in the file."""
        return self.table.columns[self.found[key]]

    def positive(self, key: str, what: str, *, needed: bool = False) -> Floats:
        """Return a column of positive numbers; rows with anything else are dropped, rows without any only if needed."""
        if key not in self.found:
            return np.full(self.table.rows, np.nan)
        column = self.column(key)
        read = numbers(column)
        self.ledger.drop(read.bad, f"{what} cannot be read", "Dropped: not a number", column)
        if needed:
            self.ledger.drop(read.missing, f"no {what}", "Dropped: a row of measurements needs it")
        wrong = (read.values <= 0) | (read.values > LARGEST_NUMBER)
        self.ledger.drop(wrong, f"{what} out of range", "Dropped: it must be above 0 and at most 1e15", column)
        return np.where(wrong, np.nan, read.values)

    def placed(self) -> tuple[Floats, Floats]:
        """Return GPUs and nodes of placements such as 4 (one node) or 211 (three nodes): a digit for each node."""
        written = texts(strings(self.column("placement")))
        digits = np.array([text.isascii() and text.isdigit() and "0" not in text for text in written], dtype=bool)
        rule = "Dropped: it must be digits, the GPUs on each node"
        self.ledger.drop(~digits, "placement cannot be read", rule, written)
        usable = [text if good else "" for text, good in zip(written, digits, strict=True)]
        gpus = np.array([sum(map(int, text)) if text else np.nan for text in usable], dtype=np.float64)
        return gpus, np.array([len(text) for text in usable], dtype=np.float64)
