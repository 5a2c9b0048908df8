"""The frame every chart shares: fonts, grid, margins, legend, time axes, and a sentence instead of the picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from dlsched.figures.palette import Theme

FONT = "Source Sans, Source Sans Pro, Source Sans 3, sans-serif"
HEIGHT = 320
TIME_UNITS = (
    (2 * 86_400.0, 86_400.0, "days"),
    (2 * 3_600.0, 3_600.0, "hours"),
    (120.0, 60.0, "minutes"),
    (0.0, 1.0, "seconds"),
)


@dataclass(frozen=True, eq=False)
class Chart:
    """A figure with its text alternative (one sentence with the numbers) and its data as a table."""

    figure: go.Figure
    alt: str
    table: pd.DataFrame


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """A stretch of time in a readable unit."""

    from_s: float
    to_s: float
    unit_s: float
    unit: str

    @classmethod
    def over(cls, from_s: float, to_s: float) -> TimeAxis:
        """Return the axis whose unit suits the length."""
        length = max(to_s - from_s, 1e-9)
        unit_s, unit = next((size, name) for least, size, name in TIME_UNITS if length >= least)
        return cls(from_s, to_s, unit_s, unit)

    @property
    def title(self) -> str:
        """Axis title with the unit."""
        return f"Time since the trace's zero ({self.unit})"

    @property
    def range(self) -> tuple[float, float]:
        """Ends in the unit."""
        return self.from_s / self.unit_s, self.to_s / self.unit_s


def framed(figure: go.Figure, theme: Theme, *, title: str, x: str, y: str, height: int = HEIGHT) -> go.Figure:
    """Return the figure with the house style; ``x`` and ``y`` are axis titles that carry their units."""
    axis: dict[str, Any] = {
        "automargin": True,
        "gridcolor": theme.grid,
        "zerolinecolor": theme.grid,
        "linecolor": theme.grid,
        "tickfont": {"size": 13, "color": theme.muted},
        "title": {"font": {"size": 13, "color": theme.muted}},
    }
    figure.update_layout(
        title={
            "text": title,
            "font": {"size": 15, "color": theme.ink},
            "x": 0,
            "xanchor": "left",
            "y": 0.98,
            "yanchor": "top",
        },
        font={"family": FONT, "size": 13, "color": theme.ink},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        height=height,
        margin={"l": 8, "r": 12, "t": 64, "b": 8},
        legend={
            "orientation": "h",
            "x": 0,
            "xanchor": "left",
            "y": 1.02,
            "yanchor": "bottom",
            "font": {"size": 13, "color": theme.ink},
        },
        hoverlabel={"font": {"family": FONT, "size": 13}},
        bargap=0.08,
    )
    figure.update_xaxes(**axis)
    figure.update_yaxes(**axis)
    figure.update_xaxes(title_text=x)
    figure.update_yaxes(title_text=y)
    return figure


def reference_line(
    figure: go.Figure, theme: Theme, *, text: str, y: float | None = None, x: float | None = None
) -> None:
    """Draw a dashed line with its label at the start of the line."""
    label = {"annotation_text": text, "annotation_font": {"color": theme.worse_text, "size": 13}}
    if y is not None:
        figure.add_hline(
            y=y, line={"color": theme.worse, "dash": "dash", "width": 2}, annotation_position="top left", **label
        )
    if x is not None:
        figure.add_vline(
            x=x, line={"color": theme.worse, "dash": "dash", "width": 2}, annotation_position="top right", **label
        )


def plain(text: object, longest: int = 40) -> str:
    """Return user text safe inside a figure: Plotly reads <b> and <a>; long names are cut."""
    cut = str(text) if len(str(text)) <= longest else str(text)[: longest - 1] + "…"
    return cut.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
