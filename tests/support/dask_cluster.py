"""A Dask scheduler and workers, real processes over TCP on this machine, for tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_QUIET = {"DASK_LOGGING__DISTRIBUTED": "error", "DASK_DISTRIBUTED__WORKER__MEMORY__TERMINATE": "False"}
_UNTIL_UP_S = 30.0


class Cluster:
    """Processes of a cluster, ended at the end of the block."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workers: list[subprocess.Popen[bytes]] = []
        self._file = folder / "scheduler.json"
        options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--dashboard-address", "127.0.0.1:0")
        self.scheduler = self._run("dask_scheduler", *options, "--scheduler-file", str(self._file))
        self.address = self._address()

    def add_worker(self, *options: str, path: Path = ROOT) -> subprocess.Popen[bytes]:
        """Start a worker that finds packages in ``path``; with one thread and no supervisor unless options say else."""
        taken = ("--no-dashboard", "--host", "127.0.0.1", "--local-directory", str(self.folder), *options)
        threads = () if "--nthreads" in options else ("--nthreads", "1")
        watched = () if "--nanny" in options else ("--no-nanny",)
        self.workers.append(self._run("dask_worker", self.address, *threads, *watched, *taken, path=path))
        return self.workers[-1]

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        for process in (*self.workers, self.scheduler):
            process.terminate()
        for process in (*self.workers, self.scheduler):
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _run(self, what: str, *options: str, path: Path = ROOT) -> subprocess.Popen[bytes]:
        environment = os.environ | _QUIET | {"PYTHONPATH": str(path)}
        with (self.folder / "log.txt").open("ab") as log:
            command: list[Any] = [sys.executable, "-m", f"distributed.cli.{what}", *options]
            return subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=self.folder)

    def _address(self) -> str:
        end = time.monotonic() + _UNTIL_UP_S
        while time.monotonic() < end and self.scheduler.poll() is None:
            try:
                address: str = json.loads(self._file.read_text())["address"]
                return address
            except (OSError, ValueError):
                time.sleep(0.05)
        raise RuntimeError(f"no scheduler: {(self.folder / 'log.txt').read_text()}")
