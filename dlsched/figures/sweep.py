"""Charts of the page Sweep: lines over a range, cost against service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dlsched.domain.units import HOUR_S, MINUTE_S
from dlsched.figures.base import Chart, framed, plain, reference_line
from dlsched.figures.lines import add_band, add_means, bars, policy_looks
from dlsched.figures.palette import Theme
from dlsched.metrics.kpi import KPI, KPIS
from dlsched.metrics.stats.intervals import Interval
from dlsched.studies.sweep.answer import Sweep, Value, frontier, knee, mean_at
from dlsched.studies.sweep.words import axis_title, certainty, point_words, position, value_words
from dlsched.wording.formats import amount, listed, show_interval

HEIGHT = 380
MOST_LINES = 6
FAINT = 0.35
WIDE = 30.0
"""From this ratio of the largest to the smallest value on, an axis is logarithmic, and says so."""


@dataclass(frozen=True, slots=True)
class Scale:
    """By what a metric is multiplied on an axis, and the title with the unit."""

    factor: float
    title: str
    prefix: str = ""


def scale_of(kpi: KPI, values: Sequence[float]) -> Scale:
    """Return the scale that suits these values: minutes or hours, percent, dollars."""
    largest = max((abs(value) for value in values), default=0.0)
    if kpi.kind in ("duration", "hours"):
        if largest >= 2 * HOUR_S or kpi.kind == "hours":
            return Scale(1 / HOUR_S, f"{kpi.label} (h)")
        return Scale(1 / MINUTE_S, f"{kpi.label} (min)")
    if kpi.kind == "share":
        return Scale(100.0, f"{kpi.label} (%)")
    if kpi.kind in ("usd", "usd_per_month", "usd_per_gpu_h"):
        per = {"usd_per_month": "/month", "usd_per_gpu_h": "/GPU-h"}.get(kpi.kind, "")
        return Scale(1.0, f"{kpi.label} (${per})", "$")
    return Scale(1.0, f"{kpi.label} (jobs)" if kpi.kind == "count" else kpi.label)


def log_axis(figure: go.Figure, scale: Scale, values: Sequence[float]) -> None:
    """Make y logarithmic where its values (in the metric's own unit) lie far apart; intervals may leave the picture."""
    if values and min(values) > 0 and max(values) > WIDE * min(values):
        low, high = np.log10(scale.factor * min(values)), np.log10(scale.factor * max(values))
        room = 0.08 * (high - low)
        figure.update_yaxes(type="log", range=[low - room, high + room], title_text=f"{scale.title}, log scale",
                            dtick=1, minor={"showgrid": False})  # fmt: skip


def said(kpi: KPI, of: Interval | None) -> str:
    """Return a mean with its half width, a dash for none."""
    return "–" if of is None else show_interval(kpi.kind, of.mean, of.half_width)


def is_numeric(sweep: Sweep, axis: int) -> bool:
    """Whether all values of an axis are numbers, more than one."""
    values = sweep.axes[axis].values
    return len(values) > 1 and not any(isinstance(value, str) for value in values)


# ---- lines -------------------------------------------------------------------------------------------


def lines(sweep: Sweep, metric: str, theme: Theme, axis: int = 0, other: Value | None = None) -> Chart | None:
    """Return a metric over the values of an axis of a grid, a line with its 95% band per policy.

    ``other``: the value of the other axis of a grid with two. None where nothing has a number.
    """
    kpi, along = KPIS[metric], sweep.axes[axis]
    points = [at for at, values in enumerate(sweep.points) if len(sweep.axes) == 1 or values[1 - axis] == other]
    found = {policy: [mean_at(sweep, at, policy, metric) for at in points] for policy in _best(sweep, metric, points)}
    shown = [of for means in found.values() for of in means if of is not None]
    if not shown:
        return None
    scale, look = scale_of(kpi, [of.mean for of in shown]), policy_looks(sweep.policies, theme)
    figure, parts, rows = go.Figure(), [], []
    for policy, means in found.items():
        known = [(at, of) for at, of in zip(points, means, strict=True) if of is not None]
        if not known:
            continue
        xs = [_position(sweep, axis, at) for at, _ in known]
        if all(of.half_width is not None for _, of in known):
            # No time and no amount is negative: an interval that reaches below is cut, on a log axis at a hundredth.
            low = [scale.factor * max(of.low or 0.0, of.mean / 100) for _, of in known]
            add_band(figure, xs, low, [scale.factor * (of.high or 0.0) for _, of in known], look[policy].colour)
        told = [[at, f"{point_words(sweep, at)}: {said(kpi, of)}"] for at, of in known]
        add_means(figure, xs, [scale.factor * of.mean for _, of in known], look[policy], sweep.labels[policy], told,
                  hover="%{customdata[1]}")  # fmt: skip
        ends = [known[0], known[-1]] if len(known) > 1 else known
        words = [f"{said(kpi, of)} at {point_words(sweep, at)}" for at, of in ends]
        parts.append(f"{sweep.labels[policy]} {', '.join(words)}")
        rows += [row_of(sweep, at, policy, metric, of) for at, of in known]
    less = f", best {len(found)} of {len(sweep.policies)} policies" if len(found) < len(sweep.policies) else ""
    framed(figure, theme, title=f"{kpi.label}{less}, {certainty(sweep)}", x=axis_title(along), y=scale.title,
           height=HEIGHT)  # fmt: skip
    figure.update_yaxes(tickprefix=scale.prefix, separatethousands=True)
    log_axis(figure, scale, [of.mean for of in shown])
    _value_ticks(figure, sweep, axis, theme)
    return Chart(figure, f"{kpi.label}: {'; '.join(parts)}.", pd.DataFrame(rows))


def _best(sweep: Sweep, metric: str, points: Sequence[int]) -> list[str]:
    """Return up to :data:`MOST_LINES` policies: those with the best mean over these points, in their usual order."""
    sign = 1.0 if KPIS[metric].better == "lower" else -1.0

    def rank(policy: str) -> float:
        means = [of.mean for at in points if (of := mean_at(sweep, at, policy, metric)) is not None]
        return sign * float(np.mean(means)) if means else np.inf

    kept = set(sorted(sweep.policies, key=rank)[:MOST_LINES])
    return [policy for policy in sweep.policies if policy in kept]


def _position(sweep: Sweep, axis: int, point: int) -> float:
    value = sweep.points[point][axis]
    assert value is not None
    return position(sweep.axes[axis], value)


def _value_ticks(figure: go.Figure, sweep: Sweep, axis: int, theme: Theme) -> None:
    along = sweep.axes[axis]
    at = [position(along, value) for value in along.values]
    words = [value_words(along, value) for value in along.values]
    room = 0.05 * (max(at) - min(at))
    figure.update_xaxes(tickvals=at, ticktext=words, range=[min(at) - room, max(at) + room], zeroline=False)
    now = along.present
    if now is not None and not isinstance(now, str) and min(at) <= (place := position(along, now)) <= max(at):
        reference_line(figure, theme, text="now", x=place, before=place > (min(at) + max(at)) / 2)


def row_of(sweep: Sweep, point: int, policy: str, metric: str, of: Interval | None) -> dict[str, object]:
    """Return a mean as a row of a chart's table."""
    kpi = KPIS[metric]
    return {
        "situation": point_words(sweep, point), "policy": sweep.labels[policy], kpi.label: said(kpi, of),
        metric: None if of is None else of.mean, "± (95%)": None if of is None else of.half_width,
        "draws": 0 if of is None else of.n,
    }  # fmt: skip


# ---- cost against service ----------------------------------------------------------------------------


def cost_against_service(
    sweep: Sweep, cost: str, service: str, theme: Theme, among: Sequence[int] | None = None
) -> Chart | None:
    """Return all choices by cost and service: the frontier as a line, the knee ringed, dominated ones faint.

    ``among``: the points that are compared, see :func:`studies.sweep.answer.choice_points`.
    """
    choices = frontier(sweep, cost, service, among)
    if not choices:
        return None
    look, paid, served = policy_looks(sweep.policies, theme), KPIS[cost], KPIS[service]
    across, up = scale_of(paid, [c.cost for c in choices]), scale_of(served, [c.service for c in choices])
    figure, rows = go.Figure(), []
    named: set[str] = set()
    kept = sorted((one for one in choices if not one.dominated), key=lambda one: one.cost)
    figure.add_scatter(
        x=[across.factor * one.cost for one in kept], y=[up.factor * one.service for one in kept], mode="lines",
        line={"color": theme.muted, "width": 1.5, "dash": "dot", "shape": "hv"}, name="frontier", showlegend=True,
        hoverinfo="skip",
    )  # fmt: skip
    for policy in sweep.policies:
        for beaten in (False, True):
            mine = [one for one in choices if one.policy == policy and one.dominated == beaten]
            means = [
                (one, mean_at(sweep, one.point, policy, cost), mean_at(sweep, one.point, policy, service))
                for one in mine
            ]
            told = [
                [one.point, f"{point_words(sweep, one.point)}<br>{said(paid, x)}<br>{served.label} {said(served, y)}"
                 + ("<br>dominated: another is no worse in both" if beaten else "")]
                for one, x, y in means
            ]  # fmt: skip
            rows += [
                {"policy": sweep.labels[policy], "situation": point_words(sweep, one.point), paid.label: said(paid, x),
                 served.label: said(served, y), "dominated": "yes" if beaten else "no", cost: one.cost,
                 service: one.service} for one, x, y in means
            ]  # fmt: skip
            bars = {} if beaten else _bars([x for _, x, _ in means], [y for _, _, y in means], across, up)
            figure.add_scatter(
                x=[across.factor * one.cost for one in mine], y=[up.factor * one.service for one in mine],
                mode="markers", name=plain(sweep.labels[policy]), legendgroup=policy, opacity=FAINT if beaten else 1.0,
                showlegend=policy not in named and bool(mine), customdata=told,
                marker={"symbol": look[policy].symbol, "size": 8 if beaten else 11, "color": look[policy].colour},
                hovertemplate=f"<b>{plain(sweep.labels[policy])}</b>, %{{customdata[1]}}<extra></extra>", **bars,
            )  # fmt: skip
            named |= {policy} if mine else set()
    bend = knee(sweep, cost, service, among)
    if bend is not None:
        figure.add_scatter(
            x=[across.factor * bend.cost], y=[up.factor * bend.service], mode="markers", name="knee", showlegend=True,
            marker={"symbol": "circle-open", "size": 22, "color": theme.ink, "line": {"width": 2.5}}, hoverinfo="skip",
        )  # fmt: skip
    title = f"{amount(len(kept), 'choice')} of {len(choices)} not dominated, {certainty(sweep)}"
    framed(figure, theme, title=title, x=across.title, y=up.title, height=HEIGHT)
    figure.update_xaxes(tickprefix=across.prefix, separatethousands=True)
    figure.update_yaxes(tickprefix=up.prefix, separatethousands=True)
    log_axis(figure, up, [one.service for one in choices])
    names = [f"{sweep.labels[one.policy]} at {point_words(sweep, one.point)}" for one in kept[:6]]
    more = f" and {len(kept) - 6} more" if len(kept) > 6 else ""
    ringed = "" if bend is None else f" Knee: {sweep.labels[bend.policy]} at {point_words(sweep, bend.point)}."
    alt = f"Not dominated in {paid.label} and {served.label}, by means over draws: {listed(names)}{more}.{ringed}"
    return Chart(figure, alt, pd.DataFrame(rows))


def _bars(
    xs: Sequence[Interval | None], ys: Sequence[Interval | None], across: Scale, up: Scale
) -> dict[str, dict[str, object]]:
    """Return the 95% bars of points, where there are draws."""
    found = {}
    for name, of, scale in (("error_x", xs, across), ("error_y", ys, up)):
        halves = [scale.factor * ((one.half_width if one else None) or 0.0) for one in of]
        if any(halves):
            found[name] = bars(halves, thickness=1, width=3)
    return found
