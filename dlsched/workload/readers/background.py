"""Logs that were cut out of a longer one: the first instant from which they are complete, and what ran then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dlsched.domain.workload import Floats

if TYPE_CHECKING:
    from dlsched.workload.import_report import Bools
    from dlsched.workload.readers.canonical import Draft

THIN = 0.5
"""Jobs arrive this much more rarely before the first end than after it: the log lacks jobs from before."""
LEAD_S = 1.0
"""Jobs that ran at the first complete instant arrive this long before those that waited then."""


def from_first_complete_instant(draft: Draft) -> None:
    """Let a draft start where its log is complete, if rows were selected by their end or by a window of time.

    Such a log holds all jobs from the earliest end of a started job on; of those before, only some. It is found by its
    arrivals: before that instant fewer than half as many per second as after it. Jobs that ran then arrive 1 s earlier
    with what was left of run time and limit, and have no recorded start to compare with; jobs that waited then arrive
    then. The books of the import say how many of each there are.
    """
    start_s, end_s = draft.floats.get("recorded_start_s"), draft.floats.get("recorded_end_s")
    if start_s is None or end_s is None:
        return
    alive, cancel_after_s = draft.ledger.alive, draft.floats.get("cancel_after_s")
    ended = alive & np.isfinite(start_s) & np.isfinite(end_s)
    if not ended.any():
        return
    first_s = float(end_s[ended].min())
    if not _is_thin_before(draft.submit_s[alive], first_s):
        return
    if cancel_after_s is not None:
        gone = draft.submit_s + cancel_after_s <= first_s
        rule = "Dropped: it left without a start before the log becomes complete"
        draft.ledger.drop(gone, "job never started", rule, unreadable=False)
        alive = draft.ledger.alive
    ran = alive & (start_s < first_s)
    waited = alive & ~ran & (draft.submit_s < first_s)
    zero_s = first_s - LEAD_S
    _hold_nodes(draft, ran, start_s, zero_s)
    rule = "They arrive when the log becomes complete, at the earliest end of a job"
    draft.ledger.repair(waited, "already waiting when the log becomes complete", rule, first_s - draft.submit_s)
    if cancel_after_s is not None:
        draft.floats["cancel_after_s"] = cancel_after_s - np.where(waited, first_s - draft.submit_s, 0.0)
    draft.submit_s = np.where(waited, first_s, draft.submit_s)
    if not draft.absolute:  # else the first submission becomes time zero
        draft.submit_s = draft.submit_s - zero_s
        for name in {"recorded_start_s", "recorded_end_s", "due_s"} & draft.floats.keys():
            draft.floats[name] = draft.floats[name] - zero_s
    draft.assumptions.append(
        f"The log is complete from the earliest end of a job on: the {int(ran.sum()):,} jobs that ran then hold their "
        "nodes for the rest of their run time and are not compared"
    )


def _is_thin_before(submit_s: Floats, at_s: float) -> bool:
    before = int((submit_s < at_s).sum())
    span_before_s, span_after_s = at_s - float(submit_s.min()), float(submit_s.max()) - at_s
    if not before or span_before_s <= 0 or span_after_s <= 0:
        return False
    return before / span_before_s < THIN * (len(submit_s) - before) / span_after_s


def _hold_nodes(draft: Draft, ran: Bools, start_s: Floats, zero_s: float) -> None:
    """Let these jobs arrive at ``zero_s`` with what is left of them."""
    rule = "They arrive first, with what is left of run time and time limit; their waits are not compared"
    draft.ledger.repair(ran, "already running when the log becomes complete", rule)
    done_s = zero_s - start_s
    draft.run_s = np.where(ran, np.maximum(draft.run_s - done_s, 1.0), draft.run_s)
    if (limit_s := draft.floats.get("limit_s")) is not None:
        draft.floats["limit_s"] = np.where(ran, np.maximum(limit_s - done_s, 1.0), limit_s)
    if "held_s" in draft.floats:
        draft.floats["held_s"] = np.where(ran, 0.0, draft.floats["held_s"])
    draft.floats["recorded_start_s"] = np.where(ran, np.nan, start_s)
    draft.submit_s = np.where(ran, zero_s, draft.submit_s)
