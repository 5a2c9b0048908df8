"""How sure a number is, in words."""

from __future__ import annotations

import pytest

from dlsched.metrics.stats.basis import EXACT_BASIS, Basis
from dlsched.wording.certainty import (
    EXACT,
    ROUGH,
    certainty,
    count_words,
    first_words,
    interval_note,
    percent_words,
    range_note,
    range_words,
    value_words,
)

MONTH, FEW_DAYS, ALONE = (
    Basis(kind="recorded", futures=futures, days=days) for futures, days in ((40, 28), (40, 3), (0, 28))
)
DRAWN = Basis(kind="drawn", futures=19)


@pytest.mark.parametrize(
    ("basis", "done", "words"),
    [
        (EXACT_BASIS, 1, EXACT),
        (DRAWN, 1, ROUGH),
        (DRAWN, 20, "95% interval over 20 simulated versions of the workload"),
        (DRAWN, 3, "3 of 20 futures so far"),
        (MONTH, 41, "this month as recorded and 40 months reshuffled from its days"),
        (MONTH, 3, "3 of 41 futures so far"),
        (FEW_DAYS, 41, "this month as recorded; 3 days of it say nothing about others"),
        (ALONE, 1, "this month as recorded, nothing is said about others"),
        (Basis(kind="recorded", futures=10), 11, "this month as recorded and 10 simulated versions of it"),
    ],
)
def test_how_sure_numbers_are(basis: Basis, done: int, words: str) -> None:
    assert certainty(basis, done) == words


def test_what_a_range_is() -> None:
    assert interval_note(MONTH, 41).endswith("ranges hold 8 of 10 of the 40 months reshuffled from its days")
    assert interval_note(MONTH, 6).endswith("ranges hold all 5 months reshuffled from its days")
    assert interval_note(DRAWN, 20) == "ranges are 95% intervals over 20 simulated versions of the workload"
    assert interval_note(Basis(kind="drawn"), 1) == f"{ROUGH}, so no ranges"
    assert interval_note(EXACT_BASIS, 1) == EXACT


def test_a_range_of_one_number_is_none() -> None:
    assert range_words("duration", 7200.0, 126_000.0) == "2 h to 1 d 11 h"
    assert range_words("duration", 7200.0, 7201.0) == range_words("usd", None, 3.0) == ""
    assert value_words("share", 0.061, 0.05, 0.092) == "6.1% (5% to 9.2%)"


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(0.38, 0.88, "−62% to −12%"), (0.951, 1.02, "−4.9% to +2.0%"), (1.5, 3.49, "1.5x to 3.5x"), (0.5, 0.5, "−50%")],
)
def test_a_ratio_is_a_change_in_percent_until_it_doubles(low: float, high: float, words: str) -> None:
    assert percent_words(low, high) == words


@pytest.mark.parametrize(
    ("verdict", "better", "worse", "words"),
    [
        ("better", 40, 0, "better in 40 of 40"),
        ("worse", 1, 39, "worse in 39 of 40"),
        ("likely better", 34, 6, "likely better (34 of 40)"),
        ("not clear", 25, 15, "not clear from this trace (better in 25 of 40)"),
        ("not clear", 31, 0, "not clear from this trace (better in 31, same in 9 of 40)"),
        ("mixed", 1, 39, "but worse in 39 of 40"),
        ("changed", 40, 0, "changed"),
    ],
)
def test_a_verdict_has_its_futures_beside_it(verdict: str, better: int, worse: int, words: str) -> None:
    assert count_words(verdict, better, worse, 40) == words


def test_replays_say_how_many_there_are() -> None:
    replays = Basis(kind="drawn", futures=19, are_replays=True)
    sure = "mean of 20 replays of this log, run times up to a second longer; nothing is said about others"
    assert certainty(replays, 20) == sure
    assert interval_note(replays, 20) == "values are means of 20 replays, ranges hold 8 of 10 of them"
    assert (range_note(replays, 20), first_words(replays)) == ("in 8 of 10 replays", "the first replay")
    assert certainty(replays, 7) == "7 of 20 futures so far"
