"""Charts of the page Parameter servers: time by workers and servers, by workers alone, and the layers of a step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from dlsched.figures.base import TIME_UNITS, Chart, framed, legend_mark, reference_line, top_of
from dlsched.figures.look_ahead import ink_at, shade_at
from dlsched.figures.palette import BLUE, Theme
from dlsched.figures.pipeline import timeline
from dlsched.speed.pipeline import OVERLAPS, Layers, pipeline
from dlsched.studies.speed_models.server_split import ServerSplit, numbers_of, split_table, width_times
from dlsched.wording.formats import amount, duration, short

ROW_PX, LEAST_ROW_PX, HEAD_PX = 30, 21, 112
TALLEST_PX = 540
LOWER_PX = 220
MARKS = {"SMD": ("star", 11), "ESW": ("square", 8), "Optimus": ("diamond", 9)}
BESIDE = {"SMD": (-0.37, 0.0), "ESW": (0.37, 0.22), "Optimus": (0.37, -0.22)}
"""Where a mark lies in its cell, beside the number, so that all three may lie in one."""
MOST_BESIDE = 8
"""With more workers the cells are too narrow for both, and marks take the place of the number."""
APART = 0.4
MOST_NAMED = 20
"""With more layers their bars are drawn joined, without numbers."""
Cells = NDArray[Any]
LOG_BEYOND, MOST_DOTS = 50, 40


def unit_of(time_s: float) -> tuple[float, str]:
    """Return the unit that makes the numbers of a table short: its seconds and its name."""
    return next(((size_s, name) for _, size_s, name in TIME_UNITS if time_s >= size_s), (1.0, "seconds"))


def split_chart(split: ServerSplit, theme: Theme) -> Chart:
    """Return the time by workers and servers as a table of shades with the numbers in the cells.

    A stronger shade is faster, on a log scale. What the limit forbids is grey with a cross, and its hover text names
    the resource. A star marks SMD, a square equal numbers, a diamond Optimus.
    """
    table = split_table(split)
    workers, servers = split.window
    shape = (len(workers), len(servers))
    times_s = table["time (s)"].to_numpy().reshape(shape).T
    forbids = table["forbidden by"].to_numpy(dtype=object).reshape(shape).T
    fits = forbids == ""
    unit_s, unit = unit_of(split.best.time)
    strength = _strength(times_s, fits)
    hover = _hover(workers.tolist(), servers.tolist(), times_s, forbids)
    figure = go.Figure()
    for z, colours in (
        (np.where(fits, strength, np.nan), [[0, shade_at(0, theme)], [1, shade_at(1, theme)]]),
        (np.where(fits, np.nan, 0.0), [[0, theme.grid], [1, theme.grid]]),
    ):
        figure.add_heatmap(
            x=workers, y=servers, z=z, zmin=0, zmax=1, xgap=2, ygap=2, showscale=False, colorscale=colours,
            text=hover, hovertemplate="%{text}<extra></extra>", hoverongaps=False,
        )  # fmt: skip
    inks = np.array([[ink_at(one, theme) for one in row] for row in strength.tolist()], dtype=object)
    _numbers(figure, split, np.where(fits, inks, theme.muted), times_s, fits, unit_s)
    _marks(figure, split, theme, inks)
    title = f"Time in {unit}: {cell_word(split.best.time / unit_s)} is the least (stronger blue is faster)"
    height = min(HEAD_PX + ROW_PX * len(servers), max(TALLEST_PX, HEAD_PX + LEAST_ROW_PX * len(servers)))
    framed(figure, theme, title=title, x="Workers", y="Servers", height=max(height, 220))
    for axis, values in ((figure.update_xaxes, workers), (figure.update_yaxes, servers)):
        axis(
            range=[values[0] - 0.5, values[-1] + 0.5], dtick=1, tick0=int(values[0]), showgrid=False, zeroline=False,
            fixedrange=True, tickformat=",d",
        )  # fmt: skip
    return Chart(figure, split_words(split), table.round(3))


def split_words(split: ServerSplit) -> str:
    """Return the finding of :func:`split_chart` with its numbers, and which part of the table it shows."""
    choices = "; ".join(f"{name} {numbers_of(one)}, {duration(one.time)}" for name, one in split.choices.items())
    if not split.is_cut:
        return f"Time by workers and servers. {choices}."
    workers, servers = split.window
    outside = [name for name, one in split.choices.items() if not split.in_window(one)]
    beyond = f" {' and '.join(outside)} {'lies' if len(outside) == 1 else 'lie'} outside." if outside else ""
    return (
        f"Time with {workers[0]:,} to {workers[-1]:,} workers of up to {split.problem.workers_most:,} and "
        f"{servers[0]:,} to {servers[-1]:,} servers of up to {split.problem.servers_most:,}. {choices}.{beyond}"
    )


def _strength(times_s: Cells, fits: Cells) -> Cells:
    """Return how fast each cell is, 0 (slowest that fits) to 1 (fastest), on a log scale."""
    logs = np.log(np.maximum(times_s, 1e-300))
    low, high = float(logs[fits].min()), float(logs[fits].max())
    return np.clip((high - logs) / (high - low), 0, 1) if high > low else np.ones_like(logs)


def _hover(workers: list[int], servers: list[int], times_s: Cells, forbids: Cells) -> list[list[str]]:
    return [
        [
            f"{amount(w, 'worker')}, {amount(p, 'server')}<br>"
            + (f"not within the {why}" if why.startswith("limit") else f"not allowed: {why}" if why else duration(time))
            for w, time, why in zip(workers, of_times, reasons, strict=True)
        ]
        for p, of_times, reasons in zip(servers, times_s.tolist(), forbids.tolist(), strict=True)
    ]


def _numbers(figure: go.Figure, split: ServerSplit, inks: Cells, times_s: Cells, fits: Cells, unit_s: float) -> None:
    workers, servers = split.window
    x, y = np.meshgrid(workers, servers)
    in_units = (times_s / unit_s).ravel().tolist()
    words = [cell_word(time) if fit else "×" for time, fit in zip(in_units, fits.ravel().tolist(), strict=True)]
    marked = {(one.workers, one.servers) for one in split.choices.values()}
    for place, pair in enumerate(zip(x.ravel().tolist(), y.ravel().tolist(), strict=True)):
        if pair in marked:
            words[place] = f"<b>{words[place]}</b>" if len(workers) <= MOST_BESIDE else ""
    size = 13 if len(workers) <= 14 else 11
    figure.add_scatter(
        x=x.ravel(), y=y.ravel(), mode="text", text=words, hoverinfo="skip", showlegend=False,
        textfont={"size": size, "color": inks.ravel().tolist()},
    )  # fmt: skip


def cell_word(value: float) -> str:
    """Return a number with three figures, as short as can be: 1.63, 16.3, 163, 1.63 k."""
    if not 0.995 <= value < 9_999.5:
        return short(value)
    return f"{value:,.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}"


def _marks(figure: go.Figure, split: ServerSplit, theme: Theme, inks: Cells) -> None:
    workers, servers = split.window
    for name, choice in split.choices.items():
        symbol, size = MARKS[name]
        text = f"{name}: {choice.workers:,} + {choice.servers:,}"
        legend_mark(figure, text, symbol=symbol, size=11, color=theme.ink)
        if not split.in_window(choice):
            continue
        aside, above = BESIDE[name] if len(workers) <= MOST_BESIDE else _side_by_side(split, name)
        ink = inks[choice.servers - servers[0], choice.workers - workers[0]]
        figure.add_scatter(
            x=[choice.workers + aside], y=[choice.servers + above], mode="markers", name=name, showlegend=False,
            marker={"symbol": symbol, "size": size, "color": ink},
            hovertemplate=f"{name}: {numbers_of(choice)}, {duration(choice.time)}<extra></extra>",
        )  # fmt: skip


def _side_by_side(split: ServerSplit, name: str) -> tuple[float, float]:
    """Return where a mark lies in its cell among those of the rules that choose the same numbers."""
    mine = split.choices[name]
    there = [
        other for other, one in split.choices.items() if (one.workers, one.servers) == (mine.workers, mine.servers)
    ]
    return APART * (there.index(name) - (len(there) - 1) / 2), 0.0


def width_chart(split: ServerSplit, theme: Theme) -> Chart:
    """Return the time by workers, each with the servers that are best beside it; SMD, ESW and Optimus are marked."""
    workers, servers, times_s = width_times(split)
    unit_s, unit = unit_of(split.best.time)
    figure = go.Figure()
    hover = [
        f"{amount(w, 'worker')}, best with {amount(p, 'server')}: {duration(time)}"
        for w, p, time in zip(workers.tolist(), servers.tolist(), times_s.tolist(), strict=True)
    ]
    figure.add_scatter(
        x=workers, y=times_s / unit_s, mode="lines+markers" if len(workers) <= MOST_DOTS else "lines", name="best",
        line={"color": theme.marks[BLUE], "width": 2.5}, marker={"size": 6}, showlegend=False, customdata=hover,
        hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip
    for name, choice in split.choices.items():
        symbol, size = MARKS[name]
        figure.add_scatter(
            x=[choice.workers], y=[choice.time / unit_s], mode="markers", name=name, showlegend=False,
            marker={"symbol": f"{symbol}-open", "size": size + 4, "color": theme.ink, "line": {"width": 2}},
            hovertemplate=f"{name}: {numbers_of(choice)}, {duration(choice.time)}<extra></extra>",
        )  # fmt: skip
        legend_mark(figure, name, symbol=f"{symbol}-open", size=9, color=theme.ink)
    alone_s = float(times_s[0])
    title = f"{duration(alone_s)} with one worker, {duration(split.best.time)} with {split.best.workers:,}"
    framed(figure, theme, title=title, x="Workers, each with its best number of servers", y=f"Time ({unit})")
    figure.update_layout(margin_t=80)  # two lines of legend where the chart is narrow
    ends = [int(workers[0]), int(workers[-1])]
    if ends[1] > LOG_BEYOND:
        figure.update_xaxes(type="log", range=[-0.03, float(np.log10(ends[1])) + 0.03])
    else:
        figure.update_xaxes(range=[ends[0] - 0.4, ends[1] + 0.4], zeroline=False)
    figure.update_yaxes(range=top_of(times_s / unit_s))
    alt = (
        f"Time by workers, each with its best number of servers: {title}, {duration(float(times_s[-1]))} with "
        f"{workers[-1]:,}, the most."
    )
    table = pd.DataFrame({"workers": workers, "best servers": servers, "time (s)": times_s.round(3)})
    return Chart(figure, alt, table)


def layer_charts(layers: Layers, theme: Theme) -> list[Chart]:
    """Return the timeline of an iteration in the three ways to overlap, on one scale of time with its end marked."""
    charts = [timeline(layers, overlap, theme) for overlap in OVERLAPS]
    end = max(float(chart.figure.layout.xaxis.range[1]) for chart in charts)
    longest_s = pipeline(layers, "sequential").iteration_s
    for overlap, chart in zip(OVERLAPS, charts, strict=True):
        iteration_s = pipeline(layers, overlap).iteration_s
        if longest_s > 0:
            reference_line(chart.figure, theme, text=f"end {duration(iteration_s)}", x=end * iteration_s / longest_s)
        chart.figure.update_xaxes(range=[0, end * 1.1])
        if len(layers) > MOST_NAMED:
            chart.figure.update_traces(text=None, marker_line_width=0, selector={"type": "bar"})
        if overlap != OVERLAPS[0]:  # one legend for all three
            chart.figure.update_layout(showlegend=False, margin_t=40, height=LOWER_PX)
    return charts
