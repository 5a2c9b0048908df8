"""Charts of rented machines: what is paid per hour over time, the bill by type, the cost of lateness by job."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dlsched.domain.units import HOUR_S
from dlsched.figures.base import Chart, TimeAxis, column, end_labels, framed, hatched, named_rows, plain, top_of
from dlsched.figures.lines import add_area
from dlsched.figures.palette import Theme
from dlsched.figures.raster import bins_for, group_use
from dlsched.wording.clock import DAYS, Clock
from dlsched.wording.counted import GPUS, Counted
from dlsched.wording.formats import amount, cut, duration, money, number, share

AREA_BINS = 400
MOST_TYPES = 12
MOST_JOBS = 15
LETTER_PX, NARROW_PX, MOST_TAKEN = 7.5, 460, 0.75
"""Width of a letter, of the plot of a chart in half a page, and the share of it that labels may take."""
SHADES = ("", "/", ".", "x", "\\", "-", "|", "+")


def rent_over_time(
    stays: pd.DataFrame,
    theme: Theme,
    from_s: float,
    to_s: float,
    *,
    by: str,
    groups: Sequence[str],
    clock: Clock = DAYS,
) -> Chart:
    """Return the price of what is rented over time, $/h, stacked by machine.

    ``stays`` as metrics.tables.nodes_of with the column ``by``; ``groups`` are named in the order of their colours,
    others are one area.
    """
    axis = TimeAxis.over(from_s, to_s, clock)
    bins = bins_for(axis.from_s, axis.to_s, AREA_BINS)
    usd = group_use(stays.assign(gpus=column(stays, "usd_per_h")), by, groups, axis.from_s, axis.to_s, bins)
    x = axis.at(np.linspace(axis.from_s, axis.to_s, bins + 1))
    figure = go.Figure()
    names = [*groups, "other"]
    for place, name in enumerate(names):
        if not usd[place].any():
            continue
        tint = theme.marks[place] if place < min(len(groups), len(theme.marks)) else theme.other
        steps = np.round(np.append(usd[place], usd[place, -1]), 4)
        add_area(figure, theme, x, steps, name, place, tint, "$%{y:.2f}/h")
    total = usd.sum(axis=0)
    mean, most = float(total.mean()), float(total.max(initial=0.0))
    finding = f"{money(mean)}/h on average, at most {money(most)}/h"
    framed(figure, theme, title=f"What is rented: {finding}", x=axis, y="Price ($/h)", height=300)
    figure.update_yaxes(range=top_of(total))
    figure.update_layout(hovermode="x unified")
    table = pd.DataFrame({axis.column: x[:-1]} | {f"$/h, {n}": np.round(u, 4) for n, u in zip(names, usd, strict=True)})
    return Chart(figure, f"Rented machines cost {finding}.", table)


def bill_bars(machines: pd.DataFrame, theme: Theme, gpu_types: Sequence[str] = (), counted: Counted = GPUS) -> Chart:
    """Return the bill by machine type with its GPU-hours; ``machines`` as metrics.tables.bill_by_machine.

    The colour is the GPU type, as on all pages: ``gpu_types`` are those of the cluster in the order of their colours.
    ``counted``: the resource whose hours they are.
    """
    dearest = machines.head(MOST_TYPES)
    cost = column(dearest, "cost")
    kinds = list(dict.fromkeys([*gpu_types, *sorted(set(machines["gpu_type"]))]))
    tints = {kind: theme.marks[i] if i < len(theme.marks) else theme.other for i, kind in enumerate(kinds)}
    hatches = {kind: SHADES[i % len(SHADES)] for i, kind in enumerate(kinds)}
    texts = [counted.say(_label(dearest.iloc[i])) for i in range(len(dearest))]
    figure = go.Figure()
    for kind in kinds:
        mine = np.flatnonzero((dearest["gpu_type"] == kind).to_numpy())
        if not len(mine):
            continue
        figure.add_bar(
            x=cost[mine],
            y=mine,
            orientation="h",
            width=0.8,
            name=plain(kind or "no GPU"),
            showlegend=len(set(machines["gpu_type"])) > 1,
            marker=hatched(tints[kind], hatches[kind], theme.ground),
            customdata=[[plain(dearest["vm_type"].iloc[i]), _hover(dearest.iloc[i], counted)] for i in mine],
            hovertemplate="<b>%{customdata[0]}</b><br>%{customdata[1]}<extra></extra>",
            **end_labels([texts[i] for i in mine], theme),
        )
    hours, held = float(machines["gpu_hours"].sum()), float(machines["gpu_hours_held"].sum())
    finding = f"{money(float(machines['cost'].sum()))} for {number(hours)} GPU-hours"
    framed(figure, theme, title=f"Machine cost by type: {finding}", x="Cost ($)", y="Machine type",
           height=int(np.clip(130 + 26 * len(dearest), 190, 420)))  # fmt: skip
    named_rows(figure, [f"{plain(name, 22)}" for name in dearest["vm_type"]])
    figure.update_layout(barmode="overlay")
    figure.update_xaxes(range=[0, _room_for(texts, float(np.nanmax(cost, initial=0.0)))])
    first = f"; most for {cut(dearest['vm_type'].iloc[0])} with {money(float(cost[0]))}" if len(dearest) else ""
    idle = f"; {number(max(hours - held, 0.0))} GPU-hours were paid for but not allocated" if hours else ""
    return Chart(figure, f"{finding}{first}{idle}.", _machine_table(machines))


def _room_for(labels: Sequence[str], largest: float) -> float:
    """Return where an axis from 0 ends so that labels beside the bars are not cut where charts are narrow."""
    taken = min(LETTER_PX * max((len(label) for label in labels), default=0) / NARROW_PX, MOST_TAKEN)
    return (largest or 1.0) / (1 - taken)


def _label(row: pd.Series) -> str:
    size = f"{number(row['gpu_hours'])} GPU-h" if row["gpus"] else f"{number(row['hours'])} h"
    return f"{money(row['cost'])}, {size}, opened {amount(int(row['stays']), 'time')}"


def _hover(row: pd.Series, counted: Counted) -> str:
    idle = f", {share(1 - row['gpu_hours_held'] / row['gpu_hours'])} of them not allocated" if row["gpu_hours"] else ""
    size = f"{row['gpus']:g} {plain(row['gpu_type'])}" if row["gpus"] else "no GPU"
    size = size if counted == GPUS else f"{row['gpus']:g} {counted.many}"
    return (
        f"{size}, opened {amount(int(row['stays']), 'time')} for {duration(HOUR_S * row['hours'])} in all<br>"
        f"{number(row['gpu_hours'])} {counted.one}-hours{idle}<br>{money(row['cost'])}"
    )


def _machine_table(machines: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "machine type": machines["vm_type"],
            "GPU type": machines["gpu_type"],
            "GPUs each": machines["gpus"],
            "times opened": machines["stays"],
            "hours": machines["hours"].round(3),
            "GPU-hours": machines["gpu_hours"].round(3),
            "GPU-hours allocated": machines["gpu_hours_held"].round(3),
            "GPU-hours not allocated": (machines["gpu_hours"] - machines["gpu_hours_held"]).clip(lower=0.0).round(3),
            "cost, $": machines["cost"],
        }
    )


def tardiness_bars(late: pd.DataFrame, theme: Theme) -> Chart:
    """Return what each late job costs, dearest first; ``late`` as metrics.tables.late_by_cost with a price.

    Without weights the bars are hours late.
    """
    weighed = bool(late["tardiness_usd"].notna().any())
    hours = column(late, "tardiness_s") / HOUR_S
    values = np.nan_to_num(column(late, "tardiness_usd")) if weighed else hours
    dearest = late.head(MOST_JOBS)
    top = values[: len(dearest)]

    def said(value: float) -> str:
        return money(value) if weighed else duration(HOUR_S * value)

    labels = [
        f"{said(v)}, {duration(HOUR_S * h)} late" if weighed else said(v) for v, h in zip(top, hours, strict=False)
    ]
    figure = go.Figure(
        go.Bar(
            x=top,
            base=np.zeros(len(dearest)),
            y=np.arange(len(dearest)),
            orientation="h",
            width=0.7,
            marker=hatched(theme.late, "/", theme.ink),
            customdata=[[job, plain(job)] for job in dearest["job_id"]],
            hovertemplate="<b>%{customdata[1]}</b><br>%{text}<extra></extra>",
            **end_labels(labels, theme),
        )
    )
    total = float(values.sum())
    part = ""
    if len(late) > len(dearest) and total:
        part = f", the first {len(dearest)} account for {share(float(top.sum()) / total)}"
    costs = "costs" if len(late) == 1 else "cost"
    finding = (
        f"{amount(len(late), 'late job')} {costs} {said(total)}" if weighed else f"{amount(len(late), 'late job')}"
    )
    title = f"{finding}{part}" if weighed else f"{finding}, {said(total)} in all{part}"
    framed(figure, theme, title=title, x="Cost of lateness ($)" if weighed else "Late by (h)", y="Job",
           height=int(np.clip(100 + 24 * len(dearest), 170, 460)))  # fmt: skip
    named_rows(figure, [plain(job, 18) for job in dearest["job_id"]])
    figure.update_xaxes(range=top_of(top, room=0.45))
    columns = {"job": late["job_id"], "late by, h": hours.round(4)}
    if weighed:
        usd_per_h = np.divide(values, hours, out=np.zeros(len(late)), where=hours > 0)
        columns |= {"weight, $/h": usd_per_h.round(4), "cost of lateness, $": values}
    worst = f"; the most expensive is {cut(dearest['job_id'].iloc[0])} with {said(float(top[0]))}" if weighed else (
        f"; the latest is {cut(dearest['job_id'].iloc[0])} with {said(float(top[0]))}")  # fmt: skip
    return Chart(figure, f"{title}{worst}.", pd.DataFrame(columns))
