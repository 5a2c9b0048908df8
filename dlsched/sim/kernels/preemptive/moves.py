"""Arrivals, starts, stops and ends of a compiled run of jobs that may be stopped, and what is logged of them."""

from __future__ import annotations

import numpy as np

from dlsched.domain.plan import WaitReason
from dlsched.policies.shared.ranks import NEARLY
from dlsched.sim.kernels.compiled import compiled, inlined, merged
from dlsched.sim.kernels.preemptive.heap import pop, push
from dlsched.sim.kernels.preemptive.lanes import insert, remove
from dlsched.sim.kernels.preemptive.runners import key_of, put_in_order, queue_number
from dlsched.sim.kernels.preemptive.tables import Count, Key, Run
from dlsched.sim.kernels.rigid.room import fits, recount, take
from dlsched.sim.kernels.rigid.tables import NUM_RESOURCES
from dlsched.sim.kernels.tables import NOT_SAID
from dlsched.sim.log import JobStatus, PieceEnd

SUBMITTED, ENDED, RUNNING = int(Count.SUBMITTED), int(Count.ENDED), int(Count.RUNNING)
WAITING, ENDS, FRESH, CHANGED = int(Count.WAITING), int(Count.ENDS), int(Count.FRESH), int(Count.CHANGED)
CHANGES, CANCELS, IDLE, LEARNT = int(Count.CHANGES), int(Count.CANCELS), int(Count.IDLE), int(Count.LEARNT)
PIECES, SHARES, DECISIONS, WAITS = int(Count.PIECES), int(Count.SHARES), int(Count.DECISIONS), int(Count.WAITS)
_REMAINING = int(Key.REMAINING)
_NO_ROOM, _PREEMPTED = int(WaitReason.NO_ROOM), int(WaitReason.PREEMPTED)
_COMPLETED, _FAILED, _CANCELLED = int(JobStatus.COMPLETED), int(JobStatus.FAILED), int(JobStatus.CANCELLED)
_PIECE_COMPLETED, _PIECE_FAILED = int(PieceEnd.COMPLETED), int(PieceEnd.FAILED)
_PIECE_CANCELLED, _NODE_LOST, _MOVED = int(PieceEnd.CANCELLED), int(PieceEnd.NODE_LOST), int(PieceEnd.MOVED)


# ---- who waits --------------------------------------------------------------------------------------------


@compiled
def enqueue(run: Run, row: int) -> None:
    """A row that does not run begins to wait."""
    job, kind = run.jobs[row], run.jobs[row].kind
    progress = job.done if run.rule[0].key == _REMAINING else job.attained
    number = queue_number(progress, job.gpus, run.bounds_gpu_s, 0)
    key = key_of(run.rule[0].key, progress, job.believed, job.first_key, run.ranks[job.width, number])
    insert(run.lanes, run.sorted, run.heap, kind, key, row)
    _count_waiting(run, kind, 1)
    job.waits, job.reason = 1, NOT_SAID
    run.fresh[run.counts[FRESH]] = row
    run.counts[FRESH] += 1


@inlined
def _count_waiting(run: Run, kind: int, more: int) -> None:
    queue = run.queues[run.kinds[kind].queue]
    run.kinds[kind].num_waiting += more
    queue.num_waiting += more
    queue.units_waiting += more * run.lanes[kind].units
    run.counts[WAITING] += more


# ---- who runs ---------------------------------------------------------------------------------------------


@compiled
def start_first(run: Run, kind: int, now: float, count: int) -> None:
    """Start the first of a kind that wait, on the ``count`` nodes picked."""
    lane = run.lanes[kind]
    row = run.sorted[lane.first].row
    lane.first += 1
    _count_waiting(run, kind, -1)
    run.jobs[row].waits = 0
    queue = run.queues[run.kinds[kind].queue]
    place = queue.first_runner + queue.num_runners
    queue.num_runners += 1
    start_at(run, row, place, now, count, run.rule[0].restart_s)


@merged
def start_at(run: Run, row: int, place: int, now: float, count: int, restart_s: float) -> None:
    """Start a row on the ``count`` nodes picked, with this place among the runners of its queue."""
    first, nodes = run.counts[SHARES], run.nodes
    for k in range(count):
        run.shares[first + k].node = nodes[k].pick
        run.shares[first + k].workers = nodes[k].pick_workers
    run.counts[SHARES] += count
    run.jobs[row].first_share, run.jobs[row].num_shares = first, count
    run_since(run, row, place, now, restart_s)


