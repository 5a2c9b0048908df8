"""When the waiting jobs of a queue start: an interval for each, in the order of the queue."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dlsched.figures.base import Chart, TimeAxis, framed, plain
from dlsched.figures.palette import BLUE, TEAL, Theme
from dlsched.studies.when_starts.answer import Quantiles, When
from dlsched.studies.when_starts.words import in_words
from dlsched.wording.clock import Clock
from dlsched.wording.formats import amount, cut

MOST_JOBS = 30
COLUMNS = ("job", "10% (s)", "median (s)", "90% (s)", "by limits (s)")
ROW_PX, FRAME_PX = 24, 120


def intervals(answer: When, theme: Theme, clock: Clock) -> Chart | None:
    """Return the 80% interval and median of each waiting job, and its start by the limits; None without a start.

    Of long queues, the first 30 jobs. Where nothing has ended there are only starts by the limits.
    """
    starts = [(job, job.starts) for job in answer.expected[:MOST_JOBS] if job.starts is not None]
    table = pd.DataFrame(
        [(job.job_id, one.low_s, one.median_s, one.high_s, job.worst_s) for job, one in starts],
        columns=[*COLUMNS],
    )
    worst_s, low_s, median_s, high_s = (table[name].to_numpy(float) for name in (COLUMNS[4], *COLUMNS[1:4]))
    if not (np.isfinite(worst_s) | np.isfinite(median_s)).any():
        return None
    names = [plain(cut(job.job_id, 24)) for job, _ in starts]
    last_s = float(np.nanmax(np.concatenate([worst_s, high_s, median_s, [60.0]])))
    axis = TimeAxis.over(answer.at_s - 0.015 * last_s, answer.at_s + 1.03 * last_s, clock)  # room for whole marks
    figure = go.Figure()
    if answer.ended:
        for row, name in enumerate(names):
            end_s = high_s[row] if np.isfinite(high_s[row]) else last_s
            figure.add_scatter(
                x=axis.at(answer.at_s + np.array([low_s[row], end_s])), y=[name, name], mode="lines",
                line={"color": theme.marks[BLUE], "width": 7}, opacity=0.45, hoverinfo="skip", showlegend=row == 0,
                name="80% of the futures", legendgroup="interval",
            )  # fmt: skip
        figure.add_scatter(
            x=axis.at(answer.at_s + median_s), y=names, mode="markers", name="median",
            marker={"color": theme.marks[BLUE], "size": 9},
            customdata=[_told(one) for _, one in starts], hovertemplate="job %{y}: %{customdata}<extra></extra>",
        )  # fmt: skip
    figure.add_scatter(
        x=axis.at(answer.at_s + worst_s), y=names, mode="markers", name="if every job runs to its limit",
        marker={"color": theme.marks[TEAL], "symbol": "line-ns-open", "size": 10, "line": {"width": 2}},
        customdata=[in_words(job.worst_s) for job, _ in starts],
        hovertemplate="job %{y}: %{customdata} if every job runs to its limit<extra></extra>",
    )  # fmt: skip
    of = f" of {len(answer.expected):,}" if len(starts) < len(answer.expected) else ""
    shown = amount(len(starts), "waiting job") + of
    height = FRAME_PX + ROW_PX * len(starts)
    framed(figure, theme, title=f"Likely starts of {shown}", x=axis, y="Job", height=height)
    figure.update_yaxes(type="category", autorange="reversed", showgrid=False, dtick=1)
    first, one = starts[0]
    return Chart(figure, f"Likely starts of {shown}; the first, {cut(first.job_id, 40)}: {_told(one)}.", table)


def _told(starts: Quantiles) -> str:
    return f"{in_words(starts.median_s)} ({in_words(starts.low_s)} to {in_words(starts.high_s)})"
