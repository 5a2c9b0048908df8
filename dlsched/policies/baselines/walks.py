"""The cores of the list policies: walks along a queue. Jobs are rows and kinds, room is what ``take`` says."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from enum import Enum, auto

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.workload import Ints
from dlsched.policies.shared.first_fit import Take


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


def walk_fairly(rows: Ints, users: Ints, kinds: Ints, share_of: Callable[[int], float], take: Take) -> list[int]:
    """Return the rows taken when the user with the lowest dominant share is always served next (DRF).

    Parameters
    ----------
    rows, users, kinds
        Waiting rows in submission order, their users, and their kinds. A row that does not fit is passed over;
        room only shrinks, so once a kind has failed its later rows are not tried.
    share_of
        Dominant share of a user now; ``take`` changes it. Ties go to the earlier row.
    """
    taken: list[int] = []
    by_user = np.argsort(users, kind="stable")
    first = np.flatnonzero(np.diff(users[by_user], prepend=-1))
    queues = {int(users[places[0]]): places for places in np.split(by_user, first[1:]) if len(places)}
    open_ = np.ones(len(rows), dtype=bool)
    heap = [(share_of(user), int(places[0]), 0, user) for user, places in queues.items()]
    heapq.heapify(heap)
    while heap:
        share, place, at, user = heapq.heappop(heap)
        if open_[place]:
            if take(int(rows[place])):
                taken.append(int(rows[place]))
                share = share_of(user)
            else:
                open_[kinds == kinds[place]] = False
        behind = open_[queues[user][at + 1 :]]
        step = int(behind.argmax()) if len(behind) else 0
        if len(behind) and behind[step]:
            at += 1 + step
            heapq.heappush(heap, (share, int(queues[user][at]), at, user))
    return taken