@merged
def run_since(run: Run, row: int, place: int, start_s: float, restart_s: float) -> None:
    """A row runs on its shares since ``start_s``."""
    job, runner = run.jobs[row], run.runners[place]
    hold(run, row, 1)
    job.start_s, job.progress_from_s, job.speed = start_s, start_s + restart_s, np.inf
    for share in range(job.first_share, job.first_share + job.num_shares):
        job.speed = min(job.speed, run.nodes[run.shares[share].node].speed)
    job.finish_s = job.progress_from_s + max(0.0, job.work - job.done) / job.speed
    job.running, job.stopped = 1, 0
    runner.row, runner.key, runner.finish_s, runner.believed = row, job.first_key, job.finish_s, job.believed
    if run.rule[0].key == _REMAINING:
        runner.before, runner.rate, runner.since_s = job.done, job.speed, job.progress_from_s
    else:
        runner.before, runner.rate, runner.since_s = job.attained, job.gpus, job.start_s
    runner.units, runner.width, runner.queue = run.lanes[job.kind].units, job.width, 0
    runner.kind, runner.in_class = job.kind, _one_class(run, row)
    run.queues[run.kinds[job.kind].queue].num_running += 1
    run.counts[RUNNING] += 1
    if run.counts[ENDS] == len(run.ends):
        _forget_stale_ends(run)
    push(run.ends, 0, run.counts[ENDS], job.finish_s, row)
    run.counts[ENDS] += 1


@compiled
def _one_class(run: Run, row: int) -> int:
    """Return the class of nodes on which a row runs, -1 = several."""
    first = run.jobs[row].first_share
    number = run.class_of[run.shares[first].node]
    for share in range(first + 1, first + run.jobs[row].num_shares):
        if run.class_of[run.shares[share].node] != number:
            return -1
    return number


@inlined
def hold(run: Run, row: int, sign: int) -> None:
    """Take the nodes of a row (sign 1) or give them back (sign -1); who has room is counted later."""
    job = run.jobs[row]
    for share in range(job.first_share, job.first_share + job.num_shares):
        node = run.shares[share].node
        take(run.nodes, run.queues, run.rule, run.kinds[job.kind].demand, node, sign * run.shares[share].workers)
        if not run.is_changed[node]:
            run.is_changed[node] = 1
            run.changed[run.counts[CHANGED]] = node
            run.counts[CHANGED] += 1
    queue = run.queues[run.kinds[job.kind].queue]
    queue.units_free -= sign * run.lanes[job.kind].units
    if not queue.one_total:
        _load_classes(run, row, sign)


@compiled
def _load_classes(run: Run, row: int, sign: int) -> None:
    """Count the whole need of a row in each class of nodes on which it runs, or no longer (sign -1)."""
    job = run.jobs[row]
    kind = run.kinds[job.kind]
    run.classes[:] = 0
    for share in range(job.first_share, job.first_share + job.num_shares):
        number = run.class_of[run.shares[share].node]
        if not run.classes[number]:
            run.classes[number] = 1
            for resource in range(NUM_RESOURCES):
                run.load[number, resource] += sign * kind.demand[resource] * kind.workers


@inlined
def has_room(run: Run, kind: int) -> bool:
    """Whether a kind has room now."""
    while run.counts[CHANGED] > 0:
        run.counts[CHANGED] -= 1
        node = run.changed[run.counts[CHANGED]]
        run.is_changed[node] = 0
        recount(run.nodes, run.queues, run.measures, run.members, run.on_node, run.allowed, run.rule, node)
    return fits(run, kind)


