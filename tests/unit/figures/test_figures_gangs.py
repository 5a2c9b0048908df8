"""Pictures of jobs with parameter servers: what a bar says, and that servers without GPUs are seen."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dlsched.figures import bars, jobs, raster
from dlsched.figures.cluster import demand
from dlsched.figures.hover import hover_rows
from dlsched.figures.lanes import lanes
from dlsched.figures.palette import LIGHT
from dlsched.workload.import_report import in_seconds
from tests.support.server_scenarios import training, with_servers

NO_ABSENCE = pd.DataFrame({"node": [], "start_s": [], "end_s": []}, dtype=float)
COLUMNS = ["job_id", "node", "start_s", "end_s", "workers", "servers", "gpus", "due_s", "progress_from_s", "end_reason"]


def pieces(*rows):
    return pd.DataFrame(rows, columns=COLUMNS)


SPLIT = pieces(
    ("a", 0, 0.0, 100.0, 3, 0, 6.0, np.nan, 0.0, "completed"), ("a", 1, 0.0, 100.0, 0, 2, 0.0, np.nan, 0.0, "completed")
)


def test_a_bar_says_what_its_node_holds_of_the_gang():
    assert [row[2] for row in hover_rows(SPLIT)] == ["6 GPUs on n0", "2 servers on n1"]
    whole = bars.whole_pieces(SPLIT)
    assert (whole["workers"].tolist(), whole["servers"].tolist()) == ([3], [2])
    assert hover_rows(whole)[0][2] == "3 workers, 2 servers, 6 GPUs on n0, n1"


def test_jobs_without_servers_speak_of_gpus_only():
    plain = pieces(("a", 0, 0.0, 100.0, 3, 0, 6.0, np.nan, 0.0, "completed"))
    assert hover_rows(plain)[0][2] == "6 GPUs on n0"
    assert "workers" not in bars.readable(plain)
    assert bars.readable(SPLIT)["servers"].tolist() == [0, 2]


def test_a_node_with_servers_only_has_a_bar_that_is_seen():
    chart = bars.node_bars(SPLIT, LIGHT, 0, 100, gpus_of_node={0: 600.0, 1: 600.0})
    (running,) = [trace for trace in chart.figure.data if trace.name == "running"]
    row_px = min(2.5 * 600, 640 / 2)  # taller than usual: many GPUs, few rows
    assert running.width * row_px == pytest.approx([0.9 * 6 / 600 * row_px, 0.9 * 10 / 600 * row_px], rel=1e-5)
    assert (running.width * row_px)[1] > 4
    assert chart.figure.layout.height == 110 + 2 * row_px


def test_usual_nodes_are_as_tall_as_before():
    chart = bars.node_bars(SPLIT, LIGHT, 0, 100, gpus_of_node=dict.fromkeys(range(4), 8.0))
    (running,) = [trace for trace in chart.figure.data if trace.name == "running"]
    assert running.width == pytest.approx([0.9 * 6 / 8, 0.9 / 8])
    assert chart.figure.layout.height == 110 + 4 * bars.ROW_PX


def test_least_lanes_are_for_those_that_say_so():
    drawn = lanes(SPLIT.assign(node=0, least_lanes=[1.0, 3.0]))
    assert drawn[["lane", "height"]].to_numpy().tolist() == [[0, 6], [6, 3]]


def test_the_overview_shows_a_node_with_servers_only():
    got = raster.node_raster(SPLIT, np.array([8.0, 8.0, 8.0]), NO_ABSENCE, 0, 200, most_bins=2)
    assert got.cell.tolist() == [[raster.BUSY, raster.IDLE], [raster.PARTLY, raster.IDLE], [raster.IDLE, raster.IDLE]]
    assert got.held_share == pytest.approx(6 * 100 / (24 * 200))  # it holds no GPU
    by_user = SPLIT.assign(user=["ana", "ben"])
    groups = raster.node_raster(by_user, np.array([8.0, 8.0]), NO_ABSENCE, 0, 200, colour_by="user", most_bins=2)
    assert groups.legend[1:3] == ("ana", "ben")
    assert groups.cell.tolist() == [[1, 0], [2, 0]]


def test_servers_past_due_are_late_too():
    late = pieces(("a", 0, 0.0, 100.0, 0, 2, 0.0, 50.0, 0.0, "completed"))
    got = raster.node_raster(late, np.array([8.0]), NO_ABSENCE, 0, 100, most_bins=2)
    assert got.cell.tolist() == [[raster.PARTLY, raster.LATE]]


@pytest.mark.parametrize(
    ("gpus", "title"), [(2.0, "GPUs allocated"), (0.0, "Workers allocated")], ids=["GPUs", "no GPUs"]
)
def test_the_story_of_a_gang_names_workers_and_servers(gpus, title):
    job = pd.Series({"job_id": "a", "submit_s": 0.0, "left_s": 100.0, "gpus": 3 * gpus, "due_s": np.nan})
    work = SPLIT.assign(gpus=[3 * gpus, 0.0])
    waits = pd.DataFrame({"from_s": [], "to_s": [], "reason": []})
    chart = jobs.job_timeline(job, work, waits, LIGHT, 100.0)
    (running,) = [trace for trace in chart.figure.data if trace.name == "running"]
    assert running.text.tolist() == ["3 workers, 2 servers"]
    assert running.width == pytest.approx([3 * gpus if gpus else 3.0])
    assert chart.figure.layout.yaxis.title.text == title
    assert chart.table[["workers", "servers"]].to_numpy().tolist() == [[3, 2]]


def test_rows_of_gangs_are_as_tall_as_their_workers():
    work = pd.concat([SPLIT, pieces(("b", 0, 0.0, 50.0, 6, 1, 0.0, np.nan, 0.0, "completed"))], ignore_index=True)
    facts = pd.DataFrame(
        {"job_id": ["a", "b"], "submit_s": 0.0, "first_start_s": 0.0, "left_s": [100.0, 50.0], "due_s": np.nan,
         "gpus": [2.0, 0.0]}
    )  # fmt: skip
    chart = jobs.job_bars(facts, work, LIGHT, 0, 100)
    named = {trace.name: trace for trace in chart.figure.data}
    assert named["running"].width == pytest.approx([0.45, 0.9])  # 3 and 6 workers
    assert list(named["workers allocated"].text) == ["3", "6"]
    assert "requested width" not in named  # what was asked for is not in the table of jobs
    assert [row[2] for row in named["running"].customdata] == [
        "3 workers, 2 servers, 6 GPUs on n0, n1",
        "6 workers, 1 server on n0",
    ]
    assert "They have 3 to 6 workers" in chart.alt


def test_demand_of_another_resource_lasts_as_long_as_jobs_that_come_at_once():
    # both come at 0: 5 and 7 CPUs of 10, for 60 and 120 s
    given = in_seconds(with_servers(training((0, 10, 2, 1), (0, 20, 3, 1))))
    chart = demand(given, 10.0, LIGHT, bins=241, amounts=np.array([5.0, 7.0]), unit="CPUs")
    assert chart.table["CPUs requested"].tolist() == [12.0] * 120 + [7.0] * 120 + [0.0]
    assert chart.alt == "Demand exceeds the 10 CPUs 49.8% of the time; its peak is 12 CPUs."
    assert chart.figure.layout.yaxis.title.text == "CPUs requested"
