"""One load of a steady-state experiment: distribution, early results, nodes and jobs over time."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dlsched.domain.units import HOUR_S
from dlsched.figures.base import Chart, TimeAxis, duration_axis, framed, plain, top_of
from dlsched.figures.lines import add_means, add_share_line, bars, halves
from dlsched.figures.palette import Theme
from dlsched.figures.steady import looks
from dlsched.studies.steady.answer import Curve, SteadyAnswer, SteadyPoint
from dlsched.wording.certainty import mean_time
from dlsched.wording.formats import cut, duration, load_words, number, share
from dlsched.workload.studies.hell_knee import mean_gap_s

HEIGHT = 340
LOG_RATIO = 30.0
"""From here on jobs in the system need a log axis: a growing queue would flatten all others."""
STRETCHES = 80
EARLY = 40.0
"""Share of the work, in %, that titles and sentences speak of: the study's early results."""
Quantity = Literal["nodes", "jobs"]
OVER_TIME: dict[Quantity, tuple[str, str]] = {
    "nodes": ("Nodes of a running job, mean", "Nodes per running job"),
    "jobs": ("Most jobs in the system, by stretch of time", "Jobs in the system, at most"),
}


def response_cdf(answer: SteadyAnswer, load: float, theme: Theme) -> Chart | None:
    """Return the share of jobs done within a time at a load, a line per policy; None if every queue grows."""
    points = [point for point in answer.points if point.load == load and point.quantiles_h]
    if not points:
        return None
    look, figure = looks(answer, theme), go.Figure()
    shares = 100 * (np.arange(len(points[0].quantiles_h)) + 0.5) / len(points[0].quantiles_h)
    for point in points:
        add_share_line(figure, HOUR_S * np.array(point.quantiles_h), shares, point.label, look[point.label].line(), 0.0)
    framed(
        figure, theme, title=f"Turnaround time at load {load_words(load)}: share of jobs within a time",
        x="Turnaround time (log scale)", y="Share of jobs (%)", height=HEIGHT,
    )  # fmt: skip
    every = HOUR_S * np.array([at for point in points for at in (point.quantiles_h[0], point.quantiles_h[-1])])
    duration_axis(figure, max(float(every.min()), 1e-3) / 1.1, float(every.max()) * 1.1)
    figure.update_yaxes(range=[0, 103], tickvals=[0, 25, 50, 75, 95])
    medians = [f"{cut(point.label)} {_time(point.p50_h)} (95 of 100: {_time(point.p95_h)})" for point in points]
    missing = [cut(point.label) for point in answer.points if point.load == load and not point.quantiles_h]
    less = f" No distribution where the queue grows: {', '.join(missing)}." if missing else ""
    table = pd.DataFrame(
        {"share of jobs, %": shares} | {f"{point.label}, h": np.round(point.quantiles_h, 4) for point in points}
    )
    return Chart(figure, f"Half of the jobs are done within: {'; '.join(medians)}.{less}", table)


def early_results(answer: SteadyAnswer, load: float, theme: Theme) -> Chart | None:
    """Return the mean time from submission to each share of the work, a line with 95% bars per policy.

    None if every queue grows, or the experiment asked for no shares.
    """
    points = [point for point in answer.points if point.load == load and point.fractions_h]
    shares = 100 * np.array(answer.spec.fractions)
    if not points or not len(shares):
        return None
    tops_h = np.array([of.mean + (of.half_width or 0.0) for point in points for of in point.fractions_h])
    axis = TimeAxis.over(0.0, HOUR_S * float(tops_h.max()))
    units = HOUR_S / axis.unit_s
    look, figure = looks(answer, theme), go.Figure()
    for place, point in enumerate(points):
        beside = 0.5 * (place - (len(points) - 1) / 2)
        parts = zip(shares.tolist(), point.fractions_h, strict=True)
        add_means(
            figure, (shares + beside).tolist(), [units * of.mean for of in point.fractions_h], look[point.label],
            point.label,
            [f"{share(part / 100)} of the work after {mean_time(of)}" for part, of in parts],
            error_y=bars(halves(point.fractions_h, units), color=look[point.label].colour, width=3), marker={"size": 8},
        )  # fmt: skip
    at = int(np.argmin(np.abs(shares - EARLY)))
    first = min(points, key=lambda point: point.fractions_h[at].mean)
    part = share(float(shares[at]) / 100)
    title = f"{part} of a job's work is done after {_time(first.fractions_h[at].mean)} under {plain(first.label)}"
    y = f"Mean time since submission ({axis.unit})"
    framed(figure, theme, title=title, x="Share of a job's work (%)", y=y, height=HEIGHT)
    figure.update_yaxes(range=top_of(units * tops_h))
    figure.update_xaxes(range=[0, 104], tickvals=shares.tolist())
    words = "; ".join(f"{cut(point.label)} {mean_time(point.fractions_h[at])}" for point in points)
    alt = f"Mean time until {part} of a job's work is done at load {load_words(load)}: {words}."
    table = pd.DataFrame(
        [
            {"policy": point.label, "share of the work, %": part, "mean time, h": of.mean, "± h (95%)": of.half_width}
            for point in points
            for part, of in zip(shares.tolist(), point.fractions_h, strict=True)
        ]
    )
    return Chart(figure, alt, table.round(4))


