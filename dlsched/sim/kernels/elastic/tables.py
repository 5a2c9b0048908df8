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
        ("held", "i8"),  # workers now, on the nodes of its shares
        ("first_share", "i8"),
        ("num_shares", "i8"),
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
        ("workers", "i8"),
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
    CAPACITY = 7  # workers of all nodes


class Spots(NamedTuple):
    """What nodes that hold several workers need beside the rest of a run; a loop of whole nodes has no use for it.

    ``placement`` the rule, -1 where each node holds one worker. ``kind`` and ``alike`` (jobs,): jobs with equal numbers
    fail together, at one width and at any. ``failed`` (kinds, widths) and ``closed`` (alike,) hold the number of the
    decision and of the offer in which they failed last; ``stamps`` are the latest of both. ``efficient[first[c]:]`` are
    the efficient widths of curve ``c``, rising. ``pick`` and ``pick_workers`` (nodes,) are the latest placement.

    Of the active jobs, (jobs,): ``width`` from now on, -1 = as before, on ``num_shares`` shares from ``first_share``.
    ``left`` = (free workers,).
    """

    placement: int
    kind: NDArray[np.int64]
    alike: NDArray[np.int64]
    failed: NDArray[np.int64]
    closed: NDArray[np.int64]
    stamps: NDArray[np.int64]
    efficient: NDArray[np.int64]
    first: NDArray[np.int64]
    pick: NDArray[np.int64]
    pick_workers: NDArray[np.int64]
    width: NDArray[np.int64]
    first_share: NDArray[np.int64]
    num_shares: NDArray[np.int64]
    left: NDArray[np.int64]


class Lines(NamedTuple):
    """Who waits behind another job of its chunk, out of the active rows, and how large chunks must be.

    ``first`` (chunks,) is the first row of a chunk's heap, -1 = no job is behind; ``left`` and ``right`` (jobs,) the
    heaps below a row. ``need`` (curves,) is the place in ``needs``, rising, of the smallest width a job can do with,
    and ``unfinished`` (needs,) how many jobs in the system need it; a width of 0 is no job's.
    """

    first: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    need: NDArray[np.int64]
    needs: NDArray[np.int64]
    unfinished: NDArray[np.int64]


class Run(NamedTuple):
    """All arrays of a run. ``clock`` = (now,), seconds.

    ``rates`` (curves, workers + 1): true work per second, where ``curves`` is what the policy believes. ``active`` the
    active rows in source order, under JSQ-Chunk without those in ``lines``; ``ask``, ``queues`` and ``answer`` are one
    decision about them. ``most`` (curves,)
    workers that a decision gives at most. ``room`` and ``free`` (nodes,) workers that a node holds, and could take now.
    ``shares`` are nodes, with ``share_workers`` on each.
    """

    jobs: Table
    rates: NDArray[np.float64]
    active: NDArray[np.int64]
    most: NDArray[np.int64]
    room: NDArray[np.int64]
    free: NDArray[np.int64]
    ask: Jobs
    queues: Queues
    answer: Answer
    rule: Rule
    curves: Curves
    pieces: Table
    shares: NDArray[np.int64]
    share_workers: NDArray[np.int64]
    decisions: Table
    waits: Table
    counts: NDArray[np.int64]
    clock: NDArray[np.float64]
    spots: Spots
    lines: Lines
