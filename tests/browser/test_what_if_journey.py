"""What if in a real browser: move a control, read the card with its interval, open the link elsewhere, keep it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.conftest import Server, settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]
FIRST_MS = 240_000  # the first answer on a machine compiles
SAID = "h2"


def said(tab: Any) -> str:
    return str(tab.locator(SAID).first.inner_text())


def cards(tab: Any) -> list[str]:
    return [text.replace("\n", " ") for text in tab.locator("[data-testid=stMetric]").all_inner_texts()]


def test_a_moved_control_changes_the_cards_and_the_link_opens_the_same_elsewhere(
    server: Server, page: Any, browser: Any
) -> None:
    page.goto(f"{server.url}/whatif")
    page.get_by_text("As it is, FIFO").first.wait_for(timeout=FIRST_MS)
    settle(page)
    before = cards(page)
    page.locator(".st-key-whatif-nodes [data-testid=stNumberInputStepUp]").click()
    page.get_by_text("One more node cuts late jobs").first.wait_for(timeout=30_000)
    settle(page)
    late = next(text for text in cards(page) if text.startswith("Late jobs"))
    assert late not in before
    assert "±" in late
    assert "pp, better" in late
    assert "10 paired draws" in said(page)

    slider = page.locator(".st-key-whatif-demand input[type=range]")
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.get_by_text("One more node and demand +5%").first.wait_for(timeout=30_000)
    settle(page)
    sentence, link = said(page), page.url
    assert "set=nodes%3A9" in link
    assert "set=demand%3A1.05" in link

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
    page.locator(SAID, has_text="As it is, FIFO").first.wait_for()
    settle(page)
    page.locator(".st-key-whatif-kept button").first.click()
    page.locator("[class*=st-key-whatif-open] button").first.click()
    page.locator(SAID, has_text="One more node and demand +5%").first.wait_for()
    settle(page)
    assert said(page) == sentence


def test_what_takes_long_shows_a_rough_answer_first_and_can_be_cancelled(server: Server, page: Any) -> None:
    page.goto(f"{server.url}/whatif?set=restart_s:30&set=nodes:10&to=srtf&draws=30")
    apply = page.locator(".st-key-whatif-apply button").first
    apply.wait_for(timeout=FIRST_MS)
    assert apply.inner_text().startswith("Apply to 30 draws, about ")
    apply.click()
    page.get_by_text("refining: more draws are under way").first.wait_for(timeout=60_000)
    assert "rough, one draw does not tell them apart" in said(page)
    page.wait_for_timeout(1000)
    page.locator(".st-key-whatif-cancel button").first.click()
    page.get_by_text("Cancelled. Nothing was kept.").first.wait_for(timeout=20_000)
    settle(page)
    assert page.locator(".st-key-whatif-apply button").first.is_visible()
    assert "rough, one draw" in said(page)
