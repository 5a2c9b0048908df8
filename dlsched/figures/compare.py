"""Charts that compare runs: changes against a baseline, distributions, over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dlsched.figures.base import (
    Chart,
    Floats,
    TimeAxis,
    column,
    framed,
    legend_mark,
    named_rows,
    plain,
    top_of,
    with_dates,
)
from dlsched.figures.lines import add_share_line, bars, frame_shares, look_at, verdict_marks
from dlsched.figures.palette import Theme
from dlsched.metrics.step_functions import thin
from dlsched.wording.clock import DAYS, Clock
from dlsched.wording.formats import amount, count, cut, duration

ECDF_POINTS = 400
QUEUE_POINTS = 400
MAX_LINES = 6
SHAPES = {
    "better": "circle", "worse": "diamond", "likely better": "circle-dot", "likely worse": "diamond-dot",
    "changed": "square", "rough": "circle-open-dot",
}  # fmt: skip
HOLLOW = "circle-open"
SHAPE_WORDS = {
    "better": "better",
    "worse": "worse",
    "changed": "changed, neither good nor bad",
    "rough": "rough, too few futures",
    "likely better": "likely better",
    "likely worse": "likely worse",
    "not clear": "not clear",
    "mixed": "the recorded month and the other futures disagree",
    "same": "same",
}
"""Verdicts in the order of the legend."""


@dataclass(frozen=True, slots=True)
class Change:
    """One dot of a forest chart: change in % of the baseline with its interval, and the verdict word."""

    metric: str
    run: str
    change_percent: float
    low_percent: float
    high_percent: float
    verdict: str  # as metrics.compare.Verdict
    text: str


def forest(changes: Sequence[Change], colour_of: Mapping[str, str], theme: Theme, baseline: str) -> Chart:
    """Return metric x change in % of the baseline.

    Filled circle = better, diamond = worse (with a dot: likely), square = changed in a number that is neither, hollow
    = nothing to tell.
    """
    metrics = list(dict.fromkeys(c.metric for c in changes))
    runs = list(dict.fromkeys(c.run for c in changes))
    figure = go.Figure()
    for place, run in enumerate(runs):
        shift = 0.0 if len(runs) == 1 else 0.56 * (place / (len(runs) - 1) - 0.5)
        of_run = [c for c in changes if c.run == run]
        legend_mark(figure, plain(run), symbol="square", size=11, color=colour_of[run])
        figure.data[-1].legendgroup = str(place)
        rows = [metrics.index(c.metric) + shift for c in of_run]
        _add_dots(figure, of_run, rows, colour_of[run], str(place))
    seen = {change.verdict for change in changes}
    marks = {verdict: (SHAPES.get(verdict, HOLLOW), theme.muted) for verdict in SHAPE_WORDS}
    verdict_marks(figure, [verdict for verdict in SHAPE_WORDS if verdict in seen], SHAPE_WORDS, marks)
    has_intervals = any(change.high_percent > change.low_percent for change in changes)
    title = f"Change against {plain(baseline)}{', with 95% intervals' if has_intervals else ''}"
    height = int(np.clip(120 + (26 + 14 * len(runs)) * len(metrics), 240, 620))
    framed(figure, theme, title=title, x="Change (% of the baseline)", y="Metric", height=height)
    figure.add_vline(x=0, line={"color": theme.muted, "width": 1.5})
    named_rows(figure, [plain(metric) for metric in metrics])
    edges = np.array([[c.low_percent, c.high_percent, c.change_percent] for c in changes] + [[-1.0, 1.0, 0.0]])
    low, high = float(np.nanmin(edges)), float(np.nanmax(edges))
    figure.update_xaxes(range=[low - 0.06 * (high - low), high + 0.06 * (high - low)])
    alt = f"Against {cut(baseline)}: " + "; ".join(f"{cut(c.run)}, {c.metric}: {c.text}" for c in changes[:6]) + "."
    table = pd.DataFrame(
        [{"metric": c.metric, "run": c.run, "change": c.text, "verdict": c.verdict} for c in changes],
        columns=["metric", "run", "change", "verdict"],
    )
    return Chart(figure, alt, table)


def _add_dots(figure: go.Figure, of_run: Sequence[Change], y: Sequence[float], colour: str, group: str) -> None:
    figure.add_scatter(
        x=[c.change_percent for c in of_run],
        y=y,
        mode="markers",
        legendgroup=group,
        showlegend=False,
        marker={
            "color": colour,
            "size": 11,
            "line": {"width": 2, "color": colour},
            "symbol": [SHAPES.get(c.verdict, HOLLOW) for c in of_run],
        },
        error_x=bars(
            [c.high_percent - c.change_percent for c in of_run],
            [c.change_percent - c.low_percent for c in of_run],
            color=colour,
        ),
        customdata=[[plain(c.run), plain(c.metric), c.text] for c in of_run],
        hovertemplate="<b>%{customdata[0]}</b>, %{customdata[1]}<br>%{customdata[2]}<extra></extra>",
    )


def ecdf(values: Mapping[str, Floats], colour_of: Mapping[str, str], theme: Theme, *, quantity: str) -> Chart:
    """Return the share of jobs at or below each value (seconds), one line a run, log time axis; NaN is left out."""
    times_s = {name: np.sort(raw[np.isfinite(raw)]) for name, raw in values.items()}
    times_s = {name: sorted_s for name, sorted_s in times_s.items() if len(sorted_s)}
    figure = go.Figure()
    for place, (name, sorted_s) in enumerate(list(times_s.items())[:MAX_LINES]):
        ranks = np.unique(np.linspace(0, len(sorted_s) - 1, min(len(sorted_s), ECDF_POINTS)).astype(int))
        line = look_at(place, colour_of[name]).line(shape="hv")
        add_share_line(figure, sorted_s[ranks], 100 * (ranks + 1) / len(sorted_s), name, line)
    less = f" (first {MAX_LINES} of {len(times_s)} runs)" if len(times_s) > MAX_LINES else ""
    longest_s = max((float(sorted_s[-1]) for sorted_s in times_s.values()), default=1.0)
    frame_shares(figure, theme, quantity, longest_s, less)
    notes = [
        f"{cut(name)} p95 {duration(float(np.percentile(sorted_s, 95)))} ({amount(len(sorted_s), 'job')})"
        for name, sorted_s in times_s.items()
    ]
    percent = np.arange(101)
    quantiles = {f"{name}, s": np.percentile(sorted_s, percent) for name, sorted_s in times_s.items()}
    alt = f"{quantity}: " + ("; ".join(notes) if notes else "no job has a value") + "."
    return Chart(figure, alt, pd.DataFrame({"share of jobs, %": percent} | quantiles))


def queues(
    series: Mapping[str, pd.DataFrame], colour_of: Mapping[str, str], theme: Theme, clock: Clock = DAYS
) -> Chart:
    """Return jobs waiting over time, one line a run, at most MAX_LINES; frames as metrics.tables.series_of."""
    frames = dict(list(series.items())[:MAX_LINES])
    times = [column(frame, "time_s") for frame in frames.values()]
    axis = TimeAxis.over(min(float(t[0]) for t in times), max(float(t[-1]) for t in times), clock)
    peak_of = {name: float(column(frame, "waiting").max()) for name, frame in frames.items()}
    figure = go.Figure()
    for place, (name, frame) in enumerate(frames.items()):
        keep = thin(column(frame, "time_s"), [column(frame, "waiting")], QUEUE_POINTS)
        figure.add_scatter(
            x=axis.at(column(frame, "time_s")[keep]),
            y=column(frame, "waiting")[keep],
            mode="lines",
            name=plain(name),
            showlegend=True,
            line=look_at(place, colour_of[name]).line(1.5, shape="hv"),
            hovertemplate="%{fullData.name}: %{y:,.0f} waiting at " + axis.hover + "<extra></extra>",
        )
    best, worst = min(peak_of, key=lambda n: peak_of[n]), max(peak_of, key=lambda n: peak_of[n])
    span = f"{count(peak_of[best])} ({plain(best, 24)}) to {count(peak_of[worst])} ({plain(worst, 24)})"
    title = f"Longest queue: {span} jobs" if len(frames) > 1 else f"Longest queue: {count(peak_of[best])} jobs"
    framed(figure, theme, title=title, x=axis, y="Jobs waiting", height=320)
    figure.update_yaxes(range=top_of(np.array(list(peak_of.values()))))
    table = pd.concat(
        [pd.DataFrame({"run": n, "time, s": f["time_s"], "jobs waiting": f["waiting"]}) for n, f in frames.items()],
        ignore_index=True,
    )
    table = with_dates(table, clock, {"time, s": "time"})
    peaks = "; ".join(f"{cut(name)} up to {count(peak)}" for name, peak in peak_of.items())
    return Chart(figure, f"Jobs waiting: {peaks}.", table)
