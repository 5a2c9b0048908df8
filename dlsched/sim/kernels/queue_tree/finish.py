"""From the arrays of a finished run under quotas to the run log."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dlsched.domain.journal import Evicted, JournalEntry, QuotaFreed, QuotaHeld, Told
from dlsched.policies.queue_tree.kernels.tables import REASONS
from dlsched.policies.queue_tree.tree import AMOUNTS_PER_UNIT, Tree
from dlsched.sim.kernels.finish import log_of, share_entries, sorted_pieces
from dlsched.sim.kernels.queue_tree.tables import Count, Job, Run, What
from dlsched.sim.kernels.tables import Table
from dlsched.sim.log import PieceEnd, RunLog
from dlsched.sim.prepare import Prepared


def run_log(run: Run, prepared: Prepared) -> RunLog:
    """Return the log, sorted as the engine's."""
    jobs, counts = run.jobs, run.counts
    end_s = _end_s(run)
    pieces = sorted_pieces(run.pieces[: counts[Count.PIECES]], _cut_off(run, end_s))
    entries, share_first = share_entries(pieces["first_share"], pieces["num_shares"])
    log = log_of(
        pieces,
        run.waits[: counts[Count.WAITS]],
        run.decisions[: counts[Count.DECISIONS]],
        jobs,
        piece_workers=run.kinds["workers"][jobs["kind"][pieces["row"]]],
        piece_rate=pieces["speed"],
        share_first=share_first,
        share_node=run.shares["node"][entries],
        share_workers=run.shares["workers"][entries],
        start_s=min(float(jobs["submit_s"][0]), end_s),
        end_s=end_s,
        stalled=bool(run.rule["stalled"][0]),
        journal=_journal(run, prepared),
    )
    return replace(
        log,
        piece_progress_from_s=pieces["progress_from_s"],
        piece_lost_work=pieces["lost_work"],
    )


def _end_s(run: Run) -> float:
    if run.counts[Count.ENDED] == len(run.jobs):
        return float(run.jobs["end_s"].max(initial=run.jobs["submit_s"][0]))
    return float(run.clock[0] if run.rule["stalled"][0] else run.rule["horizon_s"][0])


def _cut_off(run: Run, end_s: float) -> Table:
    """Return the pieces of the jobs that run when the run ends."""
    rows = np.flatnonzero((run.jobs["state"] == int(Job.RUNS)) & (run.jobs["start_s"] < end_s))
    pieces = np.zeros(len(rows), dtype=run.pieces.dtype)
    pieces["row"], pieces["end_s"], pieces["end"] = rows, end_s, int(PieceEnd.RUN_ENDED)
    for name in ("start_s", "progress_from_s", "speed", "first_share", "num_shares"):
        pieces[name] = run.jobs[name][rows]
    return pieces


def _journal(run: Run, prepared: Prepared) -> tuple[tuple[float, JournalEntry], ...]:
    """Return the journal, with names for the nodes of the tree."""
    spec = prepared.scenario.queues
    assert spec is not None
    tree, noted = Tree.of(spec), list[tuple[float, JournalEntry]]()
    names, (flavor, resource) = [*tree.names, ""], tree.keys[0]  # number -1 = no name
    for time_s, what, row, queue, other, amount, borrowed, number in run.journal[: run.counts[Count.JOURNAL]].tolist():
        entry: JournalEntry
        if what == What.HELD:
            units = amount / AMOUNTS_PER_UNIT, borrowed / AMOUNTS_PER_UNIT
            entry = QuotaHeld(row, names[queue], flavor, resource, *units, names[other], number)
        elif what == What.FREED:
            entry = QuotaFreed(row)
        elif what == What.TOLD:
            entry = Told(row, names[queue], amount, names[other], REASONS[number])
        else:
            entry = Evicted(row, spec.eviction_loses)
        noted.append((time_s, entry))
    return tuple(noted)
