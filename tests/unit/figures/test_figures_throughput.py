"""Charts of the throughput model: marks on their curve, labels apart, tables and texts that agree."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.figures.palette import DARK, LIGHT
from dlsched.figures.throughput import moved_apart, speed_up_chart, station_chart
from dlsched.speed.measurements import Measurements
from dlsched.speed.queueing import NETWORKS, StepTimes
from dlsched.studies.speed_models.throughput import MEASURED, Layout, SpeedCurves

PAPER = StepTimes(worker_s=0.029, uplink_s=0.072, server_s=0.018, downlink_s=0.072)
FAST = StepTimes(worker_s=1.0, uplink_s=0.0, server_s=0.0, downlink_s=0.0)


def curves(times=PAPER, nodes=16, **more):
    return SpeedCurves(dict.fromkeys(NETWORKS, times), Layout(nodes), **more)


def trace(chart, name):
    return next(trace for trace in chart.figure.data if trace.name == name and trace.x[0] is not None)


def names(chart):
    """Labels at the ends of the lines, without the stroke before them."""
    return [note.text.rpartition("</span> ")[2] for note in chart.figure.layout.annotations]


def test_ring_and_star_lie_on_the_chosen_curve():
    found = curves(chosen="exact")
    chart = speed_up_chart(found, LIGHT)
    line = trace(chart, "exact")
    for name, width, symbol in (("KNEE", found.knee, "circle-open"), ("HELL", found.hell, "star")):
        mark = trace(chart, name)
        assert (mark.x[0], mark.y[0]) == (width, pytest.approx(line.y[width - 1]))
        assert mark.marker.symbol == symbol
    assert line.line.width > trace(chart, "hybrid").line.width
    assert {trace(chart, name).line.dash for name in ("exact", "hybrid", "FCFS")} == {"solid", "dash", "dot"}


def test_title_and_text_say_the_numbers():
    chart = speed_up_chart(curves(), LIGHT, batch=8)
    assert chart.figure.layout.title.text == "2.2x as fast on 4 nodes (HELL), 2.4x on 8 (KNEE)"
    alike = speed_up_chart(curves(FAST, 3), LIGHT).figure.layout.title.text
    assert alike == "2.0x as fast on 3 nodes (HELL and KNEE)"
    assert "2.2x on 4 nodes (3 workers) at the HELL point" in chart.alt
    assert "limit of the model 2.7x" in chart.alt
    assert trace(chart, "hybrid").customdata[3] == (
        "hybrid, 4 nodes (3 workers)<br>2.2x, 11.38 mini-batches/s, 91.02 examples/s"
    )
    assert len(chart.table) == 16


def test_all_curves_fit_under_the_top_and_ideal_is_cut_there():
    for times in (PAPER, FAST):
        chart = speed_up_chart(curves(times, chosen="fcfs"), DARK)
        top = chart.figure.layout.yaxis.range[1]
        assert all(max(trace(chart, name).y) < top for name in ("exact", "hybrid", "FCFS"))
        assert max(trace(chart, "ideal").y) <= top


def test_line_ends_are_named_and_the_limit_only_where_it_is_seen():
    labels = names(speed_up_chart(curves(), LIGHT))
    assert set(labels) == {"exact", "hybrid", "FCFS", "limit 2.7x"}
    assert "bound" in names(speed_up_chart(curves(FAST, 3), LIGHT))
    far = StepTimes(worker_s=1.0, uplink_s=0.1, server_s=0.0, downlink_s=0.0)
    assert "limit" not in " ".join(
        note.text for note in speed_up_chart(curves(far, 6), LIGHT).figure.layout.annotations
    )


def test_measurements_are_dots_where_their_workers_lie():
    measured = Measurements(np.array([1, 3, 40]), np.array([5.0, 10.0, 11.0]))
    chart = speed_up_chart(curves(nodes=6, measured=measured), LIGHT)
    dots = trace(chart, "measured")
    assert dots.x.tolist() == [2, 4]  # 1 and 3 workers with a server node; 40 are beyond the chart
    assert dots.y.tolist() == [1.0, 2.0]
    assert "1 measurement beyond 6 nodes is not drawn" in chart.alt
    shared = SpeedCurves(dict.fromkeys(NETWORKS, PAPER), Layout(6, 1, shared_server=True), MEASURED, 0.01, measured)
    assert trace(speed_up_chart(shared, LIGHT), "measured").x.tolist() == [1, 3]


def test_station_shares_are_stacked_to_all():
    chart = station_chart(curves(), LIGHT)
    heights = np.sum([trace.y for trace in chart.figure.data], axis=0)
    assert heights == pytest.approx(np.full(16, 100.0))
    assert chart.figure.layout.title.text == "On 8 nodes 90.6% of a step is on the links"
    fitted = curves(measured=Measurements(np.array([1, 2]), np.array([5.2, 9.1])))
    assert station_chart(fitted, LIGHT).figure.layout.title.text == "On 8 nodes 94.8% of a step is at links or server"
    assert [trace.name for trace in chart.figure.data] == ["worker", "uplink", "server", "downlink"]


@given(st.lists(st.floats(0, 100), max_size=6).map(sorted), st.floats(0.1, 10))
def test_labels_are_apart_in_order_and_below_the_top(values, least):
    places = moved_apart(values, least, 200.0)
    assert len(places) == len(values)
    assert all(after - before >= least * (1 - 1e-9) for before, after in pairwise(places))
    assert all(place <= 200.0 for place in places)


def test_labels_move_as_little_as_needed():
    assert moved_apart([1.0, 5.0], 2.0, 10.0) == [1.0, 5.0]
    assert moved_apart([4.0, 4.0], 2.0, 10.0) == [3.0, 5.0]
    assert moved_apart([9.5, 9.6], 2.0, 10.0) == [7.0, 9.0]
