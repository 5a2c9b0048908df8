"""Pages run without a browser, each test on a store of its own; no worker processes are started."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from dlsched.runner.background import Runner
from dlsched.runner.executor import WorkerPool
from dlsched.store import Store
from dlsched.ui.frame import caches, identity, options, session
from dlsched.ui.frame.navigation import ADDRESSES, FOLDER, SCRIPTS

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 180
BY_FILE = {script for title, script in SCRIPTS.items() if ADDRESSES[title] == Path(script).stem}
"""Pages whose address is the name of their file."""


@pytest.fixture(autouse=True)
def _main_module_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take a page's script out of `__main__` again: worker processes of later tests would import it as theirs."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """The store of the app under test, which one browser looks at: that of the test itself."""
    monkeypatch.setenv("DLSCHED_STORE", str(tmp_path / "results.duckdb"))
    monkeypatch.setattr(sys, "argv", ["app.py"])
    monkeypatch.setattr(Runner, "prepare", lambda self: None)
    monkeypatch.setattr(identity, "browser", lambda: "of the test")
    st.cache_resource.clear()
    caches.SHARED.clear()
    options._read.cache_clear()
    opened = session.store()
    yield opened
    opened.close()
    st.cache_resource.clear()
    caches.SHARED.clear()


@pytest.fixture
def open_page(store: Store) -> Callable[..., AppTest]:
    """Return a function that opens the page of a script below pages/, with URL parameters."""

    def open_at(script: str, **params: str) -> AppTest:
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT_S)
        if f"{FOLDER}/{script}" not in BY_FILE:  # AppTest takes a page's file for its address until a first run
            app.run()
        for name, value in params.items():
            app.query_params[name] = value
        return app.switch_page(f"{FOLDER}/{script}").run()

    return open_at


@pytest.fixture
def open_old(store: Store) -> Callable[..., AppTest]:
    """Return a function that opens an address (url path) of an earlier version, with URL parameters."""

    def open_at(address: str, **params: str) -> AppTest:
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT_S)
        for name, value in params.items():
            app.query_params[name] = value
        app._page_hash = calc_hash(address)  # AppTest opens pages by their file, and an old address has none
        return app.run()

    return open_at


@pytest.fixture
def runner(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runner]:
    """Background work in a thread of this process."""
    threads = ThreadPoolExecutor(1)
    monkeypatch.setattr(session, "Runner", partial(Runner, make_pool=lambda: WorkerPool(threads, 1, remote=False)))
    yield session.runner()
    threads.shutdown(cancel_futures=True)
