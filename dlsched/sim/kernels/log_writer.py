"""Queue, running set and log of a compiled run."""

from __future__ import annotations

import numpy as np
from numba import njit

from dlsched.domain.plan import WaitReason
from dlsched.sim.kernels.placing import find
from dlsched.sim.kernels.tables import NOT_SAID, Count, Key, Run
from dlsched.sim.log import JobStatus, PieceEnd

compiled = njit(nogil=True)
TICKS = 1e6
EARLY_S = 1e-6

TAIL, HEAD, FREE, STAMP = int(Count.TAIL), int(Count.HEAD), int(Count.FREE), int(Count.STAMP)
RUNNING, ENDED = int(Count.RUNNING), int(Count.ENDED)
PIECES, SHARES, WAITS = int(Count.PIECES), int(Count.SHARES), int(Count.WAITS)
_REMAINING, _ATTAINED, _QUEUE = int(Key.REMAINING), int(Key.ATTAINED), int(Key.QUEUE)
_NO_ROOM, _SPLIT, _PREEMPTED = int(WaitReason.NO_ROOM), int(WaitReason.SPLIT), int(WaitReason.PREEMPTED)
_COMPLETED, _FAILED = int(JobStatus.COMPLETED), int(JobStatus.FAILED)
_PIECE_COMPLETED, _PIECE_FAILED = int(PieceEnd.COMPLETED), int(PieceEnd.FAILED)


# ---- what is known of a job ---------------------------------------------------------------------------


@compiled
def believed_left(run: Run, row: int, now: float) -> float:
    """Return the believed work left of a job that runs, at least 0."""
    job = run.jobs[row]
    return max(0.0, job.believed - (job.done + run.rule[0].speed * (now - job.start_s)))


@compiled
def held_gpu_s(run: Run, row: int, now: float) -> float:
    """Return the GPU-seconds held by a job that runs."""
    job = run.jobs[row]
    return job.attained + job.gpus * (now - job.start_s)


@compiled
def queue_number(run: Run, attained: float, gpus: int) -> int:
    """Return the queue by thresholds, 0 = first; the last bound is infinity."""
    number = 0
    while attained + gpus * EARLY_S >= run.bounds_gpu_s[number]:
        number += 1
    return number


@compiled
def key_now(run: Run, row: int, now: float) -> float:
    """Return the key of a job that runs."""
    kind = run.rule[0].key
    if kind == _REMAINING:
        return np.rint(believed_left(run, row, now) * TICKS)
    if kind == _ATTAINED:
        return np.rint(held_gpu_s(run, row, now) * TICKS)
    if kind == _QUEUE:
        return float(queue_number(run, held_gpu_s(run, row, now), run.jobs[row].gpus))
    return run.jobs[row].key


@compiled
def goes_before(run: Run, a: int, b: int) -> bool:
    """Whether row ``a`` is ahead of row ``b``: by key, then by source order."""
    return run.jobs[a].key < run.jobs[b].key or (run.jobs[a].key == run.jobs[b].key and a < b)


# ---- the queue and the heap of running jobs -------------------------------------------------------------


@compiled
def enqueue(run: Run, row: int) -> None:
    """Insert a row into the sorted queue; at its end for first come, first served."""
    low, high = run.counts[HEAD], run.counts[TAIL]
    while low < high:
        middle = (low + high) // 2
        if goes_before(run, row, run.waiting[middle]):
            high = middle
        else:
            low = middle + 1
    for place in range(run.counts[TAIL], low, -1):
        run.waiting[place] = run.waiting[place - 1]
    run.waiting[low] = row
    run.counts[TAIL] += 1


@compiled
def push_running(run: Run, row: int) -> None:
    """Add a row to the heap of running jobs, soonest finish on top."""
    place = run.counts[RUNNING]
    run.counts[RUNNING] += 1
    finish = run.jobs[row].finish_s
    while place > 0:
        above = (place - 1) // 2
        if run.jobs[run.running[above]].finish_s <= finish:
            break
        run.running[place] = run.running[above]
        place = above
    run.running[place] = row


