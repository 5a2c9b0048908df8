"""Charts of one run: GPUs allocated and queue, money, tardiness and utility over time, where the money went."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dlsched.figures.base import Chart, TimeAxis, column, end_labels, framed, named_rows, plain, top_of, with_dates
from dlsched.figures.palette import TEAL, Theme
from dlsched.metrics.step_functions import thin
from dlsched.wording.clock import DAYS, Clock
from dlsched.wording.formats import amount, cut, duration, money, number, share

MOST_POINTS = 600
MOST_GROUPS = 10
CUMULATED = {
    "cost_usd": ("Machine cost so far ($)", "Machine cost"),
    "tardiness_usd": ("Cost of lateness so far ($)", "Cost of lateness"),
    "utility": ("Utility so far (no unit)", "Utility"),
}


def held_and_queue(
    series: pd.DataFrame,
    theme: Theme,
    held_share: float | None = None,
    *,
    rented: bool = False,
    clock: Clock = DAYS,
) -> Chart:
    """Return GPUs allocated against those available, and below it the jobs waiting.

    ``series`` as metrics.tables.series_of.

    ``held_share``: the run's allocation ratio; without it, it is estimated from the thinned series. ``rented``: what is
    there is what the policy rents, so the line moves.
    """
    capacity, what = ("GPUs rented", "rented GPU time") if rented else ("GPUs available", "GPU time")
    time_s, held, there, waiting = (column(series, name) for name in ("time_s", "gpus_held", "gpus_up", "waiting"))
    axis = TimeAxis.over(float(time_s[0]), float(time_s[-1]), clock)
    keep = thin(time_s, [held, there, waiting], MOST_POINTS)
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.09, row_heights=[0.58, 0.42])
    lines = (
        ("GPUs allocated", held, {"color": theme.marks[0], "width": 1}, "tozeroy", 1),
        (capacity, there, {"color": theme.ink, "width": 1.5, "dash": "dash"}, None, 1),
        ("jobs waiting", waiting, {"color": theme.marks[TEAL], "width": 1.5}, None, 2),
    )
    for name, values, line, fill, row in lines:
        figure.add_scatter(
            x=axis.at(time_s[keep]),
            y=values[keep],
            mode="lines",
            line={**line, "shape": "hv"},
            fill=fill,
            name=name,
            row=row,
            col=1,
            hovertemplate="%{y:,.0f} " + name + "<extra></extra>",
        )
    step = np.diff(time_s, append=time_s[-1])
    up = float((there * step).sum())
    estimate = float((held * step).sum()) / up if up else 0.0
    used = estimate if held_share is None else held_share
    worst = int(np.argmax(waiting))
    queue = f"{amount(int(waiting[worst]), 'job')} waiting at {clock.moment(float(time_s[worst]))}"
    framed(figure, theme, title=f"{share(used)} of the {what} allocated; at most {queue}", x="", y="", height=380)
    figure.update_xaxes(title_text=axis.title, row=2, col=1)
    figure.update_xaxes(**axis.look)
    figure.update_yaxes(title_text="GPUs", row=1, col=1, range=top_of(np.concatenate([held, there])))
    figure.update_yaxes(title_text="Jobs waiting", row=2, col=1, range=top_of(waiting))
    figure.update_layout(hovermode="x")
    table = pd.DataFrame({"time, s": time_s, "GPUs allocated": held, capacity: there, "jobs waiting": waiting})
    table = with_dates(table, clock, {"time, s": "time"})
    if rented:
        words = (
            f"{share(used)} of the rented GPU time is allocated; at most {amount(int(there.max()), 'GPU')} are rented"
        )
        return Chart(figure, f"{words}; at most {queue}.", table)
    return Chart(figure, f"{share(used)} of the available GPU time is allocated; at most {queue}.", table)


def over_time(series: pd.DataFrame, quantity: str, theme: Theme, clock: Clock = DAYS) -> Chart:
    """Return one cumulated quantity over time: cost_usd, tardiness_usd or utility; ``series`` as above."""
    y_title, name = CUMULATED[quantity]
    time_s, values = column(series, "time_s"), column(series, quantity)
    axis = TimeAxis.over(float(time_s[0]), float(time_s[-1]), clock)
    keep = thin(time_s, [np.nan_to_num(values)], MOST_POINTS)
    figure = go.Figure()
    figure.add_scatter(
        x=axis.at(time_s[keep]),
        y=values[keep],
        mode="lines",
        line={"color": theme.marks[0], "width": 2},
        name=name,
        hovertemplate="%{y:,.2f} at " + axis.hover + "<extra></extra>",
    )
    last = float(values[-1])
    total = money(last) if quantity.endswith("usd") else number(last)
    framed(figure, theme, title=f"{name}: {total} at the end", x=axis, y=y_title, height=280)
    figure.update_yaxes(range=top_of(values))
    length = duration(float(time_s[-1] - time_s[0]))
    table = with_dates(pd.DataFrame({"time, s": time_s, y_title: values}), clock, {"time, s": "time"})
    return Chart(figure, f"{name} grows to {total} in {length}.", table)


WASTED, SPARE = ("Restarts and lost work", "Paid but idle"), "Spare "
LATE = ("Lateness", "Rejections")
"""Parts of the cost by name: what was paid for and not used, and what is weighed in $ but never paid."""


def _look(label: str, theme: Theme) -> tuple[str, str]:
    """Return colour and hatching of a part of the bill: useful work plain, waste hatched and weak."""
    return (theme.tint, ".") if label in WASTED or label.startswith(SPARE) else (theme.marks[0], "")


def cost_waterfall(parts: Mapping[str, float], theme: Theme) -> Chart:
    """Return what the bill is made of, step by step, and apart from it what is weighed in $ but not paid.

    ``parts`` label -> dollars in drawing order; those of :data:`LATE` are no bill.
    """
    bill = {label: value for label, value in parts.items() if label not in LATE}
    weighed = {f"{label} (not paid)": value for label, value in parts.items() if label in LATE}
    paid = float(sum(bill.values()))
    labels, values = [*bill, "Machine cost", *weighed], np.array([*bill.values(), paid, *weighed.values()])
    ends = np.cumsum([*bill.values()])
    base = [*(ends - [*bill.values()]), 0.0, *(0.0 for _ in weighed)]
    looks = [*(_look(label, theme) for label in bill), (theme.other, ""), *((theme.late, "/") for _ in weighed)]
    figure = go.Figure()
    figure.add_bar(
        x=[plain(label, 40) for label in labels],
        y=values,
        base=base,
        marker={
            "color": [look[0] for look in looks],
            "pattern": {
                "shape": [look[1] for look in looks],
                "fillmode": "overlay",
                "fgcolor": theme.ink,
                "fgopacity": 0.5,
                "size": 8,
                "solidity": 0.15,
            },
        },
        showlegend=False,
        hovertemplate="%{x}: %{text}<extra></extra>",
        **end_labels([money(value) for value in values], theme),
    )
    for place, end in enumerate(ends):  # from bar to bar
        line = {"color": theme.muted, "width": 1}
        figure.add_shape(type="line", x0=place, x1=place + 1, y0=float(end), y1=float(end), line=line, layer="below")
    if weighed:
        edge = {"color": theme.grid, "width": 2, "dash": "dot"}
        figure.add_vline(x=len(bill) + 0.5, line=edge)
    late = f"; lateness weighs {money(sum(weighed.values()))}, which is not paid" if weighed else ""
    framed(
        figure,
        theme,
        title=f"Machine cost {money(paid)}, by what it paid for{late}",
        x="Part of the total",
        y="Cost ($)",
        height=320,
    )
    figure.update_xaxes(type="category", showgrid=False)
    figure.update_yaxes(range=top_of(np.array([paid, *values]), room=0.18))
    most = max(bill, key=lambda label: bill[label], default="")
    largest = f"; the largest part is {cut(most).lower()} with {money(bill[most])}" if most else ""
    table = pd.DataFrame(
        {"part": labels, "cost, $": values, "paid": [*(True for _ in bill), True, *(False for _ in weighed)]}
    )
    return Chart(figure, f"Machines cost {money(paid)}{largest}{late}.", table)


def group_bars(groups: pd.Series, theme: Theme, *, title: str, x: str, y: str, unit: str = "") -> Chart:
    """Return horizontal bars, largest first, at most ten; ``groups`` label -> value, ``unit`` "$" or a word."""
    ordered = groups.sort_values(ascending=False, kind="stable")
    values = np.asarray(ordered, dtype=float)[:MOST_GROUPS]
    names = [str(name) or "(none)" for name in ordered.index[:MOST_GROUPS]]
    labels = [plain(name, 20) for name in names]
    labels_at_ends = [money(value) if unit == "$" else f"{number(value)} {unit}".strip() for value in values]
    figure = go.Figure(
        go.Bar(
            x=values,
            y=np.arange(len(values)),
            orientation="h",
            marker={"color": theme.marks[0]},
            customdata=np.column_stack([labels, labels_at_ends]) if labels else None,
            hovertemplate="%{customdata[0]}: %{customdata[1]}<extra></extra>",
            **end_labels(labels_at_ends, theme),
        )
    )
    height = int(np.clip(100 + 24 * len(values), 160, 340))
    framed(figure, theme, title=title, x=x, y=y, height=height)
    named_rows(figure, labels)
    figure.update_xaxes(range=top_of(values, room=0.12))
    rest = len(groups) - len(values)
    more = f"; {amount(rest, 'more group')} in the table" if rest else ""
    largest = f"the largest is {cut(names[0])} with {labels_at_ends[0]}" if names else "0 groups"
    table = pd.DataFrame({y: list(ordered.index), x: np.asarray(ordered, dtype=float)})
    return Chart(figure, f"{title}: {largest}{more}.", table)
