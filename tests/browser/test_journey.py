"""The journey in a real browser: a trace in, three policies, a job's story, a comparison, and all of it again later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.browser.conftest import Server
from tools.settled import settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]
RUN_LIMIT_MS = 240_000  # the first run on a machine compiles


def made_trace(folder: Path, jobs: int = 300) -> Path:
    """Write a trace of bursts of jobs; one job name tries to be a script, one a formula."""
    rng = np.random.default_rng(5)
    submit = np.sort(rng.integers(0, 60_000, jobs))
    run = rng.lognormal(7, 1.2, jobs).astype(int) + 1
    gpus = rng.choice([1, 2, 4, 8], jobs, p=[0.5, 0.2, 0.2, 0.1])
    names = [f"job{i}" for i in range(jobs)]
    names[3], names[4] = "<script>alert(1)</script>", '"=HYPERLINK(""http://x"")"'
    lines = [f"{n},{s},{g},{r},u{i % 7}" for i, (n, s, g, r) in enumerate(zip(names, submit, gpus, run, strict=True))]
    path = folder / "my trace.csv"
    path.write_text("job_id,submit_time_s,num_gpus,duration_s,user\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def press(tab: Any, key: str) -> None:
    """Press the button of this key."""
    tab.locator(f".st-key-{key} button").first.click()


def test_from_a_trace_to_a_comparison_and_back_another_day(server: Server, page: Any, tmp_path: Path) -> None:
    dialogs: list[str] = []

    def note(dialog: Any) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", note)
    page.goto(server.url)
    settle(page)
    page.get_by_text("example data").first.wait_for()

    # a trace of one's own
    page.locator(".st-key-home-drop input[type=file]").set_input_files(str(made_trace(tmp_path)))
    page.wait_for_url("**/jobs**")
    page.locator(".st-key-use-jobs button").first.wait_for()
    settle(page)
    page.get_by_text("300 jobs in").first.wait_for()
    press(page, "use-jobs")
    page.wait_for_url("**/cluster**")
    settle(page)
    press(page, "to-run")
    page.wait_for_url("**/run**")
    settle(page)

    # three policies
    for policy in ("gittins", "fifo-skip"):
        page.locator(f".st-key-policy-{policy} label").first.click()
        settle(page)
    assert page.locator(".st-key-run-now button").inner_text() == "Run 3 policies"
    press(page, "run-now")
    page.wait_for_url("**/compare**", timeout=RUN_LIMIT_MS)
    settle(page)
    assert "against FIFO" in page.locator("h2").first.inner_text()
    press(page, "compare-next")
    page.wait_for_url("**/run-details**")
    settle(page)
    page.locator("[class*=st-key-result-policy]").get_by_text("FIFO", exact=True).click()
    settle(page)
    assert page.locator("h2").first.inner_text().startswith("FIFO: ")
    page.get_by_text("audit ok").first.wait_for()

    # the timeline, and down to one job
    page.locator(".st-key-part").get_by_text("Timeline", exact=True).click()
    settle(page)
    page.locator(".js-plotly-plot").first.wait_for()
    press(page, "g-in")
    settle(page)
    page.locator(".st-key-g-find input").fill("job17")
    page.keyboard.press("Enter")
    settle(page)
    assert "from=" in page.url
    # links name a job by its row, never by its name
    page.goto(page.url.replace("part=Timeline", "part=Jobs") + "&job=17")
    settle(page)
    story = page.locator("h2").first.inner_text()
    assert "ran " in story
    assert not story.startswith("FIFO")

    # the same link in another browser shows the same
    link = page.url
    again = page.context.browser.new_context().new_page()
    again.goto(link)
    settle(again)
    assert again.locator("h2").first.inner_text() == story
    again.context.close()

    press(page, "result-next")
    page.wait_for_url("**/compare**")
    settle(page)
    headline = page.locator("h2").first.inner_text()
    assert "against FIFO" in headline
    assert "exact for this trace" in headline
    link = page.url
    assert "base=" in link

    # the server is killed; the runs are still there
    server.kill()
    server.start()
    page.goto(link)
    settle(page)
    assert page.locator("h2").first.inner_text() == headline
    page.goto(f"{server.url}/runs")
    page.wait_for_url("**/run?**part=History**")
    settle(page)
    assert "1 experiment with 3 runs" in page.locator("h2").first.inner_text()
    assert dialogs == []


def test_a_second_app_on_the_store_says_so(server: Server, browser: Any) -> None:
    second = Server(server.store)
    second.start()
    try:
        context = browser.new_context()
        tab = context.new_page()
        tab.goto(server.url)  # an app takes its store when the first visitor comes
        settle(tab)
        tab.goto(second.url)
        settle(tab)
        text = tab.locator("[data-testid=stAlert]").first.inner_text()
        assert "in use by process" in text
        assert str(server.process.pid if server.process else "") in text
        assert tab.locator("[data-testid=stSidebarNavLink]").count() == 0
        context.close()
    finally:
        second.kill()


def test_a_link_opens_on_a_server_that_nobody_has_visited(tmp_path: Path, browser: Any) -> None:
    fresh = Server(tmp_path / "results.duckdb")
    fresh.start()
    try:
        context = browser.new_context()
        tab = context.new_page()
        tab.goto(f"{fresh.url}/glossary")
        settle(tab)
        tab.locator("[role=dialog] h2").first.wait_for()
        assert [one.inner_text() for one in tab.locator("[role=dialog] h2").all()] == ["Glossary"]
        context.close()
    finally:
        fresh.kill()


@pytest.mark.parametrize(
    "path",
    [
        "",
        "jobs",
        "cluster",
        "run",
        "runs",
        "run-details",
        "compare",
        "what-if",
        "sweep",
        "speed-up",
        "load-test",
        "paper-checks",
    ],
)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_opens_without_sideways_scroll(server: Server, browser: Any, path: str, scheme: str) -> None:
    context = browser.new_context(viewport={"width": 1024, "height": 800}, color_scheme=scheme)
    tab = context.new_page()
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.goto(f"{server.url}/{path}")
    settle(tab)
    assert tab.locator("h1").count() == 1
    assert tab.locator("[data-testid=stException]").count() == 0
    wide = tab.evaluate("(m => m.scrollWidth - m.clientWidth)(document.querySelector('[data-testid=stMain]'))")
    assert wide <= 0
    assert errors == []
    context.close()
