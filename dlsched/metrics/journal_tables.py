"""The journal of a policy with quotas as tables: holds of quota and preemptions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from dlsched.domain.journal import QuotaFreed, QuotaHeld, Told
from dlsched.metrics.run_facts import RunFacts
from dlsched.sim.log import PieceEnd


class QuotaTables(NamedTuple):
    """Tables of one run, all empty for a policy without quotas. Times in seconds, amounts in GPUs, cores or GiB.

    Attributes
    ----------
    holds
        One row for each job, flavor and resource from admission until the quota is free again: ``job_id``, ``row``,
        ``queue``, ``flavor``, ``resource``, ``from_s``, ``to_s`` (end of the run where it was still held), ``amount``,
        ``borrowed`` (part above the nominal quota at the start), ``lender`` (cohort within whose quota it fits, ""
        where nothing is borrowed), ``level`` (height of the lender, 0 = own quota).
    preemptions
        One row for each job told to leave: ``told_s``, ``left_s`` (NaN where the run ended before), ``stopped`` (False
        where it ended by itself or lost its node first), ``job_id``, ``row``, ``queue``, ``for_job_id``, ``for_row``,
        ``for_queue``, ``reason`` (in-queue, reclaim, reclaim-while-borrowing, fair-share), ``lost_gpu_s`` (GPU-seconds
        that made the lost work; core-seconds where cores count), ``earlier`` (times it had been stopped before).
    """

    holds: pd.DataFrame
    preemptions: pd.DataFrame


def quota_tables(facts: RunFacts) -> QuotaTables:
    """Return the tables of a run."""
    return QuotaTables(_holds(facts), _preemptions(facts))


def _holds(facts: RunFacts) -> pd.DataFrame:
    job_id, open_holds = facts.jobs.job_id, dict[int, list[int]]()
    rows: list[list[object]] = []
    for at_s, entry in facts.log.journal:
        if isinstance(entry, QuotaHeld):
            open_holds.setdefault(entry.row, []).append(len(rows))
            rows.append([job_id[entry.row], *entry, at_s, facts.log.end_s])
        elif isinstance(entry, QuotaFreed):
            for number in open_holds.pop(entry.row, ()):
                rows[number][-1] = at_s
    columns = ["job_id", *QuotaHeld._fields, "from_s", "to_s"]
    wanted = ["job_id", "row", "queue", "flavor", "resource", "from_s", "to_s", "amount", "borrowed", "lender", "level"]
    return pd.DataFrame(rows, columns=columns)[wanted]


def _preemptions(facts: RunFacts) -> pd.DataFrame:
    """A victim has left when its quota is free: stopped, unless it ended or lost its node at or before that time."""
    job_id, log = facts.jobs.job_id, facts.log
    ends = zip(log.piece_row.tolist(), log.piece_end_s.tolist(), strict=True)
    piece_of = {(row, end_s): p for p, (row, end_s) in enumerate(ends)}
    rows: list[dict[str, object]] = []
    leaving: dict[int, dict[str, object]] = {}
    times_stopped: dict[int, int] = {}
    for at_s, entry in log.journal:
        if isinstance(entry, Told):
            leaving[entry.row] = {
                "told_s": at_s, "left_s": np.nan, "stopped": False,
                "job_id": job_id[entry.row], "row": entry.row, "queue": entry.queue,
                "for_job_id": job_id[entry.for_row], "for_row": entry.for_row, "for_queue": entry.for_queue,
                "reason": entry.reason, "lost_gpu_s": 0.0, "earlier": times_stopped.get(entry.row, 0),
            }  # fmt: skip
            rows.append(leaving[entry.row])
        elif isinstance(entry, QuotaFreed) and entry.row in leaving:
            p = piece_of.get((entry.row, at_s), -1)
            stopped = not log.job_end_s[entry.row] <= at_s
            stopped &= p < 0 or bool(log.piece_end[p] == PieceEnd.PREEMPTED)
            lost_gpu_s = float(facts.piece_lost_s[p] * facts.piece_held[p]) if stopped and p >= 0 else 0.0
            leaving.pop(entry.row).update(left_s=at_s, stopped=stopped, lost_gpu_s=lost_gpu_s)
            times_stopped[entry.row] = times_stopped.get(entry.row, 0) + stopped
    columns = [
        "told_s", "left_s", "stopped", "job_id", "row", "queue", "for_job_id", "for_row", "for_queue", "reason",
        "lost_gpu_s", "earlier",
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)
