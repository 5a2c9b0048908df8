"""The decisions of the list policies that never stop a job, compiled; the rules of ``dlsched.policies.baselines``."""

from __future__ import annotations

import numpy as np

from dlsched.domain.plan import WaitReason
from dlsched.sim.kernels.compiled import compiled, inlined, merged
from dlsched.sim.kernels.rigid.conserve import book_in_order
from dlsched.sim.kernels.rigid.conserve_on_nodes import book_on_nodes
from dlsched.sim.kernels.rigid.lanes import ANY, first_at_most, index_behind, next_waiting
from dlsched.sim.kernels.rigid.moves import STAMP, STOPPED, SUBMITTED, TICKS, TOLD, say, start, ticks_at
from dlsched.sim.kernels.rigid.room import counted_on, find, fits, why_no_room
from dlsched.sim.kernels.rigid.shares import next_in_line
from dlsched.sim.kernels.rigid.tables import NUM_RESOURCES, Rule, Run
from dlsched.sim.kernels.rigid.walk import close_what_does_not_fit, move_on, next_open, open_kinds
from dlsched.sim.kernels.tables import Placement

_WITH_SKIP, _EASY, _CONSERVATIVE = int(Rule.WITH_SKIP), int(Rule.EASY), int(Rule.CONSERVATIVE)
_FAIR, _POOL = int(Rule.FAIR), int(Placement.POOL)
_BEHIND, _RESERVED = int(WaitReason.BEHIND), int(WaitReason.RESERVED)


@compiled
def decide(run: Run, now: float, cause: int, may_start: bool) -> None:
    """Decide which jobs start, if any may, and log the decision and why jobs wait."""
    decision = run.decisions[run.counts[STAMP]]
    decision.time_s, decision.cause = now, cause
    run.counts[STAMP] += 1
    rule = run.rule[0].which
    for queue in range(len(run.queues)):
        if rule == _FAIR:
            _by_share(run, queue, now)
            _say_why_by_kind(run, queue)
            continue
        if may_start:
            if rule == _WITH_SKIP:
                _with_skip(run, queue, now)
            elif rule == _CONSERVATIVE:
                if run.rule[0].placement == _POOL:
                    book_in_order(run, queue, now)
                else:
                    book_on_nodes(run, queue, now)
            else:
                _start_from_head(run, queue, now)
                if rule == _EASY:
                    _easy(run, queue, now)
        _say_why(run, queue)
    for row in range(run.counts[TOLD], run.counts[SUBMITTED]):
        if run.jobs[row].waits and run.jobs[row].told != run.counts[STAMP]:
            say(run, row, run.fair.kinds[run.jobs[row].kind].told if rule == _FAIR else _BEHIND)
    run.counts[TOLD] = run.counts[SUBMITTED]
    for k in range(run.counts[STOPPED]):
        if run.jobs[run.due[k]].waits and run.jobs[run.due[k]].told != run.counts[STAMP]:
            say(run, run.due[k], _BEHIND)
    run.counts[STOPPED] = 0


@merged
def _start_from_head(run: Run, queue: int, now: float) -> None:
    lane, index = len(run.kinds) + queue, 0
    while True:
        index = next_waiting(run, lane, index, ANY)
        if index < 0:
            return
        row = run.lane_rows[run.lanes[lane].first + index]
        if not fits(run, run.jobs[row].kind):
            return
        start(run, row, now, find(run, run.jobs[row].kind))


@compiled
def _with_skip(run: Run, queue: int, now: float) -> None:
    open_kinds(run, queue)
    while True:
        row = next_open(run, queue)
        if row < 0:
            return
        kind = run.jobs[row].kind
        start(run, row, now, find(run, kind))
        close_what_does_not_fit(run, queue)
        if run.kinds[kind].is_open:
            move_on(run, kind, ANY)


@compiled
def _by_share(run: Run, queue: int, now: float) -> None:
    """Start the next job of the user with the lowest dominant share, past those that do not fit."""
    row = next_in_line(run, queue)
    while row >= 0:
        start(run, row, now, find(run, run.jobs[row].kind))
        row = next_in_line(run, queue)


