"""The frame every chart shares: fonts, grid, margins, legend, time axes, and a sentence instead of the picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from dlsched.figures.palette import Theme
from dlsched.wording.clock import DAYS, Clock
from dlsched.wording.counted import GPUS, Counted
from dlsched.wording.formats import cut, duration

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Names = NDArray[np.object_]

FONT = "Source Sans, Source Sans Pro, sans-serif"
HEIGHT = 320
CLEAR = "rgba(0,0,0,0)"
LEGEND_PX = 700
"""Width of a chart in a window of 1,024 px, where legends wrap first."""
MOST_LEGEND_ROWS = 4
TIME_UNITS = (
    (2 * 86_400.0, 86_400.0, "days"),
    (2 * 3_600.0, 3_600.0, "hours"),
    (120.0, 60.0, "minutes"),
    (0.0, 1.0, "seconds"),
)
DATE_FORMAT = "%a %-d %b %Y, %H:%M"
DATE_TICKS = [
    {"dtickrange": [None, 60_000], "value": "%H:%M:%S\n%a %-d %b<br>%Y"},
    {"dtickrange": [60_000, 86_400_000], "value": "%H:%M\n%a %-d %b<br>%Y"},
    {"dtickrange": [86_400_000, "M1"], "value": "%-d %b\n%Y"},
    {"dtickrange": ["M1", None], "value": "%b\n%Y"},
]
"""Ticks of dates by the distance between them, in milliseconds; the day is always said."""
DURATION_TICKS: Mapping[float, str] = {
    0.001: "1 ms",
    0.1: "0.1 s",
    1: "1 s",
    10: "10 s",
    60: "1 min",
    600: "10 min",
    3_600: "1 h",
    6 * 3_600: "6 h",
    86_400: "1 d",
    7 * 86_400: "7 d",
    30 * 86_400: "30 d",
    365 * 86_400: "1 y",
    3_650 * 86_400: "10 y",
}
LEAST_TICKS = 3
"""With fewer of these on an axis, finer ones are taken."""


TOLD_OF_GPUS = (
    "GPUs allocated", "GPUs available", "GPUs rented", "GPUs requested", "free GPUs", "GPUs free", "of the GPU time",
)  # fmt: skip
"""Entries of legends that are words of ours; others may be names of users or classes."""


@dataclass(frozen=True, eq=False)
class Chart:
    """A figure with its text alternative (one sentence with the numbers) and its data as a table."""

    figure: go.Figure
    alt: str
    table: pd.DataFrame

    def of(self, counted: Counted) -> Chart:
        """Return the chart with its words about GPUs told of the resource that counts; names of data stay."""
        if counted == GPUS:
            return self
        figure, say = go.Figure(self.figure), counted.say
        if figure.layout.title.text:
            figure.layout.title.text = say(figure.layout.title.text)
        for axis in (*figure.select_xaxes(), *figure.select_yaxes()):
            if axis.title.text:
                axis.title.text = say(axis.title.text)
        for note in figure.layout.annotations:
            note.text = say(note.text)
        for trace in figure.data:
            if trace.name and any(told in trace.name for told in TOLD_OF_GPUS):
                trace.name = say(trace.name)
            trace.hovertemplate = say(trace.hovertemplate) if trace.hovertemplate else None
        return Chart(figure, say(self.alt), self.table.rename(columns=lambda name: say(str(name))))


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """A stretch of time: dates where the clock has them, else times since its zero in one unit.

    Every window of a trace has the same unit: it follows from the whole, not from what is seen.
    """

    from_s: float
    to_s: float
    unit_s: float
    unit: str
    clock: Clock = DAYS

    @classmethod
    def over(cls, from_s: float, to_s: float, clock: Clock = DAYS) -> TimeAxis:
        """Return the axis of a stretch; an empty one becomes one second."""
        to_s = max(to_s, from_s + 1.0)
        longest = max(to_s, clock.span_s)
        unit_s, unit = next((size, name) for least, size, name in TIME_UNITS if longest >= least)
        return cls(from_s, to_s, unit_s, unit, clock)

    @property
    def has_dates(self) -> bool:
        """Whether places are dates."""
        return self.clock.zero is not None

    @property
    def title(self) -> str:
        """Axis title with the time zone, or the unit."""
        return f"Time ({self.clock.zone})" if self.has_dates else f"Time ({self.unit} from first job)"

    @property
    def column(self) -> str:
        """Name of a column of a table that holds places."""
        return f"time ({self.clock.zone if self.has_dates else self.unit})"

    @property
    def hover(self) -> str:
        """What a hover template says of the place."""
        if self.has_dates:
            return f"%{{x|{DATE_FORMAT}}}"
        return "day %{x:.2f}" if self.unit == "days" else "%{x:.2f} " + self.unit

    @property
    def look(self) -> dict[str, Any]:
        """What Plotly needs to know of the axis, without its title."""
        if not self.has_dates:
            return {"range": [self.from_s / self.unit_s, self.to_s / self.unit_s], "hoverformat": ".2f"}
        ends = [self.place(self.from_s), self.place(self.to_s)]
        return {"type": "date", "range": ends, "hoverformat": DATE_FORMAT, "tickformatstops": DATE_TICKS,
                "tickangle": 0}  # fmt: skip

    def at(self, times_s: Any) -> NDArray[Any]:
        """Return where times stand on the axis."""
        return self.clock.at(times_s) if self.has_dates else np.asarray(times_s, dtype=np.float64) / self.unit_s

    def place(self, time_s: float) -> Any:
        """Return where one time stands, as shapes and ranges need it."""
        return str(self.clock.at(time_s)) if self.has_dates else time_s / self.unit_s

    def length(self, seconds: Any) -> NDArray[Any]:
        """Return how long stretches are on the axis; Plotly counts those between dates in milliseconds."""
        return np.asarray(seconds, dtype=np.float64) / (0.001 if self.has_dates else self.unit_s)

    def seconds(self, place: Any) -> float:
        """Return the time of a place, as Plotly gives it back."""
        return self.clock.seconds(str(place)) if self.has_dates else float(place) * self.unit_s


def framed(
    figure: go.Figure, theme: Theme, *, title: str, x: str | TimeAxis, y: str, height: int = HEIGHT
) -> go.Figure:
    """Return the figure with the house style; ``x`` and ``y`` are axis titles that carry their units.

    A time axis as ``x`` gives its range too. Call it after the traces are there: room for a legend is made only when
    there is one.
    """
    axis = {
        "automargin": True,
        "gridcolor": theme.grid,
        "zerolinecolor": theme.grid,
        "linecolor": theme.grid,
        "tickfont": {"size": 13, "color": theme.muted},
        "title": {"font": {"size": 13, "color": theme.muted}, "standoff": 8},
    }
    look = x.look if isinstance(x, TimeAxis) else {}
    x_axis = _merged(axis, {"title": {"text": x.title if isinstance(x, TimeAxis) else x}, **look})
    y_axis = _merged(axis, {"title": {"text": y}})
    heading = {"text": title, "font": {"size": 15, "color": theme.ink}, "x": 0, "xanchor": "left", "yanchor": "top"}
    rows = _legend_rows(figure)
    style = {
        "template": "none",
        "title": {**heading, "y": 1, "yref": "container", "pad": {"t": 6, "l": 2}},
        "font": {"family": FONT, "size": 13, "color": theme.ink},
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "height": height,
        "margin": {"l": 8, "r": 16, "t": 40 + 24 * rows, "b": 8},
        "legend": {
            "orientation": "h",
            "x": 0,
            "xanchor": "left",
            "y": 1,
            "yanchor": "bottom",
            "entrywidth": 0,
            "font": {"size": 13},
        },
        "hoverlabel": {
            "bgcolor": theme.card,
            "bordercolor": theme.muted,
            "font": {"family": FONT, "size": 13, "color": theme.ink},
            "align": "left",
        },
        "modebar": {"bgcolor": CLEAR, "color": theme.muted, "activecolor": theme.ink},
        "bargap": 0.08,
    }
    layout = figure.layout.to_plotly_json()
    axes = {"xaxis", "yaxis", *(name for name in layout if name.startswith(("xaxis", "yaxis")))}
    style |= {name: x_axis if name.startswith("x") else y_axis for name in axes}
    figure.layout = _merged(layout, style)  # at once: Plotly takes four times as long to update a layout part by part
    return figure


def _merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return a nested mapping with the values of another one in it."""
    both = dict(old)
    for name, value in new.items():
        inner = both.get(name)
        both[name] = _merged(inner, value) if isinstance(inner, dict) and isinstance(value, dict) else value
    return both


