"""The sentence of a what-if: never better where the draws do not tell, a trade-off where numbers disagree."""

from __future__ import annotations

from typing import Any

import pytest

from dlsched.domain.errors import InputError
from dlsched.metrics.stats.basis import EXACT_BASIS, Basis
from dlsched.studies.what_if.answer import Moved, WhatIf, card_rows, comparison_of, forest_rows
from dlsched.studies.what_if.words import (
    moved_words,
    sentence,
    settings,
    subject,
)
from tests.support.what_ifs import POLICY, TODAY, TWO_NODES, answer, draws
from tests.support.wording import says


def told(made: WhatIf) -> str:
    return sentence(made, comparison_of(made))


def test_a_gain_that_costs() -> None:
    then = draws((0.06, 0.061, 0.062), (3600, 4100, 3700), (49_400, 49_400, 49_400))
    assert says(told(answer(TODAY, then)), "Two more nodes cut late jobs", "14.2%", "6.1%", "cost $9,400 more", "95%")


def test_a_recorded_month_comes_first_and_months_from_its_days_decide() -> None:
    today = draws([0.14] * 41, [3600] * 41, [40_000] * 41)
    then = draws([0.06] * 41, [3600] * 41, [49_400] * 41)
    recorded = {"basis": Basis(kind="recorded", futures=40, days=28)}
    text = told(answer(today, then, **recorded))
    assert says(text, "cut late jobs from 14% to 6%", "this month as recorded and 40 months reshuffled from its days")


def test_two_gains_have_one_verb_and_a_single_subject_its_own() -> None:
    then = draws((0.06, 0.061, 0.062), (600, 1000, 800), (40_000, 40_000, 40_000))
    text = told(answer(TODAY, then, POLICY))
    assert says(text, "EASY backfill", "FIFO", "cuts late jobs", "6.1%", "p95 wait", "1 h 3 min", "13 min", "same cost")
    assert text.count("cuts") == 1


def test_numbers_that_disagree_are_a_trade_off() -> None:
    then = draws((0.06, 0.061, 0.062), (7200, 7600, 7400), (30_000, 30_000, 30_000))
    text = told(answer(TODAY, then))
    assert says(text, "trade-off", "cut late jobs", "6.1%", "but raise the p95 wait", "2 h 3 min", "save $10,000")


def test_a_loss_that_saves() -> None:
    fewer = Moved(key="nodes.a100", label="Nodes of a100", unit="nodes", before=8, after=7)
    then = draws((0.3, 0.301, 0.302), (3600, 4100, 3700), (30_000, 30_000, 30_000))
    text = told(answer(TODAY, then, fewer))
    assert says(text, "One fewer node of a100 raises late jobs", "30.1%", "but saves $10,000")


def test_what_the_draws_do_not_tell_is_never_better() -> None:
    then = draws((0.10, 0.18, 0.14), (3700, 3900, 3800), (40_000, 40_001, 39_990))
    found = told(answer(TODAY, then))
    assert says(found, "not clearly change late jobs and the p95 wait", "same cost")
    assert "cut" not in found


def test_one_draw_of_something_random_tells_nothing_apart() -> None:
    found = told(answer(TODAY[:1], draws((0.06,), (60,), (49_400,))))
    assert says(found, "late jobs 6% (14% today)", "1 min (1 h today)", "$49,400/month", "rough")
    assert "cut" not in found


def test_where_nothing_is_random_the_difference_is_exact_and_no_forecast() -> None:
    found = told(answer(TODAY[:1], draws((0.06,), (3600,), (40_000,)), basis=EXACT_BASIS))
    assert says(found, "cut late jobs from 14% to 6%", "same cost", "exact", "not a forecast")


def test_nothing_changed_says_how_it_is() -> None:
    made = answer(TODAY, TODAY).model_copy(update={"moved": ()})
    assert says(
        told(made), "Today, under FIFO", "14.2% (13.7% to 14.7%)", "1 h 3 min (56 min to 1 h 12 min)", "$40,000/month"
    )


def test_a_change_that_changes_nothing_says_so() -> None:
    assert says(told(answer(TODAY, TODAY)), "leave late jobs, the p95 wait and completed jobs", "same cost")


