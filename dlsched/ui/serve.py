"""Streamlit's own command line, with two things said beforehand. Started by :mod:`dlsched.cli.app`.

The folder pages/ is not of its old kind: with a folder of that name Streamlit takes an app that has not run yet for a
multipage app of version 1, and tells the first visitor of a link such as /compare that the page does not exist. The app
builds its pages with st.navigation.

No connection is believed when it says whom it speaks for: the web server would take the address in X-Forwarded-For of
any connection from this machine for the visitor's, and :mod:`dlsched.ui.frame.identity` could not tell the proxy.
"""

import gc
import importlib
import pkgutil
import sys
import time
from collections.abc import Callable

import dlsched.ui
from dlsched.ending import to_the_end

SWITCH_S = 0.0005
"""How long a page computes before another thread has a turn: Python's 5 ms would delay each of its hundred messages."""


COLLECT_EVERY_S = 10.0


class SeldomCollected:
    """Collects all garbage at most every ten seconds, where Streamlit would after each run of each page.

    Each time takes 0.03 CPU s and more with all other sessions waiting: a quarter of what twenty of them computed.
    Python's own collections go on as usual.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._due_s = clock, 0.0

    def collect(self, generation: int = 2) -> int:
        """Collect as ``gc.collect``, if it is time to; return how many objects were found."""
        now_s = self._clock()
        if now_s < self._due_s:
            return 0
        self._due_s = now_s + COLLECT_EVERY_S
        return gc.collect(generation)


def load_pages() -> None:
    """Import what the pages need, and leave it out of the collection of garbage from now on.

    Streamlit collects garbage after each run of a page, with all other sessions waiting: 0.2 s of walking through what
    was imported. The first visitors would import the same modules, in several threads at once.
    """
    for module in pkgutil.walk_packages(dlsched.ui.__path__, "dlsched.ui."):
        if module.name != "dlsched.ui.serve":
            importlib.import_module(module.name)
    gc.collect()
    gc.freeze()


def serve() -> None:
    """Serve until it is stopped."""
    import multiprocessing  # only now, so that its exit functions are run before the end
    import os

    from streamlit.runtime.pages_manager import PagesManager
    from streamlit.runtime.scriptrunner import script_runner
    from streamlit.web.cli import main

    PagesManager.uses_pages_directory = False
    os.environ["FORWARDED_ALLOW_IPS"] = ""
    load_pages()
    vars(script_runner)["gc"] = SeldomCollected()
    sys.setswitchinterval(SWITCH_S)
    try:
        main(prog_name="streamlit")
    finally:  # Python would wait for what the workers compute or compile, for minutes
        if (background := sys.modules.get("dlsched.runner.background")) is not None:
            background.stop_all()  # or it would start what waits, and log that it cannot
        for worker in multiprocessing.active_children():
            worker.terminate()


if __name__ == "__main__":
    to_the_end(serve)
