"""Charts of one run: GPUs held and queue, money, tardiness and utility over time, where the money went."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dlsched.figures.base import Chart, TimeAxis, framed, plain
from dlsched.figures.palette import Theme
from dlsched.metrics.formats import count, duration, money, share

CUMULATED = {
    "cost_usd": ("Machine cost so far ($)", "Machine cost"),
    "tardiness_usd": ("Cost of lateness so far ($)", "Cost of lateness"),
    "utility": ("Utility so far", "Utility"),
}


def held_and_queue(series: pd.DataFrame, theme: Theme) -> Chart:
    """Return GPUs held against GPUs there, and below it the jobs waiting; ``series`` as metrics.series_table."""
    axis = TimeAxis.over(float(series["time_s"].iloc[0]), float(series["time_s"].iloc[-1]))
    x = series["time_s"] / axis.unit_s
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.09, row_heights=[0.58, 0.42])
    figure.add_scatter(
        x=x,
        y=series["gpus_held"],
        mode="lines",
        line={"color": theme.marks[0], "width": 1, "shape": "hv"},
        fill="tozeroy",
        name="GPUs held",
        row=1,
        col=1,
        hovertemplate="%{y:.0f} GPUs held<extra></extra>",
    )
    figure.add_scatter(
        x=x,
        y=series["gpus_up"],
        mode="lines",
        line={"color": theme.ink, "width": 1.5, "shape": "hv", "dash": "dash"},
        name="GPUs there",
        row=1,
        col=1,
        hovertemplate="%{y:.0f} GPUs there<extra></extra>",
    )
    figure.add_scatter(
        x=x,
        y=series["waiting"],
        mode="lines",
        line={"color": theme.worse, "width": 1.5, "shape": "hv"},
        name="jobs waiting",
        row=2,
        col=1,
        hovertemplate="%{y:.0f} jobs waiting<extra></extra>",
    )
    worst = int(series["waiting"].max())
    at = duration(float(series["time_s"].iloc[int(series["waiting"].to_numpy().argmax())]))
    framed(
        figure,
        theme,
        title=f"GPUs held and the queue: at most {count(worst)} jobs waiting, at {at}",
        x="",
        y="",
        height=380,
    )
    figure.update_xaxes(title_text=axis.title, row=2, col=1)
    figure.update_xaxes(range=list(axis.range))
    figure.update_yaxes(title_text="GPUs", row=1, col=1, rangemode="tozero")
    figure.update_yaxes(title_text="Jobs waiting", row=2, col=1, rangemode="tozero")
    step = np.diff(series["time_s"].to_numpy(), append=series["time_s"].iloc[-1])
    up = float((series["gpus_up"] * step).sum())
    held = float((series["gpus_held"] * step).sum()) / up if up else 0.0
    alt = f"{share(held)} of the GPU time that was there is held; the queue peaks at {count(worst)} jobs at {at}."
    return Chart(figure, alt, series)


def over_time(series: pd.DataFrame, column: str, theme: Theme) -> Chart:
    """Return one cumulated quantity over time: cost_usd, tardiness_usd or utility."""
    y_title, name = CUMULATED[column]
    axis = TimeAxis.over(float(series["time_s"].iloc[0]), float(series["time_s"].iloc[-1]))
    figure = go.Figure()
    values = series[column].to_numpy(float)
    figure.add_scatter(
        x=series["time_s"] / axis.unit_s,
        y=values,
        mode="lines",
        line={"color": theme.marks[0], "width": 2},
        name=name,
        hovertemplate="%{y:,.2f} after %{x:.2f} " + axis.unit + "<extra></extra>",
    )
    total = money(values[-1]) if column.endswith("usd") else count(values[-1])
    framed(figure, theme, title=f"{name}: {total} at the end", x=axis.title, y=y_title, height=280)
    figure.update_yaxes(rangemode="tozero")
    return Chart(figure, f"{name} grows to {total} by {duration(axis.to_s)}.", series[["time_s", column]])


def cost_waterfall(parts: dict[str, float], theme: Theme) -> Chart:
    """Return where the total cost comes from; ``parts`` label -> dollars in drawing order."""
    labels, values = list(parts), list(parts.values())
    total = sum(values)
    figure = go.Figure(
        go.Waterfall(
            x=[*labels, "Total"],
            y=[*values, total],
            measure=["relative"] * len(values) + ["total"],
            text=[money(v) for v in [*values, total]],
            textposition="outside",
            connector={"line": {"color": theme.muted, "width": 1}},
            increasing={"marker": {"color": theme.marks[0]}},
            decreasing={"marker": {"color": theme.worse}},
            totals={"marker": {"color": theme.ink}},
            hovertemplate="%{x}: %{text}<extra></extra>",
        )
    )
    framed(figure, theme, title=f"Where {money(total)} goes", x="", y="Cost ($)", height=320)
    figure.update_yaxes(range=[0, 1.15 * max(total, 1e-9)])
    largest = max(parts, key=lambda name: parts[name]) if parts else ""
    alt = f"Total {money(total)}; the largest part is {largest} with {money(parts.get(largest, 0.0))}."
    return Chart(figure, alt, pd.DataFrame({"part": [*labels, "Total"], "cost, $": [*values, total]}))


def group_bars(groups: pd.Series, theme: Theme, *, title: str, x: str, y: str, unit: str = "") -> Chart:
    """Return horizontal bars, largest first, at most ten; ``groups`` label -> value."""
    top = groups.sort_values(ascending=False).iloc[:10]
    figure = go.Figure(
        go.Bar(
            x=top.to_numpy()[::-1],
            y=[plain(name or "(none)", 20) for name in top.index][::-1],
            orientation="h",
            marker={"color": theme.marks[0]},
            hovertemplate="%{y}: %{x:,.2f} " + unit + "<extra></extra>",
        )
    )
    framed(figure, theme, title=title, x=x, y=y, height=300)
    figure.update_yaxes(type="category")
    alt = (
        f"{title}: largest is {plain(top.index[0] or '(none)')} with {top.iloc[0]:,.2f} {unit}." if len(top) else title
    )
    return Chart(figure, alt, groups.rename(x).reset_index())
