"""Nodes, progress and log of an elastic run. Compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

from dlsched.domain.plan import WaitReason
from dlsched.policies.elastic_queueing.kernels.compiled import OPTIONS, compiled
from dlsched.policies.elastic_queueing.kernels.tables import QUEUES
from dlsched.sim.kernels.elastic.tables import Count, Run
from dlsched.sim.kernels.tables import NOT_SAID
from dlsched.sim.log import JobStatus, PieceEnd

inlined = njit(inline="always", **OPTIONS)

ENDED, PIECES, SHARES, WAITS = int(Count.ENDED), int(Count.PIECES), int(Count.SHARES), int(Count.WAITS)
_NO_ROOM, _HELD_BACK = int(WaitReason.NO_ROOM), int(WaitReason.HELD_BACK)
_STOPPED, _BEHIND = int(WaitReason.PREEMPTED), int(WaitReason.BEHIND)
_COMPLETED, _FAILED = int(JobStatus.COMPLETED), int(JobStatus.FAILED)
_PIECE_COMPLETED, _PIECE_FAILED = int(PieceEnd.COMPLETED), int(PieceEnd.FAILED)
PREEMPTED, RESIZED, MOVED = int(PieceEnd.PREEMPTED), int(PieceEnd.RESIZED), int(PieceEnd.MOVED)


@inlined
def believed_left(run: Run, row: int, now: float) -> float:
    """Return the believed work left, at least 0."""
    job = run.jobs[row]
    if job.held == 0:
        return max(0.0, job.believed - job.done)
    return max(0.0, job.believed - (job.done + job.rate * (now - job.start_s)))


@compiled
def give_back(run: Run, row: int, first: int) -> None:
    """Free the nodes of a row from its entry ``first`` on."""
    job = run.jobs[row]
    for share in range(job.first_share + first, job.first_share + job.num_shares):
        run.free[run.shares[share]] += run.share_workers[share]


@compiled
def close_piece(run: Run, row: int, at: float, end: int) -> None:
    """Log the piece of a running row and book its progress; its nodes are given back separately.

    A piece without length is left out, as ``dlsched.sim.ledger`` does: the one before then ends as the two say.
    """
    job, last = run.jobs[row], run.jobs[row].piece
    joined = last >= 0 and run.pieces[last].end_s == job.start_s
    if at > job.start_s:
        piece = run.pieces[run.counts[PIECES]]
        piece.row, piece.start_s, piece.end_s, piece.end = row, job.start_s, at, end
        piece.first_share, piece.num_shares, piece.rate = job.first_share, job.num_shares, job.rate
        piece.workers = job.held
        if joined and job.twice:
            run.pieces[last].end = _change_between(run, last, run.counts[PIECES])
        job.twice = 0
        job.piece = run.counts[PIECES]
        run.counts[PIECES] += 1
    elif joined and (run.pieces[last].end == RESIZED or run.pieces[last].end == MOVED):
        run.pieces[last].end = end
        job.twice = 1
    job.done += job.rate * (at - job.start_s)
    job.rate, job.held, job.num_shares, job.finish_s = 0.0, 0, 0, np.inf


@compiled
def _change_between(run: Run, before: int, after: int) -> int:
    one, other = run.pieces[before], run.pieces[after]
    if one.workers != other.workers:
        return RESIZED
    same = same_shares(run, one.first_share, one.num_shares, other.first_share, other.num_shares)
    return PREEMPTED if same else MOVED


@compiled
def same_shares(run: Run, first: int, count: int, other_first: int, other_count: int) -> bool:
    """Whether these shares are those, in any order."""
    if count != other_count:
        return False
    for share in range(first, first + count):
        found = False
        for other in range(other_first, other_first + count):
            if run.shares[other] == run.shares[share] and run.share_workers[other] == run.share_workers[share]:
                found = True
                break
        if not found:
            return False
    return True


@compiled
def complete(run: Run, row: int) -> None:
    """A running row reaches the end of its work."""
    job = run.jobs[row]
    job.end_s = job.finish_s
    job.status = _FAILED if job.is_bug else _COMPLETED
    give_back(run, row, 0)
    close_piece(run, row, job.end_s, _PIECE_FAILED if job.is_bug else _PIECE_COMPLETED)
    run.counts[ENDED] += 1


@compiled
def change(run: Run, row: int, width: int, next_free: int, now: float) -> int:
    """Let a row go on with so many nodes: the first of its own, then the first free ones from ``next_free`` on.

    Return where to look for free nodes next.
    """
    job = run.jobs[row]
    own, kept = job.first_share, min(job.held, width)
    if job.held > 0:
        close_piece(run, row, now, RESIZED if width > 0 else PREEMPTED)
    if width == 0:
        job.reason = NOT_SAID
        return next_free
    first, last_own, more = run.counts[SHARES], own + kept, width - kept
    for share in range(first, first + width):
        while more > 0 and run.free[next_free] == 0:
            next_free += 1
        if own < last_own and (more == 0 or run.shares[own] < next_free):
            run.shares[share] = run.shares[own]
            own += 1
        else:
            run.shares[share] = next_free
            run.free[next_free] = 0
            more -= 1
        run.share_workers[share] = 1
    run.counts[SHARES] += width
    go_on(run, row, width, first, width, now)
    return next_free


@compiled
def go_on(run: Run, row: int, width: int, first_share: int, num_shares: int, now: float) -> None:
    """A row that holds nothing runs on these shares from now on."""
    job = run.jobs[row]
    job.held, job.first_share, job.num_shares = width, first_share, num_shares
    job.start_s, job.rate = now, run.rates[job.curve, width]
    job.finish_s = now + max(0.0, job.work - job.done) / job.rate
    if job.fixed == 0:
        job.fixed = width


@compiled
def explain(run: Run, active: int, now: float) -> None:
    """Log why rows wait, where that is news: stopped for others, behind the job of their chunk, no node left, or held
    back although some are free.
    """
    in_use = 0
    for k in range(active):
        in_use += run.answer.given[k]
    code = _NO_ROOM if in_use >= len(run.free) else _HELD_BACK
    if run.rule.kind == QUEUES:
        code = _BEHIND
    for k in range(active):
        if run.answer.given[k] == 0:
            say(run, run.active[k], _STOPPED if run.jobs[run.active[k]].fixed > 0 else code, now)


@compiled
def say(run: Run, row: int, reason: int, now: float) -> None:
    """Log why a row waits, if that is news."""
    if run.jobs[row].reason != reason:
        run.jobs[row].reason = reason
        wait = run.waits[run.counts[WAITS]]
        wait.row, wait.from_s, wait.reason = row, now, reason
        run.counts[WAITS] += 1
