"""Pages run without a browser, each test on a store of its own; no worker processes are started."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from dlsched.experiments.background import Runner
from dlsched.store import Store
from dlsched.ui import session
from dlsched.ui.navigation import FOLDER

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 60


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """The store of the app under test."""
    monkeypatch.setenv("DLSCHED_STORE", str(tmp_path / "results.duckdb"))
    monkeypatch.setattr(sys, "argv", ["app.py"])
    monkeypatch.setattr(Runner, "prepare", lambda self: None)
    st.cache_resource.clear()
    opened = session.store()
    yield opened
    opened.close()
    st.cache_resource.clear()


@pytest.fixture
def open_page(store: Store) -> Callable[..., AppTest]:
    """Return a function that opens the page of a script below pages/, with URL parameters."""

    def open_at(script: str, **params: str) -> AppTest:
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT_S)
        if "_" in script:  # AppTest knows the address of a page by its file until a first run has told it
            app.run()
        for name, value in params.items():
            app.query_params[name] = value
        return app.switch_page(f"{FOLDER}/{script}").run()

    return open_at
