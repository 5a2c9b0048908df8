"""Editable tables that keep their rows when the page is left."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler
from pydantic import ValidationError

from dlsched.domain.errors import InputError, from_validation
from dlsched.wording.formats import MISSING, Kind, show

ROW_PX, TALL_PX = 40, 240

Columns = Mapping[str, Any]
"""Column of a table -> its settings, as Streamlit makes them."""
Live = Callable[[pd.DataFrame, Mapping[int, Mapping[str, Any]]], pd.DataFrame]


def editor(
    start: pd.DataFrame, key: str, columns: Columns, *, alt: str, live: Live | None = None, height: int = TALL_PX
) -> pd.DataFrame:
    """Show an editable table with rows to add and delete, and return what it holds now.

    It starts with ``start`` and goes on with the reader's rows until :func:`forget`. The widget itself loses its
    edits when its page is left; what it held then is what it starts with next time. Between the two its input must
    stay the same object, or edits would be applied twice.

    ``live`` gets the rows it began with and the cells edited since, and returns those rows with the cells that follow
    from others; such a table has no rows to add or delete by itself (Streamlit would start over at each edit).
    """
    widget = widget_key(key)
    if widget not in st.session_state:
        st.session_state[f"{key}-from"] = _any_cells(held(key, start))
    begin = st.session_state.get(f"{key}-from", _any_cells(start))
    if live is not None:
        edited = st.session_state.get(widget, {}).get("edited_rows", {})
        begin = live(begin, {int(row): cells for row, cells in edited.items()})
    now: pd.DataFrame = st.data_editor(
        begin, num_rows="dynamic" if live is None else "fixed", hide_index=True, column_config=dict(columns),
        key=widget, alt=alt, placeholder="–", height=height if ROW_PX * len(begin) > height else "auto",
    )  # fmt: skip
    st.session_state[f"{key}-now"] = now
    return now


def in_words(frame: pd.DataFrame, words: Mapping[Any, Kind | Callable[[float], str]]) -> Styler:
    """Return a table whose numbers are shown as the app writes them; sorted they are as numbers all the same.

    ``words``: column -> the kind of its numbers, or what writes one.
    """
    shown: dict[Any, Any] = {
        name: partial(show, how) if isinstance(how, str) else how for name, how in words.items() if name in frame
    }
    return frame.style.format(shown, na_rep=MISSING)


def held(key: str, start: pd.DataFrame) -> pd.DataFrame:
    """Return what a table holds; ``start`` before it was shown."""
    now: pd.DataFrame = st.session_state.get(f"{key}-now", start)
    return now


def replace(key: str, frame: pd.DataFrame) -> None:
    """Give a table other rows, from the next time it is shown."""
    forget(key)
    st.session_state[f"{key}-now"] = frame


def forget(key: str) -> None:
    """Make a table start over."""
    for part in ("from", "now"):
        st.session_state.pop(f"{key}-{part}", None)
    st.session_state[f"{key}-round"] = st.session_state.get(f"{key}-round", 0) + 1


def widget_key(key: str) -> str:
    """Return the widget's key: another one after each reset, because the browser keeps edits under the old one."""
    return f"{key}-{st.session_state.get(f'{key}-round', 0)}"


def _any_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table with cells that can hold anything: a new row has empty ones, also among numbers."""
    plain = frame.astype(object)
    return plain.where(plain.notna(), None)


def filled_rows(table: pd.DataFrame) -> list[tuple[int, dict[Any, Any]]]:
    """Return the rows in which something is filled in, each with its number from 1 as shown."""
    records = enumerate(table.astype(object).to_dict("records"), 1)
    return [(row, record) for row, record in records if not all(is_empty(value) for value in record.values())]


def place(where: str, column: str, columns: Columns) -> str:
    """Return a cell in words: the row as ``where``, the column as shown."""
    return f"{where}, column {columns[column]['label']}"


def need_filled(record: Mapping[Any, Any], names: Iterable[str], where: str, columns: Columns) -> None:
    """Raise InputError that names the first of the columns with an empty cell; ``where`` is the row in words."""
    for name in names:
        if is_empty(record[name]):
            raise InputError(place(where, name, columns), "is empty", "Fill it in, or delete the row")


def mistake_in(
    error: ValidationError, where: str, columns: Columns, column_of: Mapping[str, str] | None = None
) -> InputError:
    """Return the first complaint about the record of a row, with the column as shown.

    ``column_of``: parts of the model -> their columns, where the names differ; the innermost part decides.
    """
    path = [str(part) for part in reversed(error.errors()[0]["loc"])]
    column = next((name for part in path if (name := (column_of or {}).get(part, part)) in columns), None)
    what = where if column is None else place(where, column, columns)
    return InputError(what, from_validation("", error).why, "Correct the value")


def is_empty(value: Any) -> bool:
    """Whether a cell holds nothing, or blanks."""
    return value is None or bool(pd.isna(value)) or (isinstance(value, str) and not value.strip())


def text_of(value: Any) -> str:
    """Return the text of a cell; "" for an empty one."""
    return "" if is_empty(value) else str(value).strip()


def number_of(value: Any) -> float | None:
    """Return the number in a cell; None for an empty one and for one without a number."""
    try:
        return None if is_empty(value) else float(value)
    except (TypeError, ValueError):
        return None
