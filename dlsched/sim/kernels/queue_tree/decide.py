"""A decision, compiled: the rules of ``dlsched.policies.queue_tree.admission``."""

from __future__ import annotations

from dlsched.domain.plan import WaitReason
from dlsched.policies.queue_tree.jobs import MOST_STOPS, MOST_STOPS_AT_ONCE
from dlsched.policies.queue_tree.kernels.cycle import DONE, nominate, settle_heads, take_heads
from dlsched.policies.queue_tree.kernels.numbers import available
from dlsched.policies.queue_tree.kernels.tables import ADMITTED as GOT_IN
from dlsched.policies.queue_tree.kernels.tables import LOST_RACE, NO_ROOM, WAITS_FOR_VICTIMS
from dlsched.sim.kernels.compiled import compiled, inlined
from dlsched.sim.kernels.queue_tree.moves import (
    ADMITTED_NOW,
    DECISIONS,
    DUE,
    WAITING,
    end_job,
    start,
    take_room,
)
from dlsched.sim.kernels.queue_tree.quotas import (
    ADMITTED,
    AT_ONCE,
    EVICTED,
    FRESH,
    HELD,
    admit,
    free,
    let_leave,
    let_wait,
    note_evicted,
    tell,
)
from dlsched.sim.kernels.queue_tree.rooms import describe
from dlsched.sim.kernels.queue_tree.tables import Count, Run
from dlsched.sim.kernels.tables import NOT_SAID
from dlsched.sim.log import JobStatus

SEEN, SAID, WAITS = int(Count.SEEN), int(Count.SAID), int(Count.WAITS)
_OVER_QUOTA, _QUOTA_LENT = int(WaitReason.OVER_QUOTA), int(WaitReason.QUOTA_LENT)
_LEAVING, _BEHIND = int(WaitReason.LEAVING), int(WaitReason.BEHIND)
_REJECTED = int(JobStatus.REJECTED)
_STILL, _PARKED, _CHANGED = range(3)
"""What a cycle did: nothing, it only parked jobs, or more than that and another one follows."""


@compiled
def decide(run: Run, now: float, first_arrival: int, past_arrival: int) -> None:
    """Free the quota of rows that have ended, ``due``, let others arrive, run cycles, say why rows wait."""
    counts = run.counts
    for count in (SEEN, FRESH, ADMITTED, EVICTED, SAID):
        counts[count] = 0
    _by_admission(run)
    for k in range(counts[DUE]):
        free(run, run.due[k], now)
    counts[DUE] = 0
    for row in range(first_arrival, past_arrival):
        if run.lanes[run.jobs[row].lane].too_large:
            end_job(run, row, now, _REJECTED)
        else:
            let_wait(run, row)
    _run_cycles(run, now)
    for place in range(counts[HELD]):
        if run.runs[place].shielded == AT_ONCE:
            run.runs[place].shielded = 0
    _say_why(run, now)
    note_evicted(run, now)
    for k in range(counts[ADMITTED]):
        if run.jobs[run.admitted[k]].state == ADMITTED_NOW:
            start(run, run.admitted[k], now)


@inlined
def _by_admission(run: Run) -> None:
    """Sort the rows that are due by their admission."""
    due = run.due
    for k in range(1, run.counts[DUE]):
        row, place = due[k], k
        while place > 0 and run.jobs[due[place - 1]].admission > run.jobs[row].admission:
            due[place] = due[place - 1]
            place -= 1
        due[place] = row


# ---- cycles -----------------------------------------------------------------------------------------------


@compiled
def _run_cycles(run: Run, now: float) -> None:
    """Run cycles until nothing changes any more."""
    moved = True
    while moved:
        any_left, cycles, did = let_leave(run, now), 0, _PARKED
        while did == _PARKED:
            did = _cycle(run, now)
            cycles += 1
        moved = did == _CHANGED or (any_left and cycles == 1)


