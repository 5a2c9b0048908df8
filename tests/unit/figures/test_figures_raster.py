"""Rasters against sums over every interval and bin."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.figures import raster

NO_ABSENCE = pd.DataFrame({"node": [], "start_s": [], "end_s": []}, dtype=float)


def pieces(rows, columns="node start_s end_s gpus due_s user"):
    return pd.DataFrame(rows, columns=columns.split())


@st.composite
def intervals(draw):
    lines, bins = draw(st.integers(1, 3)), draw(st.integers(1, 7))
    time = st.floats(-5, 15, allow_nan=False)
    rows = draw(st.lists(st.tuples(st.integers(0, lines - 1), time, time, st.floats(0.1, 8)), max_size=12))
    return lines, bins, [(line, min(a, b), max(a, b), weight) for line, a, b, weight in rows]


def covered_one_by_one(lines, bins, rows, from_s, to_s):
    edges = np.linspace(from_s, to_s, bins + 1)
    expected = np.zeros((lines, bins))
    for line, start, end, weight in rows:
        for place in range(bins):
            inside = min(end, edges[place + 1]) - max(start, edges[place])
            expected[line, place] += weight * max(inside, 0.0) / (edges[place + 1] - edges[place])
    return expected


@given(intervals())
def test_overlap_is_the_sum_over_every_interval_and_bin(case):
    lines, bins, rows = case
    columns = [np.array(values, dtype=float) for values in zip(*rows, strict=True)] or [np.zeros(0)] * 4
    line, start, end, weight = columns
    got = raster.overlap(line.astype(np.int64), start, end, weight, lines, bins, 0.0, 10.0)
    np.testing.assert_allclose(got, covered_one_by_one(lines, bins, rows, 0.0, 10.0), atol=1e-9)


def test_states_of_one_node_by_hand():
    # 8 GPUs, 10 bins of 10 s: held 8 in bins 0-1, past due from 15 s; 2 of 8 in bins 4-5; nothing after; away in bin 9.
    work = pieces([(0, 0, 20, 8, 15, "ana"), (0, 40, 60, 2, np.nan, "ben")])
    away = pd.DataFrame({"node": [0], "start_s": [90.0], "end_s": [np.inf]})
    got = raster.node_raster(work, np.array([8.0]), away, 0, 100, most_bins=10)
    idle, partly, busy, late, down = range(5)
    assert got.cell[0].tolist() == [busy, late, idle, idle, partly, partly, idle, idle, idle, down]
    assert got.held_share == pytest.approx((8 * 20 + 2 * 20) / (8 * 90))
    assert got.bin_s == 10
    assert got.cell.dtype == np.uint8


def test_groups_show_the_larger_holder_and_the_rest_is_other():
    work = pieces([(0, 0, 10, 6, np.nan, "ana"), (0, 0, 10, 2, np.nan, "ben"), (0, 10, 20, 1, np.nan, "chen")])
    got = raster.node_raster(
        work, np.array([8.0]), NO_ABSENCE, 0, 30, colour_by="user", groups=["ana", "ben"], most_bins=3
    )
    assert got.legend == ("idle", "ana", "ben", "other", "down")
    assert got.cell[0].tolist() == [1, 3, 0]


def test_groups_keep_their_colour_when_the_window_moves():
    work = pieces([(0, 0, 10, 1, np.nan, "zoe"), (0, 10, 90, 1, np.nan, "ana")])
    top = raster.top_groups(work, "user")
    early = raster.node_raster(work, np.array([1.0]), NO_ABSENCE, 0, 10, colour_by="user", groups=top)
    assert top == ("ana", "zoe")
    assert set(early.cell[0]) == {2}


def test_top_groups_are_those_with_most_gpu_time():
    work = pieces([(0, 0, 10, 8, np.nan, "a"), (0, 0, 100, 1, np.nan, "b"), (0, 0, 1, 1, np.nan, "c")])
    assert raster.top_groups(work, "user", most=2) == ("a", "b")


def test_many_nodes_share_a_line_and_none_is_lost():
    nodes = 1000
    work = pieces([(node, 0, 100, 8, np.nan, "") for node in range(nodes)])
    got = raster.node_raster(work, np.full(nodes, 8.0), NO_ABSENCE, 0, 100)
    assert got.rows_per_line == 3
    assert got.cell.shape == (334, 100)
    assert (got.held == 1).all()
    assert got.row_labels[-1] == "n999–n999"
    assert got.row_labels[0] == "n0–n2"


def test_a_window_of_nodes_leaves_the_others_out():
    work = pieces([(4, 0, 100, 8, np.nan, ""), (5, 0, 100, 8, np.nan, "")])
    got = raster.node_raster(work, np.array([8.0, 8.0]), NO_ABSENCE, 0, 100, first_node=5)
    assert got.row_labels == ("n5", "n6")
    assert got.held.mean(axis=1).tolist() == [1.0, 0.0]


def test_cpu_nodes_count_as_one_unit():
    work = pieces([(0, 0, 50, 0, np.nan, "")])
    got = raster.node_raster(work, np.array([0.0]), NO_ABSENCE, 0, 100, most_bins=2)
    assert got.held[0].tolist() == [1.0, 0.0]


def test_no_segments_at_all_is_an_idle_picture():
    got = raster.node_raster(pieces([]), np.array([8.0]), NO_ABSENCE, 0, 10)
    assert (got.cell == raster.IDLE).all()
    assert got.held_share == 0


def test_use_by_group_adds_up_to_all_that_is_held():
    work = pieces([(0, 0, 10, 4, np.nan, "a"), (1, 5, 20, 2, np.nan, "b"), (1, 0, 20, 1, np.nan, "c")])
    held = raster.group_use(work, "user", ["a"], 0, 20, 4)
    np.testing.assert_allclose(held, [[4, 4, 0, 0], [1, 3, 3, 3]])
