"""The cards of What if: change with its verdict in words and colour, today and doing nothing beside it."""

from __future__ import annotations

import pytest

from dlsched.metrics.stats.basis import EXACT_BASIS, Basis
from dlsched.metrics.stats.compare import Row, compare
from dlsched.studies.what_if.answer import CHANGED, TODAY, comparison_of
from dlsched.ui.plan.what_if_cards import change_lines, lines_of
from tests.support.known import known
from tests.support.what_ifs import MORE_JOBS, TWO_NODES, answer, draws


def row(ours: list[float], exact: bool = False, key: str = "wait_p95") -> Row:
    runs = [(TODAY, [{key: 7_200.0}, {key: 7_300.0}, {key: 7_100.0}]), (CHANGED, [{key: value} for value in ours])]
    basis = EXACT_BASIS if exact else Basis(kind="drawn", futures=2)
    return compare([(name, each[:1] if exact else each) for name, each in runs], TODAY, basis=basis).rows[0]


@pytest.mark.parametrize(
    ("ours", "exact", "lines"),
    [
        ([3_600.0, 3_650.0, 3_550.0], False, [":blue[**−1 h**], better", ":small[:gray[−49%]]"]),
        ([14_400.0, 14_450.0, 14_350.0], False, [":orange[**+2 h**], worse", ":small[:gray[1.9x to 2.0x]]"]),
        ([1_000.0, 14_000.0, 7_000.0], False, ["**+2 min 13 s**, not clear", ":small[:gray[0.028x to 16.1x]]"]),
        ([7_200.0, 7_300.0, 7_100.0], False, ["**same**"]),
        ([3_600.0], True, [":blue[**−1 h**], better"]),
    ],
)
def test_a_change_has_sign_verdict_and_interval(ours: list[float], exact: bool, lines: list[str]) -> None:
    assert change_lines(row(ours, exact)) == lines


def test_more_of_what_is_better_higher_is_blue() -> None:
    assert change_lines(row([8_200.0, 8_300.0, 8_100.0], key="utility_total"))[0].startswith(":blue[**+")


def test_under_a_condition_today_and_doing_nothing_stand_below_the_change() -> None:
    today, nothing, option = (
        draws([late] * 11, [wait] * 11, [40_000.0] * 11)
        for late, wait in ((0.1, 3_600.0), (0.4, 36_000.0), (0.2, 7_200.0))
    )
    made = answer(nothing, option, TWO_NODES, conditions=(MORE_JOBS,), basis=Basis(kind="recorded", futures=10))
    made = made.model_copy(update={"today": made.today.model_copy(update={"metrics": tuple(today)})})
    comparison = comparison_of(made)
    now = compare([(TODAY, made.today.metrics)], TODAY, basis=made.basis)
    lines = lines_of(known(comparison.row("wait_p95")), made, now.row("wait_p95"))
    assert lines == [":blue[**−8 h**], better in 10 of 10", ":small[:gray[Doing nothing 10 h, today 1 h]]"]
    alone = answer(today, option)
    assert lines_of(known(comparison_of(alone).row("wait_p95")), alone, now.row("wait_p95"))[-1].endswith("Today 1 h]]")
