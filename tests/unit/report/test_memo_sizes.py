"""A search for a size in the memo: its words, its picture in every kind of file, and the command that repeats it."""

from __future__ import annotations

import shlex
from html.parser import HTMLParser
from io import BytesIO
from typing import Any

import openpyxl
import pptx
import pytest

from dlsched.domain.errors import InputError
from dlsched.metrics.kpi import KPIS
from dlsched.metrics.stats.basis import EXACT_BASIS
from dlsched.report.evidence import answer_words, asked_words, frontier_of
from dlsched.report.html import to_html
from dlsched.report.memo import Memo, build
from dlsched.report.rerun import compare_command, size_command
from dlsched.report.write import content
from dlsched.studies.design import Futures
from dlsched.studies.sizing.answer import Sizing
from dlsched.studies.sizing.rule import Rule
from dlsched.studies.sizing.targets import SIDES, Target, read_target
from tests.support.known import known
from tests.support.memos import DAY, full_memo, numbers, option, two
from tests.support.sizings import DRAWN, HOUR_S, LATE, RECORDED, SIZES, USD_MONTH, WAIT, sizing, waits


def memo(found: Sizing | None = None, *, is_option: bool = True, hours: float = 0.5) -> Memo:
    """A memo of today against the four nodes a search found, with the waits that the search saw."""
    searched = sizing() if found is None else found
    today = [numbers(late, 100.0, wait_p95=wait * HOUR_S)
             for late, wait in zip((0.4, 0.5, 0.6), SIZES[2,], strict=True)]  # fmt: skip
    four = [numbers(late, 200.0, wait_p95=hours * HOUR_S) for late in (0.1, 0.2, 0.1)]
    claim = answer_words(searched) if is_option else ""
    options = [option("Today", today), option("4 nodes", four, changes={"nodes": 4.0}, claim=claim)]
    return build(options, made_on=DAY, sizes=frontier_of(searched, "4 nodes" if is_option else ""))


def test_the_claim_names_what_was_asked_and_in_how_many_futures_it_held() -> None:
    assert answer_words(sizing()) == (
        "the cheapest size tried that meets the target (p95 wait at most 1 h) on average over 3 simulated versions "
        "of the workload: $29,200/month, $14,600/month more than today."
    )
    both = Rule(targets=(WAIT, LATE), claim="nearly-every", level=0.9, basis=DRAWN)
    assert asked_words(sizing(rule=both)) == (
        "p95 wait at most 1 h and Share of late jobs at most 5% in 90% of months, under FIFO"
    )
    assert "Targets: p95 wait at most 1 h and Share of late jobs at most 5%." in answer_words(sizing(rule=both))
    assert "in this month and in 2 of 2 months reshuffled from its days" in answer_words(
        sizing(RECORDED, rule=Rule(targets=(WAIT,), claim="nearly-every", level=0.9, basis=RECORDED))
    )
    assert asked_words(sizing(EXACT_BASIS)) == "p95 wait at most 1 h, under FIFO"
    assert answer_words(sizing(answer=None)) == ""


def test_a_size_that_was_found_is_recommended_with_its_claim_and_its_price() -> None:
    found = memo()
    assert found.best == "4 nodes"
    assert found.service == "wait_p95"  # that of the target, in every part
    assert found.recommendation.startswith(f"Choose 4 nodes: {answer_words(sizing())} The p95 wait falls from 5 h to ")
    assert "machine cost" not in found.recommendation  # its price is in the claim


def test_a_size_that_meets_its_target_stands_beside_a_wait_that_is_not_clear() -> None:
    sizes = tuple(size.model_copy(update={"draws": waits((6.0, 0.1, 5.0))}) if size.counts == (2,) else size
                  for size in sizing().sizes)  # fmt: skip
    searched = sizing(sizes=sizes)
    today = [numbers(0.4, 100.0, wait_p95=wait * HOUR_S) for wait in (6.0, 0.1, 5.0)]
    four = [numbers(0.4, 200.0, wait_p95=0.5 * HOUR_S)] * 3
    options = [option("Today", today), option("4 nodes", four, changes={"nodes": 4.0}, claim=answer_words(searched))]
    found = build(options, made_on=DAY, sizes=frontier_of(searched, "4 nodes"))
    assert found.best == "4 nodes"
    assert known(found.comparison.row("wait_p95")).of("4 nodes").verdict == "not clear"
    assert "The effect on the p95 wait is not clear" in found.recommendation


