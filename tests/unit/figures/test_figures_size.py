"""Charts of sizes and of months ahead: places, shapes and text alternatives, of answers written by hand."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import pytest

from dlsched.figures.growth import by_month
from dlsched.figures.palette import DARK, LIGHT, Theme
from dlsched.figures.size import Level, cost_and_service, headroom
from dlsched.metrics.stats.basis import Basis
from dlsched.metrics.stats.statements import Estimate
from dlsched.studies.design import Futures
from dlsched.studies.sizing.answer import Size
from dlsched.studies.sizing.rule import Rule
from dlsched.studies.sizing.targets import Target
from tests.support.known import known
from tests.support.sizings import LATE, USD_MONTH, WAIT, draws, growth, sizing, waits


def trace(figure: go.Figure, name: str) -> Any:
    """Return the only trace of this name that has data."""
    (found,) = [one for one in figure.data if one.name == name and one.x is not None and one.x[0] is not None]
    return found


def texts(figure: go.Figure) -> list[str]:
    return [one.text for one in figure.layout.annotations]


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_sizes_stand_at_cost_and_service_with_their_verdicts(theme: Theme) -> None:
    chart = known(cost_and_service(sizing(), "wait_p95", theme))
    failing = trace(chart.figure, "fails")
    assert list(failing.x) == [USD_MONTH, 2 * USD_MONTH]
    assert list(failing.y) == [36_000.0, 18_000.0]
    assert failing.marker.symbol == "x"
    assert list(trace(chart.figure, "borderline").x) == [3 * USD_MONTH]
    assert list(trace(chart.figure, "meets").y) == [1800.0, 360.0]
    assert list(trace(chart.figure, "answer").x) == [4 * USD_MONTH]
    assert list(trace(chart.figure, "today").x) == [2 * USD_MONTH]
    assert "target: at most 1 h" in texts(chart.figure)
    assert chart.alt == (
        "p95 wait of 5 sizes from 1 node to 6 nodes. Today: 2 nodes, $14,600/month, 5 h (3 h 3 min to 8 h 13 min), "
        "fails; Answer: 4 nodes, $29,200/month, 30 min, ok."
    )
    assert chart.table["what"].tolist() == ["", "today", "", "answer", ""]
    assert chart.table["wait_p95, exact"].tolist() == [36_000, 18_000, 3600, 1800, 360]


def test_without_prices_the_axis_counts_gpus() -> None:
    sizes = tuple(one.model_copy(update={"usd_month": None}) for one in sizing().sizes)
    chart = known(cost_and_service(sizing(sizes=sizes, cost_by="gpus"), "wait_p95", LIGHT))
    assert chart.figure.layout.xaxis.title.text == "GPUs (no prices are set)"
    assert list(trace(chart.figure, "answer").x) == [32]
    assert chart.figure.layout.xaxis.tickprefix is None


def test_a_size_without_the_number_is_not_drawn_and_none_is_no_chart() -> None:
    gone = Size(counts=(7,), usd_month=1.0, draws=waits([None]))
    assert len(known(cost_and_service(sizing(sizes=(*sizing().sizes, gone)), "wait_p95", LIGHT)).table) == 5
    assert cost_and_service(sizing(sizes=(gone,), answer=None, neighbours=()), "wait_p95", LIGHT) is None


def level(metric: str, limit: float, *means: float) -> Level:
    return Level(Target(metric=metric, limit=limit), [Estimate(mean, 0.9 * mean, 1.1 * mean, 3) for mean in means])


def test_means_far_apart_are_on_a_log_axis_with_what_is_0_at_its_foot() -> None:
    far = level("wait_p95", 3600.0, 0.0, 600.0, 90_000.0)
    assert far.log
    assert far.foot == 200.0
    assert far.at(0.0) == 200.0
    assert far.at(600.0) == 600.0
    assert "log scale, 0 at its foot" in far.title
    deep = level("wait_p95", 3600.0, 1.0, 90_000.0)
    assert deep.foot == 72.0  # a fiftieth of the target: a second is good enough
    assert not level("wait_p95", 3600.0, 600.0, 5000.0).log
    assert not level("utility_total", 10.0, -5.0, 900.0).log


def test_bars_end_at_the_foot_of_a_log_axis() -> None:
    wide = Level(WAIT, [Estimate(600.0, 10.0, 5600.0, 3), Estimate(90_000.0, 89_990.0, 90_010.0, 3)])
    bars: Any = wide.bars([Estimate(600.0, 10.0, 5600.0, 3)])["error_y"]
    assert (bars["array"], bars["arrayminus"]) == ([5000.0], [400.0])
    assert wide.bars([Estimate(600.0, None, None, 1)]) == {}


def test_ticks_of_a_log_axis_are_in_words() -> None:
    chart = known(cost_and_service(sizing(), "wait_p95", LIGHT))
    assert list(chart.figure.layout.yaxis.ticktext) == ["10 min", "1 h", "6 h"]
    figure = go.Figure()
    level("late_share", 0.05, 0.01, 0.8).finish(figure, LIGHT)
    assert list(figure.layout.yaxis.ticktext) == ["1", "2", "5", "10", "20", "50", "100"]


def test_several_targets_each_have_a_chart_of_their_own() -> None:
    both = tuple(
        Size(
            counts=(nodes,),
            usd_month=USD_MONTH * nodes,
            draws=draws([{"wait_p95": 3000.0 / nodes, "late_share": 0.1 / nodes}] * 2),
        )
        for nodes in (1, 2)
    )
    rule = Rule(targets=(WAIT, LATE), basis=Basis(kind="drawn", futures=1))
    answer = sizing(sizes=both, rule=rule, answer=(2,), today=(1,), neighbours=((1,),))
    chart = known(cost_and_service(answer, "late_share", LIGHT))
    assert list(trace(chart.figure, "answer").y) == [5.0]
    assert "target: at most 5%" in texts(chart.figure)
    assert chart.figure.layout.yaxis.title.text == "Share of late jobs (%)"


def test_headroom_shades_where_a_size_ceases_to_meet_the_targets() -> None:
    chart = known(headroom(sizing(), "wait_p95", LIGHT))
    line = trace(chart.figure, "4 nodes (answer)")
    assert list(line.x) == [1.0, 1.2, 1.25]
    assert list(line.marker.symbol) == ["circle", "circle", "diamond-open"]
    (band,) = [shape for shape in chart.figure.layout.shapes if shape.type == "rect"]
    assert (band.x0, band.x1) == (1.2, 1.25)
    told = "4 nodes (answer): meets the targets with 20% more jobs, not with 25% more jobs."
    assert chart.alt == f"p95 wait over the load. {told}"
    assert headroom(sizing(headroom=()), "wait_p95", LIGHT) is None


def test_months_have_a_band_what_is_delivered_and_the_last_month_to_order() -> None:
    chart = known(by_month(growth(), "wait_p95", LIGHT))
    assert list(trace(chart.figure, "meets").x) == [0, 1, 4]
    assert list(trace(chart.figure, "borderline").x) == [2]
    assert list(trace(chart.figure, "fails").y) == [2.0]  # hours
    delivery = trace(chart.figure, "delivery")
    assert (list(delivery.x), list(delivery.text)) == ([4], ["+2 nodes"])
    assert "order by December 2026" in texts(chart.figure)
    (upright,) = [shape for shape in chart.figure.layout.shapes if shape.x0 == shape.x1]
    assert upright.x0 == 1
    band = next(one for one in chart.figure.data if one.fill == "toself")
    assert len(band.x) == 10
    assert chart.alt == (
        "p95 wait from 30 min in November 2026 to 12 min in March 2027. The targets break in February 2027. "
        "Order by December 2026. +2 nodes in March 2027."
    )


def test_an_order_that_is_late_stands_before_the_first_month() -> None:
    chart = known(by_month(growth(lead_months=4, steps=()), "wait_p95", LIGHT))
    assert "order by September 2026" in texts(chart.figure)
    assert chart.figure.layout.xaxis.ticktext[0] == "Sep 2026"
    assert chart.alt.endswith("The order is overdue.")
    far = known(by_month(growth(lead_months=40), "wait_p95", LIGHT))
    assert not any("order by" in text for text in texts(far.figure))


def test_retirements_point_down_and_one_draw_has_no_band() -> None:
    months = tuple(one.model_copy(update={"draws": one.draws[:1]}) for one in growth().months)
    step = growth().steps[0].model_copy(update={"nodes": -1})
    chart = known(by_month(growth(months=months, steps=(step,), futures=Futures()), "wait_p95", LIGHT))
    assert trace(chart.figure, "retirement").marker.symbol == "triangle-down"
    assert list(trace(chart.figure, "retirement").text) == ["−1 nodes"]
    assert not any(one.fill == "toself" for one in chart.figure.data)
