"""Columns of strings to numbers, times and clean texts, vectorised; what cannot be read is marked, never guessed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from dlsched.domain.workload import Floats, Texts
from dlsched.workload.import_report import Bools

MISSING = pa.array(["", "na", "n/a", "nan", "null", "none", "unknown", "-", "\\n", "nat", "#n/a"])
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?$"
DECIMAL_COMMA = r"^[+-]?\d+,\d+$"
CLOCK = r"^(?:(?P<d>\d{1,6})-)?(?:(?P<h>\d{1,6}):)?(?P<m>\d{1,6}):(?P<s>\d{1,6}(?:\.\d{1,9})?)$"
CONTROLS = r"[\x{0}-\x{1f}\x{7f}-\x{9f}\x{200b}\x{200e}\x{200f}\x{2028}-\x{202e}\x{2066}-\x{2069}\x{feff}]"
FORMULA = r"^(=|@|[+-][A-Za-z(@=])"
MARKUP = r"<\s*[/!]?[A-Za-z]"
MAX_TEXT = 200
REPEAT_SAMPLE = 10_000


@dataclass(frozen=True, slots=True)
class Read:
    """A converted column: ``values`` (NaN where there is none), and why: ``missing`` or ``bad`` (not readable)."""

    values: Floats
    missing: Bools
    bad: Bools


def strings(column: Any) -> Any:
    """Return an Arrow column as trimmed strings, nulls as empty strings."""
    if not _is_string(column):
        column = pc.cast(column, pa.string())
    return pc.utf8_trim_whitespace(pc.fill_null(column, ""))


def is_missing(trimmed: Any) -> Any:
    """Return where a trimmed string column holds one of the usual words for "no value"."""
    return pc.is_in(pc.utf8_lower(trimmed), value_set=MISSING)


def numbers(column: Any, *, decimal_comma: bool = False) -> Read:
    """Return a column as finite floats. Infinity and text are bad; empty, NA, NaN, None, Unknown are missing."""
    if _is_numeric(column):
        values = _float_column(column)
    elif not _is_string(column):
        return _numbers_in_text(column, decimal_comma)
    else:
        try:
            values = _to_numpy(pc.cast(column, pa.float64()))
        except pa.ArrowInvalid:
            return _numbers_in_text(column, decimal_comma)
    bad = np.isinf(values)
    return Read(np.where(bad, np.nan, values), np.isnan(values), bad)


def _numbers_in_text(column: Any, decimal_comma: bool) -> Read:
    text = strings(column)
    if decimal_comma:
        text = pc.if_else(pc.match_substring_regex(text, DECIMAL_COMMA), pc.replace_substring(text, ",", "."), text)
    missing = is_missing(text)
    good = pc.match_substring_regex(text, NUMBER)
    values = _to_numpy(pc.cast(pc.if_else(good, text, pa.scalar(None, pa.string())), pa.float64()))
    finite = np.isfinite(values)
    return Read(np.where(finite, values, np.nan), bools(missing), ~finite & ~bools(missing))


def timestamps(column: Any) -> Read:
    """Return ISO 8601 times as seconds since 1970. Times without offset are taken as they are (as if UTC)."""
    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        zone = getattr(column.type, "tz", None)
        whole = pc.cast(column, pa.timestamp("us", tz=zone), safe=False)
        values = _to_numpy(pc.cast(pc.cast(whole, pa.int64()), pa.float64())) / 1e6
        return Read(values, np.isnan(values), np.zeros(len(values), dtype=bool))
    text = strings(column)
    parsed = pd.to_datetime(text.to_pandas(), format="ISO8601", errors="coerce", utc=True)
    instants = parsed.dt.tz_localize(None).to_numpy("datetime64[us]")
    values = np.where(np.isnat(instants), np.nan, instants.astype(np.int64) / 1e6)
    missing = bools(is_missing(text))
    return Read(values, missing, np.isnan(values) & ~missing)


def clock_spans(column: Any) -> Read:
    """Return spans written ``[DD-[HH:]]MM:SS`` as seconds (Slurm's Elapsed)."""
    text = strings(column)
    parts = pc.extract_regex(text, CLOCK)

    def part(name: str, seconds: int) -> Floats:
        digits = pc.struct_field(parts, name)
        filled = pc.if_else(pc.equal(digits, ""), "0", digits)
        return _to_numpy(pc.cast(filled, pa.float64())) * seconds

    values = part("d", 86_400) + part("h", 3600) + part("m", 60) + part("s", 1)
    missing = bools(is_missing(text))
    return Read(values, missing, np.isnan(values) & ~missing)


@dataclass(frozen=True, slots=True)
class Cleaned:
    """Texts without control characters and of bounded length; which were changed; which look active."""

    values: Texts
    changed: Bools
    suspicious: Bools


def clean_texts(column: Any, longest: int = MAX_TEXT) -> Cleaned:
    """Return printable texts of at most ``longest`` characters; formulas and markup are kept as text and marked."""
    raw = strings(column)
    if pc.all(pc.utf8_is_alnum(raw)).as_py() and (pc.max(pc.binary_length(raw)).as_py() or 0) <= longest:
        nothing = np.zeros(len(raw), dtype=bool)  # letters and digits, as most IDs are: 20 times as fast
        return Cleaned(texts(raw), nothing, nothing)
    printable = pc.all(pc.ascii_is_printable(raw)).as_py()
    clean = raw if printable else pc.replace_substring_regex(raw, CONTROLS, "")
    clean = pc.utf8_slice_codeunits(pc.utf8_trim_whitespace(clean), 0, longest)
    active = pc.or_(pc.match_substring_regex(clean, FORMULA), pc.match_substring_regex(clean, MARKUP))
    return Cleaned(texts(clean), ~bools(pc.equal(raw, clean)), bools(active))


def words(column: Any) -> Texts:
    """Return a column of short codes (states, phases) in lower case."""
    return texts(pc.utf8_slice_codeunits(pc.utf8_lower(strings(column)), 0, 60))


def from_python(values: Sequence[str] | Texts) -> Any:
    """Return Python strings as an Arrow column; lone surrogates (from JSON) become question marks."""
    try:
        return pa.array(list(values), pa.string())
    except UnicodeEncodeError:
        return pa.array([value.encode("utf-8", "replace").decode() for value in values], pa.string())


def texts(column: Any) -> Texts:
    """Return an Arrow string column as an object array; equal texts are one object where they repeat much."""
    if len(column) and pc.count_distinct(column[:REPEAT_SAMPLE]).as_py() < REPEAT_SAMPLE / 2:
        coded = pc.dictionary_encode(column)
        coded = coded.unify_dictionaries().combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
        distinct: Texts = np.asarray(coded.dictionary.to_numpy(zero_copy_only=False), dtype=object)
        shared: Texts = distinct[np.asarray(coded.indices)]
        return shared
    return np.asarray(column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column.to_numpy())


def bools(column: Any) -> Bools:
    """Return an Arrow boolean column as a numpy mask; null is False."""
    filled = pc.fill_null(column, False)
    array = filled.combine_chunks() if isinstance(filled, pa.ChunkedArray) else filled
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=bool)


def split_gpus(gpus: Floats) -> tuple[Floats, Floats]:
    """Return (workers, GPUs per worker) with exactly the total asked.

    Whole numbers are that many workers of one GPU; below one a single worker with a share of a GPU; 1.5 is two
    workers of 0.75; 0 is one worker without GPU.
    """
    workers = np.maximum(1.0, np.ceil(gpus))
    return workers, gpus / workers


def _is_string(column: Any) -> bool:
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def _is_numeric(column: Any) -> bool:
    kind, types = column.type, pa.types
    return any(is_a(kind) for is_a in (types.is_integer, types.is_floating, types.is_decimal, types.is_duration))


def _float_column(column: Any) -> Floats:
    if pa.types.is_duration(column.type):
        in_us = pc.cast(pc.cast(column, pa.duration("us"), safe=False), pa.int64())
        return _to_numpy(pc.cast(in_us, pa.float64())) / 1e6
    return _to_numpy(pc.cast(column, pa.float64(), safe=False))


def _to_numpy(column: Any) -> Floats:
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return np.array(array.to_numpy(zero_copy_only=False), dtype=np.float64)
