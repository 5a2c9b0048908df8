"""Arrivals, starts, stops and ends of jobs on their nodes, compiled, and what is logged of them."""

from __future__ import annotations

import numpy as np

from dlsched.sim.kernels.compiled import compiled, inlined
from dlsched.sim.kernels.preemptive.heap import pop, push
from dlsched.sim.kernels.queue_tree.tables import Count, Job, Loses, Run
from dlsched.sim.kernels.rigid.room import change, find, fits, why_no_room
from dlsched.sim.kernels.tables import NOT_SAID
from dlsched.sim.log import JobStatus, PieceEnd

SUBMITTED, ENDED, RUNNING = int(Count.SUBMITTED), int(Count.ENDED), int(Count.RUNNING)
ENDS, WIDTH, PIECES, SHARES = int(Count.ENDS), int(Count.WIDTH), int(Count.PIECES), int(Count.SHARES)
DECISIONS, DUE = int(Count.DECISIONS), int(Count.DUE)
WAITING, ADMITTED_NOW, RUNS = int(Job.WAITS), int(Job.ADMITTED), int(Job.RUNS)
_NOTHING, _ALL = int(Loses.NOTHING), int(Loses.ALL)
_COMPLETED, _FAILED = int(JobStatus.COMPLETED), int(JobStatus.FAILED)
_PIECE_COMPLETED, _PIECE_FAILED = int(PieceEnd.COMPLETED), int(PieceEnd.FAILED)
_PREEMPTED = int(PieceEnd.PREEMPTED)


@compiled
def take_room(run: Run, row: int) -> bool:
    """Take nodes for a row by the placement rule; return whether there is room, else note why not."""
    job = run.jobs[row]
    if not fits(run, job.kind):
        job.no_room = why_no_room(run, job.kind)
        return False
    count, first = find(run, job.kind), run.counts[SHARES]
    for k in range(count):
        run.shares[first + k].node = run.nodes[k].pick
        run.shares[first + k].workers = run.nodes[k].pick_workers
    job.first_share, job.num_shares = first, count
    run.counts[SHARES] += count
    _change_room(run, row, 1)
    return True


@compiled
def give_back(run: Run, row: int) -> None:
    """Give the nodes of a row back."""
    _change_room(run, row, -1)


@inlined
def _change_room(run: Run, row: int, sign: int) -> None:
    job = run.jobs[row]
    for share in range(job.first_share, job.first_share + job.num_shares):
        change(run, job.kind, run.shares[share].node, sign * run.shares[share].workers)


@compiled
def start(run: Run, row: int, now: float) -> None:
    """A row with nodes starts."""
    job = run.jobs[row]
    job.state = RUNS
    job.start_s, job.progress_from_s, job.speed = now, now + run.rule[0].restart_s, np.inf
    for share in range(job.first_share, job.first_share + job.num_shares):
        job.speed = min(job.speed, run.nodes[run.shares[share].node].speed)
    job.finish_s = job.progress_from_s + max(0.0, job.work - job.done) / job.speed
    run.counts[RUNNING] += 1
    if run.counts[ENDS] == len(run.ends):
        _forget_stale_ends(run)
    push(run.ends, 0, run.counts[ENDS], job.finish_s, row)
    run.counts[ENDS] += 1


@compiled
def stop(run: Run, row: int, now: float) -> None:
    """A running row is evicted and goes back to its queue; sums in the order of ``dlsched.sim.progress``."""
    job, rule = run.jobs[row], run.rule[0]
    from_s, lost = job.progress_from_s, 0.0
    gained = job.speed * max(0.0, now - from_s)
    if rule.loses == _ALL:
        lost = gained
    elif rule.loses != _NOTHING and rule.checkpoint_s > 0 and now > from_s:
        saved_s = min(now, from_s + np.floor((now - from_s) / rule.checkpoint_s) * rule.checkpoint_s)
        lost = gained - job.speed * max(0.0, saved_s - from_s)
    give_back(run, row)
    _close_piece(run, row, now, _PREEMPTED, lost)
    job.reason = NOT_SAID


@compiled
def complete(run: Run, row: int) -> None:
    """A running row reaches the end of its work; its quota is freed in the decision that follows."""
    job = run.jobs[row]
    give_back(run, row)
    _close_piece(run, row, job.finish_s, _PIECE_FAILED if job.is_bug else _PIECE_COMPLETED, 0.0)
    end_job(run, row, job.finish_s, _FAILED if job.is_bug else _COMPLETED)
    run.due[run.counts[DUE]] = row
    run.counts[DUE] += 1


@inlined
def _close_piece(run: Run, row: int, at: float, end: int, lost_work: float) -> None:
    job = run.jobs[row]
    if at > job.start_s:
        piece = run.pieces[run.counts[PIECES]]
        piece.row, piece.start_s, piece.end_s, piece.end = row, job.start_s, at, end
        piece.progress_from_s, piece.speed, piece.lost_work = job.progress_from_s, job.speed, lost_work
        piece.first_share, piece.num_shares = job.first_share, job.num_shares
        run.counts[PIECES] += 1
    job.done += job.speed * max(0.0, at - job.progress_from_s) - lost_work
    job.state = 0
    run.counts[RUNNING] -= 1


@compiled
def end_job(run: Run, row: int, at_s: float, status: int) -> None:
    """A row has left the system."""
    run.jobs[row].end_s, run.jobs[row].status = at_s, status
    run.counts[ENDED] += 1
    run.counts[WIDTH] -= most_shares(run, row)


@inlined
def most_shares(run: Run, row: int) -> int:
    """Return on how many nodes a row can be at most."""
    return min(len(run.nodes), run.kinds[run.jobs[row].kind].workers)


# ---- when they end ----------------------------------------------------------------------------------------


@inlined
def next_end_s(run: Run) -> float:
    """Return when the first running row ends; infinity = none runs."""
    while run.counts[ENDS] > 0 and _is_stale(run, 0):
        drop_next_end(run)
    return run.ends[0].key if run.counts[ENDS] > 0 else np.inf


@inlined
def drop_next_end(run: Run) -> None:
    """Take the first entry out of the heap of ends."""
    pop(run.ends, 0, run.counts[ENDS])
    run.counts[ENDS] -= 1


@inlined
def _is_stale(run: Run, place: int) -> bool:
    job = run.jobs[run.ends[place].row]
    return job.state != RUNS or job.finish_s != run.ends[place].key


@compiled
def _forget_stale_ends(run: Run) -> None:
    """Keep one entry of each row that runs: a row that stopped and went on may finish when it would have before."""
    before, kept = run.counts[ENDS], 0
    for place in range(before):
        run.jobs[run.ends[place].row].in_ends = 0
    for place in range(before):
        key, row = run.ends[place].key, run.ends[place].row
        if not _is_stale(run, place) and not run.jobs[row].in_ends:
            run.jobs[row].in_ends = 1
            push(run.ends, 0, kept, key, row)
            kept += 1
    run.counts[ENDS] = kept
