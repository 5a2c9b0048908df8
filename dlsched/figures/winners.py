"""Gains and losses: the change of each group with its interval, or with the middle half of its jobs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dlsched.domain.units import DAY_S, HOUR_S, MINUTE_S
from dlsched.figures.base import Chart, framed, named_rows, plain
from dlsched.figures.compare import HOLLOW, SHAPE_WORDS, SHAPES
from dlsched.figures.lines import add_strokes, bars, verdict_marks
from dlsched.figures.palette import Theme
from dlsched.metrics.job_classes import NOUNS
from dlsched.metrics.winner_words import (
    change_words,
    many_words,
    ordered,
    quartiles_words,
    rows_of,
    sentence,
)
from dlsched.metrics.winners import QUANTITIES, Group, Winners
from dlsched.wording.formats import cut

MOST_ENDS = 15
"""Of more than twice as many groups, this many are drawn from each end."""
LONGEST_NAME = 24
_TIME_UNITS = ((2.0 * DAY_S, DAY_S, "d"), (2.0 * HOUR_S, HOUR_S, "h"), (120.0, MINUTE_S, "min"), (0.0, 1, "s"))


def changes(answer: Winners, theme: Theme) -> Chart | None:
    """Return the mean change by group: names sorted with the largest gain on top, classes from small to large.

    A whisker is the 95% interval over futures. In one future there is none; a band shows the middle half of the group's
    jobs, which shows how much they differ, not how sure the mean is. None if no job can be compared.
    """
    compared = [group for group in ordered(answer) if group.change is not None]
    if not compared:
        return None
    drawn = compared if len(compared) <= 2 * MOST_ENDS else [*compared[:MOST_ENDS], *compared[-MOST_ENDS:]]
    size, unit = _unit(answer, drawn)
    kind, figure = QUANTITIES[answer.quantity], go.Figure()
    if answer.draws == 1:
        quartiles = [(row, group.quartiles) for row, group in enumerate(drawn) if group.quartiles is not None]
        low, high = ([(of_jobs[end] / size, row) for row, of_jobs in quartiles] for end in (0, 2))
        look = {"color": theme.other, "width": 6}
        add_strokes(figure, low, high, line=look, name="middle half of its jobs", showlegend=True)
    rows_by = {verdict: [row for row, group in enumerate(drawn) if group.verdict == verdict] for verdict in SHAPE_WORDS}
    for rows in filter(None, rows_by.values()):
        _add_dots(figure, answer, drawn, rows, size, theme)
    marks = {verdict: (SHAPES.get(verdict, HOLLOW), _colour(verdict, theme)) for verdict in SHAPE_WORDS}
    verdict_marks(figure, [verdict for verdict, rows in rows_by.items() if rows], SHAPE_WORDS, marks)
    noun = NOUNS[answer.by][0]
    sure = ", with 95% intervals" if any(group.half_width for group in drawn) else ""
    title = f"Mean {kind.noun} by {noun}: {plain(answer.other, 24)} against {plain(answer.baseline, 24)}{sure}"
    side = "left" if kind.kpi.better == "lower" else "right"
    height = int(np.clip(130 + 24 * len(drawn), 220, 820))
    axis = f"Change of mean {kind.noun} ({unit}), {side} is better"
    framed(figure, theme, title=title, x=axis, y=f"{noun.capitalize()} (jobs)", height=height)
    labels = [f"{plain(group.name, LONGEST_NAME)} ({many_words(group.compared)})" for group in drawn]
    named_rows(figure, labels)
    figure.update_xaxes(range=_range(answer, drawn, size))
    figure.add_vline(x=0, line={"color": theme.muted, "width": 1.5})
    named = answer.model_copy(update={"baseline": cut(answer.baseline), "other": cut(answer.other)})
    return Chart(figure, sentence(named), pd.DataFrame(rows_of(answer)))


def _unit(answer: Winners, shown: list[Group]) -> tuple[float, str]:
    """Return the size and the name of the axis' unit."""
    kind = QUANTITIES[answer.quantity].kpi.kind
    if kind != "duration":
        return 1.0, "x" if kind == "factor" else "no unit"
    largest = max(abs(group.change or 0.0) for group in shown)
    return next((float(size), unit) for least, size, unit in _TIME_UNITS if largest >= least)


def _range(answer: Winners, shown: list[Group], size: float) -> list[float]:
    """Return the ends of the axis: 0, all whiskers and bands, and some room."""
    edges = [0.0]
    for group in shown:
        mean, half = group.change or 0.0, group.half_width or 0.0
        edges += [mean - half, mean + half]
        if answer.draws == 1 and group.quartiles is not None:
            edges += [group.quartiles[0], group.quartiles[2]]
    low, high = min(edges) / size, max(edges) / size
    room = 0.04 * (high - low) or 1.0
    return [low - room, high + room]


def _colour(verdict: str, theme: Theme) -> str:
    return {"better": theme.better, "worse": theme.worse}.get(verdict, theme.muted)


def _add_dots(
    figure: go.Figure, answer: Winners, shown: list[Group], rows: list[int], size: float, theme: Theme
) -> None:
    """Draw groups of one verdict with their whiskers."""
    groups = [shown[row] for row in rows]
    half = [(group.half_width or 0.0) / size for group in groups]
    colour = _colour(groups[0].verdict, theme)
    figure.add_scatter(
        x=[(group.change or 0.0) / size for group in groups],
        y=rows,
        mode="markers",
        showlegend=False,
        marker={
            "color": colour,
            "size": 11,
            "line": {"width": 2, "color": colour},
            "symbol": SHAPES.get(groups[0].verdict, HOLLOW),
        },
        error_x=bars(half, color=colour, visible=any(half)),
        customdata=[
            [
                plain(group.name, LONGEST_NAME), many_words(group.compared), change_words(group, answer.quantity),
                quartiles_words(group, answer.quantity),
            ]
            for group in groups
        ],
        hovertemplate="<b>%{customdata[0]}</b>, jobs: %{customdata[1]}<br>%{customdata[2]}"
        "<br>middle half of its jobs: %{customdata[3]}<extra></extra>",
    )  # fmt: skip
