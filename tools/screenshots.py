"""Take the README's screenshots from the app as it is: ``python -m tools.screenshots``.

Needs Debian's chromium and the development requirements. Runs the demo on a store of its own and writes
docs/images/*.png.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from playwright.sync_api import sync_playwright

from dlsched.cli.app import command, environment, pick_port
from dlsched.files import HOME
from tools.settled import settle

IMAGES = HOME / "docs" / "images"
SIZE = {"width": 1360, "height": 900}
START_LIMIT_S = 60


@contextmanager
def running_app() -> Iterator[str]:
    """Serve the app on a new store; yield its address."""
    import os

    with tempfile.TemporaryDirectory() as folder:
        port = pick_port(8501, "127.0.0.1")
        args = command(port, ["--store", str(Path(folder) / "shots.duckdb")], headless=True)
        server = subprocess.Popen(
            args, env=environment(os.environ), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            address = f"http://127.0.0.1:{port}"
            _wait_for(address)
            yield address
        finally:
            server.terminate()
            server.wait(timeout=30)


@contextmanager
def open_tab(size: Mapping[str, int]) -> Iterator[tuple[Any, str]]:
    """Open the running app in a browser window of this size, light; yield the tab and the app's address."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("No chromium found: apt-get install chromium")
    with running_app() as address, sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"])
        tab = browser.new_context(viewport=size, color_scheme="light").new_page()  # type: ignore[arg-type]
        tab.goto(address)
        yield tab, address
        browser.close()


def _wait_for(address: str) -> None:
    deadline = time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline:
        try:
            with urlopen(f"{address}/_stcore/health", timeout=2):
                return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError("the app did not start")


def shoot(tab: Any, name: str) -> None:
    """Save what the tab shows."""
    settle(tab, pause_ms=2500)
    tab.screenshot(path=str(IMAGES / f"{name}.png"))


def main() -> None:
    """Run the demo and save one picture for each page worth showing."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    with open_tab(SIZE) as (tab, address):
        tab.locator(".st-key-run-demo button").first.click()
        tab.wait_for_url("**/compare**", timeout=180_000)
        tab.get_by_text("over 21 simulated versions").first.wait_for(timeout=60_000)
        shoot(tab, "compare")
        tab.goto(f"{address}/what-if")
        tab.get_by_role("button", name="30% more jobs").click()
        tab.get_by_text("21 simulated versions").first.wait_for(timeout=60_000)
        shoot(tab, "what-if")
        tab.goto(f"{address}/capacity")
        tab.get_by_role("button", name="Find the cheapest size").click()
        tab.get_by_role("button", name="Keep as option").wait_for(timeout=180_000)
        shoot(tab, "size")


if __name__ == "__main__":
    main()
