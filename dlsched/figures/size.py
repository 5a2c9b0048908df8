"""Charts of a search for a size: cost against service, and a target over the load."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from dlsched.figures.base import Chart, framed, legend_mark, log_times, plain, reference_line
from dlsched.figures.lines import Look, add_means, bars, look_at
from dlsched.figures.palette import BLUE, Theme
from dlsched.figures.sweep import Scale, scale_of
from dlsched.metrics.stats.statements import Estimate
from dlsched.studies.sizing.answer import CostBy, FrontierPoint, Headroom, Sizing, check_load, frontier, jobs_words
from dlsched.studies.sizing.rule import Verdict
from dlsched.studies.sizing.targets import Target
from dlsched.studies.sizing.words import VERDICTS, bars_words, hits_words
from dlsched.wording.certainty import value_words
from dlsched.wording.formats import amount, money_per_month, short

HEIGHT = 380
LOG_FROM = 10.0
"""Values that lie further apart than this, as a factor, are drawn on a log axis: a linear one hides the target."""
LEAST_OF_LIMIT = 50.0
"""A log axis goes down to this part of the target at most: much better than the target is good enough."""
SYMBOLS: dict[Verdict, str] = {"meets": "circle", "unsure": "diamond-open", "fails": "x"}
LEGEND: dict[Verdict, str] = {"meets": "meets", "unsure": "borderline", "fails": "fails"}
COST_TITLES: dict[CostBy, str] = {
    "price": "Cost of the nodes ($/month)", "runs": "Cost of the runs ($/month)",
    "gpus": "GPUs (no prices are set)", "nodes": "Nodes (no prices are set)",
}  # fmt: skip


def verdict_colour(verdict: Verdict, theme: Theme) -> str:
    """Return the colour of a verdict; its shape says it too."""
    return {"meets": theme.better, "unsure": theme.ink, "fails": theme.worse}[verdict]


# ---- the axis of a target ----------------------------------------------------------------------------


class Level:
    """The y axis of a target: its scale, log where the values lie far apart, and the bars on it.

    On a log axis what is below ``foot``, such as 0, is drawn there.
    """

    def __init__(self, target: Target, found: Sequence[Estimate]) -> None:
        self.target = target
        values = [*(one.value for one in found), target.limit]
        positive = [value for value in values if value > 0]
        self.log = min(values) >= 0 and target.limit > 0 and max(positive) / min(positive) > LOG_FROM
        self.in_words = self.log and target.kpi.kind == "duration"
        self.scale = Scale(1.0, target.kpi.label) if self.in_words else scale_of(target.kpi, values)
        shown = [self.scale.factor * value for value in values]
        ends = [self.scale.factor * end for one in found for end in (one.low, one.high) if end is not None]
        self.high = max(*shown, *ends)
        self.foot = self.low = min(0.0, *shown)
        if self.log:
            self.foot = self.scale.factor * max(min(positive) / 3, target.limit / LEAST_OF_LIMIT)
            self.low = self.foot if min(shown) < self.foot else max(self.foot, min([*shown, *ends]))

    def at(self, value: float) -> float:
        """Return where a value is drawn."""
        return max(self.scale.factor * value, self.foot) if self.log else self.scale.factor * value

    def bars(self, found: Sequence[Estimate]) -> dict[str, Any]:
        """Return bars over the range of each value; on a log axis they end at its foot."""
        if not any(sum(one.bars) for one in found):
            return {}
        above = [self.at(one.value + one.bars[1]) - self.at(one.value) for one in found]
        below = [self.at(one.value) - self.at(one.value - one.bars[0]) for one in found]
        return {"error_y": bars(above, below, thickness=1.2, width=4)}

    def finish(self, figure: go.Figure, theme: Theme) -> None:
        """Set the range and ticks, and draw the target; call it after ``framed``."""
        if self.log:
            low, high = self.low / 1.25, self.high * 1.35
            ticks = _numbers(low, high, self.scale.prefix)
            axis = {"type": "log", "range": [math.log10(low), math.log10(high)], "tickvals": list(ticks),
                    "ticktext": list(ticks.values())}  # fmt: skip
            figure.update_yaxes(**(log_times(low, high) if self.in_words else axis))
        else:
            room = 0.08 * (self.high - self.low or 1.0)
            figure.update_yaxes(range=[self.low, self.high + room])
            figure.update_yaxes(tickprefix=self.scale.prefix, separatethousands=True)
        limit = self.target.limit
        reference_line(
            figure,
            theme,
            y=self.at(limit),
            text=f"target: {self.target.side} {self.target.kpi.show(limit)}",
            limit=True,
        )

    @property
    def title(self) -> str:
        """The axis title with the unit."""
        return f"{self.scale.title} (log scale, 0 at its foot)" if self.log else self.scale.title


def _numbers(low: float, high: float, prefix: str) -> dict[float, str]:
    """Return places and words of ticks between two numbers: powers of ten, and 2 and 5 of them where there is room."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1,) if high / low > 1e4 else (1, 2, 5)
    return {at: prefix + short(at) for power in powers for step in steps if low <= (at := step * 10.0**power) <= high}


