"""From the arrays of a finished kernel run to the run log."""

from __future__ import annotations

from typing import Any

import numpy as np

from dlsched.domain.workload import RESOURCES, Floats, Ints
from dlsched.sim.kernels.tables import Count, Run, Table
from dlsched.sim.log import RunLog


def run_log(run: Run) -> RunLog:
    """Return the log, sorted as the engine's: pieces by start and row, waits by time and row."""
    pieces = sorted_pieces(run.pieces[: run.counts[Count.PIECES]])
    waits = run.waits[: run.counts[Count.WAITS]]
    waits = waits[np.lexsort((waits["row"], waits["from_s"]))]
    entries, share_first = share_entries(pieces["first_share"], pieces["num_shares"])
    return log_of(
        pieces,
        waits,
        run.decisions[: run.counts[Count.DECISIONS]],
        run.jobs,
        piece_workers=run.jobs["gpus"][pieces["row"]],
        piece_rate=np.full(len(pieces), float(run.rule["speed"][0])),
        share_first=share_first,
        share_node=run.shares["node"][entries],
        share_workers=run.shares["workers"][entries],
        start_s=float(run.jobs["submit_s"][0]),
        end_s=float(run.jobs["end_s"].max()),
    )


def sorted_pieces(pieces: Table) -> Table:
    """Return pieces by start and row."""
    return pieces[np.lexsort((pieces["row"], pieces["start_s"]))]


def log_of(pieces: Table, waits: Table, decisions: Table, jobs: Table, **columns: Any) -> RunLog:
    """Return the log of sorted tables; ``columns`` are those of RunLog in which loops differ.

    Loops know no servers, restarts or leases, and policies say nothing of their decisions.
    """
    count, shares = len(pieces), len(columns["share_node"])
    nothing = np.zeros(0, dtype=np.int64)
    unknown = np.full(len(decisions), np.nan)
    blank = np.full(len(decisions), "", dtype=object)
    return RunLog(
        piece_row=pieces["row"].copy(),
        piece_start_s=pieces["start_s"].copy(),
        piece_end_s=pieces["end_s"].copy(),
        piece_servers=np.zeros(count, dtype=np.int64),
        piece_restart_rate=np.zeros(count),
        piece_progress_from_s=pieces["start_s"].copy(),
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
