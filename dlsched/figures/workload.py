"""Charts of a workload and of a cluster before any run."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dlsched.domain.cluster import Cluster
from dlsched.domain.workload import Workload
from dlsched.figures.base import Chart, TimeAxis, framed, plain, reference_line
from dlsched.figures.palette import Theme
from dlsched.metrics.formats import count, duration, number, share

HISTOGRAM_BINS = 40
MAX_HOURS = 2000
SMALL = 270


def arrivals(jobs: Workload, theme: Theme) -> Chart:
    """Return jobs submitted per hour (per day or longer where the trace is long)."""
    hours = max(1, int(np.ceil((jobs.submit_s[-1] - jobs.submit_s[0]) / 3600 + 1e-9)))
    bin_h = max(1, -(-hours // MAX_HOURS))
    place = ((jobs.submit_s - jobs.submit_s[0]) // (3600 * bin_h)).astype(int)
    per_bin = np.bincount(place) / bin_h
    axis = TimeAxis.over(float(jobs.submit_s[0]), float(jobs.submit_s[0]) + len(per_bin) * 3600.0 * bin_h)
    middle = (jobs.submit_s[0] + (np.arange(len(per_bin)) + 0.5) * 3600 * bin_h) / axis.unit_s
    figure = go.Figure(
        go.Bar(
            x=middle,
            y=per_bin,
            marker={"color": theme.marks[0], "line": {"width": 0}},
            hovertemplate="%{y:.1f} jobs/h at %{x:.2f} " + axis.unit + "<extra></extra>",
        )
    )
    alt = f"Arrivals: {number(per_bin.mean())} jobs per hour on average, {number(per_bin.max())} in the busiest hour."
    framed(
        figure,
        theme,
        title=f"Arrivals: {number(per_bin.mean())} jobs per hour on average",
        x=axis.title,
        y="Jobs per hour",
        height=SMALL,
    )
    return Chart(figure, alt, pd.DataFrame({f"time ({axis.unit})": middle, "jobs per hour": per_bin}))


def widths(jobs: Workload, theme: Theme) -> Chart:
    """Return how many jobs ask for how many GPUs, and their share of the GPU time."""
    gpus = jobs.gpus
    sizes, inverse, counts = np.unique(np.round(gpus, 3), return_inverse=True, return_counts=True)
    if len(sizes) > 24:
        edges = np.concatenate([[0.0, 1.0], 2.0 ** np.arange(1, 12)])
        inverse = np.searchsorted(edges, gpus, side="left")
        kept = np.unique(inverse)
        counts = np.bincount(inverse)[kept]
        names = [f"to {edges[min(i, len(edges) - 1)]:g}" for i in kept]
        inverse = np.searchsorted(kept, inverse)
    else:
        names = [f"{size:g}" for size in sizes]
    gpu_s = np.bincount(inverse, jobs.gpus * jobs.work, len(names))
    jobs_share, time_share = counts / counts.sum(), gpu_s / max(gpu_s.sum(), 1e-12)
    figure = go.Figure()
    for name, values, mark, shape in (
        ("of the jobs", jobs_share, theme.marks[0], ""),
        ("of the GPU time", time_share, theme.marks[1], "/"),
    ):
        figure.add_bar(
            x=names,
            y=100 * values,
            name=name,
            marker={"color": mark, "pattern": {"shape": shape, "fgcolor": theme.ink}},
            hovertemplate="%{x} GPUs: %{y:.1f}% " + name + "<extra></extra>",
        )
    big = int(np.argmax(time_share))
    alt = f"Widths: {names[int(np.argmax(counts))]} GPUs is most common; jobs of {names[big]} GPUs take {share(time_share[big])} of the GPU time."
    framed(
        figure,
        theme,
        title=f"Width: jobs of {names[big]} GPUs take {share(time_share[big])} of the GPU time",
        x="GPUs per job",
        y="Share (%)",
        height=SMALL,
    )
    figure.update_xaxes(type="category")
    table = pd.DataFrame(
        {"GPUs": names, "jobs": counts, "share of jobs, %": 100 * jobs_share, "share of GPU time, %": 100 * time_share}
    )
    return Chart(figure, alt, table)


def run_times(jobs: Workload, theme: Theme) -> Chart:
    """Return a histogram of the run times on a log axis with median and p95 marked."""
    work = jobs.work
    low, high = np.log10(max(work.min(), 1e-3)), np.log10(work.max())
    edges = np.logspace(low, max(high, low + 0.1), HISTOGRAM_BINS + 1)
    counts, _ = np.histogram(work, edges)
    middle = np.sqrt(edges[:-1] * edges[1:])
    text = [f"{duration(a)} to {duration(b)}" for a, b in itertools.pairwise(edges)]
    figure = go.Figure(
        go.Bar(
            x=np.log10(middle),
            y=counts,
            marker={"color": theme.marks[0]},
            customdata=text,
            hovertemplate="%{y} jobs run %{customdata}<extra></extra>",
        )
    )
    median, p95 = np.median(work), np.percentile(work, 95)
    reference_line(figure, theme, x=float(np.log10(median)), text=f"median {duration(median)}")
    reference_line(figure, theme, x=float(np.log10(p95)), text="p95")
    framed(
        figure,
        theme,
        title=f"Run time: half run under {duration(median)}, 1 in 20 over {duration(p95)}",
        x="Run time at the requested width (log scale)",
        y="Jobs",
        height=SMALL,
    )
    ticks = [
        t
        for t in (1, 10, 60, 600, 3600, 6 * 3600, 86_400, 7 * 86_400, 30 * 86_400, 365 * 86_400)
        if edges[0] <= t <= edges[-1]
    ]
    names = {
        1: "1 s",
        10: "10 s",
        60: "1 min",
        600: "10 min",
        3600: "1 h",
        6 * 3600: "6 h",
        86_400: "1 d",
        7 * 86_400: "7 d",
        30 * 86_400: "30 d",
        365 * 86_400: "1 y",
    }
    figure.update_xaxes(tickvals=[np.log10(t) for t in ticks], ticktext=[names[t] for t in ticks])
    alt = f"Run times: median {duration(median)}, 95 of 100 jobs under {duration(p95)}, longest {duration(work.max())}."
    return Chart(figure, alt, pd.DataFrame({"run time": text, "jobs": counts}))


def who_asks(jobs: Workload, theme: Theme, most: int = 10) -> Chart | None:
    """Return the share of GPU time by user (else group, else class); None when the trace names nobody."""
    named = [(name, values) for name in ("user", "group", "job_class") if (values := getattr(jobs, name)) is not None]
    if not named:
        return None
    label, values = named[0]
    gpu_s = pd.Series(np.maximum(jobs.gpus, 1e-9) * jobs.work).groupby(pd.Series(values).replace("", "(none)")).sum()
    gpu_s = gpu_s.sort_values(ascending=False) / gpu_s.sum()
    top = gpu_s.iloc[:most]
    rows = list(zip([plain(n, 18) for n in top.index], top, strict=True))
    if len(gpu_s) > most:
        rows.append((f"{count(len(gpu_s) - most)} others", float(gpu_s.iloc[most:].sum())))
    names, shares = [n for n, _ in rows][::-1], [100 * s for _, s in rows][::-1]
    figure = go.Figure(
        go.Bar(
            x=shares,
            y=names,
            orientation="h",
            marker={"color": theme.marks[0]},
            hovertemplate="%{y}: %{x:.1f}% of the GPU time<extra></extra>",
        )
    )
    word = label.replace("_", " ")
    alt = f"{rows[0][0]} asks for {share(float(top.iloc[0]))} of the GPU time, the most of {count(len(gpu_s))} {word} names."
    framed(
        figure,
        theme,
        title=f"Who asks: {count(len(gpu_s))} {word} names, the largest {share(float(top.iloc[0]))}",
        x="Share of the GPU time asked for (%)",
        y=word.capitalize(),
        height=SMALL,
    )
    figure.update_yaxes(type="category")
    return Chart(figure, alt, pd.DataFrame({word: names[::-1], "share, %": shares[::-1]}))


def demand(jobs: Workload, capacity_gpus: float, theme: Theme, bins: int = 300) -> Chart:
    """Return the GPUs that would be busy if nobody waited, against the cluster's GPUs."""
    start, end = jobs.submit_s, jobs.submit_s + jobs.work
    from_s, to_s = float(start[0]), float(max(jobs.submit_s[-1], start[0] + 1))
    times = np.linspace(from_s, to_s, bins)
    order = np.argsort(end, kind="stable")
    begun = np.concatenate([[0], np.cumsum(jobs.gpus)])[np.searchsorted(start, times, side="right")]
    ended = np.concatenate([[0], np.cumsum(jobs.gpus[order])])[np.searchsorted(end[order], times, side="right")]
    wanted = begun - ended
    axis = TimeAxis.over(from_s, to_s)
    figure = go.Figure()
    x = times / axis.unit_s
    figure.add_scatter(
        x=x,
        y=np.minimum(wanted, capacity_gpus),
        mode="lines",
        line={"color": theme.marks[0], "width": 1.5},
        fill="tozeroy",
        name="within the cluster",
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=x,
        y=np.maximum(wanted, capacity_gpus),
        mode="lines",
        line={"color": theme.worse, "width": 1},
        fill="tonexty",
        name="beyond the cluster",
        customdata=wanted,
        hovertemplate="%{customdata:.0f} GPUs asked for<extra></extra>",
    )
    reference_line(figure, theme, y=capacity_gpus, text=f"{capacity_gpus:g} GPUs")
    over = float((wanted > capacity_gpus).mean())
    framed(
        figure,
        theme,
        title=f"Demand if nobody waited: beyond the cluster {share(over)} of the time",
        x=axis.title,
        y="GPUs asked for",
        height=SMALL,
    )
    alt = f"Demand exceeds the {capacity_gpus:g} GPUs {share(over)} of the time; peak {number(wanted.max())} GPUs."
    return Chart(figure, alt, pd.DataFrame({f"time ({axis.unit})": x, "GPUs asked for": wanted}))


