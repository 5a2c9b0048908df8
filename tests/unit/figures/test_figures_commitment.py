"""Charts of a commitment: what is drawn where, of an answer by hand."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from dlsched.figures.commitment import cost_by_nodes, hours_of_use, service_by_nodes
from dlsched.figures.palette import DARK, LIGHT, Theme
from dlsched.studies.commitment import run_commitment
from dlsched.studies.commitment.answer import Commitment
from tests.support.commitments import asked, whole_node_jobs
from tests.support.known import known


@cache
def answer() -> Commitment:
    return run_commitment(asked(whole_node_jobs(), most=4), whole_node_jobs())


def trace(figure: Any, name: str) -> Any:
    (found,) = [one for one in figure.data if one.name == name]
    return found


def texts(figure: Any) -> list[str]:
    return [one.text for one in figure.layout.annotations]


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_the_cost_of_a_year_is_stacked_by_kind_with_the_best_above(theme: Theme) -> None:
    chart = known(cost_by_nodes(answer(), theme))
    figure = chart.figure
    assert list(trace(figure, "Owned").y) == [0.0, 8760.0, 17520.0, 26280.0, 35040.0]
    assert list(trace(figure, "On-demand").y) == pytest.approx([59568.0, 21024.0, 3504.0, 0.0, 0.0], abs=1e-3)
    assert figure.layout.barmode == "stack"
    assert list(trace(figure, "best").x) == [2]
    assert "nothing rented, 3 nodes: $26,300/year" in texts(figure)
    assert "misses the target" not in [one.name for one in figure.data]
    assert chart.alt == (
        "Cost of a year by committed nodes: $59,600/year with 0, $35,000/year with 4. Least of those that meet the "
        "target: $21,000/year with 2."
    )
    assert chart.table["best"].tolist() == ["", "", "yes", "", ""]


def test_numbers_that_miss_the_target_have_a_cross() -> None:
    found = answer()
    late = tuple(
        draw.model_copy(update={"values": {**draw.values, "wait_mean": 99.0}}) for draw in found.tried[0].draws
    )
    tried = (found.tried[0].model_copy(update={"draws": late}), *found.tried[1:])
    figure = known(cost_by_nodes(found.model_copy(update={"tried": tried}), LIGHT)).figure
    assert list(trace(figure, "misses the target").x) == [0]


def test_a_target_stands_by_nodes_with_its_limit() -> None:
    chart = known(service_by_nodes(answer(), "wait_mean", LIGHT))
    assert list(trace(chart.figure, "meets").x) == [0, 1, 2, 3, 4]
    assert "target: at most 1 min" in texts(chart.figure)
    assert len(chart.table) == 5


def test_hours_of_use_go_down_by_steps_and_cross_the_break_even() -> None:
    chart = known(hours_of_use(answer(), LIGHT))
    curve = trace(chart.figure, "in use, all rented")
    assert list(curve.x) == pytest.approx([0, 876, 876, 4380, 4380, 8760, 8760])
    assert list(curve.y) == [3, 3, 2, 2, 1, 1, 0]
    assert "break-even: 25% of the hours, 2 nodes" in texts(chart.figure)
    assert "simulated: 2 nodes" in texts(chart.figure)
    (line,) = [shape for shape in chart.figure.layout.shapes if shape.x0 == shape.x1]
    assert line.x0 == pytest.approx(0.25 * 8760)
    assert chart.table["hours a year at or above"].tolist() == pytest.approx([8760, 4380, 876])
