"""The timeline of one iteration: bars where the simulation has them, a title with the time, a table with all."""

from __future__ import annotations

import numpy as np
import pytest

from dlsched.figures.palette import DARK, LIGHT
from dlsched.figures.pipeline import MOST_BARS, timeline
from dlsched.speed.pipeline import OVERLAPS, Layers

HAND = Layers([4.0, 1.0], [2.0, 1.0], [3.0, 5.0], 0.5)


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_bars_by_hand(theme):
    chart = timeline(HAND, "wait-free", theme)
    bars = {
        trace.name: list(zip(trace.text, trace.base, np.add(trace.base, trace.x).tolist(), strict=True))
        for trace in chart.figure.data
    }
    assert bars == {
        "backward": [("2", 0, 1), ("1", 1, 3)],
        "push gradients": [("2", 1, 6), ("1", 6, 9)],
        "pull parameters": [("2", 6, 11), ("1", 11, 14)],
        "forward": [("1", 14, 18), ("2", 18, 19)],
    }
    assert list(chart.figure.layout.yaxis.ticktext) == ["compute", "push", "pull"]
    assert chart.figure.layout.xaxis.title.text == "Time since backward began (seconds)"
    assert chart.figure.layout.title.text == (
        "One iteration, wait-free transfers: 19 s, 20.8% less than one after the other"
    )
    assert chart.alt == (
        "One iteration of 2 layers, wait-free transfers: 19 s, 20.8% less than one after the other; it waits for 100% "
        "of forward, 33.3% of backward and 81.2% of the transfers."
    )
    assert chart.table["layer"].tolist() == [2, 1, 2, 1, 2, 1, 1, 2]
    assert chart.table["end, s"].tolist() == [1, 3, 6, 9, 11, 14, 18, 19]


def test_what_slices_add_is_said():
    # push 2 in slices of 2 from 1: layer 1, ready at 3.5, waits for the slice of 3..5; pushed at 8, pulled at 10
    chart = timeline(Layers([4.0, 1.0], [2.5, 1.0], [3.0, 5.0], 2.0), "priority", LIGHT)
    # and forward ends at 15; the formula, where layer 1 breaks off, has 3.5 + 3 + 2 + 4 + 1 = 13.5
    assert chart.table["end, s"].max() == 15
    assert chart.alt.endswith("Played in slices of 2 s it ends 1.5 s later.")
    assert chart.figure.layout.xaxis.range[1] == 15
    first = chart.figure.data[1].customdata[0]
    assert first == "layer 2, push gradients<br>1 to 5 seconds, 4 long"


def test_short_iterations_are_in_milliseconds_and_save_nothing_alone():
    chart = timeline(Layers([0.4], [0.2], [0.1]), "sequential", LIGHT)
    assert chart.figure.layout.xaxis.title.text == "Time since backward began (ms)"
    assert chart.figure.layout.title.text == "One iteration, one after the other: 800 ms"
    assert [list(trace.base) for trace in chart.figure.data] == [[0], [200], pytest.approx([300]), [400]]


@pytest.mark.parametrize("overlap", OVERLAPS)
def test_no_times_at_all_is_an_empty_picture(overlap):
    chart = timeline(Layers([0, 0], [0, 0], [0, 0]), overlap, LIGHT)
    assert sum(len(trace.x) for trace in chart.figure.data) == 0
    assert len(chart.table) == 8


def test_of_many_bars_the_longest_are_drawn():
    times = np.random.default_rng(0).random((3, 1000))
    chart = timeline(Layers(*times), "wait-free", LIGHT)
    drawn = np.concatenate([trace.x for trace in chart.figure.data])
    all_of_them = (chart.table["end, s"] - chart.table["start, s"]).to_numpy()
    assert len(chart.table) == 4000
    assert drawn.min() == pytest.approx(np.sort(all_of_them)[-MOST_BARS] / 60)
    assert chart.alt.endswith("1,000 shortest bars left out.")
