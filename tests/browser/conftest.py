"""A server on its own store and a headless browser. Without a browser the tests skip; CI demands one."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from dlsched.cli.app import command, environment

ROOT = Path(__file__).resolve().parents[2]
START_LIMIT_S = 180


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """A running app; ``kill`` ends it the hard way, ``start`` brings it back on the same store and port.

    ``options``: of the app besides its store; ``base_path`` as in ``dlsched app --base-path``.
    """

    def __init__(self, store: Path, *options: str, base_path: str = "") -> None:
        self.store, self.options, self.base_path = store, options, base_path
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}" + f"/{base_path}" * bool(base_path)
        self.process: subprocess.Popen[bytes] | None = None

    def command(self) -> list[str]:
        app_args = ["--store", str(self.store), *self.options]
        return command(self.port, app_args, headless=True, base_path=self.base_path)

    def environment(self) -> dict[str, str]:
        return environment(os.environ)

    def start(self) -> None:
        with (self.store.parent / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                self.command(),
                cwd=self.store.parent,
                env=self.environment(),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_LIMIT_S
        while time.monotonic() < deadline:
            try:
                with urlopen(self.url + "/_stcore/health", timeout=2):
                    return
            except OSError:
                time.sleep(0.2)
        raise RuntimeError("the app did not start: " + (self.store.parent / "server.log").read_text()[-2000:])

    def kill(self) -> None:
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(timeout=20)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    app = Server(tmp_path_factory.mktemp("browser") / "results.duckdb")
    app.start()
    try:
        yield app
    finally:
        app.kill()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1360, "height": 900}, accept_downloads=True)
    tab = context.new_page()
    yield tab
    context.close()
