"""The decisions of the list policies, compiled; the same rules as ``dlsched.policies.baselines.disciplines``."""

from __future__ import annotations

import numpy as np
from numba import njit

from dlsched.domain.plan import WaitReason
from dlsched.sim.kernels.log_writer import (
    EARLY_S,
    FREE,
    HEAD,
    RUNNING,
    STAMP,
    TAIL,
    TICKS,
    believed_left,
    close_piece,
    find_now,
    give,
    goes_before,
    held_gpu_s,
    key_now,
    push_running,
    queue_number,
    say,
    say_no_room,
    say_nothing,
    start,
)
from dlsched.sim.kernels.placing import find
from dlsched.sim.kernels.tables import Count, Key, Run
from dlsched.sim.log import PieceEnd

compiled = njit(nogil=True)
LAST_HEAD = int(Count.LAST_HEAD)
_BEHIND, _RESERVED = int(WaitReason.BEHIND), int(WaitReason.RESERVED)
_PREEMPTED, _MOVED = int(PieceEnd.PREEMPTED), int(PieceEnd.MOVED)
_QUEUE = int(Key.QUEUE)


@compiled
def decide(run: Run, now: float, first_new: int, past_new: int) -> float:
    """Decide who runs; rows first_new to past_new - 1 have just been submitted. Return the next alarm."""
    run.counts[STAMP] += 1
    if run.rule[0].preemptive:
        _preempt(run, now)
        return _alarm(run, now)
    if run.rule[0].backfill:
        _easy(run, now)
    elif run.rule[0].blocking:
        _head_of_line(run, now, first_new, past_new)
    else:
        _with_skip(run, now)
    return np.inf


@compiled
def _try_start(run: Run, row: int, now: float) -> bool:
    """Start a row if there is room; a size that has failed in this decision is not tried again."""
    size = run.sizes[run.jobs[row].gpus]
    if size.failed == run.counts[STAMP]:
        return False
    count = find_now(run, row)
    if count == 0:
        size.failed = run.counts[STAMP]
        return False
    start(run, row, now, count)
    return True


@compiled
def _start_from_head(run: Run, now: float) -> None:
    while run.counts[HEAD] < run.counts[TAIL]:
        row = run.waiting[run.counts[HEAD]]
        if not _try_start(run, row, now):
            break
        push_running(run, row)
        run.counts[HEAD] += 1


@compiled
def _head_of_line(run: Run, now: float, first_new: int, past_new: int) -> None:
    _start_from_head(run, now)
    head = -1
    if run.counts[HEAD] < run.counts[TAIL]:
        head = run.waiting[run.counts[HEAD]]
        say_no_room(run, head, now)
    old_head = run.counts[LAST_HEAD]
    if old_head >= 0 and old_head != head and not run.jobs[old_head].running:
        say(run, old_head, _BEHIND, now)
    for row in range(first_new, past_new):
        if row != head and not run.jobs[row].running:
            say(run, row, _BEHIND, now)
    run.counts[LAST_HEAD] = head


@compiled
def _with_skip(run: Run, now: float) -> None:
    kept = run.counts[HEAD]
    for place in range(run.counts[HEAD], run.counts[TAIL]):
        row = run.waiting[place]
        if run.counts[FREE] > 0 and _try_start(run, row, now):
            push_running(run, row)
        else:
            run.waiting[kept] = row
            kept += 1
    run.counts[TAIL] = kept
    for place in range(run.counts[HEAD], kept):
        say_no_room(run, run.waiting[place], now)


# ---- EASY backfill ----------------------------------------------------------------------------------------


@compiled
def _easy(run: Run, now: float) -> None:
    _start_from_head(run, now)
    if run.counts[HEAD] == run.counts[TAIL]:
        return
    head = run.waiting[run.counts[HEAD]]
    kept = run.counts[HEAD] + 1
    shadow, known = np.inf, False
    for place in range(run.counts[HEAD] + 1, run.counts[TAIL]):
        row = run.waiting[place]
        count = 0
        if run.counts[FREE] > 0 and run.sizes[run.jobs[row].gpus].failed != run.counts[STAMP]:
            if not known:
                shadow, known = _shadow_ticks(run, head, now), True
            count = _room_beside(run, row, now, head, shadow)
        if count > 0:
            start(run, row, now, count)
            push_running(run, row)
        else:
            run.waiting[kept] = row
            kept += 1
    run.counts[TAIL] = kept
    _say_why_not_backfilled(run, now)


@compiled
def _room_beside(run: Run, row: int, now: float, head: int, shadow: float) -> int:
    """Return the number of nodes picked for a row that does not break the head's promise, else 0."""
    job, nodes = run.jobs[row], run.nodes
    size = run.sizes[job.gpus]
    late = np.rint((now + job.believed / run.rule[0].speed) * TICKS) > shadow
    if late and size.in_the_way == run.counts[RUNNING]:
        return 0
    count = find_now(run, row)
    if count == 0:
        size.failed = run.counts[STAMP]
    if count == 0 or not late:
        return count
    for k in range(count):
        nodes[nodes[k].pick].shadow -= nodes[k].pick_workers
    if _head_fits(run, head):
        return count
    for k in range(count):
        nodes[nodes[k].pick].shadow += nodes[k].pick_workers
    size.in_the_way = run.counts[RUNNING]
    return 0


@compiled
def _head_fits(run: Run, head: int) -> bool:
    nodes, gpus, rule = run.nodes, run.jobs[head].gpus, run.rule[0].placement
    return find(nodes.shadow, nodes.capacity, gpus, rule, nodes.trial, nodes.trial_workers) > 0