# ---- EASY backfill ----------------------------------------------------------------------------------------


@compiled
def _easy(run: Run, queue: int, now: float) -> None:
    """Backfill beside the promise to the first waiting job, which has no room."""
    jobs, kinds, lanes, queues = run.jobs, run.kinds, run.lanes, run.queues
    lane = len(run.kinds) + queue
    index = next_waiting(run, lane, 0, ANY)
    if index < 0 or not open_kinds(run, queue):
        return
    head = jobs[run.lane_rows[lanes[lane].first + index]].kind
    shadow, tally = _shadow(run, queue, head, now)
    longest = ANY  # believed work that ends by the shadow time
    if shadow < np.inf:
        longest = ((shadow + 0.5 - now * TICKS) / TICKS - run.rule[0].restart_s) * run.rule[0].speed
    while True:
        row = next_open(run, queue)
        if row < 0:
            return
        kind = jobs[row].kind
        count = find(run, kind)
        if np.rint(now * TICKS + ticks_at(run, row, _slowest(run, count))) <= shadow:
            if not queues[queue].counts_only:
                for k in range(count):  # gone by then: what they take now is there for the head
                    _change_shadow(run, kinds[head].measure, kind, run.nodes[k].pick, 0)
            start(run, row, now, count)
        else:
            left = _left_beside(run, queue, kind, head, tally, count)
            if left < kinds[head].need:
                kinds[kind].in_the_way = 1
                move_on(run, kind, longest)
                continue
            tally = left
            start(run, row, now, count)
        close_what_does_not_fit(run, queue)
        if kinds[kind].is_open:
            move_on(run, kind, longest if kinds[kind].in_the_way else ANY)
        if not queues[queue].counts_only:
            _try_again(run, queue, jobs[row].place)


@inlined
def _try_again(run: Run, queue: int, place: int) -> None:
    """After a start the rule may pick other nodes for kinds that were in the head's way: they are open again."""
    kinds, queues = run.kinds, run.queues
    for at in range(queues[queue].first_kind, queues[queue].past_kind):
        kind = run.members[at]
        if kinds[kind].in_the_way:
            kinds[kind].in_the_way = 0
            kinds[kind].cur = index_behind(run, kind, place) - 1
            if fits(run, kind):
                kinds[kind].is_open = 1
                move_on(run, kind, ANY)


@compiled
def _shadow(run: Run, queue: int, head: int, now: float) -> tuple[float, int]:
    """Return the earliest believed end, in ticks, at which the head fits, infinity = never, and its tally then.

    What is free then is the ``shadow`` of nodes with this decision's stamp; the others are as they are now.
    """
    jobs, queues, measures = run.jobs, run.queues, run.measures
    measure, now_ticks = run.kinds[head].measure, np.rint(now * TICKS)
    tally = measures[measure].tally
    first = queues[queue].end_first
    past = first + queues[queue].num_running
    for k in range(past - 1, first - 1, -1):
        row = run.by_end[k]
        if queues[queue].counts_only:
            tally += run.kinds[jobs[row].kind].workers
        else:
            for share in range(jobs[row].first_share, jobs[row].first_share + jobs[row].num_shares):
                node, workers = run.shares[share].node, run.shares[share].workers
                tally += _change_shadow(run, measure, jobs[row].kind, node, -workers)
        end = max(jobs[row].end_ticks, now_ticks)
        last_of_tie = k == first or max(jobs[run.by_end[k - 1]].end_ticks, now_ticks) > end
        if last_of_tie and tally >= run.kinds[head].need:
            return end, tally
    return np.inf, tally


