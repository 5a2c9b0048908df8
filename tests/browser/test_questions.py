"""The three questions of Home in a real browser: each answered in at most five clicks, on the first screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Server
from tests.browser.test_journey import RUN_LIMIT_MS, made_trace
from tools.settled import settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]
MOST_CLICKS = 5
SCREEN = {"width": 1360, "height": 850}


class Visitor:
    """A tab on Home whose clicks are counted; a file that is dropped counts as one."""

    def __init__(self, tab: Any, address: str) -> None:
        self.tab, self.clicks = tab, 0
        tab.set_viewport_size(SCREEN)
        tab.goto(address)
        settle(tab)

    def click(self, where: str) -> None:
        """Click the first button or link of this selector."""
        self.tab.locator(where).first.click()
        self.clicks += 1
        self.tab.wait_for_timeout(300)

    def press(self, key: str) -> None:
        """Click the button of this key."""
        self.click(f".st-key-{key} button")

    def bring(self, file: Path) -> None:
        """Drop a log on Home, take its jobs over and come back."""
        self.tab.locator(".st-key-home-drop input[type=file]").set_input_files(str(file))
        self.clicks += 1
        self.tab.wait_for_url("**/jobs**")
        self.press("use-jobs")
        self.tab.wait_for_url("**/cluster**")
        settle(self.tab)
        self.click("[data-testid=stSidebarNavLink]:has-text('Home')")
        self.tab.locator(".st-key-ask-size").wait_for()
        settle(self.tab)

    def answer(self, *words: str) -> str:
        """Return the page's answer once it has one of these words; it is on the screen, with no scrolling."""
        found = self.tab.locator("h2").filter(has_text=words[0]).first
        found.wait_for(timeout=RUN_LIMIT_MS)
        box = found.bounding_box()
        assert box["y"] > 0
        assert box["y"] + box["height"] <= SCREEN["height"]
        assert self.tab.evaluate("document.querySelector('[data-testid=stMain]').scrollTop") == 0
        assert self.clicks <= MOST_CLICKS
        text: str = found.inner_text()
        assert all(word in text for word in words), text
        return text


@pytest.fixture(params=["demo", "own log"])
def visitor(request: pytest.FixtureRequest, tmp_path: Path, browser: Any, page: Any) -> Any:
    """A first visit with the demo, and one with a log of one's own."""
    fresh = Server(tmp_path / "results.duckdb")
    fresh.start()
    try:
        who = Visitor(page, fresh.url)
        if request.param == "own log":
            who.bring(made_trace(tmp_path))
        yield who
    finally:
        fresh.kill()


def test_how_many_nodes_do_i_need(visitor: Visitor) -> None:
    visitor.press("ask-size")
    visitor.tab.get_by_text("p95 wait at most 1 h").first.wait_for()
    visitor.press("size-ask")
    assert "nodes" in visitor.answer("size tried")


def test_which_policy(visitor: Visitor) -> None:
    visitor.press("ask-policy")
    assert visitor.tab.locator(".st-key-run-now button").first.bounding_box()["y"] < SCREEN["height"]
    visitor.press("run-now")
    visitor.tab.wait_for_url("**/compare**", timeout=RUN_LIMIT_MS)
    visitor.answer("against FIFO")


def test_what_if_we_grow(visitor: Visitor) -> None:
    visitor.press("ask-growth")
    visitor.tab.wait_for_url("**/what-if**")
    visitor.answer("30% more jobs")
