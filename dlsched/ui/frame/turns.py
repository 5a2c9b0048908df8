"""Pages of different sessions are computed one after the other, in the order in which they were asked for."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE_S = 1.0
"""How long a page computes before the next one begins beside it: more than twice what a usual page needs."""
LOOK_EVERY_S, SELDOM_S, SLOWER = 0.3, 1.5, 1.1
"""How often a page that follows work looks at first, how often at last, and how it gets from one to the other."""


def pauses_s() -> Iterator[float]:
    """Yield the pauses between the looks of a page that follows work: short work is followed closely."""
    pause_s = LOOK_EVERY_S
    while True:
        yield pause_s
        pause_s = min(SELDOM_S, pause_s * SLOWER)


class Turns:
    """The line of the threads of this process that compute pages.

    Python computes in one thread at a time: ten pages that are built at once all end late, and need half as much time
    again to hand over to each other. A thread that computes for longer than ``patience_s`` keeps no other waiting.
    """

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._changed = threading.Condition()
        self._line: deque[int] = deque()
        self._turns: set[int] = set()
        self._latest, self._next_from_s = 0, 0.0

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for this thread's turn, and end it on leaving."""
        self._take()
        try:
            yield
        finally:
            self._end()

    def sleep(self, seconds: float) -> None:
        """Let others compute meanwhile, where this thread has a turn, and wait for another turn afterwards."""
        if threading.get_ident() not in self._turns:
            time.sleep(seconds)
            return
        self._end()
        try:
            time.sleep(seconds)
        finally:
            self._take()

    def _take(self) -> None:
        thread = threading.get_ident()
        with self._changed:
            self._line.append(thread)
            while self._line[0] != thread:
                self._changed.wait()
            while (left_s := self._next_from_s - time.monotonic()) > 0:
                self._changed.wait(left_s)
            self._line.popleft()
            self._turns.add(thread)
            self._latest, self._next_from_s = thread, time.monotonic() + self._patience_s
            self._changed.notify_all()

    def _end(self) -> None:
        thread = threading.get_ident()
        with self._changed:
            self._turns.discard(thread)
            if self._latest == thread:
                self._next_from_s = 0.0
                self._changed.notify_all()


TURNS = Turns()
"""The line of all pages of this server."""
