"""A walk along a queue. Jobs are rows and kinds, room is what ``take`` says."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dlsched.domain.workload import Ints

Take = Callable[[int], bool]


def first_fit(rows: Ints, kinds: Ints, take: Take, *, blocking: bool = False) -> list[int]:
    """Return the rows taken, offered in order.

    ``take(row)`` takes room and says whether there was any. Room only shrinks on a walk, so once a kind has
    failed its later rows are not tried. A blocking walk stops at the first failure.
    """
    taken: list[int] = []
    open_ = np.ones(len(rows), dtype=bool)
    at = 0
    while at < len(rows):
        row = int(rows[at])
        if take(row):
            taken.append(row)
        elif blocking:
            break
        else:
            open_[kinds == kinds[at]] = False
        step = int(open_[at + 1 :].argmax()) if at + 1 < len(rows) else 0
        at += 1 + step
        if at < len(rows) and not open_[at]:
            break
    return taken