def over_time(answer: SteadyAnswer, load: float, quantity: Quantity, theme: Theme) -> Chart:
    """Return nodes per running job, or most jobs in the system, by stretches of time at a load, a line per policy."""
    points = [point for point in answer.points if point.load == load]
    curves = {point.label: point.nodes_per_job for point in points}
    if quantity == "jobs":
        curves = {point.label: most_by_stretch(point.in_system, STRETCHES) for point in points}
    axis = TimeAxis.over(0.0, HOUR_S * max(curve.at_h[-1] for curve in curves.values()))
    look, figure = looks(answer, theme), go.Figure()
    for label, curve in curves.items():
        figure.add_scatter(
            x=axis.at(HOUR_S * np.array(curve.at_h)),
            y=list(curve.value),
            mode="lines",
            name=plain(label),
            showlegend=True,
            line=look[label].line(shape="hv"),
            hovertemplate="%{fullData.name}: %{y:,.3~g} after %{x:.1f} " + axis.unit + "<extra></extra>",
        )
    title, y = OVER_TIME[quantity]
    values = np.array([value for curve in curves.values() for value in curve.value])
    x = f"Time since the first submission ({axis.unit})"
    tops = [max(curve.value) for curve in curves.values()]
    wide = quantity == "jobs" and max(tops) > LOG_RATIO * max(min(tops), 1.0)
    scale = " (log scale)" if wide else ""
    framed(figure, theme, title=f"{title} at load {load_words(load)}", x=x, y=y + scale, height=HEIGHT)
    figure.update_xaxes(**axis.look)
    if wide:
        figure.update_yaxes(type="log", range=[-0.1, float(np.log10(values.max())) + 0.1], dtick=1)
    else:
        figure.update_yaxes(range=top_of(values))
    words = "; ".join(f"{cut(point.label)} {_over_time_words(answer, point, quantity)}" for point in points)
    table = pd.concat(
        [pd.DataFrame({"policy": label, "from, h": c.at_h, y.lower(): c.value}) for label, c in curves.items()],
        ignore_index=True,
    )
    return Chart(figure, f"{title} at load {load_words(load)}: {words}.", table.round(4))


def _time(time_h: float | None) -> str:
    return duration(None if time_h is None else time_h * HOUR_S)


def _over_time_words(answer: SteadyAnswer, point: SteadyPoint, quantity: Quantity) -> str:
    if quantity == "nodes":
        return f"{number(time_mean(point.nodes_per_job))} on average over time"
    most = f"at most {number(max(point.in_system.value))}"
    if point.response_h is None:
        return f"{most}, growing"
    # The curve keeps extremes and no means; Little's law has the mean from rate and turnaround time.
    gap_h = mean_gap_s(answer.spec.stream_at(point.load, point.jobs_simulated)) / HOUR_S
    return f"{number(point.response_h.mean / gap_h)} on average (rate × turnaround time), {most}"


def most_by_stretch(curve: Curve, stretches: int) -> Curve:
    """Return the largest value of a step curve in each of so many equal stretches of its time."""
    at, value = np.array(curve.at_h), np.array(curve.value)
    if at[-1] <= at[0]:
        return Curve(at_h=(float(at[0]),), value=(float(value.max()),))
    edges = np.linspace(at[0], at[-1], stretches + 1)
    first = np.searchsorted(at, edges[:-1], side="right") - 1  # what holds as a stretch begins
    last = np.maximum(np.searchsorted(at, edges[1:], side="left"), first + 1)
    last[-1] = len(at)
    most = [float(value[a:b].max()) for a, b in zip(first, last, strict=True)]
    return Curve(at_h=tuple(edges[:-1].tolist()), value=tuple(most))


def time_mean(curve: Curve) -> float:
    """Return the mean over time of a curve from its first to its last time; its only value where there is one."""
    lengths = np.diff(curve.at_h)
    if not lengths.sum() > 0:
        return float(curve.value[0])
    return float(np.average(curve.value[:-1], weights=lengths))
