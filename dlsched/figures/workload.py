"""Charts of a workload before any run: arrivals, GPUs per job, run times, demand by user."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import Workload
from dlsched.figures.base import (
    Chart,
    Floats,
    TimeAxis,
    duration_axis,
    framed,
    hatched,
    named_rows,
    plain,
    reference_line,
    top_of,
)
from dlsched.figures.palette import TEAL, Theme
from dlsched.wording.clock import DAYS, Clock
from dlsched.wording.counted import GPUS, Counted
from dlsched.wording.formats import amount, cut, duration, number, share

HISTOGRAM_BINS = 40
MAX_ARRIVAL_BARS = 1000
MAX_WIDTHS = 24
SMALL = 270
OWNERS = ("user", "group", "job_class", "model")


def profile(jobs: Workload, theme: Theme, clock: Clock = DAYS, counted: Counted = GPUS) -> Sequence[Chart]:
    """Return the charts of a workload: arrivals, GPUs per job, run times, and demand by user where it is known.

    ``counted``: the resource that sizes and demand are told in, in place of GPUs.
    """
    asked = jobs.requested[:, counted.index]
    charts = [
        arrivals(jobs, theme, clock), widths(jobs, theme, asked), run_times(jobs, theme), who_asks(jobs, theme, asked),
    ]  # fmt: skip
    return [chart.of(counted) for chart in charts if chart is not None]


def arrivals(jobs: Workload, theme: Theme, clock: Clock = DAYS) -> Chart:
    """Return jobs submitted per hour, in bars of an hour or of more hours where the trace is long."""
    first = float(jobs.submit_s[0])
    hours = int((jobs.submit_s[-1] - first) // HOUR_S) + 1
    bin_h = -(-hours // MAX_ARRIVAL_BARS)
    place = ((jobs.submit_s - first) // (HOUR_S * bin_h)).astype(np.int64)
    per_hour = np.bincount(place) / bin_h
    axis = TimeAxis.over(first, first + len(per_hour) * HOUR_S * bin_h, clock)
    middle = axis.at(first + (np.arange(len(per_hour)) + 0.5) * HOUR_S * bin_h)
    figure = go.Figure(
        go.Bar(
            x=middle,
            y=per_hour,
            width=float(axis.length(HOUR_S * bin_h)),
            marker={"color": theme.marks[0], "line": {"width": 0}},
            hovertemplate="%{y:.1f} jobs/h around " + axis.hover + "<extra></extra>",
        )
    )
    mean, most = number(len(jobs) / max(hours, 1)), number(float(per_hour.max()))
    busiest = "hour" if bin_h == 1 else f"bar of {bin_h} hours"
    title = f"Arrivals: {mean} jobs per hour, at most {most}"
    alt = f"Arrivals: {mean} jobs per hour on average, {most} in the busiest {busiest}."
    framed(figure, theme, title=title, x=axis, y="Jobs per hour", height=SMALL)
    figure.update_yaxes(range=top_of(per_hour))
    return Chart(figure, alt, pd.DataFrame({axis.column: middle, "jobs per hour": per_hour}))


def widths(jobs: Workload, theme: Theme, asked: Floats | None = None) -> Chart:
    """Return how many jobs ask for how many GPUs (``asked``, shape (jobs,)), and their share of the GPU time."""
    asked = jobs.gpus if asked is None else asked
    names, place = _width_classes(asked)
    counts = np.bincount(place, minlength=len(names))
    gpu_s = np.bincount(place, asked * jobs.work, len(names))
    of_jobs, of_time = counts / counts.sum(), gpu_s / max(float(gpu_s.sum()), 1e-12)
    figure = go.Figure()
    for what, values, mark, shape in (
        ("of the jobs", of_jobs, theme.marks[0], ""),
        ("of the GPU time", of_time, theme.marks[TEAL], "/"),
    ):
        figure.add_bar(
            x=names,
            y=100 * values,
            name=f"share {what}",
            marker=hatched(mark, shape, theme.ink),
            customdata=counts,
            hovertemplate="%{x} GPUs, %{customdata:,} jobs: %{y:.1f}% " + what + "<extra></extra>",
        )
    big, common = int(np.argmax(of_time)), int(np.argmax(counts))
    finding = f"jobs of {_gpu_words(names[big])} take {share(float(of_time[big]))} of GPU time"
    framed(figure, theme, title=f"GPUs per job: {finding}", x="GPUs per job", y="Share (%)", height=SMALL)
    figure.update_xaxes(type="category", showgrid=False)
    figure.update_yaxes(range=top_of(100 * np.concatenate([of_jobs, of_time])))
    frequent = f"{_gpu_words(names[common])} with {share(float(of_jobs[common]))} of the jobs"
    alt = f"GPUs per job: {finding}; most common are {frequent}."
    shares = {"share of jobs, %": 100 * of_jobs, "share of GPU time, %": 100 * of_time}
    return Chart(figure, alt, pd.DataFrame({"GPUs": names, "jobs": counts} | shares))


def _width_classes(gpus: Floats) -> tuple[list[str], np.ndarray]:
    """Return names and the class of each job: every number of GPUs, or powers of two when there are many."""
    sizes, place = np.unique(np.round(gpus, 3), return_inverse=True)
    if len(sizes) <= MAX_WIDTHS:
        return [f"{size:g}" for size in sizes], place
    edges = np.concatenate([[0.0], 2.0 ** np.arange(0, 1 + np.ceil(np.log2(max(gpus.max(), 1.0))))])
    kept, place = np.unique(np.searchsorted(edges, gpus, side="left"), return_inverse=True)
    return ["0" if i == 0 else f"up to {edges[i]:g}" for i in kept], place


def _gpu_words(width_class: str) -> str:
    """Return "1 GPU", "8 GPUs" or "up to 8 GPUs" for the name of a class of widths."""
    return f"{width_class} GPU" if width_class in ("1", "up to 1") else f"{width_class} GPUs"


def run_times(jobs: Workload, theme: Theme) -> Chart:
    """Return a histogram of the run times on a log axis with median and p95 marked."""
    work = np.maximum(jobs.work, 1e-3)
    low, high = float(work.min()), max(float(work.max()), 1.3 * float(work.min()))
    edges = np.geomspace(low, high, HISTOGRAM_BINS + 1)
    counts = np.bincount(
        np.clip(np.searchsorted(edges, work, "right") - 1, 0, HISTOGRAM_BINS - 1), None, HISTOGRAM_BINS
    )
    text = [f"{duration(a)} to {duration(b)}" for a, b in itertools.pairwise(edges)]
    figure = go.Figure(
        go.Bar(
            x=np.sqrt(edges[:-1] * edges[1:]),
            y=counts,
            width=np.diff(edges) * 0.94,
            marker={"color": theme.marks[0]},
            customdata=np.column_stack([np.array(text, dtype=object), [share(c / len(work)) for c in counts]]),
            hovertemplate="%{y:,} jobs (%{customdata[1]}) run %{customdata[0]}<extra></extra>",
        )
    )
    median, p95 = (float(value) for value in np.percentile(work, [50, 95]))
    title = f"Run time: median {duration(median)}, p95 {duration(p95)}"
    framed(figure, theme, title=title, x="Run time on the GPUs requested (log scale)", y="Jobs", height=SMALL)
    duration_axis(figure, low, high)
    figure.update_yaxes(range=top_of(counts.astype(float), room=0.25))
    if p95 > 1.3 * median:
        near_left = np.log(median / low) < 0.15 * np.log(high / low)
        reference_line(figure, theme, x=median, text="median", before=not near_left)
        near_right = np.log(high / p95) < 0.1 * np.log(high / low)
        reference_line(figure, theme, x=p95, text="p95", before=near_right)
    else:
        reference_line(figure, theme, x=median, text="median and p95")
    longest = duration(float(work.max()))
    alt = f"Run times: median {duration(median)}, 95 of 100 jobs under {duration(p95)}, longest {longest}."
    return Chart(figure, alt, pd.DataFrame({"run time": text, "jobs": counts}))


def who_asks(jobs: Workload, theme: Theme, asked: Floats | None = None, most: int = 10) -> Chart | None:
    """Return the share of GPU time by user, else group, class or network; None if the trace names none.

    A single network asks for nothing that needs a chart. ``asked``: what each job asks for, shape (jobs,); default:
    its GPUs.
    """
    named = [(name, values) for name in OWNERS if (values := getattr(jobs, name)) is not None]
    if not named or (named[0][0] == "model" and len(set(named[0][1])) == 1):
        return None
    word, owner = named[0][0].replace("_", " "), pd.Series(named[0][1])
    totals = (
        pd.Series(np.maximum(jobs.gpus if asked is None else asked, 1e-9) * jobs.work)
        .groupby(owner.replace("", "(none)"))
        .sum()
    )
    shares = (totals / totals.sum()).sort_values(ascending=False, kind="stable")
    percent = 100 * np.asarray(shares, dtype=float)
    names, values = [str(name) for name in shares.index[:most]], percent[:most]
    tints = [theme.marks[0]] * len(names)
    if len(shares) > most:
        names, values = [*names, amount(len(shares) - most, "other")], np.append(values, percent[most:].sum())
        tints.append(theme.other)
    labels = [plain(name, 18) for name in names]
    figure = go.Figure(
        go.Bar(
            x=values,
            y=np.arange(len(values)),
            orientation="h",
            marker={"color": tints},
            customdata=labels,
            hovertemplate="%{customdata}: %{x:.1f}% of the GPU time<extra></extra>",
        )
    )
    largest = share(float(percent[0]) / 100)
    named_word = amount(len(shares), word, "classes" if word == "job class" else "")
    title = f"Demand by {word}: {named_word}, the largest with {largest}"
    height = int(np.clip(96 + 20 * len(values), 180, 340))
    framed(figure, theme, title=title, x="Share of the GPU time requested (%)", y=word.capitalize(), height=height)
    named_rows(figure, labels)
    figure.update_xaxes(range=top_of(values))
    alt = f"{cut(names[0])} requests {largest} of the GPU time, the most of {named_word}."
    return Chart(figure, alt, pd.DataFrame({word: names, "share of GPU time, %": values}))