def _legend_rows(figure: go.Figure) -> int:
    """Return how many lines the legend takes at LEGEND_PX; 0 when Plotly shows none."""
    named = [trace for trace in figure.data if trace.showlegend is not False]
    if len(named) < 2 and not any(trace.showlegend for trace in named):
        return 0
    widths = [44 + 6 * len(trace.name or "") for trace in named]
    if sum(widths) <= LEGEND_PX:
        return 1
    # Entries that do not fit on one line stand in columns as wide as the widest.
    return min(int(np.ceil(len(widths) / max(LEGEND_PX // max(widths), 1))), MOST_LEGEND_ROWS)


def hatched(colour: str, shape: str, ink: str) -> dict[str, Any]:
    """Return the marker of a bar in ``colour`` with hatching in ``ink`` over it; shape "" is no hatching."""
    # Half transparent over a colour, so that a label on the bar stays legible.
    opacity = 1.0 if colour == CLEAR else 0.6
    pattern = {"shape": shape, "fillmode": "overlay", "fgcolor": ink, "fgopacity": opacity, "size": 8, "solidity": 0.15}
    return {"color": colour, "pattern": pattern}


def area_hatch(place: int, colour: str, ink: str) -> dict[str, Any]:
    """Return the fill of the area number ``place`` of a stack, so that neighbours differ without colour."""
    return {
        "shape": ("", "/", "", ".", "", "\\")[place % 6],
        "bgcolor": colour,
        "fgcolor": ink,
        "size": 7,
        "solidity": 0.2,
    }


def legend_mark(figure: go.Figure, name: str, **marker: Any) -> None:
    """Add a legend entry without data, as rasters and shapes have none of their own."""
    figure.add_scatter(x=[None], y=[None], mode="markers", marker=marker, name=name, showlegend=True, hoverinfo="skip")


def reference_line(
    figure: go.Figure,
    theme: Theme,
    *,
    text: str,
    y: float | None = None,
    x: Any = None,
    before: bool = False,
    below: bool = False,
    limit: bool = False,
) -> None:
    """Draw a dashed line with its label; a ``limit``, which to pass is to be late or over, in the colours of that.

    The label of a level ``y`` stands on the line at its left end, or ``below`` it; that of a place ``x`` at the top of
    the plot, to the right of the line, or to its left with ``before``: leave room above the marks. Call it after
    :func:`framed` and after the type of the axes is set.
    """

    def at(place: Any, axis: Any) -> Any:
        # Plotly places shapes by value, but annotations by exponent on a log axis.
        return float(np.log10(place)) if axis.type == "log" else place

    line = {"color": theme.worse if limit else theme.ink, "dash": "dash" if limit else "dot", "width": 2}
    ink = theme.worse_text if limit else theme.ink
    label = {"text": text, "showarrow": False, "font": {"color": ink, "size": 13}, "borderpad": 1}
    label |= {"bgcolor": theme.ground, "opacity": 0.9}
    if y is not None:
        figure.add_hline(y=y, line=line)
        place = {"x": 0, "xref": "paper", "xanchor": "left", "y": at(y, figure.layout.yaxis), "yref": "y", "xshift": 8}
        figure.add_annotation(**label, **place, yanchor="top" if below else "bottom", yshift=-2 if below else 2)
    if x is not None:
        figure.add_vline(x=x, line=line)
        place = {"x": at(x, figure.layout.xaxis), "xref": "x", "xanchor": "right" if before else "left"}
        figure.add_annotation(**label, **place, y=1, yref="paper", yanchor="top", xshift=-6 if before else 6)


def end_labels(labels: Sequence[str], theme: Theme) -> dict[str, Any]:
    """Return what prints a label at the end of each bar."""
    return {"text": labels, "textposition": "outside", "textfont": {"color": theme.ink}, "cliponaxis": False}


def named_rows(figure: go.Figure, labels: Sequence[str]) -> None:
    """Name the rows 0, 1, ... of a chart of horizontal bars, the first on top; equal labels stay separate rows."""
    figure.update_yaxes(
        tickvals=list(range(len(labels))),
        ticktext=list(labels),
        range=[len(labels) - 0.4, -0.6],
        showgrid=False,
        zeroline=False,
    )


def duration_axis(figure: go.Figure, low_s: float, high_s: float) -> None:
    """Make x a log axis of times from ``low_s`` to ``high_s`` with ticks in words; data stay in seconds."""
    figure.update_xaxes(**log_times(low_s, high_s))


def log_times(low_s: float, high_s: float) -> dict[str, Any]:
    """Return what makes an axis a log axis of times from ``low_s`` to ``high_s``, with ticks in words."""
    ticks = {at: text for at, text in DURATION_TICKS.items() if low_s / 1.2 <= at <= high_s * 1.2}
    if len(ticks) < LEAST_TICKS:
        steps = [unit * step for unit in (1e-3, 1e-2, 0.1, 1, 60, 3600, 86_400) for step in (1, 2, 3, 5, 10, 20, 30)]
        ticks = {at: duration(at) for at in sorted({*steps, *ticks}) if low_s <= at <= high_s}
    ends = [float(np.log10(low_s)), float(np.log10(high_s))]
    return {"type": "log", "range": ends, "tickvals": list(ticks), "ticktext": list(ticks.values())}


def with_dates(frame: pd.DataFrame, clock: Clock, columns: Mapping[str, str]) -> pd.DataFrame:
    """Return a table whose times are dates where the clock has them, under new names; the first says the zone.

    ``columns``: name of a column in seconds -> its name as a date.
    """
    there = [name for name in columns if name in frame]
    if clock.zero is None or not there:
        return frame
    dated = frame.assign(**{name: clock.at(frame[name]) for name in there})
    first = next(name for name in frame.columns if name in columns)
    return dated.rename(columns={name: columns[name] + (f" ({clock.zone})" if name == first else "") for name in there})


def top_of(values: Floats, least: float = 1.0, room: float = 0.08) -> list[float]:
    """Return the range of an axis from 0 to a little above the largest value."""
    largest = float(np.nanmax(values, initial=0.0))
    return [0.0, (1 + room) * largest if largest > 0 else least]


def column(frame: pd.DataFrame, name: str) -> Floats:
    """Return a column as floats; NaN throughout where the frame has no such column."""
    if name not in frame:
        return np.full(len(frame), np.nan)
    return np.asarray(frame[name], dtype=np.float64)


def texts(frame: pd.DataFrame, name: str) -> Names:
    """Return a column as text, the empty string where missing; empty throughout without such a column."""
    if name not in frame:
        return np.full(len(frame), "", dtype=object)
    values = frame[name]
    return values.astype(object).where(values.notna(), "").map(str).to_numpy(dtype=object)


def plain(text: object, longest: int = 40) -> str:
    """Return user text safe inside a figure, where Plotly would read <b> and <a>, and %{x} in hover templates."""
    safe = cut(text, longest).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return safe.replace("%{", "%\u200b{")