def test_a_run_that_failed_gives_no_comparison() -> None:
    made = answer(TODAY, [{}] * 3)
    failed = made.model_copy(update={"changed": made.changed.model_copy(update={"errors": ("no node",)})})
    assert says(told(failed), "not complete")
    assert failed.errors == ("no node",)


def moved(key: str, unit: str, before: Any, after: Any, label: str = "") -> Moved:
    return Moved(key=key, label=label or key.capitalize(), unit=unit, before=before, after=after)


@pytest.mark.parametrize(
    ("one", "words"),
    [
        (TWO_NODES, "two more nodes"),
        (moved("nodes.a100", "nodes", 3, 2), "one fewer node of a100"),
        (moved("nodes.8-GPU node", "nodes", 1, 3), "two more nodes of 8-GPU node"),
        (moved("nodes", "nodes", 8, 40), "32 more nodes"),
        (moved("arrivals", "x", 1, 1.2), "arrivals +20%"),
        (moved("prices", "x", 1, 0.85), "prices −15%"),
        (moved("durations", "x", 1, 4), "durations 4x"),
        (POLICY, "EASY backfill instead of FIFO"),
        (moved("restart_s", "s", 0, 90, "Restart"), "restart 1 min 30 s instead of 0 s"),
        (moved("rejection_usd", "$", 0, 5, "Rejection"), "rejection $5.00 instead of $0.00"),
        (moved("horizon_s", "s", None, 7200, "Horizon"), "horizon 2 h instead of none"),
        (moved("param.quantum_s", "", 60, 120, "LAS, quantum s"), "LAS, quantum s 120 instead of 60"),
        (moved("failure_at", "", None, "3@48for6"), "a failure of node 3 after 2 d for 6 h"),
        (moved("failure_at", "", None, "3@48for6+4@1for1"), "2 failures"),
        (moved("failures", "h", None, 100), "failures (each node every 4 d 4 h)"),
        (moved("vm_types", "", None, "a100+h100"), "only the VM types a100 and h100"),
        (moved("run_time_spread", "", None, 0.3), "run times ± 30%"),
        (moved("borrowing", "", "allowed", "off"), "no borrowing"),
        (moved("reclaim.*", "", "never", "any"), "reclaim from any job"),
        (moved("parent.vision", "", "none", "research"), "vision in the cohort research instead of no cohort"),
        (moved("quota.vision", "GPUs", 24, 40, "Quota of vision"), "a quota of 40 GPUs for vision instead of 24 GPUs"),
    ],
    ids=lambda value: value.key if isinstance(value, Moved) else "",
)
def test_each_change_in_words(one: Moved, words: str) -> None:
    assert moved_words(one) == words


def test_many_changes_are_counted_and_several_take_a_plural() -> None:
    arrivals = moved("arrivals", "x", 1, 1.1)
    assert subject([TWO_NODES, arrivals]).words == "Two more nodes and arrivals +10%"
    assert subject([POLICY]).does("cut") == "cuts"
    assert subject([POLICY, arrivals]).does("cut") == "cut"
    four = subject([TWO_NODES, arrivals, POLICY, moved("restart_s", "s", 0, 9)])
    assert (four.words, four.is_are) == ("These four changes", "are")


def test_only_what_differs_is_listed() -> None:
    made = answer(TODAY, TODAY, TWO_NODES, POLICY)
    assert settings(made) == [
        {"Setting": "Nodes", "Today": "8", "With the change": "10"},
        {"Setting": "Policy", "Today": "FIFO", "With the change": "EASY backfill"},
    ]


def test_cards_show_completed_jobs_where_they_differ_and_rows_without_a_baseline_have_no_percent() -> None:
    fewer: list[dict[str, float | None]] = [one | {"completed": 90.0} for one in TODAY]
    made = answer(TODAY, fewer)
    found = comparison_of(made)
    assert [row.kpi.key for row in card_rows(made, found)] == ["late_share", "wait_p95", "completed", "cost_month"]
    never: list[dict[str, float | None]] = [one | {"late_share": 0.0} for one in TODAY]
    late = answer(never, TODAY)
    assert [row.kpi.key for row in forest_rows(late, comparison_of(late))] == ["wait_p95", "cost_month"]


def test_what_is_no_answer_is_refused() -> None:
    with pytest.raises(InputError, match="answer WhatIf"):
        WhatIf.from_plain({"scenario": "s"})
