"""Charts of a what-if: colours that say better or worse, both sides over one another, only what there is."""

from __future__ import annotations

from typing import Any

import pytest

from dlsched.figures.palette import BLUE, DARK, LIGHT, Theme
from dlsched.figures.what_if import changes, queue, times
from dlsched.metrics.stats.basis import Basis
from dlsched.studies.design import Futures
from dlsched.studies.what_if.answer import CHANGED, LEVELS_PERCENT, NOTHING, TODAY, Moved, Side, WhatIf, comparison_of
from tests.support.known import known

NODES = Moved(key="nodes", label="Nodes", unit="nodes", before=2, after=3)


def side(late: float, wait_s: float, cost: float) -> Side:
    waits = tuple(wait_s * level / 100 for level in LEVELS_PERCENT)
    metrics = tuple({"late_share": late + e, "wait_p95": wait_s, "wait_mean": wait_s / 2 + 100 * e, "cost_month": cost}
                    for e in (0.0, 0.01, 0.02))  # fmt: skip
    return Side(policy="fifo", label="FIFO", metrics=metrics, started=10, completed=9, waits_s=waits,
                times_in_system_s=waits, queue=((0.0, 0.0), (10.0, 3.0), (20.0, 0.0)))  # fmt: skip


def answer(**more: Any) -> WhatIf:
    values: dict[str, Any] = {
        "scenario": "s", "scenario_name": "name", "baseline": side(0.3, 1000, 100), "changed": side(0.1, 600, 150),
        "moved": (NODES,), "futures": Futures.first(2), "basis": Basis(kind="drawn", futures=2), "free_slots": False,
    }  # fmt: skip
    return WhatIf(**{"today": more.get("baseline", values["baseline"])} | values | more)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_changes_are_in_percent_of_today_and_coloured_by_verdict(theme: Theme) -> None:
    made = answer()
    chart = known(changes(made, comparison_of(made), theme))
    assert chart.table["metric"].tolist() == ["Share of late jobs", "p95 wait", "Mean wait", "Cost per month"]
    dots = chart.figure.data[1]
    # 31% to 11%: -20 pp are -64.5%; 1,000 s to 600 s: -40%; 500 s to 300 s about; 100 $ to 150 $: +50%
    assert list(dots.x) == pytest.approx([100 * -0.2 / 0.31, -40, -200 / 501 * 100, 50])
    assert list(dots.marker.color) == [theme.better, theme.better, theme.better, theme.worse]
    named = {trace.name: trace.marker.color for trace in chart.figure.data if trace.showlegend}
    assert named == {"better": theme.better, "worse": theme.worse}


def test_nothing_to_compare_gives_no_picture() -> None:
    made = answer(baseline=side(0.0, 0.0, 0.0).model_copy(update={"metrics": ({"late_share": 0.0},) * 3}))
    assert changes(made, comparison_of(made), LIGHT) is None
    empty = side(0, 0, 0).model_copy(update={"waits_s": (), "queue": ()})
    assert times(answer(baseline=empty, changed=empty), "waits_s", LIGHT) is None
    assert queue(answer(baseline=empty), LIGHT) is None


def test_both_sides_lie_over_one_another_with_today_in_grey() -> None:
    chart = known(times(answer(), "waits_s", LIGHT))
    today, then = chart.figure.data
    assert (today.name, then.name) == (TODAY, CHANGED)
    assert (today.line.color, then.line.color) == (LIGHT.other, LIGHT.marks[BLUE])
    assert today.line.dash != then.line.dash  # not by colour alone
    assert min(today.x) == 1.0  # a log axis has no 0
    assert (
        chart.alt == "Wait (the first simulated version): today p95 17 min (10 jobs); the change p95 10 min (10 jobs)."
    )
    assert chart.figure.layout.title.text.endswith("(the first simulated version)")
    assert known(times(answer(), "times_in_system_s", LIGHT)).alt.count("(9 jobs)") == 2


def test_under_a_condition_doing_nothing_stands_beside_today() -> None:
    more = Moved(key="demand", label="Demand", unit="x", before=1, after=1.3)
    chart = known(times(answer(conditions=(more,), today=side(0.2, 500, 100)), "waits_s", LIGHT))
    assert [trace.name for trace in chart.figure.data] == [TODAY, NOTHING, CHANGED]
    assert len({trace.line.dash for trace in chart.figure.data}) == 3


def test_without_a_change_there_is_one_line() -> None:
    made = answer(moved=())
    assert [trace.name for trace in known(times(made, "waits_s", LIGHT)).figure.data] == [TODAY]
    assert [trace.name for trace in known(queue(made, LIGHT)).figure.data] == [TODAY]


def test_the_queue_of_both_sides_over_time() -> None:
    chart = known(queue(answer(), LIGHT))
    assert [list(trace.y) for trace in chart.figure.data] == [[0, 3, 0], [0, 3, 0]]
    assert "today up to 3" in chart.alt
