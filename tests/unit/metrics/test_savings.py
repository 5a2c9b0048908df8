"""What a policy saves against another, and what the bound leaves to gain: by hand."""

from __future__ import annotations

import math

import pytest

from dlsched.metrics.findings import result_sentence
from dlsched.metrics.savings import (
    Draws,
    gain_words,
    run_costs,
    saving,
    saving_words,
    savings,
    savings_sentence,
)

RENTED = {
    "total_cost": 26_792.0, "vm_cost": 9_044.0, "tardiness_cost": 17_748.0, "rejection_cost": 0.0,
    "total_cost_bound": 6_103.0, "late_share": 0.5, "late_jobs": 50, "jobs": 100,
}  # fmt: skip


def test_what_is_left_to_gain_is_the_part_of_the_total_above_the_bound():
    assert gain_words({"total_cost": 200.0, "total_cost_bound": 176.0}) == (
        "at most 12% left to gain: no policy can do it for less than $176"
    )
    assert gain_words({"total_cost": 200.0, "total_cost_bound": 199.99}) == (
        "nothing left to gain: no policy can do it for less than $200"
    )
    assert gain_words({"total_cost": 200.0, "total_cost_bound": None}) == ""
    assert gain_words({"total_cost": 0.0, "total_cost_bound": 0.0}) == ""


def test_where_machines_are_rented_money_comes_first():
    assert result_sentence("PR", RENTED, money_first=True) == (
        "PR: $26,800 in all: $9,040 for machines and $17,700 for lateness; 50% were late; "
        "at most 77.3% left to gain: no policy can do it for less than $6,100."
    )
    in_time = {**RENTED, "total_cost": 9_044.0, "tardiness_cost": 0.0, "late_share": 0.0}
    assert "$9,040 in all, all of it for machines; none was late;" in result_sentence("PR", in_time, money_first=True)
    assert "in all" not in result_sentence("PR", {**RENTED, "total_cost": None}, money_first=True)


def test_a_saving_is_the_mean_of_the_shares_with_a_t_interval():
    # Draw by draw 50%, 40%, 60%; t(0.975, 2 degrees) = 4.302653, standard deviation 0.1
    found = saving([50.0, 120.0, 40.0], [100.0, 200.0, 100.0])
    assert found is not None
    assert found.mean == pytest.approx(0.5)
    assert found.half_width == pytest.approx(4.302653 * 0.1 / math.sqrt(3), rel=1e-6)
    assert saving_words(found) == "saves 50% ± 25 pp"
    assert saving([1.0], [0.0]) is None


def test_one_draw_has_an_interval_only_where_nothing_is_random():
    rough, sure = saving([62.0], [100.0]), saving([62.0], [100.0], exact=True)
    assert rough is not None
    assert sure is not None
    assert (rough.half_width, sure.half_width) == (None, 0.0)
    assert saving_words(rough) == saving_words(sure) == "saves 38%"
    assert saving_words(saving([112.0], [100.0])) == "costs 12% more"


def draws(*totals: float) -> list[dict[str, float]]:
    return [{"total_cost": t, "vm_cost": t / 2, "tardiness_cost": t / 2, "total_cost_bound": 20.0} for t in totals]


def test_savings_and_costs_of_several_runs_in_one_sentence():
    runs = [("EDF", draws(100, 200)), ("PR", draws(24, 50)), ("PS", draws(110, 225)), ("RG", draws(90, 220))]
    costs = run_costs(runs)
    assert [cost.parts["vm_cost"] for cost in costs] == [75.0, 18.5, 83.75, 77.5]
    found = savings(runs)
    # PS: -10% and -12.5%, mean -11.25%, t(1) = 12.7062: 12.7062 x 1.25 = 15.9 pp, which covers 0; so does RG
    assert savings_sentence(costs, found, "EDF", "95%, 2 paired draws") == (
        "Against EDF ($150), PR saves 75.5% ± 6.4 pp; RG and PS are not distinguishable; "
        "nobody can save more than 86.7% (95%, 2 paired draws)."
    )
    in_dollars = savings_sentence(costs, found, "EDF", "95%", {"PS": 17.5, "PR": -113.0})
    assert "PR saves 75.5% ± 6.4 pp and PS costs $17.50 more; RG is not distinguishable;" in in_dollars
    assert saving_words(found["PS", "EDF"]) == "costs 11.2% ± 15.9 pp more"
    assert saving_words(found["RG", "EDF"]) == "saves 0% ± 127 pp"


def test_the_sentence_of_a_trace_names_the_largest_savings_first():
    totals = {"EDF": 100.0, "PR": 30.0, "RG": 40.0, "same": 100.0, "PS": 112.0, "LAS": 120.0, "FIFO": 130.0}
    runs: list[tuple[str, Draws]] = [(name, draws(total)) for name, total in totals.items()]
    told = savings_sentence(run_costs(runs, exact=True), savings(runs, exact=True), "EDF", "exact")
    assert told == (
        "Against EDF ($100), PR saves 70%, RG saves 60%, PS costs 12% more and 2 more in the table; "
        "same costs the same; nobody can save more than 80% (exact)."
    )


def test_runs_without_costs_are_left_out():
    runs: list[tuple[str, Draws]] = [("A", draws(100)), ("B", [{"total_cost": None}])]
    assert [cost.name for cost in run_costs(runs)] == ["A"]
    assert savings(runs) == {}
