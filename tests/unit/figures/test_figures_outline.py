"""The outline of a found job: on its bars, in its row, on the lines of its nodes; and the strip with the window."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dlsched.figures import bars, gantt, jobs
from dlsched.figures.palette import DARK, LIGHT, Theme
from dlsched.figures.raster import node_raster

THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
WORK = pd.DataFrame(
    {
        "job_id": ["a", "b", "b"], "row": [0, 1, 1], "node": [0, 0, 1], "start_s": [0.0, 40.0, 40.0],
        "end_s": [30.0, 80.0, 80.0], "gpus": [2.0, 2.0, 2.0], "workers": 2, "piece": [0, 1, 1],
    }
)  # fmt: skip


@THEMES
def test_each_bar_of_the_job_is_outlined_in_ink_over_a_halo_of_the_ground(theme: Theme) -> None:
    chart = bars.node_bars(WORK, theme, 0, 100, gpus_of_node={0: 2.0, 1: 2.0}, found="b")
    halo, edge = (trace for trace in chart.figure.data if trace.name == "b")
    assert (halo.marker.line.color, edge.marker.line.color) == (theme.ground, theme.ink)
    assert halo.marker.line.width > edge.marker.line.width >= 3
    assert edge.base.tolist() == [40.0] * 2
    assert edge.x.tolist() == pytest.approx([40.0] * 2)
    assert not [t for t in bars.node_bars(WORK, theme, 0, 100, found="nobody").figure.data if t.name == "nobody"]


def test_a_job_too_short_to_be_seen_has_an_outline_all_the_same() -> None:
    short = WORK.assign(end_s=WORK["start_s"] + 0.01)
    chart = bars.node_bars(short, LIGHT, 0, 100, gpus_of_node={0: 2.0, 1: 2.0}, found="b")
    edge = [trace for trace in chart.figure.data if trace.name == "b"][-1]
    assert edge.x.tolist() == pytest.approx([0.8] * 2)


def test_the_row_of_the_job_and_its_lines_of_a_raster_are_outlined() -> None:
    rows = pd.DataFrame(
        {"job_id": ["a", "b"], "submit_s": 0.0, "first_start_s": [0.0, 40.0], "due_s": np.nan, "gpus": 2.0}
    )
    chart = jobs.job_bars(rows, WORK, LIGHT, 0, 100, found="b")
    assert [(shape.y0, shape.y1) for shape in chart.figure.layout.shapes if shape.type == "rect"] == [(0.5, 1.5)] * 2
    none = pd.DataFrame({"node": [], "start_s": [], "end_s": []}, dtype=float)
    raster = node_raster(WORK.assign(due_s=np.nan), np.array([2.0, 2.0]), none, 0, 100)
    drawn = gantt.overview(raster, LIGHT, found=WORK[WORK["job_id"] == "b"])
    rects = [shape for shape in drawn.figure.layout.shapes if shape.type == "rect"]
    assert sorted({(shape.y0, shape.y1) for shape in rects}) == [(-0.5, 0.5), (0.5, 1.5)]


def test_the_strip_marks_the_window_and_says_so() -> None:
    series = pd.DataFrame({"time_s": [0.0, 50.0, 100.0], "gpus_held": [2.0, 4.0, 0.0], "gpus_up": 4.0})
    whole = gantt.strip(series, LIGHT, 0.0, 100.0)
    assert not whole.figure.layout.shapes
    part = gantt.strip(series, LIGHT, 25.0, 75.0)
    (mark,) = part.figure.layout.shapes
    assert (mark.x0, mark.x1) == pytest.approx((25.0, 75.0))
    assert part.figure.layout.height < 100
    assert part.alt.startswith("GPUs allocated over the whole run, at most 4; the window shown is ")
