"""The chart of months ahead: a target's metric by month, what comes and goes, by when to order."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from dlsched.figures.base import Chart, framed, plain, reference_line
from dlsched.figures.lines import add_band
from dlsched.figures.palette import BLUE, Theme
from dlsched.figures.size import HEIGHT, LEGEND, SYMBOLS, Level, verdict_colour
from dlsched.metrics.stats.statements import Estimate
from dlsched.studies.growth.answer import Growth, breaks_at, month_name, order_by
from dlsched.studies.growth.words import nodes_words, speed_words, step_words
from dlsched.studies.sizing.rule import Verdict
from dlsched.studies.sizing.targets import Target
from dlsched.studies.sizing.words import VERDICTS, bars_words, hits_words
from dlsched.wording.certainty import value_words

MOST_TICKS = 12


def by_month(growth: Growth, metric: str, theme: Theme) -> Chart | None:
    """Return a target's metric over the months with a band over its futures and the target's line.

    Verdicts by shape and colour; deliveries and retirements as arrows at the foot, the last month to order as an
    upright line. None if no month has a number.
    """
    target = next(one for one in growth.rule.targets if one.metric == metric)
    points = [
        (one.month, value, check.verdict)
        for one in growth.months
        for check in [growth.check(one.month)]
        if (value := check.of(metric).value) is not None
    ]
    if not points:
        return None
    level, figure = Level(target, [value for _, value, _ in points]), go.Figure()
    values = [value for _, value, _ in points]
    banded = [(month, value) for month, value, _ in points if value.low is not None and value.high is not None]
    if len(banded) > 1:
        low, high = ([level.at(getattr(value, end)) for _, value in banded] for end in ("low", "high"))
        add_band(figure, [month for month, _ in banded], low, high, theme.marks[BLUE], opacity=0.15)
    figure.add_scatter(
        x=[month for month, _, _ in points], y=[level.at(one.value) for one in values], mode="lines",
        line={"color": theme.marks[BLUE], "width": 2}, showlegend=False, hoverinfo="skip",
    )  # fmt: skip
    for verdict, symbol in SYMBOLS.items():
        _add_verdict(figure, growth, [one for one in points if one[2] == verdict], level, theme, symbol)
    _add_steps(figure, growth, level, theme)
    sure = bars_words(growth.rule).replace("bars", "band")
    framed(figure, theme, title=f"{target.kpi.label} by month, {sure}", y=level.title, height=HEIGHT,
           x=f"Month (demand {speed_words(growth.percent)})")  # fmt: skip
    level.finish(figure, theme)
    months = [one.month for one in growth.months]
    by = order_by(growth)
    first = min(0, by) if by is not None and by >= -3 else 0
    every = -(-(months[-1] - first + 1) // MOST_TICKS)
    ticks = list(range(first, months[-1] + 1, every))
    figure.update_xaxes(tickvals=ticks, ticktext=[month_name(growth.begin, month, letters=3) for month in ticks],
                        range=[first - 0.4, months[-1] + 0.4], zeroline=False)  # fmt: skip
    if by is not None and by >= first:
        is_late = by > months[-1] / 2
        reference_line(figure, theme, x=by, text=f"order by {growth.name_of(by)}", before=is_late)
    rows = [_row(growth, month, value, verdict, target) for month, value, verdict in points]
    return Chart(figure, _alt(growth, target, points), pd.DataFrame(rows))


_Found = tuple[int, Estimate, Verdict]


def _add_verdict(
    figure: go.Figure, growth: Growth, found: list[_Found], level: Level, theme: Theme, symbol: str
) -> None:
    if not found:
        return
    verdict = found[0][2]
    colour = verdict_colour(verdict, theme)
    figure.add_scatter(
        x=[month for month, _, _ in found], y=[level.at(value.value) for _, value, _ in found], mode="markers",
        name=LEGEND[verdict], showlegend=True,
        customdata=[[_hover(growth, month, value, level.target)] for month, value, _ in found],
        marker={"symbol": symbol, "size": 10, "color": colour, "line": {"width": 2, "color": colour}},
        hovertemplate="%{customdata[0]}<extra></extra>",
    )  # fmt: skip


def _hover(growth: Growth, month: int, value: Estimate, target: Target) -> str:
    check = growth.check(month)
    held = f"<br>met {hits_words(check)}" if check.n > 1 else ""
    return (
        f"<b>{growth.name_of(month)}</b><br>demand {growth.load_of(month)}, "
        f"{plain(nodes_words(growth, month), 80)}<br>"
        f"{target.kpi.label} {_told(target, value)}<br>"
        f"{VERDICTS[check.verdict]}{held}"
    )


def _add_steps(figure: go.Figure, growth: Growth, level: Level, theme: Theme) -> None:
    foot = level.low * 1.02 if level.log else level.low + 0.03 * (level.high - level.low)
    for name, symbol, steps in (
        ("delivery", "triangle-up", [step for step in growth.steps if step.nodes > 0]),
        ("retirement", "triangle-down", [step for step in growth.steps if step.nodes < 0]),
    ):
        if steps:
            figure.add_scatter(
                x=[step.month for step in steps], y=[foot] * len(steps), mode="markers+text", name=name,
                showlegend=True, text=[plain(step_words(growth, step), 24) for step in steps],
                textposition="top center", textfont={"size": 13, "color": theme.ink},
                marker={"symbol": symbol, "size": 13, "color": theme.ink}, cliponaxis=False,
                hovertemplate="%{text}<extra></extra>",
            )  # fmt: skip


def _told(target: Target, of: Estimate) -> str:
    return value_words(target.kpi.kind, of.value, of.low, of.high)


def _row(growth: Growth, month: int, value: Estimate, verdict: Verdict, target: Target) -> dict[str, object]:
    return {
        "month": growth.name_of(month), "demand": growth.load_of(month), "nodes": nodes_words(growth, month),
        target.kpi.label: _told(target, value), "all targets": VERDICTS[verdict],
        f"{target.metric}, exact": value.value, "low": value.low, "high": value.high,
    }  # fmt: skip


def _alt(growth: Growth, target: Target, found: list[_Found]) -> str:
    ends = [found[0], found[-1]] if len(found) > 1 else found
    words = " to ".join(f"{_told(target, value)} in {growth.name_of(month)}" for month, value, _ in ends)
    broken, by = breaks_at(growth), order_by(growth)
    more = "" if broken is None else f" The targets break in {growth.name_of(broken)}."
    more += "" if by is None else f" Order by {growth.name_of(by)}." if by >= 0 else " The order is overdue."
    steps = ", ".join(f"{step_words(growth, step)} in {growth.name_of(step.month)}" for step in growth.steps)
    return f"{target.kpi.label} from {words}.{more}{f' {steps}.' if steps else ''}"
