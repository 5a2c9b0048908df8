"""Charts of a cluster before any run: what jobs ask of it, and what is there over time."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dlsched.domain.cluster import Cluster
from dlsched.domain.workload import GPU, Workload
from dlsched.figures.base import (
    CLEAR,
    Chart,
    Floats,
    TimeAxis,
    area_hatch,
    framed,
    legend_mark,
    reference_line,
    top_of,
)
from dlsched.figures.lines import add_area
from dlsched.figures.palette import Theme
from dlsched.wording.clock import DAYS, Clock
from dlsched.wording.formats import capital, count, number, share

HEIGHT = 270
CAUSES = {
    "arrives": "triangle-up",
    "leaves": "triangle-down",
    "maintenance": "square",
    "fails": "x",
}


def demand(
    jobs: Workload,
    capacity: float,
    theme: Theme,
    bins: int = 300,
    *,
    amounts: Floats | None = None,
    unit: str = "GPUs",
    clock: Clock = DAYS,
) -> Chart:
    """Return what would be busy if no job waited, against what the cluster has, while jobs arrive.

    ``amounts`` is what each job asks for in ``unit``, shape (jobs,); default: its GPUs. Of jobs that all come at once,
    until the last of them would be done.
    """
    held = jobs.gpus if amounts is None else amounts
    from_s, to_s = float(jobs.submit_s[0]), float(jobs.submit_s[-1])
    if to_s == from_s:
        to_s = float((jobs.submit_s + jobs.work).max())
    axis = TimeAxis.over(from_s, max(to_s, from_s + 1), clock)
    times = np.linspace(axis.from_s, axis.to_s, bins)
    wanted = _asked(jobs, held, times)
    x, level = axis.at(times), float(capacity)
    figure = go.Figure()
    figure.add_scatter(
        x=x,
        y=np.minimum(wanted, level),
        mode="lines",
        line={"color": theme.marks[0], "width": 1.5, "shape": "hv"},
        fill="tozeroy",
        fillcolor=theme.tint,
        name="within capacity",
        hoverinfo="skip",
    )
    edge = {"color": CLEAR, "width": 0}
    figure.add_scatter(x=x, y=np.full(bins, level), mode="lines", line=edge, showlegend=False, hoverinfo="skip")
    figure.add_scatter(
        x=x,
        y=np.maximum(wanted, level),
        mode="lines",
        line={"color": theme.worse, "width": 1, "shape": "hv"},
        fill="tonexty",
        fillpattern=area_hatch(1, theme.worse, theme.ground),
        name="beyond capacity",
        customdata=wanted,
        hovertemplate="%{customdata:,.0f} " + unit + " requested at " + axis.hover + "<extra></extra>",
    )
    over = share(float((wanted > level).mean()))
    title = f"Demand exceeds capacity {over} of the time"
    framed(figure, theme, title=title, x=axis, y=f"{capital(unit)} requested", height=HEIGHT)
    reference_line(figure, theme, y=level, text=f"{count(level)} {unit} in the cluster", limit=True)
    figure.update_yaxes(range=top_of(np.append(wanted, level), room=0.2))
    peak = number(float(wanted.max()))
    alt = f"Demand exceeds the {count(level)} {unit} {over} of the time; its peak is {peak} {unit}."
    return Chart(figure, alt, pd.DataFrame({axis.column: x, f"{unit} requested": wanted}))


def _asked(jobs: Workload, held: Floats, times: Floats) -> Floats:
    """Return what the jobs hold that run at each time when each starts on submission."""
    end = jobs.submit_s + jobs.work
    order = np.argsort(end, kind="stable")
    begun = np.concatenate([[0.0], np.cumsum(held)])[np.searchsorted(jobs.submit_s, times, side="right")]
    ended = np.concatenate([[0.0], np.cumsum(held[order])])[np.searchsorted(end[order], times, side="right")]
    asked: Floats = np.maximum(np.round(begun - ended, 6), 0.0)
    return asked


def capacity(cluster: Cluster, horizon_s: float, theme: Theme, clock: Clock = DAYS, counted: int = GPU) -> Chart:
    """Return the available GPUs over time, stacked by GPU type, with arrivals, failures and departures.

    ``counted``: index in RESOURCES of what is drawn; cores and memory are stacked by machine type.
    """
    axis = TimeAxis.over(0.0, horizon_s, clock)
    times, by_kind = _there(cluster, axis.to_s, counted)
    x = axis.at(times)
    figure = go.Figure()
    for place, (kind, gpus) in enumerate(by_kind.items()):
        hover = "%{y:,.0f} GPUs from " + axis.hover
        add_area(figure, theme, x, gpus, kind, place, theme.marks[place % len(theme.marks)], hover)
    total = np.sum(list(by_kind.values()), axis=0)
    _add_changes(figure, cluster, theme, axis, float(total.max()))
    least, most = count(float(total.min())), count(float(total.max()))
    between = f"{most} GPUs all the time" if least == most else f"{least} to {most} GPUs"
    framed(figure, theme, title=f"Capacity: {between}", x=axis, y="Available GPUs", height=HEIGHT)
    figure.update_yaxes(range=top_of(total, room=0.15))
    table = pd.DataFrame({axis.column: x} | {f"GPUs, {kind}": gpus for kind, gpus in by_kind.items()})
    return Chart(figure, f"{between[0].upper()}{between[1:]} are available in the cluster.", table)


def _there(cluster: Cluster, horizon_s: float, counted: int) -> tuple[Floats, dict[str, Floats]]:
    """Return the times at which something changes, and GPUs by type from each on; nodes without GPUs count nothing."""
    edges = {0.0, horizon_s}
    for absence in cluster.absences:
        edges |= {min(absence.start_s, horizon_s), min(absence.until_s, horizon_s)}
    times = np.array(sorted(edges))
    here = np.ones((cluster.num_nodes, len(times)), dtype=bool)
    for absence in cluster.absences:
        here[absence.node] &= ~((times >= absence.start_s) & (times < absence.until_s))
    nodes = cluster.nodes
    units = nodes.capacity[:, counted][:, None] * here
    name_of = np.array([vm.name for vm in cluster.vm_types], dtype=object)
    kind_of = nodes.gpu_type if counted == GPU else name_of[nodes.vm]
    kinds = sorted({str(kind) for kind in kind_of[nodes.capacity[:, counted] > 0]}) or [str(kind_of[0])]
    return times, {kind or "no type": units[kind_of == kind].sum(axis=0) for kind in kinds}


def _add_changes(figure: go.Figure, cluster: Cluster, theme: Theme, axis: TimeAxis, top: float) -> None:
    """Mark when nodes arrive, leave, fail or are maintained, above the area."""
    for cause, symbol in CAUSES.items():
        at = [(a.until_s if cause == "arrives" else a.start_s) for a in cluster.absences if a.cause == cause]
        seen = sorted({moment for moment in at if axis.from_s <= moment <= axis.to_s})
        if seen:
            mark = {"symbol": symbol, "size": 10, "color": theme.ink}
            legend_mark(figure, f"node {cause}" if cause != "maintenance" else cause, **mark)
            figure.add_scatter(
                x=axis.at(seen),
                y=np.full(len(seen), 1.06 * top),
                mode="markers",
                marker=mark,
                showlegend=False,
                hovertemplate=f"{cause} at {axis.hover}<extra></extra>",
            )
