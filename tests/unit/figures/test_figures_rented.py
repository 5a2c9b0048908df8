"""Rented machines in pictures: closed is not idle, brackets where a lease begins and ends, bills by machine."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dlsched.figures import bars, costs, gantt, jobs, raster, rented
from dlsched.figures.leases import machines_in_words
from dlsched.figures.palette import DARK, LIGHT
from dlsched.metrics.savings import run_costs
from dlsched.metrics.stats.basis import EXACT_BASIS
from dlsched.metrics.tables import bill_by_machine, late_by_cost

NO_ABSENCE = pd.DataFrame({"node": [], "start_s": [], "end_s": []}, dtype=float)


def pieces(*rows):
    """Return pieces: job, node, from, to, GPUs, VM type, GPU type."""
    names = ["job_id", "node", "start_s", "end_s", "gpus", "vm_type", "gpu_type"]
    frame = pd.DataFrame(rows, columns=names)
    return frame.assign(due_s=np.nan, progress_from_s=frame["start_s"], end_reason="completed")


def leases(*rows):
    """Return leases: node, from, to, VM type, GPU type, GPUs."""
    frame = pd.DataFrame(rows, columns=["node", "start_s", "end_s", "vm_type", "gpu_type", "gpus"])
    return frame.assign(cost=(frame["end_s"] - frame["start_s"]) * frame["gpus"] / 100, usd_per_h=frame["gpus"])


def trace(chart, name):
    return next(trace for trace in chart.figure.data if trace.name == name)


WORK = pieces(("a", 0, 20, 40, 4, "nc24", "K80"), ("b", 0, 60, 80, 1, "nc24", "K80"))
OPEN = leases((0, 10, 80, "nc24", "K80", 4.0))


@pytest.mark.parametrize("colour_by", ["state", "gpu_type"])
def test_a_closed_slot_is_told_from_one_that_is_open_without_a_job(colour_by):
    # 8 GPUs at most; the pieces are on that scale: nc24 in full use fills the slot. 10 bins of 10 s.
    work = WORK.assign(gpus=WORK["gpus"] * 2)
    got = raster.node_raster(work, np.array([8.0, 8.0]), NO_ABSENCE, 0, 100, colour_by=colour_by, leases=OPEN,
                             most_bins=10)  # fmt: skip
    names = [got.legend[code] for code in got.cell[0]]
    full, part = ("allocated", "under half allocated") if colour_by == "state" else ("K80", "K80")
    idle, shut = raster.OPEN_IDLE, raster.CLOSED
    assert names == [shut, idle, full, full, idle, idle, part, part, shut, shut]
    assert {got.legend[code] for code in got.cell[1]} == {shut}
    assert got.held[0].tolist()[6] == 0.25
    chart = gantt.overview(got, LIGHT)
    assert chart.table["closed, not paid for, % of the time"].tolist() == [30, 100]
    assert "1 slot closed throughout" in chart.alt
    assert "1 slot open without a job at times" in chart.alt
    assert chart.figure.layout.title.text.startswith("Slots over time")


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_closed_is_the_ground_of_the_page_and_idle_is_not(theme):
    got = raster.node_raster(WORK, np.array([4.0]), NO_ABSENCE, 0, 100, leases=OPEN, most_bins=10)
    scale = dict(enumerate(tint for _, tint in gantt.overview(got, theme).figure.data[0].colorscale[::2]))
    assert scale[0] == theme.ground
    assert scale[got.legend.index(raster.OPEN_IDLE)] not in (theme.ground, theme.card)


def test_a_short_lease_that_is_fully_held_is_held_where_it_is_most_of_the_bin():
    work, short = pieces(("a", 0, 0, 6, 8, "n", "K")), leases((0, 0, 6, "n", "K", 8.0))
    got = raster.node_raster(work, np.array([8.0]), NO_ABSENCE, 0, 20, leases=short, most_bins=2)
    assert [got.legend[code] for code in got.cell[0]] == ["allocated", raster.CLOSED]


def test_brackets_stand_where_machines_open_close_and_change():
    stays = leases((0, 10, 50, "nc24", "K80", 4.0), (0, 50, 100, "nv6", "M60", 1.0))
    work = pieces(("a", 0, 10, 50, 3, "nc24", "K80"), ("a", 0, 50, 100, 1, "nv6", "M60"))
    chart = bars.node_bars(work, LIGHT, 0, 100, colour_by="gpu_type", groups=("K80", "M60"),
                           gpus_of_node={0: 4.0}, leases=stays)  # fmt: skip
    opened, closed = trace(chart, "[ opens"), trace(chart, "] closes")
    assert [opened.x[1], opened.x[6]] == [10, 50]
    assert [closed.x[1], closed.x[6]] == [50, 100]
    assert opened.x[0] > opened.x[1]
    assert closed.x[0] < closed.x[1]
    assert [opened.y[2] - opened.y[1], opened.y[7] - opened.y[6]] == pytest.approx([0.9, 0.9 / 4])  # 4 lanes, 1 lane
    assert "nc24" in opened.text[0]
    assert "K80 x4" in opened.text[0]
    band = trace(chart, "rented, no job")
    assert list(band.base) == [10, 50]
    assert {row[0] for row in band.customdata} == {""}  # a click on it opens no job
    assert trace(chart, "K80").text.tolist() == ["K80 x3"]
    assert trace(chart, "K80").marker.color == LIGHT.marks[0]
    assert trace(chart, "M60").marker.color == LIGHT.marks[1]
    assert "2 machines rented: 1 K80 x4, 1 M60 x1" in chart.alt
    assert "on n0, nc24 (K80)" in trace(chart, "K80").customdata[0][2]


def test_a_lease_that_goes_on_beyond_the_window_has_no_bracket_there():
    stays = leases((0, -50, 500, "nc24", "K80", 4.0))
    chart = bars.node_bars(WORK, LIGHT, 0, 100, gpus_of_node={0: 4.0}, leases=stays)
    assert not [t for t in chart.figure.data if (t.name or " ")[0] in "[]"]


def test_many_types_are_counted_in_words():
    stays = leases(*[(0, i, i + 1, f"t{i}", f"T{i}", 1.0) for i in range(6)], (0, 9, 10, "t0", "T0", 1.0))
    assert machines_in_words(stays) == "2 T0 x1, 1 T1 x1, 1 T2 x1, 1 T3 x1 and 2 more types"


def test_the_bill_by_machine_by_hand():
    stays = leases(
        (0, 0, 3600, "nc24", "K80", 4.0), (1, 0, 1800, "nc24", "K80", 4.0), (1, 1800, 3600, "nv6", "M60", 1.0)
    )
    work = pieces(("a", 0, 0, 3600, 3, "nc24", "K80"), ("b", 1, 1800, 3600, 1, "nv6", "M60"))
    table = bill_by_machine(stays, work)
    assert table["vm_type"].tolist() == ["nc24", "nv6"]
    assert table["stays"].tolist() == [2, 1]
    assert table["hours"].tolist() == [1.5, 0.5]
    assert table["gpu_hours"].tolist() == [6.0, 0.5]
    assert table["gpu_hours_held"].tolist() == [3.0, 0.5]
    assert table["cost"].tolist() == [216.0, 18.0]
    chart = rented.bill_bars(table, LIGHT)
    assert "3 GPU-hours were paid for but not allocated" in chart.alt
    assert trace(chart, "M60").marker.color == LIGHT.marks[1]
    alone = rented.bill_bars(table[1:], LIGHT, gpu_types=("K80", "M60"))  # a type keeps its colour where it is alone
    assert trace(alone, "M60").marker.color == LIGHT.marks[1]


def test_what_is_rented_per_hour_adds_up():
    stays = leases((0, 0, 50, "nc24", "K80", 4.0), (1, 25, 100, "nv6", "M60", 1.0))
    chart = rented.rent_over_time(stays, LIGHT, 0, 100, by="gpu_type", groups=("K80", "M60"))
    total = chart.table[["$/h, K80", "$/h, M60", "$/h, other"]].sum(axis=1)
    assert total.max() == 5.0
    assert total.mean() == pytest.approx((4 * 50 + 75) / 100)
    assert "$2.75/h on average, at most $5.00/h" in chart.alt


def test_late_jobs_are_sorted_by_what_they_cost():
    table = pd.DataFrame(
        {"job_id": ["a", "b", "c"], "tardiness_s": [3600.0, 7200.0, 0.0], "tardiness_usd": [50.0, 20.0, 0.0]}
    )
    assert late_by_cost(table)["job_id"].tolist() == ["a", "b"]
    assert late_by_cost(table.assign(tardiness_usd=np.nan))["job_id"].tolist() == ["b", "a"]
    chart = rented.tardiness_bars(late_by_cost(table), LIGHT)
    assert chart.figure.layout.title.text == "2 late jobs cost $70.00"
    assert chart.table["weight, $/h"].tolist() == [50.0, 10.0]


def test_costs_of_runs_stand_against_the_bound():
    runs = [
        ("EDF", [{"total_cost": 100.0, "vm_cost": 60.0, "tardiness_cost": 40.0, "total_cost_bound": 30.0}]),
        ("PR", [{"total_cost": 50.0, "vm_cost": 50.0, "tardiness_cost": 0.0, "total_cost_bound": 30.0}]),
    ]
    chart = costs.cost_split(run_costs(runs, EXACT_BASIS), LIGHT)
    assert list(trace(chart, "machines").x) == [60, 50]
    assert list(trace(chart, "lateness").x) == [40, 0]
    assert [shape.x0 for shape in chart.figure.layout.shapes] == [30.0]
    assert "no policy can do it for less than $30.00" in chart.alt
    assert chart.table["lower bound, $"].tolist() == [30.0, 30.0]


def test_a_job_on_rented_machines_is_as_tall_as_what_it_holds():
    job = pd.Series(
        {"job_id": "a", "submit_s": 0.0, "left_s": 40.0, "gpus": 8.0, "due_s": np.nan, "status": "completed"}
    )
    nothing = pd.DataFrame(columns=["from_s", "to_s", "reason"])
    chart = jobs.job_timeline(job, WORK[:1], nothing, LIGHT, 40.0, machines=("K80", "M60"))
    assert chart.figure.layout.yaxis.range[1] == 1.3 * 4  # and not its fastest width
    assert trace(chart, "K80").text.tolist() == ["K80 x4"]
