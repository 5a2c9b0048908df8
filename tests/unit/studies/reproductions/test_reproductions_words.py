"""Words of the page Paper checks: counts that hide nothing, where an outcome comes from, times, which one is shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dlsched.studies.reproductions import words
from dlsched.studies.reproductions.registry import REPRODUCTIONS, find
from dlsched.studies.reproductions.reproduction import CpuTime, Outcome, Verdict
from dlsched.studies.reproductions.words import Checked


def checked(verdict: Verdict = "same", **changes: object) -> Checked:
    whole = Checked(
        Outcome("Ours is 3.", verdict, ("Because.",)), True, "0.1.0+a", "2026-11-22", stale=False, bundled=True
    )
    return replace(whole, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("key", [one.key for one in REPRODUCTIONS])
def test_every_figure_has_a_paper_a_title_and_a_row(key: str) -> None:
    one = find(key)
    assert one.paper.name in words.PAPERS
    assert words.title_of(one) == f"{one.paper.name}, {one.figure}"
    row = words.row_of(one, None)
    assert (row["Claim"], row["Ours"], row["Verdict"], row["By"]) == (one.claim, "–", "– not checked yet", "")
    assert row["Takes"].startswith("quick ")
    assert row["Paper's number"]


def test_all_counts_are_told_also_where_none_differs() -> None:
    shown = {"smd-7": checked(), "smd-8": checked("partly"), "smd-9": checked("partly")}
    rest = len(REPRODUCTIONS) - 3
    told = f"{len(REPRODUCTIONS)} figures and tables of 5 papers: 1 same, 2 partly, 0 different and {rest} not checked."
    assert words.finding(shown) == told
    assert ", 1 different and" in words.finding(shown | {"smd-10": checked("different")})


def test_by_which_runs_and_which_code() -> None:
    assert words.by_what({}) == "No figure has been checked with this store."
    assert words.by_what({"smd-7": checked()}) == "1 verdict: all by quick runs; all checked with this version."
    both = {"smd-7": checked(quick=False), "smd-8": checked(stale=True)}
    assert words.by_what(both) == ("2 verdicts: 1 by full runs, 1 by quick runs; 1 checked with an earlier version.")


def test_where_an_outcome_comes_from() -> None:
    assert words.origin(checked()) == (
        "Quick run, checked with version 0.1.0+a on 2026-11-22, bundled with the program"
    )
    assert words.origin(checked(quick=False, bundled=False)).endswith("on 2026-11-22, in this store")
    assert words.origin(checked(quick=False)).startswith("Full run")


def test_todays_code_comes_before_a_full_run_and_that_before_a_later_quick_one() -> None:
    quick, full = checked(bundled=False, on="2026-12-24"), checked(quick=False, bundled=False)
    old = checked(quick=False, stale=True, bundled=False, on="2026-12-31")
    assert sorted([old, full, checked(), quick], key=lambda one: one.rank) == [old, checked(), quick, full]


def test_the_headline_says_how_much_of_the_claim_is_seen() -> None:
    data = {"checks": [{"claim": "a", "holds": True}, {"claim": "b", "holds": False}]}
    outcome = Outcome("", "partly", (), data)
    assert words.headline(find("smd-9"), checked(outcome=outcome)) == (
        "SMD, Fig. 9: partly. 1 of 2 parts of the claim is confirmed."
    )
    assert words.row_of(find("smd-9"), checked(outcome=outcome))["Verdict"] == "◐ partly, 1 of 2 parts"
    assert words.by_what({"smd-9": checked(outcome=outcome)}).endswith("1 of 2 parts of claims is confirmed.")
    assert words.headline(find("smd-9"), checked()) == "SMD, Fig. 9: same."
    assert words.headline(find("smd-9"), None) == "SMD, Fig. 9: not checked yet."


def test_a_cell_has_the_mark_of_its_verdict_beside_the_number() -> None:
    assert words.cell_of(find("smd-9"), checked("partly")) == "◐ 9"
    assert words.cell_of(find("path-relinking-table-4"), None) == "– Tab. 4"
    assert len({mark[0] for mark in words.MARKS.values()}) == len(words.STATES)


def test_times_that_were_not_measured_are_about() -> None:
    rough = CpuTime(75, 1900, full_is_measured=False)
    assert words.time_words(rough, quick=False) == "about 32 min"
    assert words.time_words(rough, quick=True) == "1 min 15 s"
    assert words.time_words(CpuTime(0.05, 0.05), quick=True) == "under 1 s"


def test_figures_are_chosen_by_verdict() -> None:
    shown = {"smd-7": checked(), "pd-ors-6": checked(), "smd-8": checked("partly")}
    assert [one.key for one in words.chosen(shown, ["same"])] == ["smd-7", "pd-ors-6"]
    assert [one.key for one in words.chosen(shown, ["same", "partly"])] == ["smd-7", "smd-8", "pd-ors-6"]
    assert len(words.chosen(shown, ["not checked"])) == len(REPRODUCTIONS) - 3
    assert words.chosen(shown, ["different"]) == []


def test_long_texts_are_cut_between_words() -> None:
    assert words.short("one two, three", 10) == "one two …"
    assert words.short("short") == "short"


def test_the_command_line_computes_the_same() -> None:
    assert words.command("smd-9", quick=True) == "dlsched reproduce smd-9 --quick"
    assert words.command("smd-9", quick=False) == "dlsched reproduce smd-9"
