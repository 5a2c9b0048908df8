"""Total costs of several runs side by side, in their parts, with the proven bound."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dlsched.figures.base import Chart, framed, hatched, named_rows, plain, reference_line, top_of
from dlsched.figures.palette import Theme
from dlsched.metrics.savings import COST_PARTS, RunCost
from dlsched.wording.certainty import value_words
from dlsched.wording.formats import cut, money


def cost_split(costs: Sequence[RunCost], theme: Theme) -> Chart:
    """Return a bar per run: machines and lateness add up to the total; whiskers are its 95% interval over futures.

    The dashed line is the proven bound: no policy gets below it.
    """
    figure = go.Figure()
    looks = {
        "vm_cost": hatched(theme.marks[0], "", theme.ground),
        "tardiness_cost": hatched(theme.late, "/", theme.ink),
        "rejection_cost": hatched(theme.other, "x", theme.ground),
    }
    rows = np.arange(len(costs))
    for key, word in COST_PARTS.items():
        values = np.array([cost.parts.get(key, 0.0) for cost in costs])
        if not values.any():
            continue
        figure.add_bar(
            x=values,
            y=rows,
            orientation="h",
            width=0.62,
            name=word,
            showlegend=True,
            marker=looks[key],
            customdata=[[plain(cost.name), money(value)] for cost, value in zip(costs, values, strict=True)],
            hovertemplate=f"<b>%{{customdata[0]}}</b><br>{word} %{{customdata[1]}}<extra></extra>",
        )
    totals = np.array([cost.total.value for cost in costs])
    less, more = np.array([cost.total.bars for cost in costs]).T
    has_whiskers = bool(less.any() or more.any())
    labels = [value_words("usd", cost.total.value, cost.total.low, cost.total.high) for cost in costs]
    figure.add_scatter(
        x=totals,
        y=rows,
        mode="markers" if has_whiskers else "markers+text",
        marker={"symbol": "line-ns", "size": 1, "color": theme.ink},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": more,
            "arrayminus": less,
            "color": theme.ink,
            "thickness": 2,
            "width": 5,
            "visible": has_whiskers,
        },
        showlegend=False,
        text=[f" {label}" for label in labels],
        textposition="middle right",
        textfont={"color": theme.ink},
        cliponaxis=False,
        hoverinfo="skip",
    )
    if has_whiskers:  # beside the whisker, not on it
        for row, label in enumerate(labels):
            figure.add_annotation(
                x=totals[row] + more[row], y=row, text=f" {label}", showarrow=False, xanchor="left", font_size=13
            )
    first = min(costs, key=lambda cost: cost.total.value)
    last = max(costs, key=lambda cost: cost.total.value)
    finding = f"{plain(first.name, 30)} {money(first.total.value)}"
    if last is not first:
        finding += f" to {plain(last.name, 30)} {money(last.total.value)}"
    height = int(np.clip(140 + 34 * len(costs), 210, 420))
    framed(figure, theme, title=f"Total cost: {finding}", x="Cost ($)", y="Run", height=height)
    named_rows(figure, [plain(cost.name, 24) for cost in costs])
    figure.update_yaxes(range=[len(costs) - 0.4, -1.0])
    figure.update_xaxes(range=top_of(totals + more, room=0.25))
    figure.update_layout(barmode="stack", legend_traceorder="normal")
    bounds = [cost.bound for cost in costs if cost.bound is not None]
    least = ""
    if bounds:
        reference_line(figure, theme, x=min(bounds), text=f"lower bound {money(min(bounds))}")
        least = f"; no policy can do it for less than {money(min(bounds))}"
    words = ", ".join(f"{cut(cost.name)} {label}" for cost, label in zip(costs, labels, strict=True))
    table = pd.DataFrame(
        {
            "run": [cost.name for cost in costs],
            **{f"{word}, $": [cost.parts.get(key, 0.0) for cost in costs] for key, word in COST_PARTS.items()},
            "total, $": totals,
            "low, $": [np.nan if cost.total.low is None else cost.total.low for cost in costs],
            "high, $": [np.nan if cost.total.high is None else cost.total.high for cost in costs],
            "lower bound, $": [np.nan if cost.bound is None else cost.bound for cost in costs],
            "futures": [cost.total.n for cost in costs],
        }
    )
    return Chart(figure, f"Total cost: {words}{least}.", table)
