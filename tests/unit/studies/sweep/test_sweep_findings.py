"""What a sweep says, by hand: the sentence, swings, choices that are compared, cards, banners, words of values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.studies.sweep.answer import (
    Axis,
    Sweep,
    best_at,
    choice_points,
    costs_of,
    frontier,
    knee,
    loss_at,
    metrics_of,
    regrets,
    swings,
)
from dlsched.studies.sweep.words import (
    axis_title,
    cards_of,
    cautions_of,
    certainty,
    finding,
    point_words,
    position,
    premises_of,
    question_words,
    situation_words,
    spoken_of,
    value_words,
)
from tests.support.known import known
from tests.support.sweeps import ARRIVALS, FAILS, MIN, NODES, Draws, made, two_policies
from tests.support.wording import says


def test_the_safe_choice_and_how_much_another_can_lose() -> None:
    # At 4 nodes SJF 85 min, FIFO 110: 25 / 85 = 29.4%. At 8 nodes FIFO 52, SJF 54: 2 / 52 = 3.8%.
    text = finding(two_policies(), "jct_mean")
    assert says(text, "Mean turnaround time", "SJF", "best", "at most 3.85%", "both")
    assert says(text, "FIFO", "29.4%", "4 nodes", "not clear", "95%")


def test_a_policy_that_is_best_everywhere_and_ties() -> None:
    best = made({"jct_mean": {"fifo": [[20.0], [30.0]], "sjf": [[10.0], [30.0]]}}, exact=True)
    assert says(finding(best, "jct_mean"), "SJF is best in both", "FIFO can be 100% worse", "4 nodes", "exact")
    tie = made({"jct_mean": {"fifo": [[20.0], [30.0]], "sjf": [[20.0], [30.0]]}})
    assert says(finding(tie, "jct_mean"), "FIFO and SJF are best in both", "rough preview")


def test_where_the_best_is_next_to_nothing_losses_are_told_in_their_unit() -> None:
    nothing = made({"wait_mean": {"fifo": [[3600.0], [0.0]], "sjf": [[1.0], [0.0]]}}, exact=True)
    assert "FIFO can be 1 h worse, at 4 nodes" in finding(nothing, "wait_mean")
    zero = made({"late_share": {"fifo": [[0.1], [0.0]], "sjf": [[0.0], [0.0]]}}, exact=True)
    assert "FIFO can be 10 pp more, at 4 nodes" in finding(zero, "late_share")


def test_more_is_better_for_completed_jobs() -> None:
    answer = made({"completed": {"fifo": [[8.0], [10.0]], "sjf": [[10.0], [10.0]]}}, exact=True)
    assert "SJF is best in both situations; FIFO can be 20% worse, at 4 nodes" in finding(answer, "completed")
    assert best_at(answer, 0, "completed") == "sjf"
    assert known(loss_at(answer, 0, "fifo", "completed")).value == -2


def test_nobody_is_safe_where_numbers_are_missing() -> None:
    gaps = made({"jct_mean": {"fifo": [[20.0], [None]], "sjf": [[None], [30.0]]}})
    assert "no policy has a number in every situation" in finding(gaps, "jct_mean")
    assert [card[0] for card in cards_of(gaps, "jct_mean")] == ["Completed jobs"]


def test_of_one_policy_a_range_says_its_ends() -> None:
    one = made({"jct_mean": {"fifo": [[100 * MIN], [50 * MIN]]}}, exact=True)
    assert says(finding(one, "jct_mean"), "50 min at 8 nodes", "1 h 40 min at 4 nodes", "FIFO", "exact")


def test_what_happens_is_told_in_its_order_and_what_is_chosen_from_best_to_worst() -> None:
    falling = made({"cost_month": {"fifo": [[300.0], [100.0]]}}, (ARRIVALS,), exact=True)
    text = finding(falling, "cost_month")
    assert says(text, "from $300/month with arrivals −20%", "to $100/month with arrivals +20%")
    assert not any(word in text for word in ("best", "better", "cheap"))
    chosen = made({"cost_month": {"fifo": [[300.0], [100.0]]}}, (NODES,), exact=True)
    assert says(finding(chosen, "cost_month"), "from $100/month at 8 nodes", "to $300/month at 4 nodes")


def test_the_verdict_is_of_paired_futures() -> None:
    fifo, sjf = [60.0 * MIN] * 41, [50.0 * MIN, *[40.0 * MIN] * 40]
    answer = made({"jct_mean": {"fifo": [fifo, fifo], "sjf": [sjf, sjf]}}, vary={"days": 1.0}, days=14)
    assert says(finding(answer, "jct_mean"), "SJF is best in both", "FIFO can be 20% worse", "worse in 40 of 40")
    assert spoken_of(answer, "jct_mean") == "sjf"


def alone(values: list[Draws], **more: Any) -> Sweep:
    return made({"jct_mean": {"fifo": values}}, (ARRIVALS, NODES, FAILS), "one-at-a-time", **more)


def test_of_one_policy_one_at_a_time_says_what_moves_it_most() -> None:
    answer = alone([[50 * MIN], [40 * MIN], [65 * MIN], [80 * MIN], [50 * MIN], [55 * MIN]], exact=True)
    assert [(move.axis, move.size / MIN) for move in swings(answer, "fifo", "jct_mean")] == [(1, 30), (0, 15), (2, 5)]
    assert [end[0] for end in swings(answer, "fifo", "jct_mean")[1].ends] == [1, 2]
    assert "Under FIFO, mean turnaround time changes most at 4 nodes: +30 min on 50 min (exact" in finding(
        answer, "jct_mean"
    )
    still = alone([[50 * MIN]] * 6, exact=True)
    assert "Under FIFO, nothing varied here changes mean turnaround time" in finding(still, "jct_mean")
    unsure = alone([[50 * MIN, 50 * MIN], [40 * MIN, 80 * MIN], *([[50 * MIN, 50 * MIN]] * 4)])
    assert "Under FIFO, no change of mean turnaround time is clear; the largest is +10 min" in finding(
        unsure, "jct_mean"
    )


def test_the_ends_of_a_swing_are_the_lowest_and_the_highest_value_in_whatever_order_they_are_asked() -> None:
    axis = NODES.model_copy(update={"values": (16.0, 2.0, 8.0)})
    answer = made({"jct_mean": {"fifo": [[50.0], [40.0], [90.0], [50.0]]}}, (axis,), "one-at-a-time", exact=True)
    assert [(at, change.value) for at, change in swings(answer, "fifo", "jct_mean")[0].ends] == [(2, 40.0), (1, -10.0)]


def test_only_choices_are_compared_in_cost_and_service() -> None:
    grid = made(
        {"jct_mean": {"fifo": [[9.0], [8.0], [5.0], [4.0]]}, "cost_month": {"fifo": [[10.0], [5.0], [20.0], [10.0]]}},
        (NODES, ARRIVALS),
    )
    assert [choice_points(grid, at) for at in range(4)] == [[0, 2], [1, 3], [0, 2], [1, 3]]
    assert [one.dominated for one in frontier(grid, "cost_month", "jct_mean", [0, 2])] == [False, False]
    assert [one.dominated for one in frontier(grid, "cost_month", "jct_mean")] == [True, False, True, False]
    single = alone([[1.0]] * 6)
    assert choice_points(single, 0) == [0, 3, 4]
    assert choice_points(single, 1) == [1]


def test_the_knee_is_where_more_money_begins_to_bring_little() -> None:
    axis = NODES.model_copy(update={"values": (1.0, 2.0, 3.0, 4.0)})
    answer = made(
        {"jct_mean": {"fifo": [[100.0], [40.0], [35.0], [30.0]]}, "cost_month": {"fifo": [[1.0], [2.0], [3.0], [4.0]]}},
        (axis,), exact=True,
    )  # fmt: skip
    # Scaled: (0, 1), (1/3, 1/7), (2/3, 1/14), (1, 0); below the chord by 0, 0.52, 0.26, 0.
    assert known(knee(answer, "cost_month", "jct_mean")).point == 1
    assert [label for label, _, _ in cards_of(answer, "jct_mean")] == ["Completed jobs"]  # no planner's number
    assert knee(two_policies(), "cost_month", "jct_mean") is None


def test_costs_are_per_month_where_jobs_arrive_over_different_times() -> None:
    numbers = {key: {"fifo": [[1.0], [1.0]]} for key in ("jct_mean", "vm_cost", "cost_month", "unfinished")}
    assert costs_of(made(numbers)) == ["cost_month", "vm_cost"]
    assert costs_of(made(numbers, (ARRIVALS,))) == ["cost_month"]
    assert costs_of(made(numbers, vary={"days": 1.0})) == ["cost_month"]
    assert metrics_of(made(numbers)) == ["jct_mean", "vm_cost", "cost_month", "unfinished"]


def test_banners_tell_violations_failures_gaps_and_unlike_jobs() -> None:
    answer = made({"jct_mean": {"fifo": [[1.0], [None]], "sjf": [[1.0], [2.0]]}})
    first, second, third, fourth = answer.cells
    cells = (
        first.model_copy(update={"audit": ("node 0 holds two",)}),
        second.model_copy(update={"completed": 9}),
        third,
        fourth.model_copy(update={"error": "too wide", "values": {"jct_mean": None}}),
    )
    guards = cautions_of(answer.model_copy(update={"cells": cells}), stale=True, elsewhere=True)
    assert [guard.level for guard in guards] == ["red", "orange", "orange", "orange", "info", "info", "info"]
    assert guards[0].text == "The audit found violations in 1 run. First, FIFO, 4 nodes: node 0 holds two."
    assert guards[0].action == "Do not use this answer"
    assert guards[1].text == "1 run of 4 failed and count nowhere. First, SJF, 8 nodes: too wide."
    assert guards[2].text.startswith("1 of 4 runs are missing")
    assert "different numbers of jobs in 1 situation, first 4 nodes" in guards[3].text
    assert guards[6].text == "One simulated version of the workload: a rough preview."
    clean = made({"jct_mean": {"fifo": [[1.0], [2.0]]}}, exact=True)
    assert cautions_of(clean) == []


def test_who_completes_fewer_jobs_is_not_called_the_safe_choice() -> None:
    answer = two_policies()
    assert cards_of(two_policies(), "jct_mean")[0][0] == "Safe choice"
    fewer = {("sjf", 0): 4, ("sjf", 1): 9}
    cells = tuple(
        cell.model_copy(update={"completed": fewer.get((cell.policy, cell.point), 10)}) for cell in answer.cells
    )
    unlike = answer.model_copy(update={"cells": cells})
    words = "SJF completes 4 jobs where FIFO completes 10, at 4 nodes"
    assert f". But {words} (95% interval over 2 simulated versions of the workload)." in finding(unlike, "jct_mean")
    title, value, hint = cards_of(unlike, "jct_mean")[0]
    assert (title, value) == ("Best of jobs it completed", "SJF")
    assert hint.startswith(words)
    assert "But" not in finding(two_policies(), "jct_mean")


def test_assumptions_and_certainty() -> None:
    drawn = made({"jct_mean": {"fifo": [[1.0, 2.0], [2.0, 3.0]]}}, vary={"days": 1.0, "run_time_spread": 0.3}, days=7)
    labels = [chip.label for chip in premises_of(drawn, [("Nodes", "of the pool")])]
    assert labels == ["default parameters", "the same futures for all", "days resampled", "run times ± 30%", "Nodes"]
    assert certainty(drawn) == "this month as recorded and 1 month reshuffled from its days"
    assert "Months to come can differ more" in premises_of(drawn)[2].why
    exact = made({"jct_mean": {"fifo": [[1.0], [2.0]]}}, exact=True)
    assert [chip.label for chip in premises_of(exact)] == ["default parameters", "exact for this trace, not a forecast"]
    assert certainty(exact) == "exact for this trace, not a forecast"
    assert question_words("grid", drawn.axes, ["FIFO"]) == "How does FIFO perform from 4 nodes to 8 nodes?"
    two = [NODES.model_copy(update={"values": (4.0, 6.0, 8.0)}), FAILS]
    both = ["FIFO", "SJF"]
    compared = "How do 2 policies compare from 4 nodes to 8 nodes and with 2 failures?"
    assert question_words("grid", two, both) == compared
    safe = "Which of 2 policies is the safe choice, whichever comes: nodes or 2 failures?"
    assert question_words("one-at-a-time", two, both) == safe
    most = "What changes the result under FIFO most: nodes or 2 failures?"
    assert question_words("one-at-a-time", two, ["FIFO"]) == most


def axis(key: str, label: str, unit: str) -> Axis:
    return Axis(key=key, label=label, unit=unit, values=(1.0,))


@pytest.mark.parametrize(
    ("key", "label", "unit", "value", "short", "long", "title", "at"),
    [
        ("nodes", "Nodes", "nodes", 8.0, "8", "8 nodes", "Nodes", 8),
        ("nodes.a", "Nodes of a", "nodes", 8.0, "8", "8 nodes of a", "Nodes of a", 8),
        ("restart_s", "Restart", "s", 5400.0, "1 h 30 min", "restart 1 h 30 min", "Restart (hours)", 1.5),
        ("failures", "Failures, one a node every", "h", 48.0, "2 d", "failures (each node every 2 d)",
         "Failures, one a node every (hours)", 48),
        ("run_time_spread", "Run times, spread", "", 0.5, "± 50%", "run times ± 50%", "Run times, spread (%)", 50),
        ("bug_share", "Bug share", "", 0.15, "15%", "bug share 15%", "Bug share (%)", 15),
        ("days", "Days resampled", "", 1.0, "1", "days resampled", "Days resampled", 1),
        ("rejection_usd", "Rejection", "$", 5.0, "$5.00", "rejection $5.00", "Rejection ($)", 5),
        ("arrivals", "Arrivals", "x", 1.5, "+50%", "arrivals +50%", "Arrivals (change, %)", 50),
        ("las.quantum_s", "las.quantum_s", "", 60.0, "60", "las.quantum_s 60", "las.quantum_s", 60),
    ],
)  # fmt: skip
def test_values_in_words(
    key: str, label: str, unit: str, value: float, short: str, long: str, title: str, at: float
) -> None:
    one = axis(key, label, unit)
    assert value_words(one, value) == short
    assert situation_words(one, value) == long
    assert axis_title(one) == title
    assert position(one, value) == pytest.approx(at)


def test_names_in_words() -> None:
    assert situation_words(FAILS, FAILS.values[0]) == "2 failures"
    assert situation_words(axis("vm_types", "VM types", ""), "a+b") == "only the VM types a and b"
    with pytest.raises(TypeError, match="has names"):
        position(FAILS, "0@5for2")
    answer = alone([[1.0]] * 6)
    assert [point_words(answer, at) for at in (0, 1, 3, 5)] == [
        "as it is", "arrivals −20%", "4 nodes", "2 failures",
    ]  # fmt: skip


@given(st.lists(st.lists(st.floats(1, 1e6), min_size=3, max_size=3), min_size=2, max_size=4))
def test_the_sentence_names_a_policy_with_the_smallest_worst_loss(times: list[list[float]]) -> None:
    axis_of_three = NODES.model_copy(update={"values": (1.0, 2.0, 3.0)})
    values = {f"p{at}": [[one] for one in line] for at, line in enumerate(times)}
    answer = made({"jct_mean": values}, (axis_of_three,), exact=True)
    best = [min(line[point] for line in times) for point in range(3)]
    worst = {key: max(line[point] - best[point] for point in range(3)) for key, line in zip(values, times, strict=True)}
    safe = [one.policy for one in regrets(answer, "jct_mean") if one.safest]
    assert {worst[key] for key in safe} == {min(worst.values())}
    assert all(key.upper() in finding(answer, "jct_mean").split(" best ")[0] for key in safe)