# ---- cost against service ----------------------------------------------------------------------------


def cost_and_service(sizing: Sizing, metric: str, theme: Theme) -> Chart | None:
    """Return the sizes that ran all futures: x cost a month (GPUs or nodes without prices), y a target's metric.

    Shape and colour tell the verdict; today's size is a hollow square, the answer a star. None if no size has both
    numbers.
    """
    points = frontier(sizing, metric)
    if not points:
        return None
    target = next(one for one in sizing.rule.targets if one.metric == metric)
    level, figure = Level(target, [point.service for point in points]), go.Figure()
    efficient = [point for point in points if point.efficient]
    if len(efficient) > 1:
        figure.add_scatter(
            x=[point.cost.value for point in efficient], y=[level.at(point.service.value) for point in efficient],
            mode="lines", line={"color": theme.muted, "width": 1.5, "dash": "dot"}, name="frontier",
            showlegend=True, hoverinfo="skip",
        )  # fmt: skip
    for verdict, symbol in SYMBOLS.items():
        _add_points(figure, sizing, [one for one in points if one.check.verdict == verdict], level, theme,
                    verdict, symbol)  # fmt: skip
    square = {"symbol": "square-open", "size": 19, "color": theme.ink, "line": {"width": 2.5}}
    _add_mark(figure, [point for point in points if point.today], level, "today", square)
    star = {"symbol": "star", "size": 19, "color": theme.marks[BLUE], "line": {"width": 1, "color": theme.ground}}
    _add_mark(figure, [point for point in points if point.answer], level, "answer", star)
    title = f"{target.kpi.label} by size, {bars_words(sizing.rule)}"
    framed(figure, theme, title=title, x=COST_TITLES[sizing.cost_by], y=level.title, height=HEIGHT)
    level.finish(figure, theme)
    if sizing.cost_by in ("price", "runs"):
        figure.update_xaxes(tickprefix="$", separatethousands=True)
    rows = [_row(sizing, point, target) for point in points]
    words = "; ".join(_said(sizing, point, target) for point in points if point.answer or point.today)
    reach = min(points, key=lambda one: one.cost.value), max(points, key=lambda one: one.cost.value)
    ends = f"from {sizing.words(reach[0].counts)} to {sizing.words(reach[1].counts)}"
    alt = f"{target.kpi.label} of {amount(len(points), 'size')} {ends}. {words}."
    return Chart(figure, alt, pd.DataFrame(rows))


def _add_points(
    figure: go.Figure, sizing: Sizing, points: Sequence[FrontierPoint], level: Level, theme: Theme, verdict: Verdict,
    symbol: str,
) -> None:  # fmt: skip
    if not points:
        return
    colour, paid = verdict_colour(verdict, theme), [point.cost.bars for point in points]
    figure.add_scatter(
        x=[point.cost.value for point in points], y=[level.at(point.service.value) for point in points], mode="markers",
        name=LEGEND[verdict], showlegend=True, customdata=[[_hover(sizing, point, level.target)] for point in points],
        marker={"symbol": symbol, "size": 10, "color": colour, "line": {"width": 2, "color": colour}},
        hovertemplate="%{customdata[0]}<extra></extra>", **level.bars([point.service for point in points]),
        **({"error_x": bars([above for _, above in paid], [below for below, _ in paid], thickness=1.2, width=4)}
           if any(map(sum, paid)) else {}),
    )  # fmt: skip


def _add_mark(
    figure: go.Figure, points: Sequence[FrontierPoint], level: Level, name: str, marker: dict[str, object]
) -> None:
    if points:
        figure.add_scatter(
            x=[point.cost.value for point in points], y=[level.at(point.service.value) for point in points],
            mode="markers", name=name, showlegend=True, marker=marker, hoverinfo="skip",
        )  # fmt: skip


def _hover(sizing: Sizing, point: FrontierPoint, target: Target) -> str:
    held = "" if sizing.rule.exact else f"<br>met {hits_words(point.check)}"
    return (
        f"<b>{plain(sizing.words(point.counts))}</b><br>{cost_words(sizing, point.cost)}<br>"
        f"{target.kpi.label} {_told(target, point.service)}<br>{VERDICTS[point.check.verdict]}{held}"
    )


def cost_words(sizing: Sizing, cost: Estimate) -> str:
    """Return a cost as it is drawn: dollars a month, GPUs or nodes."""
    if sizing.cost_by in ("price", "runs"):
        return money_per_month(cost.value)
    return amount(round(cost.value), "GPU" if sizing.cost_by == "gpus" else "node")


