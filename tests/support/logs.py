"""Run logs written by hand, for tests of what is computed from logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dlsched.domain.policy import EventKind
from dlsched.domain.scenario import Scenario
from dlsched.domain.truth import Truth, realise
from dlsched.sim.log import JobStatus, PieceEnd, RunLog


@dataclass(frozen=True)
class Ran:
    """A piece: row, from, to, and ``on`` = workers by node."""

    row: int
    start_s: float
    end_s: float
    on: Mapping[int, int]
    end: PieceEnd = PieceEnd.COMPLETED
    rate: float = 1.0
    restart_rate: float = 0.0
    progress_from_s: float | None = None
    lost_work: float = 0.0


def make_log(
    scenario: Scenario,
    pieces: Sequence[Ran],
    ends: Mapping[int, tuple[JobStatus, float]] | None = None,
    *,
    leases: Sequence[tuple[int, int, float, float]] = (),
    waits: Sequence[tuple[int, float, int]] = (),
    decisions: Sequence[tuple[float, EventKind, float]] = (),
    end_s: float | None = None,
    stalled: bool = False,
) -> RunLog:
    """Return the log of these pieces.

    Jobs whose last piece ended COMPLETED are completed then; ``ends`` = row -> (status, time) says the rest, others
    are unfinished. ``leases`` = (node, VM number, from, to), ``waits`` = (row, from, reason), ``decisions`` = (time,
    cause, CPU seconds). The run ends with the last job, or at ``end_s``.
    """
    rows = len(scenario.workload)
    pieces = sorted(pieces, key=lambda piece: (piece.start_s, piece.row))
    status = np.full(rows, int(JobStatus.UNFINISHED), dtype=np.uint8)
    first, last = np.full(rows, np.nan), np.full(rows, np.nan)
    for piece in pieces:
        if np.isnan(first[piece.row]):
            first[piece.row] = piece.start_s
        if piece.end is PieceEnd.COMPLETED:
            status[piece.row], last[piece.row] = JobStatus.COMPLETED, piece.end_s
    for row, (how, when_s) in (ends or {}).items():
        status[row], last[row] = how, when_s
    known = last[~np.isnan(last)]
    return RunLog(
        **_piece_columns(pieces),
        job_status=status,
        job_first_start_s=first,
        job_end_s=last,
        **_named(("lease_node", "lease_vm", "lease_start_s", "lease_end_s"), (int, int, float, float), leases),
        **_decision_columns(decisions),
        **_named(("wait_row", "wait_from_s", "wait_reason"), (int, float, np.uint8), waits),
        start_s=float(scenario.workload.submit_s[0]) if rows else 0.0,
        end_s=float(known.max()) if end_s is None else end_s,
        stalled=stalled,
    )


def facts_inputs(scenario: Scenario, pieces: Sequence[Ran], *args: Any, **more: Any) -> tuple[Scenario, Truth, RunLog]:
    """Return scenario, truth and the log of these pieces."""
    return scenario, realise(scenario), make_log(scenario, pieces, *args, **more)


def _named(names: Sequence[str], kinds: Sequence[Any], records: Sequence[Sequence[Any]]) -> dict[str, Any]:
    columns = list(zip(*records, strict=True)) or [()] * len(names)
    return {name: np.array(values, dtype=kind) for name, kind, values in zip(names, kinds, columns, strict=True)}


def _piece_columns(pieces: Sequence[Ran]) -> dict[str, Any]:
    records = [
        (p.row, p.start_s, p.end_s, sum(p.on.values()), 0, p.rate, p.restart_rate,
         p.start_s if p.progress_from_s is None else p.progress_from_s, p.end, p.lost_work)
        for p in pieces
    ]  # fmt: skip
    names = (
        "row",
        "start_s",
        "end_s",
        "workers",
        "servers",
        "rate",
        "restart_rate",
        "progress_from_s",
        "end",
        "lost_work",
    )
    kinds = (int, float, float, int, int, float, float, float, np.uint8, float)
    shares = [(node, workers, 0) for p in pieces for node, workers in p.on.items()]
    return {
        **_named([f"piece_{name}" for name in names], kinds, records),
        "piece_blocked": np.zeros((len(records), 4)),
        "share_first": np.cumsum([0, *(len(p.on) for p in pieces)]),
        **_named(("share_node", "share_workers", "share_servers"), (int, int, int), shares),
    }


def _decision_columns(decisions: Sequence[tuple[float, EventKind, float]]) -> dict[str, Any]:
    blank = np.array([""] * len(decisions), dtype=object)
    return {
        **_named(("decision_s", "decision_cause", "decision_cpu_s"), (float, np.uint8, float), decisions),
        "decision_status": blank,
        "decision_objective": np.full(len(decisions), np.nan),
        "decision_bound": np.full(len(decisions), np.nan),
        "decision_note": blank.copy(),
    }
