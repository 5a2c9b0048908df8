"""The main chart of a steady-state experiment: mean turnaround time by load, and the table of all points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dlsched.domain.units import DAY_S, HOUR_S, MINUTE_S
from dlsched.figures.base import Chart, framed, legend_mark, plain
from dlsched.figures.lines import SYMBOLS, Look, add_means, bars
from dlsched.figures.palette import DASHES, Theme, policy_colour
from dlsched.studies.steady.answer import SteadyAnswer, SteadyPoint
from dlsched.wording.certainty import mean_time
from dlsched.wording.formats import amount, cut, duration, load_words

HEIGHT = 380
OF_60 = (1, 1.5, 2, 3, 4, 6, 10, 15, 20, 30, 45)
TICKS = (OF_60, OF_60, (1, 1.5, 2, 2.5, 3, 4, 6, 8, 12, 16), (1, 1.5, 2, 3, 4, 6, 8, 12, 20, 30, 50, 100, 200, 400))
"""Seconds, minutes, hours and days at which a tick may stand."""
MOST_TICKS = 9
GROWS = "triangle-up-open"
APART, EDGE_APART = 0.006, 0.02
"""How far apart points of one load stand, so that bars, and triangles at the edge, do not cover each other."""
EDGE_ROOM = 0.16
"""Share of the height that is kept at the top for queues that grow."""


def looks(answer: SteadyAnswer, theme: Theme) -> dict[str, Look]:
    """Return the look of each policy by label; variants of one policy share colour and symbol and differ in dash."""
    policy_of = {point.label: point.policy for point in reversed(answer.points)}
    policies = list(dict.fromkeys(point.policy for point in answer.points))
    labels = dict.fromkeys(point.label for point in answer.points)
    return {
        label: Look(
            policy_colour(policy_of[label], theme),
            DASHES[place % len(DASHES)],
            SYMBOLS[policies.index(policy_of[label]) % len(SYMBOLS)],
        )
        for place, label in enumerate(labels)
    }


def response_by_load(answer: SteadyAnswer, theme: Theme) -> Chart:
    """Return mean turnaround time by load, log, a line with 95% bars per policy.

    Filled = within the target, hollow = the cap was reached before it; a queue that grows has no mean and stands as a
    triangle at the top edge.
    """
    loads = answer.spec.loads
    span = load_words(loads[0]) if len(loads) == 1 else f"{load_words(loads[0])} to {load_words(loads[-1])}"
    steady = [point.response_h for point in answer.points if point.response_h is not None]
    ends = [of.mean + (of.half_width or 0.0) for of in steady] + [of.mean for of in steady]
    lows = [max(of.mean - (of.half_width or 0.0), of.mean / 3) for of in steady]  # no bar reaches 0 on a log axis
    high, low = max(ends, default=100.0), min(lows, default=10.0)
    states = {point.state for point in answer.points}
    low, high = low / 1.15, high * 1.15
    top = (high / low) ** (1 / (1 - EDGE_ROOM)) * low if "queue grows" in states else high
    look, figure = looks(answer, theme), go.Figure()
    for place, label in enumerate(look):
        points = [point for point in answer.points if point.label == label]
        beside = place - (len(look) - 1) / 2
        _add_line(figure, points, look[label], APART * beside)
        _add_growing(figure, points, look[label], EDGE_APART * beside, float(np.sqrt(high * top)))
    for state, symbol, word in (
        ("cap reached", "circle-open", "hollow: cap reached, less sure"),
        ("queue grows", GROWS, "queue grows, no mean"),
    ):
        if state in states:
            legend_mark(figure, word, symbol=symbol, size=11, color=theme.muted, line={"width": 2})
    framed(
        figure, theme, title=f"Mean turnaround time at load {span}, with 95% intervals",
        x="Load (work asked for over work possible on one node each)",
        y="Mean turnaround time (log scale)", height=HEIGHT,
    )  # fmt: skip
    _log_times(figure, low, high, top)
    if "queue grows" in states:
        _edge(figure, theme, high)
    _wall(figure, theme)
    return Chart(figure, response_alt(answer), points_table(answer))


def _add_line(figure: go.Figure, points: Sequence[SteadyPoint], look: Look, shift: float) -> None:
    stable = [(point, point.response_h) for point in points if point.response_h is not None]
    halves_h = [of.half_width or 0.0 for _, of in stable]
    below_h = [min(half_h, 0.9 * of.mean) for half_h, (_, of) in zip(halves_h, stable, strict=True)]
    open_where_unsure = ["" if point.state == "within target" else "-open" for point, _ in stable]
    add_means(
        figure, [point.load + shift for point, _ in stable], [of.mean for _, of in stable], look, points[0].label,
        [point_words(point) for point, _ in stable],
        marker={
            "symbol": [f"{look.symbol}{end}" for end in open_where_unsure],
            "size": 10,
            "line": {"width": 2, "color": look.colour},
        },
        error_y=bars(halves_h, below_h, color=look.colour, width=4),
    )  # fmt: skip


def _add_growing(figure: go.Figure, points: Sequence[SteadyPoint], look: Look, shift: float, at: float) -> None:
    growing = [point for point in points if point.state == "queue grows"]
    if growing:
        figure.add_scatter(
            x=[point.load + shift for point in growing],
            y=[at] * len(growing),
            mode="markers",
            name=f"{plain(points[0].label)}: queue grows",
            showlegend=False,
            marker={"symbol": GROWS, "size": 11, "color": look.colour, "line": {"width": 2}},
            customdata=[point_words(point) for point in growing],
            hovertemplate=f"<b>{plain(points[0].label)}</b><br>%{{customdata}}<extra></extra>",
        )


def point_words(point: SteadyPoint) -> str:
    """Return what the mouse tells of a point, below the name of its policy."""
    mean = "" if point.response_h is None else f"{mean_time(point.response_h)}<br>"
    return (
        f"load {load_words(point.load)}<br>{mean}{point.words}<br>"
        f"{amount(point.jobs_measured, 'job')} measured of {point.jobs_simulated:,}"
    )


def _wall(figure: go.Figure, theme: Theme) -> None:
    """Draw load 1, beyond which no queue is stable."""
    figure.add_vline(x=1, line={"color": theme.muted, "width": 3})
    figure.add_annotation(
        text="every queue grows from load 1 on", x=1, xref="x", y=0.02, yref="paper", textangle=-90,
        xanchor="right", yanchor="bottom", showarrow=False, font={"size": 12, "color": theme.muted}, xshift=-3,
    )  # fmt: skip
    figure.update_xaxes(range=[0, 1.02], tickvals=np.round(np.arange(0, 1.05, 0.1), 1).tolist(), zeroline=False)


def _edge(figure: go.Figure, theme: Theme, high: float) -> None:
    """Set the top edge apart from the hours below."""
    figure.add_hline(y=high, line={"color": theme.muted, "width": 1, "dash": "dot"})
    figure.add_annotation(
        text="queue grows", x=0, xref="paper", xanchor="left", y=float(np.log10(high)), yref="y", yanchor="bottom",
        showarrow=False, font={"size": 12, "color": theme.muted}, xshift=4,
    )  # fmt: skip


def _log_times(figure: go.Figure, low: float, high: float, top: float) -> None:
    """Make y a log axis of hours up to ``top``, with ticks up to ``high`` as times: fewer where the range is long."""
    units_h = (1 / HOUR_S, MINUTE_S / HOUR_S, 1.0, DAY_S / HOUR_S)
    ticks = [at for at in sorted(unit * of for unit, most in zip(units_h, TICKS, strict=True) for of in most)
             if low <= at <= high]  # fmt: skip
    ticks = ticks[:: 1 + len(ticks) // MOST_TICKS]
    figure.update_yaxes(
        type="log", range=[float(np.log10(low)), float(np.log10(top))], tickvals=ticks,
        ticktext=[duration(at * HOUR_S) for at in ticks],
    )  # fmt: skip


def response_alt(answer: SteadyAnswer) -> str:
    """Return the main picture in one sentence."""
    parts = []
    for label in dict.fromkeys(point.label for point in answer.points):
        points = [point for point in answer.points if point.label == label]
        stable = [(point, point.response_h) for point in points if point.response_h is not None]
        ends = [stable[0], stable[-1]] if len(stable) > 1 else stable
        words = [f"{mean_time(of)} at load {load_words(point.load)}" for point, of in ends]
        growing = [load_words(point.load) for point in points if point.state == "queue grows"]
        words += [f"queue grows at load {', '.join(growing)}"] * bool(growing)
        parts.append(f"{cut(label)} {', '.join(words)}")
    return f"Mean turnaround time with 95% intervals: {'; '.join(parts)}."


def points_table(answer: SteadyAnswer) -> pd.DataFrame:
    """Return every point: mean, interval, percentiles, growth of the queue, jobs used, state, parameters."""
    return pd.DataFrame([_row(point) for point in answer.points])


def _row(point: SteadyPoint) -> dict[str, object]:
    of = point.response_h
    params = {name: value for name, value in point.params.items() if value is not None}
    return {
        "policy": point.label,
        "load": point.load,
        "state": point.words,
        "mean turnaround time, h": None if of is None else round(of.mean, 4),
        "± h (95%)": None if of is None or of.half_width is None else round(of.half_width, 4),
        "median, h": None if point.p50_h is None else round(point.p50_h, 4),
        "p95, h": None if point.p95_h is None else round(point.p95_h, 4),
        "queue grows by, jobs per 100 arrivals": round(point.growth.mean, 3),
        "± jobs (95%)": None if point.growth.half_width is None else round(point.growth.half_width, 3),
        "jobs simulated": point.jobs_simulated,
        "left out at the start": point.jobs_warm_up,
        "left out at the end": point.jobs_end,
        "jobs measured": point.jobs_measured,
        "batches": point.batches,
        "load of these jobs": round(point.load_drawn, 4),
        "parameters": ", ".join(f"{name} {value}" for name, value in params.items()),
        "audit": "; ".join(point.audit) or "ok",
    }
