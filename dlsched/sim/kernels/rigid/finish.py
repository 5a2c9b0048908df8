"""From the arrays of a finished run of rigid jobs to the run log."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dlsched.sim.kernels.finish import log_of, share_entries, sorted_pieces
from dlsched.sim.kernels.rigid.tables import Count, Run
from dlsched.sim.kernels.tables import Table
from dlsched.sim.log import PieceEnd, RunLog


def run_log(run: Run) -> RunLog:
    """Return the log, sorted as the engine's: pieces by start and row, waits by decision and row.

    Arrays that only the loop needed are freed first: with a million jobs some 70 MB, at the peak of a run's memory.
    """
    nothing = np.zeros(0, dtype=np.int64)
    run = run._replace(tree=nothing.astype(np.float64), lane_rows=nothing, by_end=nothing, due=nothing)
    jobs, counts = run.jobs, run.counts
    start_s, end_s = float(jobs["submit_s"][0]), _end_s(run)
    pieces = sorted_pieces(run.pieces[: counts[Count.PIECES]], _cut_off(run, end_s))
    decisions, waits = run.decisions[: counts[Count.STAMP]], run.waits[: counts[Count.WAITS]]
    waits = waits[np.lexsort((waits["row"], waits["decision"]))]
    entries, share_first = share_entries(pieces["first_share"], pieces["num_shares"])
    log = log_of(
        pieces,
        {"row": waits["row"], "from_s": decisions["time_s"][waits["decision"]], "reason": waits["reason"]},
        decisions,
        jobs,
        restart_s=float(run.rule["restart_s"][0]),
        piece_workers=run.kinds["workers"][jobs["kind"][pieces["row"]]],
        piece_rate=pieces["speed"],
        share_first=share_first,
        share_node=run.shares["node"][entries],
        share_workers=run.shares["workers"][entries],
        start_s=min(start_s, end_s),
        end_s=end_s,
    )
    return replace(log, piece_lost_work=pieces["lost_work"], stalled=bool(run.rule["stalled"][0]))


def _end_s(run: Run) -> float:
    if run.counts[Count.ENDED] == len(run.jobs):
        return float(run.jobs["end_s"].max(initial=run.jobs["submit_s"][0]))
    return float(run.rule["now_s" if run.rule["stalled"][0] else "horizon_s"][0])


def _cut_off(run: Run, end_s: float) -> Table:
    """Return the pieces of the jobs that run when the run ends."""
    rows = run.running["row"][: run.counts[Count.RUNNING]]
    jobs = run.jobs[rows]
    pieces = np.zeros(len(rows), dtype=run.pieces.dtype)
    pieces["row"], pieces["end_s"], pieces["end"] = rows, end_s, int(PieceEnd.RUN_ENDED)
    for name in ("start_s", "speed", "first_share", "num_shares"):
        pieces[name] = jobs[name]
    return pieces[pieces["start_s"] < end_s]
