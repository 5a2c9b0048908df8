"""Charts of a commitment: the cost of a year and a target by committed nodes, and the hours in which nodes are used."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from dlsched.figures.base import Chart, area_hatch, framed, hatched, plain, reference_line
from dlsched.figures.lines import bars
from dlsched.figures.palette import BLUE, Theme
from dlsched.figures.size import HEIGHT, LEGEND, SYMBOLS, Level, verdict_colour
from dlsched.metrics.stats.statements import Estimate
from dlsched.studies.commitment.answer import (
    HOURS_PER_YEAR,
    Commitment,
    Cost,
    break_even_nodes,
    break_even_share,
    cost_at,
    rents_nothing,
    usd_all_committed,
    usd_by_kind,
    use_shares,
)
from dlsched.studies.commitment.words import cost_words, money_year, over_words
from dlsched.studies.sizing.targets import Target
from dlsched.studies.sizing.words import VERDICTS, bars_words, hits_words
from dlsched.wording.certainty import value_words
from dlsched.wording.formats import amount, capital, share

SHAPES = ("", "/", ".", "\\")
"""Hatching of the kinds in a stack, so that they differ without colour."""


def cost_by_nodes(found: Commitment, theme: Theme) -> Chart | None:
    """Return the cost of a year by committed nodes, stacked by kind, with intervals, the best, and renting nothing.

    Numbers that do not meet the targets have a cross. None if no number has a cost.
    """
    costs = [(one.nodes, cost) for one in found.tried if (cost := cost_at(found, one.nodes)) is not None]
    if not costs:
        return None
    figure, numbers = go.Figure(), [nodes for nodes, _ in costs]
    parts = {nodes: usd_by_kind(found, nodes) or {} for nodes in numbers}
    kinds = dict.fromkeys(kind for nodes in numbers for kind in parts[nodes])
    for place, kind in enumerate(kinds):
        figure.add_bar(
            x=numbers, y=[parts[nodes].get(kind, 0.0) for nodes in numbers], name=capital(kind), showlegend=True,
            marker=hatched(theme.marks[place], SHAPES[place % len(SHAPES)], theme.on_marks[place]),
            hovertemplate=f"{kind}: $%{{y:,.0f}}/year<extra></extra>",
        )  # fmt: skip
    _add_totals(figure, found, costs, theme)
    usd = usd_all_committed(found)
    framed(figure, theme, title=f"Cost of a year, {over_words(found)}", x=f"Committed nodes ({found.base.kind})",
           y="Cost ($/year)", height=HEIGHT)  # fmt: skip
    figure.update_layout(barmode="stack", legend_traceorder="normal", bargap=0.3)
    tops = [max(cost.usd, cost.high or 0.0) for _, cost in costs]
    figure.update_yaxes(range=[0, 1.15 * max(*tops, usd or 0.0)], tickprefix="$", separatethousands=True)
    figure.update_xaxes(dtick=1 if numbers[-1] <= 20 else None, range=[-0.7, numbers[-1] + 0.7], zeroline=False)
    if usd is not None:
        text = f"nothing rented, {amount(found.all_committed or 0, 'node')}: {money_year(usd)}"
        reference_line(figure, theme, y=usd, text=text)
    rows = [
        {"committed": nodes, **{kind: parts[nodes].get(kind, 0.0) for kind in kinds}, "cost of a year": cost.usd,
         "low": cost.low, "high": cost.high, "all targets": VERDICTS[found.check(nodes).verdict],
         "best": "yes" if nodes == found.best else ""} for nodes, cost in costs
    ]  # fmt: skip
    return Chart(figure, _alt_of_costs(found, costs), pd.DataFrame(rows))


def _add_totals(figure: go.Figure, found: Commitment, costs: list[tuple[int, Cost]], theme: Theme) -> None:
    with_ends = [(nodes, cost, cost.low, cost.high) for nodes, cost in costs]
    above = [0.0 if high is None else high - cost.usd for _, cost, _, high in with_ends]
    below = [0.0 if low is None else cost.usd - low for _, cost, low, _ in with_ends]
    error = {"error_y": bars(above, below, thickness=1.4, width=4)} if any(above) or any(below) else {}
    figure.add_scatter(
        x=[nodes for nodes, _ in costs], y=[cost.usd for _, cost in costs], mode="markers", showlegend=bool(error),
        name="95% interval", marker={"size": 4, "color": theme.ink},
        customdata=[[_hover(found, nodes, cost)] for nodes, cost in costs],
        hovertemplate="%{customdata[0]}<extra></extra>", **error,
    )  # fmt: skip
    missing = [(nodes, cost.usd) for nodes, cost in costs if found.check(nodes).verdict != "meets"]
    top = max(cost.usd for _, cost in costs)
    if missing:
        figure.add_scatter(
            x=[nodes for nodes, _ in missing], y=[usd + 0.06 * top for _, usd in missing], mode="markers",
            name="misses the target", showlegend=True, hoverinfo="skip",
            marker={"symbol": "x", "size": 10, "color": theme.worse},
        )  # fmt: skip
    if found.best is not None:
        best = next(cost for nodes, cost in costs if nodes == found.best)
        figure.add_scatter(
            x=[found.best], y=[max(best.usd, best.high or 0.0) + 0.06 * top], mode="markers",
            name="cheapest mix" if rents_nothing(found) else "best", showlegend=True, hoverinfo="skip",
            marker={"symbol": "star", "size": 17, "color": theme.ink},
        )  # fmt: skip


def _hover(found: Commitment, nodes: int, cost: Cost) -> str:
    check = found.check(nodes)
    held = "" if found.rule.exact else f"<br>met {hits_words(check)}"
    return f"<b>{amount(nodes, 'node')} committed</b><br>{cost_words(cost)}<br>{VERDICTS[check.verdict]}{held}"


def _alt_of_costs(found: Commitment, costs: list[tuple[int, Cost]]) -> str:
    ends = ", ".join(f"{money_year(cost.usd)} with {nodes:,}" for nodes, cost in (costs[0], costs[-1]))
    best = next((cost for nodes, cost in costs if nodes == found.best), None)
    least = "" if best is None else f" Least of those that meet the target: {cost_words(best)} with {found.best:,}."
    return f"Cost of a year by committed nodes: {ends}.{least}"


def service_by_nodes(found: Commitment, metric: str, theme: Theme) -> Chart | None:
    """Return a target's metric by committed nodes with the target's line; None if no number has a value."""
    target = next(one for one in found.rule.targets if one.metric == metric)
    points = [
        (one.nodes, value, check.verdict)
        for one in found.tried
        for check in [found.check(one.nodes)]
        if (value := check.of(metric).value) is not None
    ]
    if not points:
        return None
    level, figure = Level(target, [value for _, value, _ in points]), go.Figure()
    figure.add_scatter(
        x=[nodes for nodes, _, _ in points], y=[level.at(value.value) for _, value, _ in points], mode="lines",
        line={"color": theme.muted, "width": 1.5, "dash": "dot"}, showlegend=False, hoverinfo="skip",
    )  # fmt: skip
    for verdict, symbol in SYMBOLS.items():
        some = [(nodes, value) for nodes, value, told in points if told == verdict]
        if some:
            colour = verdict_colour(verdict, theme)
            words = [f"{amount(nodes, 'node')}: {_told(target, value)}" for nodes, value in some]
            figure.add_scatter(
                x=[nodes for nodes, _ in some], y=[level.at(value.value) for _, value in some], mode="markers",
                name=LEGEND[verdict], showlegend=True, customdata=[[one] for one in words],
                hovertemplate="%{customdata[0]}<extra></extra>",
                marker={"symbol": symbol, "size": 10, "color": colour, "line": {"width": 2, "color": colour}},
                **level.bars([value for _, value in some]),
            )  # fmt: skip
    framed(figure, theme, title=f"{target.kpi.label} by committed nodes, {bars_words(found.rule)}",
           x=f"Committed nodes ({found.base.kind})", y=level.title, height=HEIGHT)  # fmt: skip
    level.finish(figure, theme)
    last = points[-1][0]
    figure.update_xaxes(dtick=1 if last <= 20 else None, range=[-0.7, last + 0.7], zeroline=False)
    rows = [
        {"committed": nodes, target.kpi.label: _told(target, value), "all targets": VERDICTS[verdict],
         f"{metric}, exact": value.value, "low": value.low, "high": value.high} for nodes, value, verdict in points
    ]  # fmt: skip
    said = " to ".join(f"{_told(target, value)} with {nodes:,}" for nodes, value, _ in (points[0], points[-1]))
    return Chart(figure, f"{target.kpi.label} by committed nodes: {said}.", pd.DataFrame(rows))


def hours_of_use(found: Commitment, theme: Theme) -> Chart | None:
    """Return the nodes in use over the hours of a year, the busiest first, with the break-even; None without use.

    Everything is rented. Where the curve crosses the break-even line stands the number of nodes that pay.
    """
    hours = [HOURS_PER_YEAR * used for used in use_shares(found)]
    if not hours:
        return None
    figure = go.Figure()
    x, y = [0.0], [len(hours)]
    for nodes in range(len(hours), 0, -1):  # down the steps: at least so many nodes are in use for so many hours
        x += [hours[nodes - 1], hours[nodes - 1]]
        y += [nodes, nodes - 1]
    figure.add_scatter(
        x=x, y=y, mode="lines", line={"color": theme.marks[BLUE], "width": 2, "shape": "linear"}, fill="tozeroy",
        fillpattern=area_hatch(0, theme.tint, theme.ink), name="in use, all rented", showlegend=False,
        hovertemplate="%{y} nodes or more for %{x:,.0f} h a year<extra></extra>",
    )  # fmt: skip
    framed(figure, theme, title=f"Nodes in use if all are rented, {over_words(found)}",
           x="Hours of a year with at least so many nodes in use", y="Nodes", height=HEIGHT)  # fmt: skip
    top = max(len(hours), found.best or 0, break_even_nodes(found))
    figure.update_xaxes(range=[0, 1.02 * HOURS_PER_YEAR], separatethousands=True, zeroline=False)
    figure.update_yaxes(range=[0, 1.12 * top])
    at, nodes = break_even_share(found), break_even_nodes(found)
    said = ""
    if at is not None and at < 1:
        text = f"break-even: {share(at)} of the hours, {amount(nodes, 'node')}"
        reference_line(figure, theme, x=at * HOURS_PER_YEAR, text=text, before=at > 1 / 2)
        said = f" {capital(text)}."
    if found.best is not None:
        reference_line(figure, theme, y=found.best, text=f"simulated: {plain(amount(found.best, 'node'))}")
        said += f" Simulated: {amount(found.best, 'node')}."
    rows = [{"nodes": place, "hours a year at or above": used} for place, used in enumerate(hours, 1)]
    most = f"{amount(len(hours), 'node')} at most, at least 1 for {hours[0]:,.0f} h"
    return Chart(figure, f"Nodes in use over the hours of a year: {most}.{said}", pd.DataFrame(rows))


def _told(target: Target, of: Estimate) -> str:
    return value_words(target.kpi.kind, of.value, of.low, of.high)
