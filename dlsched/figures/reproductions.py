"""A figure of a paper beside our numbers: the paper's printed points hollow, ours filled with their 95% intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dlsched.figures.base import Chart, framed, legend_mark, plain
from dlsched.figures.lines import Look, bars, look_at
from dlsched.figures.palette import Theme, policy_colour
from dlsched.metrics.stats.intervals import Interval
from dlsched.policies.registry import find
from dlsched.studies.reproductions.panels import MOST_SERIES, Panel, Point, Series, policy_of
from dlsched.studies.reproductions.reproduction import PrintedNumber
from dlsched.wording.certainty import with_half
from dlsched.wording.formats import amount, number

HEIGHT = 400
ROOM = 1.15
WIDEST = 2.5
"""Intervals may stretch the axis to so many times the largest mean; wider ones are cut and the text says so."""
APART, WIDE = 0.012, 0.08
"""How far apart marks of one place stand, and how wide all of them may, as shares of the axis: bars do not overlap."""
HOLLOW = {"symbol": "diamond-open", "size": 14, "line": {"width": 2}}


def name_of(series: Series) -> str:
    """Return what the legend calls a series; a policy by its label where the data have its key."""
    words = [find(key).label if name.islower() and (key := policy_of(name)) else name for name in series]
    return ", ".join(words) or "ours"


def compared(panel: Panel, printed: Sequence[PrintedNumber], theme: Theme) -> Chart:
    """Return a panel of our numbers with what the paper prints of it."""
    figure, ours = go.Figure(), _scaled(panel)
    scale = panel.kind.scale
    paper = [
        replace(one, low=scale * one.low, high=None if one.high is None else scale * one.high)
        for one in printed
        if one.panel == panel.key
    ]
    looks, axis = _looks(list(ours.series), theme), _Places.of(ours)
    for series, points in ours.series.items():
        _add_ours(figure, series, points, looks[series], axis)
    _add_paper(figure, paper, looks, axis, theme)
    framed(figure, theme, title=panel.kind.title, x=panel.kind.x, y=panel.kind.y, height=HEIGHT)
    figure.update_xaxes(tickvals=list(range(len(axis.names))) or axis.numbers, ticktext=axis.ticks, range=axis.range)
    _levels(figure, paper, theme)
    cut = _y_axis(figure, ours, paper)
    return Chart(figure, _alt(ours, paper, cut=cut), _table(ours, paper))


@dataclass(frozen=True, slots=True)
class _Places:
    """The axis along which series stand beside each other: ``numbers``, or else ``names`` at 0, 1, 2, ..."""

    series: tuple[Series, ...]
    numbers: list[float]
    names: list[str]

    @classmethod
    def of(cls, panel: Panel) -> _Places:
        places = [point.x for points in panel.series.values() for point in points]
        numbers = sorted({float(x) for x in places}) if panel.has_numbers else []
        return cls(tuple(panel.series), numbers, [] if numbers else [str(x) for x in dict.fromkeys(places)])

    @property
    def span(self) -> float:
        return (self.numbers[-1] - self.numbers[0]) or max(abs(self.numbers[0]), 1.0)

    @property
    def ticks(self) -> list[str]:
        return [plain(name) for name in self.names] or [f"{number:g}" for number in self.numbers]

    @property
    def range(self) -> list[float]:
        """The ends, with room for what stands beside the outermost places."""
        if self.names:
            return [-0.6, len(self.names) - 0.4]
        return [self.numbers[0] - 0.06 * self.span, self.numbers[-1] + 0.06 * self.span]

    def at(self, x: float | str, series: Series | None) -> float | None:
        """Return where a point of a series stands, in the middle without one; None if there is no such place."""
        beside = 0.0 if series is None else self.series.index(series) - (len(self.series) - 1) / 2
        if self.names:
            return self.names.index(str(x)) + 0.6 * beside / max(len(self.series), 2) if str(x) in self.names else None
        return float(x) + min(APART, WIDE / len(self.series)) * self.span * beside if isinstance(x, float) else None


def _scaled(panel: Panel) -> Panel:
    scale = panel.kind.scale

    def point(one: Point) -> Point:
        return replace(
            one, mean=scale * one.mean, half_width=None if one.half_width is None else scale * one.half_width
        )

    return replace(panel, series={name: tuple(map(point, points)) for name, points in panel.series.items()})


def _looks(names: Sequence[Series], theme: Theme) -> dict[Series, Look]:
    """Return the look of each series: the colours of its policies where they differ, else by place; grey at the end."""
    policies = [next((key for part in name if (key := policy_of(part)) is not None), None) for name in names]
    own = [None if key is None else policy_colour(key, theme) for key in policies]
    by_policy = None not in own and len(set(own)) == len(own)
    looks = {}
    for place, name in enumerate(names):
        colour = str(own[place] if by_policy else theme.marks[place % len(theme.marks)])
        looks[name] = look_at(place, colour if place < MOST_SERIES or len(names) <= MOST_SERIES else theme.other)
    return looks


def _add_ours(figure: go.Figure, series: Series, points: Sequence[Point], look: Look, axis: _Places) -> None:
    figure.add_scatter(
        x=[axis.at(one.x, series) for one in points],
        y=[one.mean for one in points],
        mode="markers" if axis.names else "lines+markers",
        name=plain(name_of(series), 60),
        line=look.line(),
        marker={"color": look.colour, "symbol": look.symbol, "size": 9},
        error_y=bars(
            [one.half_width or 0.0 for one in points],
            width=4,
            visible=any(one.half_width for one in points),
            color=look.colour,
        ),
        customdata=[[number(one.x) if isinstance(one.x, float) else plain(one.x), _said(one)] for one in points],
        hovertemplate="%{customdata[0]}: %{customdata[1]}<extra>%{fullData.name}</extra>",
    )


def _add_paper(
    figure: go.Figure, paper: Sequence[PrintedNumber], looks: Mapping[Series, Look], axis: _Places, theme: Theme
) -> None:
    """Add the printed points that have a place: hollow diamonds, a range as a line with one at each end.

    A point that belongs to one of our series stands beside it in its colour.
    """
    any_placed = False
    for one in paper:
        series = next((name for name in looks if one.series and one.series in name), None)
        place = None if one.x is None else axis.at(one.x, series)
        if place is None:
            continue
        any_placed = True
        colour = theme.ink if series is None else looks[series].colour
        ends = _ends_of(one)
        figure.add_scatter(
            x=[place] * len(ends), y=ends, mode="lines+markers" if len(ends) > 1 else "markers", showlegend=False,
            line={"color": colour, "width": 1.5, "dash": "dot"}, marker=HOLLOW | {"color": colour},
            customdata=[[f"{plain(_whose(one), 60)}{_range(one)}"]] * len(ends),
            hovertemplate="paper: %{customdata[0]}<extra></extra>",
        )  # fmt: skip
    if any_placed:
        legend_mark(figure, "paper, as printed", **HOLLOW, color=theme.ink)


def _levels(figure: go.Figure, paper: Sequence[PrintedNumber], theme: Theme) -> None:
    """Draw printed numbers that belong to no place as dashed levels across the chart."""
    left = {"x": 0, "xref": "paper", "xanchor": "left", "xshift": 8, "yref": "y", "yanchor": "bottom"}
    label = {"showarrow": False, "bgcolor": theme.ground, "opacity": 0.9, "font": {"color": theme.ink, "size": 13}}
    for one in paper:
        if one.x is None:
            for end in _ends_of(one):
                figure.add_hline(y=end, line={"color": theme.ink, "dash": "dot", "width": 2})
            text = f"paper, as printed: {plain(_whose(one), 60)}{_range(one)}"
            figure.add_annotation(text=text, y=_ends_of(one)[-1], **left, **label)


def _ends_of(one: PrintedNumber) -> list[float]:
    return [one.low] if one.high is None else [one.low, one.high]


def _y_axis(figure: go.Figure, panel: Panel, paper: Sequence[PrintedNumber]) -> bool:
    """Set the axis of the numbers; return whether intervals reach beyond it."""
    points = [one for series in panel.series.values() for one in series]
    means = [*(one.mean for one in points), *(end for one in paper for end in _ends_of(one))]
    if panel.kind.log and any(mean > 0 for mean in means):
        positive = [mean for mean in means if mean > 0]
        low, high = min(positive) / 1.6, max(positive) * 1.6
        figure.update_yaxes(type="log", range=[np.log10(low), np.log10(high)])
        return any(
            one.half_width and not low <= one.mean - one.half_width <= high - 2 * one.half_width for one in points
        )
    most = WIDEST * max(abs(mean) for mean in means)
    ends = [one.mean + side * (one.half_width or 0.0) for one in points for side in (-1, 1)]
    low, high = min(*means, *ends, 0.0), max(*means, *ends, 0.0)
    figure.update_yaxes(range=[ROOM * max(low, -most), ROOM * min(high, most) or 1.0])
    return low < -most or high > most


def _said(point: Point) -> str:
    mean, half = with_half(Interval(point.mean, point.half_width, point.n))
    return f"{mean} ± {half}" if half else mean


def _whose(one: PrintedNumber) -> str:
    return "".join(f"{word}: " for word in (one.series, one.words) if word)


def _told(point: Point) -> str:
    return f"{_said(point)} at {point.x:g}" if isinstance(point.x, float) else f"{point.x} {_said(point)}"


def _range(one: PrintedNumber) -> str:
    return number(one.low) if one.high is None else f"{number(one.low)} to {number(one.high)}"


def _alt(panel: Panel, paper: Sequence[PrintedNumber], *, cut: bool) -> str:
    """Return the chart in a sentence: the ends of every series, and what the paper prints."""
    parts = []
    for series, points in list(panel.series.items())[:MOST_SERIES]:
        ends = [points[0], points[-1]] if panel.has_numbers and len(points) > 1 else list(points)
        parts.append(f"{name_of(series)} {', '.join(map(_told, ends))}")
    more = len(panel.series) - len(parts)
    rest = f"; {more} more in the table" if more > 0 else ""
    printed = ", ".join(f"{_whose(one)}{_range(one)}" for one in paper)
    paper_words = f" Paper: {printed}." if printed else " The paper prints no number for it."
    missing = f" {amount(panel.gaps, 'point')} missing: {panel.kind.gap}." if panel.gaps else ""
    wide = " Intervals that leave the picture are in the table." if cut else ""
    return f"{panel.kind.y}: {'; '.join(parts)}{rest}.{paper_words}{missing}{wide}"


def _table(panel: Panel, paper: Sequence[PrintedNumber]) -> pd.DataFrame:
    rows: list[dict[str, object]] = [
        {"whose": "ours", "series": name_of(series), "at": one.x, "mean": one.mean, "± (95%)": one.half_width,
         "draws": one.n or None}
        for series, points in panel.series.items()
        for one in points
    ]  # fmt: skip
    for one in paper:
        whose = {"whose": "paper", "series": one.series or one.words, "at": one.x}
        rows += [{**whose, "mean": end, "± (95%)": None, "draws": None} for end in _ends_of(one)]
    table = pd.DataFrame(rows)
    return table.assign(at=[f"{x:g}" if isinstance(x, float) else x for x in table["at"]])
