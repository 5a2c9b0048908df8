"""The map of a range on the page Capacity: a number printed in the cells of two ranges, or of one range by policy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from dlsched.figures.base import CLEAR, Chart, framed, plain
from dlsched.figures.palette import BLACK, WHITE, Theme
from dlsched.figures.sweep import WIDE, row_of
from dlsched.metrics.kpi import KPI
from dlsched.metrics.stats.statements import Estimate
from dlsched.studies.design.measures import MEASURES
from dlsched.studies.sweep.answer import Sweep, value_at
from dlsched.studies.sweep.words import certainty, point_words, value_text, value_words
from dlsched.wording.formats import amount

MOST_PRINTED = 400
"""Cells of a map up to which values are printed in them."""
NOT_RUN, FAILED = "•", "✕"


def value_map(sweep: Sweep, metric: str, theme: Theme, policy: str = "") -> Chart:
    """Return a metric printed in cells, two axes under a policy or one by policy; a dot = not run yet, ✕ = failed."""
    kpi = MEASURES[metric]
    grid, rows, row_title = _cells(sweep, policy)
    means = [[value_at(sweep, at, who, metric) for at, who in line] for line in grid]
    z = np.array([[np.nan if of is None else of.value for of in line] for line in means])
    tint, is_log = _tints(z)
    along = sweep.axes[0]
    figure = go.Figure()
    figure.add_heatmap(
        z=tint, zmin=0.0, zmax=1.0, colorscale=[[0, theme.ground], [1, theme.marks[0]]], xgap=1, ygap=1,
        hoverinfo="skip", showscale=False,
    )  # fmt: skip
    if np.isnan(z).any():
        figure.add_heatmap(
            z=np.where(np.isnan(z), 1.0, np.nan), colorscale=[[0, theme.faded], [1, theme.faded]], showscale=False,
            xgap=1, ygap=1, hoverinfo="skip",
        )  # fmt: skip
    table = _add_cells(figure, sweep, grid, means, theme, kpi, tint)
    who = f" of {plain(sweep.labels[policy])}" if len(sweep.axes) == 2 else ""
    title = f"{kpi.label}{who}, {certainty(sweep)}{'; colours on a log scale' if is_log else ''}"
    framed(figure, theme, title=title, x=_categories(along.label, along.unit), y=row_title,
           height=int(np.clip(130 + 38 * len(rows), 240, 640)))  # fmt: skip
    figure.update_xaxes(
        tickvals=list(range(len(along.values))), ticktext=[plain(value_words(along, v), 24) for v in along.values],
        showgrid=False, zeroline=False, range=[-0.5, len(along.values) - 0.5],
    )  # fmt: skip
    figure.update_yaxes(tickvals=list(range(len(rows))), ticktext=[plain(row) for row in rows], showgrid=False,
                        zeroline=False, range=[len(rows) - 0.5, -0.5])  # fmt: skip
    return Chart(figure, _map_alt(sweep, kpi, grid, means, policy), table)


def _cells(sweep: Sweep, policy: str) -> tuple[list[list[tuple[int, str]]], list[str], str]:
    """Return (point, policy) of every cell by row, the names of the rows, and what they are."""
    if len(sweep.axes) == 1:
        grid = [[(at, who) for at in range(len(sweep.points))] for who in sweep.policies]
        return grid, [sweep.labels[who] for who in sweep.policies], "Policy"
    first, second = sweep.axes
    place = {values: at for at, values in enumerate(sweep.points)}
    grid = [[(place[x, y], policy) for x in first.values] for y in second.values]
    return grid, [value_words(second, y) for y in second.values], _categories(second.label, second.unit)


def _categories(label: str, unit: str) -> str:
    return f"{label} (change)" if unit == "x" else label


def _add_cells(
    figure: go.Figure, sweep: Sweep, grid: Sequence[Sequence[tuple[int, str]]],
    means: Sequence[Sequence[Estimate | None]], theme: Theme, kpi: KPI, tint: NDArray[np.float64],
) -> pd.DataFrame:  # fmt: skip
    """Print values in cells, each in the ink that is legible there; a mark in each cell takes clicks."""
    xs, ys, texts, inks, told, rows = [], [], [], [], [], []
    printed = sum(map(len, grid)) <= MOST_PRINTED
    for y, line in enumerate(grid):
        for x, (at, who) in enumerate(line):
            of, cells = means[y][x], sweep.at(at, who)
            mark = NOT_RUN if any(cell.missing for cell in cells) else FAILED
            xs.append(x)
            ys.append(y)
            texts.append(mark if of is None else kpi.show(of.value) if printed else "")
            ground = theme.ground if of is None else blended(theme.ground, theme.marks[0], float(tint[y, x]))
            inks.append(theme.ink if of is None else ink_over(ground))
            why = "not run yet" if mark == NOT_RUN else "no number: a run failed, or it is undefined here"
            words = why if of is None else value_text(kpi, of)
            told.append([at, f"{plain(sweep.labels[who])}, {point_words(sweep, at)}: {words}"])
            rows.append(row_of(sweep, at, who, kpi.key, of))
    if theme.name == "dark":
        inks = [
            WHITE if ink == BLACK and text in (NOT_RUN, FAILED) else ink for ink, text in zip(inks, texts, strict=True)
        ]
    figure.add_scatter(
        x=xs, y=ys, mode="markers+text", text=texts, textfont={"color": inks, "size": 13}, showlegend=False,
        marker={"size": 26, "color": CLEAR, "symbol": "square"}, customdata=told,
        hovertemplate="%{customdata[1]}<extra></extra>",
    )  # fmt: skip
    return pd.DataFrame(rows)


def _tints(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], bool]:
    """Return values from 0 (least) to 1 (most), NaN where there is none, and whether by their logarithms."""
    known = values[np.isfinite(values)]
    is_log = bool(known.size and known.min() > 0 and known.max() > WIDE * known.min())
    scaled = np.log10(values) if is_log else values
    low, high = (np.nanmin(scaled), np.nanmax(scaled)) if known.size else (0.0, 0.0)
    return (scaled - low) / (high - low if high > low else 1.0), is_log


def blended(ground: str, mark: str, share: float) -> str:
    """Return a colour from the ground (share 0) to the mark (share 1)."""
    ends = [[int(colour[place : place + 2], 16) for place in (1, 3, 5)] for colour in (ground, mark)]
    return "#" + "".join(f"{round((1 - share) * low + share * high):02x}" for low, high in zip(*ends, strict=True))


def ink_over(colour: str) -> str:
    """Return black or white, whichever stands out more on a colour."""
    light, dark = luminance(colour), luminance(BLACK)
    return BLACK if (light + 0.05) / (dark + 0.05) > 1.05 / (light + 0.05) else WHITE


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour "#rrggbb" (WCAG 2)."""
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def _map_alt(
    sweep: Sweep, kpi: KPI, grid: Sequence[Sequence[tuple[int, str]]], means: Sequence[Sequence[Estimate | None]],
    policy: str,
) -> str:  # fmt: skip
    pairs = zip(grid, means, strict=True)
    numbers = [(place, of) for line, row in pairs for place, of in zip(line, row, strict=True) if of]
    if not numbers:
        return f"{kpi.label}: no number yet."
    low, high = min(numbers, key=lambda one: one[1].value), max(numbers, key=lambda one: one[1].value)
    ends = [
        f"{value_text(kpi, of)} ({'' if policy else sweep.labels[who] + ', '}{point_words(sweep, at)})"
        for (at, who), of in (low, high)
    ]
    missing = sum(map(len, grid)) - len(numbers)
    gaps = f" {amount(missing, 'cell')} without a number." if missing else ""
    return f"{kpi.label}{' of ' + sweep.labels[policy] if policy else ''}: from {ends[0]} to {ends[1]}.{gaps}"