def capacity(cluster: Cluster, horizon_s: float, theme: Theme) -> Chart:
    """Return GPUs that are there over time, stacked by GPU type, with arrivals, failures and departures."""
    nodes = cluster.nodes
    edges = {0.0, horizon_s}
    for absence in cluster.absences:
        edges |= {min(absence.start_s, horizon_s), min(absence.until_s, horizon_s)}
    times = np.array(sorted(edges))
    axis = TimeAxis.over(0.0, horizon_s)
    kinds = sorted({str(kind) for kind in nodes.gpu_type})
    here = np.ones((cluster.num_nodes, len(times)), dtype=bool)
    for absence in cluster.absences:
        here[absence.node] &= ~((times >= absence.start_s) & (times < absence.until_s))
    figure = go.Figure()
    table = pd.DataFrame({f"time ({axis.unit})": times / axis.unit_s})
    for place, kind in enumerate(kinds):
        of_kind = nodes.gpu_type == kind
        gpus = (nodes.capacity[of_kind, 0][:, None] * here[of_kind]).sum(axis=0)
        table[kind] = gpus
        figure.add_scatter(
            x=times / axis.unit_s,
            y=gpus,
            mode="lines",
            line={"shape": "hv", "width": 1.5, "color": theme.marks[place % 10]},
            stackgroup="gpus",
            name=plain(kind),
            hovertemplate="%{y:.0f} " + plain(kind) + "<extra></extra>",
        )
    total = table[kinds].sum(axis=1)
    framed(
        figure,
        theme,
        title=f"Capacity: {number(total.min())} to {number(total.max())} GPUs"
        if total.min() != total.max()
        else f"Capacity: {number(total.max())} GPUs throughout",
        x=axis.title,
        y="GPUs that are there",
        height=SMALL,
    )
    figure.update_yaxes(rangemode="tozero")
    return Chart(figure, f"Between {number(total.min())} and {number(total.max())} GPUs are there.", table)


def profile(jobs: Workload, theme: Theme) -> Sequence[Chart]:
    """Return the four charts of a workload: arrivals, widths, run times, who asks."""
    charts = [arrivals(jobs, theme), widths(jobs, theme), run_times(jobs, theme), who_asks(jobs, theme)]
    return [chart for chart in charts if chart is not None]
