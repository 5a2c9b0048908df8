"""What is said of an interval, word by word."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dlsched.studies.inspect.admissions.answer import Admission
from dlsched.studies.inspect.admissions.words import (
    FIXED,
    besides_frame,
    cards_of,
    cautions_of,
    in_unit,
    jobs_frame,
    optimus_words,
    sentence_of,
    useful_unit,
    worth,
)
from tests.support.admission_runs import batches, small_interval
from tests.support.models import replaced

ONE = small_interval()
ALL_IN: dict[str, Any] = {"price": (0.0, 0.0), "fate": ("in", "in", "in", "running")}
NONE_IN: dict[str, Any] = {"price": (0.0, 0.0), "fate": ("rejected",) * 3 + ("running",)}
FIRST_COME = replaced(ONE, admission="first-come", status="", value=20.0, bound=30.0)


@pytest.mark.parametrize(
    ("one", "who", "worth_of", "why"),
    [
        (ONE, "1 of 3 jobs is admitted", "worth 30, proven to be the most",
         "Memory decides: one more GiB would be worth"),
        (FIRST_COME, "1 of 3 jobs is admitted", "worth 20 of at most 30", "Memory is scarcest: one more GiB"),
        (replaced(ONE, price=(0.25, 0.0)), "1 of 3", "proven", "GPUs decide: one more GPU would be worth 0.25"),
        (replaced(ONE, price=(0.0, 0.0)), "1 of 3", "proven", "1 job waits: not enough memory left"),
        (replaced(ONE, status="feasible", bound=31.0, **ALL_IN), "All 3 jobs are", "worth 30 of at most 31", ""),
        (replaced(ONE, value=0.0, bound=1e-6, status="", **NONE_IN), "None of 3 jobs is admitted.", "", ""),
        (replaced(ONE, value=1e-7, bound=1e-6, status="", **ALL_IN), "All 3 jobs", "worth <0.001", ""),
        (replaced(ONE, value=0.0, bound=12.0, status="", **NONE_IN), "None of 3 jobs", "worth 0 of at most 12", ""),
        (replaced(ONE, value=None, bound=None, status="", price=(0.0, 0.0)), "1 of 3", "no job says what it is worth",
         "1 job waits"),
    ],
    ids=["proven", "first come", "GPUs", "no price", "feasible", "none", "worthless", "missed", "no utility"],
)  # fmt: skip
def test_the_sentence(one: Admission, who: str, worth_of: str, why: str) -> None:
    words = sentence_of(one)
    assert words.startswith(who)
    assert worth_of in words
    assert why in words
    assert ("worth" in words) is bool(worth_of)


def test_the_cards_say_what_the_sentence_says():
    assert [card[:2] for card in cards_of(ONE)] == [
        ("Admitted", "1 of 3"), ("Worth", "30, proven"), ("Used share of reservations", "69.2%"),
        ("Not admitted", "1 waiting, 1 rejected"),
    ]  # fmt: skip
    assert ONE.used_of_reserved() == pytest.approx((3 / 10 + 24 / 40) / (6 / 10 + 28 / 40))
    assert cards_of(FIRST_COME)[1][1] == "20 of 30"
    assert cards_of(replaced(ONE, value=0.0, bound=1e-9))[1][1] == "0"
    assert cards_of(replaced(ONE, value=None, bound=None))[1][1] == "–"


def test_jobs_are_sorted_by_worth_for_a_percent_of_what_they_reserve_most_of_and_who_runs_is_last():
    frame = jobs_frame(ONE, ("esw", "first-come"))
    # c: 60 for 80% of the memory = 0.75 per 1%; b: 30 for 50% = 0.6
    assert frame["Job"].tolist() == ["c", "b", "d", "<b>a</b>"]
    assert frame["Worth per 1%"].tolist()[:2] == pytest.approx([0.75, 0.6])
    assert frame["Reserves most of"].tolist() == ["memory, 80%", "memory, 50%", "–", "GPUs, 40%"]
    assert frame["Opportunity cost"].tolist() == pytest.approx([16.0, 10.0, 0.0, 4.0])
    assert frame["Run time"].tolist()[:2] == [1800.0, 3600.0]
    assert np.isnan(frame["Run time"][2])
    assert frame["Workers and servers"].tolist() == [
        "2 workers, 3 servers",
        "1 worker, 1 server",
        "–",
        "2 workers, 1 server",
    ]
    assert frame["ESW, first come"].tolist() == ["admitted", "not admitted", "not admitted", "–"]
    assert "ESW, first come" not in jobs_frame(ONE)


def test_the_other_rules_stand_beside_each_other():
    frame = besides_frame(ONE)
    assert frame.columns.tolist() == [
        "Workers and servers by", "Admitted, first come", "Worth, first come", "Admitted, knapsack", "Worth, knapsack",
    ]  # fmt: skip
    assert frame.iloc[1].tolist() == ["ESW", 1, 10.0, 1, 28.0]
    assert optimus_words(ONE).startswith(FIXED)
    assert optimus_words(ONE).endswith(
        "In this interval its choice is worth the same with first come and 0.1% less with knapsack."
    )


def test_nothing_is_said_of_shares_of_nothing():
    nothing = replaced(ONE, besides=tuple(replaced(beside, worth=0.0) for beside in ONE.besides))
    assert "In this interval" not in optimus_words(nothing)


def test_guards_tell_worth_0_with_the_unit_that_helps_and_what_is_not_as_stored():
    given = batches()
    seconds = given.replace(options=given.options.model_copy(update={"utility_unit_s": 1.0}))
    assert cautions_of(ONE, 30.0, given, stale=False) == []
    (guard,) = cautions_of(replaced(ONE, worthless=True), 30.0, seconds, stale=False)
    assert (guard.level, guard.text) == ("red", "Every job is worth 0 in this time unit (seconds): use hours.")
    (guard,) = cautions_of(ONE, 31.0, given, stale=False)
    assert "worth 30; in the run it was worth 31" in guard.text
    (guard,) = cautions_of(ONE, 30.0, given, stale=True)
    assert "older version" in guard.text
    (guard,) = cautions_of(replaced(ONE, status="feasible", bound=40.0), 30.0, given, stale=False)
    assert (
        guard.text == "Not proven to be the best choice: another choice could be worth up to 25% more (proven limit)."
    )


def test_the_unit_that_helps_is_the_shortest_longer_one_or_none():
    given = batches()
    assert useful_unit(given.replace(options=given.options.model_copy(update={"utility_unit_s": 60.0}))) == "hours"
    assert in_unit(given, "days").options.utility_unit_s == 86_400
    assert useful_unit(in_unit(given, "days")) is None


def test_next_to_nothing_is_told_without_its_zeros():
    assert [worth(value) for value in (None, 0.0, 4e-6, 0.5, 1131.3)] == ["–", "0", "<0.001", "0.5", "1,130"]
