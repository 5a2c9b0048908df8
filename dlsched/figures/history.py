"""Charts of what happened in a log: use and queue over time, waits by month."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dlsched.domain.units import HOUR_S
from dlsched.figures.base import Chart, TimeAxis, framed, hatched, plain, reference_line, top_of
from dlsched.figures.palette import BLUE, TEAL, Theme
from dlsched.studies.history.answer import History
from dlsched.studies.history.words import UNIT_WORDS
from dlsched.wording.clock import Clock
from dlsched.wording.formats import amount, count, duration, number

HEIGHT = 270


def use_over_time(answer: History, theme: Theme, clock: Clock) -> Chart:
    """Return what jobs held of the main resource over the whole log, with the capacity where it is known."""
    unit, used = UNIT_WORDS[answer.resource], np.array(answer.series.used)
    axis = TimeAxis.over(answer.first_s, answer.last_s, clock)
    x = axis.at(answer.series.time_s)
    figure = go.Figure()
    figure.add_scatter(
        x=x, y=used, mode="lines", line={"color": theme.marks[BLUE], "width": 1, "shape": "hv"}, fill="tozeroy",
        fillcolor=theme.tint, name="in use", showlegend=False,
        hovertemplate="%{y:,.0f} " + unit + " in use from " + axis.hover + "<extra></extra>",
    )  # fmt: skip
    level = None if answer.main is None else answer.main.amount
    peak = number(float(used.max(initial=0.0)))
    framed(figure, theme, title=f"In use: at most {peak} {unit}", x=axis, y=f"{unit} in use", height=HEIGHT)
    if level is not None:
        reference_line(figure, theme, y=level, text=f"{count(level)} {unit} in the cluster")
    figure.update_yaxes(range=top_of(np.append(used, level or 0.0), room=0.2))
    of = "" if level is None else f" of {count(level)} in the cluster"
    return Chart(
        figure, f"At most {peak} {unit} were in use{of}.", pd.DataFrame({axis.column: x, f"{unit} in use": used})
    )


def queue_over_time(answer: History, theme: Theme, clock: Clock) -> Chart:
    """Return how many jobs waited over the whole log."""
    axis = TimeAxis.over(answer.first_s, answer.last_s, clock)
    x, waiting = axis.at(answer.series.time_s), np.array(answer.series.waiting)
    figure = go.Figure()
    figure.add_scatter(
        x=x, y=waiting, mode="lines", line={"color": theme.marks[TEAL], "width": 1.5, "shape": "hv"},
        name="waiting", showlegend=False,
        hovertemplate="%{y:,} jobs waiting from " + axis.hover + "<extra></extra>",
    )  # fmt: skip
    most = amount(int(waiting.max(initial=0)), "job")
    framed(figure, theme, title=f"Waiting: at most {most}", x=axis, y="Jobs waiting", height=HEIGHT)
    figure.update_yaxes(range=top_of(waiting.astype(float)))
    return Chart(figure, f"At most {most} waited at once.", pd.DataFrame({axis.column: x, "jobs waiting": waiting}))


def wait_by_month(answer: History, theme: Theme) -> Chart | None:
    """Return median and p95 wait of the jobs that arrived in each month; None for less than two months."""
    months = [row for row in answer.groups.get("month", ()) if row.wait is not None]
    if len(months) < 2:
        return None
    names = [plain(row.name) for row in months]
    times = {
        name: np.array([getattr(row.wait, field) for row in months])
        for name, field in (("median", "median_s"), ("p95", "p95_s"))
    }
    figure = go.Figure()
    for (name, values_s), mark, shape in zip(times.items(), (BLUE, TEAL), ("", "/"), strict=True):
        told = [
            f"{duration(value)} ({amount(row.started, 'job')})" for value, row in zip(values_s, months, strict=True)
        ]
        figure.add_bar(
            x=names, y=values_s / HOUR_S, name=name, marker=hatched(theme.marks[mark], shape, theme.ink),
            customdata=told, hovertemplate="%{x}: " + name + " %{customdata}<extra></extra>",
        )  # fmt: skip
    worst = int(np.argmax(times["p95"]))
    longest = f"p95 {duration(float(times['p95'][worst]))} in {months[worst].name}"
    framed(figure, theme, title=f"Wait by month: {longest}", x="Month of arrival", y="Wait (h)", height=HEIGHT)
    figure.update_xaxes(type="category", showgrid=False)
    figure.update_yaxes(range=top_of(times["p95"] / HOUR_S))
    table = pd.DataFrame({"month": [row.name for row in months], "jobs": [row.started for row in months]}
                         | {f"{name} wait (s)": values for name, values in times.items()})  # fmt: skip
    return Chart(figure, f"The longest waits by month: {longest}.", table)
