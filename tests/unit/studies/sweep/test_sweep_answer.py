"""Means, differences, regret and frontier of a sweep by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.metrics.stats.statements import Estimate
from dlsched.studies.design import Futures
from dlsched.studies.sweep.answer import (
    Axis,
    Cell,
    Sweep,
    against_point,
    against_policy,
    best_at,
    failed,
    frontier,
    mean_at,
    regrets,
    rows_of,
    unequal_points,
    value_at,
    values_at,
    with_violations,
)
from tests.support.known import known

Numbers = dict[str, list[list[float | None]]]
"""By policy: a list of draws for each point."""


def sweep(waits: Numbers, costs: Numbers | None = None, metrics: tuple[str, ...] = ("wait_mean", "vm_cost")) -> Sweep:
    points, seeds = len(next(iter(waits.values()))), len(next(iter(waits.values()))[0])
    costs = costs or waits
    cells = [
        Cell(
            point=point,
            policy=policy,
            seed=seed,
            values=dict(zip(metrics, (waits[policy][point][seed], costs[policy][point][seed]), strict=True)),
            completed=5,
        )
        for point in range(points)
        for policy in waits
        for seed in range(seeds)
    ]
    return Sweep(
        scenario="0",
        scenario_name="by hand",
        mode="grid",
        axes=(Axis(key="nodes", label="Nodes", unit="nodes", values=tuple(map(float, range(points)))),),
        points=tuple((float(point),) for point in range(points)),
        policies=tuple(waits),
        labels={key: key.upper() for key in waits},
        reference=next(iter(waits)),
        futures=Futures(seeds=tuple(range(seeds))),
        metrics=metrics,
        cells=tuple(cells),
    )


def test_mean_and_paired_differences_by_hand() -> None:
    answer = sweep({"a": [[10, 20], [12, 24]], "b": [[7, 18], [1, 1]]})
    assert values_at(answer, 1, "a", "wait_mean") == [12, 24]
    mean = known(mean_at(answer, 0, "a", "wait_mean"))
    # t quantile of one degree of freedom at 97.5%: 12.706; standard error of 10 and 20: 5
    assert (mean.mean, mean.n) == (15, 2)
    assert mean.half_width == pytest.approx(12.7062 * 5, rel=1e-5)
    apart = known(against_policy(answer, 0, "b", "wait_mean"))
    assert (apart.value, apart.better, apart.worse) == (-2.5, 2, 0)
    assert known(against_policy(answer, 0, "a", "wait_mean", reference="b")).value == 2.5
    moved = known(against_point(answer, 1, "a", "wait_mean"))
    assert (moved.value, moved.better, moved.worse) == (3, 0, 2)
    assert known(against_point(answer, 0, "a", "wait_mean", baseline=1)).value == -3


def test_of_a_recorded_trace_the_recorded_month_comes_first_and_decides_who_is_best() -> None:
    futures: Numbers = {"a": [[10.0, *[30.0] * 10]], "b": [[20.0, *[15.0] * 10]]}
    answer = sweep(futures).model_copy(update={"futures": Futures.first(10, {"days": 1}), "days": 7})
    assert known(value_at(answer, 0, "a", "wait_mean")) == Estimate(10, 30, 30, 10)  # the range need not hold it
    assert best_at(answer, 0, "wait_mean") == "a"
    change = known(against_policy(answer, 0, "b", "wait_mean"))
    assert (change.value, change.better, change.verdict) == (10, 10, "mixed")
    drawn = answer.model_copy(update={"futures": Futures.first(10)})
    assert best_at(drawn, 0, "wait_mean") == "b"
    assert known(value_at(drawn, 0, "a", "wait_mean")).value == pytest.approx(310 / 11)


def test_a_draw_without_a_number_leaves_no_mean() -> None:
    answer = sweep({"a": [[10, None]], "b": [[1, 2]]})
    assert mean_at(answer, 0, "a", "wait_mean") is None
    assert against_policy(answer, 0, "b", "wait_mean") is None
    assert mean_at(answer, 0, "b", "wait_mean") is not None


def test_regret_by_hand() -> None:
    # best: 10, 20, 30; a loses 0, 20, 0; b 5, 0, 15; c 10, 10, 10
    answer = sweep({"a": [[10], [40], [30]], "b": [[15], [20], [45]], "c": [[20], [30], [40]]})
    a, b, c = regrets(answer, "wait_mean")
    assert (a.losses, b.losses, c.losses) == ((0, 20, 0), (5, 0, 15), (10, 10, 10))
    assert (a.percents, b.percents) == ((0, 100, 0), (50, 0, 50))
    assert (a.worst, b.worst, c.worst) == (20, 15, 10)
    assert (a.worst_percent, b.worst_percent) == (100, 50)
    assert [one.safest for one in (a, b, c)] == [False, False, True]  # never the best, but never far from it


def test_regret_of_what_should_be_large() -> None:
    answer = sweep({"a": [[10], [40]], "b": [[15], [20]]}, metrics=("utility_total", "vm_cost"))
    a, b = regrets(answer, "utility_total")
    assert (a.losses, b.losses) == ((5, 0), (0, 20))
    assert (a.safest, b.safest) == (True, False)


def test_regret_without_a_number_and_beside_a_best_of_nothing() -> None:
    answer = sweep({"a": [[0], [None]], "b": [[4], [6]], "c": [[5], [None]]})
    a, b, c = regrets(answer, "wait_mean")
    assert (a.losses, a.worst, a.safest) == ((0, None), None, False)
    assert (b.losses, b.percents, b.worst_percent, b.safest) == ((4, 0), (None, 0), None, True)
    assert (c.losses, c.worst) == ((5, None), None)
    nobody = regrets(sweep({"a": [[None]], "b": [[None]]}), "wait_mean")
    assert [(one.worst, one.safest) for one in nobody] == [(None, False), (None, False)]


def test_equal_worst_losses_are_both_the_safest() -> None:
    answer = sweep({"a": [[1], [2]], "b": [[2], [1]]})
    assert [one.safest for one in regrets(answer, "wait_mean")] == [True, True]


@pytest.mark.parametrize(
    ("metric", "words"),
    [("jobs", "is neither better nor worse"), ("wait", "none of this name"), ("jct_mean", "is not one of the sweep")],
)
def test_regret_of_what_has_none_is_refused(metric: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        regrets(sweep({"a": [[1]], "b": [[2]]}), metric)


def test_frontier_by_hand() -> None:
    # (cost, wait): a (10, 5), (20, 3), (30, 3); b (10, 5), (5, 9), (40, 1)
    answer = sweep({"a": [[5], [3], [3]], "b": [[5], [9], [1]]}, {"a": [[10], [20], [30]], "b": [[10], [5], [40]]})
    found = {(one.point, one.policy): one.dominated for one in frontier(answer, "vm_cost", "wait_mean")}
    assert found == {
        (0, "a"): False, (0, "b"): False,  # equal: none is better than the other
        (1, "a"): False, (1, "b"): False,
        (2, "a"): True,  # a at 1 waits as long and costs less
        (2, "b"): False,
    }  # fmt: skip


def test_frontier_turns_round_what_should_be_large_and_leaves_out_what_is_unknown() -> None:
    metrics = ("utility_total", "vm_cost")
    answer = sweep({"a": [[5], [3]], "b": [[4], [None]]}, {"a": [[10], [10]], "b": [[10], [1]]}, metrics)
    found = [
        (one.point, one.policy, one.service, one.dominated) for one in frontier(answer, "vm_cost", "utility_total")
    ]
    assert found == [(0, "a", 5, False), (0, "b", 4, True), (1, "a", 3, True)]


LEVELS = st.sampled_from([0.0, 1.0, 2.0, 3.0])


@given(st.lists(st.tuples(LEVELS, LEVELS, LEVELS, LEVELS), min_size=1, max_size=6))
def test_regret_and_frontier_against_their_definitions(rows: list[tuple[float, float, float, float]]) -> None:
    waits: Numbers = {"a": [[row[0]] for row in rows], "b": [[row[1]] for row in rows]}
    costs: Numbers = {"a": [[row[2]] for row in rows], "b": [[row[3]] for row in rows]}
    answer = sweep(waits, costs)
    worst = {key: max(row[at] - min(row[:2]) for row in rows) for at, key in enumerate("ab")}
    for one in regrets(answer, "wait_mean"):
        assert one.worst == worst[one.policy]
        assert one.safest == (one.worst == min(worst.values()))
    choices = frontier(answer, "vm_cost", "wait_mean")
    for choice in choices:
        others = [(c.cost, c.service) for c in choices if (c.cost, c.service) != (choice.cost, choice.service)]
        beaten = any(cost <= choice.cost and service <= choice.service for cost, service in others)
        assert choice.dominated == beaten


def test_rows_and_what_went_wrong() -> None:
    answer = sweep({"a": [[1, 2]], "b": [[3, 4]]})
    cells = list(answer.cells)
    cells[1] = cells[1].model_copy(update={"values": {}, "error": "stopped", "completed": None})
    cells[2] = cells[2].model_copy(update={"audit": ("node 1 holds too much",), "completed": 4})
    answer = answer.model_copy(update={"cells": tuple(cells)})
    rows = rows_of(answer)
    assert rows[0] == {
        "nodes": "0", "policy": "a", "seed": 0, "wait_mean": 1, "vm_cost": 1, "audit": "ok", "error": "",
    }  # fmt: skip
    assert (rows[1]["wait_mean"], rows[1]["audit"], rows[1]["error"]) == (None, "", "stopped")
    assert rows[2]["audit"] == "node 1 holds too much"
    assert failed(answer) == [cells[1]]
    assert with_violations(answer) == [cells[2]]
    assert list(unequal_points(answer)) == [0]
    assert list(unequal_points(sweep({"a": [[1]], "b": [[3]]}))) == []


def test_an_answer_comes_back_from_plain_data() -> None:
    answer = sweep({"a": [[1, None]], "b": [[3, 4]]})
    assert Sweep.from_plain(answer.to_plain()) == answer
    with pytest.raises(InputError, match="answer Sweep"):
        Sweep.from_plain({"scenario": "0"})