def _told(target: Target, of: Estimate) -> str:
    return value_words(target.kpi.kind, of.value, of.low, of.high)


def _said(sizing: Sizing, point: FrontierPoint, target: Target) -> str:
    what = " and ".join(name for name in ("answer", "today") if getattr(point, name))
    return (
        f"{what.capitalize()}: {sizing.words(point.counts)}, {cost_words(sizing, point.cost)}, "
        f"{_told(target, point.service)}, {VERDICTS[point.check.verdict]}"
    )


def _row(sizing: Sizing, point: FrontierPoint, target: Target) -> dict[str, object]:
    return {
        "size": sizing.words(point.counts), "cost": cost_words(sizing, point.cost),
        target.kpi.label: _told(target, point.service), "all targets": VERDICTS[point.check.verdict],
        "futures met": point.check.hits, "futures": point.check.n,
        "frontier": "yes" if point.efficient else "no",
        "what": ", ".join(name for name in ("answer", "today") if getattr(point, name)),
        "cost, exact": point.cost.value, f"{target.metric}, exact": point.service.value,
        "low": point.service.low, "high": point.service.high,
    }  # fmt: skip


# ---- headroom ----------------------------------------------------------------------------------------


def headroom(sizing: Sizing, metric: str, theme: Theme) -> Chart | None:
    """Return a target's metric over the load factor, a line for today and for the answer, the crossing of each marked.

    The crossing is the stretch from the last load that meets all targets to the first that does not. None if no
    load has a number.
    """
    target = next(one for one in sizing.rule.targets if one.metric == metric)
    curves: list[tuple[Headroom, list[tuple[float, Estimate, Verdict]]]] = []
    for room in sizing.headroom:
        checks = [(load.factor, check_load(sizing, load)) for load in room.loads]
        curve = [
            (load, value, check.verdict) for load, check in checks if (value := check.of(metric).value) is not None
        ]
        curves += [(room, curve)] if curve else []
    if not curves:
        return None
    level, figure = Level(target, [value for _, curve in curves for _, value, _ in curve]), go.Figure()
    rows, notes = [], []
    for room, curve in curves:
        name, look = _look(sizing, room, theme)
        values = [value for _, value, _ in curve]
        hover = [f"{jobs_words(load)}: {_told(target, value)}, {VERDICTS[verdict]}" for load, value, verdict in curve]
        marker = {"symbol": [SYMBOLS[verdict] for _, _, verdict in curve], "size": 10,
                  "line": {"width": 2, "color": look.colour}}  # fmt: skip
        add_means(figure, [load for load, _, _ in curve], [level.at(one.value) for one in values], look, name, hover,
                  marker=marker, **level.bars(values))  # fmt: skip
        rows += [
            {"size": name, "load": load, target.kpi.label: _told(target, value), "all targets": VERDICTS[verdict],
             f"{metric}, exact": value.value, "low": value.low, "high": value.high} for load, value, verdict in curve
        ]  # fmt: skip
        notes.append(f"{name}: {_bracket(room)}")
    for verdict in dict.fromkeys(verdict for _, curve in curves for _, _, verdict in curve):
        legend_mark(figure, LEGEND[verdict], symbol=SYMBOLS[verdict], size=10, color=theme.ink)
    framed(figure, theme, title=f"{target.kpi.label} by load, {bars_words(sizing.rule)}", x="Jobs (1 = as many as now)",
           y=level.title, height=HEIGHT)  # fmt: skip
    level.finish(figure, theme)
    loads = [load for _, curve in curves for load, _, _ in curve]
    figure.update_xaxes(range=[min(*loads, 1.0) - 0.06, max(*loads, 1.0) + 0.06], ticksuffix="x", zeroline=False)
    for room, _ in curves:
        if room.last is not None and room.first is not None:  # the stretch in which a size ceases to meet the targets
            tint = _look(sizing, room, theme)[1].colour
            figure.add_vrect(x0=room.last, x1=room.first, fillcolor=tint, opacity=0.25, line_width=0, layer="below")
    return Chart(figure, f"{target.kpi.label} over the load. {'; '.join(notes)}.", pd.DataFrame(rows))


def _look(sizing: Sizing, room: Headroom, theme: Theme) -> tuple[str, Look]:
    words, is_today = sizing.words(room.counts), room.counts == sizing.today
    if is_today and room.counts != sizing.answer:
        return f"{words} (today)", look_at(1, theme.muted)
    return f"{words} (answer{', as today' if is_today else ''})", look_at(0, theme.marks[BLUE])


def _bracket(room: Headroom) -> str:
    if room.last is None:
        return "misses the targets with the jobs of now"
    if room.first is None:
        return f"meets the targets with {jobs_words(room.last)}, the most that were tried"
    return f"meets the targets with {jobs_words(room.last)}, not with {jobs_words(room.first)}"
