"""Writing the run log while the engine runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.journal import JournalEntry
from dlsched.domain.plan import Plan, Share, WaitReason
from dlsched.domain.policy import EventKind
from dlsched.domain.workload import RESOURCES, Floats, Ints
from dlsched.sim.log import JobStatus, PieceEnd, RunLog

NO_REASON_YET = 255
GOES_ON = (PieceEnd.RESIZED, PieceEnd.MOVED, PieceEnd.VM_CHANGED)


class Piece(NamedTuple):
    """One piece of a job's run, in the order of the log's columns."""

    row: int
    start_s: float
    end_s: float
    workers: int
    servers: int
    rate: float
    restart_rate: float
    progress_from_s: float
    end: PieceEnd
    lost_work: float
    shares: tuple[Share, ...]
    blocked: tuple[float, ...] | None = None


class DecisionRecord(NamedTuple):
    """One call of the policy, and what it said of its plan; not the plan itself, which may be long."""

    time_s: float
    cause: EventKind
    cpu_s: float
    status: str
    objective: float | None
    bound: float | None
    note: str

    @classmethod
    def of(cls, plan: Plan, time_s: float, cause: EventKind, cpu_s: float) -> DecisionRecord:
        """Return the record of a plan."""
        return cls(time_s, cause, cpu_s, plan.status, plan.objective, plan.bound, plan.note)


@dataclass
class RunLedger:
    """Collects pieces, ends of jobs, leases, decisions and waits of a run over ``num_jobs`` rows."""

    num_jobs: int
    pieces: list[Piece] = field(default_factory=list)
    decisions: list[DecisionRecord] = field(default_factory=list)
    leases: list[tuple[int, int, float, float]] = field(default_factory=list)
    waits: list[tuple[Ints, float, NDArray[np.uint8]]] = field(default_factory=list)
    unexplained: set[int] = field(default_factory=set)
    journal: list[tuple[float, JournalEntry]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.status = np.full(self.num_jobs, int(JobStatus.UNFINISHED), dtype=np.uint8)
        self.end_s = np.full(self.num_jobs, np.nan)
        self._last_of: dict[int, int] = {}
        self._two_changes: set[int] = set()
        self._reason = np.full(self.num_jobs, NO_REASON_YET, dtype=np.uint8)

    def close_piece(self, piece: Piece) -> None:
        """Record a piece; one without length never held anything and is left out.

        That happens when a reservation step and a plan change one row at one instant: the piece before then ends as
        the two together say.
        """
        last = self._last_of.get(piece.row)
        joined = last is not None and self.pieces[last].end_s == piece.start_s
        if piece.end_s > piece.start_s:
            if last is not None and joined and piece.row in self._two_changes:
                self.pieces[last] = self.pieces[last]._replace(end=_change_between(self.pieces[last], piece))
            self._two_changes.discard(piece.row)
            self._last_of[piece.row] = len(self.pieces)
            self.pieces.append(piece)
        elif last is not None and joined and self.pieces[last].end in GOES_ON:
            self.pieces[last] = self.pieces[last]._replace(end=piece.end)
            self._two_changes.add(piece.row)

    def close_lease(self, node: int, vm: int, start_s: float, end_s: float) -> None:
        """Record a lease; one without length costs nothing and is left out."""
        if end_s > start_s:
            self.leases.append((node, vm, start_s, end_s))

    def end_job(self, row: int, status: JobStatus, at_s: float) -> None:
        """Record how and when a job ended."""
        self.status[row], self.end_s[row] = status, at_s
        self.unexplained.discard(row)

    def begin_wait(self, row: int) -> None:
        """A row begins to wait: its reason is open until the policy has been asked."""
        self._reason[row] = NO_REASON_YET
        self.unexplained.add(row)

    def pause(self, row: int, now_s: float) -> None:
        """A row waits for the next step of its reservation; no policy need say so."""
        self._write(np.array([row]), now_s, np.array([WaitReason.BOOKED], dtype=np.uint8))

    def end_wait(self, row: int) -> None:
        """A row starts: nothing to explain any more."""
        self.unexplained.discard(row)

    def explain(self, now_s: float, waiting: NDArray[np.bool_], reasons: tuple[Ints, Ints] | None) -> None:
        """Record the changes among the reasons the policy gave, and NOT_RECORDED once where it gave none.

        ``waiting`` says for every row of the workload whether it waits now.
        """
        if reasons is not None:
            rows, codes = np.asarray(reasons[0], dtype=np.int64), np.asarray(reasons[1], dtype=np.uint8)
            changed = waiting[rows] & (self._reason[rows] != codes)
            told = rows[changed]
            if len(told):
                self._write(told, now_s, codes[changed])
        if self.unexplained:
            silent = sorted(row for row in self.unexplained if self._reason[row] == NO_REASON_YET)
            self.unexplained.clear()
            if silent:
                self._write(np.array(silent), now_s, np.full(len(silent), WaitReason.NOT_RECORDED, dtype=np.uint8))

    def _write(self, rows: Ints, now_s: float, codes: NDArray[np.uint8]) -> None:
        self._reason[rows] = codes
        self.waits.append((rows, now_s, codes))

    def finish(self, start_s: float, end_s: float, *, stalled: bool) -> RunLog:
        """Return the log of the run."""
        order = sorted(range(len(self.pieces)), key=lambda p: (self.pieces[p].start_s, self.pieces[p].row))
        pieces = [self.pieces[p] for p in order]
        return RunLog(
            **_piece_columns(pieces),
            **_share_columns(pieces),
            job_status=self.status,
            job_first_start_s=self._first_starts(pieces),
            job_end_s=self.end_s,
            **_lease_columns(sorted(self.leases, key=lambda lease: (lease[2], lease[0]))),
            **_decision_columns(self.decisions),
            **_wait_columns(self.waits),
            start_s=start_s,
            end_s=end_s,
            stalled=stalled,
            journal=tuple(self.journal),
        )

    def _first_starts(self, pieces: list[Piece]) -> Floats:
        first = np.full(self.num_jobs, np.nan)
        for piece in reversed(pieces):
            first[piece.row] = piece.start_s
        return first


def _change_between(before: Piece, after: Piece) -> PieceEnd:
    """Return what a piece ended as when this one follows at once."""
    if (before.workers, before.servers) != (after.workers, after.servers):
        return PieceEnd.RESIZED
    return PieceEnd.PREEMPTED if sorted(before.shares) == sorted(after.shares) else PieceEnd.MOVED


def _floats(values: Iterable[float]) -> Floats:
    return np.array(list(values), dtype=np.float64)


def _ints(values: Iterable[int]) -> Ints:
    return np.array(list(values), dtype=np.int64)


def _bytes(values: Iterable[int]) -> NDArray[np.uint8]:
    return np.array([int(value) for value in values], dtype=np.uint8)


def _piece_columns(pieces: list[Piece]) -> dict[str, Any]:
    columns: dict[str, Any] = dict(zip(Piece._fields, zip(*pieces, strict=True), strict=True)) if pieces else {}
    of_type = {"row": np.int64, "workers": np.int64, "servers": np.int64, "end": np.uint8}
    names = Piece._fields[:-2]
    return {
        **{f"piece_{name}": np.array(columns.get(name, ()), dtype=of_type.get(name, np.float64)) for name in names},
        "piece_blocked": _blocked(pieces),
    }


def _blocked(pieces: list[Piece]) -> Floats:
    blocked = np.zeros((len(pieces), len(RESOURCES)))
    for number, piece in enumerate(pieces):
        if piece.blocked is not None:
            blocked[number] = piece.blocked
    return blocked


def _share_columns(pieces: list[Piece]) -> dict[str, Any]:
    first = np.zeros(len(pieces) + 1, dtype=np.int64)
    np.cumsum([len(p.shares) for p in pieces], out=first[1:])
    return {
        "share_first": first,
        "share_node": _ints(s.node for p in pieces for s in p.shares),
        "share_workers": _ints(s.workers for p in pieces for s in p.shares),
        "share_servers": _ints(s.servers for p in pieces for s in p.shares),
    }


def _lease_columns(leases: list[tuple[int, int, float, float]]) -> dict[str, Any]:
    return {
        "lease_node": _ints(lease[0] for lease in leases),
        "lease_vm": _ints(lease[1] for lease in leases),
        "lease_start_s": _floats(lease[2] for lease in leases),
        "lease_end_s": _floats(lease[3] for lease in leases),
    }


def _decision_columns(decisions: list[DecisionRecord]) -> dict[str, Any]:
    def number(value: float | None) -> float:
        return np.nan if value is None else value

    return {
        "decision_s": _floats(d.time_s for d in decisions),
        "decision_cause": _bytes(d.cause for d in decisions),
        "decision_cpu_s": _floats(d.cpu_s for d in decisions),
        "decision_status": np.array([d.status for d in decisions], dtype=object),
        "decision_objective": _floats(number(d.objective) for d in decisions),
        "decision_bound": _floats(number(d.bound) for d in decisions),
        "decision_note": np.array([d.note for d in decisions], dtype=object),
    }


def _wait_columns(waits: list[tuple[Ints, float, NDArray[np.uint8]]]) -> dict[str, Any]:
    rows = [rows for rows, _, _ in waits]
    return {
        "wait_row": np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64),
        "wait_from_s": np.repeat(_floats(at_s for _, at_s, _ in waits), [len(r) for r in rows]),
        "wait_reason": np.concatenate([c for _, _, c in waits]) if waits else np.zeros(0, dtype=np.uint8),
    }