@compiled
def _shadow_ticks(run: Run, head: int, now: float) -> float:
    """Free ``nodes.shadow`` by believed ends until the head fits; return that time in millionths of a second."""
    count = run.counts[RUNNING]
    for node in range(len(run.nodes)):
        run.nodes[node].shadow = run.nodes[node].free
    for size in range(len(run.sizes)):  # remembered by the number of running jobs, which is new in each decision
        run.sizes[size].in_the_way = -1
    ends = np.empty(count)
    for k in range(count):
        ends[k] = np.rint((now + believed_left(run, run.running[k], now) / run.rule[0].speed) * TICKS)
    order = np.argsort(ends)
    for k in range(count):
        job = run.jobs[run.running[order[k]]]
        for share in range(job.first_share, job.first_share + job.num_shares):
            run.nodes[run.shares[share].node].shadow += run.shares[share].workers
        last_of_tie = k + 1 == count or ends[order[k + 1]] > ends[order[k]]
        if last_of_tie and _head_fits(run, head):
            return ends[order[k]]
    return np.inf


@compiled
def _say_why_not_backfilled(run: Run, now: float) -> None:
    for place in range(run.counts[HEAD], run.counts[TAIL]):
        row = run.waiting[place]
        size = run.sizes[run.jobs[row].gpus]
        if size.failed != run.counts[STAMP] and size.fits != run.counts[STAMP]:
            if find_now(run, row) > 0:
                size.fits = run.counts[STAMP]
            else:
                size.failed = run.counts[STAMP]
        if size.failed == run.counts[STAMP]:
            say_no_room(run, row, now)
        else:
            say(run, row, _RESERVED, now)


# ---- preemption ---------------------------------------------------------------------------------------------


@compiled
def _preempt(run: Run, now: float) -> None:
    """Select by totals, keep, stop, place (decision 001)."""
    count = _merge(run, now)
    _select(run, count)
    for k in range(count):
        row = run.merged[k]
        if run.jobs[row].running and not run.jobs[row].selected:
            give(run, row, 1)
    all_placed = True
    for k in range(count):
        row = run.merged[k]
        if run.jobs[row].selected and not run.jobs[row].running:
            all_placed = _try_start(run, row, now) and all_placed
    for k in range(count):
        row = run.merged[k]
        if not run.jobs[row].selected:
            _offer_rest(run, row, now, all_placed)
    _split(run, count)
    for place in range(run.counts[TAIL]):
        say_no_room(run, run.waiting[place], now)


@compiled
def _merge(run: Run, now: float) -> int:
    """Sort running and waiting rows into ``merged`` by their keys now; return how many."""
    running, count = run.running, run.counts[RUNNING]
    for k in range(count):
        row = running[k]
        run.jobs[row].key = key_now(run, row, now)
        place = k
        while place > 0 and goes_before(run, row, running[place - 1]):
            running[place] = running[place - 1]
            place -= 1
        running[place] = row
    i, j, total = 0, run.counts[HEAD], 0
    while i < count or j < run.counts[TAIL]:
        from_running = j == run.counts[TAIL] or (i < count and goes_before(run, running[i], run.waiting[j]))
        run.merged[total] = running[i] if from_running else run.waiting[j]
        i, j, total = i + from_running, j + (not from_running), total + 1
    return total


@compiled
def _select(run: Run, count: int) -> None:
    left = run.counts[FREE]
    for k in range(run.counts[RUNNING]):
        left += run.jobs[run.running[k]].gpus
    for k in range(count):
        job = run.jobs[run.merged[k]]
        job.selected = job.gpus <= left
        left -= job.gpus * job.selected


@compiled
def _offer_rest(run: Run, row: int, now: float, all_placed: bool) -> None:
    """Give a row that was not selected what the selected could not use; stop it for good if it ran."""
    job = run.jobs[row]
    if not job.running:
        if not all_placed:
            _try_start(run, row, now)
        return
    if not all_placed and _own_nodes_free(run, row):
        give(run, row, -1)
        return
    if all_placed or run.sizes[job.gpus].failed == run.counts[STAMP] or not _move(run, row, now):
        close_piece(run, row, now, _PREEMPTED)
        say_nothing(run, row)
        job.stopped = 1


@compiled
def _own_nodes_free(run: Run, row: int) -> bool:
    job = run.jobs[row]
    for share in range(job.first_share, job.first_share + job.num_shares):
        if run.nodes[run.shares[share].node].free < run.shares[share].workers:
            return False
    return True


@compiled
def _move(run: Run, row: int, now: float) -> bool:
    count = find_now(run, row)
    if count == 0:
        run.sizes[run.jobs[row].gpus].failed = run.counts[STAMP]
        return False
    close_piece(run, row, now, _MOVED)
    start(run, row, now, count)
    return True


@compiled
def _split(run: Run, count: int) -> None:
    """Sort the merged rows back into running and waiting."""
    run.counts[RUNNING] = run.counts[HEAD] = run.counts[TAIL] = 0
    for k in range(count):
        row = run.merged[k]
        if run.jobs[row].running:
            run.running[run.counts[RUNNING]] = row
            run.counts[RUNNING] += 1
        else:
            run.waiting[run.counts[TAIL]] = row
            run.counts[TAIL] += 1


@compiled
def _alarm(run: Run, now: float) -> float:
    """Return when to decide again besides the events: only while somebody waits."""
    if run.counts[TAIL] == 0:
        return np.inf
    quantum = run.rule[0].quantum_s
    if quantum > 0:
        return (np.floor((now + EARLY_S) / quantum) + 1) * quantum
    first = np.inf
    if run.rule[0].key == _QUEUE:
        for k in range(run.counts[RUNNING]):
            row = run.running[k]
            held, gpus = held_gpu_s(run, row, now), run.jobs[row].gpus
            first = min(first, now + (run.bounds_gpu_s[queue_number(run, held, gpus)] - held) / gpus)
    return first
