"""The picture of two runs of the same jobs, side by side."""

import numpy as np
import pandas as pd

from dlsched.figures.before_after import LATE, ON_TIME, before_after, half_of
from dlsched.figures.palette import DARK, LIGHT

JOBS = pd.DataFrame(
    {"submit_s": [0.0, 10.0, 20.0], "completion_s": [30.0, np.nan, 25.0], "due_s": [15.0, np.nan, 100.0]}
)
TIMES_S = np.array([0.0, 15.0, 22.0, 25.0, 30.0])


def test_jobs_count_from_submission_to_completion_and_late_ones_apart():
    half = half_of("FIFO", JOBS, TIMES_S)
    assert half.on_time.tolist() == [1, 2, 2, 1, 1]  # the job that is never done stays, and has no due date
    assert half.late.tolist() == [0, 0, 1, 1, 0]


def test_the_picture_names_both_policies_and_counts_late_jobs():
    fifo = half_of("FIFO", JOBS, TIMES_S)
    las = half_of("LAS <b>", JOBS.assign(completion_s=[15.0, 30.0, 25.0]), TIMES_S)
    for theme in (LIGHT, DARK):
        chart = before_after(fifo, las, TIMES_S, theme)
        assert [trace.name for trace in chart.figure.data] == [ON_TIME, LATE] * 2
        assert chart.figure.layout.annotations[0].text == "<b>Before: FIFO</b>"
        assert "<b></b>" not in chart.figure.layout.annotations[1].text
    assert chart.alt == "At worst, 1 job was past its due date under FIFO, and none under LAS <b>."
    assert list(chart.table.columns) == ["Policy", "Time (seconds)", "On time", "Late"]
    assert len(chart.table) == 2 * len(TIMES_S)
