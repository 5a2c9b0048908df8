"""Processes that have a store open and write runs: one that serves it, as the app does, and commands."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

SERVES = """
import sys, time
from dlsched.domain.actor import Actor
from dlsched.store import Store
from dlsched.store.server import StoreServer
from tests.support.runs_for_store import record, small_scenario
path, serves, every_s, seed = sys.argv[1], sys.argv[2] == "yes", float(sys.argv[3]), int(sys.argv[4])
store = Store(path, wait_s=10)
server = StoreServer(store, lambda name: Actor(name, may_write=name != "rita")) if serves else None
scenario = small_scenario(300, name="of the app")
print("open", flush=True)
while every_s:
    print(store.save_run(record(scenario, seed=seed)), flush=True)
    seed += 1
    time.sleep(every_s)
for line in sys.stdin:
    pass
"""
"""Ends when its standard input does."""


COMMAND = """
import sys
from dlsched.domain.actor import Actor
from dlsched.store.client import open_store
from tests.support.runs_for_store import record, small_scenario
scenario = small_scenario(300, name="of a command")
with open_store(sys.argv[1], Actor("ann"), writes=True) as store:
    print("open", flush=True)
    for seed in range(int(sys.argv[2]), 10**6):
        print(store.save_run(record(scenario, seed=seed)), flush=True)
"""
"""Saves runs until it is killed."""


class Writer:
    """A process that says which runs it saved: ``kept`` are their ids, as far as they were read."""

    def __init__(self, code: str, *args: object) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, args)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": "."},
        )
        self.kept: list[str] = []
        assert self._output().readline() == "open\n"

    def _output(self) -> IO[str]:
        assert self.process.stdout is not None
        return self.process.stdout

    def next_run(self) -> None:
        """Wait until it has saved one more run."""
        line = self._output().readline()
        assert line
        self.kept.append(line.strip())

    def kill(self) -> list[str]:
        """End it the hard way and return all that it had said."""
        self.process.kill()
        self.kept += [line.strip() for line in self._output() if line.endswith("\n")]
        self.close()
        return self.kept

    def close(self) -> None:
        """End it as a server ends: one that writes no runs waits for the end of its input."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        self.process.wait(30)


def an_app(path: Path, *, serves: bool = True, every_s: float = 0.0, seed: int = 1000) -> Writer:
    """Start a process that has the store; ``every_s``: how often it saves a run, 0 for never."""
    return Writer(SERVES, path, "yes" if serves else "no", every_s, seed)


def a_command(path: Path, seed: int) -> Writer:
    """Start a command that saves runs from this seed on."""
    return Writer(COMMAND, path, seed)


@contextmanager
def held(path: Path, *, serves: bool = True, every_s: float = 0.0) -> Iterator[Writer]:
    """Give a process that has the store, and end it."""
    app = an_app(path, serves=serves, every_s=every_s)
    try:
        yield app
    finally:
        if app.process.poll() is None:
            if every_s:
                app.process.kill()
            app.close()
