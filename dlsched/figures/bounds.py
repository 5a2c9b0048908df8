"""A number of several runs beside its proven bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dlsched.domain.units import HOUR_S
from dlsched.figures.base import Chart, TimeAxis, framed, named_rows, plain, reference_line, top_of
from dlsched.figures.lines import add_strokes
from dlsched.figures.palette import Theme
from dlsched.metrics.limits import Limit, Limited, LimitedRun, common_bound
from dlsched.wording.certainty import value_words
from dlsched.wording.formats import cut, show

HALF_LINE = 0.24
"""How far a bound's line reaches above and below the middle of its row."""


def runs_and_bound(
    limit: Limit, runs: Sequence[LimitedRun], colour_of: Mapping[str, str], theme: Theme, *, word: str = ""
) -> Chart:
    """Return a dot per run with its 95% interval over futures, and the bound as a dashed line.

    Runs whose bounds differ, because they completed other jobs, have a line each. ``word`` is added to the title.
    """
    scale, unit = _unit(limit, runs)
    means = np.array([run.value.mean for run in runs]) / scale
    half = np.array([run.value.half_width or 0.0 for run in runs]) / scale
    kind, label = limit.kpi.kind, limit.kpi.label
    texts = [value_words(kind, run.value.mean, run.value.low, run.value.high) for run in runs]
    lefts = [left_words(limit, run) for run in runs]
    figure = go.Figure()
    figure.add_scatter(
        x=means,
        y=list(range(len(runs))),
        mode="markers",
        showlegend=False,
        marker={"color": [colour_of[run.name] for run in runs], "size": 12},
        error_x={"type": "data", "array": half, "color": theme.ink, "thickness": 2, "width": 5,
                 "visible": bool(half.any())},
        customdata=[[plain(run.name), text, left] for run, text, left in zip(runs, texts, lefts, strict=True)],
        hovertemplate="<b>%{customdata[0]}</b><br>%{customdata[1]}<br>%{customdata[2]}<extra></extra>",
    )  # fmt: skip
    shared = common_bound(runs)
    bounds = [np.nan if run.bound is None else run.bound / scale for run in runs]
    if shared is None:
        _add_lines(figure, theme, bounds, name="bound of each run's own jobs")
    finding = _nearest_words(limit, runs, own=shared is None) if len(runs) > 1 else texts[0]
    framed(
        figure,
        theme,
        title=f"{label} and its bound: {finding}{word}",
        x=f"{label} ({unit})",
        y="Run",
        height=int(np.clip(130 + 44 * len(runs), 220, 560)),
    )
    named_rows(figure, [plain(run.name, 24) for run in runs])
    figure.update_yaxes(range=[len(runs) - 0.4, -0.9])
    known = [bound for bound in bounds if not np.isnan(bound)]
    figure.update_xaxes(range=top_of(np.array([*(means + half), *known]), room=0.35))
    for row, text in enumerate(lefts):
        figure.add_annotation(
            x=means[row] + half[row], y=row, xshift=10, xanchor="left", showarrow=False, text=text,
            font={"size": 13, "color": theme.ink},
        )  # fmt: skip
    if shared is not None:
        words = f"{'upper' if limit.most else 'lower'} bound {show(kind, shared)}"
        reference_line(figure, theme, x=shared / scale, text=words, before=limit.most)
    sentences = [f"{cut(run.name)} {text}, {left}" for run, text, left in zip(runs, texts, lefts, strict=True)]
    table = pd.DataFrame(
        {
            "run": [run.name for run in runs],
            f"mean, {unit}": means,
            f"low, {unit}": [np.nan if run.value.low is None else run.value.low / scale for run in runs],
            f"high, {unit}": [np.nan if run.value.high is None else run.value.high / scale for run in runs],
            f"bound, {unit}": bounds,
            "could be better by, %": [np.nan if (left := run.left(limit)) is None else 100 * left for run in runs],
            "futures": [run.value.n for run in runs],
        }
    )
    return Chart(figure, f"{label}: {'; '.join(sentences)}.", table)


def left_words(limit: Limit, run: LimitedRun) -> str:
    """Return "could be up to 12% lower (proven limit)", or that no bound is known."""
    left = run.left(limit)
    if left is None:
        return "no useful bound is known"
    return Limited(limit, run.value.mean, run.bound or 0.0, left).short


def _nearest_words(limit: Limit, runs: Sequence[LimitedRun], *, own: bool) -> str:
    """Return which run is nearest to its bound; the best number where no bound says anything.

    A run that completed fewer or shorter jobs has a better number and a stricter bound: the number alone says nothing.
    """
    gaps = [(left, run) for run in runs if (left := run.left(limit)) is not None]
    if gaps:
        best = min(gaps, key=lambda gap: gap[0])[1]
    else:
        best = (max if limit.most else min)(runs, key=lambda run: run.value.mean)
    to = " to its own" if own and gaps else ""
    return f"{plain(best.name, 30)} is nearest{to} with {show(limit.kpi.kind, best.value.mean)}"


def _add_lines(figure: go.Figure, theme: Theme, at: Sequence[float], *, name: str) -> None:
    """Draw a line across each row; NaN = none there."""
    low, high = ([(value, row + half) for row, value in enumerate(at)] for half in (-HALF_LINE, HALF_LINE))
    add_strokes(figure, low, high, line={"color": theme.ink, "width": 4}, name=name, showlegend=True)


def _unit(limit: Limit, runs: Sequence[LimitedRun]) -> tuple[float, str]:
    """Return how much of the metric one unit of the axis is, and the unit."""
    kind = limit.kpi.kind
    if kind == "duration":
        axis = TimeAxis.over(0.0, max(run.value.mean for run in runs))
        return axis.unit_s, axis.unit
    return {"hours": (float(HOUR_S), "hours"), "usd": (1.0, "$")}.get(kind, (1.0, "unit-free"))
