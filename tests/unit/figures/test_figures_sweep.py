"""Charts of sweeps: what is drawn where, what the text alternative says, ink on cells, marks that take clicks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dlsched.figures.palette import BLACK, DARK, LIGHT, WHITE, Theme
from dlsched.figures.sweep import MOST_LINES, cost_against_service, decision_times, is_numeric, lines, scale_of
from dlsched.figures.sweep_map import FAILED, NOT_RUN, blended, ink_over, luminance, value_map
from dlsched.figures.sweep_tornado import tornado
from dlsched.metrics.kpi import KPIS
from dlsched.studies.sweep.answer import Sweep
from tests.support.known import known
from tests.support.sweeps import ARRIVALS, FAILS, MIN, MISHAPS, NODES, made, two_policies

THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])


def named(figure: Any, name: str) -> Any:
    return next(trace for trace in figure.data if trace.name == name)


@THEMES
def test_lines_show_means_over_the_range_with_bands_and_the_present_value(theme: Theme) -> None:
    chart = known(lines(two_policies(), "jct_mean", theme))
    fifo = named(chart.figure, "FIFO")
    assert list(fifo.x) == [4, 8]
    assert list(fifo.y) == [110, 52]  # minutes
    assert [place for place, _ in fifo.customdata] == [0, 1]
    assert chart.figure.layout.yaxis.title.text == "Mean turnaround time (min)"
    assert [trace.fill for trace in chart.figure.data].count("toself") == 2
    assert any(note.text == "now" for note in chart.figure.layout.annotations)
    assert "FIFO 1 h 50 min (35 min to 5 h 49 min) at 4 nodes" in chart.alt
    assert len(chart.table) == 4
    sjf = named(chart.figure, "SJF")
    assert (fifo.line.dash, fifo.marker.symbol) != (sjf.line.dash, sjf.marker.symbol)


def test_lines_of_a_grid_hold_the_other_value() -> None:
    answer = made({"jct_mean": {"fifo": [[1.0], [2.0], [3.0], [4.0]]}}, (NODES, ARRIVALS), exact=True)
    along_nodes = known(lines(answer, "jct_mean", LIGHT, 0, 1.2))
    assert list(named(along_nodes.figure, "FIFO").y) == pytest.approx([2 / 60, 4 / 60])
    along_load = known(lines(answer, "jct_mean", LIGHT, 1, 4.0))
    trace = named(along_load.figure, "FIFO")
    assert list(trace.x) == pytest.approx([-20, 20])
    assert list(trace.y) == pytest.approx([1 / 60, 2 / 60])
    assert "exact for this trace" in along_load.figure.layout.title.text


def pool() -> Sweep:
    """Gains of a policy over FIFO on 4 and 8 nodes with and without mishaps, and the decisions of its solver."""
    none: list[list[float | None]] = [[None, None]] * 4
    return made(
        {
            "gain": {"fifo": [[0.0, 0.0]] * 4, "opt": [[0.2, 0.22], [0.1, 0.14], [-0.02, 0.02], [-0.1, -0.12]]},
            "solve_p50_s": {"fifo": none, "opt": [[0.01, 0.03]] * 4},
            "solve_p95_s": {"fifo": none, "opt": [[0.1, 0.3]] * 4},
            "solve_longest_s": {"fifo": none, "opt": [[1.0, 2.0]] * 4},
            "solved": {"fifo": none, "opt": [[40, 60]] * 4},
            "proven": {"fifo": none, "opt": [[40, 35]] * 4},
        },
        (NODES, MISHAPS),
    )


def test_gains_may_lie_below_zero_with_their_bands() -> None:
    chart = known(lines(pool(), "gain", LIGHT, 0, "mishaps"))
    assert list(named(chart.figure, "OPT").y) == pytest.approx([12, -11])
    bands = [trace for trace in chart.figure.data if trace.fill == "toself"]
    assert min(bands[-1].y) < -11
    assert list(named(chart.figure, "FIFO").y) == [0, 0]


def test_a_line_for_each_value_of_the_other_axis_tells_the_paired_change() -> None:
    chart = known(lines(pool(), "gain", LIGHT, 0, None, "opt"))
    own, worse = (named(chart.figure, name) for name in ("as in the scenario", chart.figure.data[3].name))
    assert list(own.y) == pytest.approx([21, 0])
    assert list(worse.y) == pytest.approx([12, -11])
    assert "against" not in own.customdata[0][1]
    assert "\N{MINUS SIGN}9 pp" in worse.customdata[0][1]  # 20 to 10 and 22 to 14
    assert "of OPT" in chart.figure.layout.title.text


def test_the_time_of_decisions_by_size_is_that_of_solvers() -> None:
    chart = known(decision_times(pool(), LIGHT, 0, "own"))
    assert [trace.name for trace in chart.figure.data] == ["OPT: median", "OPT: p95", "OPT: longest"]
    assert [list(trace.y) for trace in chart.figure.data] == [[0.02, 0.02], [0.2, 0.2], [2, 2]]
    assert chart.figure.layout.yaxis.type == "log"
    assert "75% of 200 proven" in chart.alt
    assert chart.table["decisions"].tolist() == [100, 100]
    assert decision_times(two_policies_with_gain(), LIGHT) is None


def two_policies_with_gain() -> Sweep:
    """A sweep whose policies have no solver."""
    none: list[list[float | None]] = [[None], [None]]
    return made({"gain": {"fifo": [[0.0], [0.0]]}, "solve_p50_s": {"fifo": none}})


def test_numbers_far_apart_stand_on_a_log_axis_that_says_so() -> None:
    answer = made({"jct_mean": {"fifo": [[60.0], [6000.0]]}}, exact=True)
    axis = known(lines(answer, "jct_mean", LIGHT)).figure.layout.yaxis
    assert axis.type == "log"
    assert axis.title.text.endswith("log scale")
    low, high = axis.range
    assert low < 0 < 2 < high


def test_of_many_policies_the_best_are_drawn_and_the_title_says_so() -> None:
    values = {f"p{at}": [[60.0 * (9 - at)], [60.0 * (9 - at)]] for at in range(8)}
    chart = known(lines(made({"jct_mean": values}), "jct_mean", LIGHT))
    drawn = [trace.name for trace in chart.figure.data if trace.mode == "lines+markers"]
    assert drawn == [f"P{at}" for at in range(2, 8)]
    assert len(drawn) == MOST_LINES
    assert "best 6 of 8 policies" in chart.figure.layout.title.text


def test_nothing_to_draw() -> None:
    empty = made({"jct_mean": {"fifo": [[None], [None]]}, "cost_month": {"fifo": [[1.0], [2.0]]}})
    assert lines(empty, "jct_mean", LIGHT) is None
    assert cost_against_service(empty, "cost_month", "jct_mean", LIGHT) is None
    single = made({"jct_mean": {"fifo": [[None], [1.0], [2.0]]}}, (ARRIVALS,), "one-at-a-time")
    assert tornado(single, "fifo", "jct_mean", LIGHT) is None
    assert not is_numeric(made({"jct_mean": {"fifo": [[1.0]]}}, (FAILS,)), 0)


@THEMES
def test_a_map_prints_values_where_they_are_and_says_what_was_not_run(theme: Theme) -> None:
    answer = made({"jct_mean": {"fifo": [[60.0], [120.0], [None], [600.0]]}}, (NODES, ARRIVALS))
    chart = value_map(answer, "jct_mean", theme, "fifo")
    marks = chart.figure.data[-1]
    assert list(zip(marks.x, marks.y, marks.text, strict=True)) == [
        (0, 0, "1 min"), (1, 0, NOT_RUN), (0, 1, "2 min"), (1, 1, "10 min"),
    ]  # fmt: skip
    assert [place for place, _ in marks.customdata] == [0, 2, 1, 3]
    tints = np.array(chart.figure.data[0].z, dtype=float)
    assert tints[:, 0].tolist() == pytest.approx([0, 60 / 540])
    assert tints[1, 1] == 1
    grey = chart.figure.data[1]
    assert np.isfinite(np.array(grey.z, dtype=float)).tolist() == [[False, True], [False, False]]
    assert list(chart.figure.layout.xaxis.ticktext) == ["4", "8"]
    assert list(chart.figure.layout.yaxis.ticktext) == ["−20%", "+20%"]
    assert chart.alt == (
        "Mean turnaround time of FIFO: from 1 min (4 nodes, arrivals −20%) to 10 min (8 nodes, arrivals +20%). "
        "1 cell without a number."
    )


def test_colours_of_numbers_far_apart_go_by_their_logarithms_and_the_title_says_so() -> None:
    chart = value_map(made({"jct_mean": {"fifo": [[60.0], [6000.0]], "sjf": [[600.0], [60.0]]}}), "jct_mean", LIGHT)
    assert np.array(chart.figure.data[0].z, dtype=float).tolist() == [[0, 1], [pytest.approx(0.5), 0]]
    assert chart.figure.layout.title.text.endswith("colours on a log scale")


def test_a_map_of_one_range_is_by_policy_and_marks_what_failed() -> None:
    answer = two_policies()
    cells = tuple(
        cell.model_copy(update={"error": "bad", "values": {}}) if (cell.point, cell.policy) == (0, "sjf") else cell
        for cell in answer.cells
    )
    chart = value_map(answer.model_copy(update={"cells": cells}), "jct_mean", LIGHT)
    assert list(chart.figure.layout.yaxis.ticktext) == ["FIFO", "SJF"]
    assert FAILED in chart.figure.data[-1].text
    assert "FIFO, 8 nodes" in chart.alt


@THEMES
def test_every_value_in_a_map_is_legible_on_its_colour(theme: Theme) -> None:
    for share in np.linspace(0, 1, 21).tolist():
        ground = blended(theme.ground, theme.marks[0], share)
        light, dark = sorted((luminance(ground), luminance(ink_over(ground))), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.4, share
    assert blended("#000000", "#ffffff", 0.5) == "#808080"
    assert (ink_over("#ffffff"), ink_over("#000000")) == (BLACK, WHITE)
    assert luminance("#ffffff") == pytest.approx(1)


def test_cost_against_service_draws_the_frontier_and_rings_the_knee() -> None:
    axis = NODES.model_copy(update={"values": (1.0, 2.0, 3.0, 4.0)})
    numbers = {
        "jct_mean": {"fifo": [[6000.0], [2400.0], [2100.0], [1800.0]], "sjf": [[6600.0], [2460.0], [2160.0], [1860.0]]},
        "cost_month": {"fifo": [[10.0], [20.0], [30.0], [40.0]], "sjf": [[10.0], [20.0], [30.0], [40.0]]},
    }
    chart = known(cost_against_service(made(numbers, (axis,), exact=True), "cost_month", "jct_mean", LIGHT))
    line, knee = named(chart.figure, "frontier"), named(chart.figure, "knee")
    assert (list(line.x), list(line.y)) == ([10, 20, 30, 40], [100, 40, 35, 30])
    assert (list(knee.x), list(knee.y)) == ([20], [40])
    faint = [trace for trace in chart.figure.data if trace.opacity is not None and trace.opacity < 1 and len(trace.x)]
    assert [trace.name for trace in faint] == ["SJF"]
    assert faint[0].showlegend
    assert chart.figure.layout.xaxis.tickprefix == "$"
    assert "FIFO at 1 node, FIFO at 2 nodes" in chart.alt
    assert chart.alt.endswith("Knee: FIFO at 2 nodes.")
    assert (chart.table["dominated"] == "yes").sum() == 4


@THEMES
def test_a_tornado_has_bars_on_both_sides_sorted_and_labelled(theme: Theme) -> None:
    values = [[50 * MIN] * 2, [40 * MIN] * 2, [66 * MIN] * 2, [80 * MIN] * 2, [30 * MIN, 60 * MIN], [55 * MIN] * 2]
    answer = made({"jct_mean": {"fifo": values}}, (ARRIVALS, NODES, FAILS), "one-at-a-time")
    chart = known(tornado(answer, "fifo", "jct_mean", theme))
    assert list(chart.figure.layout.yaxis.ticktext) == ["Nodes", "Arrivals", "Failures at given times"]
    bars = [trace for trace in chart.figure.data if trace.type == "bar"]
    assert [bar.x[0] for bar in bars] == [30, -5, -10, 16, 5]
    assert [note.text for note in chart.figure.layout.annotations] == ["4", "8", "−20%", "+20%", "2 failures"]
    assert [bar.marker.color for bar in bars[:1]] == [theme.worse]
    assert bars[1].marker.line.width == 2  # not distinguishable: outline only
    assert bars[2].marker.color == theme.better
    low, high = chart.figure.layout.xaxis.range
    assert low == -high
    assert high > 30
    assert "Nodes 4: +30 min, worse" in chart.alt
    assert list(chart.table["verdict"]) == ["worse", "not clear", "better", "worse", "worse"]


def test_two_values_on_one_side_stand_below_each_other() -> None:
    answer = made({"jct_mean": {"fifo": [[50.0], [60.0], [70.0]]}}, (ARRIVALS,), "one-at-a-time", exact=True)
    bars = [trace for trace in known(tornado(answer, "fifo", "jct_mean", LIGHT)).figure.data if trace.type == "bar"]
    assert [bar.y[0] for bar in bars] == pytest.approx([-0.2, 0.2])


@pytest.mark.parametrize(
    ("metric", "largest", "factor", "title"),
    [
        ("jct_mean", 60.0, 1 / 60, "Mean turnaround time (min)"),
        ("jct_mean", 9000.0, 1 / 3600, "Mean turnaround time (h)"),
        ("late_share", 0.5, 100.0, "Share of late jobs (%)"),
        ("cost_month", 5.0, 1.0, "Cost per month ($/month)"),
        ("completed", 5.0, 1.0, "Completed (jobs)"),
    ],
)
def test_axes_have_units(metric: str, largest: float, factor: float, title: str) -> None:
    found = scale_of(KPIS[metric], [largest])
    assert (found.factor, found.title) == (factor, title)