@inlined
def _change_shadow(run: Run, measure: int, kind: int, node: int, workers: int) -> int:
    """Take room on a node as it will be at the shadow time; return by how much the head's tally changes."""
    nodes = run.nodes
    if nodes[node].shadow_stamp != run.counts[STAMP]:
        nodes[node].shadow_stamp = run.counts[STAMP]
        for resource in range(NUM_RESOURCES):
            nodes[node].shadow[resource] = nodes[node].free[resource]
        nodes[node].shadow_counted = run.on_node[measure, node]
    for resource in range(NUM_RESOURCES):
        nodes[node].shadow[resource] -= workers * run.kinds[kind].demand[resource]
    counted = counted_on(run, measure, node, nodes[node].shadow)
    more = counted - nodes[node].shadow_counted
    nodes[node].shadow_counted = counted
    return more


@inlined
def _left_beside(run: Run, queue: int, kind: int, head: int, tally: int, count: int) -> int:
    """Return the head's tally beside a kind on the nodes picked; below its need, the head would lose its place.

    Only if it does not, the shadow of these nodes is lowered.
    """
    if run.queues[queue].counts_only:
        return tally - run.kinds[kind].workers
    measure, left = run.kinds[head].measure, tally
    for k in range(count):
        left += _change_shadow(run, measure, kind, run.nodes[k].pick, run.nodes[k].pick_workers)
    if left < run.kinds[head].need:
        for k in range(count):
            _change_shadow(run, measure, kind, run.nodes[k].pick, -run.nodes[k].pick_workers)
    return left


@inlined
def _slowest(run: Run, count: int) -> float:
    """Return the speed of the slowest node picked."""
    slowest = np.inf
    for k in range(count):
        slowest = min(slowest, run.nodes[run.nodes[k].pick].speed)
    return slowest


# ---- why jobs wait ------------------------------------------------------------------------------------------


@merged
def _say_why(run: Run, queue: int) -> None:
    """Tell the first of a queue what keeps them; those that are no longer among the first are behind others."""
    jobs, kinds, tree, lane_rows = run.jobs, run.kinds, run.tree, run.lane_rows
    lane, window = run.lanes[len(kinds) + queue], run.queues[queue].window
    num_told, stamp, index, count = run.rule[0].num_told, run.counts[STAMP], -1, 0
    before = run.queues[queue].num_window
    for k in range(before):
        window[num_told + k] = window[k]
    while count < num_told:
        index = first_at_most(tree, lane.base, lane.size, index + 1, ANY)
        if index < 0:
            break
        row = lane_rows[lane.first + index]
        kind = jobs[row].kind
        jobs[row].told, window[count] = stamp, row
        count += 1
        if kinds[kind].reason_stamp != stamp:
            _reason(run, kind)
        if jobs[row].reason != kinds[kind].reason:
            say(run, row, kinds[kind].reason)
    run.queues[queue].num_window = count
    for k in range(before):
        row = window[num_told + k]
        if jobs[row].told != stamp and jobs[row].waits:
            say(run, row, _BEHIND)


@compiled
def _say_why_by_kind(run: Run, queue: int) -> None:
    """Tell all waiting jobs of each kind what keeps them, where that is news; new jobs are told afterwards."""
    kinds, lanes, told = run.kinds, run.lanes, run.fair.kinds
    for at in range(run.queues[queue].first_kind, run.queues[queue].past_kind):
        kind = run.members[at]
        if kinds[kind].num_waiting == 0 or told[kind].told == _reason(run, kind):
            continue
        told[kind].told = kinds[kind].reason
        index = next_waiting(run, kind, 0, ANY)
        while index >= 0:
            say(run, run.lane_rows[lanes[kind].first + index], kinds[kind].reason)
            index = next_waiting(run, kind, index + 1, ANY)


@compiled
def _reason(run: Run, kind: int) -> int:
    """Return why a kind waits, judged by what is free after the decision."""
    kinds = run.kinds
    if kinds[kind].reason_stamp != run.counts[STAMP]:
        kinds[kind].reason_stamp = run.counts[STAMP]
        kinds[kind].reason = _RESERVED if fits(run, kind) else why_no_room(run, kind)
    return kinds[kind].reason
