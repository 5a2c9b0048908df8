"""The cores of the list policies: walks along a queue. Jobs are rows and kinds, room is what ``take`` says."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from enum import Enum, auto

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.workload import Ints

Take = Callable[[int], bool]


def walk(rows: Ints, kinds: Ints, take: Take, *, blocking: bool = False) -> list[int]:
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


class Beside(Enum):
    """What became of a job that was offered for backfill."""

    TAKEN = auto()
    NO_ROOM = auto()
    IN_THE_WAY = auto()


def walk_beside(rows: Ints, kinds: Ints, surely_late: NDArray[np.bool_], offer: Callable[[int], Beside]) -> list[int]:
    """Return the rows that backfill takes, offered in order (EASY).

    ``surely_late`` marks rows that end after the head's shadow time on any node. Of a kind that was in the
    head's way, only the others are tried, until somebody was taken: then the rule may pick other nodes.
    """
    taken: list[int] = []
    no_room: set[int] = set()
    in_the_way: set[int] = set()
    for row, kind, late in zip(rows.tolist(), kinds.tolist(), surely_late.tolist(), strict=True):
        if kind in no_room or (late and kind in in_the_way):
            continue
        outcome = offer(row)
        if outcome is Beside.TAKEN:
            taken.append(row)
            in_the_way.clear()
        else:
            (no_room if outcome is Beside.NO_ROOM else in_the_way).add(kind)
    return taken


def walk_fairly(
    queues: Mapping[str, Ints], shares: Mapping[str, float], share_of: Callable[[int], float], take: Take
) -> list[int]:
    """Return the rows taken when the user with the lowest dominant share is always served next (DRF).

    Parameters
    ----------
    queues
        Rows of each user in submission order; a row that does not fit is passed over.
    shares
        Dominant share each user holds already.
    share_of
        Dominant share of one row; it is added when the row is taken. Ties go to the earlier row.
    """
    taken: list[int] = []
    waiting = {user: iter(rows.tolist()) for user, rows in queues.items()}
    heap = [(shares.get(user, 0.0), next(rows), user) for user, rows in waiting.items()]
    heapq.heapify(heap)
    while heap:
        share, row, user = heapq.heappop(heap)
        if take(row):
            taken.append(row)
            share += share_of(row)
        following = next(waiting[user], None)
        if following is not None:
            heapq.heappush(heap, (share, following, user))
    return taken
