"""Arrivals, starts and ends of a compiled run, and what is logged of them."""

from __future__ import annotations

import numpy as np

from dlsched.domain.workload import Ints
from dlsched.sim.kernels.compiled import compiled, inlined, merged
from dlsched.sim.kernels.rigid.lanes import move_ahead, set_leaf
from dlsched.sim.kernels.rigid.room import change
from dlsched.sim.kernels.rigid.shares import hold, join_line, leave_line
from dlsched.sim.kernels.rigid.tables import Count, Rule, Run
from dlsched.sim.kernels.tables import NOT_SAID, Table
from dlsched.sim.log import JobStatus, PieceEnd

TICKS = 1e6
ENDED, RUNNING, STARTS, STAMP = int(Count.ENDED), int(Count.RUNNING), int(Count.STARTS), int(Count.STAMP)
PIECES, SHARES, WAITS = int(Count.PIECES), int(Count.SHARES), int(Count.WAITS)
SUBMITTED, TOLD, STOPPED = int(Count.SUBMITTED), int(Count.TOLD), int(Count.STOPPED)
CHANGES, CANCELS = int(Count.CHANGES), int(Count.CANCELS)
_COMPLETED, _FAILED, _CANCELLED = int(JobStatus.COMPLETED), int(JobStatus.FAILED), int(JobStatus.CANCELLED)
_FAIR = int(Rule.FAIR)
_PIECE_COMPLETED, _PIECE_FAILED = int(PieceEnd.COMPLETED), int(PieceEnd.FAILED)
_PIECE_CANCELLED, _NODE_LOST = int(PieceEnd.CANCELLED), int(PieceEnd.NODE_LOST)
_NOT_SAID = NOT_SAID


@inlined
def ticks_at(run: Run, row: int, speed: float) -> float:
    """Return how long a job is believed to hold nodes of this speed if it starts now, in ticks, not rounded."""
    return (run.rule[0].restart_s + run.jobs[row].believed / speed) * TICKS


@inlined
def believed_ticks(run: Run, row: int) -> float:
    """Return the same at the speed of the rule."""
    return ticks_at(run, row, run.rule[0].speed)


@inlined
def enqueue(run: Run, row: int) -> None:
    """A row joins its lanes."""
    jobs, kinds = run.jobs, run.kinds
    kind = jobs[row].kind
    jobs[row].waits = 1
    kinds[kind].num_waiting += 1
    if run.rule[0].looks_by_kind:
        set_leaf(run, kind, jobs[row].in_kind, jobs[row].believed)
    set_leaf(run, len(run.kinds) + kinds[kind].queue, jobs[row].place, jobs[row].believed)
    if run.rule[0].which == _FAIR:
        join_line(run, row)


@inlined
def _leave_queue(run: Run, row: int) -> None:
    kind = run.jobs[row].kind
    run.jobs[row].waits = 0
    run.kinds[kind].num_waiting -= 1
    if run.rule[0].looks_by_kind:
        set_leaf(run, kind, run.jobs[row].in_kind, np.inf)
    set_leaf(run, len(run.kinds) + run.kinds[kind].queue, run.jobs[row].place, np.inf)
    if run.rule[0].which == _FAIR:
        leave_line(run, row)


@compiled
def start(run: Run, row: int, now: float, count: int) -> None:
    """Start a waiting row on the ``count`` nodes picked."""
    first, nodes = run.counts[SHARES], run.nodes
    for k in range(count):
        run.shares[first + k].node = nodes[k].pick
        run.shares[first + k].workers = nodes[k].pick_workers
    run.counts[SHARES] += count
    run.jobs[row].first_share, run.jobs[row].num_shares = first, count
    _leave_queue(run, row)
    run_since(run, row, now)


@merged
def run_since(run: Run, row: int, now: float) -> None:
    """A row runs on its shares since ``now``."""
    jobs, kinds = run.jobs, run.kinds
    kind, speed = jobs[row].kind, np.inf
    queue = kinds[kind].queue
    for share in range(jobs[row].first_share, jobs[row].first_share + jobs[row].num_shares):
        node = run.shares[share].node
        speed = min(speed, run.nodes[node].speed)
        change(run, kind, node, run.shares[share].workers)
        run.nodes[node].is_stale = 1
    if run.rule[0].which == _FAIR:
        hold(run, row, 1)
    jobs[row].start_s, jobs[row].speed = now, speed
    jobs[row].finish_s = now + run.rule[0].restart_s + max(0.0, jobs[row].work - jobs[row].done) / speed
    jobs[row].end_ticks = np.rint(now * TICKS + ticks_at(run, row, speed))
    jobs[row].start_number = run.counts[STARTS]
    run.counts[STARTS] += 1
    run.counts[RUNNING] += 1
    _settle(run.running, run.counts[RUNNING] - 1, jobs[row].finish_s, row)
    if run.rule[0].needs_ends:
        place = _place_by_end(run, queue, jobs[row].end_ticks)
        for k in range(run.queues[queue].end_first + run.queues[queue].num_running, place, -1):
            run.by_end[k] = run.by_end[k - 1]
        run.by_end[place] = row
    run.queues[queue].num_running += 1


@merged
def complete(run: Run, row: int) -> None:
    """A running row, no longer in the heap, reaches the end of its work."""
    is_bug, at_s = run.jobs[row].is_bug, run.jobs[row].finish_s
    _end_piece(run, row, at_s, _PIECE_FAILED if is_bug else _PIECE_COMPLETED, 0.0)
    _end_job(run, row, at_s, _FAILED if is_bug else _COMPLETED)


