"""Journey C to its end in a real browser: a target, the cheapest size, kept, written down, files opened elsewhere."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import openpyxl
import pptx
import pytest

from tests.browser.conftest import Server
from tests.support.waiting import PATIENCE_S, until
from tools.settled import settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]
ANSWER_LIMIT_MS = 240_000  # the first run on a machine compiles
PRIMARY = "[data-testid=stBaseButton-primary]:visible"
MOST_CLICKS = 7


class Text(HTMLParser):
    """Collects the words of a page, and every address it names."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [str(value) for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


class Hand:
    """Presses buttons and counts it."""

    def __init__(self, tab: Any) -> None:
        self.tab = tab
        self.clicks = 0

    def press(self, key: str) -> None:
        self.clicks += 1
        self.tab.locator(f".st-key-{key} button").first.click()

    def saved(self, key: str, folder: Path) -> Path:
        with self.tab.expect_download() as download:
            self.press(key)
        path = folder / str(download.value.suggested_filename)
        download.value.save_as(path)
        return path


def test_from_a_target_to_files_for_the_person_who_decides(server: Server, page: Any, tmp_path: Path) -> None:
    page.goto(f"{server.url}/capacity")
    settle(page)
    hand = Hand(page)
    field = page.get_by_role("textbox", name="p95 wait at most")
    hand.clicks += 1
    field.fill("2 h")
    field.press("Enter")
    settle(page)
    hand.press("size-ask")
    page.locator(".st-key-size-keep button").first.wait_for(timeout=ANSWER_LIMIT_MS)
    settle(page)
    nodes = page.locator("h2").first.inner_text().partition(" are ")[0]
    assert nodes.endswith(" nodes")
    hand.press("size-keep")
    page.locator(".st-key-size-unkeep button").first.wait_for()
    settle(page)
    hand.press("size-memo")
    page.wait_for_url("**/memo**")
    page.locator(".st-key-report-html button").first.wait_for(timeout=PATIENCE_S * 1000)
    settle(page)
    until(lambda: page.locator(PRIMARY).all_inner_texts() == ["Download HTML"])
    advice = page.get_by_role("textbox", name="Recommendation").input_value()
    assert advice.startswith(f"Choose {nodes}: the cheapest size tried that meets the target (p95 wait at most 2 h) ")

    question = "Do we buy <b>more</b> nodes?"
    hand.clicks += 1
    page.get_by_role("textbox", name="Question").fill(question)
    page.keyboard.press("Tab")
    page.frame_locator("iframe[srcdoc]").first.get_by_role("heading", name=question).wait_for()
    settle(page)
    files = [hand.saved(f"report-{kind}", tmp_path) for kind in ("html", "pptx")]
    assert hand.clicks <= MOST_CLICKS
    files.append(hand.saved("report-xlsx", tmp_path))

    html = Text(files[0].read_text(encoding="utf-8"))
    text = " ".join(html.words)
    assert not html.addresses
    assert question in text
    assert "example data" in text
    assert f"{nodes}, answer: $" in text
    assert "dlsched size Demo.json --target 'wait_p95<=2 h'" in text

    slides = pptx.Presentation(str(files[1])).slides
    assert slides[0].shapes.title.text_frame.text == f"Choose {nodes}: the targets are met"  # titles are findings
    assert any(shape.has_text_frame and question in shape.text_frame.text for shape in slides[0].shapes)
    charts = [shape.chart for slide in slides for shape in slide.shapes if shape.has_chart]
    assert f"Answer: {nodes}" in {series.name for chart in charts for series in chart.plots[0].series}
    sheet: Any = openpyxl.load_workbook(files[2])["Sizes"]
    assert [row[0] for row in sheet.iter_rows(values_only=True) if row[1] == "answer"] == [nodes]

    # The same memo in the dark and in another browser: what was kept is in the store, the preview is paper.
    dark = page.context.browser.new_context(viewport={"width": 1360, "height": 900}, color_scheme="dark").new_page()
    dark.goto(page.url)
    dark.locator(".st-key-report-html button").first.wait_for(timeout=PATIENCE_S * 1000)
    settle(dark)
    assert dark.get_by_role("textbox", name="Recommendation").input_value() == advice
    dark.context.close()
