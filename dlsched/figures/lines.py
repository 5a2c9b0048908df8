"""What lines, dots and areas of charts share: looks, means with intervals, steps and shares, stacked areas, strokes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from dlsched.figures.base import Floats, TimeAxis, area_hatch, duration_axis, framed, legend_mark, plain, reference_line
from dlsched.figures.palette import DASHES, Theme, policy_colour
from dlsched.metrics.stats.intervals import Interval
from dlsched.wording.formats import duration

SYMBOLS = ("circle", "square", "diamond", "pentagon", "star", "hexagon", "cross")
LEAST_S = 1.0
"""Shorter times are drawn here where the axis of times is logarithmic."""


# ---- looks -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Look:
    """How a line looks: its colour everywhere; dash and symbol tell it without colour."""

    colour: str
    dash: str
    symbol: str

    def line(self, width: float = 2, **more: Any) -> dict[str, Any]:
        """Return the line of a trace."""
        return {"color": self.colour, "width": width, "dash": self.dash, **more}


def look_at(place: int, colour: str) -> Look:
    """Return a look in ``colour`` whose dash and symbol are those of the line number ``place``."""
    return Look(colour, DASHES[place % len(DASHES)], SYMBOLS[place % len(SYMBOLS)])


def policy_looks(policies: Sequence[str], theme: Theme) -> dict[str, Look]:
    """Return the look of each policy by key: the colour it has on all pages, dash and symbol of its place here."""
    return {policy: look_at(place, policy_colour(policy, theme)) for place, policy in enumerate(policies)}


def verdict_marks(
    figure: go.Figure, verdicts: Iterable[str], words: Mapping[str, str], look_of: Mapping[str, tuple[str, str]]
) -> None:
    """Add a legend entry for each mark, with the ``words`` of all ``verdicts`` that share it; look: symbol, colour."""
    named: dict[tuple[str, str], list[str]] = {}
    for verdict in verdicts:
        named.setdefault(look_of[verdict], []).append(words[verdict])
    for (symbol, colour), parts in named.items():
        legend_mark(figure, " or ".join(parts), symbol=symbol, size=11, color=colour)


# ---- means and their intervals -----------------------------------------------------------------------


def halves(means: Sequence[Interval], factor: float = 1.0) -> list[float]:
    """Return half widths of intervals times a factor; 0 where there is none."""
    return [factor * (mean.half_width or 0.0) for mean in means]


def bars(above: Sequence[float], below: Sequence[float] | None = None, **look: Any) -> dict[str, Any]:
    """Return error bars of these lengths, alike to both sides without ``below``."""
    sides = {} if below is None else {"symmetric": False, "arrayminus": list(below)}
    return {"type": "data", "array": list(above), **sides, "thickness": 1.5, **look}


def add_band(
    figure: go.Figure, x: Sequence[float], low: Sequence[float], high: Sequence[float], colour: str,
    opacity: float = 0.13,
) -> None:  # fmt: skip
    """Fill what lies between two lines with a weak ``colour`` "#rrggbb"."""
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    figure.add_scatter(
        x=[*x, *reversed(x)], y=[*high, *reversed(low)], fill="toself", mode="lines", showlegend=False,
        line={"width": 0}, fillcolor=f"rgba({red},{green},{blue},{opacity:g})", hoverinfo="skip",
    )  # fmt: skip


def add_means(
    figure: go.Figure, x: Sequence[float], y: Sequence[float], look: Look, label: str, told: Sequence[Any],
    *, hover: str = "%{customdata}", **more: Any,
) -> None:  # fmt: skip
    """Draw a line with a mark at each mean; ``told`` is what the mouse reads there, behind the name of the line."""
    marker = {"symbol": look.symbol, "size": 9, "color": look.colour} | more.pop("marker", {})
    figure.add_scatter(
        x=list(x), y=list(y), mode="lines+markers", name=plain(label), showlegend=True, line=look.line(),
        marker=marker, customdata=list(told), hovertemplate=f"<b>{plain(label)}</b><br>{hover}<extra></extra>", **more,
    )  # fmt: skip


# ---- steps, shares, areas ----------------------------------------------------------------------------


def add_share_line(
    figure: go.Figure, times_s: Floats, percents: Floats, name: str, line: dict[str, Any], least_s: float = LEAST_S
) -> None:
    """Draw the percentage of jobs that are done within each time; times below ``least_s`` stand there."""
    figure.add_scatter(
        x=np.maximum(times_s, least_s), y=percents, mode="lines", name=plain(name), showlegend=True, line=line,
        customdata=[duration(at_s) for at_s in times_s.tolist()],
        hovertemplate="%{fullData.name}: %{y:.1f}% within %{customdata}<extra></extra>",
    )  # fmt: skip


def frame_shares(figure: go.Figure, theme: Theme, quantity: str, longest_s: float, of: str = "") -> None:
    """Give share lines a logarithmic axis of times from a second on; ``of``, which jobs these are, ends the title."""
    title = f"{quantity}: share of jobs within a time{of}"
    x_title = f"{quantity} (log scale; under 1 s drawn at 1 s)"
    framed(figure, theme, title=title, x=x_title, y="Share of jobs (%)", height=340)
    reference_line(figure, theme, y=95, text="95 of 100 jobs", below=True)
    duration_axis(figure, 0.9 * LEAST_S, max(longest_s, 10.0) * 1.05)
    figure.update_yaxes(range=[0, 109], tickvals=[0, 25, 50, 75, 100])


def add_area(
    figure: go.Figure, theme: Theme, x: Floats, y: Floats, name: str, place: int, colour: str, hover: str
) -> None:
    """Add the steps number ``place`` to a stack of areas, hatched so that neighbours differ without colour."""
    figure.add_scatter(
        x=x, y=y, mode="lines", line={"shape": "hv", "width": 1, "color": theme.ground}, fillcolor=colour,
        fillpattern=area_hatch(place, colour, theme.ground), stackgroup="stack", name=plain(name), showlegend=True,
        hovertemplate=f"%{{fullData.name}}: {hover}<extra></extra>",
    )  # fmt: skip


def add_spans(
    figure: go.Figure, axis: TimeAxis, start_s: Floats, end_s: Floats, y: Any, height: Any, **look: Any
) -> None:
    """Draw bars from one time to another on rows ``y``, of these heights in rows."""
    figure.add_bar(x=axis.length(end_s - start_s), base=axis.at(start_s), y=y, width=height, orientation="h", **look)


def add_strokes(
    figure: go.Figure, starts: Iterable[tuple[float, float]], ends: Iterable[tuple[float, float]], **look: Any
) -> None:
    """Draw separate strokes, each from one place (x, y) to another, as one trace."""
    places = [place for stroke in zip(starts, ends, strict=True) for place in (*stroke, (None, None))]
    figure.add_scatter(x=[x for x, _ in places], y=[y for _, y in places], mode="lines", hoverinfo="skip", **look)
