"""Every page under axe, and three journeys by keyboard alone: the demo, a what-if, a size.

axe-core comes from npm: ``npm install --no-save axe-core@4.14.1``, or name its axe.min.js in DLSCHED_AXE. Without it
its test skips.
"""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from dlsched.ui.frame.navigation import ADDRESSES
from tests.browser.conftest import ROOT, Server
from tests.support.waiting import PATIENCE_S
from tools.settled import settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
OF_STREAMLIT = {
    "list": "stSidebarNavItems", "listitem": "<li", "presentation-role-conflict": "stFileUploaderDropzone",
}  # fmt: skip
"""Rule -> what the markup of its findings holds that are Streamlit's own: the list of pages, the drop zone of files."""
FIRST_MS = 360_000  # the first answer on a machine compiles
MOST_TABS = 120
FOCUS = """() => {
  const at = document.activeElement, look = getComputedStyle(at);
  const shown = look.outlineStyle !== 'none' || look.boxShadow !== 'none' || at.matches('input, textarea');
  return [at.matches(':focus-visible') && shown, at.outerHTML.slice(0, 200)];
}"""
AT = (
    "([selector, words]) => { const at = document.activeElement; return at.closest(selector) !== null && "
    "(at.innerText || '').includes(words); }"
)


@pytest.fixture(scope="module")
def axe() -> str:
    path = Path(os.environ.get("DLSCHED_AXE") or ROOT / "node_modules" / "axe-core" / "axe.min.js")
    if not path.is_file():
        pytest.skip("no axe-core found: npm install --no-save axe-core@4.14.1")
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def with_results(server: Server, browser: Any) -> Server:
    """The app after the demo was run, by keyboard alone."""
    context = browser.new_context(viewport={"width": 1360, "height": 850})
    tab = context.new_page()
    tab.goto(server.url)
    settle(tab)
    press(tab, ".st-key-run-demo")
    tab.wait_for_url("**/compare**", timeout=FIRST_MS)
    settle(tab)
    press(tab, ".st-key-compare-next")
    tab.wait_for_url("**/run-details**", timeout=PATIENCE_S * 1000)
    settle(tab)
    context.close()
    return server


def reach(tab: Any, selector: str, words: str = "") -> None:
    """Press Tab until something within ``selector`` that says ``words`` has the focus, which must be visible."""
    for _ in range(MOST_TABS):
        tab.keyboard.press("Tab")
        if tab.evaluate(AT, [selector, words]):
            break
    else:
        raise AssertionError(f"Tab does not reach {selector} {words!r}")
    is_visible, markup = tab.evaluate(FOCUS)
    assert is_visible, f"no focus is to be seen on {markup}"


def press(tab: Any, selector: str, words: str = "") -> None:
    """Reach a button or link by keyboard and press it."""
    reach(tab, selector, words)
    tab.keyboard.press("Enter")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("title", ADDRESSES)
def test_axe_finds_nothing_but_what_is_streamlits_own(
    with_results: Server, browser: Any, axe: str, title: str, scheme: str
) -> None:
    context = browser.new_context(viewport={"width": 1360, "height": 850}, color_scheme=scheme, bypass_csp=True)
    tab = context.new_page()
    tab.goto(f"{with_results.url}/{ADDRESSES[title]}")
    tab.locator("h1").first.wait_for()
    settle(tab, timeout_s=FIRST_MS / 1000)
    tab.evaluate(axe)
    found = tab.evaluate("rules => axe.run(document, {runOnly: rules})", RULES)
    faults = {
        f"{fault['id']}: {node['html'][:200]}"
        for fault in found["violations"]
        for node in fault["nodes"]
        if OF_STREAMLIT.get(fault["id"], "\0") not in node["html"]
    }
    assert faults == set()
    levels = tab.evaluate(
        "[...document.querySelectorAll('h1,h2,h3,h4')].filter(e => e.checkVisibility()).map(e => +e.tagName[1])"
    )
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels)), levels
    context.close()


def test_the_demo_is_run_and_its_run_opened_by_keyboard(with_results: Server, page: Any) -> None:
    page.goto(with_results.url)
    settle(page)
    press(page, "[data-testid=stSidebar] a", "Compare")
    page.wait_for_url("**/compare**")
    settle(page)
    page.locator("h2").first.wait_for()
    press(page, ".st-key-open-glossary")
    page.locator("[role=dialog]").wait_for()
    settle(page)
    page.keyboard.press("Escape")
    page.locator("[role=dialog]").wait_for(state="detached")
    settle(page)
    assert "term=" not in page.url


def test_what_if_is_asked_by_keyboard(server: Server, page: Any) -> None:
    page.goto(f"{server.url}/what-if")
    page.locator("[class*=st-key-whatif-card-]").first.wait_for(timeout=FIRST_MS)
    settle(page)
    before = page.locator("h2").first.inner_text()
    reach(page, ".st-key-whatif-demand input")
    page.keyboard.press("ArrowRight")
    page.wait_for_function(
        "said => (document.querySelector('h2')?.innerText ?? said) !== said", arg=before, timeout=PATIENCE_S * 1000
    )
    settle(page)
    assert "set=demand%3A1.05" in page.url


def test_a_size_is_found_and_kept_by_keyboard(server: Server, page: Any) -> None:
    page.goto(f"{server.url}/size")
    page.locator(".st-key-size-ask").wait_for(timeout=PATIENCE_S * 1000)
    settle(page)
    press(page, ".st-key-size-ask")
    page.locator(".st-key-size-keep button").first.wait_for(timeout=FIRST_MS)
    settle(page)
    press(page, ".st-key-size-keep")
    page.locator(".st-key-size-unkeep button").first.wait_for()
