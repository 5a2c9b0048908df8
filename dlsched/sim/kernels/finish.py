"""From the tables of a finished run to the run log."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.workload import RESOURCES, Floats, Ints
from dlsched.sim.kernels.tables import Table
from dlsched.sim.log import RunLog


def sorted_pieces(*parts: Table) -> dict[str, NDArray[Any]]:
    """Return the columns of pieces by start and row: column by column, which takes the least memory."""

    def column(name: str) -> NDArray[Any]:
        return np.concatenate([part[name] for part in parts])

    order = np.lexsort((column("row"), column("start_s")))
    return {name: column(name)[order] for name in parts[0].dtype.names}


def log_of(
    pieces: dict[str, NDArray[Any]], waits: Table, decisions: Table, jobs: Table, restart_s: float = 0.0, **columns: Any
) -> RunLog:
    """Return the log of sorted pieces and tables; ``columns`` are those of RunLog in which loops differ.

    Each piece makes no progress for its first ``restart_s``. Loops know no servers or leases, and policies say
    nothing of their decisions.
    """
    count, shares = len(pieces["row"]), len(columns["share_node"])
    nothing = np.zeros(0, dtype=np.int64)
    unknown = np.broadcast_to(np.nan, len(decisions))  # no memory for millions of them
    blank = np.broadcast_to(np.array("", dtype=object), len(decisions))
    return RunLog(
        piece_row=pieces["row"],
        piece_start_s=pieces["start_s"],
        piece_end_s=pieces["end_s"],
        piece_servers=np.zeros(count, dtype=np.int64),
        piece_restart_rate=np.zeros(count),
        piece_progress_from_s=pieces["start_s"] + restart_s,
        piece_end=pieces["end"].astype(np.uint8),
        piece_lost_work=np.zeros(count),
        piece_blocked=np.zeros((count, len(RESOURCES))),
        share_servers=np.zeros(shares, dtype=np.int64),
        job_status=jobs["status"].copy(),
        job_first_start_s=first_starts(pieces["row"], pieces["start_s"], len(jobs)),
        job_end_s=jobs["end_s"].copy(),
        lease_node=nothing,
        lease_vm=nothing,
        lease_start_s=nothing.astype(np.float64),
        lease_end_s=nothing.astype(np.float64),
        decision_s=decisions["time_s"].copy(),
        decision_cause=decisions["cause"].astype(np.uint8),
        decision_cpu_s=unknown,
        decision_status=blank,
        decision_objective=unknown,
        decision_bound=unknown,
        decision_note=blank,
        wait_row=waits["row"].copy(),
        wait_from_s=waits["from_s"].copy(),
        wait_reason=waits["reason"].astype(np.uint8),
        **columns,
    )


def share_entries(first: Ints, lengths: Ints) -> tuple[Ints, Ints]:
    """Return which share entries the pieces have, one after the other, and where each piece's begin."""
    begins = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
    entries = np.arange(begins[-1]) + np.repeat(first - begins[:-1], lengths)
    return entries, begins


def first_starts(rows: Ints, starts_s: Floats, num_jobs: int) -> Floats:
    """Return the first start of each row from pieces sorted by start; NaN = never."""
    first = np.full(num_jobs, np.nan)
    first[rows[::-1]] = starts_s[::-1]  # pieces are sorted by start: the earliest is written last
    return first
