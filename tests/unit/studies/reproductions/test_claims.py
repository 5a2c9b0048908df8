"""Parts of a claim: what intervals show, verdicts, and how what is not seen is said; numbers paired by seed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from dlsched.metrics.stats.intervals import Interval
from dlsched.studies.reproductions import claims
from dlsched.studies.reproductions.claims import Check, reasons_of
from dlsched.studies.reproductions.paired import PairedStudy, by_cell, compute_all
from dlsched.studies.reproductions.reproduction import Setting


@pytest.mark.parametrize(
    ("held", "verdict"), [((True, True), "same"), ((True, False), "partly"), ((False, False), "different")]
)
def test_the_verdict_follows_from_the_parts_of_a_claim(held, verdict):
    checks = [Check(f"part {number}", holds) for number, holds in enumerate(held)]
    outcome = claims.outcome_of("Ours.", checks, {"jobs": 3}, "", "Assumed: nothing.")
    assert outcome.verdict == verdict
    assert outcome.checks == [(check.text, check.holds) for check in checks]
    assert all((check.text in outcome.why) is not check.holds for check in checks)
    assert outcome.reasons[-1] == "Assumed: nothing."
    assert len(outcome.reasons) == 2


def test_what_is_missed_at_several_sizes_is_said_once():
    checks = [Check("more", False, "70 nodes"), Check("more", True, "110 nodes"), Check("more", False, "150 nodes")]
    assert reasons_of([*checks, Check("a bell", False)]) == ("Not seen: more 70 nodes, 150 nodes; a bell.",)
    unsure = Check("fewer", False, "190 nodes", unsure=True)
    uncertain = "Too uncertain to say: fewer 190 nodes."
    assert reasons_of([*checks[:2], unsure], "A note.") == ("Not seen: more 70 nodes.", uncertain, "A note.")
    assert reasons_of([unsure, checks[1]]) == (uncertain,)
    assert reasons_of([checks[1]]) == (claims.ALL_SEEN,)


@pytest.mark.parametrize(
    ("half", "holds", "unsure"),
    [(None, False, True), (0.5, False, False), (1.0, True, True), (8.7, True, True), (8.8, False, True)],
    ids=["one trace", "not in it", "just in it", "half as wide", "too wide"],
)
def test_a_wide_interval_confirms_nothing(half, holds, unsure):
    check = claims.confirmed("17.4", Interval(18.4, half, 4), 17.4)
    assert (check.holds, check.unsure) == (holds, unsure)


@pytest.mark.parametrize(
    ("mean", "half", "surely_positive", "surely_not"),
    [
        pytest.param(2.0, 1.0, True, False, id="surely"),
        pytest.param(2.0, 3.0, False, False, id="perhaps"),
        pytest.param(-2.0, 3.0, False, False, id="rather not"),
        pytest.param(-2.0, 1.0, False, True, id="surely not"),
        pytest.param(2.0, None, False, False, id="one trace"),
    ],
)
def test_what_an_interval_shows(mean, half, surely_positive, surely_not):
    more = claims.above("more", Interval(mean, half, 3))
    assert more.holds is surely_positive
    assert more.holds or more.unsure is not surely_not
    least = claims.at_most("at most 0", Interval(mean, half, 3), 0.0)
    assert least.holds is surely_not
    assert least.holds or least.unsure is not surely_positive


def test_what_is_the_same_everywhere_is_not_uncertain():
    nothing = claims.above("more", Interval(0.0, 0.0, 4))
    assert not nothing.holds
    assert not nothing.unsure


def test_an_interval_in_words():
    assert claims.mean_words(Interval(-0.04, 0.31, 4)) == "0.0 ± 0.3"
    assert claims.mean_words(Interval(17.44, None, 1)) == "17.4"
    assert claims.surely_above(Interval(1.0, 0.5, 3))
    assert not claims.surely_above(Interval(1.0, 1.5, 3))
    assert not claims.surely_above(Interval(1.0, None, 1))


def test_two_cells_compare_over_the_seeds_that_both_have():
    study = PairedStudy({"a": (3.0, 5.0, 9.0), "b": (1.0, 2.0), "c": (1.0, 1.0, 3.0)})
    assert study.mean("a").n == 3
    assert [values.tolist() for values in study.pair("a", "b")] == [[3, 5], [1, 2]]
    assert (study.difference("a", "b").mean, study.difference("a", "b").n) == (2.5, 2)
    assert study.difference("a", "b", times=2).mean == 1
    assert study.difference("a", "c", lambda number: 10 * number).mean == 40
    assert study.growth([("a", "b"), ("b", "a")]).mean == -5


def test_tasks_are_computed_here_or_elsewhere_in_their_order():
    told: list[str] = []
    with ThreadPoolExecutor(2) as pool:
        for executor in (None, pool):
            setting = Setting(progress=lambda _, text: told.append(text), executor=executor)
            assert compute_all(setting, [-3, 2], abs, "numbers") == [3, 2]
    assert told == 2 * ["1 of 2 numbers", "2 of 2 numbers"]
    assert by_cell([("a", 1), ("b", 2), ("a", 3)]) == {"a": [1, 3], "b": [2]}
