"""The HTML of a memo, read by a parser: its numbers, nothing fetched, no markup out of what users wrote."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.report.evidence import Sensitivity, ends, of_sweep, winners_of
from dlsched.report.html import to_html
from dlsched.report.svg import Mark, scatter, ticks
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
    for text in (memo.question, memo.recommendation, memo.note, "30% (5.2% to 54.8%)", "−20 pp, better",
                 "list prices", "Jobs ask for 118%", "2026-11-22", "Night shift, v3", memo.origin.scenario_hash,
                 "python -m dlsched compare Night-shift.json --policies fifo,sjf --futures 2 --vary none", "−1 h, better, exact",
                 "Completed after their due time"):  # fmt: skip
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


def swept(values: dict[tuple[int, str], list[float]]) -> Sweep:
    cells = tuple(
        Cell(point=point, policy=policy, seed=seed, values={"late_share": late}, completed=12)
        for (point, policy), lates in values.items()
        for seed, late in enumerate(lates)
    )
    return Sweep(
        scenario="s", scenario_name="S", mode="one-at-a-time", points=((None,), (4.0,)), policies=("fifo", "sjf"),
        axes=(Axis(key="nodes", label="Nodes", unit="nodes", values=(4.0,)),), labels={"fifo": "FIFO", "sjf": "SJF"},
        reference="fifo", seeds=(0, 1), metrics=("late_share",), cells=cells,
    )  # fmt: skip


def sensitivity(fewer_nodes: list[float]) -> Sensitivity:
    values = {(0, "fifo"): [0.5, 0.6], (0, "sjf"): [0.3, 0.4], (1, "fifo"): [0.5, 0.6], (1, "sjf"): fewer_nodes}
    return known(of_sweep(swept(values), "wait_p95"))  # the sweep has no waits, so its first metric is taken


def test_situations_say_where_the_choice_holds():
    assert sensitivity([0.4, 0.5]).words("SJF") == ("SJF is best, or level with the best, in all 2 situations.")
    assert sensitivity([0.7, 0.8]).words("SJF") == (
        "SJF is best, or level with the best, in 1 of 2 situations; not at: 4 nodes."
    )
    assert sensitivity([0.7, 0.8]).words("LAS") == ""
    text = Page(to_html(full_memo(sensitivity=sensitivity([0.7, 0.8])))).text
    assert "in 1 of 2 situations" in text
    assert "55% ± 64 pp ★" in text  # mean of 0.5, 0.6; t of 1 degree of freedom 12.706 x 0.05


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
