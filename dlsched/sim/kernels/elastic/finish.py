"""From the arrays of a finished elastic run to the run log."""

from __future__ import annotations

import numpy as np

from dlsched.sim.kernels.elastic.tables import Count, Run
from dlsched.sim.kernels.finish import first_starts, share_entries
from dlsched.sim.log import RunLog


def run_log(run: Run) -> RunLog:
    """Return the log, sorted as the engine's: pieces by start and row; waits are written by time and row.

    A run that ended before its jobs did stood still: nobody ran, nothing was due and jobs waited.
    """
    pieces = run.pieces[: run.counts[Count.PIECES]]
    pieces = pieces[np.lexsort((pieces["row"], pieces["start_s"]))]
    waits = run.waits[: run.counts[Count.WAITS]]
    decisions = run.decisions[: run.counts[Count.DECISIONS]]
    entries, share_first = share_entries(pieces["first_share"], pieces["num_shares"])
    stalled = bool(run.counts[Count.ENDED] < len(run.jobs))
    count, end_s = len(pieces), float(run.clock[0] if stalled else run.jobs["end_s"].max())
    nothing, unknown = np.zeros(0, dtype=np.int64), np.full(len(decisions), np.nan)
    blank = np.full(len(decisions), "", dtype=object)
    return RunLog(
        piece_row=pieces["row"].copy(),
        piece_start_s=pieces["start_s"].copy(),
        piece_end_s=pieces["end_s"].copy(),
        piece_workers=pieces["num_shares"].copy(),
        piece_servers=np.zeros(count, dtype=np.int64),
        piece_rate=pieces["rate"].copy(),
        piece_restart_rate=np.zeros(count),
        piece_progress_from_s=pieces["start_s"].copy(),
        piece_end=pieces["end"].astype(np.uint8),
        piece_lost_work=np.zeros(count),
        share_first=share_first,
        share_node=run.shares[entries],
        share_workers=np.ones(len(entries), dtype=np.int64),
        share_servers=np.zeros(len(entries), dtype=np.int64),
        job_status=run.jobs["status"].copy(),
        job_first_start_s=first_starts(pieces["row"], pieces["start_s"], len(run.jobs)),
        job_end_s=run.jobs["end_s"].copy(),
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
        start_s=min(float(run.jobs["submit_s"][0]), end_s),
        end_s=end_s,
        stalled=stalled,
    )
