"""Columns of texts by field name; where few values repeat often, each distinct one is parsed once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dlsched.domain.workload import Floats, Ints, Texts
from dlsched.workload.readers.convert import strings, texts


def distinct(column: Any) -> tuple[Texts, Ints]:
    """Return the distinct trimmed texts of a column and which of them each row holds."""
    coded = pc.dictionary_encode(strings(column))
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.unify_dictionaries().combine_chunks()
    return texts(coded.dictionary), np.asarray(coded.indices, dtype=np.int64)


def by_distinct(column: Any, parse: Callable[[str], float]) -> Floats:
    """Return ``parse`` of each row."""
    values, which = distinct(column)
    parsed: Floats = np.array([parse(value) for value in values], dtype=np.float64)
    return parsed[which] if len(parsed) else np.zeros(0)


@dataclass(frozen=True)
class Columns:
    """Columns of sacct by field name in lower case; one that the file does not have is blank."""

    have: frozenset[str]
    column: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.column[name]

    def first_of(self, *names: str) -> Any:
        """Return the first of the columns that the file has; the last, blank, if it has none."""
        return self.column[next((name for name in names if name in self.have), names[-1])]
