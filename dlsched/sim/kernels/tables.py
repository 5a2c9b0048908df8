"""The arrays a kernel works on: one record array a table, one named tuple of all. No numba here."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

JOB = np.dtype(
    [
        ("submit_s", "f8"),
        ("work", "f8"),
        ("believed", "f8"),
        ("key", "f8"),  # what the queue is sorted by, as of the last decision about the job
        ("done", "f8"),  # work done and GPU-seconds held when the running piece began
        ("attained", "f8"),
        ("start_s", "f8"),  # of the running piece
        ("finish_s", "f8"),
        ("end_s", "f8"),
        ("gpus", "i8"),
        ("first_share", "i8"),
        ("num_shares", "i8"),
        ("status", "u1"),
        ("reason", "u1"),
        ("stopped", "u1"),  # stopped by the policy and not running since
        ("selected", "u1"),
        ("running", "u1"),
        ("is_bug", "u1"),
    ],
    align=True,
)
NODE = np.dtype(
    [
        ("capacity", "i8"),
        ("free", "i8"),
        ("shadow", "i8"),  # free GPUs when the head of an EASY queue can start
        ("pick", "i8"),  # the latest placement: nodes and workers
        ("pick_workers", "i8"),
        ("trial", "i8"),  # the same for placements that are only tried
        ("trial_workers", "i8"),
    ]
)
SIZE = np.dtype([("failed", "i8"), ("in_the_way", "i8"), ("fits", "i8")])
PIECE = np.dtype(
    [
        ("row", "i8"),
        ("start_s", "f8"),
        ("end_s", "f8"),
        ("first_share", "i8"),
        ("num_shares", "i8"),
        ("end", "i8"),
    ]
)
SHARE = np.dtype([("node", "i8"), ("workers", "i8")])
DECISION = np.dtype([("time_s", "f8"), ("cause", "i8")])
WAIT = np.dtype([("row", "i8"), ("from_s", "f8"), ("reason", "i8")])
RULE = np.dtype(
    [
        ("placement", "i8"),
        ("blocking", "i8"),
        ("preemptive", "i8"),
        ("backfill", "i8"),
        ("key", "i8"),
        ("speed", "f8"),
        ("quantum_s", "f8"),  # 0 = none
    ]
)
Table = Any
"""A numpy record array; its fields are known to numba, not to the type checker."""

NOT_SAID = 255
"""Reason of a job that has not been told why it waits."""


class Key(IntEnum):
    """Keys that change while a job runs; every other is fixed at submission."""

    FIXED = 0
    REMAINING = 1
    ATTAINED = 2
    QUEUE = 3


class Placement(IntEnum):
    """Placement rules by number."""

    POOL = 0
    BEST_FIT = 1
    PACK = 2
    SPREAD = 3


class Count(IntEnum):
    """Entries of ``Run.counts``."""

    SUBMITTED = 0
    ENDED = 1
    RUNNING = 2
    HEAD = 3  # the queue is waiting[HEAD:TAIL]
    TAIL = 4
    FREE = 5
    STAMP = 6  # number of the decision, and of the starts in it: what SIZE remembers is valid for one number
    LAST_HEAD = 7
    PIECES = 8
    SHARES = 9
    DECISIONS = 10
    WAITS = 11


class Outcome(IntEnum):
    """Why the kernel returned."""

    MORE = 0
    DONE = 1
    FULL = 2


class Run(NamedTuple):
    """All arrays of a run. ``clock`` = (now, next alarm), seconds. ``sizes`` is indexed by a job's GPUs.

    In a run without preemption ``running`` is a heap by finish; in one with preemption it is sorted by key.
    """

    jobs: Table
    nodes: Table
    sizes: Table
    waiting: NDArray[np.int64]
    running: NDArray[np.int64]
    merged: NDArray[np.int64]
    pieces: Table
    shares: Table
    decisions: Table
    waits: Table
    counts: NDArray[np.int64]
    clock: NDArray[np.float64]
    rule: Table
    bounds_gpu_s: NDArray[np.float64]