def test_a_search_of_other_numbers_than_the_options_is_refused() -> None:
    with pytest.raises(InputError, match=r"contradict itself: .*4 nodes, p95 wait"):
        memo(hours=0.6)


def test_of_two_sizes_none_is_preferred_for_its_claim() -> None:
    draws = [numbers(late, 200.0) for late in (0.1, 0.2, 0.1)]
    sizes = [option(name, draws, changes={"nodes": count}, claim="the cheapest.")
             for name, count in (("4 nodes", 4.0), ("5 nodes", 5.0))]  # fmt: skip
    today = option("Today", [numbers(late, 100.0) for late in (0.4, 0.5, 0.6)])
    assert build([today, *sizes], made_on=DAY).best == "Today"


def test_one_draw_of_something_random_recommends_no_size() -> None:
    today, four = option("Today", [numbers(0.4, 100.0)]), option("4 nodes", [numbers(0.1, 200.0)], claim="the best.")
    assert build([today, four], made_on=DAY).recommendation.startswith("Rough preview")


class Marks(HTMLParser):
    """Collects the titles, circles and squares of pictures."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.titles: list[str] = []
        self.shapes: list[tuple[str, str]] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        if tag in ("circle", "rect", "path") and (fill := dict(attrs).get("fill") or dict(attrs).get("class")):
            self.shapes.append((tag, fill))

    def handle_data(self, data: str) -> None:
        if self._inside == "title":
            self.titles.append(data)


def test_the_picture_shows_every_size_today_as_a_square_the_answer_filled_and_the_target() -> None:
    page = Marks(to_html(memo(), with_appendix=False))
    sizes = [title for title in page.titles if " nodes, " in title or "1 node, " in title]
    assert len(sizes) == len(SIZES)
    assert "4 nodes, answer: $29,200/month, 30 min, ok" in sizes
    assert "2 nodes, today: $14,600/month, 5 h, fails" in sizes
    assert [tag for tag, _ in page.shapes].count("rect") == 1
    filled = [tag for tag, fill in page.shapes if fill == "#185add"]
    assert filled == ["circle"]
    assert ("path", "limit") in page.shapes


@pytest.mark.parametrize("is_option", [True, False], ids=["option", "beside"])
def test_a_search_that_is_no_option_is_in_the_appendix_alone(*, is_option: bool) -> None:
    first_page = to_html(memo(is_option=is_option), with_appendix=False)
    assert ("Sizes tried under FIFO" in first_page) == is_option
    whole = to_html(memo(is_option=is_option))
    assert whole.count("Sizes tried under FIFO") == 1
    assert "Sizes that were tried" in whole
    assert "3 nodes: borderline" in whole


def test_slides_and_workbook_hold_every_size() -> None:
    slides = pptx.Presentation(BytesIO(content(memo(), "pptx"))).slides
    slide = next(each for each in slides if each.shapes.title.text_frame.text.startswith("4 nodes are the cheapest"))
    chart = next(shape for shape in slide.shapes if shape.has_chart).chart
    series = {each.name: list(each.values) for each in chart.plots[0].series}
    assert series["Answer: 4 nodes"] == [0.5]
    assert sum(map(len, series.values())) == len(SIZES)
    sheet: Any = openpyxl.load_workbook(BytesIO(content(memo(), "xlsx")))["Sizes"]
    rows = {row[0]: row for row in sheet.iter_rows(values_only=True)}
    assert rows["4 nodes"][1:6] == ("answer", 4 * USD_MONTH, 0.5, 0, 0)
    assert rows["2 nodes"][6].endswith(", fails")
    assert rows["4 nodes"][7:9] == (3, 3)
    assert len(sheet._charts) == 1


def test_without_a_search_there_is_no_sheet_and_no_slide() -> None:
    plain = build(two(), made_on=DAY)
    assert "Sizes" not in openpyxl.load_workbook(BytesIO(content(plain, "xlsx"))).sheetnames
    titles = [slide.shapes.title.text_frame.text for slide in pptx.Presentation(BytesIO(content(plain, "pptx"))).slides]
    assert not any("cheapest" in title for title in titles)


def test_sizes_without_prices_are_compared_by_their_gpus() -> None:
    sizes = tuple(size.model_copy(update={"usd_month": None}) for size in sizing().sizes)
    found = frontier_of(sizing(cost_by="gpus", sizes=sizes))
    assert found is not None
    assert found.cost_title == "GPUs"
    assert found.cost_words(found.points[0]) == "8 GPUs"
    assert "GPUs" in to_html(memo(sizing(cost_by="gpus", sizes=sizes)), with_appendix=False)


def test_one_size_is_no_picture() -> None:
    assert frontier_of(sizing(sizes=sizing().sizes[:1], answer=None)) is None


@pytest.mark.parametrize("key", [key for key, kpi in KPIS.items() if kpi.better != "neutral"])
def test_the_command_of_a_search_reads_as_the_same_targets(key: str) -> None:
    target = Target(metric=key, limit=0.05, side=SIDES[KPIS[key].better])
    draws = tuple(size.model_copy(update={"draws": waits((1.0,))}) for size in sizing().sizes)
    typed = shlex.split(size_command(sizing(rule=Rule(targets=(target,)), sizes=draws), "by hand"))
    read = read_target(typed[typed.index("--target") + 1])
    assert (read.metric, read.side) == (key, target.side)
    assert read.limit == pytest.approx(target.limit, rel=1e-12)


def test_the_command_of_a_search_says_types_claim_draws_and_what_varies() -> None:
    rule = Rule(targets=(WAIT,), claim="nearly-every", level=0.9, basis=DRAWN)
    asked: dict[str, Any] = {
        "futures": Futures.first(2, {"run_time_spread": 0.3}),
        "params": {"n": 2},
        "condition": {"demand": 1.3},
    }
    command = size_command(sizing(rule=rule, **asked), "by hand")
    assert command == (
        "dlsched size by-hand.json --target 'wait_p95<=1 h' --policy fifo --types nodes=1:8 --claim "
        "nearly-every --level 90 --param n=2 --condition demand=1.3 --futures 2 --vary run_time_spread=0.3"
    )


def test_changes_are_said_by_one_command_or_by_none() -> None:
    today, draws = option("Today", [numbers(0.4, 100.0)]), [numbers(0.1, 200.0)]
    more = option("more", draws, changes={"nodes": 4.0, "checkpoint_s": 60.0})
    other = option("other", draws, "sjf", changes={"nodes": 4.0})
    assert compare_command([today, more, other]) == (
        "dlsched compare Night-shift.json --policies fifo --futures 0 --set "
        "nodes=4,checkpoint_s=60 --set policy=sjf,nodes=4 --vary none"
    )
    days = Futures.first(0, {"days": 1})
    assert compare_command([more, today]) == ""  # the baseline is today's scenario
    assert "--set 'nodes.a, b=4'" in compare_command([today, option("more", draws, changes={"nodes.a, b": 4.0})])
    assert compare_command([today, option("more", draws, changes={"nodes.a=b": 4.0})]) == ""
    assert compare_command([today, option("more", draws, changes={"vm_types": "a,b"})]) == ""
    assert compare_command([today, option("more", draws, changes={"nodes": 4.0}, futures=days)]) == ""


def test_the_chart_of_who_wins_shows_changes() -> None:
    sheet: Any = openpyxl.load_workbook(BytesIO(content(full_memo(), "xlsx")))["Who wins"]
    (chart,) = sheet._charts
    column = str(chart.series[0].val.numRef.f).split("$")[1]
    assert str(sheet[f"{column}1"].value) == "Change of the mean (h)"
