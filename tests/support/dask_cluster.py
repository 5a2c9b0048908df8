"""A Dask scheduler and workers, real processes over TCP on this machine, for tests."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import distributed

from dlsched.runner.dask_worker import identity
from tests.support.waiting import until

ROOT = Path(__file__).resolve().parents[2]
_QUIET = {"DASK_LOGGING__DISTRIBUTED": "error", "DASK_DISTRIBUTED__WORKER__MEMORY__TERMINATE": "False"}
_UNTIL_UP_S = 180.0


def snapshot(folder: Path) -> Path:
    """Return a folder with the package as it is now: who edits it while tests run does not make workers differ."""
    shutil.copytree(ROOT / "dlsched", folder / "dlsched")  # with its compiled code
    identity.cache_clear()
    identity()
    for name in ("tests", "data"):
        (folder / name).symlink_to(ROOT / name)
    return folder


def without_dlsched(folder: Path) -> Path:
    """Return a folder where workers find no dlsched, even if it is installed."""
    hides = folder / "nothing" / "dlsched"
    hides.mkdir(parents=True)
    (hides / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'dlsched'\", name='dlsched')\n")
    return hides.parent


class Cluster:
    """Processes of a cluster, ended at the end of the block.

    Parameters
    ----------
    folder
        Where they write.
    code
        Where workers find the package, see :func:`snapshot`.
    tls
        Options of scheduler and workers that name certificates, "--tls-ca-file" and so on.
    settings
        Variables of their environment.
    """

    def __init__(self, folder: Path, code: Path, tls: Sequence[str] = (), **settings: str) -> None:
        self.folder, self.code, self._tls, self._settings = folder, code, tls, settings
        self.workers: list[subprocess.Popen[bytes]] = []
        self.file = folder / "scheduler.json"
        where = "tls://127.0.0.1" if tls else "127.0.0.1"
        options = ("--host", where, "--port", "0", "--no-dashboard", "--dashboard-address", "127.0.0.1:0", *tls)
        self.scheduler = self._run("dask_scheduler", *options, "--scheduler-file", str(self.file))
        self.address = self._address()

    def add_worker(self, *options: str, code: Path | None = None, nanny: bool = False) -> subprocess.Popen[bytes]:
        """Start a worker with this code, and one thread unless options say else; only a nanny restarts it."""
        taken = ("--no-dashboard", "--host", "127.0.0.1", "--local-directory", str(self.folder), *self._tls, *options)
        threads = () if "--nthreads" in options else ("--nthreads", "1")
        alone = () if nanny else ("--no-nanny",)
        self.workers.append(self._run("dask_worker", self.address, *alone, *threads, *taken, code=code))
        return self.workers[-1]

    def wait_for(self, workers: int) -> None:
        """Wait until so many workers are there."""
        connect: Any = distributed.Client
        with connect(self.address, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=_UNTIL_UP_S)

    def wait_for_work(self) -> None:
        """Wait until a worker computes something."""
        connect: Any = distributed.Client
        with connect(self.address, set_as_default=False) as client:
            until(lambda: any(client.processing().values()))

    @contextmanager
    def worker_for_now(self, *options: str, code: Path | None = None) -> Iterator[None]:
        """Have one worker, and none afterwards."""
        worker = self.add_worker(*options, code=code)
        self.wait_for(1)
        yield
        worker.kill()
        worker.wait()
        connect: Any = distributed.Client
        with connect(self.address, set_as_default=False) as client:
            while client.nthreads():
                time.sleep(0.02)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()

    def _run(self, what: str, *options: str, code: Path | None = None) -> subprocess.Popen[bytes]:
        environment = os.environ | _QUIET | self._settings | {"PYTHONPATH": str(code or self.code)}
        with (self.folder / "log.txt").open("ab") as log:
            command: list[Any] = [sys.executable, "-m", f"distributed.cli.{what}", *options]
            return subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=self.folder)

    def _address(self) -> str:
        end = time.monotonic() + _UNTIL_UP_S
        while time.monotonic() < end and self.scheduler.poll() is None:
            try:
                address: str = json.loads(self.file.read_text())["address"]
                return address
            except (OSError, ValueError):
                time.sleep(0.05)
        raise RuntimeError(f"no scheduler: {(self.folder / 'log.txt').read_text()}")


def without_cpu(answer: Any) -> Any:
    """Return an answer without the seconds its decisions took."""
    if isinstance(answer, dict):
        return {key: without_cpu(value) for key, value in answer.items() if "cpu" not in key}
    return [without_cpu(value) for value in answer] if isinstance(answer, list) else answer
