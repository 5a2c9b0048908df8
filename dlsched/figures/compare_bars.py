"""Policies side by side in a few numbers: a bar of the value, a whisker of its range over futures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dlsched.figures.base import Chart, framed, named_rows, plain
from dlsched.figures.palette import Theme
from dlsched.metrics.stats.compare import Cell, Comparison, Row
from dlsched.wording.certainty import range_words
from dlsched.wording.formats import cut

ROOM_OF_LETTER = 0.06
"""What a letter at the end of the longest bar takes of the axis, as a share of that bar."""
GAP = 0.03
NAME_LETTERS = 24


def policy_bars(comparison: Comparison, rows: Sequence[Row], colour_of: Mapping[str, str], theme: Theme) -> Chart:
    """Return a small picture for each row, side by side: a bar a policy from 0 to its value, best with a star.

    The thin line over a bar is the range over futures; it need not hold the recorded value.
    """
    names = comparison.names
    figure = go.Figure()
    width = (1.0 + GAP) / len(rows)
    for place, row in enumerate(rows, 1):
        axis = "" if place == 1 else str(place)
        there = [(at, cell) for at, cell in enumerate(row.cells) if cell.value is not None]
        figure.add_bar(
            x=[cell.value.value for _, cell in there if cell.value],
            y=[at for at, _ in there],
            orientation="h",
            width=0.56,
            marker={"color": [colour_of[cell.name] for _, cell in there]},
            customdata=[[plain(cell.name), cell.text] for _, cell in there],
            hovertemplate=f"<b>%{{customdata[0]}}</b><br>{row.kpi.label} %{{customdata[1]}}<extra></extra>",
            showlegend=False,
            xaxis=f"x{axis}",
        )
        for at, cell in there:
            _add_end(figure, row, cell, at, axis, theme)
        figure.update_layout({f"xaxis{axis}": {"domain": [(place - 1) * width, place * width - GAP]}})
    height = 62 + 34 * len(names)
    framed(figure, theme, title="", x="", y="", height=height)
    named_rows(figure, [plain(name, NAME_LETTERS) for name in names])
    for place, row in enumerate(rows, 1):
        axis = "" if place == 1 else str(place)
        longest = max((_longest(cell) for cell in row.cells), default=0.0)
        letters = max((len(_end(row, cell)) for cell in row.cells), default=0)
        look = {"showticklabels": False, "showgrid": False, "zeroline": True, "fixedrange": True,
                "range": [0, longest * (1.1 + ROOM_OF_LETTER * letters) or 1.0], "title": {"text": ""}}  # fmt: skip
        figure.update_layout({f"xaxis{axis}": look})
        figure.add_annotation(
            x=(place - 1) * width, xref="paper", y=1, yref="paper", yanchor="bottom", xanchor="left", showarrow=False,
            text=f"<b>{row.kpi.label}</b>", font={"size": 14, "color": theme.ink},
        )  # fmt: skip
    figure.update_layout(margin={"t": 30, "b": 4}, yaxis={"fixedrange": True, "title": {"text": ""}})
    return Chart(figure, _alt(rows), _table(rows))


def _add_end(figure: go.Figure, row: Row, cell: Cell, at: int, axis: str, theme: Theme) -> None:
    """Draw the range over a bar and write the value at its end."""
    assert cell.value is not None
    low, high = cell.value.low, cell.value.high  # ends that read the same are no range
    if range_words(row.kpi.kind, low, high):
        figure.add_scatter(
            x=[low, high], y=[at, at], mode="lines+markers", xaxis=f"x{axis}", showlegend=False, hoverinfo="skip",
            line={"color": theme.ink, "width": 1.5},
            marker={"symbol": "line-ns", "size": 8, "line": {"color": theme.ink, "width": 1.5}},
        )  # fmt: skip
    figure.add_annotation(
        x=_longest(cell), y=at, xref=f"x{axis}", yref="y", xanchor="left", showarrow=False, xshift=6,
        text=_end(row, cell), font={"size": 13, "color": theme.ink},
    )  # fmt: skip


def _end(row: Row, cell: Cell) -> str:
    """Return what is written at the end of a bar: the value, with a star where it is best."""
    return "" if cell.value is None else row.kpi.show(cell.value.value) + (" ★" if cell.best else "")


def _longest(cell: Cell) -> float:
    if cell.value is None:
        return 0.0
    return float(np.nanmax([cell.value.value, cell.value.high or 0.0, 0.0]))


def _alt(rows: Sequence[Row]) -> str:
    """Return the picture in words: values of each number by policy."""
    parts = [
        f"{row.kpi.label}: " + ", ".join(f"{cut(cell.name)} {cell.text}" for cell in row.cells if cell.value)
        for row in rows
    ]
    return "; ".join(parts) + "."


def _table(rows: Sequence[Row]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "metric": row.kpi.label,
                "policy": cell.name,
                "value": row.kpi.show(cell.value.value),
                "range": range_words(row.kpi.kind, cell.value.low, cell.value.high),
                "best": "best" if cell.best else "",
            }
            for row in rows
            for cell in row.cells
            if cell.value is not None
        ],
        columns=["metric", "policy", "value", "range", "best"],
    )
