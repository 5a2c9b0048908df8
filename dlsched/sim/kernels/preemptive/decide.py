"""The decisions of the list policies that stop jobs, compiled; the rule of decision 001."""

from __future__ import annotations

from dlsched.placement.rules import ROOM_TOLERANCE
from dlsched.sim.kernels.compiled import compiled, inlined, merged
from dlsched.sim.kernels.preemptive.heap import goes_before, pop, push
from dlsched.sim.kernels.preemptive.lanes import has
from dlsched.sim.kernels.preemptive.moves import (
    FRESH,
    close_piece,
    enqueue,
    has_room,
    hold,
    put_queue_in_order,
    say,
    start_at,
    start_first,
)
from dlsched.sim.kernels.preemptive.select import HEADS, OUT, SELECTED, all_fit, open_heads, select, select_all
from dlsched.sim.kernels.preemptive.tables import Run
from dlsched.sim.kernels.rigid.room import find, why_no_room
from dlsched.sim.kernels.rigid.tables import NUM_RESOURCES
from dlsched.sim.log import PieceEnd

SPARE = 64
_PREEMPTED, _MOVED = int(PieceEnd.PREEMPTED), int(PieceEnd.MOVED)


@merged
def decide(run: Run, now: float) -> None:
    """Decide which jobs run, and log why the others wait."""
    for queue in range(len(run.queues)):
        if run.queues[queue].num_waiting > 0:
            _decide_queue(run, queue, now)
            _say_why(run, queue)
    for k in range(run.counts[FRESH]):
        row = run.fresh[k]
        if run.jobs[row].waits:
            say(run, row, run.lanes[run.jobs[row].kind].told)
    run.counts[FRESH] = 0


@merged
def _decide_queue(run: Run, queue: int, now: float) -> None:
    """Select by totals, keep, stop, place (decision 001)."""
    of = run.queues[queue]
    if of.num_runners > 2 * of.num_running + SPARE or of.num_runners + of.num_waiting > of.most_runners:
        put_queue_in_order(run, queue, now)
    run.counts[OUT] = 0
    fit = all_fit(run, queue)
    if run.rule[0].makes_room or not fit:
        if fit:
            select_all(run, queue)
        else:
            put_queue_in_order(run, queue, now)
            if not select(run, queue):
                return
        for k in range(run.counts[OUT]):
            row = run.runners[run.out[k]].row
            hold(run, row, -1)
            run.jobs[row].gave_up = 1
        if _place_selected(run, queue, now, not fit) and of.one_total:
            for k in range(run.counts[OUT]):
                _stop(run, run.out[k], now)
            return
    _offer_rest(run, queue, now)


@merged
def _place_selected(run: Run, queue: int, now: float, in_order: bool) -> bool:
    """Start the selected that wait, in order, where they have room; return whether all had room that was free.

    ``in_order`` = the runners are; else they are sorted when one has to make room.
    """
    all_placed, past = True, run.queues[queue].first_runner + run.queues[queue].num_runners
    run.shut[:] = 0
    for k in range(run.counts[SELECTED]):
        kind = run.jobs[run.selected[k]].kind
        if has_room(run, kind):
            start_first(run, kind, now, find(run, kind))
        else:
            all_placed = False
            if run.rule[0].makes_room and not run.shut[kind]:
                if not in_order:
                    put_queue_in_order(run, queue, now)  # with those that started just now, ahead of this one
                    in_order, past = True, run.queues[queue].first_runner + run.queues[queue].num_runners
                run.shut[kind] = not _make_room(run, kind, past, now)  # nor is there room for a later one
    return all_placed


@compiled
def _make_room(run: Run, kind: int, past: int, now: float) -> bool:
    """Let runners ahead of a place give their nodes up, the last first, until the first of a kind has room behind
    which they are, and start it; return whether it has.

    Those whose nodes are still free then keep them, the first first; the others are out.
    """
    runners, jobs, head = run.runners, run.jobs, run.sorted[run.lanes[kind].first]
    key, row, place, has = head.key, head.row, past, False
    first = run.queues[run.kinds[kind].queue].first_runner
    while not has and place > first and goes_before(key, row, runners[place - 1].key, runners[place - 1].row):
        place -= 1
        if not jobs[runners[place].row].gave_up:
            hold(run, runners[place].row, -1)
            jobs[runners[place].row].gave_up = 2
            has = has_room(run, kind)
    if has:
        start_first(run, kind, now, find(run, kind))
    for other in range(place, past):
        if jobs[runners[other].row].gave_up == 2:
            keeps = _own_nodes_free(run, runners[other].row)
            jobs[runners[other].row].gave_up = not keeps
            if keeps:
                hold(run, runners[other].row, 1)
            else:
                _put_out(run, other)
    return has


