"""Film a tour of the app as it is, one minute from the first page to a memo: ``python -m tools.tour``.

Needs Debian's chromium and the development requirements. Plays the steps below in a browser on a store of its own and
writes docs/images/tour.webp. ``tests/browser/test_tour.py`` plays the same steps without a camera.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from PIL import Image

from tools.screenshots import IMAGES, open_tab
from tools.settled import settle

SIZE = {"width": 1280, "height": 800}
QUALITY = 70
"""Of the pictures: the clip stays below 1 MB."""
ANSWER_MS = 240_000
MORE_JOBS = 1.2
POINT_MS, SHORT_MS, LONG_MS = 1000, 4000, 6000
"""How long is shown: where is clicked, what is seen at once, and what must be read."""

CAPTION = """words => {
  const old = document.getElementById('tour-caption'); if (old) old.remove();
  const bar = document.createElement('div'); bar.id = 'tour-caption'; bar.innerText = words;
  bar.style.cssText = 'position:fixed;left:0;right:0;bottom:0;z-index:9999999;background:#0e1726;color:#fff;' +
    'font:600 22px/1.3 "Source Sans",sans-serif;padding:14px 24px;text-align:center';
  document.body.append(bar);
}"""
RING = """box => {
  const old = document.getElementById('tour-ring'); if (old) old.remove();
  if (!box) return;
  const ring = document.createElement('div'); ring.id = 'tour-ring';
  ring.style.cssText = 'position:fixed;z-index:9999998;border:4px solid #d9480f;border-radius:10px;' +
    `left:${box.x - 6}px;top:${box.y - 6}px;width:${box.width + 4}px;height:${box.height + 4}px`;
  document.body.append(ring);
}"""


@dataclass(eq=False)
class Film:
    """Pictures in their order and how long each is shown, ms; ``is_on``: without it nothing is taken."""

    tab: Any
    is_on: bool = True
    pictures: list[Image.Image] = field(default_factory=list)
    lasting_ms: list[int] = field(default_factory=list)
    words: str = ""

    def take(self, lasting_ms: int) -> None:
        """Take a picture of what the tab shows, with the caption below."""
        if not self.is_on:
            return
        self.tab.evaluate(CAPTION, self.words)
        self.pictures.append(Image.open(io.BytesIO(self.tab.screenshot())).convert("RGB"))
        self.lasting_ms.append(lasting_ms)

    def settle(self) -> None:
        """Wait until the page has come to rest; where a picture is taken, also until its charts are drawn."""
        settle(self.tab, timeout_s=ANSWER_MS / 1000, pause_ms=1800 if self.is_on else 300)

    def show(self, words: str, lasting_ms: int = LONG_MS) -> None:
        """Show the page under a caption once it has come to rest."""
        self.settle()
        self.words = words
        self.take(lasting_ms)

    def click(self, words: str, at: Any) -> None:
        """Point at something under a caption, and click it."""
        self.settle()
        at.scroll_into_view_if_needed()
        self.words = words
        if self.is_on:
            self.tab.evaluate(RING, at.bounding_box())
            self.take(POINT_MS)
            self.tab.evaluate(RING, None)
        at.click()

    def save(self, path: Any) -> None:
        """Write all pictures as one animated WebP."""
        first, *rest = self.pictures
        first.save(path, save_all=True, append_images=rest, duration=self.lasting_ms, loop=0, quality=QUALITY, method=6)


def _link(tab: Any, title: str) -> Any:
    return tab.locator("[data-testid=stSidebar] a").filter(has_text=title).first


def _button(tab: Any, key: str) -> Any:
    return tab.locator(f".st-key-{key} button").first


def _part(tab: Any, name: str) -> Any:
    return tab.locator(".st-key-part").get_by_text(name, exact=True)


# ---- the steps -------------------------------------------------------------------------------------------


def compare(film: Film) -> None:
    """Run the demo and see which policy is best."""
    tab = film.tab
    film.show("Plan a GPU cluster: start with the demo, or drop in your own job log")
    film.click("One click simulates a week of 1,200 jobs under several policies", _button(tab, "run-demo"))
    tab.wait_for_url("**/compare**", timeout=ANSWER_MS)
    tab.locator("[data-testid=stMain] h2").first.wait_for(timeout=ANSWER_MS)
    film.show("Compare says which policy is best, and in how many futures")


def explain(film: Film) -> None:
    """See what happened in a run, node by node and job by job."""
    tab = film.tab
    film.click("Open the run behind the numbers", _button(tab, "compare-next"))
    tab.wait_for_url("**/run-details**", timeout=ANSWER_MS)
    film.show("Run details: what it cost, which jobs waited, how many GPUs were allocated")
    film.click("Every job is on the timeline", _part(tab, "Timeline"))
    tab.locator(".js-plotly-plot").first.wait_for(timeout=ANSWER_MS)
    film.show("One row per GPU: which job ran where and when")


def ask_what_if(film: Film) -> None:
    """Ask for more demand."""
    tab = film.tab
    film.click("What if demand grows?", _link(tab, "What if"))
    tab.locator("[class*=st-key-whatif-card-]").first.wait_for(timeout=ANSWER_MS)
    film.show("What if: conditions that happen to you, and options you can choose", SHORT_MS)
    slider = tab.locator(".st-key-whatif-demand input[type=range]")
    for _ in range(ANSWER_MS // POINT_MS):  # a page that is drawn again at that moment takes a press back
        while float(slider.input_value()) < MORE_JOBS:
            slider.press("ArrowRight")
        if f"demand%3A{MORE_JOBS}" in tab.url:
            break
        tab.wait_for_timeout(POINT_MS)
    tab.locator("[data-testid=stMain] h2", has_text="20% more jobs").first.wait_for(timeout=ANSWER_MS)
    film.show("20% more jobs: the effect on waits, late jobs and cost, with its range")


def size(film: Film) -> None:
    """Find the cheapest size."""
    tab = film.tab
    film.click("How many nodes do I need?", _link(tab, "Capacity"))
    tab.wait_for_url("**/capacity**", timeout=ANSWER_MS)
    film.click("Set targets, and search for the cheapest cluster that meets them", _button(tab, "size-ask"))
    _button(tab, "size-keep").wait_for(timeout=ANSWER_MS)
    film.show("The answer first, then the sizes around it")
    film.click("How much growth is left?", _part(tab, "Headroom"))
    film.show("Headroom: how many more jobs each size can take")


def write_memo(film: Film) -> None:
    """Open the memo."""
    tab = film.tab
    film.click("Hand it over as a memo, slides or a workbook", _link(tab, "Memo"))
    tab.wait_for_url("**/memo**", timeout=ANSWER_MS)
    film.show("The memo: one recommendation, with every assumption behind it")


STEPS: tuple[Callable[[Film], None], ...] = (compare, explain, ask_what_if, size, write_memo)


def main() -> None:
    """Film all steps."""
    with open_tab(SIZE) as (tab, _):
        film = Film(tab)
        for step in STEPS:
            step(film)
    path = IMAGES / "tour.webp"
    film.save(path)
    facts = {"pictures": len(film.pictures), "seconds": sum(film.lasting_ms) / 1000, "kB": path.stat().st_size // 1000}
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
