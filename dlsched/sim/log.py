"""The run log: what happened, as columns. Audit and metrics read nothing else of the simulation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.journal import Journal
from dlsched.domain.workload import Floats, Ints, Texts


class JobStatus(IntEnum):
    """How a job ended."""

    COMPLETED = 0
    REJECTED = 1
    UNFINISHED = 2
    CANCELLED = 3
    FAILED = 4


class PieceEnd(IntEnum):
    """Why a piece of a job's run ended."""

    COMPLETED = 0
    PREEMPTED = 1
    RESIZED = 2
    MOVED = 3
    NODE_LOST = 4
    CANCELLED = 5
    FAILED = 6
    OVERRUN = 7
    RUN_ENDED = 8
    VM_CHANGED = 9


@dataclass(frozen=True, eq=False)
class RunLog:
    """Columns of one run.

    Pieces, P of them, sorted by (start, row): a job holding one unchanged allocation at one rate. Progress of a
    piece = restart_rate * (progress_from_s - start_s, cut at the end) + rate * (end_s - progress_from_s, at least
    0) - lost_work. ``restart_rate`` is 0 in restart mode "pause" and the old rate in "delayed".
    Shares of piece p are entries share_first[p] to share_first[p + 1] of the share columns.

    Jobs, one per row of the workload: status, first start (NaN = never), end (completion, rejection, cancellation
    or failure; NaN = unfinished).
    Leases (rented slots only): node, index into Cluster.vm_types, from, to. Owned nodes need none.
    Decisions: one per call of the policy; ``cause`` is EventKind; ``cpu_s`` NaN where a kernel decided.
    Waits: from ``wait_from_s`` on the row waited for ``wait_reason`` (WaitReason), until its next entry or start.
    ``piece_blocked``, shape (P, resources): what each piece blocks on the pool beyond what it holds.
    ``start_s``, ``end_s``: first submission and end of the run.
    ``journal``: what a policy with quotas noted, by time; () of all others.
    """

    piece_row: Ints
    piece_start_s: Floats
    piece_end_s: Floats
    piece_workers: Ints
    piece_servers: Ints
    piece_rate: Floats
    piece_restart_rate: Floats
    piece_progress_from_s: Floats
    piece_end: NDArray[np.uint8]
    piece_lost_work: Floats
    piece_blocked: Floats

    share_first: Ints
    share_node: Ints
    share_workers: Ints
    share_servers: Ints

    job_status: NDArray[np.uint8]
    job_first_start_s: Floats
    job_end_s: Floats

    lease_node: Ints
    lease_vm: Ints
    lease_start_s: Floats
    lease_end_s: Floats

    decision_s: Floats
    decision_cause: NDArray[np.uint8]
    decision_cpu_s: Floats
    decision_status: Texts
    decision_objective: Floats
    decision_bound: Floats
    decision_note: Texts

    wait_row: Ints
    wait_from_s: Floats
    wait_reason: NDArray[np.uint8]

    start_s: float
    end_s: float
    stalled: bool = False
    journal: Journal = ()
