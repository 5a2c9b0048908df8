"""The arrays of a compiled run of rigid jobs that may be stopped. No numba here.

Kinds, measures and nodes are those of :mod:`dlsched.sim.kernels.rigid.tables`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.workload import Floats, Ints
from dlsched.sim.kernels.rigid.tables import NUM_RESOURCES
from dlsched.sim.kernels.tables import Table

JOB = np.dtype(
    [
        ("submit_s", "f8"),
        ("work", "f8"),
        ("believed", "f8"),
        ("done", "f8"),  # work done and GPU-seconds held when the running piece began
        ("attained", "f8"),
        ("gpus", "f8"),
        ("cancel_s", "f8"),  # infinity = never
        ("start_s", "f8"),  # of the running piece, which makes progress from progress_from_s on
        ("progress_from_s", "f8"),
        ("speed", "f8"),
        ("finish_s", "f8"),
        ("end_s", "f8"),
        ("first_key", "f8"),  # what queues are sorted by, at submission
        ("kind", "i8"),
        ("width", "i8"),  # its class, a row of ``ranks``
        ("first_share", "i8"),
        ("num_shares", "i8"),
        ("last_piece", "i8"),  # of the log, -1 = none
        ("status", "u1"),
        ("reason", "u1"),
        ("stopped", "u1"),  # stopped by the policy and not running since
        ("running", "u1"),
        ("waits", "u1"),
        ("in_ends", "u1"),  # a note while the heap of ends is cleared
        ("is_bug", "u1"),
        ("gave_up", "u1"),  # notes of one decision: its nodes, as it is out or (2) as room is made
    ],
    align=True,
)
KEYED = np.dtype([("key", "f8"), ("row", "i8")])
LANE = np.dtype(
    [
        ("begin", "i8"),  # places from here on, in ``sorted`` and in ``heap``
        ("end", "i8"),
        ("first", "i8"),  # the first of those that wait, in order: sorted[first:past]
        ("past", "i8"),
        ("in_heap", "i8"),  # the others: heap[begin:], as many
        ("units", "i8"),  # of what counts, where a queue is one total
        ("twin", "i8"),  # the first kind that a policy treats as the same
        ("told", "i8"),  # why those that wait do
        ("selected", "i8"),  # notes of one decision: so many of the first have been selected
    ]
)
"""Who of a kind waits."""
MOST_SORTED = 1024
"""So many of a kind are in order at most when another one comes."""
RUNNER = np.dtype(
    [
        ("key", "f8"),
        ("row", "i8"),  # -1 = it has left this place
        ("before", "f8"),  # progress = before + rate * (time since since_s), of work or of GPU-seconds
        ("rate", "f8"),
        ("since_s", "f8"),
        ("believed", "f8"),
        ("finish_s", "f8"),
        ("units", "i8"),
        ("width", "i8"),
        ("queue", "i8"),  # by thresholds, when last looked at
        ("kind", "i4"),
        ("in_class", "i4"),  # of nodes, -1 = in several
    ]
)
"""A job that runs, with all that its key depends on: decisions look at every runner of a queue."""
QUEUE = np.dtype(
    [
        ("free", "f8", (NUM_RESOURCES,)),
        ("first_kind", "i8"),  # its kinds and measures in ``members``
        ("past_kind", "i8"),
        ("first_measure", "i8"),
        ("past_measure", "i8"),
        ("one_total", "i8"),  # one number tells what can be selected: the units that are free
        ("one_class", "i8"),  # of nodes, and what counts there
        ("counted", "i8"),
        ("units_free", "i8"),
        ("units_waiting", "i8"),
        ("num_waiting", "i8"),
        ("num_running", "i8"),
        ("first_runner", "i8"),
        ("most_runners", "i8"),
        ("num_runners", "i8"),  # places used, of those that run and of some that do not any more
    ]
)
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
RULE = np.dtype(
    [
        ("limited", "i8", (NUM_RESOURCES,)),
        ("placement", "i8"),
        ("whole_amounts", "i8"),
        ("key", "i8"),
        ("quantum_s", "f8"),  # 0 = none
        ("restart_s", "f8"),
        ("moves_restart", "i8"),  # also a job that goes on elsewhere restarts
        ("checkpoint_s", "f8"),
        ("horizon_s", "f8"),
        ("most_idle", "i8"),  # decisions in a row by the alarm alone while nothing runs; after these it waits
        ("stalled", "i8"),
        ("makes_room", "i8"),
        ("most_shares", "i8"),  # that can be held at once
        ("learn_at", "i8"),  # ranks are made anew when so many jobs have been learnt from
        ("joined_s", "f8"),  # when the run is joined in the middle; NaN = it is not, or has been
    ]
)


class Key(IntEnum):
    """Keys that change while a job runs; every other is fixed at submission."""

    FIXED = 0
    REMAINING = 1
    ATTAINED = 2
    QUEUE = 3


class Count(IntEnum):
    """Entries of ``Run.counts``."""

    SUBMITTED = 0
    ENDED = 1
    RUNNING = 2
    WAITING = 3
    ENDS = 4
    PIECES = 5
    SHARES = 6
    DECISIONS = 7
    WAITS = 8
    FRESH = 9  # rows that wait and have not been told why: the first of ``fresh``
    CHANGED = 10  # nodes on which something has changed since who has room was counted: the first of ``changed``
    CHANGES = 11  # of nodes and cancellations handled so far
    CANCELS = 12
    IDLE = 13  # decisions in a row by the alarm alone while nothing runs
    SELECTED = 14  # notes of one decision: rows in ``selected``, places in ``out``, kinds in ``heads``
    OUT = 15
    HEADS = 16
    LEARNT = 17  # jobs in ``needed``


class Run(NamedTuple):
    """All arrays of a run. ``clock`` = (now, next alarm, until when all ends have been handled), seconds.

    ``allowed`` (kinds, nodes); ``on_node`` (measures, nodes) is what a measure counts there. ``ends`` is a heap of
    finish and row, in which an entry counts while the row still finishes then. ``class_of`` (nodes,): nodes that every
    job treats alike; ``claims`` (kinds, classes): what a kind may use; ``of_class`` (classes, resources): their
    capacity, and ``load`` the whole need of all jobs that run there, also in part; ``bounds_gpu_s`` (queues,):
    thresholds by GPU-seconds held, the last infinite; ``ranks`` (widths, queues): what jobs are sorted by there;
    ``needed``, the same shape: how many jobs ended there.
    ``left`` and ``kept`` (classes, resources), ``shut`` (kinds,) and ``classes`` (classes,) are notes.
    """

    jobs: Table
    kinds: Table
    allowed: NDArray[np.uint8]
    measures: Table
    on_node: Ints
    changed: Ints
    is_changed: NDArray[np.uint8]
    nodes: Table
    queues: Table
    members: Ints
    lanes: Table
    sorted: Table
    heap: Table
    heads: Table
    runners: Table
    selected: Ints
    out: Ints
    fresh: Ints
    ends: Table
    changes: Table
    cancels: Ints
    class_of: Ints
    claims: NDArray[np.uint8]
    of_class: Floats
    load: Floats
    left: Floats
    kept: Floats
    shut: NDArray[np.uint8]
    classes: NDArray[np.uint8]
    bounds_gpu_s: Floats
    ranks: Ints
    needed: Ints
    pieces: Table
    shares: Table
    decisions: Table
    waits: Table
    counts: Ints
    clock: Floats
    rule: Table
