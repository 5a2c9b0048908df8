"""Which jobs a policy that stops jobs selects by totals, compiled: the others are ``out`` or go on waiting."""

from __future__ import annotations

import numpy as np

from dlsched.sim.kernels.compiled import compiled, inlined, merged
from dlsched.sim.kernels.preemptive.heap import goes_before, pop, push
from dlsched.sim.kernels.preemptive.lanes import has
from dlsched.sim.kernels.preemptive.moves import has_room
from dlsched.sim.kernels.preemptive.tables import Count, Run
from dlsched.sim.kernels.rigid.tables import NUM_RESOURCES

SELECTED, OUT, HEADS = int(Count.SELECTED), int(Count.OUT), int(Count.HEADS)
LITTLE = 1e-9


@merged
def select(run: Run, queue: int) -> bool:
    """Note which waiting rows of a queue are selected, in order, and the places of the runners that are not.

    The runners must be in order. False where that changes nothing: only the runners are selected, and there is no room
    for anybody else.
    """
    run.counts[SELECTED] = run.counts[OUT] = 0
    if run.queues[queue].one_total:
        first, left = _first_taken(run, queue)
        if run.counts[HEADS] == 0:
            return False
        _select_by_total(run, queue, first, left)
    else:
        open_heads(run, queue, False)
        _select_by_class(run, queue)
    return True


@merged
def select_all(run: Run, queue: int) -> None:
    """Note all waiting rows of a queue as selected, in order, and no runner as out."""
    run.counts[SELECTED] = run.counts[OUT] = 0
    open_heads(run, queue, False)
    while run.counts[HEADS] > 0:
        row = run.heads[0].row
        _note_selected(run, row, _take_head(run))


@compiled
def open_heads(run: Run, queue: int, with_room: bool) -> None:
    """Put the first waiting row of each kind of a queue into the heap of heads; of those that have room, if asked."""
    run.counts[HEADS] = 0
    for at in range(run.queues[queue].first_kind, run.queues[queue].past_kind):
        kind = run.members[at]
        run.lanes[kind].selected = 0
        if run.kinds[kind].num_waiting > 0 and (not with_room or has_room(run, kind)):
            _push_head(run, kind, 0)


@inlined
def _push_head(run: Run, kind: int, index: int) -> None:
    """Put the waiting row of a kind at this index, if there is one, into the heap of heads."""
    if has(run.lanes, run.sorted, run.heap, run.jobs, kind, index):
        head = run.sorted[run.lanes[kind].first + index]
        push(run.heads, 0, run.counts[HEADS], head.key, head.row)
        run.counts[HEADS] += 1


@inlined
def _take_head(run: Run) -> int:
    """Take the first row out of the heap of heads and return its kind."""
    kind = run.jobs[run.heads[0].row].kind
    pop(run.heads, 0, run.counts[HEADS])
    run.counts[HEADS] -= 1
    return kind


@inlined
def _note_selected(run: Run, row: int, kind: int) -> None:
    """Select a waiting row; the next of its kind is a head now."""
    run.selected[run.counts[SELECTED]] = row
    run.counts[SELECTED] += 1
    run.lanes[kind].selected += 1
    _push_head(run, kind, run.lanes[kind].selected)


# ---- one total --------------------------------------------------------------------------------------------


@compiled
def _first_taken(run: Run, queue: int) -> tuple[int, int]:
    """Open the kinds that can have a row selected; return the place of the first such row among the runners, and what
    is left there.

    As all runners fit, what is left ahead of one of them is what is free and what those from there on hold. Kinds of
    which the first row is ahead of the first that is selected have too little there, and what is left only shrinks.
    """
    runners, of, lanes = run.runners, run.queues[queue], run.lanes
    past = of.first_runner + of.num_runners
    key, row = np.inf, len(run.jobs)
    for at in range(of.first_kind, of.past_kind):
        kind = run.members[at]
        lanes[kind].selected = 0
        if run.kinds[kind].num_waiting > 0 and has(lanes, run.sorted, run.heap, run.jobs, kind, 0):
            latest, left = past, of.units_free
            while left < lanes[kind].units and latest > of.first_runner:
                latest -= 1
                left += runners[latest].units
            head = run.sorted[lanes[kind].first]
            ahead = latest == past or goes_before(head.key, head.row, runners[latest].key, runners[latest].row)
            if left >= lanes[kind].units and ahead and goes_before(head.key, head.row, key, row):
                key, row = head.key, head.row
    run.counts[HEADS] = 0
    place, left = past, of.units_free
    if row < len(run.jobs):
        for at in range(of.first_kind, of.past_kind):
            kind = run.members[at]
            if run.kinds[kind].num_waiting > 0:
                head = run.sorted[lanes[kind].first]
                if not goes_before(head.key, head.row, key, row):
                    _push_head(run, kind, 0)
        while place > of.first_runner and goes_before(key, row, runners[place - 1].key, runners[place - 1].row):
            place -= 1
            left += runners[place].units
    return place, left


@compiled
def _select_by_total(run: Run, queue: int, place: int, left: int) -> None:
    """Select in order with skip, from this place among the runners on."""
    runners, heads = run.runners, run.heads
    past = run.queues[queue].first_runner + run.queues[queue].num_runners
    while run.counts[HEADS] > 0:
        key, row = heads[0].key, heads[0].row
        kind = run.jobs[row].kind
        if run.lanes[kind].units > left:
            _take_head(run)
            continue
        if place < past and goes_before(runners[place].key, runners[place].row, key, row):
            left -= _keep_or_leave_out(run, place, left)
            place += 1
            continue
        _take_head(run)
        left -= run.lanes[kind].units
        _note_selected(run, row, kind)
    while place < past:
        left -= _keep_or_leave_out(run, place, left)
        place += 1


