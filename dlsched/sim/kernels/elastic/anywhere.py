"""Widths handed out on nodes that hold several workers, compiled: the rules of ``handing_out`` and ``anywhere``.

Both are in ``dlsched.policies.elastic_queueing``. Active jobs are numbered by their place among the active rows.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dlsched.domain.plan import WaitReason
from dlsched.domain.workload import Ints
from dlsched.policies.elastic_queueing.kernels.compiled import OPTIONS, compiled
from dlsched.policies.elastic_queueing.kernels.tables import MOLDABLE, QUEUES
from dlsched.sim.kernels.elastic.log_writer import (
    MOVED,
    PREEMPTED,
    RESIZED,
    SHARES,
    close_piece,
    go_on,
    same_shares,
    say,
)
from dlsched.sim.kernels.elastic.tables import Count, Run
from dlsched.sim.kernels.placing import find
from dlsched.sim.kernels.tables import NOT_SAID

allocating = njit(**(OPTIONS | {"_nrt": True}))
"""With reference counts. A call counts every array of a run up and down: not for what is called for each job."""
inlined = njit(inline="always", **OPTIONS)
ACTIVE, _CAPACITY = int(Count.ACTIVE), int(Count.CAPACITY)
_DECISION, _OFFER = 0, 1
_AS_BEFORE = -1
_NO_ROOM, _HELD_BACK, _SPLIT = int(WaitReason.NO_ROOM), int(WaitReason.HELD_BACK), int(WaitReason.SPLIT)
_STOPPED, _BEHIND = int(WaitReason.PREEMPTED), int(WaitReason.BEHIND)


@compiled
def hand_out_anywhere(run: Run, served: int, now: float) -> None:
    """Carry an answer out: what shrinks and stops, then starts, then growth, then what is left; say why others wait."""
    count, given, order, spots = run.counts[ACTIVE], run.answer.given, run.answer.order, run.spots
    spots.stamps[_DECISION] += 1
    spots.left[0] = run.free.sum()
    for k in range(count):
        spots.width[k] = _AS_BEFORE
        if given[k] < run.jobs[run.active[k]].held:
            _give_back(run, k, given[k])
    for place in range(served):
        k = order[place]
        if run.jobs[run.active[k]].held == 0 and given[k] > 0:
            if run.rule.kind != MOLDABLE:
                _start_up_to(run, k, given[k])
            elif not _start(run, k, given[k]) and run.rule.blocking:
                break
    for place in range(served):
        if 0 < run.jobs[run.active[order[place]]].held < given[order[place]]:
            _grow(run, order[place], given[order[place]])
    is_sorted = False
    if run.rule.kind != QUEUES and spots.left[0] > 0:
        _sort_others(run, served)
        is_sorted = True
        _use_rest(run)
    if not _some_run(run):
        if not is_sorted:
            _sort_others(run, served)
            is_sorted = True
        _let_one_run(run)
    if run.rule.blocking or _has_news(run):
        if not is_sorted:
            _sort_others(run, served)
        _explain(run, now)
    for k in range(count):
        if spots.width[k] != _AS_BEFORE:
            _carry_out(run, k, now)


@allocating
def _sort_others(run: Run, served: int) -> None:
    """Put those that were not served behind the others in ``order``, by key and source order."""
    count, order, key = run.counts[ACTIVE], run.answer.order, run.answer.key
    was_served = np.zeros(count, np.bool_)
    for place in range(served):
        was_served[order[place]] = True
    others = np.flatnonzero(~was_served)
    order[served:count] = others[np.argsort(key[others], kind="mergesort")]


# ---- what a job holds -------------------------------------------------------------------------------------


@inlined
def _runs(run: Run, k: int) -> bool:
    width = run.spots.width[k]
    return width > 0 or (width == _AS_BEFORE and run.jobs[run.active[k]].held > 0)


@inlined
def _some_run(run: Run) -> bool:
    k = 0
    while k < run.counts[ACTIVE] and not _runs(run, k):
        k += 1
    return k < run.counts[ACTIVE]


@inlined
def _was_stopped(run: Run, k: int) -> bool:
    return run.spots.width[k] == 0 and run.jobs[run.active[k]].held > 0


@compiled
def _change_held(run: Run, k: int, sign: int) -> None:
    """Take the nodes that a job held before this decision, or give them back (-1)."""
    job = run.jobs[run.active[k]]
    for share in range(job.first_share, job.first_share + job.num_shares):
        run.free[run.shares[share]] -= sign * run.share_workers[share]
    run.spots.left[0] -= sign * job.held


@compiled
def _hold(run: Run, k: int, count: int, width: int) -> None:
    """A job that holds nothing gets the ``count`` nodes picked."""
    spots, first = run.spots, run.counts[SHARES]
    for place in range(count):
        run.shares[first + place] = spots.pick[place]
        run.share_workers[first + place] = spots.pick_workers[place]
        run.free[spots.pick[place]] -= spots.pick_workers[place]
    run.counts[SHARES] += count
    spots.left[0] -= width
    spots.width[k], spots.first_share[k], spots.num_shares[k] = width, first, count


@allocating
def _give_back(run: Run, k: int, width: int) -> None:
    """Leave a running job so many of its workers, those on its largest shares."""
    job, spots = run.jobs[run.active[k]], run.spots
    _change_held(run, k, -1)
    kept = np.zeros(job.num_shares, np.int64)
    nodes = run.shares[job.first_share : job.first_share + job.num_shares]
    workers = run.share_workers[job.first_share : job.first_share + job.num_shares]
    missing = width
    while missing > 0:
        largest = -1
        for place in range(len(nodes)):
            if kept[place] == 0 and (
                largest < 0
                or workers[place] > workers[largest]
                or (workers[place] == workers[largest] and nodes[place] < nodes[largest])
            ):
                largest = place
        kept[largest] = min(missing, workers[largest])
        missing -= kept[largest]
    count = 0
    for place in np.argsort(nodes):
        if kept[place] > 0:
            spots.pick[count], spots.pick_workers[count] = nodes[place], kept[place]
            count += 1
    _hold(run, k, count, width)


@compiled
def _start(run: Run, k: int, width: int) -> bool:
    """Place a job that holds nothing; False when there is no room. What failed in this decision is not tried again."""
    spots, kind = run.spots, run.spots.kind[run.active[k]]
    if spots.failed[kind, width] == spots.stamps[_DECISION]:
        return False
    count = _find(run.free, run.room, width, spots.placement, spots.pick, spots.pick_workers)
    if count == 0:
        spots.failed[kind, width] = spots.stamps[_DECISION]
        return False
    _hold(run, k, count, width)
    return True


@compiled
def _start_up_to(run: Run, k: int, width: int) -> bool:
    """Place a job at the largest of its efficient widths that fits, at most ``width``."""
    spots, curve = run.spots, run.jobs[run.active[k]].curve
    most = min(width, spots.left[0])
    for place in range(spots.first[curve + 1] - 1, spots.first[curve] - 1, -1):
        if spots.efficient[place] <= most and _start(run, k, spots.efficient[place]):
            return True
    return False


@compiled
def _grow(run: Run, k: int, width: int) -> None:
    """Place a running job anew at a larger efficient width; else it keeps its nodes."""
    spots, job = run.spots, run.jobs[run.active[k]]
    _change_held(run, k, -1)
    most = min(width, spots.left[0])
    for place in range(spots.first[job.curve + 1] - 1, spots.first[job.curve] - 1, -1):
        wider = spots.efficient[place]
        if wider <= job.held:
            break
        if wider <= most:
            count = _find(run.free, run.room, wider, spots.placement, spots.pick, spots.pick_workers)
            if count > 0:
                _hold(run, k, count, wider)
                return
    _change_held(run, k, 1)


@compiled
def _resume(run: Run, k: int) -> bool:
    """Give a job that was stopped in this decision its own nodes back; False when another job has them."""
    job = run.jobs[run.active[k]]
    if not _was_stopped(run, k):
        return False
    for share in range(job.first_share, job.first_share + job.num_shares):
        if run.share_workers[share] > run.free[run.shares[share]]:
            return False
    _change_held(run, k, 1)
    run.spots.width[k] = _AS_BEFORE
    return True


@allocating
def _find(free: Ints, room: Ints, width: int, placement: int, pick: Ints, workers: Ints) -> int:
    """Return how many nodes the placement rule picks."""
    return find(free, room, width, placement, pick, workers)


# ---- what is left -----------------------------------------------------------------------------------------


@inlined
def _wanted(run: Run, k: int) -> int:
    """Return the one width of a moldable job, else the smallest a job can do with; 0 = none."""
    job, spots, width = run.jobs[run.active[k]], run.spots, run.curves.width
    if run.rule.kind != MOLDABLE:
        first = spots.first[job.curve]
        return spots.efficient[first] if first < spots.first[job.curve + 1] else 0
    whole = min(run.most[job.curve], run.counts[_CAPACITY])
    if 0 < job.fixed <= whole:
        return job.fixed
    return width[job.curve, min(whole, width.shape[1] - 1)]


@compiled
def _use_rest(run: Run) -> None:
    """Offer what is free to those that wait: room that no width fitted."""
    spots, is_moldable = run.spots, run.rule.kind == MOLDABLE
    spots.stamps[_OFFER] += 1
    for place in range(run.counts[ACTIVE]):
        k = run.answer.order[place]
        if _runs(run, k) or _is_closed(run, k):
            continue
        wanted = _wanted(run, k)
        if wanted == 0 or _resume(run, k):
            continue
        if is_moldable:
            taken = _start(run, k, wanted)
        else:
            most = min(spots.left[0], run.curves.width.shape[1] - 1)
            taken = _start_up_to(run, k, run.curves.width[run.jobs[run.active[k]].curve, most])
        if not taken:
            if is_moldable and run.rule.blocking:
                return
            _close(run, k)


@compiled
def _let_one_run(run: Run) -> None:
    """Where no job runs, one that waits may start at any width: else all would wait for ever."""
    run.spots.stamps[_OFFER] += 1
    for place in range(run.counts[ACTIVE]):
        k = run.answer.order[place]
        if not _is_closed(run, k) and not _start_up_to(run, k, run.spots.left[0]):
            _close(run, k)


@inlined
def _is_closed(run: Run, k: int) -> bool:
    """Whether a job like this one has failed in this offer; those that were stopped are each of a kind."""
    alike = run.spots.alike[run.active[k]]
    return run.spots.closed[alike] == run.spots.stamps[_OFFER] and not _was_stopped(run, k)


@inlined
def _close(run: Run, k: int) -> None:
    if not _was_stopped(run, k):
        run.spots.closed[run.spots.alike[run.active[k]]] = run.spots.stamps[_OFFER]


# ---- the log ----------------------------------------------------------------------------------------------


@compiled
def _carry_out(run: Run, k: int, now: float) -> None:
    """Let a job go on with what it has got, unless that is what it held."""
    spots, row = run.spots, run.active[k]
    job, width = run.jobs[row], run.spots.width[k]
    if width == job.held and same_shares(
        run, job.first_share, job.num_shares, spots.first_share[k], spots.num_shares[k]
    ):
        return
    if job.held > 0:
        close_piece(run, row, now, PREEMPTED if width == 0 else MOVED if width == job.held else RESIZED)
    if width > 0:
        go_on(run, row, width, spots.first_share[k], spots.num_shares[k], now)


@inlined
def _reason(run: Run, k: int) -> int:
    """Return why a job waits by what is free after the decision."""
    job, left = run.jobs[run.active[k]], run.spots.left[0]
    if job.fixed > 0:
        return _STOPPED
    if run.rule.kind == QUEUES:
        head = run.queues.first[run.queues.chunk[k]]
        if head >= 0 and head != k:
            return _BEHIND
    if 0 < _wanted(run, k) <= left:
        return _SPLIT
    smallest = run.spots.first[job.curve]
    if smallest < run.spots.first[job.curve + 1] and run.spots.efficient[smallest] <= left:
        return _HELD_BACK
    return _NO_ROOM


@inlined
def _has_news(run: Run) -> bool:
    for k in range(run.counts[ACTIVE]):
        if not _runs(run, k) and (_was_stopped(run, k) or run.jobs[run.active[k]].reason != _reason(run, k)):
            return True
    return False


@compiled
def _explain(run: Run, now: float) -> None:
    """Log why rows wait, in order of the rule, where that is news."""
    is_first = True
    for place in range(run.counts[ACTIVE]):
        k = run.answer.order[place]
        if _runs(run, k):
            continue
        reason = _reason(run, k)
        if run.rule.blocking and not is_first and reason != _STOPPED:
            reason = _BEHIND
        is_first = False
        if _was_stopped(run, k):
            run.jobs[run.active[k]].reason = NOT_SAID
        say(run, run.active[k], reason, now)
