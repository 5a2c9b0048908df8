"""Steady states in pictures: means with bars, growing queues at the top edge, one load in detail."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.figures import steady, steady_detail
from dlsched.figures.base import Chart
from dlsched.figures.palette import DARK, LIGHT, Theme
from dlsched.metrics.stats.intervals import Interval
from dlsched.studies.steady import Curve
from dlsched.wording.certainty import mean_time
from dlsched.workload.studies.hell_knee import mean_gap_s
from tests.support.steady_answers import HELL, KNEE, SRPT, answer, point, three_policies

ANSWER = three_policies()


def trace(chart: Chart, name: str) -> Any:
    return next(trace for trace in chart.figure.data if trace.name == name)


def test_a_line_per_policy_with_bars_and_hollow_marks_where_the_cap_was_reached() -> None:
    chart = steady.response_by_load(ANSWER, LIGHT)
    hell = trace(chart, HELL)
    assert hell.y == (50, 60, 80)
    assert hell.error_y.array == (1, 1, 8)
    assert [symbol.endswith("-open") for symbol in hell.marker.symbol] == [False, False, True]
    assert np.round(hell.x, 1).tolist() == [0.1, 0.5, 0.7]


def test_growing_queues_stand_above_all_means_in_an_edge_of_their_own() -> None:
    chart = steady.response_by_load(ANSWER, LIGHT)
    tops = [trace(chart, f"{label}: queue grows") for label in (HELL, KNEE, SRPT)]
    assert [len(top.x) for top in tops] == [1, 1, 3]
    low, high = (10**end for end in chart.figure.layout.yaxis.range)
    (edge,) = (shape.y0 for shape in chart.figure.layout.shapes if shape.y0 == shape.y1)
    assert low < 49 < 140 < edge
    assert all(edge < top.y[0] < high for top in tops)
    assert max(chart.figure.layout.yaxis.tickvals) < edge
    assert np.diff([top.x[-1] for top in tops]).min() >= 0.019
    assert {top.marker.symbol for top in tops} == {"triangle-up-open"}


def test_without_growing_queues_there_is_no_edge() -> None:
    chart = steady.response_by_load(answer([point(HELL, 0.5, 10.0)]), LIGHT)
    assert [shape.x0 for shape in chart.figure.layout.shapes] == [1]


@pytest.mark.parametrize(
    ("mean", "half", "said"),
    [(75.83, 2.897, "3 d 4 h ± 2 h 54 min"), (-45.08, 12.79, "\N{MINUS SIGN}1 d 21 h ± 12 h 47 min"),
     (0.5, 0.0123, "30 min ± 44 s"), (5.25, 0.0, "5 h 15 min"), (5.25, None, "5 h 15 min")],
)  # fmt: skip
def test_means_are_told_as_times_with_their_intervals(mean: float, half: float | None, said: str) -> None:
    assert mean_time(Interval(mean, half, 9)) == said


def test_the_wall_at_load_one_is_in_the_picture() -> None:
    chart = steady.response_by_load(ANSWER, LIGHT)
    assert 1 in [shape.x0 for shape in chart.figure.layout.shapes]
    assert chart.figure.layout.xaxis.range[1] > 1


def test_a_short_range_has_ticks_too() -> None:
    near = answer([point(HELL, 0.3, 2.4, 0.1), point(HELL, 0.5, 3.6, 0.1)])
    assert len(steady.response_by_load(near, LIGHT).figure.layout.yaxis.tickvals) >= 2


def test_bars_that_reach_zero_end_above_it_on_the_log_axis() -> None:
    wide = answer([point(HELL, 0.5, 10.0, 40.0)])
    chart = steady.response_by_load(wide, LIGHT)
    assert trace(chart, HELL).error_y.arrayminus == (9,)
    assert 10 ** chart.figure.layout.yaxis.range[1] > 50


def test_a_picture_without_any_mean_still_says_where_queues_grow() -> None:
    chart = steady.response_by_load(answer([point(SRPT, 0.3, None), point(SRPT, 0.5, None)]), LIGHT)
    assert len(trace(chart, f"{SRPT}: queue grows").x) == 2
    assert chart.alt.endswith(f"{SRPT} queue grows at load 0.3, 0.5.")


def test_variants_of_a_policy_share_colour_and_symbol_and_differ_in_dash() -> None:
    found = steady.looks(answer([point("gamma 0", 0.5, 10.0), point("gamma 1", 0.5, 11.0)]), LIGHT)
    assert found["gamma 0"].colour == found["gamma 1"].colour
    assert found["gamma 0"].dash != found["gamma 1"].dash
    names = steady.looks(ANSWER, LIGHT)
    assert len({(look.colour, look.symbol) for look in names.values()}) == 3


def test_the_table_has_every_point_with_interval_jobs_and_state() -> None:
    table = steady.response_by_load(ANSWER, LIGHT).table
    assert len(table) == 12
    row = table[(table["policy"] == KNEE) & (table["load"] == 0.7)].iloc[0]
    assert (row["mean turnaround time, h"], row["± h (95%)"], row["p95, h"]) == (120, 20, 360)
    assert (row["jobs simulated"], row["jobs measured"], row["left out at the start"]) == (1000, 900, 100)
    assert row["state"] == "cap reached, ± 16.7%"
    assert row["parameters"] == "gamma 0.0"
    growing = table[(table["policy"] == SRPT) & (table["load"] == 0.5)].iloc[0]
    assert np.isnan(growing["mean turnaround time, h"])
    assert growing["queue grows by, jobs per 100 arrivals"] == 20


def test_the_picture_in_words_names_both_ends_and_who_grows() -> None:
    assert steady.response_alt(ANSWER).startswith(
        "Mean turnaround time with 95% intervals: HELL, malleable 2 d 2 h ± 1 h at load 0.1, 3 d 8 h ± 8 h at load "
        "0.7, queue grows at load 0.9; "
    )


def test_the_distribution_says_by_when_half_of_the_jobs_are_done() -> None:
    chart = steady_detail.response_cdf(ANSWER, 0.5, LIGHT)
    assert chart is not None
    line = trace(chart, HELL)
    assert line.y[0] == pytest.approx(0.25)
    assert line.x[100] == pytest.approx(3600 * 60 * 100.5 / 100)
    assert chart.alt == (
        "Half of the jobs are done within: HELL, malleable 1 d 6 h (95 of 100: 7 d 12 h); KNEE, malleable 1 d 6 h "
        "(95 of 100: 7 d 15 h). No distribution where the queue grows: SRPT, all nodes."
    )
    assert steady_detail.response_cdf(ANSWER, 0.9, LIGHT) is None


def test_early_results_name_who_is_first_at_two_fifths_of_the_work() -> None:
    chart = steady_detail.early_results(ANSWER, 0.7, LIGHT)
    assert chart is not None
    assert chart.figure.layout.title.text == "40% of a job's work is done after 1 d 8 h under HELL, malleable"
    assert "KNEE, malleable 2 d ± 30 min" in chart.alt
    assert len(chart.table) == 10
    assert steady_detail.early_results(ANSWER, 0.9, LIGHT) is None


def test_over_time_tells_means_weighted_by_time() -> None:
    chart = steady_detail.over_time(ANSWER, 0.1, "nodes", LIGHT)
    assert "HELL, malleable 7 on average over time" in chart.alt  # (10 x 4 + 30 x 8) / 40
    assert steady_detail.time_mean(Curve(at_h=(5.0,), value=(3.0,))) == 3


def test_jobs_in_the_system_have_their_mean_by_littles_law() -> None:
    chart = steady_detail.over_time(ANSWER, 0.5, "jobs", LIGHT)
    per_hour = 3600 / mean_gap_s(ANSWER.spec.stream_at(0.5, 1000))
    assert f"HELL, malleable {60 * per_hour:.3g} on average (rate × turnaround time), at most 3" in chart.alt
    assert chart.alt.endswith("SRPT, all nodes at most 400, growing.")


def test_the_most_of_each_stretch_counts_what_holds_as_it_begins() -> None:
    steps = Curve(at_h=(0.0, 1.0, 9.0, 10.0), value=(5.0, 2.0, 7.0, 1.0))
    found = steady_detail.most_by_stretch(steps, 5)
    assert list(found.at_h) == [0, 2, 4, 6, 8]
    assert list(found.value) == [5, 2, 2, 2, 7]
    assert list(steady_detail.most_by_stretch(Curve(at_h=(3.0, 3.0), value=(1.0, 4.0)), 5).value) == [4]


step_curves = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 50)), min_size=2, max_size=40)


@given(step_curves, st.integers(1, 30))
def test_no_extreme_is_lost_in_stretches(steps: list[tuple[int, int]], stretches: int) -> None:
    at = np.cumsum([gap for gap, _ in steps]).astype(float)
    curve = Curve(at_h=tuple(at.tolist()), value=tuple(float(value) for _, value in steps))
    found = steady_detail.most_by_stretch(curve, stretches)
    assert max(found.value) == max(curve.value)
    for low, high, most in zip(found.at_h, (*found.at_h[1:], curve.at_h[-1]), found.value, strict=True):
        middle = (low + high) / 2
        assert most >= curve.value[int(np.searchsorted(at, middle, side="right")) - 1]


def test_a_growing_queue_beside_stable_ones_gets_a_log_axis() -> None:
    assert steady_detail.over_time(ANSWER, 0.5, "jobs", LIGHT).figure.layout.yaxis.type == "log"
    assert steady_detail.over_time(ANSWER, 0.1, "jobs", LIGHT).figure.layout.yaxis.type is None


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_every_chart_has_axis_titles_and_fits_its_payload(theme: Theme) -> None:
    charts = [
        steady.response_by_load(ANSWER, theme), steady_detail.response_cdf(ANSWER, 0.7, theme),
        steady_detail.early_results(ANSWER, 0.7, theme), steady_detail.over_time(ANSWER, 0.7, "jobs", theme),
    ]  # fmt: skip
    for chart in charts:
        assert chart is not None
        assert chart.figure.layout.xaxis.title.text
        assert chart.figure.layout.yaxis.title.text
        assert len(chart.figure.to_json()) < 60_000
