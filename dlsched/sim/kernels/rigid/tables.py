"""The arrays of a compiled run of rigid jobs that are never stopped: few, as each call hands them on. No numba here."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.workload import RESOURCES, Floats, Ints
from dlsched.sim.kernels.rigid.fair_tables import Fair
from dlsched.sim.kernels.tables import Table

NUM_RESOURCES = len(RESOURCES)
MOST_TOLD = 32
MANY = 1e15
"""As many workers as any node has room for."""
_BY_RESOURCE = (NUM_RESOURCES,)

JOB = np.dtype(
    [
        ("submit_s", "f8"),
        ("work", "f8"),
        ("believed", "f8"),  # work that is believed to be left when it starts next
        ("believed_in_all", "f8"),
        ("done", "f8"),  # before the running piece
        ("key", "f8"),  # what queues are sorted by
        ("cancel_s", "f8"),  # infinity = never
        ("speed", "f8"),  # of the running piece: that of the slowest node
        ("start_s", "f8"),
        ("finish_s", "f8"),
        ("end_s", "f8"),
        ("end_ticks", "f8"),  # when it is believed to end, millionths of a second
        ("kind", "i8"),
        ("in_kind", "i8"),  # place among the jobs of its kind, and of its queue, in order of the queue
        ("place", "i8"),
        ("start_number", "i8"),  # starts are counted
        ("first_share", "i8"),
        ("num_shares", "i8"),
        ("told", "i8"),  # the last decision in which it was among the first of its queue
        ("booked", "i8"),  # the last pass in which it was booked on nodes
        ("status", "u1"),
        ("reason", "u1"),
        ("waits", "u1"),
        ("is_bug", "u1"),
        ("ends_early", "u1"),  # sooner than believed
    ],
    align=True,
)
KIND = np.dtype(
    [
        ("demand", "f8", _BY_RESOURCE),  # of a worker
        ("binding", "i8", _BY_RESOURCE),
        ("workers", "i8"),
        ("queue", "i8"),
        ("measure", "i8"),  # it fits when the tally of its measure is at least ``need``
        ("need", "i8"),
        ("counted", "i8"),  # the resource that tells a lack of room from room in pieces
        ("whole_queue", "i8"),  # it may use all nodes of its queue
        ("outgrows", "i8"),
        ("num_waiting", "i8"),
        ("num_up", "i8"),  # nodes that it may use and that are up
        ("cur", "i8"),  # notes of one decision
        ("is_open", "i8"),
        ("kept_cur", "i8"),  # and what they are while conservative backfill looks at jobs again
        ("was_open", "i8"),
        ("in_the_way", "i8"),
        ("most", "f8"),  # believed work
        ("reason", "i8"),
        ("reason_stamp", "i8"),
    ]
)
"""Jobs of one kind fit or do not fit together."""
MEASURE = np.dtype(
    [
        ("asked", "f8", _BY_RESOURCE),
        ("binding", "i8", _BY_RESOURCE),
        ("fit", "i8"),
        ("kind", "i8"),  # one that has this measure
        ("tally", "i8"),
        ("most_on_node", "i8"),  # the most that is counted on any node
        ("waits", "i8"),  # notes of conservative backfill: whether jobs with this measure wait
        ("order_stamp", "i8"),  # the pass that ``Run.order`` is of
        ("first_not_booked", "i8"),  # its first place with a node without bookings may be this one
        ("since_ticks", "f8"),
        ("longest_room", "f8"),  # the largest entries of ``Run.longest_room`` and ``Run.room_until``
        ("room_until", "f8"),
        ("is_told", "i8"),  # these two are up to date
    ]
)
NODE = np.dtype(
    [
        ("free", "f8", _BY_RESOURCE),
        ("capacity", "f8", _BY_RESOURCE),
        (
            "shadow",
            "f8",
            _BY_RESOURCE,
        ),  # free when the head can start, if the stamp is this decision's
        ("shadow_stamp", "i8"),
        ("shadow_counted", "i8"),
        ("queue", "i8"),
        ("speed", "f8"),
        ("num_absences", "i8"),  # that it is away for now; above 0 nothing is free
        ("pick", "i8"),  # the latest placement lists at most one entry a node: nodes and workers
        ("pick_workers", "i8"),
        ("size", "i8"),
        ("is_stale", "i8"),  # notes of conservative backfill: its slots are not those of the jobs that run on it
        ("has_room", "i8"),  # for some measure, now, without bookings
        ("is_booked", "i8"),  # in the latest pass
        ("booked", "i8"),  # nodes with bookings, and nodes that were open: lists of a queue from ``first_node`` on
        ("open", "i8"),
        ("last_slot", "i8"),
        ("with_room", "i8"),  # the latest look lists at most one entry a node: nodes with room when a job fits
        ("closes_ticks", "f8"),  # open from now until then, see ``conserve_on_nodes``
        ("exact_until", "f8"),  # what is known to be free while it is open, in ticks
    ]
)
LANE = np.dtype([("first", "i8"), ("base", "i8"), ("size", "i8")])
QUEUE = np.dtype(
    [
        ("free", "f8", _BY_RESOURCE),
        ("first_kind", "i8"),  # its kinds and measures in ``members``
        ("past_kind", "i8"),
        ("first_measure", "i8"),
        ("past_measure", "i8"),
        ("end_first", "i8"),  # its running rows in ``by_end``, the soonest believed end last
        ("num_running", "i8"),
        ("counts_only", "i8"),  # a job takes as many units as it has workers, and only their total counts
        ("window", "i8", (2 * MOST_TOLD,)),  # rows that are told why they wait, and those of the decision before
        ("num_window", "i8"),
        ("first_node", "i8"),  # notes of conservative backfill: as many nodes as the queues before it have
        ("num_booked", "i8"),
        ("num_open", "i8"),
        ("first_slot", "i8"),  # its slots behind the first of each node
        ("num_slots", "i8"),
        ("spare_slot", "i8"),  # the first of those that are not used any more; -1 = none
        ("pass_stamp", "i8"),  # the decision in which bookings were last made anew
        ("booked_after", "i8"),  # ends and changes of nodes so far when all was booked; -1 = it is not
        ("booked", "i8"),  # the first place of a waiting row that is not booked may be this one
        ("num_seen", "i8"),  # rows, submitted by then
        ("last_place", "i8"),  # of these
    ]
)
MOMENT = np.dtype([("ticks", "f8"), ("free", "i8")])
SLOT = np.dtype([("ticks", "f8"), ("free", "f8", _BY_RESOURCE), ("next", "i8")])
"""What is free on a node from a time on, until the next slot of that node."""
WINDOW = np.dtype(
    [("since_ticks", "f8"), ("latest_ticks", "f8"), ("since_slot", "i8"), ("past_slot", "i8"), ("look", "i8")]
)
"""The next time at which a job has room on a node for as long as it takes, the latest, and the slots around it."""
BOUND = np.dtype([("ticks", "f8"), ("slot", "i8")])
"""No room for so long begins on a node before this slot; infinity = never."""
BOUNDED = np.dtype([("stamp", "i8"), ("tried", "i8")])
"""The pass that bounds are of, and the node that was the first to fit."""
FIRST_START = np.dtype([("stamp", "i8"), ("ticks", "f8")])
"""The time before which no job of a kind fits for so long, and the pass that this is of."""
PIECE = np.dtype(
    [
        ("row", "i8"),
        ("start_s", "f8"),
        ("end_s", "f8"),
        ("speed", "f8"),
        ("lost_work", "f8"),
        ("first_share", "i8"),
        ("num_shares", "i8"),
        ("end", "i8"),
    ]
)
RUNNING = np.dtype([("finish_s", "f8"), ("row", "i8")])
CHANGE = np.dtype([("time_s", "f8"), ("node", "i8"), ("comes_back", "i8")])
WAIT = np.dtype([("row", "i8"), ("decision", "i8"), ("reason", "i8")])
RULE = np.dtype(
    [
        ("limited", "i8", _BY_RESOURCE),
        ("num_limited", "i8"),  # no resource from this one on keeps any job from a node
        ("which", "i8"),
        ("placement", "i8"),
        ("one_by_one", "i8"),
        ("num_told", "i8"),
        ("whole_amounts", "i8"),
        ("looks_by_kind", "i8"),  # it starts others than the first of a queue: lanes of kinds are kept
        ("needs_ends", "i8"),  # it asks when running jobs are believed to end: ``by_end`` is kept
        ("by_work_left", "i8"),  # queues are sorted by it, so that a job that is stopped gets another place
        (
            "speed",
            "f8",
        ),  # that a waiting job is believed to run at: EASY asks if it may be late, conservative must not be
        ("restart_s", "f8"),
        ("checkpoint_s", "f8"),
        ("horizon_s", "f8"),
        ("most_shares", "i8"),  # that one instant may add beyond the first of each job
        ("now_s", "f8"),  # the latest instant
        ("joined_s", "f8"),  # when the run is joined in the middle; NaN = it is not, or has been
        ("stalled", "i8"),  # jobs are left, and nothing is due any more
    ]
)


class Rule(IntEnum):
    """Which of a queue runs."""

    HEAD_OF_LINE = 0
    WITH_SKIP = 1
    EASY = 2
    CONSERVATIVE = 3
    FAIR = 4


class Fit(IntEnum):
    """How a measure tells whether a job fits: the sum over all nodes of what is counted on each.

    ROOM: workers that a node has room for. WHOLE: nodes with room for the whole job. EMPTY: the room of empty nodes.
    """

    ROOM = 0
    WHOLE = 1
    EMPTY = 2


class Count(IntEnum):
    """Entries of ``Run.counts``."""

    SUBMITTED = 0
    ENDED = 1
    RUNNING = 2
    STARTS = 3
    STAMP = 4  # decisions so far
    PIECES = 5
    SHARES = 6
    WAITS = 7
    TOLD = 8  # rows of which a decision has told why they wait
    STOPPED = 9  # rows that were stopped since the last decision
    CHANGES = 10  # of nodes, so far
    CANCELS = 11  # so far
    LOOKS = 12  # of conservative backfill, at jobs that may need several nodes


class Places(Protocol):
    """The arrays of a run that say who has room where; see :class:`Run`."""

    @property
    def kinds(self) -> Table: ...
    @property
    def allowed(self) -> NDArray[np.uint8]: ...
    @property
    def measures(self) -> Table: ...
    @property
    def on_node(self) -> Ints: ...
    @property
    def nodes(self) -> Table: ...
    @property
    def queues(self) -> Table: ...
    @property
    def members(self) -> Ints: ...
    @property
    def rule(self) -> Table: ...


class Run(NamedTuple):
    """All arrays of a run.

    ``allowed`` (kinds, nodes); ``on_node`` (measures, nodes) is what a measure counts there. A lane holds the rows of
    a kind, after those of a queue, after those of a line of ``fair``, in order: ``lane_rows[first:]`` up to the next
    lane; ``tree[base:]`` is a tree of ``size`` leaves over them with the shortest believed work of those that wait.
    ``profile`` = what is free from each time on, as conservative backfill books it; ``slots`` the same on each node,
    whose number is that of its first slot; ``room_until`` and ``longest_room`` (measures, nodes) say, in ticks, until
    when a measure has room there from now on, and for how long at most while the node is open. ``lengths``, in ticks
    and ascending, are those for which ``bounds`` (measures, lengths, nodes) and ``first_start`` (kinds, lengths) say
    where to begin to look; ``bounded`` (measures, lengths) tells which of these are of the present pass. ``ready``
    (measures, nodes) is the slot from which on a measure has room beside the jobs that run, ``order`` the nodes by
    that; ``soonest`` is space for a few times.
    ``running`` is a heap of rows by finish. ``due``: rows that end at one instant, then those that are stopped at it.
    ``changes`` of nodes by time; ``cancels``: rows by that time.
    """

    jobs: Table
    kinds: Table
    allowed: NDArray[np.uint8]
    measures: Table
    on_node: Ints
    nodes: Table
    lanes: Table
    lane_rows: Ints
    tree: Floats
    queues: Table
    members: Ints
    by_end: Ints
    profile: Table
    slots: Table
    room_until: Floats
    longest_room: Floats
    lengths: Floats
    bounds: Table
    bounded: Table
    first_start: Table
    windows: Table
    ready: Table
    order: Ints
    soonest: Floats
    running: Table
    due: Ints
    changes: Table
    cancels: Ints
    pieces: Table
    shares: Table
    decisions: Table
    waits: Table
    counts: Ints
    rule: Table
    fair: Fair
