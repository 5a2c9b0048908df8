"""Charts that compare runs: changes against a baseline, distributions, over time, who wins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from dlsched.figures.base import Chart, TimeAxis, framed, plain, reference_line
from dlsched.figures.palette import DASHES, Theme
from dlsched.metrics.formats import count, duration

ECDF_POINTS = 400
MAX_LINES = 6


@dataclass(frozen=True, slots=True)
class Change:
    """One dot of a forest chart: change in % of the baseline with its interval, and the verdict word."""

    metric: str
    run: str
    change_percent: float
    low_percent: float
    high_percent: float
    verdict: str  # "better", "worse", "not distinguishable", "neutral"
    text: str


def forest(changes: Sequence[Change], colour_of: Mapping[str, str], theme: Theme, baseline: str) -> Chart:
    """Return metric x change in % of the baseline; filled circle = better, diamond = worse, hollow = neither."""
    metrics = list(dict.fromkeys(c.metric for c in changes))
    runs = list(dict.fromkeys(c.run for c in changes))
    symbol = {"better": "circle", "worse": "diamond"}
    figure = go.Figure()
    for place, run in enumerate(runs):
        of_run = [c for c in changes if c.run == run]
        shift = 0.0 if len(runs) == 1 else 0.5 * (place / (len(runs) - 1) - 0.5)
        figure.add_scatter(
            x=[c.change_percent for c in of_run],
            y=[metrics.index(c.metric) + shift for c in of_run],
            mode="markers",
            name=plain(run),
            marker={
                "color": colour_of[run],
                "size": 11,
                "line": {"width": 2, "color": colour_of[run]},
                "symbol": [symbol.get(c.verdict, "circle-open") for c in of_run],
            },
            error_x={
                "type": "data",
                "symmetric": False,
                "thickness": 1.5,
                "color": colour_of[run],
                "array": [c.high_percent - c.change_percent for c in of_run],
                "arrayminus": [c.change_percent - c.low_percent for c in of_run],
            },
            customdata=[[plain(run), c.text] for c in of_run],
            hovertemplate="%{customdata[0]}: %{customdata[1]}<extra></extra>",
        )
    framed(
        figure,
        theme,
        title=f"Change against {plain(baseline)} (filled circle better, diamond worse, hollow neither)",
        x="Change (% of the baseline)",
        y="",
        height=int(np.clip(120 + 44 * len(metrics), 260, 520)),
    )
    figure.add_vline(x=0, line={"color": theme.muted, "width": 1.5})
    figure.update_yaxes(
        tickvals=list(range(len(metrics))), ticktext=metrics, range=[len(metrics) - 0.4, -0.6], showgrid=False
    )
    alt = "; ".join(f"{c.run}, {c.metric}: {c.text}" for c in changes[:6])
    table = pd.DataFrame([{"metric": c.metric, "run": c.run, "change": c.text, "verdict": c.verdict} for c in changes])
    return Chart(figure, alt, table)


def ecdf(
    values: Mapping[str, NDArray[np.float64]], colour_of: Mapping[str, str], theme: Theme, *, quantity: str
) -> Chart:
    """Return the share of jobs at or below each value, one line a run, log time axis; NaN values are left out."""
    figure = go.Figure()
    table = pd.DataFrame({"share of jobs, %": np.linspace(0, 100, 101)})
    notes = []
    for place, (name, raw) in enumerate(list(values.items())[:MAX_LINES]):
        known = np.sort(raw[np.isfinite(raw)])
        if not len(known):
            continue
        ranks = np.unique(np.linspace(0, len(known) - 1, min(len(known), ECDF_POINTS)).astype(int))
        points = np.maximum(known[ranks], 1.0)
        figure.add_scatter(
            x=points,
            y=100 * (ranks + 1) / len(known),
            mode="lines",
            name=plain(name),
            line={"color": colour_of[name], "width": 2, "dash": DASHES[place % len(DASHES)], "shape": "hv"},
            customdata=[[plain(name), duration(v)] for v in known[ranks]],
            hovertemplate="%{customdata[0]}: %{y:.1f}% within %{customdata[1]}<extra></extra>",
        )
        table[name] = np.percentile(known, table["share of jobs, %"])
        notes.append(f"{name} p95 {duration(float(np.percentile(known, 95)))} ({count(len(known))} jobs)")
    framed(
        figure,
        theme,
        title=f"{quantity}: share of jobs within a time",
        x=f"{quantity} (log scale, below 1 s drawn at 1 s)",
        y="Share of jobs (%)",
        height=340,
    )
    reference_line(figure, theme, y=95, text="95 of 100 jobs")
    ticks = {
        1: "1 s",
        60: "1 min",
        600: "10 min",
        3600: "1 h",
        6 * 3600: "6 h",
        86_400: "1 d",
        7 * 86_400: "7 d",
        30 * 86_400: "30 d",
    }
    figure.update_xaxes(type="log", tickvals=list(ticks), ticktext=list(ticks.values()))
    figure.update_yaxes(range=[0, 102])
    return Chart(figure, f"{quantity}: " + "; ".join(notes) + ".", table)


def queues(series: Mapping[str, pd.DataFrame], colour_of: Mapping[str, str], theme: Theme) -> Chart:
    """Return jobs waiting over time, one line a run."""
    shown = dict(list(series.items())[:MAX_LINES])
    last = max(float(frame["time_s"].iloc[-1]) for frame in shown.values())
    first = min(float(frame["time_s"].iloc[0]) for frame in shown.values())
    axis = TimeAxis.over(first, last)
    figure = go.Figure()
    for place, (name, frame) in enumerate(shown.items()):
        figure.add_scatter(
            x=frame["time_s"] / axis.unit_s,
            y=frame["waiting"],
            mode="lines",
            name=plain(name),
            line={"color": colour_of[name], "width": 1.5, "dash": DASHES[place % len(DASHES)], "shape": "hv"},
            hovertemplate=plain(name) + ": %{y:.0f} waiting<extra></extra>",
        )
    framed(figure, theme, title="Jobs waiting over time", x=axis.title, y="Jobs waiting", height=320)
    figure.update_yaxes(rangemode="tozero")
    peaks = "; ".join(f"{name} at most {count(int(frame['waiting'].max()))}" for name, frame in shown.items())
    table = pd.concat(
        [frame[["time_s", "waiting"]].assign(run=name) for name, frame in shown.items()], ignore_index=True
    )
    return Chart(figure, f"Jobs waiting: {peaks}.", table)


def who_wins(change_s: pd.Series, jobs_of: pd.Series, theme: Theme, *, quantity: str, baseline: str, run: str) -> Chart:
    """Return the mean change per group, sorted; below zero is a gain. ``change_s`` group -> seconds."""
    ordered = change_s.sort_values()
    if len(ordered) > 30:
        ordered = pd.concat([ordered.iloc[:15], ordered.iloc[-15:]])
    hours = ordered.to_numpy() / 3600
    shape = ["" if value <= 0 else "/" for value in hours]
    figure = go.Figure(
        go.Bar(
            x=hours,
            y=[f"{plain(name or '(none)', 16)} ({count(int(jobs_of[name]))})" for name in ordered.index],
            orientation="h",
            marker={
                "color": [theme.better if v <= 0 else theme.worse for v in hours],
                "pattern": {"shape": shape, "fgcolor": theme.ink},
            },
            hovertemplate="%{y}: %{x:+.2f} h<extra></extra>",
        )
    )
    gain, lose = int((change_s < -600).sum()), int((change_s > 600).sum())
    framed(
        figure,
        theme,
        title=f"{count(gain)} gain, {count(lose)} lose more than 10 min of {quantity} against {plain(baseline)}",
        x=f"Change of mean {quantity} (h), left is sooner",
        y="Group (jobs)",
        height=int(np.clip(120 + 20 * len(ordered), 260, 720)),
    )
    figure.update_yaxes(type="category", autorange="reversed")
    alt = f"{plain(run)} against {plain(baseline)}: {gain} groups gain and {lose} lose more than 10 min of mean {quantity}."
    table = pd.DataFrame(
        {
            "group": change_s.index,
            "change, h": change_s.to_numpy() / 3600,
            "jobs": jobs_of.loc[change_s.index].to_numpy(),
        }
    )
    return Chart(figure, alt, table)
