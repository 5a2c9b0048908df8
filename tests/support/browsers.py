"""One browser for all tests of a process: Playwright cannot be started twice there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.waiting import PATIENCE_S


def chromium() -> str | None:
    """Return the path of the system's Chromium."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    path = chromium()
    required = os.environ.get("DLSCHED_REQUIRE_BROWSER")
    if path is None:
        message = "no Chromium found: install Debian's package chromium to run the browser tests"
        if required:
            pytest.fail(message)
        pytest.skip(message)
    from playwright.sync_api import expect, sync_playwright

    with sync_playwright() as play:
        chrome = play.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        new_context = chrome.new_context

        def patient(**options: Any) -> Any:
            context = new_context(**options)
            context.set_default_timeout(PATIENCE_S * 1000)
            return context

        chrome.new_context = patient  # type: ignore[method-assign]
        expect.set_options(timeout=PATIENCE_S * 1000)
        yield chrome
        chrome.close()
