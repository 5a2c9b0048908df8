"""Rented machines: bands while they are paid for, brackets where they open, close or change."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dlsched.figures.base import Floats, TimeAxis, column, plain, texts
from dlsched.figures.lines import add_spans
from dlsched.figures.palette import Theme
from dlsched.wording.clock import Clock
from dlsched.wording.formats import amount, duration, money

LEAST_PX = 9
"""Leases narrower than this have no brackets, which would hide them."""
ARM_PX = 5
MOST_BRACKETS = 250
MOST_NAMED = 4
Rows = Mapping[int, tuple[int, float]]
"""Node -> its row and the number of its lanes."""


def add_bands(figure: go.Figure, theme: Theme, axis: TimeAxis, leases: pd.DataFrame, rows: Rows) -> None:
    """Add a band per lease, as tall as its GPUs: what no bar covers is paid for and allocated to no job."""
    start, end = np.maximum(column(leases, "start_s"), axis.from_s), np.minimum(column(leases, "end_s"), axis.to_s)
    low, high = _lanes(leases, rows)
    add_spans(
        figure,
        axis,
        start,
        end,
        (low + high) / 2,
        high - low,
        name="rented, no job",
        marker={
            "color": theme.card,
            "line": {"color": theme.muted, "width": 1},
            "pattern": {"shape": ".", "fgcolor": theme.muted, "bgcolor": theme.card, "size": 8, "solidity": 0.1},
        },
        customdata=[["", *words] for words in _words(leases, axis.clock)],  # where bars of jobs have the job's id
        hovertemplate="%{customdata[1]}<br>%{customdata[2]}<extra></extra>",
    )


def add_brackets(
    figure: go.Figure, theme: Theme, axis: TimeAxis, leases: pd.DataFrame, rows: Rows, plot_px: float
) -> None:
    """Add [ where a machine opens and ] where it closes or another one takes its slot."""
    start, end = column(leases, "start_s"), column(leases, "end_s")
    px = (axis.to_s - axis.from_s) / plot_px
    width_px = (np.minimum(end, axis.to_s) - np.maximum(start, axis.from_s)) / px
    wide = width_px >= LEAST_PX
    if wide.sum() > MOST_BRACKETS:
        wide &= width_px >= np.sort(width_px)[-MOST_BRACKETS]
    low, high = _lanes(leases, rows)
    words = _words(leases, axis.clock)
    for name, at_s, arm_s, said in (
        ("[ opens", start, ARM_PX * px, "opens"),
        ("] closes", end, -ARM_PX * px, "closes"),
    ):
        seen = np.flatnonzero(wide & (at_s >= axis.from_s) & (at_s <= axis.to_s))
        if not len(seen):
            continue
        nothing, gap = np.full(len(seen), np.nan), axis.at(np.full(len(seen), np.nan))
        arm, back = axis.at(at_s[seen] + arm_s), axis.at(at_s[seen])
        figure.add_scatter(
            x=np.column_stack([arm, back, back, arm, gap]).ravel(),
            y=np.column_stack([low[seen], low[seen], high[seen], high[seen], nothing]).ravel(),
            mode="lines",
            line={"color": theme.ink, "width": 2},
            name=name,
            text=np.repeat([f"{words[i][0]} {said}<br>{words[i][1]}" for i in seen], 5),
            hovertemplate="%{text}<extra></extra>",
        )


def machines_in_words(leases: pd.DataFrame) -> str:
    """Return "12 K80 x4, 3 M60 x1": how many leases of which machines, most first."""
    kinds = pd.Series(machine_names(leases)).value_counts()
    named = [f"{count} {kind}" for kind, count in kinds.items()][:MOST_NAMED]
    rest = len(kinds) - len(named)
    return ", ".join(named) + (f" and {amount(rest, 'more type')}" if rest > 0 else "") if named else "none"


def machine_names(leases: pd.DataFrame) -> list[str]:
    """Return "K80 x4" for each lease."""
    return [
        f"{kind or name} x{gpus:g}"
        for kind, name, gpus in zip(
            texts(leases, "gpu_type"), texts(leases, "vm_type"), column(leases, "gpus"), strict=True
        )
    ]


def _lanes(leases: pd.DataFrame, rows: Rows) -> tuple[Floats, Floats]:
    """Return the upper and lower edge of each lease on the rows of the picture."""
    row, lanes = (np.array([rows[node][k] for node in leases["node"]], dtype=float) for k in (0, 1))
    gpus = np.maximum(column(leases, "gpus"), 1.0)
    return row - 0.45, row - 0.45 + 0.9 * np.minimum(gpus / lanes, 1.0)


def _words(leases: pd.DataFrame, clock: Clock) -> list[list[str]]:
    """Return what is said of each lease: name, then times and bill."""
    start, end, cost = (column(leases, name) for name in ("start_s", "end_s", "cost"))
    names = [
        f"<b>{plain(name)}</b> ({plain(kind)})"
        for name, kind in zip(texts(leases, "vm_type"), machine_names(leases), strict=True)
    ]
    return [
        [
            names[i],
            f"{clock.moment(start[i])} to {clock.moment(end[i])}, {duration(end[i] - start[i])}"
            + ("" if np.isnan(cost[i]) else f", {money(cost[i])}"),
        ]
        for i in range(len(names))
    ]
