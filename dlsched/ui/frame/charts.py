"""Charts on a page: picture or table, CSV, text alternative."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import blake2b
from typing import Any, ParamSpec, TypeVar

import pandas as pd
import streamlit as st

from dlsched.figures.base import Chart
from dlsched.figures.palette import Theme, theme
from dlsched.ui.frame.caches import SHARED
from dlsched.ui.frame.tables import in_words
from dlsched.ui.frame.text import safe
from dlsched.wording.formats import as_cell, number

CONFIG = {"displaylogo": False, "modeBarButtonsToRemove": ["lasso2d", "autoScale2d"], "responsive": True}
MAX_TABLE_ROWS = 1000

P = ParamSpec("P")
R = TypeVar("R")

Box = Mapping[str, list[float]]
"""A dragged box: two ends of "x" and of "y", in the units of the axes."""


def page_theme() -> Theme:
    """Return the theme the reader has chosen."""
    return theme(st.context.theme.type)


def drawn(draw: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Return what ``draw`` makes of these arguments; for equal ones it draws once for all sessions.

    Drawing takes up to half of the time of a page. Arguments count as equal if they pickle to the same bytes. Sessions
    share what is returned: no code may change it.
    """
    asked = blake2b(pickle.dumps((args, kwargs), pickle.HIGHEST_PROTOCOL), digest_size=16).digest()
    return SHARED.get((f"{draw.__module__}.{draw.__qualname__}", asked), lambda: draw(*args, **kwargs))


def show(
    chart: Chart | None,
    key: str,
    *,
    caption: bool = False,
    on_box: Callable[[Box], None] | None = None,
    on_point: Callable[[Any], None] | None = None,
) -> None:
    """Show a chart with its table and CSV.

    ``on_box`` is told a dragged box, or ``on_point`` the customdata of a clicked mark, before the page is drawn
    anew. Keep the key while the window moves: a chart that is drawn into its old place is there twice as fast.
    """
    if chart is None:
        return
    with st.container(key=f"chart-{key}", gap=None):
        if st.session_state.get(f"table-{key}", False):
            shown = chart.table.head(MAX_TABLE_ROWS)
            plain = dict.fromkeys(shown.select_dtypes("number"), partial(number, exact=True))
            st.dataframe(in_words(shown, plain), hide_index=True, key=f"frame-{key}", alt=chart.alt, placeholder="–")
            if len(chart.table) > len(shown):
                st.markdown(f":gray[First {MAX_TABLE_ROWS:,} of {len(chart.table):,} rows; the CSV has all.]")
        else:
            _picture(chart, f"plot-{key}", on_box, on_point)
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            st.toggle("Table", key=f"table-{key}", help="The same numbers as a table")
            st.download_button(
                "CSV", lambda: csv(chart.table), file_name=f"{key}.csv", mime="text/csv", key=f"csv-{key}",
                type="tertiary", on_click="ignore", help="Download the numbers of this chart",
            )  # fmt: skip
            if caption:
                st.markdown(f":gray[{safe(chart.alt, 600)}]")


def show_bare(chart: Chart, key: str, *, on_box: Callable[[Box], None]) -> None:
    """Show a chart that only guides, without table and CSV; ``on_box`` as in :func:`show`."""
    with st.container(key=f"chart-{key}", gap=None):
        _picture(chart, f"plot-{key}", on_box, None)


def _picture(
    chart: Chart, key: str, on_box: Callable[[Box], None] | None, on_point: Callable[[Any], None] | None
) -> None:
    if on_box is None and on_point is None:
        _dragged(chart, False)
        st.plotly_chart(chart.figure, theme=None, key=key, config={**CONFIG, "displayModeBar": False}, alt=chart.alt)
        return

    def selected() -> None:
        found = st.session_state[key].selection
        if on_box is not None and found.box:
            on_box(found.box[0])
        elif on_point is not None and found.points:
            on_point(found.points[0].get("customdata"))

    if on_point is not None:  # where a drag draws a box, Streamlit takes clicks for hovering
        _dragged(chart, "zoom")
    st.plotly_chart(
        chart.figure, theme=None, key=key, config=CONFIG, alt=chart.alt, on_select=selected,
        selection_mode="points" if on_point is not None else "box",
    )  # fmt: skip


def _dragged(chart: Chart, mode: str | bool) -> None:
    """Say what a drag does on a chart; one that sessions share is written into at its first showing only."""
    if chart.figure.layout.dragmode != mode:
        chart.figure.update_layout(dragmode=mode)


def csv_button(frame: pd.DataFrame, name: str, why: str | None = None) -> None:
    """Show a button that downloads a table as ``name``.csv."""
    st.download_button("CSV", lambda: csv(frame), file_name=f"{name}.csv", mime="text/csv", key=f"csv-{name}",
                       type="tertiary", on_click="ignore", help=why)  # fmt: skip


def table(frame: pd.DataFrame, key: str, alt: str, *, file_name: str = "", csv_help: str = "") -> None:
    """Show a table, with its CSV where ``csv_help`` says what is in it."""
    st.dataframe(frame, hide_index=True, key=f"{key}-table", placeholder="–", alt=alt)
    if csv_help:
        csv_button(frame, file_name or key, csv_help)


def csv(frame: pd.DataFrame) -> bytes:
    """Return CSV in which no text or name of a column is run as a formula by a spreadsheet."""
    texts = [
        name for name in frame.columns if frame[name].dtype == object or str(frame[name].dtype) in ("str", "string")
    ]
    tamed = frame.assign(**{name: frame[name].map(as_cell) for name in texts})
    return tamed.rename(columns=as_cell).to_csv(index=False).encode()
