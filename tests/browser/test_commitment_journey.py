"""From two prices to what to own and what to rent, in a real browser; the link opens the answer again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.conftest import Server
from tools.settled import settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]
ANSWER_LIMIT_MS = 400_000


def type_number(tab: Any, label: str, value: float, place: int = 0) -> None:
    field = tab.get_by_role("spinbutton", name=label).nth(place)
    field.fill(str(value))
    field.press("Enter")
    settle(tab)


def test_from_prices_to_what_to_own_and_what_to_rent(server: Server, page: Any) -> None:
    # Rented nodes are played by the engine: with all jobs of the demo this takes minutes on a small machine.
    page.goto(f"{server.url}/capacity?part=Commit or rent&condition=demand:0.1")
    settle(page)
    page.get_by_text("Type the price of a node per hour").wait_for()
    type_number(page, "Up to … nodes", 2)
    type_number(page, "Price ($/h)", 60, 1)
    type_number(page, "Rent for jobs that have waited (min)", 30)
    page.get_by_text("How many nodes, up to 2, should we commit to, renting the rest").wait_for()
    page.get_by_text("with 90% fewer jobs").first.wait_for()
    page.locator(".st-key-commitment-ask button").first.click()
    for chart in ("cost", "service", "hours"):
        page.locator(f".st-key-chart-commitment-{chart} .js-plotly-plot").first.wait_for(timeout=ANSWER_LIMIT_MS)
    settle(page)
    sentence = page.locator("h2").first.inner_text()
    assert sentence.startswith("With 90% fewer jobs, own ")
    assert "/year" in sentence
    assert "experiment=" in page.url
    again = page.context.browser.new_context().new_page()
    again.goto(page.url)
    settle(again)
    again.locator("h2").first.wait_for()
    assert again.locator("h2").first.inner_text() == sentence
    again.context.close()
