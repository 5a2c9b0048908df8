"""What the compiled cycle reads and fills in, as records: nodes of the tree, running and waiting jobs, heads."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from dlsched.policies.queue_tree.cycle import Outcome
from dlsched.policies.queue_tree.jobs import Reason

_COUNTING: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": True}
compiled = njit(**_COUNTING)
"""Arrays that are made inside are counted, also where the caller is compiled without that."""

NEVER, LOWER, LOWER_OR_NEWER_EQUAL, ANY = range(4)
POLICIES = ("never", "lower", "lower-or-newer-equal", "any")
IN_QUEUE, RECLAIMS, WHILE_BORROWING, FAIR_SHARE = range(4)
REASONS: tuple[Reason, ...] = ("in-queue", "reclaim", "reclaim-while-borrowing", "fair-share")
ADMITTED, WAITS_FOR_VICTIMS, LOST_RACE, NO_ROOM, NO_FITTING, NO_VICTIMS = range(6)
OUTCOMES: tuple[Outcome, ...] = ("admitted", "waits_for_victims", "lost_race", "no_room", "no_fit", "no_victims")
NO_LIMIT = -1

NODE = np.dtype(
    [
        (name, np.int64)
        for name in (
            "used", "pool", "kept", "nominal", "borrow", "most", "lendable", "known", "weight_num", "weight_den",
            "parent", "root", "depth", "height", "first_child", "next_child", "is_queue",
            "within", "reclaim", "while_borrowing", "strict",
        )
    ]
    + [("highest", np.float64)]
)  # fmt: skip
"""A node of the tree; names as in ``Tree`` and ``QueueRules``. -1: no limit, no parent, no child."""

RUN = np.dtype(
    [(name, np.int64) for name in ("row", "queue", "amount", "leaving", "gone", "shielded")]
    + [(name, np.float64) for name in ("priority", "order_s", "start_s")]
)
"""A running job; ``shielded``: it must not be stopped. Sorted by priority, later start, row."""

WAIT = np.dtype(
    [(name, np.int64) for name in ("row", "place", "kind", "queue", "amount", "allowed", "preemptor")]
    + [(name, np.float64) for name in ("priority", "order_s")]
)
"""A waiting job; ``place`` of its queue and ``kind`` as in ``Rooms``; ``allowed``: it may have the flavor."""

ENTRY = np.dtype([(name, np.int64) for name in ("kind", "borrow", "outcome", "room", "victims", "told")])
"""What became of it. ``kind``: grade as in ``flavors``; ``room``: whether nodes have room, -1 = not asked yet.

``victims``: jobs that must stop as seen at first, ``told``: in the end.
"""


class CycleRules(NamedTuple):
    """The rules of the whole tree that a cycle knows; ``initial``: the first strategy is ``initial-share``."""

    fair_sharing: bool
    initial: bool
    two_strategies: bool
    by_priority: bool
    retarget: bool
    preemptor_first: bool
