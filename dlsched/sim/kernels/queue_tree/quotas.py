"""Which jobs hold quota and which are leaving, compiled, and what the journal says of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from dlsched.policies.queue_tree.kernels.numbers import borrows_from, shift
from dlsched.policies.queue_tree.kernels.tables import RECLAIMS, WHILE_BORROWING
from dlsched.sim.kernels.compiled import compiled, inlined
from dlsched.sim.kernels.instants import instant_s
from dlsched.sim.kernels.queue_tree.moves import ADMITTED_NOW, DECISIONS, RUNS, WAITING, give_back, stop
from dlsched.sim.kernels.queue_tree.rooms import all_wait_again, join_lane, leave_lane
from dlsched.sim.kernels.queue_tree.tables import Count, Run, What

HELD, FIRST_LEAVING, PAST_LEAVING = int(Count.HELD), int(Count.FIRST_LEAVING), int(Count.PAST_LEAVING)
ADMISSIONS, JOURNAL, FRESH = int(Count.ADMISSIONS), int(Count.JOURNAL), int(Count.FRESH)
ADMITTED, EVICTED = int(Count.ADMITTED), int(Count.EVICTED)
_HELD, _FREED, _TOLD, _EVICTED = int(What.HELD), int(What.FREED), int(What.TOLD), int(What.EVICTED)
FOR_GOOD, AT_ONCE = 1, 2
"""A job that must not be stopped any more, or not in this decision."""


@compiled
def let_wait(run: Run, row: int) -> None:
    """A row begins to wait."""
    run.jobs[row].state = WAITING
    run.fresh[run.counts[FRESH]] = row
    run.counts[FRESH] += 1
    join_lane(run, row)


@compiled
def admit(run: Run, row: int, now: float, most_stops: int, most_stops_at_once: int) -> None:
    """A waiting row with nodes holds its quota from now on."""
    job, lane = run.jobs[row], run.lanes[run.jobs[row].lane]
    queue, amount = lane.queue, lane.amount
    leave_lane(run, row)
    node = run.tree[queue]
    borrowed, level, lender = max(0, min(amount, node.used + amount - node.nominal)), 0, -1
    job.borrows = borrowed > 0 and node.parent >= 0
    if job.borrows:
        level = borrows_from(run.tree, queue, amount)[0]
        lender = node.parent
        while lender >= 0 and run.tree[lender].height != level:
            lender = run.tree[lender].parent
    _note(run, _HELD, row, now, queue, lender, amount, borrowed, level)
    shift(run.tree, queue, amount)
    at = run.counts[HELD]
    while at > 0 and _goes_before(lane.priority, now, row, run.runs[at - 1]):
        run.runs[at] = run.runs[at - 1]
        at -= 1
    holds = run.runs[at]
    holds.row, holds.queue, holds.amount, holds.leaving, holds.gone = row, queue, amount, 0, 0
    holds.priority, holds.order_s, holds.start_s, holds.shielded = lane.priority, job.order_s, now, 0
    if job.stops > most_stops:
        holds.shielded = FOR_GOOD
    elif job.stops_in == run.counts[DECISIONS] and job.stops_at_once > most_stops_at_once:
        holds.shielded = AT_ONCE
    run.counts[HELD] += 1
    job.admission = run.counts[ADMISSIONS]
    run.counts[ADMISSIONS] += 1
    job.state, job.leaving = ADMITTED_NOW, -1
    run.admitted[run.counts[ADMITTED]] = row
    run.counts[ADMITTED] += 1


@inlined
def _goes_before(priority: float, start_s: float, row: int, other: Any) -> bool:
    """Whether a job that holds quota comes before another: lower priority, later start, row."""
    if priority != other.priority:
        return priority < other.priority
    return start_s > other.start_s or (start_s == other.start_s and row < other.row)


@compiled
def _place_of(run: Run, row: int) -> int:
    place = 0
    while run.runs[place].row != row:
        place += 1
    return place


@compiled
def free(run: Run, row: int, now: float) -> None:
    """A row holds its quota no more; parked jobs of its tree wait again."""
    at = _place_of(run, row)
    queue = run.runs[at].queue
    shift(run.tree, queue, -run.runs[at].amount)
    run.counts[HELD] -= 1
    for place in range(at, run.counts[HELD]):
        run.runs[place] = run.runs[place + 1]
    run.jobs[row].leaving = -1
    all_wait_again(run, run.tree[queue].root)
    for root in range(len(run.starved)):  # nodes are shared by all trees
        if run.starved[root]:
            run.starved[root] = 0
            all_wait_again(run, root)
    _note(run, _FREED, row, now, -1, -1, 0, 0, 0)


@compiled
def tell(run: Run, row: int, for_row: int, reason: int, now: float) -> None:
    """A row is told to leave for another one."""
    job, number = run.jobs[row], run.counts[PAST_LEAVING]
    run.runs[_place_of(run, row)].leaving = 1
    entry = run.leaving[number % len(run.leaving)]
    entry.row, entry.at_s, job.leaving = row, now + run.rule[0].stop_s, number
    run.counts[PAST_LEAVING] += 1
    if job.stops_in != run.counts[DECISIONS]:
        job.stops_in, job.stops_at_once = run.counts[DECISIONS], 0
    job.stops_at_once += 1
    job.stops += 1
    queue, for_queue = run.lanes[job.lane].queue, run.lanes[run.jobs[for_row].lane].queue
    _note(run, _TOLD, row, now, queue, for_queue, for_row, 0, reason)
    if reason in (RECLAIMS, WHILE_BORROWING) and job.borrows and not run.rules.by_priority:
        job.order_s = now + 1e-3


@compiled
def let_leave(run: Run, now: float) -> bool:
    """Stop the rows whose time to leave has come; return whether there were some."""
    until_s, any_left = now + instant_s(now), False
    while next_leave_s(run) <= until_s:
        row = run.leaving[run.counts[FIRST_LEAVING] % len(run.leaving)].row
        run.counts[FIRST_LEAVING] += 1
        if run.jobs[row].state == RUNS:
            stop(run, row, now)
            run.evicted[run.counts[EVICTED]] = row
            run.counts[EVICTED] += 1
        else:  # it was admitted at this very instant and never ran
            give_back(run, row)
        free(run, row, now)
        let_wait(run, row)
        any_left = True
    return any_left


@compiled
def next_leave_s(run: Run) -> float:
    """Return when the first row that was told to leave does; infinity = none was."""
    counts = run.counts
    while counts[FIRST_LEAVING] < counts[PAST_LEAVING]:
        entry = run.leaving[counts[FIRST_LEAVING] % len(run.leaving)]
        if run.jobs[entry.row].leaving == counts[FIRST_LEAVING]:
            return entry.at_s
        counts[FIRST_LEAVING] += 1
    return np.inf


@compiled
def note_evicted(run: Run, now: float) -> None:
    """Tell the journal which rows were evicted, after all else of a decision."""
    for k in range(run.counts[EVICTED]):
        _note(run, _EVICTED, run.evicted[k], now, -1, -1, 0, 0, 0)


@compiled
def _note(
    run: Run, what: int, row: int, now: float, queue: int, other_queue: int, amount: int, borrowed: int, number: int
) -> None:
    entry = run.journal[run.counts[JOURNAL]]
    entry.time_s, entry.what, entry.row, entry.queue, entry.other_queue = now, what, row, queue, other_queue
    entry.amount, entry.borrowed, entry.number = amount, borrowed, number
    run.counts[JOURNAL] += 1