@compiled
def cancel(run: Run, row: int) -> None:
    """An active row is taken back by its user."""
    at_s = run.jobs[row].cancel_s
    if run.jobs[row].waits:
        _leave_queue(run, row)
    else:
        _drop_running(run.running, run.counts, row)
        _end_piece(run, row, at_s, _PIECE_CANCELLED, 0.0)
    _end_job(run, row, at_s, _CANCELLED)


@compiled
def stop(run: Run, row: int, at_s: float) -> None:
    """A running row loses a node and goes back to its queue; what it did since its last checkpoint is lost.

    Sums in the order of ``dlsched.sim.progress``.
    """
    jobs, every_s = run.jobs, run.rule[0].checkpoint_s
    from_s, lost = jobs[row].start_s + run.rule[0].restart_s, 0.0
    gained = jobs[row].speed * max(0.0, at_s - from_s)
    if every_s > 0 and at_s > from_s:
        saved_s = min(at_s, from_s + np.floor((at_s - from_s) / every_s) * every_s)
        lost = gained - jobs[row].speed * max(0.0, saved_s - from_s)
    _drop_running(run.running, run.counts, row)
    _end_piece(run, row, at_s, _NODE_LOST, lost)
    jobs[row].done += gained - lost
    jobs[row].believed = max(0.0, jobs[row].believed_in_all - jobs[row].done)
    if run.rule[0].by_work_left:
        jobs[row].key = np.rint(jobs[row].believed * TICKS)
        move_ahead(run, row)
    jobs[row].reason = _NOT_SAID
    enqueue(run, row)


@inlined
def _end_piece(run: Run, row: int, at_s: float, end: int, lost_work: float) -> None:
    """A row, no longer in the heap, gives back its nodes; a piece without length is not logged."""
    jobs, queues = run.jobs, run.queues
    kind = jobs[row].kind
    for share in range(jobs[row].first_share, jobs[row].first_share + jobs[row].num_shares):
        change(run, kind, run.shares[share].node, -run.shares[share].workers)
        run.nodes[run.shares[share].node].is_stale = 1
    if run.rule[0].which == _FAIR:
        hold(run, row, -1)
    if at_s > jobs[row].start_s:
        piece = run.pieces[run.counts[PIECES]]
        piece.row, piece.start_s, piece.end_s, piece.end = row, jobs[row].start_s, at_s, end
        piece.speed, piece.lost_work = jobs[row].speed, lost_work
        piece.first_share, piece.num_shares = jobs[row].first_share, jobs[row].num_shares
        run.counts[PIECES] += 1
    queue = run.kinds[kind].queue
    if run.rule[0].needs_ends:
        place = _place_by_end(run, queue, jobs[row].end_ticks)
        while run.by_end[place] != row:  # among those that are believed to end at the same time
            place += 1
        for k in range(place, queues[queue].end_first + queues[queue].num_running - 1):
            run.by_end[k] = run.by_end[k + 1]
    queues[queue].num_running -= 1


@inlined
def _end_job(run: Run, row: int, at_s: float, status: int) -> None:
    run.jobs[row].end_s, run.jobs[row].status = at_s, status
    run.counts[ENDED] += 1


@inlined
def _place_by_end(run: Run, queue: int, ticks: float) -> int:
    """Return the place in ``by_end`` behind all that are believed to end later.

    The soonest end stands last: most jobs are short beside those that run, so that few are moved.
    """
    low = run.queues[queue].end_first
    high = low + run.queues[queue].num_running
    while low < high:
        middle = (low + high) // 2
        if run.jobs[run.by_end[middle]].end_ticks > ticks:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def say(run: Run, row: int, reason: int) -> None:
    """Log why a row waits after this decision, if that is news."""
    if run.jobs[row].reason != reason:
        run.jobs[row].reason = reason
        wait = run.waits[run.counts[WAITS]]
        wait.row, wait.decision, wait.reason = row, run.counts[STAMP] - 1, reason
        run.counts[WAITS] += 1


# ---- the heap of running jobs, soonest finish on top ------------------------------------------------------


@inlined
def _settle(running: Table, place: int, finish_s: float, row: int) -> None:
    """Put a row where nothing below ends sooner: at this place or above."""
    while place > 0:
        above = (place - 1) // 2
        if running[above].finish_s <= finish_s:
            break
        running[place].finish_s, running[place].row = running[above].finish_s, running[above].row
        place = above
    running[place].finish_s, running[place].row = finish_s, row


@compiled
def pop_running(running: Table, counts: Ints) -> int:
    """Remove and return the running row that finishes first."""
    top = running[0].row
    _drop_place(running, counts, 0)
    return top


@inlined
def _drop_running(running: Table, counts: Ints, row: int) -> None:
    place = 0
    while running[place].row != row:
        place += 1
    _drop_place(running, counts, place)


@compiled
def _drop_place(running: Table, counts: Ints, place: int) -> None:
    """Fill a place of the heap with its last row."""
    counts[RUNNING] -= 1
    count = counts[RUNNING]
    if place == count:
        return
    finish_s, row = running[count].finish_s, running[count].row
    while 2 * place + 1 < count:
        below = 2 * place + 1
        if below + 1 < count and running[below + 1].finish_s < running[below].finish_s:
            below += 1
        if running[below].finish_s >= finish_s:
            break
        running[place].finish_s, running[place].row = running[below].finish_s, running[below].row
        place = below
    _settle(running, place, finish_s, row)
