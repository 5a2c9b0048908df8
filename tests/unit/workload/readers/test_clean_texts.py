"""Texts of files are cleaned alike whether the column they stand in is plain, which is told fast, or not."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.workload.readers.convert import clean_texts

POISON = "a\x07\u200b\u00e9"
"""Neither plain nor ASCII: with it in the column, nothing is told fast."""
PIECES = st.sampled_from(
    ["a1", "job_7", " b ", "=1+1", "<b>", "x" * 12, "", "\u00e9", "\u0663", "c\x00", "d\u202e", "-A"]
)
LONGEST = 10


@given(st.lists(st.lists(PIECES, max_size=2).map("".join), max_size=4))
def test_a_column_is_cleaned_as_its_texts_are_beside_an_odd_one(column: list[str]) -> None:
    found = clean_texts(pa.array(column, pa.string()), LONGEST)
    beside = clean_texts(pa.array([*column, POISON], pa.string()), LONGEST)
    assert found.values.tolist() == beside.values.tolist()[:-1]
    assert found.changed.tolist() == beside.changed.tolist()[:-1]
    assert found.suspicious.tolist() == beside.suspicious.tolist()[:-1]


@pytest.mark.parametrize(
    ("given", "kept", "changed", "suspicious"),
    [
        ("7042", "7042", False, False),
        ("x" * 12, "x" * 10, True, False),
        ("job_7", "job_7", False, False),
        ("c\x00d", "cd", True, False),
        ("=1+1", "=1+1", False, True),
        ("<b>", "<b>", False, True),
    ],
)
def test_what_is_kept_of_a_text(given: str, kept: str, changed: bool, suspicious: bool) -> None:
    found = clean_texts(pa.array([given], pa.string()), LONGEST)
    assert (*found.values, *found.changed.tolist(), *found.suspicious.tolist()) == (kept, changed, suspicious)
