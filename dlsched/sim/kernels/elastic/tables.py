"""The arrays of an elastic run: one record array a table, one named tuple of all. No numba here."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.policies.elastic_queueing.kernels.tables import Answer, Curves, Jobs, Queues, Rule
from dlsched.sim.kernels.tables import Table

JOB = np.dtype(
    [
        ("submit_s", "f8"),
        ("work", "f8"),
        ("believed", "f8"),
        ("done", "f8"),  # as of start_s
        ("start_s", "f8"),  # of the running piece
        ("finish_s", "f8"),  # infinity where it does not run
        ("end_s", "f8"),
        ("rate", "f8"),  # 0 where it does not run
        ("curve", "i8"),
        ("held", "i8"),  # nodes held now: entries first_share.. of the shares
        ("first_share", "i8"),
        ("fixed", "i8"),  # width of the first start, 0 = never started
        ("chunk", "i8"),
        ("piece", "i8"),  # the latest piece of the log, -1 = none
        ("status", "u1"),
        ("reason", "u1"),
        ("is_bug", "u1"),
        ("twice", "u1"),  # changed twice at one instant: a piece without length came after the latest of the log
    ],
    align=True,
)
PIECE = np.dtype(
    [
        ("row", "i8"),
        ("start_s", "f8"),
        ("end_s", "f8"),
        ("rate", "f8"),
        ("first_share", "i8"),
        ("num_shares", "i8"),
        ("end", "i8"),
    ]
)


class Count(IntEnum):
    """Entries of ``Run.counts``."""

    SUBMITTED = 0
    ENDED = 1
    ACTIVE = 2
    PIECES = 3
    SHARES = 4
    DECISIONS = 5
    WAITS = 6


class Run(NamedTuple):
    """All arrays of a run. ``clock`` = (now,), seconds.

    ``rates`` (curves, nodes + 1): true work per second, where ``curves`` is what the policy believes. ``active`` the
    active rows in source order; ``ask``, ``queues`` and ``answer`` are one decision about them. ``free`` (nodes,) is 1
    where there is none. ``shares`` are nodes: a job holds one worker on each.
    """

    jobs: Table
    rates: NDArray[np.float64]
    active: NDArray[np.int64]
    free: NDArray[np.int64]
    ask: Jobs
    queues: Queues
    answer: Answer
    rule: Rule
    curves: Curves
    pieces: Table
    shares: NDArray[np.int64]
    decisions: Table
    waits: Table
    counts: NDArray[np.int64]
    clock: NDArray[np.float64]
