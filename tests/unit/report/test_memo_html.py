"""The HTML of a memo, read by a parser: its numbers, nothing fetched, no markup out of what users wrote."""

from __future__ import annotations

import dataclasses
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.domain.errors import InputError
from dlsched.metrics.stats.basis import Basis
from dlsched.report.evidence import Sensitivity, ends, of_sweep, winners_of
from dlsched.report.html import to_html
from dlsched.report.svg import Mark, scatter, ticks
from dlsched.studies.design import Futures
from dlsched.studies.sweep.answer import Axis, Cell, Sweep
from tests.support.known import known
from tests.support.memos import NASTY, full_memo, jobs, numbers, option, storable, two

MAX_BYTES = 6_000_000


class Page(HTMLParser):
    """Collects elements, their attributes and the text."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(content)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data):
        if not self.open or self.open[-1] != "style":
            self.text += data


def test_it_is_well_formed_and_says_what_the_memo_says():
    memo = full_memo(note="Asked by the board")
    page = Page(to_html(memo))
    assert not page.open
    for text in (memo.question, memo.recommendation, memo.note, "95% interval 5.2% to 54.8%", "−20 pp, better",
                 "list prices", "Jobs ask for 118%", "2026-11-22", "Night shift, v3", memo.origin.scenario_hash,
                 "dlsched compare Night-shift.json --policies fifo,sjf --futures 2 --vary none",
                 "−1 h, better", "Jobs completed after their due date"):  # fmt: skip
        assert text in page.text, text
    assert page.tags.count("h1") == 2
    heads = [value for tag, name, value in page.attributes if (tag, name) == ("th", "scope")]
    assert {"row", "col"} == set(heads)
    short = Page(to_html(memo, with_appendix=False))
    assert "Appendix" not in short.text
    assert memo.recommendation in short.text


def test_nothing_is_fetched_and_nothing_can_run():
    content = to_html(full_memo())
    page = Page(content)
    assert not {"script", "link", "iframe", "object", "img", "form", "a", "base"} & set(page.tags)
    assert not [name for _, name, _ in page.attributes if name.startswith("on") or name in ("src", "href", "style")]
    assert not re.findall(r"https?:|//[a-z]|url\(|@import", content)
    policy = next(value for tag, name, value in page.attributes if (tag, name) == ("meta", "content"))
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"
    assert len(content.encode()) < MAX_BYTES


@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
def test_what_users_wrote_stays_text(text):
    options = [option(f"{text} {name}", each.draws) for name, each in zip("AB", two(), strict=True)]
    given_texts = {"question": text, "recommended": text, "note": text}
    memo = full_memo(options, user=storable(text), **given_texts)
    content = to_html(memo)
    page, plain = Page(content), Page(to_html(full_memo()))
    assert set(page.tags) <= set(plain.tags)
    assert {(tag, name) for tag, name, _ in page.attributes} == {(tag, name) for tag, name, _ in plain.attributes}
    content.encode()  # a letter that is none would fail here
    if text.isprintable():
        assert text in page.text


@given(st.text(max_size=60))
def test_any_text_can_be_a_question(text):
    page = Page(to_html(full_memo(question=text), with_appendix=False))
    assert not page.open
    assert "script" not in page.tags


def test_hidden_names_are_nowhere():
    memo = full_memo()
    before, after = [jobs([7200.0] * 12)], {"SJF": [jobs([3600.0] * 12)]}
    for hide in (False, True):
        shown = winners_of("FIFO", before, after, hide_names=hide)
        text = Page(to_html(full_memo(winners=shown))).text
        assert ("ann" in text.split()) != hide or not hide
        assert ("bob" in text) != hide
    assert memo.winners[0].by == "user"


def test_ends_are_who_gains_most_and_who_loses_most():
    waits = [float(600 * (place // 5)) for place in range(40)]
    table = jobs(waits).assign(user=[f"u{place // 5}" for place in range(40)])
    (found,) = winners_of("A", [table.assign(wait_s=0.0)], {"B": [table]}, exact=True)
    assert [group.name for group in ends(found, 5)] == ["u0", "u1", "u5", "u6", "u7"]
    assert len(ends(found, 8)) == 8


def test_a_rough_memo_says_so_before_its_first_number():
    memo = full_memo([option(name, [numbers(late, 100.0)]) for name, late in (("A", 0.1), ("B", 0.2))])
    text = Page(to_html(memo)).text
    assert text.index("rough preview") < text.index("Recommendation") < text.index("10%")


# ---- what could change the answer ----------------------------------------------------------------------


AS_IT_IS = {"fifo": [0.4, 0.5, 0.6], "sjf": [0.2, 0.3, 0.4], "las": [0.1, 0.1, 0.1]}
"""Late jobs of two() by policy, and of a policy that is not in the memo."""


def swept(fewer_nodes: list[float], **more: Any) -> Sweep:
    """A sweep of late jobs: as it is, and with four nodes, where FIFO stays as it is."""
    points = (AS_IT_IS, AS_IT_IS | {"sjf": fewer_nodes})
    cells = tuple(
        Cell(point=place, policy=policy, seed=seed, values={"late_share": late}, completed=12)
        for place, point in enumerate(points)
        for policy, lates in point.items()
        for seed, late in enumerate(lates)
    )
    plain: dict[str, Any] = {
        "scenario": "s", "scenario_name": "S", "mode": "one-at-a-time", "points": ((None,), (4.0,)),
        "policies": tuple(AS_IT_IS), "axes": (Axis(key="nodes", label="Nodes", unit="nodes", values=(4.0,)),),
        "labels": {key: key.upper() for key in AS_IT_IS}, "reference": "fifo", "futures": Futures.first(2),
        "metrics": ("late_share",), "cells": cells,
    }  # fmt: skip
    return Sweep(**plain | more)


def sensitivity(fewer_nodes: list[float]) -> Sensitivity:
    return known(of_sweep(swept(fewer_nodes), "late_share", two(), Basis(kind="drawn", futures=2)))


def test_situations_say_where_the_choice_holds():
    plain = full_memo()
    held, lost = sensitivity([0.2, 0.3, 0.4]), sensitivity([0.6, 0.7, 0.8])
    assert held.words(plain.advice) == "SJF is better than FIFO on share of late jobs in both situations."
    assert lost.words(plain.advice) == (
        "SJF is better than FIFO on share of late jobs in 1 of 2 situations; not in: 4 nodes."
    )
    assert held.names == ("FIFO", "SJF")  # LAS is best of all, and not in the memo
    stay = full_memo([two()[0], option("SJF", [numbers(late, 100.0) for late in (0.1, 0.9, 0.3)])])
    assert lost.words(stay.advice) == "SJF is better than FIFO on share of late jobs in: as it is."
    text = Page(to_html(full_memo(sensitivity=lost))).text
    assert "in 1 of 2 situations" in text


def test_situations_are_of_the_options_and_the_numbers_of_the_memo():
    memo, basis = full_memo(), Basis(kind="drawn", futures=2)
    found = sensitivity([0.6, 0.7, 0.8])
    assert found.fits(memo.comparison)
    assert of_sweep(swept([0.6] * 3), "wait_p95", two(), basis) is None  # a metric that it has not
    assert of_sweep(swept([0.6] * 3), "late_share", [*two(), option("EDF", two()[0].draws, "edf")], basis) is None
    more = [two()[0], dataclasses.replace(two()[1], changes={"nodes": 9.0})]
    assert of_sweep(swept([0.6] * 3), "late_share", more, basis) is None
    other = [two()[0], option("SJF", [numbers(late, 100.0) for late in (0.2, 0.3, 0.41)], "sjf")]
    assert not found.fits(full_memo(other).comparison)
    with pytest.raises(InputError, match=r"contradict itself: .*Share of late jobs"):
        full_memo(other, sensitivity=found)


# ---- the picture ---------------------------------------------------------------------------------------


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_ticks_are_round_and_inside(low, size):
    found = ticks(low, low + size)
    assert 2 <= len(found) <= 6
    step = found[1] - found[0]
    assert all(low - step * 1e-6 <= at <= low + size + step * 1e-6 for at in found)


def test_the_picture_has_a_dot_an_option_and_bars_where_there_are_intervals():
    marks = [
        Mark("A <b>", "B", 10.0, 5.0, (1.0, 1.0), (2.0, 2.0), hollow=False),
        Mark("C", "1", 20.0, 5.0, (0.0, 0.0), (0.0, 0.0), hollow=True),
    ]
    page = Page(scatter(marks, "Cost ($)", "Late (%)", 'a "b"'))
    assert page.tags.count("circle") == 2
    assert len([value for _, name, value in page.attributes if name == "stroke-width"]) == 1
    assert 'a "b"' in [value for _, name, value in page.attributes]
    x = [float(value) for _, name, value in page.attributes if name == "cx"]
    assert x[0] < x[1]


def test_options_alike_in_all_still_make_a_picture():
    marks = [Mark(name, name, 0.0, 7.0, (0.0, 0.0), (0.0, 0.0), hollow=False) for name in "AB"]
    assert "nan" not in scatter(marks, "x", "y", "alt")
