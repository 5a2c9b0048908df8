"""The app as it is served, and sessions that speak to it over its websocket, which costs less than a browser."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Self
from urllib.request import urlopen
from uuid import uuid4

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect

from dlsched.cli.app import command, environment, pick_port

START_LIMIT_S = 120
LOG = "server.log"
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class ServedApp:
    """The app on a store; its output goes to :data:`LOG` beside the store. ``marked`` finds its processes."""

    def __init__(self, store: Path) -> None:
        self.store, self.port = store, pick_port(8601, "127.0.0.1")
        self.marked = uuid4().hex
        with (store.parent / LOG).open("ab") as log:
            self.process = self._begin(log)

    def _begin(self, log: IO[bytes]) -> subprocess.Popen[bytes]:
        args = command(self.port, ["--store", str(self.store)], headless=True)
        return subprocess.Popen(
            args, env=environment(os.environ) | {"DLSCHED_MARK": self.marked}, stdout=log, stderr=log, cwd="/"
        )

    def wait_until_ready(self) -> Self:
        """Return once it answers."""
        until_s = time.monotonic() + START_LIMIT_S
        while time.monotonic() < until_s and self.process.poll() is None:
            try:
                with urlopen(f"http://127.0.0.1:{self.port}/_stcore/health", timeout=2):
                    return self
            except OSError:
                time.sleep(0.1)
        raise RuntimeError("the app did not start: " + (self.store.parent / LOG).read_text()[-2000:])

    def cpu_s(self) -> float:
        """Return the CPU seconds of the server's own process so far, without its workers."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S

    def mib(self, what: str = "VmRSS") -> float:
        """Return the memory of the server's own process; ``VmHWM`` for the most it ever had."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{what}:"))

    def processes(self) -> list[int]:
        """Return the ids of all processes that it started, itself among them; those that have ended are left out."""
        return [int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit() and self._started(one)]

    def _started(self, process: Path) -> bool:
        try:
            is_dead = process.joinpath("stat").read_text().rpartition(")")[2].split()[0] == "Z"
            return not is_dead and self.marked.encode() in process.joinpath("environ").read_bytes()
        except OSError:  # it ended, or is of another user
            return False

    def kill(self) -> None:
        """End it as a lack of memory or power would: at once."""
        self.process.kill()
        self.process.wait(timeout=60)

    def stop(self) -> None:
        """End it as a service manager would."""
        self.process.terminate()
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.kill()


def tracebacks(log: Path) -> int:
    """Return how many tracebacks a log holds."""
    return log.read_text(errors="replace").count("Traceback (most recent call last)")


class Session:
    """A session of a visitor; ``buttons`` are the ids of those that its pages have shown, by their key."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self.buttons: dict[str, str] = {}

    def ask(self, page: str, query: str = "", pressed: str = "") -> None:
        """Open a page; ``pressed``: key of a button of it that is clicked."""
        asked = BackMsg()
        asked.rerun_script.page_name, asked.rerun_script.query_string = page, query
        if pressed:
            state = asked.rerun_script.widget_states.widgets.add()
            state.id, state.trigger_value = self.buttons[pressed], True
        self._socket.send(asked.SerializeToString())

    def wait(self, timeout_s: float) -> bool:
        """Return whether the script came to its end in time: a page that follows work goes on while that does."""
        until_s = time.monotonic() + timeout_s
        while (left_s := until_s - time.monotonic()) > 0:
            try:
                content = self._socket.recv(timeout=left_s)
            except TimeoutError:
                return False
            message = ForwardMsg()
            message.ParseFromString(content)
            kind = message.WhichOneof("type")
            if kind == "delta" and message.delta.new_element.WhichOneof("type") == "button":
                button = message.delta.new_element.button.id
                self.buttons[button.split("-", 2)[-1]] = button
            if kind == "script_finished" and message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                return True
        return False


@contextmanager
def session(port: int) -> Iterator[Session]:
    """Give a new session of the app at a port of this machine; closing it does not wait for the rest of an answer."""
    with connect(f"ws://127.0.0.1:{port}/_stcore/stream", max_size=None, close_timeout=0.1) as socket:
        yield Session(socket)
