"""The arrays of a compiled run under quotas. No numba here.

What the cycles read is described in :mod:`dlsched.policies.queue_tree.kernels.tables`, and room on nodes in
:mod:`dlsched.sim.kernels.rigid.tables`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.workload import Ints
from dlsched.sim.kernels.rigid.tables import NUM_RESOURCES
from dlsched.sim.kernels.tables import Table

JOB = np.dtype(
    [
        ("submit_s", "f8"),
        ("work", "f8"),
        ("done", "f8"),  # work done when the running piece began
        ("start_s", "f8"),  # of the running piece, which makes progress from progress_from_s on
        ("progress_from_s", "f8"),
        ("speed", "f8"),
        ("finish_s", "f8"),
        ("end_s", "f8"),
        ("order_s", "f8"),  # by which it is ordered in its queue
        ("kind", "i8"),  # jobs of a kind fit on the nodes or do not together
        ("lane", "i8"),
        ("first_share", "i8"),
        ("num_shares", "i8"),
        ("admission", "i8"),  # number of the latest one
        ("leaving", "i8"),  # number among those that were told to leave; -1 = it is not leaving
        ("stops", "i8"),  # how often it was told to leave, in all and in the decision ``stops_in``
        ("stops_at_once", "i8"),
        ("stops_in", "i8"),
        ("outcome", "i8"),  # of its latest cycle, in the decision ``seen_in``
        ("seen_in", "i8"),
        ("no_room", "i8"),  # why nodes had no room when they were last asked
        ("code", "i8"),  # why it waits, as the decision ``said_in`` says
        ("said_in", "i8"),
        ("status", "u1"),
        ("reason", "u1"),
        ("state", "u1"),
        ("in_ends", "u1"),  # a note while the heap of ends is cleared
        ("borrows", "u1"),  # it held more than the nominal quota of its queue when it was admitted last
        ("is_bug", "u1"),
    ],
    align=True,
)
LANE = np.dtype(
    [
        ("begin", "i8"),  # the jobs that wait, in order: lane_rows[begin : begin + count]
        ("count", "i8"),
        ("place", "i8"),  # of the queue in the tree's list of queues
        ("number", "i8"),  # among the lanes of its queue
        ("queue", "i8"),  # the node of the tree
        ("amount", "i8"),
        ("allowed", "i8"),  # it may have the flavor
        ("too_large", "i8"),  # for what its queue can ever hold
        ("code", "i8"),  # why its jobs wait since they were parked; NOT_SAID = nothing was said
        ("priority", "f8"),
    ]
)
"""Jobs alike of a queue: they are parked together."""
END = np.dtype([("key", "f8"), ("row", "i8")])
STOP = np.dtype([("row", "i8"), ("for_row", "i8"), ("reason", "i8")])
LEAVING = np.dtype([("row", "i8"), ("at_s", "f8")])
PIECE = np.dtype(
    [
        ("row", "i8"),
        ("start_s", "f8"),
        ("progress_from_s", "f8"),
        ("end_s", "f8"),
        ("speed", "f8"),
        ("lost_work", "f8"),
        ("first_share", "i8"),
        ("num_shares", "i8"),
        ("end", "i8"),
    ]
)
ENTRY = np.dtype(
    [
        ("time_s", "f8"),
        ("what", "i8"),
        ("row", "i8"),
        ("queue", "i8"),  # nodes of the tree: of the row, and of the lender or of the job it is stopped for; -1 = none
        ("other_queue", "i8"),
        ("amount", "i8"),  # held, or the row that it is stopped for
        ("borrowed", "i8"),
        ("number", "i8"),  # height of the lender, or reason of the stop
    ]
)
"""An entry of the journal, see :class:`What`."""
RULE = np.dtype(
    [
        ("limited", "i8", (NUM_RESOURCES,)),
        ("placement", "i8"),
        ("whole_amounts", "i8"),
        ("restart_s", "f8"),
        ("checkpoint_s", "f8"),
        ("loses", "i8"),
        ("stop_s", "f8"),
        ("horizon_s", "f8"),
        ("stalled", "i8"),
    ]
)


class What(IntEnum):
    """What an entry of the journal tells."""

    HELD = 0
    FREED = 1
    TOLD = 2
    EVICTED = 3


class Loses(IntEnum):
    """Work that a stopped job loses."""

    NOTHING = 0
    CHECKPOINT = 1
    ALL = 2


LOSES = {"nothing": Loses.NOTHING, "checkpoint": Loses.CHECKPOINT, "all": Loses.ALL}


class Job(IntEnum):
    """What a job is doing. ADMITTED: it starts at the end of the decision."""

    ABSENT = 0
    WAITS = 1
    ADMITTED = 2
    RUNS = 3


class Count(IntEnum):
    """Entries of ``Run.counts``."""

    SUBMITTED = 0
    ENDED = 1
    RUNNING = 2
    HELD = 3  # jobs that hold quota: the first of ``runs``
    ENDS = 4
    ADMISSIONS = 5
    FIRST_LEAVING = 6  # numbers of those that were told to leave; in ``leaving`` modulo its length
    PAST_LEAVING = 7
    WIDTH = 8  # most shares of all active jobs
    PIECES = 9
    SHARES = 10
    DECISIONS = 11
    WAITS = 12
    JOURNAL = 13
    DUE = 14  # lists of one decision: rows in ``due``, ``seen``, ``fresh``, ``admitted``, ``evicted`` and ``said``
    SEEN = 15
    FRESH = 16
    ADMITTED = 17
    EVICTED = 18
    SAID = 19


class Run(NamedTuple):
    """All arrays of a run. ``clock`` = (now, next alarm), seconds.

    ``tree``, ``runs``, ``heads``, ``entries``, ``order``, ``found``, ``told``, ``lines``, ``lengths``, ``parked`` and
    ``preemptors`` are those of a cycle. ``roots`` (queues,): roots of their trees; ``starved`` (tree nodes,): roots
    with jobs parked because nodes had no room.
    ``ends`` is a heap of finish and row, in which an entry counts while the row still finishes then.
    """

    jobs: Table
    kinds: Table
    allowed: NDArray[np.uint8]
    measures: Table
    on_node: Ints
    nodes: Table
    queues: Table
    members: Ints
    tree: Table
    rules: Any
    runs: Table
    lanes: Table
    lane_rows: Ints
    lines: Table
    lengths: Ints
    roots: Ints
    parked: NDArray[np.bool_]
    preemptors: Table
    heads: Table
    entries: Table
    order: Ints
    found: Ints
    told: Ints
    stops: Table
    starved: NDArray[np.uint8]
    leaving: Table
    due: Ints
    seen: Ints
    fresh: Ints
    admitted: Ints
    evicted: Ints
    said: Ints
    ends: Table
    pieces: Table
    shares: Table
    decisions: Table
    waits: Table
    journal: Table
    counts: Ints
    clock: NDArray[np.float64]
    rule: Table
