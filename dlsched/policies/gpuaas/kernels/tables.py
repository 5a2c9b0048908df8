"""The arrays the compiled searches work on: one record array a table, one named tuple of all. No numba here.

A *configuration* is a GPU type and a number of GPUs of one node, numbered family x G + gpus - 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

JOB = np.dtype(
    [
        ("swap", "f8"),  # probability to let the next one of the queue pass
        ("scale", "f8"),  # M_j of Eq. (1)
        ("postponed", "f8"),  # what (P1a) charges for leaving the job in the queue
        ("num_ranked", "i8"),  # configurations it can run in
        ("num_picks", "i8"),  # the first of them that are drawn from
    ]
)
OPTION = np.dtype([("time", "f8"), ("late_cost", "f8")])
CONFIG = np.dtype([("family", "i8"), ("gpus", "i8"), ("holder_gpus", "i8"), ("holder_price", "f8")])
FAMILY = np.dtype(
    [
        ("first", "i8"),  # first + g = configuration of g GPUs
        ("largest", "i8"),  # GPUs of its largest machine
        ("widest", "i8"),  # most GPUs free on an open node
    ]
)
NODE = np.dtype(
    [
        ("family", "i8"),  # -1 = closed
        ("free", "i8"),  # GPUs left of the largest machine it may be
        ("used", "i8"),
        ("count", "i8"),  # jobs
        ("place", "i8"),  # in its bucket
        ("fixed_family", "i8"),  # the machine that is there already and stays, -1 = none
        ("fixed_gpus", "i8"),
        ("fixed_price", "f8"),
        ("value", "f8"),  # what the node adds to the score
    ]
)
HELD = np.dtype([("job", "i8"), ("gpus", "i8")])
MOVE = np.dtype(
    [
        ("goal", "i8"),  # configuration in the schedule the path leads to, -1 = waits
        ("node", "i8"),  # where the move leads: a node or one of the three below
        ("leave", "f8"),  # what the score gains when the job leaves its node
    ]
)
BLOCKED, TO_QUEUE, TO_CLOSED = -3, -2, -1
RULE = np.dtype(
    [
        ("random", "u8"),  # state of the generator
        ("by_proxy", "i8"),
        ("most_gpus", "i8"),  # G
        ("num_closed", "i8"),
        ("num_free", "i8"),  # GPUs free on open nodes
        ("num_elite", "i8"),
        ("idle_penalty", "f8"),
        ("free_price", "f8"),
        ("node_share", "f8"),
    ]
)
Table = Any
"""A numpy record array; its fields are known to numba, not to the type checker."""

SCRATCH = 3
"""Nodes beyond the last one on which moves are tried."""


class Search(NamedTuple):
    """All arrays of a search for J jobs, N nodes, C configurations, F GPU types and sigma elite schedules.

    The problem: ``jobs`` (J,), ``options`` (J, C), ``ranked`` (J, C) configurations best first, ``chance`` (J, K)
    cumulative, ``order`` jobs by pressure, ``configs`` (C,), ``families`` (F,), ``rule`` (1,).
    The schedule at hand: ``node`` and ``config`` (J,), -1 = waits; ``nodes`` (N + SCRATCH,) and the jobs they hold,
    ``held`` (N + SCRATCH, G); open nodes by GPUs free, ``buckets`` (F, G + 1, N) with ``bucket_size`` (F, G + 1);
    the stack ``closed`` (N,). Elite: ``elite_node``, ``elite_config`` (sigma, J), ``elite_score`` (sigma,).
    Paths: ``moves`` (J,), ``todo`` and ``blocked`` (J,). Answer: ``gpus`` (J,) beside ``node``.
    """

    jobs: Table
    options: Table
    ranked: NDArray[np.int16]
    chance: NDArray[np.float64]
    order: NDArray[np.int64]
    configs: Table
    families: Table
    rule: Table
    node: NDArray[np.int64]
    config: NDArray[np.int64]
    nodes: Table
    held: Table
    buckets: NDArray[np.int64]
    bucket_size: NDArray[np.int64]
    closed: NDArray[np.int64]
    elite_node: NDArray[np.int64]
    elite_config: NDArray[np.int64]
    elite_score: NDArray[np.float64]
    moves: Table
    todo: NDArray[np.int64]
    blocked: NDArray[np.int64]
    gpus: NDArray[np.int64]
