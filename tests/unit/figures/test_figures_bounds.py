"""A number of several runs beside its bound: lines are where they belong, words say the same."""

from __future__ import annotations

import numpy as np
import pytest

from dlsched.figures.base import Chart
from dlsched.figures.bounds import runs_and_bound
from dlsched.figures.palette import DARK, LIGHT
from dlsched.metrics.limits import LIMITS, limited_runs

NASTY = "<b>%{x}</b>"
TIME, LATE, UTILITY, COST = LIMITS


def lines_of(chart: Chart) -> list[float]:
    """Return where the lines of the rows are."""
    (line,) = [trace for trace in chart.figure.data if trace.type == "scatter" and trace.mode == "lines"]
    return [float(x) for x in line.x[::3]]


def test_runs_with_one_bound_share_a_line():
    usd = {"A": 200.0, NASTY: 400.0}
    runs = limited_runs(COST, [(name, [{"total_cost": of, "total_cost_bound": 176.0}]) for name, of in usd.items()])
    chart = runs_and_bound(COST, runs, {"A": "#111111", NASTY: "#222222"}, LIGHT)
    assert [shape.x0 for shape in chart.figure.layout.shapes] == [176.0]
    texts = [note.text for note in chart.figure.layout.annotations]
    assert texts == [
        "could be up to 12% lower (proven limit)",
        "could be up to 56% lower (proven limit)",
        "lower bound $176",
    ]
    assert chart.figure.layout.xaxis.title.text == "Total cost ($)"
    assert chart.figure.layout.title.text == "Total cost and its bound: A is nearest with $200"
    assert not any(NASTY in text for text in chart.figure.layout.yaxis.ticktext)
    assert (
        chart.alt
        == f"Total cost: A $200, could be up to 12% lower (proven limit); {NASTY} $400, could be up to 56% lower "
        "(proven limit)."
    )


def test_runs_that_completed_other_jobs_have_a_line_each():
    draws: dict[str, list[tuple[float, float | None]]] = {
        "A": [(7_200.0, 3_600.0), (10_800.0, 3_600.0)],
        "B": [(14_400.0, 7_200.0), (14_400.0, 7_200.0)],
        "C": [(9e3, None)],
    }
    given = [
        (name, [{"jct_mean": value, "jct_mean_bound": bound} for value, bound in pairs])
        for name, pairs in draws.items()
    ]
    chart = runs_and_bound(TIME, limited_runs(TIME, given), dict.fromkeys(draws, "#111111"), DARK, word=", means")
    assert lines_of(chart) == pytest.approx([1, 2, np.nan], nan_ok=True)
    assert chart.figure.data[0].x.tolist() == pytest.approx([2.5, 4, 2.5])
    assert not chart.figure.layout.shapes
    assert chart.figure.layout.xaxis.title.text == "Mean turnaround time (hours)"
    # A has the shorter time, but of shorter jobs: B leaves less to gain
    assert chart.figure.layout.title.text.endswith("B is nearest to its own with 4 h, means")
    assert chart.figure.layout.annotations[2].text == "no useful bound is known"
    assert chart.table["could be better by, %"].tolist() == pytest.approx([60, 50, np.nan], nan_ok=True)
    assert chart.table["futures"].tolist() == [2, 2, 1]


@pytest.mark.parametrize(
    ("limit", "unit", "value"),
    [
        pytest.param(LATE, "hours", 2.0, id="hours late"),
        pytest.param(UTILITY, "unit-free", 7_200.0, id="utility"),
    ],
)
def test_units(limit, unit, value):
    runs = limited_runs(limit, [("A", [{limit.key: 7_200.0, limit.bound_key: 7_200.0}])])
    chart = runs_and_bound(limit, runs, {"A": "#111111"}, LIGHT)
    assert chart.figure.layout.xaxis.title.text == f"{limit.kpi.label} ({unit})"
    assert chart.figure.data[0].x.tolist() == [value]
    assert chart.figure.layout.annotations[0].text.startswith("cannot be ")