@compiled
def pop_running(run: Run) -> int:
    """Remove and return the running row that finishes first."""
    top = run.running[0]
    run.counts[RUNNING] -= 1
    count = run.counts[RUNNING]
    row = run.running[count]
    finish, place = run.jobs[row].finish_s, 0
    while 2 * place + 1 < count:
        below = 2 * place + 1
        if below + 1 < count and run.jobs[run.running[below + 1]].finish_s < run.jobs[run.running[below]].finish_s:
            below += 1
        if run.jobs[run.running[below]].finish_s >= finish:
            break
        run.running[place] = run.running[below]
        place = below
    run.running[place] = row
    return top


# ---- starts and ends ------------------------------------------------------------------------------------


@compiled
def find_now(run: Run, row: int) -> int:
    """Look for room for a row in what is free; return the number of nodes in ``nodes.pick``."""
    nodes = run.nodes
    if run.jobs[row].gpus > run.counts[FREE]:
        return 0
    return find(nodes.free, nodes.capacity, run.jobs[row].gpus, run.rule[0].placement, nodes.pick, nodes.pick_workers)


@compiled
def start(run: Run, row: int, now: float, count: int) -> None:
    """Start a row on the ``count`` nodes picked; the caller puts it among the running."""
    job, first = run.jobs[row], run.counts[SHARES]
    for k in range(count):
        node, workers = run.nodes[k].pick, run.nodes[k].pick_workers
        run.shares[first + k].node = node
        run.shares[first + k].workers = workers
        run.nodes[node].free -= workers
    run.counts[SHARES] += count
    run.counts[FREE] -= job.gpus
    job.first_share, job.num_shares = first, count
    job.start_s = now
    job.finish_s = now + max(0.0, job.work - job.done) / run.rule[0].speed
    job.running, job.stopped = 1, 0


@compiled
def give(run: Run, row: int, sign: int) -> None:
    """Give the nodes of a row back (sign 1) or take them again (sign -1)."""
    job = run.jobs[row]
    for share in range(job.first_share, job.first_share + job.num_shares):
        run.nodes[run.shares[share].node].free += sign * run.shares[share].workers
    run.counts[FREE] += sign * job.gpus


@compiled
def close_piece(run: Run, row: int, at: float, end: int) -> None:
    """Log the piece of a running row and book its progress; its nodes are given back separately."""
    job = run.jobs[row]
    if at > job.start_s:
        piece = run.pieces[run.counts[PIECES]]
        piece.row, piece.start_s, piece.end_s, piece.end = row, job.start_s, at, end
        piece.first_share, piece.num_shares = job.first_share, job.num_shares
        run.counts[PIECES] += 1
    job.done += run.rule[0].speed * (at - job.start_s)
    job.attained += job.gpus * (at - job.start_s)
    job.running = 0


@compiled
def complete(run: Run, row: int) -> None:
    """A running row reaches the end of its work."""
    job = run.jobs[row]
    give(run, row, 1)
    close_piece(run, row, job.finish_s, _PIECE_FAILED if job.is_bug else _PIECE_COMPLETED)
    job.end_s = job.finish_s
    job.status = _FAILED if job.is_bug else _COMPLETED
    run.counts[ENDED] += 1


@compiled
def say(run: Run, row: int, reason: int, now: float) -> None:
    """Log why a row waits, if that is news."""
    if run.jobs[row].reason != reason:
        run.jobs[row].reason = reason
        wait = run.waits[run.counts[WAITS]]
        wait.row, wait.from_s, wait.reason = row, now, reason
        run.counts[WAITS] += 1


@compiled
def say_no_room(run: Run, row: int, now: float) -> None:
    """Log why a row that does not fit waits, judged by what is free after the decision."""
    if run.jobs[row].gpus <= run.counts[FREE]:
        say(run, row, _SPLIT, now)
    else:
        say(run, row, _PREEMPTED if run.jobs[row].stopped else _NO_ROOM, now)


@compiled
def say_nothing(run: Run, row: int) -> None:
    """A row goes back to the queue: what it was told before is out of date."""
    run.jobs[row].reason = NOT_SAID
