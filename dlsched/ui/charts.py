"""Charts on a page: picture or table, CSV, text alternative."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from dlsched.figures.base import Chart
from dlsched.figures.palette import Theme, theme
from dlsched.ui.text import safe

CONFIG = {"displaylogo": False, "modeBarButtonsToRemove": ["lasso2d", "autoScale2d"], "responsive": True}
MAX_TABLE_ROWS = 1000
FORMULA_START = ("=", "+", "-", "@", "\t", "\r")


def page_theme() -> Theme:
    """Return the theme the reader has chosen."""
    return theme(st.context.theme.type)


def show(chart: Chart | None, key: str, *, select: bool = False, caption: bool = False) -> dict[str, Any] | None:
    """Show a chart with its table and CSV; return the selected box ({"x": [...], "y": [...]}) when ``select``."""
    if chart is None:
        return None
    box = None
    with st.container(key=f"chart-{key}", gap="xsmall"):
        as_table = st.session_state.get(f"table-{key}", False)
        if as_table:
            shown = chart.table.head(MAX_TABLE_ROWS)
            st.dataframe(shown, hide_index=True, key=f"frame-{key}", alt=chart.alt)
            if len(chart.table) > len(shown):
                st.markdown(f":gray[First {MAX_TABLE_ROWS:,} of {len(chart.table):,} rows; the CSV has all.]")
        else:
            box = _picture(chart, key, select)
        with st.container(horizontal=True, gap="small", vertical_alignment="center"):
            st.toggle("Table", key=f"table-{key}", help="The same numbers as a table")
            st.download_button(
                "CSV", lambda: csv(chart.table), file_name=f"{key}.csv", mime="text/csv", key=f"csv-{key}",
                type="tertiary", on_click="ignore", help="Download the numbers of this chart",
            )  # fmt: skip
            if caption:
                st.markdown(f":gray[{safe(chart.alt, 600)}]")
    return box


def _picture(chart: Chart, key: str, select: bool) -> dict[str, Any] | None:
    if not select:
        st.plotly_chart(chart.figure, theme=None, key=f"plot-{key}", config=CONFIG, alt=chart.alt)
        return None
    event = st.plotly_chart(
        chart.figure,
        theme=None,
        key=f"plot-{key}",
        config=CONFIG,
        alt=chart.alt,
        on_select="rerun",
        selection_mode=["box"],
    )
    boxes = event.selection.box if event and "selection" in event else []
    return dict(boxes[0]) if boxes else None


def csv(frame: pd.DataFrame) -> bytes:
    """Return CSV with texts that a spreadsheet would run as formulas put behind an apostrophe."""

    def tamed(value: object) -> object:
        return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_START) else value

    texts = [
        name for name in frame.columns if frame[name].dtype == object or str(frame[name].dtype) in ("str", "string")
    ]
    return frame.assign(**{name: frame[name].map(tamed) for name in texts}).to_csv(index=False).encode()
