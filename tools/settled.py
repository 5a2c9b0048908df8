"""When a page of the app has come to rest in a browser: for the browser tests, the screenshots and the tour."""

from __future__ import annotations

from typing import Any

# The browser loads the code for a kind of element when it first appears, and shows a grey bar in its place until then:
# on a busy machine a page's cards appear a second after its script has ended.
SETTLED = """() => document.querySelector('[data-testid=stApp][data-test-script-state=notRunning]')
    && !document.querySelector('[data-testid=stSkeleton]')"""


def settle(tab: Any, *, timeout_s: float = 180, pause_ms: float = 300) -> None:
    """Wait until the page's script has ended and everything it wrote is shown, and both still hold after a pause.

    Charts draw themselves after that: a picture of them needs a longer pause.
    """
    tab.wait_for_function(SETTLED, timeout=timeout_s * 1000)
    tab.wait_for_timeout(pause_ms)
    tab.wait_for_function(SETTLED, timeout=timeout_s * 1000)
