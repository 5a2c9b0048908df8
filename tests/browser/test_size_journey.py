"""Journey C in a real browser: a target, the cheapest size, kept as an option; its link, headroom and months ahead."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.conftest import Server, settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]
PRIMARY = "[data-testid=stBaseButton-primary]:visible"
ANSWER_LIMIT_MS = 240_000  # the first run on a machine compiles


def press(tab: Any, key: str) -> None:
    """Press the button of this key."""
    tab.locator(f".st-key-{key} button").first.click()


def choose_part(tab: Any, name: str) -> None:
    """Open a part of the page."""
    tab.locator(".st-key-part").get_by_text(name, exact=True).click()
    settle(tab)


def test_from_a_target_to_a_size_that_is_kept(server: Server, page: Any) -> None:
    page.goto(f"{server.url}/size")
    settle(page)
    field = page.get_by_role("textbox", name="p95 wait at most")
    field.fill("2 h")
    field.press("Enter")
    settle(page)
    assert page.get_by_text("p95 wait at most 2 h").first.is_visible()

    press(page, "size-ask")
    page.locator(".st-key-size-keep button").first.wait_for(timeout=ANSWER_LIMIT_MS)
    settle(page)
    sentence = page.locator("h2").first.inner_text()
    assert "the cheapest we tried that meet both targets on average over " in sentence
    assert sentence.endswith("more than today.")
    link = page.url
    assert "experiment=" in link
    # The whole answer is on one screen: sentence, cards, picture, next step.
    assert page.locator(".st-key-chart-size-frontier .js-plotly-plot").first.bounding_box()["y"] < 700
    assert page.locator(PRIMARY).all_inner_texts() == ["Keep as option"]

    press(page, "size-keep")
    settle(page)
    assert page.locator(".st-key-size-unkeep button").first.is_visible()
    assert page.locator(PRIMARY).all_inner_texts() == ["Add to memo"]

    choose_part(page, "Headroom")
    assert "can handle" in page.locator("h2").first.inner_text()
    assert "part=Headroom" in page.url
    assert page.url.split("experiment=")[1].startswith(link.split("experiment=")[1][:12])

    choose_part(page, "Growth")
    press(page, "growth-from-size")
    settle(page)
    assert page.get_by_text("1 delivery or retirement").first.is_visible()
    assert page.get_by_role("textbox", name="p95 wait at most").input_value() == "2 h"
    press(page, "growth-ask")
    page.locator(".st-key-chart-growth-months .js-plotly-plot").first.wait_for(timeout=ANSWER_LIMIT_MS)
    settle(page)
    assert "at +3% a month" in page.locator("h2").first.inner_text()

    # The link opens the same answer in another browser.
    again = page.context.browser.new_context().new_page()
    again.goto(link)
    settle(again)
    assert again.locator("h2").first.inner_text() == sentence
    assert again.locator(".st-key-size-unkeep button").first.is_visible()
    again.context.close()
