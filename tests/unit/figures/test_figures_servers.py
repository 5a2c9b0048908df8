"""Charts of workers and servers: cells with their numbers, crosses with their reason, marks on the choices."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dlsched.figures.palette import DARK, LIGHT
from dlsched.figures.servers import MOST_NAMED, cell_word, layer_charts, split_chart, width_chart
from dlsched.policies.smd.problem import Split
from dlsched.speed.pipeline import OVERLAPS, Layers, pipeline
from dlsched.studies.speed_models.server_split import MOST_CELLS, ServerSplit

HOUR = 3600.0


def split(theta, gpus=6.0, cpus=10.0):
    """A worker holds 1 GPU and 1 CPU, a server 1 CPU."""
    limits = (gpus, cpus, math.inf, math.inf)
    names = ("GPUs", "CPUs", "memory", "disk")
    return ServerSplit(Split("sync", theta, (1, 1, 0, 0), (0, 1, 0, 0), limits, resources=names))


# w + p + 16 / w hours: 4 workers and 1 server take 9 h; equal numbers 5 + 5 take 13.2 h
FOUND = split((HOUR, HOUR, 0, 0, 16 * HOUR))


def texts(chart):
    trace = next(trace for trace in chart.figure.data if trace.type == "scatter" and trace.mode == "text")
    return dict(zip(zip(trace.x, trace.y, strict=True), trace.text, strict=True))


def mark(chart, name):
    return next(trace for trace in chart.figure.data if trace.name == name and trace.x[0] is not None)


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_cells_hold_hours_and_what_is_forbidden_is_crossed_with_its_reason(theme):
    chart = split_chart(FOUND, theme)
    cells = texts(chart)
    assert len(cells) == 6 * 9
    assert (cells[1, 1], cells[4, 2], cells[2, 8]) == ("18.0", "10.0", "18.0")
    assert cells[4, 1] == "<b>9.00</b>"
    assert cells[6, 5] == cells[2, 9] == "×"
    shown, forbidden = (trace for trace in chart.figure.data if trace.type == "heatmap")
    assert np.nanmax(shown.z) == shown.z[0][3] == 1.0  # servers 1, workers 4
    assert np.isnan(shown.z[4][5])
    assert forbidden.z[4][5] == 0.0
    assert forbidden.text[4][5] == "6 workers, 5 servers<br>not within the limit on CPUs"
    assert shown.text[1][3] == "4 workers, 2 servers<br>10 h"
    assert chart.figure.layout.title.text == "Time in hours: 9.00 is the least (stronger blue is faster)"


def test_marks_by_shape_lie_in_their_cells():
    chart = split_chart(FOUND, LIGHT)
    for name, symbol, choice in (("SMD", "star", (4, 1)), ("ESW", "square", (5, 5)), ("Optimus", "diamond", (4, 1))):
        trace = mark(chart, name)
        assert trace.marker.symbol == symbol
        assert (round(trace.x[0]), round(trace.y[0])) == choice
    assert {trace.name for trace in chart.figure.data if trace.showlegend} == {
        "SMD: 4 + 1",
        "ESW: 5 + 5",
        "Optimus: 4 + 1",
    }
    assert chart.alt == (
        "Time by workers and servers. SMD 4 workers and 1 server, 9 h; ESW 5 workers and 5 servers, 13 h 12 min; "
        "Optimus 4 workers and 1 server, 9 h."
    )
    assert len(chart.table) == 54


def test_in_wide_tables_marks_take_the_place_of_numbers_and_lie_apart():
    wide = split((HOUR, HOUR, 0, 0, 16 * HOUR), gpus=12.0, cpus=14.0)
    chart = split_chart(wide, LIGHT)
    assert texts(chart)[4, 1] == ""
    assert texts(chart)[5, 1] == "9.20"
    smd, optimus = mark(chart, "SMD"), mark(chart, "Optimus")
    assert smd.x[0] == pytest.approx(3.8)
    assert optimus.x[0] == pytest.approx(4.2)


def test_of_a_larger_table_the_part_around_the_best_is_shown_and_said():
    chart = split_chart(split((1, 1, 0, 0, 3600), gpus=100.0, cpus=300.0), DARK)
    assert len(chart.table) == MOST_CELLS**2
    assert chart.alt.startswith("Time with 51 to 70 workers of up to 100 and 1 to 20 servers of up to 299.")
    assert chart.alt.endswith("ESW lies outside.")
    assert not any(trace.name == "ESW" for trace in chart.figure.data)


def test_equal_times_do_not_divide_by_nothing():
    chart = split_chart(split((0, 0, HOUR, 0, 0), gpus=2.0, cpus=3.0), LIGHT)
    (shown, _) = (trace for trace in chart.figure.data if trace.type == "heatmap")
    assert np.nanmin(shown.z) == 1.0


@pytest.mark.parametrize(
    ("value", "word"),
    [(1.634, "1.63"), (9.996, "10.0"), (99.96, "100"), (1234.4, "1,234"), (0.5, "0.5"), (12345, "12.3 k")],
)
def test_cells_have_three_figures(value, word):
    assert cell_word(value) == word


def test_time_by_workers_marks_the_rules():
    chart = width_chart(FOUND, LIGHT)
    line = mark(chart, "best")
    assert line.x.tolist() == [1, 2, 3, 4, 5, 6]
    assert line.y.tolist() == pytest.approx([18, 11, 9 + 1 / 3, 9, 9.2, 6 + 1 + 16 / 6])
    assert (mark(chart, "SMD").x[0], mark(chart, "SMD").y[0]) == (4, 9.0)
    assert (mark(chart, "ESW").x[0], mark(chart, "ESW").y[0]) == (5, pytest.approx(13.2))
    assert chart.figure.layout.title.text == "18 h with one worker, 9 h with 4"
    assert chart.table["best servers"].tolist() == [1] * 6
    assert width_chart(split((1, 1, 0, 0, 3600), gpus=100.0, cpus=300.0), LIGHT).figure.layout.xaxis.type == "log"


def test_three_timelines_share_their_scale_and_mark_their_ends():
    layers = Layers([4.0, 1.0], [2.0, 1.0], [3.0, 5.0])
    charts = layer_charts(layers, LIGHT)
    assert len({chart.figure.layout.xaxis.range for chart in charts}) == 1
    ends = [float(chart.figure.layout.shapes[0].x0) for chart in charts]
    assert ends == pytest.approx([pipeline(layers, overlap).iteration_s for overlap in OVERLAPS])
    assert [chart.figure.layout.annotations[0].text for chart in charts] == ["end 24 s", "end 19 s", "end 11 s"]
    assert [chart.figure.layout.showlegend for chart in charts] == [None, False, False]
    assert charts[0].figure.data[0].text == ("2", "1")


def test_many_layers_are_drawn_joined_and_none_without_times():
    charts = layer_charts(Layers(*np.full((3, MOST_NAMED + 1), 100.0)), DARK)
    assert all(trace.text is None and trace.marker.line.width == 0 for trace in charts[0].figure.data)
    assert all(not chart.figure.layout.shapes for chart in layer_charts(Layers([0], [0], [0]), LIGHT))
