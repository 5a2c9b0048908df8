"""From the arrays of a finished elastic run to the run log."""

from __future__ import annotations

from dlsched.sim.kernels.elastic.tables import Count, Run
from dlsched.sim.kernels.finish import log_of, share_entries, sorted_pieces
from dlsched.sim.log import RunLog


def run_log(run: Run) -> RunLog:
    """Return the log, sorted as the engine's: pieces by start and row; waits are written by time and row.

    A run that ended before its jobs did stood still: no job ran, nothing was due and jobs waited.
    """
    pieces = sorted_pieces(run.pieces[: run.counts[Count.PIECES]])
    entries, share_first = share_entries(pieces["first_share"], pieces["num_shares"])
    stalled = bool(run.counts[Count.ENDED] < len(run.jobs))
    end_s = float(run.clock[0] if stalled else run.jobs["end_s"].max())
    return log_of(
        pieces,
        run.waits[: run.counts[Count.WAITS]],
        run.decisions[: run.counts[Count.DECISIONS]],
        run.jobs,
        piece_workers=pieces["workers"],
        piece_rate=pieces["rate"],
        share_first=share_first,
        share_node=run.shares[entries],
        share_workers=run.share_workers[entries],
        start_s=min(float(run.jobs["submit_s"][0]), end_s),
        end_s=end_s,
        stalled=stalled,
    )
