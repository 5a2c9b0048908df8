"""Gantt overviews: rasters of everything, who holds how much over time, and the same in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dlsched.figures.base import (
    Chart,
    TimeAxis,
    column,
    framed,
    legend_mark,
    plain,
    reference_line,
    top_of,
    with_dates,
)
from dlsched.figures.lines import add_area
from dlsched.figures.outline import outline_row
from dlsched.figures.palette import Theme
from dlsched.figures.raster import (
    BUSY,
    CLOSED,
    DOWN,
    IDLE,
    LATE,
    MAX_GROUPS,
    OPEN_IDLE,
    PARTLY,
    Raster,
    bins_for,
    group_use,
    top_groups,
)
from dlsched.metrics.step_functions import thin
from dlsched.wording.clock import DAYS, Clock
from dlsched.wording.formats import amount, cut, number, share

OVERVIEW_HEIGHT = 260
STRIP_HEIGHT, STRIP_POINTS = 76, 600
MAX_HOVER_CELLS = 200_000
"""Up to here every cell carries its share held for the hover text; beyond, the picture would grow too large."""
MAX_STRUCK_ROWS = 40
AREA_BINS = 400


@dataclass(frozen=True, slots=True)
class BoxedPart:
    """A part of a raster: a stretch of time and rows, both rows included."""

    from_s: float
    to_s: float
    first_row: int
    last_row: int


def overview(
    raster: Raster,
    theme: Theme,
    *,
    alt: str = "",
    title: str = "",
    highlight: str = "",
    height: int = OVERVIEW_HEIGHT,
    clock: Clock = DAYS,
    found: pd.DataFrame | None = None,
) -> Chart:
    """Return the raster as a heatmap; the user drags a box to look closer (a click on a heatmap gives nothing).

    ``highlight`` leaves one entry of the legend in colour and turns the other groups grey. ``found``: pieces of a job
    that is outlined, columns node, start_s, end_s.
    """
    axis = TimeAxis.over(raster.from_s, raster.to_s, clock)
    tints = _tints(raster, theme, highlight)
    figure = go.Figure(_heatmap(raster, tints, axis))
    for code, (name, tint) in enumerate(zip(raster.legend, tints, strict=True)):
        if raster.rented and code not in (0, len(tints) - 2) and not (raster.cell == code).any():
            continue  # machine types, lateness and absences that are not in the picture
        edge = {"color": theme.muted, "width": 1}
        legend_mark(figure, plain(name), symbol=_symbol(raster, name), size=12, color=tint, line=edge)
    last = len(raster.legend) - 1
    _strike(figure, raster, axis, last, {"color": theme.ground, "width": 2})
    if raster.rented:
        _strike(figure, raster, axis, last - 1, {"color": theme.ink, "width": 1.5, "dash": "dot"})
    word = "Slot" if raster.rented else "Node"
    framed(figure, theme, title=title or _title(raster), x=axis, y=word, height=height)
    lines = len(raster.row_labels)
    places = np.unique(np.linspace(0, lines - 1, min(lines, 9)).astype(int)).tolist()
    labels = _distinct(raster.row_labels)
    figure.update_yaxes(
        type="category",
        tickvals=[labels[i] for i in places],
        ticktext=[plain(raster.row_labels[i], 16) for i in places],
        range=[lines - 0.5, -0.5],
        showgrid=False,
    )
    figure.update_xaxes(showgrid=False)
    figure.update_layout(dragmode="select")
    if found is not None:
        lines_of = ((found["node"] - raster.first_node) // raster.rows_per_line).astype(int)
        for line, start_s, end_s in zip(lines_of, found["start_s"], found["end_s"], strict=True):
            outline_row(figure, theme, axis, float(start_s), float(end_s), line, line)
    return Chart(figure, alt or window_alt(raster, clock=clock), _row_table(raster))


def _heatmap(raster: Raster, tints: Sequence[str], axis: TimeAxis) -> go.Heatmap:
    carries_held = raster.cell.size <= MAX_HOVER_CELLS
    of_what = "%" if raster.mixed else "% of its GPUs"
    more = f"<br>%{{customdata}}{of_what} allocated" if carries_held else ""
    return go.Heatmap(
        z=raster.cell,
        x0=axis.place(raster.from_s + raster.bin_s / 2),
        dx=float(axis.length(raster.bin_s)),
        y=_distinct(raster.row_labels),
        zmin=-0.5,
        zmax=len(tints) - 0.5,
        colorscale=_steps(tints),
        showscale=False,
        showlegend=False,
        customdata=np.round(100 * raster.held).astype(np.uint8) if carries_held else None,
        zsmooth=False,
        hovertemplate=f"<b>%{{y}}</b> at {axis.hover}{more}<extra></extra>",
    )


def _distinct(labels: Sequence[str]) -> list[str]:
    """Return safe labels, no two alike: Plotly merges rows of one name."""
    seen: dict[str, int] = {}
    out = []
    for label in map(plain, labels):
        seen[label] = seen.get(label, 0) + 1
        out.append(label + "\u200b" * (seen[label] - 1))
    return out


def _title(raster: Raster) -> str:
    word, what = ("slots", "rented GPU time") if raster.rented else ("nodes", "GPU time")
    per_line = "" if raster.rows_per_line == 1 else f" (1 row = {raster.rows_per_line} {word})"
    return f"{word.capitalize()} over time, {share(raster.held_share)} of the {what} allocated{per_line}"


def _tints(raster: Raster, theme: Theme, highlight: str = "") -> list[str]:
    """Return the colour of each entry of the legend."""
    # Closed slots are ground and not card: nothing is paid for there.
    first = theme.ground if raster.rented else theme.card
    last = ([theme.faded] if raster.rented else []) + [theme.other]
    if raster.by == "state":
        tints = [theme.ground] * DOWN
        tints[IDLE], tints[PARTLY], tints[BUSY], tints[LATE] = first, theme.tint, theme.marks[0], theme.late
        return tints + last
    top, rest = raster.legend[1 : -1 - len(last)], raster.legend[-1 - len(last)]
    groups = [tint if highlight in ("", name) else theme.faded for name, tint in zip(top, theme.marks, strict=False)]
    other = theme.faded if highlight not in ("", rest) else theme.other
    return [first, *groups, other, *last]


def _symbol(raster: Raster, name: str) -> str:
    if name == raster.legend[-1]:
        return "square-x"
    return "square-dot" if raster.rented and name == OPEN_IDLE else "square"


def _steps(tints: Sequence[str]) -> list[tuple[float, str]]:
    edges = np.linspace(0, 1, len(tints) + 1)
    return [(float(edge), tint) for i, tint in enumerate(tints) for edge in (edges[i], edges[i + 1])]


def _strike(figure: go.Figure, raster: Raster, axis: TimeAxis, code: int, line: dict[str, object]) -> None:
    """Draw a line through the cells of an entry of the legend, so that they are told from others without colour."""
    those = raster.cell == code
    if len(those) > MAX_STRUCK_ROWS or not those.any():
        return
    edges = np.diff(np.pad(those.astype(np.int8), ((0, 0), (1, 1))), axis=1)
    row, first = np.nonzero(edges == 1)
    last = np.nonzero(edges == -1)[1]
    ends = raster.from_s + np.column_stack([first, last, last]) * raster.bin_s
    x = axis.at(np.where([True, True, False], ends, np.nan)).ravel()
    labels = np.array(_distinct(raster.row_labels), dtype=object)
    figure.add_scatter(x=x, y=np.repeat(labels[row], 3), mode="lines", line=line, showlegend=False, hoverinfo="skip")


def _row_table(raster: Raster) -> pd.DataFrame:
    last = len(raster.legend) - 1
    down = (raster.cell == last).mean(axis=1)
    columns = {
        "node": raster.row_labels,
        "time allocated, %" if raster.mixed else "GPU time allocated, %": np.round(
            100 * raster.held.mean(axis=1).astype(float), 1
        ),
        "down, % of the time": np.round(100 * down, 1),
    }
    if raster.rented:
        columns = {
            "slot": raster.row_labels,
            f"{CLOSED}, % of the time": np.round(100 * (raster.cell == 0).mean(axis=1), 1),
            f"{OPEN_IDLE}, % of the time": np.round(100 * (raster.cell == last - 1).mean(axis=1), 1),
        }
    return pd.DataFrame(columns)


def box_window(raster: Raster, x: Sequence[Any], y: Sequence[float], clock: Clock = DAYS) -> BoxedPart:
    """Return what a box drawn on :func:`overview` encloses; ``x`` and ``y`` as Plotly gives them.

    Rows are lines of the raster (node = first_node + row x rows_per_line); the box is cut at the picture's edge.
    """
    axis = TimeAxis.over(raster.from_s, raster.to_s, clock)
    from_s, to_s = np.clip(sorted(map(axis.seconds, x)), axis.from_s, axis.to_s)
    first, last = np.clip(np.rint(sorted(y)), 0, len(raster.row_labels) - 1).astype(int)
    return BoxedPart(float(from_s), float(max(to_s, from_s + 1.0)), int(first), int(last))


def strip(
    series: pd.DataFrame, theme: Theme, shown_from_s: float, shown_to_s: float, *, what: str = "available",
    clock: Clock = DAYS,
) -> Chart:  # fmt: skip
    """Return a thin picture of the whole run, GPUs allocated over time, on which the window shown is marked.

    A box dragged on it is another window. ``series`` as metrics.tables.series_of; ``what`` GPUs are: available, rented.
    """
    time_s, held, up = (column(series, name) for name in ("time_s", "gpus_held", "gpus_up"))
    axis = TimeAxis.over(float(time_s[0]), float(time_s[-1]), clock)
    keep = thin(time_s, [held, up], STRIP_POINTS)
    x, fill = axis.at(time_s[keep]), {"color": theme.tint, "width": 1}
    figure = go.Figure()
    figure.add_scatter(x=x, y=held[keep], mode="lines", line={**fill, "shape": "hv"}, fill="tozeroy",
                       fillcolor=theme.tint, hovertemplate="%{y:,.0f} GPUs allocated<extra></extra>")  # fmt: skip
    dotted = {"color": theme.muted, "width": 1, "dash": "dot", "shape": "hv"}
    figure.add_scatter(x=x, y=up[keep], mode="lines", line=dotted,
                       hovertemplate=f"%{{y:,.0f}} GPUs {what}<extra></extra>")  # fmt: skip
    framed(figure, theme, title="", x=axis, y="", height=STRIP_HEIGHT)
    figure.update_layout(showlegend=False, dragmode="select", selectdirection="h", hovermode="x")
    figure.update_layout(margin={"l": 8, "r": 16, "t": 4, "b": 4})
    figure.update_xaxes(title_text="", showgrid=False)
    highest = top_of(np.concatenate([held, up]))
    figure.update_yaxes(range=highest, tickvals=[0, float(up.max(initial=0.0))], showgrid=False)
    is_part = shown_from_s > axis.from_s or shown_to_s < axis.to_s
    if is_part:
        edges = {
            "y0": 0,
            "y1": highest[1],
            "type": "rect",
            "x0": axis.place(shown_from_s),
            "x1": axis.place(shown_to_s),
        }
        figure.add_shape(**edges, line={"color": theme.marks[0], "width": 2}, fillcolor=theme.marks[0], opacity=0.25)
    window = f"; the window shown is {clock.moment(shown_from_s)} to {clock.moment(shown_to_s)}" if is_part else ""
    alt = f"GPUs allocated over the whole run, at most {number(float(held.max(initial=0.0)))}{window}."
    table = pd.DataFrame({"time, s": time_s, "GPUs allocated": held, f"GPUs {what}": up})
    return Chart(figure, alt, with_dates(table, clock, {"time, s": "time"}))


def user_area(
    segments: pd.DataFrame,
    theme: Theme,
    from_s: float,
    to_s: float,
    *,
    by: str = "user",
    groups: Sequence[str] | None = None,
    gpus: float | None = None,
    clock: Clock = DAYS,
) -> Chart:
    """Return the GPUs allocated to each user over time, stacked: the groups with most GPU time and all others.

    Parameters
    ----------
    segments
        Columns start_s, end_s, gpus and the one named by ``by``.
    groups
        Whom to show by name (at most five), e.g. :func:`top_groups` of the whole run; default: of the window.
    gpus
        GPUs of the cluster, drawn as a line.
    """
    axis = TimeAxis.over(from_s, to_s, clock)
    top = tuple(groups if groups is not None else top_groups(segments, by))[:MAX_GROUPS]
    bins = bins_for(axis.from_s, axis.to_s, AREA_BINS)
    held = group_use(segments, by, top, axis.from_s, axis.to_s, bins)
    x = axis.at(np.linspace(axis.from_s, axis.to_s, bins + 1))
    names = [*(name or "(none)" for name in top), "other"]
    figure = go.Figure()
    for place, name in enumerate(names):
        tint = theme.other if place == len(top) else theme.marks[place]
        steps = np.round(np.append(held[place], held[place, -1]), 3)
        add_area(figure, theme, x, steps, name, place, tint, "%{y:.1f} GPUs")
    shares = held.sum(axis=1) / max(float(held.sum()), 1e-12)
    most = int(np.argmax(shares[: len(top)])) if top else 0
    finding = f"{names[most]} has most, {share(float(shares[most]))} of the allocated GPU time"
    framed(
        figure,
        theme,
        title=f"GPUs allocated by {by.replace('job_class', 'class')}: {plain(finding, 80)}",
        x=axis,
        y="GPUs allocated",
        height=320,
    )
    total = held.sum(axis=0)
    figure.update_yaxes(range=top_of(np.append(total, gpus or 0.0)))
    figure.update_layout(hovermode="x unified")
    if gpus is not None:
        reference_line(figure, theme, y=gpus, text=f"{number(gpus)} GPUs in the cluster")
    table = pd.DataFrame(
        {axis.column: x[:-1]} | {f"GPUs, {n}": np.round(h, 3) for n, h in zip(names, held, strict=True)}
    )
    return Chart(
        figure, f"By {by}: {cut(finding, 80)}; at most {number(float(total.max()))} GPUs are allocated at once.", table
    )


def window_alt(
    raster: Raster,
    waiting_max: int | None = None,
    waiting_max_at_s: float = 0.0,
    late: int = 0,
    worst: str = "",
    machines: str = "",
    clock: Clock = DAYS,
) -> str:
    """Return the picture of a window in words: how full, idle rows, machine types, the longest queue, late jobs."""
    window = f"{clock.moment(raster.from_s)} to {clock.moment(raster.to_s)}, {amount(len(raster.row_labels), 'row')}"
    held = raster.held_share
    idle_rows = int((raster.held.mean(axis=1) < 0.01).sum())
    if raster.rented:
        closed, idle = (raster.cell == 0).all(axis=1), (raster.cell == len(raster.legend) - 2).any(axis=1)
        parts = [f"{share(held)} of the rented GPU time allocated"]
        rare = ((closed, "closed throughout"), (idle, "open without a job at times"))
        parts += [f"{amount(int(rows_of.sum()), 'slot')} {words}" for rows_of, words in rare if rows_of.any()]
    else:
        parts = [f"{share(held)} of the GPU time allocated", f"{amount(idle_rows, 'row')} idle throughout"]
    if machines:
        parts.append(machines)
    if waiting_max is not None:
        at = f" at {clock.moment(waiting_max_at_s)}"
        parts.append(f"longest queue {amount(waiting_max, 'job')}{at}" if waiting_max else "no job waits")
    if late:
        parts.append(f"{amount(late, 'late job')}" + (f", worst {cut(worst)}" if worst else ""))
    return f"{window}: " + "; ".join(parts) + "."
