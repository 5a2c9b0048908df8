"""From the arrays of a finished run of jobs that may be stopped to the run log."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dlsched.sim.kernels.finish import log_of, share_entries, sorted_pieces
from dlsched.sim.kernels.preemptive.tables import Count, Run
from dlsched.sim.kernels.tables import Table
from dlsched.sim.log import PieceEnd, RunLog


def run_log(run: Run) -> RunLog:
    """Return the log, sorted as the engine's: pieces by start and row, waits by decision and row."""
    jobs, counts = run.jobs, run.counts
    end_s = _end_s(run)
    pieces = sorted_pieces(_ended(run, end_s), _cut_off(run, end_s))
    decisions, waits = run.decisions[: counts[Count.DECISIONS]], run.waits[: counts[Count.WAITS]]
    waits = waits[np.lexsort((waits["row"], waits["decision"]))]
    entries, share_first = share_entries(pieces["first_share"], pieces["num_shares"])
    log = log_of(
        pieces,
        {"row": waits["row"], "from_s": decisions["time_s"][waits["decision"]], "reason": waits["reason"]},
        decisions,
        jobs,
        piece_workers=run.kinds["workers"][jobs["kind"][pieces["row"]]],
        piece_rate=pieces["speed"],
        share_first=share_first,
        share_node=run.shares["node"][entries],
        share_workers=run.shares["workers"][entries],
        start_s=min(float(jobs["submit_s"][0]), end_s),
        end_s=end_s,
    )
    return replace(
        log,
        piece_progress_from_s=pieces["progress_from_s"],
        piece_lost_work=pieces["lost_work"],
        stalled=bool(run.rule["stalled"][0]),
    )


def _end_s(run: Run) -> float:
    if run.counts[Count.ENDED] == len(run.jobs):
        return float(run.jobs["end_s"].max(initial=run.jobs["submit_s"][0]))
    return float(run.clock[0] if run.rule["stalled"][0] else run.rule["horizon_s"][0])


def _ended(run: Run, end_s: float) -> Table:
    """Return the pieces of the log; those of jobs that are moved as the run ends, end with it."""
    pieces = run.pieces[: run.counts[Count.PIECES]].copy()
    last = run.jobs["last_piece"][(run.jobs["running"] > 0) & (run.jobs["start_s"] >= end_s)]
    last = last[last >= 0]
    last = last[pieces["end"][last] == PieceEnd.MOVED]
    pieces["end"][last] = int(PieceEnd.RUN_ENDED)
    return pieces


def _cut_off(run: Run, end_s: float) -> Table:
    """Return the pieces of the jobs that run when the run ends."""
    rows = np.flatnonzero((run.jobs["running"] > 0) & (run.jobs["start_s"] < end_s))
    pieces = np.zeros(len(rows), dtype=run.pieces.dtype)
    pieces["row"], pieces["end_s"], pieces["end"] = rows, end_s, int(PieceEnd.RUN_ENDED)
    for name in ("start_s", "progress_from_s", "speed", "first_share", "num_shares"):
        pieces[name] = run.jobs[name][rows]
    return pieces
