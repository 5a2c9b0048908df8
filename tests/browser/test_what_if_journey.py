"""What if in a real browser: move a control, read the card with its range, open the link elsewhere, keep it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.conftest import Server
from tests.support.waiting import PATIENCE_S
from tools.settled import settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]
FIRST_MS = 240_000  # the first answer on a machine compiles
SAID = "h2"
BOTH = "With 5% more jobs, one more node "


def said(tab: Any) -> str:
    return str(tab.locator(SAID).first.inner_text())


def cards(tab: Any) -> list[str]:
    found = tab.locator("[class*=st-key-whatif-card-]").all_inner_texts()
    return [" ".join(text.split()) for text in found]


def test_a_moved_control_changes_the_cards_and_the_link_opens_the_same_elsewhere(
    server: Server, page: Any, browser: Any
) -> None:
    page.goto(f"{server.url}/what-if")
    page.get_by_text("Today, under FIFO").first.wait_for(timeout=FIRST_MS)
    settle(page)
    before = cards(page)
    page.locator(".st-key-whatif-nodes [data-testid=stNumberInputStepUp]").click()
    page.get_by_text("One more node cuts late jobs").first.wait_for(timeout=PATIENCE_S * 1000)
    settle(page)
    late = next(text for text in cards(page) if text.startswith("Share of late jobs"))
    assert late not in before
    assert "95% interval" in late
    assert "pp, better" in late
    assert "Today " in late
    assert "21 simulated versions of the workload" in said(page)

    slider = page.locator(".st-key-whatif-demand input[type=range]")
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.get_by_text(BOTH).first.wait_for(timeout=PATIENCE_S * 1000)
    settle(page)
    sentence, link = said(page), page.url
    assert "set=nodes%3A9" in link
    assert "set=demand%3A1.05" in link
    row = " ".join(page.locator(".st-key-whatif-row").inner_text().split())
    assert "With: 5% more jobs ✕ Option: one more node ✕" in row
    assert all("Doing nothing " in text for text in cards(page))
    heights = [
        box["height"] for one in page.locator("[class*=st-key-whatif-card-]").all() if (box := one.bounding_box())
    ]
    assert max(heights) - min(heights) < 2

    elsewhere = browser.new_context(viewport={"width": 1024, "height": 800}, color_scheme="dark")
    again = elsewhere.new_page()
    again.goto(link)
    again.locator("[data-testid=stMetric]").first.wait_for(timeout=FIRST_MS)
    settle(again)
    assert said(again) == sentence
    assert cards(again) == cards(page)
    elsewhere.close()

    page.locator(".st-key-whatif-keep button").first.click()
    page.locator(".st-key-whatif-unkeep button").first.wait_for()
    settle(page)
    page.locator(".st-key-whatif-reset button").first.click()
    page.locator(SAID, has_text="Today, under FIFO").first.wait_for()
    settle(page)
    page.locator(".st-key-whatif-kept button").first.click()
    page.locator("[class*=st-key-whatif-open] button").first.click()
    page.locator(SAID, has_text=BOTH).first.wait_for()
    settle(page)
    assert said(page) == sentence


def test_what_takes_long_shows_the_first_future_and_can_be_cancelled(server: Server, page: Any) -> None:
    page.goto(f"{server.url}/what-if?set=nodes:10&to=modelarts-greedy")
    apply = page.locator(".st-key-whatif-apply button").first
    apply.wait_for(timeout=FIRST_MS)
    assert apply.inner_text().startswith("Confirm with 20 futures, about ")
    apply.click()
    page.get_by_text("computing 20 futures").first.wait_for(timeout=PATIENCE_S * 1000)
    assert "rough preview" in said(page)
    page.wait_for_timeout(1000)
    page.locator(".st-key-whatif-cancel button").first.click()
    page.get_by_text("Cancelled. Nothing was kept.").first.wait_for(timeout=PATIENCE_S * 1000)
    settle(page)
    page.locator(".st-key-whatif-apply button").first.wait_for()
    assert "rough preview" in said(page)


def test_the_cheapest_size_is_looked_for_under_the_same_conditions(server: Server, page: Any) -> None:
    page.goto(f"{server.url}/what-if?set=demand:1.3&to=sjf")
    page.locator(SAID, has_text="With 30% more jobs").first.wait_for(timeout=FIRST_MS)
    settle(page)
    page.locator(".st-key-whatif-size button").first.click()
    page.wait_for_url("**/capacity**", timeout=PATIENCE_S * 1000)
    settle(page)
    assert "30% more jobs" in page.locator("[data-testid=stMain]").inner_text()
    assert "SJF" in page.locator("[data-testid=stMain]").inner_text()
