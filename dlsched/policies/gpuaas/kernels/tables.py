"""The arrays the compiled searches work on: one record array a table. No numba here.

A *configuration* is a GPU type and a number of GPUs of one node, numbered family x G + gpus - 1.

Inner loops take the arrays they need one by one: handing on the named tuple of all costs more
than most of the calls.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

JOB = np.dtype(
    [
        ("swap", "f8"),  # probability to let the next one of the queue pass
        ("num_ranked", "i8"),  # configurations it can run in
        ("num_picks", "i8"),  # the first of them that are drawn from
    ]
)
CHOICE = np.dtype([("chance", "f8"), ("family", "i4"), ("gpus", "i4")])  # chance: cumulative, of those drawn from
OPTION = np.dtype(
    [
        ("time", "f8"),
        ("gpu_time", "f8"),  # time x GPUs
        ("late", "f8"),  # what the job costs beside its node: of Eq. (1), or of (P1a) relative to waiting
        ("scale", "f8"),  # M_j of Eq. (1)
    ]
)
HOLDER = np.dtype([("gpus", "i8"), ("price", "f8")])  # of the machine that holds a configuration
FAMILY = np.dtype(
    [
        ("largest", "i8"),  # GPUs of its largest machine
        ("widest", "i8"),  # most GPUs free on an open node
        ("roomy", "i8"),  # open nodes with a GPU free
    ]
)
NODE = np.dtype(
    [
        ("family", "i8"),  # -1 = closed
        ("first", "i8"),  # first + g = configuration of g GPUs
        ("free", "i8"),  # GPUs left of the largest machine it may be
        ("used", "i8"),
        ("count", "i8"),  # jobs
        ("place", "i8"),  # in its bucket
        ("value", "f8"),  # what the node adds to the score
        ("may_open", "i8"),
        ("fixed_family", "i8"),  # the machine that is there already and stays, -1 = none
        ("fixed_gpus", "i8"),
        ("fixed_price", "f8"),
    ]
)
HELD = np.dtype([("job", "i8"), ("gpus", "i8")])
MOVE = np.dtype(
    [
        ("node", "i8"),  # where the job is in the schedule at hand, -1 = waits
        ("config", "i8"),
        ("goal", "i8"),  # configuration in the schedule the path leads to, -1 = waits
        ("to", "i8"),  # where the move leads: a node or one of the three below, none of which is a `node`
        ("leave", "f8"),  # what the score gains when the job leaves its node
    ]
)
BLOCKED, TO_QUEUE, TO_CLOSED = -4, -3, -2
RULE = np.dtype(
    [
        ("random", "u8"),  # state of the generator
        ("by_proxy", "i8"),
        ("most_gpus", "i8"),  # G
        ("num_elite", "i8"),
        ("idle_penalty", "f8"),
        ("node_share", "f8"),
    ]
)
Table = Any
"""A numpy record array; its fields are known to numba, not to the type checker."""

SCRATCH = 3
"""Nodes beyond the last one on which moves are tried."""


Ints = NDArray[np.int64]


class Search(NamedTuple):
    """All arrays of a search for J jobs, N nodes, C configurations, F GPU types and sigma elite schedules.

    The problem: ``jobs`` (J,), ``choices`` (J, C) configurations best first, ``options`` (J, C), ``order`` jobs by
    pressure, ``holders`` (C,), ``rule`` (1,).
    The schedule at hand: ``nodes`` (N + SCRATCH,) and the jobs they hold, ``held`` (N + SCRATCH, G); ``families``
    (F,); open nodes by GPUs free, ``buckets`` (F, G + 1, 1 + N): how many, then which; the stack ``closed`` (1 + N,)
    likewise. Elite: ``elite_node`` and ``elite_config`` (sigma, J), -1 = waits, ``elite_score`` (sigma,).
    Paths: ``moves``, ``todo`` and ``blocked`` (J,). Answer: ``node`` and ``gpus`` (J,).
    """

    jobs: Table
    choices: Table
    options: Table
    order: Ints
    holders: Table
    rule: Table
    nodes: Table
    held: Table
    families: Table
    buckets: Ints
    closed: Ints
    elite_node: Ints
    elite_config: Ints
    elite_score: NDArray[np.float64]
    moves: Table
    todo: Ints
    blocked: Ints
    node: Ints
    gpus: Ints
