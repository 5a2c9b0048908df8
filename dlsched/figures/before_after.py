"""The same jobs under two policies, side by side: how many are not done yet, before and past their due dates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from dlsched.figures.base import Chart, Floats, TimeAxis, area_hatch, framed, plain
from dlsched.figures.palette import Theme
from dlsched.wording.formats import amount

ON_TIME, LATE = "before their due date", "past their due date"
HEIGHT = 230


@dataclass(frozen=True, eq=False)
class Half:
    """One of the two: the name of its policy, and how many jobs are not done at each instant, on time and late."""

    policy: str
    on_time: NDArray[np.int64]
    late: NDArray[np.int64]


def half_of(policy: str, jobs: pd.DataFrame, times_s: Floats) -> Half:
    """Return the half of a run, from columns submit_s, completion_s and due_s (NaN = none) of its jobs."""
    submit, done, due = (jobs[name].to_numpy(float)[:, None] for name in ("submit_s", "completion_s", "due_s"))
    is_open = (submit <= times_s) & ~(done <= times_s)
    is_late = is_open & (due < times_s)
    return Half(policy, (is_open & ~is_late).sum(axis=0), is_late.sum(axis=0))


def before_after(before: Half, after: Half, times_s: Floats, theme: Theme) -> Chart:
    """Return the picture of two runs of the same jobs, on the same axes."""
    axis = TimeAxis.over(float(times_s[0]), float(times_s[-1]))
    titles = [f"<b>Before: {plain(before.policy)}</b>", f"<b>After: {plain(after.policy)}</b>"]
    figure = make_subplots(rows=1, cols=2, shared_yaxes=True, horizontal_spacing=0.03, subplot_titles=titles)
    for column, half in enumerate((before, after), 1):
        for place, (name, counts, tint) in enumerate(
            ((ON_TIME, half.on_time, theme.marks[0]), (LATE, half.late, theme.late))
        ):
            figure.add_scatter(
                x=axis.at(times_s), y=counts, mode="lines", line={"shape": "hv", "width": 0}, stackgroup="jobs",
                fillcolor=tint, fillpattern=area_hatch(place, tint, theme.ground), name=name, showlegend=column == 1,
                legendgroup=name, hovertemplate=f"{plain(half.policy)}, {axis.hover}: %{{y}} {name}<extra></extra>",
                row=1, col=column,
            )  # fmt: skip
    framed(figure, theme, title="", x=axis, y="", height=HEIGHT)
    figure.update_annotations(font={"size": 14, "color": theme.ink}, yshift=2)
    figure.update_layout(legend={"y": 1.14}, margin={"t": 50})
    figure.update_yaxes(title_text="Jobs waiting or running", row=1, col=1)
    figure.update_xaxes(fixedrange=True)
    figure.update_yaxes(fixedrange=True)
    return Chart(figure, _alt(before, after), _table((before, after), axis.at(times_s), axis.column))


def _alt(before: Half, after: Half) -> str:
    """Return the picture in words: the most late jobs at once under each."""
    worst, better = int(before.late.max()), int(after.late.max())
    late = f"{amount(worst, 'job')} {'was past its due date' if worst == 1 else 'were past their due dates'}"
    return f"At worst, {late} under {before.policy}, and {better or 'none'} under {after.policy}."


def _table(halves: tuple[Half, Half], times: NDArray[np.float64], column: str) -> pd.DataFrame:
    return pd.concat(
        [
            pd.DataFrame(
                {"Policy": half.policy, column.capitalize(): times, "On time": half.on_time, "Late": half.late}
            )
            for half in halves
        ],
        ignore_index=True,
    )