@inlined
def _keep_or_leave_out(run: Run, place: int, left: int) -> int:
    """Return what a runner takes of what is left: nothing where it is left out."""
    units = run.runners[place].units
    if units > left:
        run.out[run.counts[OUT]] = place
        run.counts[OUT] += 1
        units = 0
    return units


# ---- classes of nodes -------------------------------------------------------------------------------------


@merged
def all_fit(run: Run, queue: int) -> bool:
    """Whether all that run or wait in a queue are selected whatever their order: nothing can run short.

    By classes of nodes: what all jobs need that run in a class or may use it is no more than it has, so that each finds
    its whole need in the first of its classes. Told of whole amounts only, of which sums are exact.
    """
    left, of = run.left, run.queues[queue]
    if of.one_total:
        return of.units_waiting <= of.units_free
    enough = _runners_fit(run)
    for at in range(of.first_kind, of.past_kind):
        kind = run.kinds[run.members[at]]
        if enough and kind.num_waiting > 0:
            for number in range(len(left)):
                for resource in range(NUM_RESOURCES):
                    need = kind.demand[resource] * kind.workers
                    if need > 0 and run.claims[run.members[at], number]:
                        left[number, resource] -= kind.num_waiting * need
                        enough = enough and left[number, resource] >= 0
    return enough


@inlined
def _runners_fit(run: Run) -> bool:
    """Whether all that run are selected whatever their order; then ``left`` is what they leave at least."""
    enough = run.rule[0].whole_amounts > 0
    for number in range(len(run.left)):
        for resource in range(NUM_RESOURCES):
            run.left[number, resource] = run.of_class[number, resource] - run.load[number, resource]
            enough = enough and run.left[number, resource] >= 0
    return enough


@compiled
def _select_by_class(run: Run, queue: int) -> None:
    """Select in order with skip, each job from the classes of nodes it may use, a running one from those it uses."""
    runners, heads, lanes, shut = run.runners, run.heads, run.lanes, run.shut
    place = run.queues[queue].first_runner
    past, runners_fit = place + run.queues[queue].num_runners, _runners_fit(run)
    for number in range(len(run.of_class)):
        for resource in range(NUM_RESOURCES):
            run.left[number, resource] = run.of_class[number, resource]
    shut[:] = 0
    while place < past or run.counts[HEADS] > 0:
        if run.counts[HEADS] + run.counts[SELECTED] + run.counts[OUT] == 0 and runners_fit:
            break  # those to come
        if place == past or (
            run.counts[HEADS] > 0 and goes_before(heads[0].key, heads[0].row, runners[place].key, runners[place].row)
        ):
            row = heads[0].row
            kind = _take_head(run)
            if shut[lanes[kind].twin]:
                continue
            for number in range(len(run.classes)):
                run.classes[number] = run.claims[kind, number]
            if _spend(run, kind):
                _note_selected(run, row, kind)
            else:
                shut[lanes[kind].twin] = 1
            continue
        kind, number = runners[place].kind, runners[place].in_class
        if shut[lanes[kind].twin] or not (
            (number >= 0 and _spend_in_one(run, kind, number)) or _spend_where_it_runs(run, runners[place].row)
        ):
            shut[lanes[kind].twin] = 1
            run.out[run.counts[OUT]] = place
            run.counts[OUT] += 1
        place += 1


@inlined
def _spend_in_one(run: Run, kind: int, number: int) -> bool:
    """Take the whole need of a kind from one class; False, and nothing taken, where that has too little."""
    of, left, enough = run.kinds[kind], run.left, True
    for resource in range(NUM_RESOURCES):
        need = of.demand[resource] * of.workers
        enough = enough and (need == 0 or left[number, resource] >= need)
    if enough:
        for resource in range(NUM_RESOURCES):
            left[number, resource] -= of.demand[resource] * of.workers
    return enough


@inlined
def _spend_where_it_runs(run: Run, row: int) -> bool:
    job = run.jobs[row]
    run.classes[:] = 0
    for share in range(job.first_share, job.first_share + job.num_shares):
        run.classes[run.class_of[run.shares[share].node]] = 1
    return _spend(run, job.kind)


@compiled
def _spend(run: Run, kind: int) -> bool:
    """Spread the need of a kind over ``classes`` in order, each taking as large a part of the job as it can.

    False, and nothing spent, when what is left is too little; see :class:`dlsched.policies.baselines.totals.Totals`.
    """
    left, kept, classes, missing = run.left, run.kept, run.classes, 1.0
    for number in range(len(classes)):
        if classes[number]:
            part = missing
            for resource in range(NUM_RESOURCES):
                kept[number, resource] = left[number, resource]
                need = run.kinds[kind].demand[resource] * run.kinds[kind].workers
                if need > 0:
                    part = min(part, left[number, resource] / need)
            for resource in range(NUM_RESOURCES):
                need = run.kinds[kind].demand[resource] * run.kinds[kind].workers
                if need > 0:
                    left[number, resource] -= part * need
            missing -= part
            if missing <= LITTLE:
                return True
    for number in range(len(classes)):
        if classes[number]:
            for resource in range(NUM_RESOURCES):
                left[number, resource] = kept[number, resource]
    return False
