"""Charts of a run with quotas: quota over time, waits by cause, who was stopped for whom, shares over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dlsched.figures.base import (
    TIME_UNITS,
    Chart,
    Floats,
    TimeAxis,
    area_hatch,
    framed,
    hatched,
    named_rows,
    plain,
    top_of,
)
from dlsched.figures.palette import BLUE, BRICK, DASHES, OLIVE, ORANGE, PINK, SKY, TEAL, UMBER, Theme, colours
from dlsched.studies.inspect.queues.answer import CAUSE_WORDS, Band, Cause, Queues
from dlsched.studies.inspect.queues.states import NO_LENDER
from dlsched.studies.inspect.queues.words import fairness_words, stopped_words, unit_of
from dlsched.wording.clock import DAYS, Clock
from dlsched.wording.formats import amount, capital, count, duration, number, share

BAND_PX, WAIT_PX, AROUND_PX = 120, 46, 110
ROW_PX = 34
MOST_NAMED = 18
SHAPES: dict[Cause, str] = {"lent": "/", "quota": "", "strict": "x", "leaving": ".", "nodes": "\\", "other": "-"}
PLACES: dict[Cause, int] = {"lent": 0, "quota": 1, "strict": 4, "leaving": 2, "nodes": 3, "other": 5}
"""Hatching and mark of each cause of waiting, so that neighbours differ without colour."""
LENDERS = ((TEAL, "/"), (OLIVE, "\\"), (BRICK, "x"), (SKY, "+"), (UMBER, "-"))
"""Mark and hatching of the cohorts that lend, in the order of their names; more of them look alike."""


class _Lender(NamedTuple):
    """How what is borrowed from a cohort is drawn, and the band whose trace stands in the legend."""

    label: str
    colour: str
    shape: str
    first: Band


def quota_chart(answer: Queues, queues: Sequence[str], theme: Theme, clock: Clock = DAYS, flavor: str = "") -> Chart:
    """Return a band for each of these queues: use up to the quota, borrowed above it, lent below 0, waiting on top.

    ``flavor``: of one kind of node only; then nothing is said of waiting jobs, which may take any.
    """
    bands = [band for name in queues for band in answer.bands if (band.queue, band.flavor) == (name, flavor)]
    unit = unit_of(answer)
    if not bands:
        nothing = framed(go.Figure(), theme, title="No queue chosen", x="", y="")
        return Chart(nothing, "No queue is chosen.", pd.DataFrame())
    axis, lenders = TimeAxis.over(answer.start_s, answer.end_s, clock), _lenders(answer, bands, theme)
    with_waits = not flavor
    rows = [row for band in bands for row in ([("waiting", band)] if with_waits else []) + [("quota", band)]]
    heights = [WAIT_PX if kind == "waiting" else BAND_PX for kind, _ in rows]
    figure = make_subplots(
        rows=len(rows), cols=1, shared_xaxes=True, row_heights=heights, vertical_spacing=min(0.02, 0.5 / len(rows))
    )
    for place, (kind, band) in enumerate(rows, 1):
        first = place <= 1 + with_waits
        if kind == "waiting":
            _waiting(figure, band, axis, theme, place, unit.many, first=first)
        else:
            _quota(figure, band, axis, theme, place, unit.many, lenders, first=first)
    title = f"{capital(unit.many)} by queue: used, borrowed and lent" + (f" on {plain(flavor)}" if flavor else "")
    framed(figure, theme, title=title, x=axis, y="", height=AROUND_PX + sum(heights))
    figure.update_xaxes(title={"text": ""}, showticklabels=False)
    figure.update_xaxes(title={"text": axis.title}, showticklabels=True, row=len(rows), col=1)
    for place, (kind, band) in enumerate(rows, 1):
        figure.update_yaxes(nticks=3 if kind == "quota" else 2, zeroline=kind == "quota", row=place, col=1)
        if kind == "waiting":
            ends = top_of(np.array(band.waiting), room=0.3)
            figure.update_yaxes(range=ends, showgrid=False, row=place, col=1)
        else:
            top = max(*band.nominal, *band.used, 1.0)
            ends = [-1.15 * max(band.lent) - 0.03 * top, 1.12 * top]
            most, quota = max(band.used), max(band.nominal)
            marks = [0.0, quota, *([most] if most > 1.25 * quota else [])]
            figure.update_yaxes(range=ends, tickvals=marks, row=place, col=1)
        if kind == "waiting" or not with_waits:
            figure.add_annotation(
                text=f"<b>{plain(band.queue)}</b>", x=0, xref="paper", xanchor="left", xshift=6, y=ends[1],
                yref=f"y{place if place > 1 else ''}", yanchor="top", showarrow=False, bgcolor=theme.ground,
                opacity=0.9, font={"size": 13, "color": theme.ink},
            )  # fmt: skip
    told = "; ".join(
        f"{band.queue}: quota {count(max(band.nominal))}, used at most {number(max(band.used))}, lent at most "
        f"{number(max(band.lent))} {unit.many}"
        for band in bands
    )
    return Chart(figure, f"{told}.", _quota_table(bands, axis, unit.one, lenders))


def _lenders(answer: Queues, bands: Sequence[Band], theme: Theme) -> dict[str, _Lender]:
    """Return how the cohorts are drawn that lend to these bands; one has the same look in all charts of a run."""
    all_names = sorted({name for band in answer.bands for name in band.lenders} - {NO_LENDER})
    looks = {name: (theme.marks[mark], shape) for name, (mark, shape) in zip(all_names, LENDERS, strict=False)}
    looks[NO_LENDER] = theme.marks[ORANGE], "."
    found = {}
    for name in dict.fromkeys(name for band in bands for name in band.lenders):
        colour, shape = looks.get(name, (theme.other, ""))
        label = "used above all quotas" if name == NO_LENDER else f"borrowed from {plain(name)}"
        found[name] = _Lender(label, colour, shape, next(band for band in bands if name in band.lenders))
    return found


def _quota(
    figure: go.Figure, band: Band, axis: TimeAxis, theme: Theme, row: int, unit: str, lenders: Mapping[str, _Lender],
    *, first: bool,
) -> None:  # fmt: skip
    x, used, borrowed, lent = axis.at(band.time_s), np.array(band.used), np.array(band.borrowed), np.array(band.lent)
    own, nominal = used - borrowed, np.array(band.nominal)
    running = band.running_jobs or (0.0,) * len(used)
    waits = band.waiting_jobs or (0.0,) * len(used)
    told = np.array(
        [
            f"{plain(band.queue)}: {number(u)} of {number(q)} {unit} used"
            + "".join(f", {number(of[k])} {lenders[name].label}" for name, of in band.lenders.items() if of[k])
            + (f", {number(gone)} lent" if gone else "")
            + (f"<br>{amount(int(r), 'job')} running, {amount(int(w), 'job')} waiting" if band.running_jobs else "")
            for k, (u, q, gone, r, w) in enumerate(zip(used, nominal, lent, running, waits, strict=True))
        ],
        dtype=object,
    )  # fmt: skip
    line = {"width": 0.5, "shape": "hv"}
    figure.add_scatter(
        x=x, y=own, mode="lines", line={**line, "color": theme.marks[BLUE]}, fill="tozeroy",
        fillcolor=theme.marks[BLUE], name="used within quota", legendgroup="own", showlegend=first, hoverinfo="skip",
        row=row, col=1,
    )  # fmt: skip
    top = own
    for name, part in band.lenders.items():
        label, colour, shape, first_band = lenders[name]
        top = top + np.array(part)
        figure.add_scatter(
            x=x, y=top, mode="lines", line={**line, "color": colour}, fill="tonexty",
            fillpattern=area_hatch(1, colour, theme.ground) | {"shape": shape}, name=label, legendgroup=label,
            showlegend=first_band is band, hoverinfo="skip", row=row, col=1,
        )  # fmt: skip
    figure.add_scatter(
        x=x, y=used, mode="lines", line={**line, "width": 0}, name="used", showlegend=False, customdata=told,
        hovertemplate="%{customdata}<br>from " + axis.hover + "<extra></extra>", row=row, col=1,
    )  # fmt: skip
    figure.add_scatter(
        x=x, y=-lent, mode="lines", line={**line, "color": theme.marks[PINK]}, fill="tozeroy",
        fillpattern=area_hatch(3, theme.marks[PINK], theme.ground), name="lent to others (below 0)",
        legendgroup="lent", showlegend=first, hoverinfo="skip", row=row, col=1,
    )  # fmt: skip
    figure.add_scatter(
        x=x, y=nominal, mode="lines", line={"width": 2, "shape": "hv", "color": theme.ink}, name="nominal quota",
        legendgroup="nominal", showlegend=first, hoverinfo="skip", row=row, col=1,
    )  # fmt: skip


def _waiting(figure: go.Figure, band: Band, axis: TimeAxis, theme: Theme, row: int, unit: str, *, first: bool) -> None:
    figure.add_scatter(
        x=axis.at(band.time_s), y=band.waiting, mode="lines", name=f"{unit} that waiting jobs request",
        line={"width": 1.5, "shape": "hv", "color": theme.ink, "dash": "dot"}, legendgroup="waiting", showlegend=first,
        customdata=band.waiting_jobs, row=row, col=1,
        hovertemplate=f"{plain(band.queue)}: %{{customdata:,}} jobs wait for %{{y:,.3~f}} {unit}<br>from {axis.hover}"
        "<extra></extra>",
    )  # fmt: skip


def _quota_table(bands: Sequence[Band], axis: TimeAxis, unit: str, lenders: Mapping[str, _Lender]) -> pd.DataFrame:
    names = ("nominal", "used", "borrowed", "lent", "waiting")
    parts = [
        pd.DataFrame({axis.column: axis.at(band.time_s), "queue": band.queue}
                     | {f"{name} ({unit}s)": getattr(band, name) for name in names if getattr(band, name)}
                     | {f"{lenders[name].label} ({unit}s)": amount for name, amount in band.lenders.items()})
        for band in bands
    ]  # fmt: skip
    return pd.concat(parts, ignore_index=True)


def waits_chart(answer: Queues, theme: Theme) -> Chart:
    """Return the mean wait of each queue split by cause, with its p95 wait as a mark, the longest p95 first."""
    rows = sorted((one for one in answer.queues if one.jobs), key=lambda one: -(one.wait_p95_s or 0.0))[:MOST_NAMED]
    names, y = [plain(one.queue, 24) for one in rows], np.arange(len(rows))
    longest_s = max((one.wait_p95_s or 0.0 for one in rows), default=0.0)
    unit_s, unit = next((size, name) for least, size, name in TIME_UNITS if longest_s >= least)
    figure = go.Figure()
    seen = [cause for cause in CAUSE_WORDS if any(one.waited_s.get(cause) for one in rows)]
    for cause in seen:
        mean_s = np.array([one.waited_s.get(cause, 0.0) / one.jobs for one in rows])
        told = [
            f"{name}: {duration(seconds)} of the mean wait ({share(one.cause_share(cause))})"
            for name, seconds, one in zip(names, mean_s.tolist(), rows, strict=True)
        ]
        figure.add_bar(
            x=mean_s / unit_s, y=y, orientation="h", name=CAUSE_WORDS[cause], customdata=told,
            marker=hatched(theme.marks[PLACES[cause]], SHAPES[cause], theme.ink),
            hovertemplate="%{customdata}, " + CAUSE_WORDS[cause] + "<extra></extra>",
        )  # fmt: skip
    p95 = np.array([np.nan if one.wait_p95_s is None else one.wait_p95_s for one in rows])
    figure.add_scatter(
        x=p95 / unit_s, y=y, mode="markers", name="p95 wait", cliponaxis=False,
        marker={"symbol": "diamond-open", "size": 12, "color": theme.ink, "line": {"width": 2}},
        customdata=[duration(value) for value in p95.tolist()], hovertemplate="p95 wait %{customdata}<extra></extra>",
    )  # fmt: skip
    framed(figure, theme, title="Mean wait by cause, and p95 wait", x=f"Wait ({unit})", y="",
           height=AROUND_PX + ROW_PX * max(len(rows), 2))  # fmt: skip
    figure.update_layout(barmode="stack", legend_traceorder="normal")
    named_rows(figure, names)
    figure.update_xaxes(rangemode="tozero")
    said = "; ".join(
        f"{one.queue}: p95 {duration(one.wait_p95_s)}, mean {duration(sum(one.waited_s.values()) / one.jobs)}"
        for one in rows
    )
    table = pd.DataFrame(
        [{"queue": one.queue, "jobs": one.jobs, "p95 wait (s)": one.wait_p95_s}
         | {f"mean wait, {CAUSE_WORDS[cause]} (s)": one.waited_s.get(cause, 0.0) / one.jobs for cause in CAUSE_WORDS}
         for one in rows]
    )  # fmt: skip
    return Chart(figure, f"{said}." if said else "No queue has jobs.", table)


def stopped_chart(answer: Queues, theme: Theme, *, by_lost: bool = False) -> Chart | None:
    """Return queue by queue how many jobs were stopped (``by_lost``: work lost) for which queue; None without any."""
    if not answer.stopped_for:
        return None
    total: dict[str, float] = {}
    values = {(one.queue, one.for_queue): one.lost_h if by_lost else float(one.jobs) for one in answer.stopped_for}
    for pair, value in values.items():
        for name in pair:
            total[name] = total.get(name, 0.0) + value
    names = sorted(total, key=lambda name: (-total[name], name))[:MOST_NAMED]
    grid: Floats = np.array([[values.get((victim, taker), 0.0) for taker in names] for victim in names])
    unit = f"{unit_of(answer).one}-h lost" if by_lost else "jobs stopped"
    shown = [plain(name, 20) for name in names]
    largest = float(grid.max())
    figure = go.Figure()
    figure.add_heatmap(
        z=np.where(grid > 0, grid, np.nan), x=np.arange(len(names)), y=np.arange(len(names)), showscale=False,
        colorscale=[[0.0, theme.tint], [1.0, theme.marks[BLUE]]], zmin=0.0, zmax=largest, xgap=2, ygap=2,
        customdata=[
            [f"{unit}: {number(v)}, of {a} for {'its own' if a == b else b}" for v, b in zip(line, shown, strict=True)]
            for line, a in zip(grid.tolist(), shown, strict=True)
        ],
        hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip
    for i, line in enumerate(grid.tolist()):
        for j, value in enumerate(line):
            if value > 0:
                figure.add_annotation(
                    x=j, y=i, text=number(value), showarrow=False, bgcolor=theme.ground, opacity=0.95, borderpad=2,
                    font={"size": 13, "color": theme.ink},
                )  # fmt: skip
    framed(figure, theme, title=f"{capital(unit)}: row = queue of the stopped job, column = queue it was stopped for",
           x="Stopped for a job of", y="", height=AROUND_PX + 46 * max(len(names), 2))  # fmt: skip
    ticks = {"tickvals": list(range(len(names))), "ticktext": shown, "showgrid": False, "zeroline": False}
    figure.update_xaxes(**ticks, range=[-0.6, len(names) - 0.4])
    figure.update_yaxes(**ticks, range=[len(names) - 0.4, -0.6])
    table = pd.DataFrame(
        [{"queue of the stopped job": one.queue, "stopped for": one.for_queue, "jobs": one.jobs,
          f"lost ({unit_of(answer).one}-h)": one.lost_h} for one in answer.stopped_for]
    )  # fmt: skip
    return Chart(figure, stopped_words(answer), table)


def shares_chart(answer: Queues, queues: Sequence[str], theme: Theme, clock: Clock = DAYS) -> Chart:
    """Return the dominant resource share of these queues over time, over their weights."""
    bands = [band for name in queues for band in answer.bands if (band.queue, band.flavor) == (name, "")]
    axis = TimeAxis.over(answer.start_s, answer.end_s, clock)
    named = colours([band.queue for band in answer.bands], theme)
    figure = go.Figure()
    for place, band in enumerate(bands):
        figure.add_scatter(
            x=axis.at(band.time_s), y=100 * np.array(band.share), mode="lines", name=plain(band.queue, 24),
            line={"width": 2, "shape": "hv", "color": named[band.queue], "dash": DASHES[place % len(DASHES)]},
            hovertemplate=f"{plain(band.queue)}: %{{y:.3~f}}% from {axis.hover}<extra></extra>",
        )  # fmt: skip
    framed(figure, theme, title="Borrowed share of what could be borrowed, over weight", x=axis, y="Share (%)")
    figure.update_yaxes(range=top_of(100 * np.array([max(band.share, default=0.0) for band in bands]), least=1.0))
    parts = [
        pd.DataFrame({axis.column: axis.at(band.time_s), "queue": band.queue, "share": band.share}) for band in bands
    ]
    table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    return Chart(figure, fairness_words(answer), table)
