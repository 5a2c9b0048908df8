"""Rows of jobs whose width changes: how tall a bar is, which number stands at it, and the request beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from dlsched.figures.base import Chart, Floats, Mask, TimeAxis, column
from dlsched.figures.palette import Theme, ink_on
from dlsched.wording.formats import amount, number

FOOT = 0.45
"""How far below the middle of its row a bar stands, in rows; y grows downwards."""
TALLEST, LEAST = 0.9, 0.06
"""Heights in rows of the widest piece, and of pieces too narrow to be seen on the common scale."""
DIGIT_PX, NUMBER_TALL_PX = 7, 12


@dataclass(frozen=True, slots=True)
class Scale:
    """The common scale of a picture.

    ``widest`` are the GPUs of the widest piece, ``unit`` what numbers count (nodes or GPUs), ``unit_gpus`` the GPUs of
    one of these.
    """

    widest: float
    unit: str
    unit_gpus: float = 1.0

    def words(self, gpus: float) -> str:
        """Return GPUs as a number of units."""
        return number(gpus / self.unit_gpus)

    def heights(self, gpus: Floats) -> Floats:
        """Return heights in rows; what is too low to be seen is drawn LEAST high."""
        return np.maximum(TALLEST * gpus / max(self.widest, 1e-9), LEAST)


def scale_of(pieces: pd.DataFrame, asked: Mapping[str, float] | None, node_gpus: float | None = None) -> Scale | None:
    """Return the common scale where widths are worth a picture, None if every job keeps what it asked for.

    Parameters
    ----------
    pieces
        One row per piece, as :func:`bars.whole_pieces`.
    asked
        GPUs each job asked for (NaN where not known); None if the policy chooses machines and no request counts.
    node_gpus
        GPUs of every node, where all have as many; widths are nodes then, where pieces hold whole ones.
    """
    gpus = column(pieces, "gpus")
    widths = pieces.groupby("job_id")["gpus"]
    elastic = bool((widths.max() > widths.min()).any())
    if asked is not None:
        wanted = np.array([asked[job] for job in pieces["job_id"]], dtype=float)
        elastic |= bool((np.isfinite(wanted) & (wanted != gpus)).any())
    if not elastic:
        return None
    each = 1.0 if node_gpus is None else node_gpus
    if asked is not None and bool((gpus == each * column(pieces, "num_nodes")).all()):
        return Scale(float(gpus.max()), "nodes", each)
    return Scale(float(gpus.max()), "GPUs")


def add_numbers(
    figure: go.Figure,
    theme: Theme,
    axis: TimeAxis,
    pieces: pd.DataFrame,
    row: Floats,
    scale: Scale,
    row_px: float,
    plot_px: float,
    tints: NDArray[np.object_],
) -> None:
    """Print how many a job holds where that changes and there is room: above the bar, in it where it is tall.

    ``tints`` are the colours of the bars at their left ends.
    """
    gpus = column(pieces, "gpus")
    begin = np.maximum(column(pieces, "start_s"), axis.from_s)
    end = np.minimum(column(pieces, "end_s"), axis.to_s)
    words = np.array([scale.words(held) for held in gpus], dtype=object)
    wide = (end - begin) / (axis.to_s - axis.from_s) * plot_px
    is_told = changes(pieces, row) & (wide >= DIGIT_PX * np.array([len(word) for word in words], dtype=float))
    if not is_told.any():
        return
    height = scale.heights(gpus)
    above = (2 * FOOT + 0.1 - height) * row_px >= NUMBER_TALL_PX
    figure.add_scatter(
        x=axis.at(begin[is_told]),
        y=(row + FOOT - height)[is_told],
        mode="text",
        text=words[is_told],
        textposition=np.where(above, "top right", "bottom right")[is_told],
        textfont={
            "size": 11,
            "color": [
                theme.ink if up else ink_on(tint, theme)
                for up, tint in zip(above[is_told], tints[is_told], strict=True)
            ],
        },
        name=f"{scale.unit} allocated",
        showlegend=False,
        hoverinfo="skip",
    )


def changes(pieces: pd.DataFrame, row: Floats) -> Mask:
    """Return which pieces hold another width than the piece of that job before them; the first of a job does."""
    order = np.lexsort((column(pieces, "start_s"), row))
    gpus = column(pieces, "gpus")[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (gpus[1:] != gpus[:-1]) | (row[order][1:] != row[order][:-1])
    out = np.empty(len(order), dtype=bool)
    out[order] = new
    return out


def add_requests(
    figure: go.Figure,
    theme: Theme,
    axis: TimeAxis,
    pieces: pd.DataFrame,
    row: Floats,
    asked: Mapping[str, float],
    scale: Scale,
) -> None:
    """Outline what each job asked for beside what it holds; a request above the scale ends at the row's edge.

    Requests too low to be seen on the scale are left out, like those that are not known.
    """
    wanted = np.array([asked[job] for job in pieces["job_id"]], dtype=float)
    is_seen = TALLEST * wanted / scale.widest >= LEAST
    if not is_seen.any():
        return
    begin = axis.at(np.maximum(column(pieces, "start_s"), axis.from_s))
    end = axis.at(np.minimum(column(pieces, "end_s"), axis.to_s))
    low, high = row + FOOT, row + FOOT - np.minimum(TALLEST * wanted / scale.widest, 1.0)
    gap = np.full(len(row), np.nan)
    figure.add_scatter(
        x=np.column_stack([begin, begin, end, end, axis.at(gap)])[is_seen].ravel(),
        y=np.column_stack([low, high, high, low, gap])[is_seen].ravel(),
        mode="lines",
        line={"color": theme.ink, "width": 1, "dash": "dash"},
        name="GPUs requested",
        hoverinfo="skip",
    )


def width_table(jobs: pd.DataFrame, pieces: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """Return per job of ``jobs`` the fewest and most it holds in these pieces, and how often that changes."""
    place = {job: i for i, job in enumerate(jobs["job_id"])}
    row = np.array([place[job] for job in pieces["job_id"]], dtype=float)
    turns = pd.Series(changes(pieces, row)).groupby(pieces["job_id"].to_numpy()).sum() - 1
    widths = pieces.groupby("job_id")["gpus"]
    return pd.DataFrame(
        {
            f"fewest {scale.unit} allocated": widths.min().reindex([*place]).to_numpy() / scale.unit_gpus,
            f"most {scale.unit} allocated": widths.max().reindex([*place]).to_numpy() / scale.unit_gpus,
            "changes of GPU count": turns.reindex([*place], fill_value=0).to_numpy(),
        }
    )


def with_widths(chart: Chart, jobs: pd.DataFrame, pieces: pd.DataFrame, scale: Scale) -> Chart:
    """Return a chart of job rows whose table and text alternative tell the widths too."""
    widths = width_table(jobs, pieces, scale)
    turns = int(widths["changes of GPU count"].sum())
    least, most = scale.words(float(column(pieces, "gpus").min())), scale.words(scale.widest)
    words = f"They have {least} to {most} {scale.unit} and change {amount(turns, 'time')}."
    table = pd.concat([chart.table, widths], axis=1)
    return Chart(chart.figure, f"{chart.alt} {words}", table)
