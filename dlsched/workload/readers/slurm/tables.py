"""Columns of texts in which few values repeat often: each distinct one is parsed once."""

from __future__ import annotations

from collections.abc import Callable
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
