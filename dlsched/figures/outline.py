"""The outline of one job in a picture of many: dark on light and light on dark, and never too thin to be seen."""

from __future__ import annotations

import plotly.graph_objects as go

from dlsched.figures.base import CLEAR, Floats, TimeAxis
from dlsched.figures.lines import add_spans
from dlsched.figures.palette import Theme

EDGE_PX, HALO_PX = 3, 7
LEAST_SHARE = 0.008
"""Of the width of the picture: shorter stretches are outlined as wide as this."""


def outline_spans(
    figure: go.Figure,
    theme: Theme,
    axis: TimeAxis,
    start_s: Floats,
    end_s: Floats,
    y: Floats,
    height: Floats,
    name: str,
) -> None:
    """Outline bars that are drawn from one time to another on rows ``y``; ``name`` says in the legend which."""
    lacks_s = (LEAST_SHARE * (axis.to_s - axis.from_s) - (end_s - start_s)).clip(min=0.0)
    start_s, end_s = start_s - lacks_s / 2, end_s + lacks_s / 2
    for colour, width in ((theme.ground, HALO_PX), (theme.ink, EDGE_PX)):
        add_spans(
            figure, axis, start_s, end_s, y, height, name=name, showlegend=colour == theme.ink, hoverinfo="skip",
            marker={"color": CLEAR, "line": {"color": colour, "width": width}},
        )  # fmt: skip


def outline_row(
    figure: go.Figure, theme: Theme, axis: TimeAxis, from_s: float, to_s: float, first: float, last: float
) -> None:
    """Outline the rows ``first`` to ``last`` of a picture from one time to another."""
    lacks_s = max(LEAST_SHARE * (axis.to_s - axis.from_s) - (to_s - from_s), 0.0) / 2
    ends = {"x0": axis.place(from_s - lacks_s), "x1": axis.place(to_s + lacks_s)}
    for colour, width in ((theme.ground, HALO_PX), (theme.ink, EDGE_PX)):
        line = {"color": colour, "width": width}
        figure.add_shape(type="rect", y0=first - 0.5, y1=last + 0.5, line=line, layer="above", **ends)
