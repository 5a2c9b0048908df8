"""The arrays that the passes work on: one record array a table, one named tuple of all. No numba here."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Table = Any
"""A numpy record array; its fields are known to numba, not to the type checker."""
Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

NEVER = np.inf
NOT_SAID = 255
HOURS_A_WEEK = 168

JOB = np.dtype(
    [
        ("limit_s", "f8"),  # believed run time from its next start
        ("submit_s", "f8"),  # when it was submitted, or stopped and put back
        ("eligible_s", "f8"),
        ("start_s", "f8"),
        ("end_s", "f8"),  # start and limit
        ("used_to_s", "f8"),  # its use is accounted for up to then
        ("weighted", "f8"),  # the factors that do not change, weighted, less nice
        ("billing", "f8"),  # use per second, with the usage factor of the QOS
        ("priority", "f8"),
        ("tier", "i8"),
        ("kind", "i8"),
        ("user", "i8"),
        ("assoc", "i8"),
        ("qos", "i8"),
        ("keeper", "i8"),  # which reservations it may use: row of ``reserved_for``
        ("hours", "i8"),  # which hours are closed to it: row of ``closed``, -1 = none
        ("first_limit", "i8"),
        ("num_limits", "i8"),
        ("first_share", "i8"),
        ("num_shares", "i8"),
        ("state", "u1"),
        ("reason", "u1"),
        ("stopped", "u1"),
    ],
    align=True,
)
KIND = np.dtype(
    [
        ("units", "i8"),  # what is placed: workers, or workers with servers
        ("claim", "i8"),
        ("partition", "i8"),
        ("num_nodes", "i8"),  # fewest nodes
        ("alike", "i8"),  # kinds with one number always find the same nodes ready, see ``placing.find_ready``
        ("whole", "i8"),  # an empty node holds all of it, so one node must
        ("exclusive", "i8"),
        ("no_room", "i8"),  # count of changes of the free resources at which it had none, or ...
        ("room", "i8"),  # ... had some
        ("reason", "i8"),  # why its jobs wait, as of decision ``stamp``
        ("stamp", "i8"),
        ("least_s", "f8"),  # no start before, as of decision ``least_stamp``; first believed end of a job in its way
        ("first_s", "f8"),
        ("least_stamp", "i8"),
    ]
)
ASSOC = np.dtype(
    [
        ("parent", "i8"),
        ("is_user", "i8"),
        ("active", "i8"),
        ("shares", "f8"),
        ("usage", "f8"),
        ("seen", "f8"),  # use as the factors see it, as of the last period
        ("factor", "f8"),
    ]
)
SLOT = np.dtype([("begin_s", "f8"), ("end_s", "f8"), ("previous", "i8"), ("next", "i8")])
RESERVATION = np.dtype([("start_s", "f8"), ("end_s", "f8")])
RULE = np.dtype(
    [
        ("weight_age", "f8"),
        ("weight_fairshare", "f8"),
        ("max_age_s", "f8"),
        ("decay", "f8"),  # of past use, per second
        ("damping", "f8"),
        ("period_s", "f8"),
        ("classic", "i8"),
        ("in_order", "i8"),  # first come, first served: all priorities are equal
        ("from_s", "f8"),  # when the controller started: grid of periods and full passes
        ("main_delay_s", "f8"),
        ("main_every_s", "f8"),
        ("main_depth", "i8"),
        ("partition_depth", "i8"),
        ("tries_at_once", "i8"),
        ("backfills", "i8"),
        ("backfill_s", "f8"),
        ("backfill_from_s", "f8"),
        ("window_s", "f8"),
        ("group_s", "f8"),  # bf_window_linear; 0 = groups double
        ("grid_s", "f8"),  # bf_resolution
        ("grid_from_s", "f8"),
        ("max_test", "i8"),
        ("max_user", "i8"),
        ("max_partition", "i8"),
        ("max_user_partition", "i8"),
        ("max_start", "i8"),
        ("may_split", "i8"),  # a job that one node could hold may be split over several
        ("monday_s", "f8"),
        ("preempts", "i8"),  # 0 no, 1 by tier, 2 by QOS
    ]
)


class State(IntEnum):
    """Where a job is; jobs of rows to come are UNSEEN."""

    UNSEEN = 0
    WAITING = 1
    RUNNING = 2
    GONE = 3


class Count(IntEnum):
    """Entries of ``Core.counts``."""

    QUEUE = 0
    RUNNING = 1
    ASSOCS = 2
    SHARES = 3
    FREE = 4  # changes of the free resources
    MAIN_DIRTY = 5  # something has changed since the last full main pass
    BACKFILL_DIRTY = 6
    STARTED = 7  # rows in ``Core.started``
    STOPPED = 8
    TOLD = 9
    LEAVES = 10
    STAMP = 11
    RESERVATIONS = 12
    FAIR_STALE = 13
    SLOTS = 14
    PASSES = 15  # main and backfill passes made in this decision


class Clock(IntEnum):
    """Entries of ``Core.clock``, seconds."""

    PERIOD = 0  # last period that was handled
    LAST_MAIN = 1
    QUICK = 2  # the pass after an end or arrival; never = none is due
    FULL = 3
    BACKFILL = 4
    VALID_TO = 5  # the latest backfill pass would come to the same as long as nothing happens
    ELIGIBLE = 6  # next job that becomes eligible, next hour that may open, next end of a reservation
    HOUR = 7
    RESERVATION = 8


class Core(NamedTuple):
    """All arrays. Node masks hold 0 or 1 for each node.

    jobs, kinds, assocs: tables of rows, kinds of jobs, associations. ``demand`` (kinds, resources) of a unit,
    ``amounts`` (kinds, limited) what a job counts against limits. ``claims`` and ``partitions``: node masks.
    ``free``, ``capacity`` (nodes, resources); ``up``; ``order`` of nodes; ``leaf`` switch of each node.
    ``share_node``, ``share_units``: what jobs hold. ``used``, ``caps`` (limits, limited); ``limits_of`` the limits of
    each job, one after the other. ``reservations`` with their node masks ``reserved`` and who may use them. ``closed``
    (classes, 168 hours). ``may_stop`` (QOS, QOS). ``ready`` (some kinds, nodes): when each node has room, see
    ``placing.find_ready``; ``ready_of`` (some kinds, 2): of which kinds, and after how many changes of the free
    resources. The rest is room for one decision.
    """

    jobs: Table
    kinds: Table
    demand: Floats
    amounts: Floats
    claims: Bytes
    partitions: Bytes
    free: Floats
    capacity: Floats
    up: Bytes
    order: Ints
    leaf: Ints
    share_node: Ints
    share_units: Ints
    queue: Ints
    running: Ints
    used: Floats
    caps: Floats
    limits_of: Ints
    assocs: Table
    reservations: Table
    reserved: Bytes
    reserved_for: Bytes
    closed: Bytes
    may_stop: Bytes
    slots: Table
    slot_free: Bytes
    rule: Table
    counts: Ints
    clock: Floats
    started: Ints
    stopped: Ints
    told: Ints
    mask: Bytes
    shut: Bytes
    allowed: Bytes
    shut_partitions: Bytes
    by_partition: Ints
    by_user: Ints
    future: Floats
    trial: Floats
    deaths: Ints
    pick: Ints
    pick_units: Ints
    by_leaf: Ints
    ready: Floats
    ready_of: Ints
