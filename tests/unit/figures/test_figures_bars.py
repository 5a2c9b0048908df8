"""Bars of a window: lanes, limits, and one job's story."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.figures import bars, jobs
from dlsched.figures.hover import hover_rows
from dlsched.figures.lanes import lanes
from dlsched.figures.palette import LIGHT

COLUMNS = ["job_id", "node", "start_s", "end_s", "gpus", "due_s", "progress_from_s", "end_reason"]


def pieces(*rows):
    return pd.DataFrame(rows, columns=COLUMNS)


def traces(chart, kind="bar"):
    return {trace.name: trace for trace in chart.figure.data if trace.type == kind}


shares = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 20), st.integers(1, 10), st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0])),
    max_size=25,
)


@given(shares)
def test_lanes_never_overlap_and_hold_all_gpus(rows):
    given_rows = pieces(*[(f"j{i}", n, s, s + d, g, np.nan, s, "") for i, (n, s, d, g) in enumerate(rows)])
    drawn = lanes(given_rows)
    cells = [
        (row["node"], lane, time)
        for row in drawn.to_dict("records")
        for lane in range(row["lane"], row["lane"] + row["height"])
        for time in range(int(row["start_s"]), int(row["end_s"]))
    ]
    assert len(cells) == len(set(cells))
    wanted = np.maximum(np.ceil(given_rows["gpus"].to_numpy(float)), 1).sum()
    assert drawn["height"].sum() == wanted


def test_lanes_stay_together_where_there_is_room():
    # At 10 the lanes 1, 3 and 4 are free, but only 3 and 4 side by side.
    work = pieces(
        ("a", 0, 0, 50, 1, np.nan, 0, ""),
        ("b", 0, 1, 10, 1, np.nan, 0, ""),
        ("c", 0, 2, 50, 1, np.nan, 0, ""),
        ("d", 0, 3, 10, 2, np.nan, 0, ""),
        ("e", 0, 10, 20, 2, np.nan, 0, ""),
        ("f", 0, 10, 20, 1, np.nan, 0, ""),
    )
    drawn = lanes(work).set_index("job_id")
    assert drawn["lane"].to_dict() == {"a": 0, "b": 1, "c": 2, "d": 3, "e": 3, "f": 1}
    assert drawn.loc["e", "height"] == 2


def test_a_job_that_goes_on_keeps_its_lanes():
    # At 10 the machine changes under a and b, b first in the order of ends, and c comes; at 20 b grows, a shrinks.
    work = pieces(
        ("a", 0, 0, 10, 2, np.nan, 0, ""),
        ("b", 0, 0, 10, 1, np.nan, 0, ""),
        ("b", 0, 10, 20, 1, np.nan, 0, ""),
        ("c", 0, 10, 20, 1, np.nan, 0, ""),
        ("a", 0, 10, 20, 2, np.nan, 0, ""),
        ("b", 0, 20, 30, 3, np.nan, 0, ""),
        ("a", 0, 20, 30, 1, np.nan, 0, ""),
    )
    drawn = lanes(work).sort_values(["job_id", "start_s", "lane"])
    got = [tuple(row) for row in drawn[["job_id", "start_s", "lane", "height"]].to_numpy()]
    assert got == [
        ("a", 0, 0, 2), ("a", 10, 0, 2), ("a", 20, 0, 1),
        ("b", 0, 2, 1), ("b", 10, 2, 1), ("b", 20, 1, 3),
        ("c", 10, 3, 1),
    ]  # fmt: skip


def test_nobody_keeps_a_lane_the_smaller_machine_does_not_have():
    work = pieces(
        ("a", 0, 0, 10, 2, np.nan, 0, ""),
        ("b", 0, 0, 10, 2, np.nan, 0, ""),
        ("b", 0, 10, 20, 1, np.nan, 0, ""),
    )
    drawn = lanes(work.assign(vm_gpus=[4.0, 4.0, 2.0]))
    assert drawn["lane"].tolist() == [0, 2, 0]


def test_a_piece_past_due_is_cut_at_the_due_time():
    chart = bars.node_bars(pieces(("a", 0, 0, 3600, 8, 1800, 0, "completed")), LIGHT, 0, 3600)
    running, late = traces(chart)["running"], traces(chart)["running late"]
    assert (running.base[0], running.x[0]) == (0, pytest.approx(30))
    assert (late.base[0], late.x[0]) == (pytest.approx(30), pytest.approx(30))
    assert late.marker.pattern.shape == "/"


def test_bars_are_cut_at_the_window_and_strangers_left_out():
    work = pieces(("a", 0, 0, 1000, 1, np.nan, 0, "preempted"), ("b", 0, 5000, 6000, 1, np.nan, 5000, ""))
    chart = bars.node_bars(work, LIGHT, 100, 700)
    running = traces(chart)["running"]
    assert len(running.x) == 1
    assert running.base[0] * 60 == pytest.approx(100)
    assert running.x[0] * 60 == pytest.approx(600)
    assert "stopped for another" not in traces(chart, "scatter")


def test_idle_nodes_and_free_gpus_are_shown():
    work = pieces(("a", 3, 0, 100, 2, np.nan, 0, ""))
    chart = bars.node_bars(work, LIGHT, 0, 100, gpus_of_node={2: 8.0, 3: 8.0})
    assert list(chart.figure.layout.yaxis.ticktext) == ["n2", "n3"]
    assert len(traces(chart)["free GPUs"].y) == 2
    assert traces(chart)["running"].width[0] == pytest.approx(0.9 * 2 / 8)


def test_the_hover_text_names_job_width_times_wait_due_and_cost():
    work = pieces(("a", 7, 0, 7200, 4, 3600, 0, "")).assign(user="ana", job_class="cv", wait_s=60.0, cost=31.0)
    work["because"] = "not enough GPUs free"
    job, title, width, times, rest = hover_rows(work)[0]
    assert job == "a"
    assert title == "a, user ana, class cv"
    assert width == "4 GPUs on n7"
    assert times == "day 0, 00:00 to day 0, 02:00, lasted 2 h"
    _, _, width, times, _ = hover_rows(work.assign(rate=6.25, end_reason="resized"))[0]
    assert width == "4 GPUs on n7, 6.25 units of work/s"
    assert times == "day 0, 00:00 to day 0, 02:00, lasted 2 h, then its width changed"
    assert rest == "waited 1 min, because: not enough GPUs free; due day 0, 01:00, late by 1 h; job's cost $31.00"


def test_never_more_bars_than_the_browser_can_draw():
    rng = np.random.default_rng(1)
    start = rng.uniform(0, 1000, 4000)
    end = start + rng.uniform(1, 100, 4000)
    work = pd.DataFrame(
        {
            "job_id": [f"j{i}" for i in range(4000)],
            "node": rng.integers(0, 90, 4000),
            "start_s": start,
            "end_s": end,
            "gpus": rng.integers(1, 9, 4000),
            "due_s": start + 5,
            "progress_from_s": start + 3,
            "end_reason": "completed",
        }
    )
    drawn = bars.node_bars(work, LIGHT, 0, 1000)
    assert 2900 < sum(len(trace.y) for trace in traces(drawn).values()) <= bars.MAX_BARS
    assert "left out" in drawn.figure.layout.title.text
    assert len(drawn.figure.layout.yaxis.ticktext) == bars.MAX_BAR_ROWS
    by_user = bars.node_bars(work.assign(user="ana"), LIGHT, 0, 1000, colour_by="user")
    assert sum(len(trace.y) for trace in traces(by_user).values()) <= bars.MAX_BARS
    facts = work.rename(columns={"start_s": "submit_s"}).assign(first_start_s=start, left_s=end)
    by_job = jobs.job_bars(facts, work, LIGHT, 0, 1000)
    assert sum(len(trace.y) for trace in traces(by_job).values()) <= bars.MAX_BARS


def test_vm_types_are_written_in_the_bar():
    work = pieces(("a", 0, 0, 100, 4, np.nan, 0, "")).assign(gpu_type="A100")
    chart = bars.node_bars(work, LIGHT, 0, 100, colour_by="gpu_type")
    assert traces(chart)["A100"].text.tolist() == ["A100 x4"]


def test_with_jobs_adds_facts_and_the_longest_reason():
    work = pd.DataFrame({"job_id": ["a", "b"], "node": [0, 1]})
    facts = pd.DataFrame({"job_id": ["b", "a"], "user": ["ben", "ana"], "due_s": [5.0, np.nan], "wait_s": [1.0, 9.0]})
    waits = pd.DataFrame(
        {"job_id": ["a", "a", "a"], "from_s": [0, 2, 5], "to_s": [2, 5, 7], "reason": ["behind", "no_room", "behind"]}
    )
    joined = bars.with_jobs(work, facts, waits)
    assert joined["user"].tolist() == ["ana", "ben"]
    assert joined["because"].tolist() == ["behind an earlier job in the queue", ""]


def test_with_jobs_by_row_is_as_by_name():
    work = pd.DataFrame({"job_id": ["b", "a", "b"], "row": [1, 0, 1]}, index=[4, 7, 9])
    facts = pd.DataFrame({"job_id": ["a", "b"], "row": [0, 1], "user": ["ana", "ben"], "due_s": [np.nan, 5.0]})
    by_row = bars.with_jobs(work, facts)
    assert by_row["user"].tolist() == ["ben", "ana", "ben"]
    pd.testing.assert_frame_equal(by_row, bars.with_jobs(work, facts.drop(columns="row")))
    shuffled = facts.iloc[::-1]  # rows that are not in order are joined by name
    pd.testing.assert_frame_equal(by_row, bars.with_jobs(work, shuffled))


def test_shares_of_a_piece_become_one_bar():
    work = pieces(*[("a", node, 0, 100, 8, np.nan, 0, "") for node in (5, 3, 9, 7)])
    whole = bars.whole_pieces(work)
    assert whole["gpus"].tolist() == [32]
    assert whole["nodes"].tolist() == ["4 nodes (n3, n5, n7 and 1 more)"]
    assert whole["num_nodes"].tolist() == [4]


def test_equal_names_stay_separate_rows():
    long = "x" * 40
    facts = pd.DataFrame(
        {"job_id": [long + "1", long + "2"], "submit_s": 0.0, "first_start_s": np.nan, "due_s": np.nan, "left_s": 50.0}
    )
    chart = jobs.job_bars(facts, pieces(), LIGHT, 0, 100)
    assert traces(chart)["waiting"].y.tolist() == [0, 1]
    assert len(chart.figure.layout.yaxis.ticktext) == 2


def test_the_story_of_a_job_has_no_gaps():
    job = pd.Series({"job_id": "a", "submit_s": 0.0, "left_s": 100.0, "gpus": 8.0, "due_s": 90.0})
    work = pieces(("a", 1, 30, 50, 8, 90, 30, "preempted"), ("a", 2, 70, 100, 8, 90, 70, "completed"))
    waits = pd.DataFrame(
        {"from_s": [5.0, 20.0, 50.0], "to_s": [20.0, 30.0, 70.0], "reason": ["behind", "no_room", "preempted"]}
    )
    spans = jobs.job_spans(job, work, waits, until_s=500.0)
    assert list(spans[["from_s", "to_s", "what", "reason"]].itertuples(index=False, name=None)) == [
        (0, 5, "waiting", "not_recorded"),
        (5, 20, "waiting", "behind"),
        (20, 30, "waiting", "no_room"),
        (30, 50, "running", ""),
        (50, 70, "stopped", "preempted"),
        (70, 100, "running", ""),
    ]


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9), st.sampled_from(["behind", "no_room"])), max_size=6))
def test_spans_of_a_waiting_job_follow_each_other(entries):
    job = pd.Series({"job_id": "a", "submit_s": 3.0, "left_s": np.nan, "gpus": 8.0, "due_s": np.nan})
    waits = pd.DataFrame([(float(a), float(a + d), r) for a, d, r in entries], columns=["from_s", "to_s", "reason"])
    spans = jobs.job_spans(job, pieces(), waits, until_s=30.0)
    assert spans["from_s"].iloc[0] == 3
    assert spans["to_s"].iloc[-1] == 30
    assert (spans["to_s"].iloc[:-1].to_numpy() == spans["from_s"].iloc[1:].to_numpy()).all()
    assert (spans["to_s"] > spans["from_s"]).all()


def test_a_job_that_leaves_at_once_has_a_story_too():
    job = pd.Series(
        {"job_id": "a", "submit_s": 10.0, "left_s": 10.0, "gpus": 8.0, "due_s": np.nan, "status": "rejected"}
    )
    chart = jobs.job_timeline(job, pieces(), pd.DataFrame(columns=["from_s", "to_s", "reason"]), LIGHT, 10.0)
    assert chart.alt == "a waited 0 s, ran 0 s, in 0 pieces."
