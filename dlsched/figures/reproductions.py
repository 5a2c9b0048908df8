"""A figure of a paper beside our numbers: the paper's printed points hollow, ours filled with their 95% intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dlsched.experiments.published import Printed
from dlsched.figures.base import Chart, framed, plain, reference_line
from dlsched.figures.palette import DASHES, Theme, policy_colour
from dlsched.figures.reproduced import MOST_SERIES, Panel, Point, Series, policy_of
from dlsched.figures.steady import SYMBOLS, Look, with_half
from dlsched.metrics.formats import number
from dlsched.metrics.intervals import Interval
from dlsched.policies.registry import find

HEIGHT = 400
ROOM = 1.15
WIDEST = 2.5
"""Intervals may stretch the axis to so many times the largest mean; wider ones are cut and the text says so."""
APART = 0.012
"""How far apart marks of one place stand, as a share of the axis, so that bars do not cover each other."""


def name_of(series: Series) -> str:
    """Return what the legend calls a series; a policy by its label where the data have its key."""
    words = [find(name).label if policy_of(name) == name else name for name in series]
    return ", ".join(words) or "ours"


def compared(panel: Panel, printed: Sequence[Printed], theme: Theme) -> Chart:
    """Return a panel of our numbers with what the paper prints of it."""
    figure, ours = go.Figure(), _scaled(panel)
    paper = [_scaled_printed(one, panel.kind.scale) for one in printed if one.panel == panel.key]
    looks = _looks(list(ours.series), theme)
    _, top, cut = _ends(ours, paper)
    places = [name for points in ours.series.values() for name in (point.x for point in points)]
    categories = [str(x) for x in dict.fromkeys(places)] if not panel.has_numbers else []
    span = (max(map(float, places)) - min(map(float, places))) if panel.has_numbers else 1.0
    for at, (series, points) in enumerate(ours.series.items()):
        beside = APART * (at - (len(ours.series) - 1) / 2) * (span or 1.0) if panel.has_numbers else 0.0
        _add_ours(figure, series, points, looks[series], beside, categories, at, len(ours.series))
    _add_paper(figure, paper, categories, theme)
    title = panel.kind.title
    framed(figure, theme, title=title, x=panel.kind.x, y=panel.kind.y, height=HEIGHT)
    if categories:
        figure.update_xaxes(
            tickvals=list(range(len(categories))), ticktext=[plain(one) for one in categories],
            range=[-0.6, len(categories) - 0.4],
        )  # fmt: skip
    else:
        _numbered(figure, sorted({float(x) for x in places}))
    _levels(figure, paper, theme)
    _y_axis(figure, ours, paper, top)
    return Chart(figure, _alt(ours, paper, cut=cut), _table(ours, paper))


def _scaled(panel: Panel) -> Panel:
    scale = panel.kind.scale
    series = {
        name: tuple(
            Point(one.x, scale * one.mean, None if one.half_width is None else scale * one.half_width, one.n)
            for one in points
        )
        for name, points in panel.series.items()
    }
    return Panel(panel.key, panel.kind, series)


def _scaled_printed(one: Printed, scale: float) -> Printed:
    return replace(one, low=scale * one.low, high=None if one.high is None else scale * one.high)


def _looks(names: Sequence[Series], theme: Theme) -> dict[Series, Look]:
    """Return the look of each series: the colours of its policies where they differ, else by place; grey at the end."""
    policies = [next((key for part in name if (key := policy_of(part)) is not None), None) for name in names]
    own = [None if key is None else policy_colour(key, theme) for key in policies]
    by_policy = None not in own and len(set(own)) == len(own)
    found = {}
    for place, name in enumerate(names):
        colour = theme.marks[place % len(theme.marks)] if not by_policy else own[place]
        seen = place < MOST_SERIES or len(names) <= MOST_SERIES
        found[name] = Look(
            str(colour) if seen else theme.other, DASHES[place % len(DASHES)], SYMBOLS[place % len(SYMBOLS)]
        )
    return found


def _add_ours(
    figure: go.Figure,
    series: Series,
    points: Sequence[Point],
    look: Look,
    beside: float,
    categories: Sequence[str],
    at: int,
    of: int,
) -> None:
    """Add a series; on an axis of names its marks stand beside those of the others."""
    aside = 0.6 * (at - (of - 1) / 2) / max(of, 2)
    x = [categories.index(str(one.x)) + aside if categories else float(one.x) + beside for one in points]
    figure.add_scatter(
        x=x,
        y=[one.mean for one in points],
        mode="markers" if categories else "lines+markers",
        name=plain(name_of(series), 60),
        line={"color": look.colour, "dash": look.dash, "width": 2},
        marker={"color": look.colour, "symbol": look.symbol, "size": 9},
        error_y={
            "type": "data", "array": [one.half_width or 0.0 for one in points], "visible": any(
                one.half_width for one in points
            ), "thickness": 1.5, "width": 4, "color": look.colour,
        },
        customdata=[[str(one.x) if categories else number(float(one.x)), _said(one)] for one in points],
        hovertemplate="%{customdata[0]}: %{customdata[1]}<extra>%{fullData.name}</extra>",
    )  # fmt: skip


def _add_paper(figure: go.Figure, paper: Sequence[Printed], categories: Sequence[str], theme: Theme) -> None:
    """Add the printed points that have a place: hollow diamonds, a range as a line with one at each end."""
    placed = [(at, one) for one in paper if (at := _at(one, categories)) is not None]
    for place, (at, one) in enumerate(placed):
        ends = [one.low] if one.high is None else [one.low, one.high]
        words = f"{one.words}: " if one.words else ""
        figure.add_scatter(
            x=[at] * len(ends), y=ends, mode="lines+markers" if len(ends) > 1 else "markers", name="paper, as printed",
            legendgroup="paper", showlegend=place == 0, line={"color": theme.ink, "width": 1.5, "dash": "dot"},
            marker={"symbol": "diamond-open", "size": 14, "color": theme.ink, "line": {"width": 2}},
            customdata=[[f"{plain(words, 60)}{_range(one)}"]] * len(ends),
            hovertemplate="paper: %{customdata[0]}<extra></extra>",
        )  # fmt: skip


def _at(one: Printed, categories: Sequence[str]) -> float | None:
    """Return where a printed point stands; None for one that has no place on this axis."""
    if isinstance(one.x, str):
        return float(categories.index(one.x)) if one.x in categories else None
    return one.x if not categories else None


def _levels(figure: go.Figure, paper: Sequence[Printed], theme: Theme) -> None:
    """Draw printed numbers that belong to no place as dashed levels across the chart."""
    for one in paper:
        if one.x is None:
            words = f", {one.words}" if one.words else ""
            reference_line(figure, theme, y=one.low, text=f"paper{words}: {_range(one)}", below=one.high is not None)
            if one.high is not None:
                figure.add_hline(y=one.high, line={"color": theme.worse, "dash": "dash", "width": 2})


def _ends(panel: Panel, paper: Sequence[Printed]) -> tuple[float, float, bool]:
    """Return least and largest number on the axis, and whether intervals reach beyond it."""
    points = [one for series in panel.series.values() for one in series]
    printed = [end for one in paper for end in (one.low, one.high) if end is not None]
    means = [*(one.mean for one in points), *printed]
    most = WIDEST * max(abs(mean) for mean in means)
    ends = [one.mean + side * (one.half_width or 0.0) for one in points for side in (-1, 1)]
    low, high = min(*means, *ends, 0.0), max(*means, *ends)
    return max(low, -most), min(high, most), low < -most or high > most


def _y_axis(figure: go.Figure, panel: Panel, paper: Sequence[Printed], top: float) -> None:
    if panel.kind.log:
        values = [one.mean for points in panel.series.values() for one in points if one.mean > 0]
        values += [one.low for one in paper if one.low > 0]
        figure.update_yaxes(type="log", dtick=1, range=[np.log10(min(values) / 1.6), np.log10(max(values) * 1.6)])
        return
    low, _, _ = _ends(panel, paper)
    figure.update_yaxes(range=[ROOM * min(low, 0.0), ROOM * top or 1.0])


def _numbered(figure: go.Figure, places: Sequence[float]) -> None:
    """Name the places on an axis of numbers, with room at its ends for marks that stand beside them."""
    span = (places[-1] - places[0]) or max(abs(places[0]), 1.0)
    figure.update_xaxes(
        tickvals=list(places), ticktext=[f"{one:g}" for one in places],
        range=[places[0] - 0.06 * span, places[-1] + 0.06 * span],
    )  # fmt: skip


def _said(point: Point) -> str:
    mean, half = with_half(Interval(point.mean, point.half_width, point.n))
    return f"{mean} ± {half}" if half else mean


def _range(one: Printed) -> str:
    return number(one.low) if one.high is None else f"{number(one.low)} to {number(one.high)}"


def _alt(panel: Panel, paper: Sequence[Printed], *, cut: bool) -> str:
    """Return the chart in a sentence: the ends of every series, and what the paper prints."""
    parts = []
    for series, points in list(panel.series.items())[:MOST_SERIES]:
        ends = [points[0], points[-1]] if panel.has_numbers and len(points) > 1 else list(points)
        told = ", ".join(
            f"{_said(one)} at {one.x:g}" if isinstance(one.x, float) else f"{one.x} {_said(one)}" for one in ends
        )
        parts.append(f"{name_of(series)} {told}")
    more = len(panel.series) - len(parts)
    rest = f"; {more} more in the table" if more > 0 else ""
    printed = ", ".join(f"{one.words + ' ' if one.words else ''}{_range(one)}" for one in paper)
    said = f" Paper: {printed}." if printed else " The paper prints no number for it."
    wide = " Intervals that leave the picture are in the table." if cut else ""
    return f"{panel.kind.y}: {'; '.join(parts)}{rest}.{said}{wide}"


def _table(panel: Panel, paper: Sequence[Printed]) -> pd.DataFrame:
    rows: list[dict[str, object]] = [
        {"whose": "ours", "series": name_of(series), "at": one.x, "mean": one.mean, "± (95%)": one.half_width,
         "draws": one.n or None}
        for series, points in panel.series.items()
        for one in points
    ]  # fmt: skip
    for one in paper:
        rows += [
            {"whose": "paper", "series": one.words, "at": one.x, "mean": end, "± (95%)": None, "draws": None}
            for end in (one.low, one.high)
            if end is not None
        ]
    table = pd.DataFrame(rows)
    return table.assign(at=[f"{x:g}" if isinstance(x, float) else x for x in table["at"]])