@inlined
def _put_out(run: Run, place: int) -> None:
    """Put a place among the runners into ``out``, which is in order."""
    at = run.counts[OUT]
    while at > 0 and run.out[at - 1] > place:
        run.out[at] = run.out[at - 1]
        at -= 1
    run.out[at] = place
    run.counts[OUT] += 1


@merged
def _offer_rest(run: Run, queue: int, now: float) -> None:
    """Give the others, in order, what the selected could not use; stop for good who ran and gets nothing.

    Of a kind that still has room, all that were selected have been placed.
    """
    jobs, runners, heads, offered = run.jobs, run.runners, run.heads, 0
    open_heads(run, queue, True)
    while offered < run.counts[OUT] or run.counts[HEADS] > 0:
        if offered < run.counts[OUT]:
            place = run.out[offered]
            if run.counts[HEADS] == 0 or goes_before(
                runners[place].key, runners[place].row, heads[0].key, heads[0].row
            ):
                _offer(run, place, now)
                offered += 1
                continue
        kind = jobs[heads[0].row].kind
        _drop_head(run)
        if has_room(run, kind):
            start_first(run, kind, now, find(run, kind))
            if has(run.lanes, run.sorted, run.heap, run.jobs, kind, 0):
                first = run.sorted[run.lanes[kind].first]
                push(heads, 0, run.counts[HEADS], first.key, first.row)
                run.counts[HEADS] += 1


@inlined
def _drop_head(run: Run) -> None:
    pop(run.heads, 0, run.counts[HEADS])
    run.counts[HEADS] -= 1


@inlined
def _offer(run: Run, place: int, now: float) -> None:
    """Let a runner that has given its nodes back go on there, or elsewhere, or stop it."""
    row = run.runners[place].row
    kind = run.jobs[row].kind
    run.jobs[row].gave_up = 0
    if _own_nodes_free(run, row):
        hold(run, row, 1)
    elif has_room(run, kind):
        restart_s = run.rule[0].restart_s
        if not run.rule[0].moves_restart:
            restart_s = max(0.0, run.jobs[row].progress_from_s - now)  # of a restart under way
        close_piece(run, row, now, _MOVED, 0.0)
        start_at(run, row, place, now, find(run, kind), restart_s)
    else:
        _stop(run, place, now)


@inlined
def _own_nodes_free(run: Run, row: int) -> bool:
    job, are_free = run.jobs[row], True
    for share in range(job.first_share, job.first_share + job.num_shares):
        node, workers = run.shares[share].node, run.shares[share].workers
        for resource in range(NUM_RESOURCES):
            needed = run.kinds[job.kind].demand[resource] * workers
            if needed > run.nodes[node].free[resource] + ROOM_TOLERANCE:
                are_free = False
    return are_free


@inlined
def _stop(run: Run, place: int, now: float) -> None:
    """Stop a runner that has given its nodes back."""
    row = run.runners[place].row
    run.runners[place].row = -1
    close_piece(run, row, now, _PREEMPTED, 0.0)
    run.jobs[row].stopped, run.jobs[row].gave_up = 1, 0
    enqueue(run, row)


@merged
def _say_why(run: Run, queue: int) -> None:
    """Tell all who wait of a kind why, where that has changed."""
    kinds, queues = run.kinds, run.queues
    for at in range(queues[queue].first_kind, queues[queue].past_kind):
        kind = run.members[at]
        if kinds[kind].num_waiting > 0:
            reason, lane = why_no_room(run, kind), run.lanes[kind]
            if reason != lane.told:
                lane.told = reason
                for k in range(lane.first, lane.past):
                    say(run, run.sorted[k].row, reason)
                for k in range(lane.begin, lane.begin + lane.in_heap):
                    if run.jobs[run.heap[k].row].waits:
                        say(run, run.heap[k].row, reason)
