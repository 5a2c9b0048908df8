"""Rows of jobs that change their width: one scale, numbers where they change, requests, words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.figures import elastic, jobs
from dlsched.figures.bars import whole_pieces
from dlsched.figures.hover import THEN
from dlsched.figures.palette import LIGHT
from dlsched.sim.log import PieceEnd


def facts(*ids: str, gpus: float = 1.0, submit_s: float = 0.0) -> pd.DataFrame:
    none = {"due_s": np.nan, "left_s": 1000.0, "gpus": gpus}
    return pd.DataFrame({"job_id": ids, "submit_s": submit_s, "first_start_s": submit_s} | none)


def held(*rows: tuple[str, float, float, int], gpus: float = 1.0) -> pd.DataFrame:
    """Return shares of pieces (job, from, to, nodes), each on the nodes 0, 1, ... with these GPUs."""
    shares = [(job, node, a, b, gpus, np.nan, a, "resized") for job, a, b, nodes in rows for node in range(nodes)]
    columns = ["job_id", "node", "start_s", "end_s", "gpus", "due_s", "progress_from_s", "end_reason"]
    return pd.DataFrame(shares, columns=columns)


def trace(chart: Any, name: str) -> Any:
    return next(trace for trace in chart.figure.data if trace.name == name)


def test_bar_heights_are_nodes_on_one_scale_and_stand_on_the_foot_of_their_row() -> None:
    work = held(("a", 0, 500, 2), ("a", 500, 1000, 8), ("b", 0, 1000, 4))
    chart = jobs.job_bars(facts("a", "b"), work, LIGHT, 0, 1000)
    running = trace(chart, "running")
    assert running.width.tolist() == pytest.approx([0.9 * 2 / 8, 0.9 * 4 / 8, 0.9])  # by start: a, b, a
    assert (running.y + running.width / 2).tolist() == pytest.approx([0.45, 1.45, 0.45])
    assert "bar height = nodes allocated (tallest 8)" in chart.figure.layout.title.text
    assert chart.alt.endswith("They have 2 to 8 nodes and change 1 time.")
    columns = ["fewest nodes allocated", "most nodes allocated", "changes of GPU count"]
    assert chart.table[columns].to_numpy().tolist() == [[2, 8, 1], [4, 4, 0]]


def test_where_nodes_have_several_gpus_those_are_counted() -> None:
    work = held(("a", 0, 500, 1), ("a", 500, 1000, 2), gpus=4.0)
    chart = jobs.job_bars(facts("a", gpus=4.0), work, LIGHT, 0, 1000)
    assert "bar height = GPUs allocated (tallest 8)" in chart.figure.layout.title.text


def test_jobs_on_whole_nodes_of_several_gpus_are_told_in_nodes() -> None:
    work = held(("a", 0, 500, 1), ("a", 500, 1000, 2), gpus=8.0)
    chart = jobs.job_bars(facts("a", gpus=8.0), work, LIGHT, 0, 1000, node_gpus=8.0)
    assert chart.figure.layout.title.text == "1 job: waiting, running, bar height = nodes allocated (tallest 2)"
    assert trace(chart, "nodes allocated").text.tolist() == ["1", "2"]
    assert trace(chart, "running").width.tolist() == pytest.approx([0.45, 0.9])
    assert chart.alt.endswith("They have 1 to 2 nodes and change 1 time.")
    assert chart.table[["fewest nodes allocated", "most nodes allocated"]].to_numpy().tolist() == [[1, 2]]
    parts = jobs.job_bars(facts("a", gpus=8.0), work, LIGHT, 0, 1000, node_gpus=16.0)
    assert "GPUs allocated (tallest 16)" in parts.figure.layout.title.text


def test_numbers_stand_where_the_width_changes_and_there_is_room() -> None:
    # 2 until 400, broken off and on again with 2; 8 from 600; 5 for one second only; b is as tall as its row.
    work = held(
        ("a", 0, 300, 2), ("a", 300, 400, 2), ("a", 600, 800, 8), ("a", 800, 801, 5), ("a", 801, 1000, 8),
        ("b", 0, 1000, 10),
    )  # fmt: skip
    numbers = trace(jobs.job_bars(facts("a", "b"), work, LIGHT, 0, 1000), "nodes allocated")
    at = sorted(zip((60 * numbers.x).round().tolist(), numbers.text.tolist(), strict=True))
    assert at == [(0, "10"), (0, "2"), (600, "8"), (801, "8")]
    spots = dict(zip(numbers.text, numbers.textposition, strict=True))
    assert spots == {"2": "top right", "8": "top right", "10": "bottom right"}


def test_a_number_in_a_bar_has_the_ink_of_that_bar() -> None:
    work = held(("a", 0, 500, 9), ("a", 500, 1000, 10)).assign(due_s=400.0)
    numbers = trace(jobs.job_bars(facts("a"), work, LIGHT, 0, 1000), "nodes allocated")
    assert list(numbers.textfont.color) == ["#ffffff", "#0e1117"]  # on blue, on the orange of what is past due


def test_the_request_is_outlined_and_none_is_drawn_where_machines_are_rented() -> None:
    work = held(("a", 0, 500, 2), ("a", 500, 1000, 8)).assign(gpu_type="K80")
    outline = trace(jobs.job_bars(facts("a", gpus=4.0), work, LIGHT, 0, 1000), "GPUs requested")
    assert outline.y[:4].tolist() == pytest.approx([0.45, 0.0, 0.0, 0.45])
    assert (60 * outline.x[5:9]).tolist() == pytest.approx([500, 500, 1000, 1000])
    low = jobs.job_bars(facts("a", gpus=0.5), work, LIGHT, 0, 1000)
    rented = jobs.job_bars(facts("a"), work, LIGHT, 0, 1000, machines=("K80",))
    for chart in (low, rented):
        assert "GPUs requested" not in [trace.name for trace in chart.figure.data]
    assert "GPUs allocated" in rented.figure.layout.title.text


def test_a_width_fixed_at_the_start_is_drawn_when_it_is_not_the_one_asked_for() -> None:
    chart = jobs.job_bars(facts("a", "b"), held(("a", 0, 1000, 6), ("b", 0, 1000, 3)), LIGHT, 0, 1000)
    assert trace(chart, "running").width.tolist() == pytest.approx([0.9, 0.45])


def test_rigid_jobs_keep_bars_of_one_height() -> None:
    chart = jobs.job_bars(facts("a", gpus=2.0), held(("a", 0, 1000, 2)), LIGHT, 0, 1000)
    assert trace(chart, "running").width.tolist() == [pytest.approx(0.72)]
    assert "height" not in chart.figure.layout.title.text
    assert "changes of GPU count" not in chart.table


def test_jobs_that_only_wait_have_a_row_too() -> None:
    chart = jobs.job_bars(facts("a", "b"), held(("a", 0, 500, 2), ("a", 500, 1000, 8)), LIGHT, 0, 1000)
    assert chart.table["changes of GPU count"].tolist() == [1, 0]
    assert np.isnan(chart.table["most nodes allocated"][1])


widths = st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 9), st.booleans()), min_size=1, max_size=30)


@given(widths)
def test_changes_are_those_of_each_job_in_the_order_of_time(steps: list[tuple[str, int, bool]]) -> None:
    work = held(*[(job, 10.0 * i, 10.0 * i + 10, nodes) for i, (job, nodes, _) in enumerate(steps)])
    pieces = whole_pieces(work).sample(frac=1, random_state=1).reset_index(drop=True)
    row = np.array(["abc".index(job) for job in pieces["job_id"]], dtype=np.float64)
    marked = pieces[elastic.changes(pieces, row)].sort_values("start_s")
    for job in "abc":
        mine = [nodes for name, nodes, _ in steps if name == job]
        wanted = [nodes for i, nodes in enumerate(mine) if i == 0 or nodes != mine[i - 1]]
        assert marked.loc[marked["job_id"] == job, "gpus"].tolist() == wanted


def test_every_end_of_a_piece_has_words() -> None:
    assert set(THEN) == {end.name.lower() for end in PieceEnd}
