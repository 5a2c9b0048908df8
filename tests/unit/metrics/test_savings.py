"""What a policy saves against another, and what the bound leaves to gain: by hand."""

from __future__ import annotations

import math

import numpy as np
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
from dlsched.metrics.stats.basis import EXACT_BASIS, Basis
from tests.support.known import known

RENTED = {
    "total_cost": 26_792.0, "vm_cost": 9_044.0, "tardiness_cost": 17_748.0, "rejection_cost": 0.0,
    "total_cost_bound": 6_103.0, "late_share": 0.5, "late_jobs": 50, "jobs": 100,
}  # fmt: skip


def test_what_is_left_to_gain_is_the_part_of_the_total_above_the_bound():
    assert gain_words({"total_cost": 200.0, "total_cost_bound": 176.0}) == (
        "total cost could be up to 12% lower: no policy can do it for less than $176"
    )
    assert gain_words({"total_cost": 200.0, "total_cost_bound": 199.99}) == (
        "total cost cannot be lower: no policy can do it for less than $200"
    )
    assert gain_words({"total_cost": 200.0, "total_cost_bound": None}) == ""
    assert gain_words({"total_cost": 0.0, "total_cost_bound": 0.0}) == ""


def test_where_machines_are_rented_money_comes_first():
    assert result_sentence("PR", RENTED, money_first=True) == (
        "PR: $26,800 in all: $9,040 for machines and $17,700 for lateness; 50% of the jobs were late; "
        "total cost could be up to 77.3% lower: no policy can do it for less than $6,100."
    )
    in_time = {**RENTED, "total_cost": 9_044.0, "tardiness_cost": 0.0, "late_share": 0.0}
    assert "$9,040 in all, all of it for machines; no job was late;" in result_sentence("PR", in_time, money_first=True)
    assert "in all" not in result_sentence("PR", {**RENTED, "total_cost": None}, money_first=True)


def test_a_saving_is_the_difference_of_the_means_over_the_others_mean():
    found = known(saving([50.0, 120.0, 40.0], [100.0, 200.0, 100.0], Basis(kind="drawn", futures=2)))
    half = 4.302653 * np.std([50.0, 80.0, 60.0], ddof=1) / math.sqrt(3)  # t of 2 degrees of freedom
    ends = [(190 / 3 + side * half) / (400 / 3) for side in (-1, 1)]
    assert (found.share, found.low, found.high) == pytest.approx((0.475, *ends), rel=1e-6)
    assert found.is_told
    assert saving([1.0], [0.0], EXACT_BASIS) is None


def test_a_recorded_month_saves_what_it_saved_and_its_futures_decide():
    recorded = Basis(kind="recorded", futures=40, days=28)
    found = known(saving([90.0] + [50.0, 60.0] * 20, [100.0] * 41, recorded))
    assert found.share == pytest.approx(0.1)
    assert (found.change.verdict, found.is_told) == ("better", True)


def test_one_future_has_no_interval():
    rough, sure = (known(saving([62.0], [100.0], basis)) for basis in (Basis(kind="drawn"), EXACT_BASIS))
    assert (rough.is_told, sure.is_told) == (False, True)
    assert saving_words(rough) == saving_words(sure) == "saves 38%"
    assert saving_words(saving([112.0], [100.0], EXACT_BASIS)) == "costs 12% more"


def draws(*totals: float) -> list[dict[str, float]]:
    return [{"total_cost": t, "vm_cost": t / 2, "tardiness_cost": t / 2, "total_cost_bound": 20.0} for t in totals]


def test_savings_and_costs_of_several_runs_in_one_sentence():
    runs = [("EDF", draws(100, 200)), ("PR", draws(24, 50)), ("PS", draws(110, 225)), ("RG", draws(90, 220))]
    two = Basis(kind="drawn", futures=1)
    costs, found = run_costs(runs, two), savings(runs, two)
    assert [cost.parts["vm_cost"] for cost in costs] == [75.0, 18.5, 83.75, 77.5]
    # PR: $76 and $150, mean $113, t(1) = 12.7062: 12.7062 x 37 = $470, which covers 0 and cannot be above $150
    assert savings_sentence(costs, found, "EDF", "rough") == (
        "Against EDF ($150), whether PR, RG and PS save is not clear; no policy can save more than 86.7% (rough)."
    )
    assert saving_words(found["PR", "EDF"]) == "not clear (costs 238% more to saves 100%)"
    alike = [("EDF", draws(100, 101, 102)), ("PR", draws(24, 25.5, 26)), ("PS", draws(112, 113, 114.5))]
    drawn = Basis(kind="drawn", futures=2)
    told = savings_sentence(run_costs(alike, drawn), savings(alike, drawn), "EDF", "95%")
    assert "PR saves 75.1% (74.4% to 75.8%) and PS costs 12% (11.3% to 12.8%) more" in told


def test_the_sentence_of_a_trace_names_the_largest_savings_first():
    totals = {"EDF": 100.0, "PR": 30.0, "RG": 40.0, "same": 100.0, "PS": 112.0, "LAS": 120.0, "FIFO": 130.0}
    runs: list[tuple[str, Draws]] = [(name, draws(total)) for name, total in totals.items()]
    told = savings_sentence(run_costs(runs, EXACT_BASIS), savings(runs, EXACT_BASIS), "EDF", "exact")
    assert told == (
        "Against EDF ($100), PR saves 70%, RG saves 60%, PS costs 12% more and 2 more in the table; "
        "same costs the same; no policy can save more than 80% (exact)."
    )


def test_runs_without_costs_are_left_out():
    runs: list[tuple[str, Draws]] = [("A", draws(100)), ("B", [{"total_cost": None}])]
    assert [cost.name for cost in run_costs(runs, EXACT_BASIS)] == ["A"]
    assert savings(runs, EXACT_BASIS) == {}
