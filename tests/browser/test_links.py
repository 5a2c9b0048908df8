"""Numbers in an address that are infinite, in a real browser: bound fields end in an error on them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.conftest import Server
from tests.support.waiting import PATIENCE_S
from tools.settled import settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.mark.parametrize("value", ["inf", "-1e400", "9" * 400])
def test_an_infinite_number_is_told_and_ignored(server: Server, page: Any, value: str) -> None:
    page.goto(f"{server.url}/speed-up?source=Example%20network&mini_batch={value}&gbit={value}&alpha=0.02")
    page.get_by_text("Ignored in the address: mini_batch=").first.wait_for(timeout=PATIENCE_S * 1000)
    settle(page)
    assert page.locator("[data-testid=stException]").count() == 0
    assert "mini_batch" not in page.url
    assert "alpha=0.02" in page.url
    assert page.get_by_label("Mini-batch", exact=True).input_value() == "1024"