@compiled
def _cycle(run: Run, now: float) -> int:
    """Run one cycle and carry it out; return what it did."""
    tree, rules, found, told = run.tree, run.rules, run.found, run.told
    num_heads = take_heads(tree, run.lines, run.lengths, run.parked, run.preemptors, run.heads)
    runs, heads, entries = run.runs[: run.counts[HELD]], run.heads[:num_heads], run.entries[:num_heads]
    order = run.order
    nominate(tree, runs, rules, heads, entries, found)
    asked = settle_heads(tree, runs, rules, heads, entries, found, told, order)
    plain = asked == DONE  # it only parks jobs, so far
    while asked != DONE:
        entries[asked].room = 1 if take_room(run, heads[asked].row) else 0
        asked = settle_heads(tree, runs, rules, heads, entries, found, told, order)
    num_told, any_admitted = 0, False
    for k in range(num_heads):
        head = order[k]
        _see(run, heads[head].row, entries[head].outcome)
        any_admitted = any_admitted or entries[head].outcome == GOT_IN
        plain = plain and entries[head].outcome != WAITS_FOR_VICTIMS
        for place in range(entries[head].told):
            victim = runs[told[head, 0, place]]
            if victim.leaving == 0:
                note = run.stops[num_told]
                note.row, note.for_row, note.reason = victim.row, heads[head].row, told[head, 1, place]
                num_told += 1
    for k in range(num_heads):
        if entries[order[k]].outcome == GOT_IN:
            admit(run, heads[order[k]].row, now, MOST_STOPS, MOST_STOPS_AT_ONCE)
    for k in range(num_told):
        tell(run, run.stops[k].row, run.stops[k].for_row, run.stops[k].reason, now)
    any_parked = False
    for head in range(num_heads):
        any_parked = _put_back(run, head, any_admitted) or any_parked
    if plain:
        return _PARKED if any_parked else _STILL
    return _CHANGED if any_admitted or num_told > 0 or any_parked else _STILL


@inlined
def _see(run: Run, row: int, outcome: int) -> None:
    """Note the outcome of a row, for what is said in the end."""
    if run.jobs[row].seen_in != run.counts[DECISIONS]:
        run.jobs[row].seen_in = run.counts[DECISIONS]
        run.seen[run.counts[SEEN]] = row
        run.counts[SEEN] += 1
    run.jobs[row].outcome = outcome


@compiled
def _put_back(run: Run, head: int, any_admitted: bool) -> bool:
    """Let a row that was not admitted wait again or park it; return whether it is parked."""
    row, place, queue = run.heads[head].row, run.heads[head].place, run.heads[head].queue
    outcome, strict = run.entries[head].outcome, run.tree[queue].strict != 0
    if outcome == GOT_IN:
        return False
    if outcome == WAITS_FOR_VICTIMS:
        if run.preemptors[place].row != row:
            describe(run, row, run.preemptors, place)
            run.preemptors[place].preemptor = 1
        return False
    if run.preemptors[place].row == row:
        run.preemptors[place].row = -1
    if strict or outcome == LOST_RACE or (outcome == NO_ROOM and any_admitted):
        return False
    if outcome == NO_ROOM:
        run.starved[run.tree[queue].root] = 1
    run.parked[place, run.heads[head].kind] = True
    return True


# ---- why they wait ----------------------------------------------------------------------------------------


@compiled
def _say_why(run: Run, now: float) -> None:
    """Log why rows wait, where that is news: of those seen, of those parked for a new reason, and of new ones.

    All rows of a lane that is parked wait for the same reason.
    """
    counts, jobs = run.counts, run.jobs
    for k in range(counts[SEEN]):
        row = run.seen[k]
        if jobs[row].state != WAITING:
            continue
        lane = run.lanes[jobs[row].lane]
        code = _code(run, row)
        _say(run, row, code)
        if not run.parked[lane.place, lane.number]:
            lane.code = NOT_SAID
        elif lane.code != code:
            lane.code = code
            for place in range(lane.begin, lane.begin + lane.count):
                _say(run, run.lane_rows[place], code)
    for k in range(counts[FRESH]):
        row = run.fresh[k]
        if jobs[row].state == WAITING and jobs[row].said_in != counts[DECISIONS]:
            lane = run.lanes[jobs[row].lane]
            if run.parked[lane.place, lane.number]:
                _say(run, row, _OVER_QUOTA if lane.code == NOT_SAID else lane.code)
            else:
                _say(run, row, _BEHIND)
                lane.code = NOT_SAID
    for k in range(counts[SAID]):
        row = run.said[k]
        if jobs[row].reason != jobs[row].code:
            jobs[row].reason = jobs[row].code
            wait = run.waits[counts[WAITS]]
            wait.row, wait.from_s, wait.reason = row, now, jobs[row].code
            counts[WAITS] += 1


@inlined
def _say(run: Run, row: int, code: int) -> None:
    if run.jobs[row].said_in != run.counts[DECISIONS]:
        run.jobs[row].said_in = run.counts[DECISIONS]
        run.said[run.counts[SAID]] = row
        run.counts[SAID] += 1
    run.jobs[row].code = code


@compiled
def _code(run: Run, row: int) -> int:
    """Return why a row that was seen in this decision waits; the rule of ``hint``."""
    job, lane = run.jobs[row], run.lanes[run.jobs[row].lane]
    code = _OVER_QUOTA
    if job.outcome == NO_ROOM:
        code = job.no_room
    elif job.outcome == WAITS_FOR_VICTIMS:
        code = _LEAVING
    elif lane.allowed != 0:
        is_lent = run.tree[lane.queue].used + lane.amount <= run.tree[lane.queue].nominal
        if is_lent and lane.amount > available(run.tree, lane.queue):
            code = _QUOTA_LENT
    return code
