"""A sweep in a real browser: progress, cancel, resume, and a server that is killed under way; then the map."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from dlsched.domain.scenario import SimulationRules
from dlsched.store import Store
from tests.browser.conftest import Server
from tests.support.runs_for_store import small_scenario
from tools.settled import settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]
FUTURES, RUNS = 60, 1200
LIMIT_MS = 240_000  # the first run on a machine compiles


def press(tab: Any, key: str) -> None:
    """Press the button of this key."""
    tab.locator(f".st-key-{key} button").first.click()


def button(tab: Any, key: str) -> str:
    """Return what the button of this key says."""
    return str(tab.locator(f".st-key-{key} button").first.inner_text())


def wait_for_runs(tab: Any, least: int) -> None:
    """Wait until the page says that so many runs are done."""
    tab.wait_for_function(
        """least => {
            const found = document.body.innerText.match(/([\\d,]+) of 1,200 runs, about [^\\n]* left/);
            return found && Number(found[1].replaceAll(',', '')) >= least;
        }""",
        arg=least,
        timeout=LIMIT_MS,
    )


def missing(tab: Any) -> int:
    """Return how many runs the button would resume."""
    found = re.fullmatch(r"Resume ([\d,]+) missing, about .+", button(tab, "range-ask"))
    assert found is not None, button(tab, "range-ask")
    return int(found[1].replace(",", ""))


def test_a_sweep_is_cancelled_resumed_survives_a_killed_server_and_ends(tmp_path: Path, browser: Any) -> None:
    server = Server(tmp_path / "results.duckdb")
    with Store(server.store) as store:
        asked = small_scenario(200, options=SimulationRules(estimate_error=0.5))
        info = store.save_scenario(asked)
        scenario = info.scenario_hash
        store.set_setting(f"futures/{info.lineage}", {"count": FUTURES - 1, "vary": {}})
    context = browser.new_context(viewport={"width": 1360, "height": 900})
    tab = context.new_page()
    try:
        server.start()
        tab.goto(f"{server.url}/sweep?scenario={scenario}")
        settle(tab)
        press(tab, "sweep-preset-size")
        settle(tab)
        tab.locator(".st-key-range-ask button", has_text="Run 1,200 runs, about ").first.wait_for(timeout=LIMIT_MS)
        settle(tab)

        # progress, cancel: what is finished stays
        press(tab, "range-ask")
        wait_for_runs(tab, 350)  # more than two workers have in hand
        press(tab, "range-cancel")
        tab.get_by_text("Cancelled.").first.wait_for(timeout=LIMIT_MS)
        tab.locator(".st-key-range-ask button", has_text="Resume ").first.wait_for(timeout=LIMIT_MS)
        settle(tab)
        first = missing(tab)
        assert 0 < first < RUNS

        # resume, and the server is killed under way
        press(tab, "range-ask")
        wait_for_runs(tab, min(RUNS - first + 450, RUNS - 1))
        server.kill()
        server.start()
        tab.goto(f"{server.url}/sweep?scenario={scenario}")
        settle(tab)
        tab.get_by_text("This answer is not complete").first.wait_for(timeout=LIMIT_MS)
        tab.locator(".st-key-range-ask button", has_text="Resume ").first.wait_for(timeout=LIMIT_MS)
        settle(tab)
        second = missing(tab)
        assert 0 < second < first

        # to the end, and the map
        press(tab, "range-ask")
        tab.wait_for_url("**experiment=**", timeout=LIMIT_MS)
        settle(tab)
        assert "in all 4 situations" in tab.locator("h2").first.inner_text()
        link = tab.url
        tab.locator("[class*=st-key-sweep-part]").get_by_text("Map", exact=True).first.click()
        settle(tab)
        tab.locator(".js-plotly-plot").first.wait_for()
        cell = tab.locator(".js-plotly-plot .textpoint text").first
        assert re.search(r"\d+ (s|min|h)", cell.text_content())

        # the same link in another tab shows the same
        again = context.new_page()
        again.goto(link)
        settle(again)
        assert again.locator("h2").first.inner_text() == tab.locator("h2").first.inner_text()
    finally:
        server.kill()
        context.close()