@compiled
def close_piece(run: Run, row: int, at: float, end: int, lost_work: float) -> None:
    """Log the piece of a running row, which has given its nodes back, and book its progress.

    Sums in the order of ``dlsched.sim.progress``.
    """
    job = run.jobs[row]
    if at > job.start_s:
        piece = run.pieces[run.counts[PIECES]]
        piece.row, piece.start_s, piece.end_s, piece.end = row, job.start_s, at, end
        piece.progress_from_s, piece.speed, piece.lost_work = job.progress_from_s, job.speed, lost_work
        piece.first_share, piece.num_shares = job.first_share, job.num_shares
        job.last_piece = run.counts[PIECES]
        run.counts[PIECES] += 1
    elif job.last_piece >= 0 and run.pieces[job.last_piece].end == _MOVED:
        run.pieces[job.last_piece].end = end  # it ends where it would have gone on
    job.done += job.speed * max(0.0, at - job.progress_from_s) - lost_work
    job.attained += job.gpus * (at - job.start_s)
    job.running = 0
    run.queues[run.kinds[job.kind].queue].num_running -= 1
    run.counts[RUNNING] -= 1


@merged
def complete(run: Run, row: int) -> None:
    """A running row reaches the end of its work."""
    job = run.jobs[row]
    hold(run, row, -1)
    close_piece(run, row, job.finish_s, _PIECE_FAILED if job.is_bug else _PIECE_COMPLETED, 0.0)
    _end_job(run, row, job.finish_s, _FAILED if job.is_bug else _COMPLETED)


@compiled
def cancel(run: Run, row: int) -> None:
    """An active row is taken back by its user."""
    at_s, kind = run.jobs[row].cancel_s, run.jobs[row].kind
    if run.jobs[row].waits:
        run.jobs[row].waits = 0
        remove(run.lanes, run.sorted, kind, row)
        _count_waiting(run, kind, -1)
    else:
        of = run.queues[run.kinds[kind].queue]
        for place in range(of.first_runner, of.first_runner + of.num_runners):
            if run.runners[place].row == row:
                run.runners[place].row = -1
        hold(run, row, -1)
        close_piece(run, row, at_s, _PIECE_CANCELLED, 0.0)
    _end_job(run, row, at_s, _CANCELLED)


@inlined
def _end_job(run: Run, row: int, at_s: float, status: int) -> None:
    job = run.jobs[row]
    job.end_s, job.status = at_s, status
    run.counts[ENDED] += 1
    if job.attained > 0:
        number = 0
        while job.attained > run.bounds_gpu_s[number] * NEARLY:
            number += 1
        run.needed[job.width, number] += 1
        run.counts[LEARNT] += 1


@compiled
def lose_node(run: Run, row: int, place: int, at_s: float) -> None:
    """The row at this place among the runners loses a node and goes back to its queue.

    What it did since its last checkpoint is lost. Sums in the order of ``dlsched.sim.progress``.
    """
    job, every_s, lost = run.jobs[row], run.rule[0].checkpoint_s, 0.0
    from_s = job.progress_from_s
    if every_s > 0 and at_s > from_s:
        saved_s = min(at_s, from_s + np.floor((at_s - from_s) / every_s) * every_s)
        lost = job.speed * max(0.0, at_s - from_s) - job.speed * max(0.0, saved_s - from_s)
    run.runners[place].row = -1
    hold(run, row, -1)
    close_piece(run, row, at_s, _NODE_LOST, lost)
    enqueue(run, row)


@inlined
def put_queue_in_order(run: Run, queue: int, now: float) -> None:
    """Sort the runners of a queue by their keys now."""
    of = run.queues[queue]
    of.num_runners = put_in_order(
        run.runners, of.first_runner, of.num_runners, now, run.clock[2], run.rule[0].key, run.bounds_gpu_s, run.ranks
    )


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
    return not job.running or job.finish_s != run.ends[place].key


@compiled
def _forget_stale_ends(run: Run) -> None:
    """Keep one entry of each row that runs: a row that moved may finish when it would have before."""
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


# ---- why they wait ----------------------------------------------------------------------------------------


@inlined
def say(run: Run, row: int, reason: int) -> None:
    """Log why a row waits after this decision, if that is news; a job that was stopped is told so."""
    told = _PREEMPTED if reason == _NO_ROOM and run.jobs[row].stopped else reason
    if run.jobs[row].reason != told:
        run.jobs[row].reason = told
        wait = run.waits[run.counts[WAITS]]
        wait.row, wait.decision, wait.reason = row, run.counts[DECISIONS] - 1, told
        run.counts[WAITS] += 1
