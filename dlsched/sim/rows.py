"""A sorted set of row numbers in one numpy buffer."""

from __future__ import annotations

import numpy as np

from dlsched.domain.workload import Ints


class SortedRows:
    """Row numbers, ascending; adding at the end and reading are cheap however many jobs have finished."""

    __slots__ = ("_buffer", "_count")

    def __init__(self) -> None:
        self._buffer = np.zeros(64, dtype=np.int64)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def array(self) -> Ints:
        """Return a copy of the rows."""
        return self._buffer[: self._count].copy()

    def add(self, row: int) -> None:
        """Insert a row that is not there."""
        count = self._count
        if count == len(self._buffer):
            self._buffer = np.concatenate([self._buffer, np.zeros(count, dtype=np.int64)])
        buffer = self._buffer
        if count and buffer[count - 1] > row:
            place = int(buffer[:count].searchsorted(row))
            buffer[place + 1 : count + 1] = buffer[place:count]
            buffer[place] = row
        else:
            buffer[count] = row
        self._count = count + 1

    def remove(self, row: int) -> None:
        """Take out a row that is there."""
        count, buffer = self._count, self._buffer
        place = int(buffer[:count].searchsorted(row))
        buffer[place : count - 1] = buffer[place + 1 : count]
        self._count = count - 1
