"""The memo in a real browser: written on the page, saved, and opened as a file that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dlsched.report.alternatives import Alternative
from dlsched.report.html import to_html
from dlsched.report.memo import LONGEST
from dlsched.store import Store
from dlsched.studies.simulation import simulate
from dlsched.wording.assumptions import Premise
from dlsched.wording.cautions import Caution
from dlsched.wording.caveats import Caveat
from dlsched.workload.load import load
from tests.browser.conftest import ROOT, Server
from tests.support.memos import full_memo, numbers, option
from tools.settled import settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]
A4_MM, MARGINS_MM = (210, 297), (24, 22)
PX_PER_MM = 96 / 25.4


@pytest.fixture(scope="module")
def runs() -> list[str]:
    """Ids of the runs in the store of the app."""
    return []


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, runs: list[str]) -> Iterator[Server]:
    """The app on a store with two policies on three draws of the demo."""
    path = tmp_path_factory.mktemp("report") / "results.duckdb"
    demo = load(ROOT / "data" / "demo.toml")
    with Store(str(path)) as store:
        for policy in ("fifo", "easy-backfill"):
            runs.append(store.save_run(simulate(demo, policy).record()))
            for seed in (1, 2):
                store.save_run(simulate(demo, policy, seed=seed).record())
    app = Server(path)
    app.start()
    try:
        yield app
    finally:
        app.kill()


def saved(page: Any, key: str, folder: Path) -> Path:
    with page.expect_download() as download:
        page.locator(f".st-key-{key} button").first.click()
    path = folder / str(download.value.suggested_filename)
    download.value.save_as(path)
    return path


def test_the_memo_is_written_saved_and_opened_anywhere(
    server: Server, page: Any, runs: list[str], tmp_path: Path
) -> None:
    page.goto(f"{server.url}/memo?runs={','.join(runs)}&base={runs[0]}")
    settle(page)
    question = "Backfill <img src=x onerror=alert(1)> or not?"
    preview = page.frame_locator("iframe[srcdoc]").first
    preview.locator("h1").wait_for()  # the page is drawn to its end
    page.get_by_role("textbox", name="Question").fill(question)
    page.keyboard.press("Tab")
    preview.get_by_role("heading", name=question).wait_for()
    assert preview.locator(".advice").inner_text().startswith("Choose EASY backfill: late jobs fall")
    assert preview.locator("circle").count() == 2
    settle(page)

    file = saved(page, "report-html", tmp_path)
    assert file.name == "memo-Demo.html"
    assert file.stat().st_size < 6_000_000
    assert saved(page, "report-pptx", tmp_path).stat().st_size < 300_000
    assert saved(page, "report-xlsx", tmp_path).read_bytes()[:2] == b"PK"
    assert saved(page, "report-scenario", tmp_path).name == "Demo.json"

    asked: list[str] = []
    alone = page.context.browser.new_context(offline=True).new_page()
    alone.on("request", lambda request: asked.append(request.url))
    alone.goto(file.as_uri())
    assert asked == [file.as_uri()]
    assert alone.locator("h1").first.inner_text() == question
    assert "example data, not yours" in alone.locator(".label").all_inner_texts()
    alone.context.close()
    assert first_page_mm(page.context.browser, file) <= A4_MM[1] - MARGINS_MM[1]


def first_page_mm(browser: Any, file: Path) -> float:
    """Return how high the first page is when it is printed on A4."""
    size = {"width": round((A4_MM[0] - MARGINS_MM[0]) * PX_PER_MM), "height": 1000}
    tab = browser.new_page(viewport=size)
    tab.goto(file.as_uri())
    tab.emulate_media(media="print")
    height_mm = float(tab.locator("main").bounding_box()["height"]) / PX_PER_MM
    tab.close()
    return height_mm


def all_different(many: int) -> list[Alternative]:
    """Options that differ in every number of the page, with wide intervals."""
    keys = ("wait_p95", "jct_mean", "tardiness_cost", "total_cost", "not_running_mean", "slowdown_mean", "wait_p50")
    return [
        option(f"Policy with name {place}", [
            numbers(0.1 * (place + draw) / 8, 31_234.5 + 4_321 * place * draw,
                    **dict.fromkeys(keys, 51234.0 / (1 + place) * (1 + draw)))
            for draw in range(3)
        ])
        for place in range(many)
    ]  # fmt: skip


@pytest.mark.parametrize("many", [2, 4, 6])
@pytest.mark.parametrize("full", [False, True], ids=["short", "full"])
def test_the_first_page_fits_a4(browser: Any, tmp_path: Path, many: int, *, full: bool) -> None:
    texts = {"question": "question", "recommended": "recommendation", "note": "note"} if full else {}
    typed: dict[str, Any] = {name: ("longer words " * 60)[: LONGEST[key]] for name, key in texts.items()}
    if full:
        typed["cautions"] = [Caution("orange", "A caution that needs a whole line of the page or two of them " * 2)] * 3
        chips = ("SJF and EASY backfill are told true run times", "made-up cluster, not yours", "made-up due dates",
                 "made-up costs of being late", "example prices, not yours", "not calibrated",
                 "reshuffled from these 28 days only")  # fmt: skip
        typed["caveats"] = [Caveat(text, "", kind="calibration") for text in chips]
        typed["assumptions"] = [Premise("due dates: submission + 1 to 3 times the fastest run time", "", "")] * 14
    file = tmp_path / "memo.html"
    file.write_text(to_html(full_memo(all_different(many), **typed)), encoding="utf-8")
    assert first_page_mm(browser, file) <= A4_MM[1] - MARGINS_MM[1]
