"""From widths in amounts to jobs on nodes, and why the others wait."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.plan import WaitReason
from dlsched.domain.policy import ElasticRule
from dlsched.domain.workload import Ints
from dlsched.policies.elastic_queueing.anywhere import Placing
from dlsched.policies.elastic_queueing.kernels.tables import ROUNDING, Answer, Curves, Jobs


class Queue(NamedTuple):
    """Active rows that share an amount, those served first, in the order of the rule; columns of shape (rows,).

    ``held`` and ``given`` workers; ``wanted`` the one width of a moldable job, else the smallest it can do with,
    0 = none now; ``behind`` whether another job of its chunk comes first. ``partition`` is where they all queue, "a|b".
    """

    rows: Ints
    held: Ints
    given: Ints
    wanted: Ints
    behind: NDArray[np.bool_]
    partition: str


def molded(curves: Curves, jobs: Jobs, capacity: float) -> Ints:
    """Return the one width of each job: that of its first start, or what the rule wants of the whole capacity."""
    whole = np.minimum(jobs.most, (capacity / jobs.cost + ROUNDING).astype(np.int64))
    anew = curves.width[jobs.curve, np.clip(whole, 0, curves.width.shape[1] - 1)]
    return np.where((jobs.fixed > 0) & (jobs.fixed <= whole), jobs.fixed, anew)


def queue_of(
    rows: Ints, jobs: Jobs, answer: Answer, served: int, wanted: Ints, chunk: Ints | None, partition: str
) -> Queue:
    """Return a decision as a queue: the served in their order, then the others by key and source order."""
    first = answer.order[:served]
    waits = np.ones(len(rows), dtype=bool)
    waits[first] = False
    others = np.flatnonzero(waits)
    order = np.concatenate([first, others[np.argsort(answer.key[others], kind="stable")]])
    behind = np.zeros(len(rows), dtype=bool)
    if chunk is not None:
        busy = np.zeros(int(chunk.max(initial=0)) + 1, dtype=bool)
        busy[chunk[first]] = True
        behind = waits & busy[chunk]
    return Queue(rows[order], jobs.held[order], answer.given[order], wanted[order], behind[order], partition)


def hand_out(placing: Placing, rule: ElasticRule, queues: list[Queue]) -> None:
    """Place every queue: first what shrinks and stops, then starts, then growth, then what is left over."""
    for queue in queues:
        less = (queue.held > 0) & (queue.given < queue.held)
        for row, width in zip(queue.rows[less].tolist(), queue.given[less].tolist(), strict=True):
            placing.give_back(row, width)
    for queue in queues:
        _start(placing, rule, queue)
    for queue in queues:
        more = (queue.held > 0) & (queue.given > queue.held)
        for row, width in zip(queue.rows[more].tolist(), queue.given[more].tolist(), strict=True):
            placing.grow(row, width)
    for queue in queues:
        if not rule.chunk:
            _use_rest(placing, rule, queue)
    _let_somebody_run(placing, queues)


def _start(placing: Placing, rule: ElasticRule, queue: Queue) -> None:
    starts = (queue.held == 0) & (queue.given > 0)
    for row, width in zip(queue.rows[starts].tolist(), queue.given[starts].tolist(), strict=True):
        if not rule.moldable:
            placing.start_up_to(row, width)
        elif not placing.start(row, width) and rule.blocking:
            return


def _use_rest(placing: Placing, rule: ElasticRule, queue: Queue) -> None:
    """Offer what is free to those that wait: room that no width fitted, or that the amounts did not know of."""
    waiting = queue.rows[~placing.runs(queue.rows) & (queue.wanted > 0)]
    if not placing.may_hold_any(waiting):
        return
    if rule.moldable:
        width = dict(zip(queue.rows.tolist(), queue.wanted.tolist(), strict=True))
        placing.offer(
            waiting, lambda row: placing.resume(row) or placing.start(row, width[row]), blocking=rule.blocking
        )
    else:
        placing.offer(waiting, lambda row: placing.resume(row) or placing.start_up_to(row, placing.wish(row)))


def _let_somebody_run(placing: Placing, queues: list[Queue]) -> None:
    """If no job of a queue runs, one that waits in it may start at any width: else all would wait for ever."""
    for partition in dict.fromkeys(queue.partition for queue in queues):
        here = [queue for queue in queues if queue.partition == partition]
        if not any(placing.runs(queue.rows).any() for queue in here):
            for queue in here:
                placing.offer(queue.rows, lambda row: placing.start_up_to(row, placing.room(row)))


def explain(
    placing: Placing, rule: ElasticRule, queue: Queue, smallest: Ints, ran: NDArray[np.bool_]
) -> tuple[Ints, Ints]:
    """Return the rows of a queue that wait and why, by what is free after the decision.

    ``smallest`` legal width of each row of the queue, and whether it ``ran`` before.
    """
    waits = np.flatnonzero(~placing.runs(queue.rows))
    rows, smallest, wanted = queue.rows[waits], smallest[waits], queue.wanted[waits]
    room = placing.rooms(rows)
    behind = np.arange(len(rows)) > 0 if rule.blocking else queue.behind[waits]
    codes = np.full(len(rows), int(WaitReason.NO_ROOM))
    codes[(room >= smallest) & (smallest > 0)] = int(WaitReason.HELD_BACK)
    codes[(room >= wanted) & (wanted > 0)] = int(WaitReason.SPLIT)
    codes[behind] = int(WaitReason.BEHIND)
    codes[ran[waits]] = int(WaitReason.PREEMPTED)
    codes[room < 0] = int(WaitReason.NO_NODE)
    return rows, codes
