"""In a real browser: a scenario from scratch in five clicks, and one that is deleted and brought back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.conftest import Server
from tools.settled import settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def press(tab: Any, key: str) -> None:
    """Press the button of this key."""
    tab.locator(f".st-key-{key} button").first.click()


def test_from_home_to_a_scenario_that_can_run_in_five_clicks_then_delete_and_undo(server: Server, page: Any) -> None:
    page.goto(server.url)
    settle(page)
    press(page, "scenario-menu")
    press(page, "bar-new")
    page.get_by_role("dialog").get_by_label("Nodes").fill("12")
    page.keyboard.press("Enter")
    settle(page)
    press(page, "new-generate")
    page.wait_for_url("**/jobs**nodes=12**")
    settle(page)
    page.reload()  # the cluster is in the address
    settle(page)
    assert page.locator(".st-key-on-which-cluster").inner_text().endswith("12 nodes, 96 GPUs, load 85%.")
    press(page, "use-jobs")  # the fourth click
    page.wait_for_url("**/run**")
    settle(page)
    assert page.locator(".st-key-run-now button").is_enabled()
    link = page.url

    press(page, "scenario-menu")
    press(page, "bar-delete")
    page.locator(".st-key-undo-line").wait_for()
    settle(page)
    assert "Demo" in page.locator(".st-key-scenario-menu button").first.inner_text()
    press(page, "undo-delete-scenario")
    page.locator(".st-key-undo-line").wait_for(state="detached")
    settle(page)
    assert "Job mix" in page.locator(".st-key-scenario-menu button").first.inner_text()

    press(page, "scenario-menu")
    press(page, "bar-delete")
    page.locator(".st-key-undo-line").wait_for()
    page.goto(link)
    settle(page)
    press(page, "restore-linked")
    page.locator(".st-key-scenario-menu").get_by_text("Job mix").first.wait_for()
