"""How far a task is, and whether somebody wants it to stop: what a worker says and hears while it computes."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from dlsched.sim.simulate import Cancelled


class Channel(Protocol):
    """The way between a worker and who asked; it travels with the task. ``every_s``: how often to use it at most."""

    every_s: ClassVar[float]

    def tell(self, task_id: str, share: float, text: str) -> None:
        """Say what share is done, from 0 to 1, and what is being done."""
        ...

    def is_cancelled(self, task_id: str) -> bool:
        """Whether the task has to stop."""
        ...


@dataclass(frozen=True)
class FileChannel:
    """Small files in a folder that both sides see.

    They need no third process, cost microseconds, and cannot block either side.
    """

    folder: Path
    every_s: ClassVar[float] = 0.1

    def tell(self, task_id: str, share: float, text: str) -> None:
        """See :class:`Channel`."""
        # Progress is a courtesy: a full disk must not end a run.
        with contextlib.suppress(OSError):
            path = progress_file(self.folder, task_id)
            part = path.with_suffix(".part")
            part.write_text(f"{share:.6f}\t{text}", encoding="utf-8")
            os.replace(part, path)

    def is_cancelled(self, task_id: str) -> bool:
        """See :class:`Channel`."""
        return cancel_file(self.folder, task_id).exists()


class Reporter:
    """Progress of one task, not more often than its channel likes; raises Cancelled when it has to stop."""

    def __init__(self, channel: Channel, task_id: str) -> None:
        self._channel, self._task_id = channel, task_id
        self._last_s = -channel.every_s

    def __call__(self, share: float, text: str) -> None:
        """Note the share done and what is being done."""
        now_s = time.monotonic()
        if now_s - self._last_s < self._channel.every_s:
            return
        self._last_s = now_s
        self.force(share, text)

    def force(self, share: float, text: str) -> None:
        """Note it now."""
        if self._channel.is_cancelled(self._task_id):
            raise Cancelled
        self._channel.tell(self._task_id, share, text)


def progress_file(folder: Path, task_id: str) -> Path:
    """Return the file that holds share and text."""
    return folder / f"{task_id}.progress"


def cancel_file(folder: Path, task_id: str) -> Path:
    """Return the file whose being there means: stop."""
    return folder / f"{task_id}.cancel"


def read_progress(folder: Path, task_id: str) -> tuple[float, str]:
    """Return (share done, text) of a task; (0, "") before its first word."""
    try:
        share, text = progress_file(folder, task_id).read_text(encoding="utf-8").split("\t", 1)
        return float(share), text
    except (OSError, ValueError):
        return 0.0, ""
