"""Charts of a range on the page Capacity: lines over a range, cost against service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dlsched.domain.units import HOUR_S, MINUTE_S
from dlsched.figures.base import Chart, framed, log_times, plain, reference_line
from dlsched.figures.lines import Look, add_band, add_means, bars, look_at, policy_looks
from dlsched.figures.palette import Theme
from dlsched.metrics.kpi import KPI
from dlsched.metrics.stats.compare import told
from dlsched.metrics.stats.statements import Estimate
from dlsched.studies.design.measures import MEASURES, SIGNED
from dlsched.studies.sweep.answer import Sweep, Value, against_point, frontier, knee, value_at
from dlsched.studies.sweep.words import (
    axis_title,
    certainty,
    point_words,
    position,
    value_text,
    value_words,
    where_words,
)
from dlsched.wording.formats import UNIT_PRICES, amount, listed, share, short_time

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
    if kpi.kind in ("usd", "usd_per_month") or kpi.kind in UNIT_PRICES:
        per = {"usd": "", "usd_per_month": "/month"}.get(kpi.kind) or f"/{UNIT_PRICES[kpi.kind]}"
        return Scale(1.0, f"{kpi.label} (${per})", "$")
    return Scale(1.0, f"{kpi.label} (jobs)" if kpi.kind == "count" else kpi.label)


def log_axis(figure: go.Figure, scale: Scale, values: Sequence[float]) -> None:
    """Make y logarithmic where its values (in the metric's own unit) lie far apart; intervals may leave the picture."""
    if values and min(values) > 0 and max(values) > WIDE * min(values):
        low, high = np.log10(scale.factor * min(values)), np.log10(scale.factor * max(values))
        room = 0.08 * (high - low)
        figure.update_yaxes(type="log", range=[low - room, high + room], title_text=f"{scale.title}, log scale",
                            dtick=1, minor={"showgrid": False})  # fmt: skip


def is_numeric(sweep: Sweep, axis: int) -> bool:
    """Whether all values of an axis are numbers, more than one."""
    values = sweep.axes[axis].values
    return len(values) > 1 and not any(isinstance(value, str) for value in values)


# ---- lines -------------------------------------------------------------------------------------------


def lines(
    sweep: Sweep, metric: str, theme: Theme, axis: int = 0, other: Value | None = None, policy: str = ""
) -> Chart | None:
    """Return a metric over the values of an axis of a grid, a line with the band of its range per policy.

    ``other``: the value of the other axis of a grid with two; ``policy``: a line for each of those values under this
    one instead. None if nothing has a number.
    """
    kpi, along = MEASURES[metric], sweep.axes[axis]
    drawn = _lines_of(sweep, metric, axis, other, policy, theme)
    found = [of for line in drawn for _, of in line.points]
    if not found:
        return None
    scale, figure = scale_of(kpi, [of.value for of in found]), go.Figure()
    parts, rows = [], []
    for line in drawn:
        xs = [_position(sweep, axis, at) for at, _ in line.points]
        if all(of.low is not None for _, of in line.points):
            # A log axis has no 0: a range that reaches it is cut at a hundredth of the value.
            lows = [of.low or 0.0 if metric in SIGNED else max(of.low or 0.0, of.value / 100) for _, of in line.points]
            add_band(figure, xs, [scale.factor * low for low in lows],
                     [scale.factor * (of.high or 0.0) for _, of in line.points], line.look.colour)  # fmt: skip
        hover = [
            [at, f"{point_words(sweep, at)}: {value_text(kpi, of)}{line.changes.get(at, '')}"] for at, of in line.points
        ]
        add_means(figure, xs, [scale.factor * of.value for _, of in line.points], line.look, line.label, hover,
                  hover="%{customdata[1]}")  # fmt: skip
        ends = [line.points[0], line.points[-1]] if len(line.points) > 1 else line.points
        words = [f"{value_text(kpi, of)} {where_words(sweep, at)}" for at, of in ends]
        parts.append(f"{line.label} {', '.join(words)}")
        rows += [row_of(sweep, at, line.policy, metric, of) for at, of in line.points]
    less = f", best {len(drawn)} of {len(sweep.policies)} policies" if not policy else f" of {sweep.labels[policy]}"
    less = "" if not policy and len(drawn) == len(sweep.policies) else less
    framed(figure, theme, title=f"{kpi.label}{plain(less)}, {certainty(sweep)}", x=axis_title(along), y=scale.title,
           height=HEIGHT)  # fmt: skip
    figure.update_yaxes(tickprefix=scale.prefix, separatethousands=True)
    if metric not in SIGNED:
        log_axis(figure, scale, [of.value for of in found])
    _value_ticks(figure, sweep, axis, theme)
    return Chart(figure, f"{kpi.label}: {'; '.join(parts)}.", pd.DataFrame(rows))


@dataclass(frozen=True, slots=True)
class _Line:
    """A line: values by point under a policy; ``changes`` what is told of a point beside its value."""

    label: str
    look: Look
    policy: str
    points: list[tuple[int, Estimate]]
    changes: Mapping[int, str] = field(default_factory=dict)


def _lines_of(sweep: Sweep, metric: str, axis: int, other: Value | None, policy: str, theme: Theme) -> list[_Line]:
    """Return the lines of :func:`lines` that have a number."""

    def numbers(who: str, beside: Value | None) -> list[tuple[int, Estimate]]:
        points = [at for at, values in enumerate(sweep.points) if len(sweep.axes) == 1 or values[1 - axis] == beside]
        return [(at, of) for at in points if (of := value_at(sweep, at, who, metric)) is not None]

    if not policy:
        looks, best = policy_looks(sweep.policies, theme), _best(sweep, metric, axis, other)
        drawn = [_Line(sweep.labels[who], looks[who], who, numbers(who, other)) for who in best]
    else:
        beside = sweep.axes[1 - axis]
        drawn = [
            _Line(value_words(beside, value), look_at(place, theme.marks[place % len(theme.marks)]), policy,
                  numbers(policy, value), _changes(sweep, metric, axis, value, policy))
            for place, value in enumerate(beside.values)
        ]  # fmt: skip
    return [line for line in drawn if line.points]


def _changes(sweep: Sweep, metric: str, axis: int, value: Value, policy: str) -> dict[int, str]:
    """Return how each point differs from that with the first value of the other axis, future by future, in words."""
    beside, kpi = sweep.axes[1 - axis], MEASURES[metric]
    if value == beside.values[0]:
        return {}
    base = {values[axis]: at for at, values in enumerate(sweep.points) if values[1 - axis] == beside.values[0]}
    at_value = [(at, base[values[axis]]) for at, values in enumerate(sweep.points) if values[1 - axis] == value]
    return {
        at: f"; {told(kpi, of).text} against {value_words(beside, beside.values[0])}"
        for at, baseline in at_value
        if (of := against_point(sweep, at, policy, metric, baseline)) is not None
    }


def _best(sweep: Sweep, metric: str, axis: int, other: Value | None) -> list[str]:
    """Return up to :data:`MOST_LINES` policies: those that are best at ``other`` on average, in their usual order."""
    sign = 1.0 if MEASURES[metric].better == "lower" else -1.0
    points = [at for at, values in enumerate(sweep.points) if len(sweep.axes) == 1 or values[1 - axis] == other]

    def rank(policy: str) -> float:
        known = [of.value for at in points if (of := value_at(sweep, at, policy, metric)) is not None]
        return sign * float(np.mean(known)) if known else np.inf

    best = set(sorted(sweep.policies, key=rank)[:MOST_LINES])
    return [policy for policy in sweep.policies if policy in best]


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


def row_of(sweep: Sweep, point: int, policy: str, metric: str, of: Estimate | None) -> dict[str, object]:
    """Return a value with its range as a row of a chart's table."""
    kpi = MEASURES[metric]
    return {
        "situation": point_words(sweep, point), "policy": sweep.labels[policy], kpi.label: value_text(kpi, of),
        metric: None if of is None else of.value, "range from": None if of is None else of.low,
        "range to": None if of is None else of.high,
    }  # fmt: skip


# ---- time of decisions -------------------------------------------------------------------------------


def decision_times(sweep: Sweep, theme: Theme, axis: int = 0, other: Value | None = None) -> Chart | None:
    """Return the CPU time of decisions for which a solver answered, log, over the values of an axis.

    For each policy the median as a line and the 95th percentile dashed, as recorded or means over futures; marks are
    the longest in any future. ``other`` as :func:`lines`; None if no solver was asked.
    """
    drawn = _lines_of(sweep, "solve_p50_s", axis, other, "", theme)
    if not drawn:
        return None
    figure, parts, rows = go.Figure(), [], []
    for line in drawn:
        points = [at for at, _ in line.points]
        cells = {at: sweep.at(at, line.policy) for at in points}
        longest_s = [max(cell.values.get("solve_longest_s") or 0.0 for cell in cells[at]) for at in points]
        p95_s = [of.value if (of := value_at(sweep, at, line.policy, "solve_p95_s")) else np.nan for at in points]
        solved, proven = ([sum(cell.values.get(key) or 0.0 for cell in cells[at]) for at in points]
                          for key in ("solved", "proven"))  # fmt: skip
        hover = [
            f"{point_words(sweep, at)}: half of {amount(int(many), 'decision')} up to {short_time(of.value)}, 95 of "
            f"100 up to {short_time(p95)}, longest {short_time(most)}; {int(sure):,} proven"
            for (at, of), many, p95, most, sure in zip(line.points, solved, p95_s, longest_s, proven, strict=True)
        ]
        xs, colour = [_position(sweep, axis, at) for at in points], line.look.colour
        add_means(figure, xs, [of.value for _, of in line.points], line.look, f"{line.label}: median", hover)
        figure.add_scatter(x=xs, y=p95_s, mode="lines", name=f"{plain(line.label)}: p95", showlegend=True,
                           line={"color": colour, "width": 1.5, "dash": "dot"}, hoverinfo="skip")  # fmt: skip
        figure.add_scatter(x=xs, y=longest_s, mode="markers", name=f"{plain(line.label)}: longest", showlegend=True,
                           marker={"symbol": "line-ew", "size": 11, "line": {"width": 2.5, "color": colour}},
                           hoverinfo="skip")  # fmt: skip
        share_proven = sum(proven) / sum(solved) if sum(solved) else 0.0
        parts.append(f"{line.label} {hover[0]}; {share(share_proven)} of {int(sum(solved)):,} proven in all")
        rows += [
            {"situation": point_words(sweep, at), "policy": line.label, "decisions": int(many), "proven": int(sure),
             "median, s": of.value, "p95, s": p95, "longest, s": most}
            for (at, of), many, p95, most, sure in zip(line.points, solved, p95_s, longest_s, proven, strict=True)
        ]  # fmt: skip
    every = np.array([row[name] for row in rows for name in ("median, s", "p95, s", "longest, s")], dtype=float)
    framed(figure, theme, title=f"Time of decisions, the longest {short_time(float(np.nanmax(every)))}",
           x=axis_title(sweep.axes[axis]), y="CPU time of a decision (log scale)", height=HEIGHT)  # fmt: skip
    figure.update_yaxes(**log_times(max(float(np.nanmin(every)), 1e-6) / 1.3, float(np.nanmax(every)) * 1.3))
    _value_ticks(figure, sweep, axis, theme)
    return Chart(figure, f"CPU time of decisions. {'. '.join(parts)}.", pd.DataFrame(rows))


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
    look, paid, served = policy_looks(sweep.policies, theme), MEASURES[cost], MEASURES[service]
    across, up = scale_of(paid, [c.cost for c in choices]), scale_of(served, [c.service for c in choices])
    figure, rows = go.Figure(), []
    named: set[str] = set()
    efficient = sorted((one for one in choices if not one.dominated), key=lambda one: one.cost)
    figure.add_scatter(
        x=[across.factor * one.cost for one in efficient], y=[up.factor * one.service for one in efficient],
        mode="lines", line={"color": theme.muted, "width": 1.5, "dash": "dot", "shape": "hv"}, name="frontier",
        showlegend=True,
        hoverinfo="skip",
    )  # fmt: skip
    for policy in sweep.policies:
        for beaten in (False, True):
            mine = [one for one in choices if one.policy == policy and one.dominated == beaten]
            found = [
                (one, value_at(sweep, one.point, policy, cost), value_at(sweep, one.point, policy, service))
                for one in mine
            ]
            texts = [(value_text(paid, x), value_text(served, y)) for _, x, y in found]
            hover = [
                [one.point, f"{point_words(sweep, one.point)}<br>{x}<br>{served.label} {y}"
                 + ("<br>dominated: another is no worse in both" if beaten else "")]
                for one, (x, y) in zip(mine, texts, strict=True)
            ]  # fmt: skip
            rows += [
                {"policy": sweep.labels[policy], "situation": point_words(sweep, one.point), paid.label: x,
                 served.label: y, "dominated": "yes" if beaten else "no", cost: one.cost, service: one.service}
                for one, (x, y) in zip(mine, texts, strict=True)
            ]  # fmt: skip
            bars = {} if beaten else _bars([x for _, x, _ in found], [y for _, _, y in found], across, up)
            figure.add_scatter(
                x=[across.factor * one.cost for one in mine], y=[up.factor * one.service for one in mine],
                mode="markers", name=plain(sweep.labels[policy]), legendgroup=policy, opacity=FAINT if beaten else 1.0,
                showlegend=policy not in named and bool(mine), customdata=hover,
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
    title = f"{amount(len(efficient), 'choice')} of {len(choices)} not dominated, {certainty(sweep)}"
    framed(figure, theme, title=title, x=across.title, y=up.title, height=HEIGHT)
    figure.update_xaxes(tickprefix=across.prefix, separatethousands=True)
    figure.update_yaxes(tickprefix=up.prefix, separatethousands=True)
    log_axis(figure, up, [one.service for one in choices])
    names = [f"{sweep.labels[one.policy]} {where_words(sweep, one.point)}" for one in efficient[:6]]
    more = f" and {len(efficient) - 6} more" if len(efficient) > 6 else ""
    ringed = "" if bend is None else f" Knee: {sweep.labels[bend.policy]} {where_words(sweep, bend.point)}."
    alt = f"Not dominated in {paid.label} and {served.label}: {listed(names)}{more}.{ringed}"
    return Chart(figure, alt, pd.DataFrame(rows))


def _bars(
    xs: Sequence[Estimate | None], ys: Sequence[Estimate | None], across: Scale, up: Scale
) -> dict[str, dict[str, object]]:
    """Return the ranges of points as bars, where there are any."""
    bars_by_axis = {}
    for name, of, scale in (("error_x", xs, across), ("error_y", ys, up)):
        below, above = zip(*(one.bars if one else (0.0, 0.0) for one in of), strict=True) if of else ((), ())
        if any((*below, *above)):
            bars_by_axis[name] = bars(
                [scale.factor * end for end in above], [scale.factor * end for end in below], thickness=1, width=3
            )
    return bars_by_axis
