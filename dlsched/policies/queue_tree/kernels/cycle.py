"""Cycles, compiled: all heads are looked at in the state before, then handled in order.

``advance`` goes on from cycle to cycle until one changes something; ``settle`` goes on with one after nodes were asked.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import from_dtype, njit, types

from dlsched.domain.fingerprint import fingerprint
from dlsched.domain.workload import Ints
from dlsched.policies.queue_tree.flavors import FIT, NO_CANDIDATES, NO_FIT, PREEMPT, RECLAIM
from dlsched.policies.queue_tree.kernels.numbers import (
    available,
    borrows_from,
    exceeds,
    fits,
    hide,
    share_of,
    shift,
    unhide,
)
from dlsched.policies.queue_tree.kernels.search import victims
from dlsched.policies.queue_tree.kernels.tables import (
    ADMITTED,
    ANY,
    ENTRY,
    LOST_RACE,
    NEVER,
    NO_FITTING,
    NO_LIMIT,
    NO_ROOM,
    NO_VICTIMS,
    NODE,
    RUN,
    WAIT,
    WAITS_FOR_VICTIMS,
    CycleRules,
    compiled,
)

DONE, CHANGED, MORE = -1, -2, -3
"""Answers that name no head for which nodes must be asked. ``settle``: all heads are handled. ``advance``: nothing
changes any more, the last cycle changed something, or there are more cycles than the list of outcomes holds."""


@compiled
def _grade(nodes: Any, runs: Any, rules: CycleRules, job: Any, found: Ints) -> tuple[int, int, int]:
    """Return how good the flavor is for a job, the height borrowed from and how many jobs must stop, in ``found``."""
    queue, amount = job.queue, job.amount
    if job.allowed == 0 or amount > nodes[queue].most:
        return NO_FIT, 0, 0
    if amount <= 0 or amount <= available(nodes, queue):
        return FIT, borrows_from(nodes, queue, amount)[0], 0
    while_borrowing = nodes[queue].while_borrowing != 0 or (rules.fair_sharing and nodes[queue].reclaim != NEVER)
    if not while_borrowing and nodes[queue].nominal < amount and not borrows_from(nodes, queue, amount)[1]:
        return NO_FIT, 0, 0
    count = victims(nodes, runs, rules, job, found)
    kind = RECLAIM if count > 0 else NO_CANDIDATES
    for place in range(count):
        if runs[found[0, place]].queue == queue:
            kind = PREEMPT
        hide(nodes, runs, found[0, place])
    height, _ = borrows_from(nodes, queue, amount)
    for place in range(count):
        unhide(nodes, runs, found[0, place])
    return kind, height, count


@compiled
def nominate(nodes: Any, runs: Any, rules: CycleRules, jobs: Any, entries: Any, found: Ints) -> None:
    """Fill in kind, height and victims of every head; ``found`` (heads, 2, runs)."""
    for head in range(len(jobs)):
        kind, height, count = _grade(nodes, runs, rules, jobs[head], found[head])
        entries[head].kind, entries[head].borrow, entries[head].victims = kind, height, count
        entries[head].room = -1


@compiled
def take_heads(nodes: Any, lines: Any, lengths: Ints, parked: Any, preemptors: Any, jobs: Any) -> int:
    """Fill in the first job of every queue that is not parked; return how many there are."""
    count = 0
    for place in range(len(lengths)):
        first = preemptors[place]
        if lengths[place] == 0:
            continue
        if first.row >= 0 and nodes[first.queue].strict == 0 and not parked[place, first.kind]:
            jobs[count] = first
            count += 1
            continue
        for number in range(lengths[place]):
            if not parked[place, lines[place, number].kind]:
                jobs[count] = lines[place, number]
                jobs[count].preemptor = 1 if lines[place, number].row == first.row else 0
                count += 1
                break
    return count


@compiled
def _advance(
    nodes: Any, runs: Any, rules: CycleRules, jobs: Any, entries: Any, found: Ints, told: Ints, order: Ints,
    lines: Any, lengths: Ints, parked: Any, preemptors: Any, passed: Ints,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Run cycles, parking jobs that do not get in, until one changes more than that.

    Return what is to be done, the heads of the last cycle, how many heads of those before it are in ``passed`` (row,
    outcome, 1 = was the preemptor), and the cycles.
    """
    noted, cycles = 0, 0
    while True:
        heads = take_heads(nodes, lines, lengths, parked, preemptors, jobs)
        if noted + heads > len(passed):
            return MORE, 0, noted, cycles
        cycles += 1
        nominate(nodes, runs, rules, jobs[:heads], entries[:heads], found)
        asked = settle_heads(nodes, runs, rules, jobs[:heads], entries[:heads], found, told, order)
        if asked != DONE:
            return asked, heads, noted, cycles
        for head in range(heads):
            if entries[head].outcome in (ADMITTED, WAITS_FOR_VICTIMS):
                return CHANGED, heads, noted, cycles
        any_parked = False
        for head in order[:heads]:
            outcome, place = entries[head].outcome, jobs[head].place
            passed[noted, 0], passed[noted, 1], passed[noted, 2] = jobs[head].row, outcome, 0
            if preemptors[place].row == jobs[head].row:
                preemptors[place].row, passed[noted, 2] = -1, 1
            noted += 1
            if outcome != LOST_RACE and nodes[jobs[head].queue].strict == 0:
                parked[place, jobs[head].kind] = any_parked = True
        if not any_parked:
            return DONE, 0, noted, cycles


@compiled
def settle_heads(
    nodes: Any, runs: Any, rules: CycleRules, jobs: Any, entries: Any, found: Ints, told: Ints, order: Ints
) -> int:
    """Handle the heads; return DONE, or the head for which nodes must be asked before this is called again.

    Fills in outcomes, victims of jobs that wait for them in ``told`` (as ``found``), and the ``order`` of the heads.
    """
    heads = len(jobs)
    leaving = np.zeros(len(runs), np.int64)
    promised, promises = np.zeros(heads, np.int64), 0
    waiting = np.ones(heads, np.int64)
    shares = np.zeros((3, heads, len(nodes)), np.int64)
    root, known, asked = -1, -1, DONE
    if not rules.fair_sharing:
        _sort(rules, jobs, entries, order)
    for place in range(heads):
        if rules.fair_sharing:
            if root < 0 or _first(nodes, jobs, waiting, root) < 0:
                root, known = nodes[jobs[_first(nodes, jobs, waiting, -1)].queue].root, -1
            if known != promises:  # shares hang on what was promised
                _fill_in_shares(nodes, jobs, entries, waiting, root, shares)
                known = promises
            order[place] = _tournament(nodes, rules, jobs, entries, waiting, root, shares)
        head = order[place]
        waiting[head] = 0
        outcome, amount = _handle(nodes, runs, rules, jobs[head], entries[head], found[head], told[head], leaving)
        if outcome < 0:
            asked = head
            break
        entries[head].outcome = outcome
        if amount != 0:
            promised[head] = amount
            promises += 1
            shift(nodes, jobs[head].queue, amount)
        if outcome == WAITS_FOR_VICTIMS:
            for number in range(entries[head].told):
                leaving[told[head, 0, number]] = 1
    for head in range(heads):
        shift(nodes, jobs[head].queue, -promised[head])
    return asked


@compiled
def _handle(
    nodes: Any, runs: Any, rules: CycleRules, job: Any, entry: Any, found: Ints, told: Ints, leaving: Ints
) -> tuple[int, int]:
    """Return what becomes of one job, on top of what earlier ones were promised, and what is promised to it.

    ``leaving``: 1 for all victims of the cycle so far. The outcome is -1 where nodes must be asked first.
    """
    queue, kind, borrow, count = job.queue, entry.kind, entry.borrow, entry.victims
    entry.told = 0
    if kind == NO_FIT:
        return NO_FITTING, 0
    shared = False
    for place in range(count):
        told[0, place], told[1, place] = found[0, place], found[1, place]
        shared = shared or leaving[found[0, place]] != 0
    if shared and rules.retarget:
        for run in range(len(runs)):
            if leaving[run] != 0:
                hide(nodes, runs, run)
        kind, borrow, count = _grade(nodes, runs, rules, job, told)
        for run in range(len(runs)):
            if leaving[run] != 0:
                unhide(nodes, runs, run)
        shared = False
        if kind == FIT:
            return WAITS_FOR_VICTIMS, job.amount
        if kind == NO_FIT:
            return NO_FITTING, 0
    if kind != FIT and count == 0:
        return NO_VICTIMS, 0 if nodes[queue].reclaim == ANY else _reserve(nodes, job, borrow)
    if shared or not _fits_without(nodes, runs, job, told, count, leaving):
        return LOST_RACE, 0
    if kind == FIT:
        if entry.room != 1:
            return (NO_ROOM if entry.room == 0 else -1), 0
        return ADMITTED, job.amount
    entry.told = count
    return WAITS_FOR_VICTIMS, job.amount


@compiled
def _fits_without(nodes: Any, runs: Any, job: Any, told: Ints, count: int, leaving: Ints) -> bool:
    """Return whether a job fits when its victims and all earlier ones of the cycle have left."""
    for place in range(count):
        hide(nodes, runs, told[0, place])
    for run in range(len(runs)):
        if leaving[run] != 0:
            hide(nodes, runs, run)
    enough = fits(nodes, job.queue, job.amount, True)
    for place in range(count):
        unhide(nodes, runs, told[0, place])
    for run in range(len(runs)):
        if leaving[run] != 0:
            unhide(nodes, runs, run)
    return enough


@compiled
def _reserve(nodes: Any, job: Any, borrow: int) -> int:
    """Return what a job without victims keeps from later ones: up to nominal, or to what it may borrow."""
    left, limit = nodes[job.queue].nominal - nodes[job.queue].used, nodes[job.queue].borrow
    if borrow == 0:
        return max(0, min(job.amount, left))
    return job.amount if limit == NO_LIMIT else min(job.amount, left + limit)


# ---- order ---------------------------------------------------------------------------------------------------


@compiled
def _sort(rules: CycleRules, jobs: Any, entries: Any, order: Ints) -> None:
    """Order the heads as ``across_queues`` does."""
    for head in range(len(jobs)):
        place = head
        while place > 0 and _goes_first(rules, jobs, entries, head, order[place - 1]):
            order[place] = order[place - 1]
            place -= 1
        order[place] = head


@compiled
def _goes_first(rules: CycleRules, jobs: Any, entries: Any, head: int, other: int) -> bool:
    if rules.preemptor_first and jobs[head].preemptor != jobs[other].preemptor:
        return jobs[head].preemptor != 0
    if entries[head].borrow != entries[other].borrow:
        return entries[head].borrow < entries[other].borrow
    if rules.by_priority and jobs[head].priority != jobs[other].priority:
        return jobs[head].priority > jobs[other].priority
    return jobs[head].order_s < jobs[other].order_s


@compiled
def _first(nodes: Any, jobs: Any, waiting: Ints, root: int) -> int:
    """Return the first head that was not handled yet, below a root or (-1) anywhere; -1 if there is none."""
    for head in range(len(jobs)):
        if waiting[head] != 0 and (root < 0 or nodes[jobs[head].queue].root == root):
            return head
    return -1


@compiled
def _fill_in_shares(nodes: Any, jobs: Any, entries: Any, waiting: Ints, root: int, shares: Ints) -> None:
    """Fill in numerator, denominator and 2 x endless + borrows of each head's path, with the request of the head."""
    for head in range(len(jobs)):
        queue = jobs[head].queue
        if waiting[head] == 0 or nodes[queue].root != root:
            continue
        amount = 0 if entries[head].kind == NO_FIT else jobs[head].amount
        shift(nodes, queue, amount)
        node = queue
        while node >= 0:
            num, den, endless, borrows = share_of(nodes, node)
            shares[0, head, node], shares[1, head, node] = num, den
            shares[2, head, node] = (2 if endless else 0) + (1 if borrows and amount > 0 else 0)
            node = nodes[node].parent
        shift(nodes, queue, -amount)


@compiled
def _tournament(nodes: Any, rules: CycleRules, jobs: Any, entries: Any, waiting: Ints, root: int, shares: Ints) -> int:
    """Return the head that wins: at every cohort, from the lowest up, the winners of its children meet."""
    winner, branch = np.full(len(nodes), -1, np.int64), np.full(len(nodes), -1, np.int64)
    deepest = 0
    for head in range(len(jobs)):
        if waiting[head] != 0 and nodes[jobs[head].queue].root == root:
            winner[jobs[head].queue] = head
            deepest = max(deepest, nodes[jobs[head].queue].depth)
    for depth in range(deepest, 0, -1):
        for node in range(len(nodes)):
            if winner[node] < 0 or nodes[node].depth != depth:
                continue
            above = nodes[node].parent
            if winner[above] < 0 or _wins(rules, jobs, shares, winner[node], node, winner[above], branch[above]):
                winner[above], branch[above] = winner[node], node
    return winner[root]


@compiled
def _wins(rules: CycleRules, jobs: Any, shares: Ints, head: int, node: int, other: int, other_node: int) -> bool:
    """Return whether the winner of one branch comes before that of another."""
    if rules.preemptor_first and jobs[head].preemptor != jobs[other].preemptor:
        return jobs[head].preemptor != 0
    mine, theirs = shares[2, head, node], shares[2, other, other_node]
    if mine % 2 != theirs % 2:
        return theirs % 2 == 1
    a = (shares[0, head, node], shares[1, head, node], mine >= 2, True)
    b = (shares[0, other, other_node], shares[1, other, other_node], theirs >= 2, True)
    if exceeds(b, a) or exceeds(a, b):
        return exceeds(b, a)
    if rules.by_priority and jobs[head].priority != jobs[other].priority:
        return jobs[head].priority > jobs[other].priority
    return jobs[head].order_s < jobs[other].order_s


# ---- kept in numba's cache -------------------------------------------------------------------------------------


def _table(record: np.dtype[Any]) -> Any:
    return types.Array(from_dtype(record), 1, "C")


_RULES = types.NamedUniTuple(types.boolean, len(CycleRules._fields), CycleRules)
_FOUND, _LINE = types.Array(types.int64, 3, "C"), types.Array(types.int64, 1, "C")
_COMMON = (_table(NODE), _table(RUN), _RULES, _table(WAIT), _table(ENTRY), _FOUND, _FOUND, _LINE)
_ROOMS = (
    types.Array(from_dtype(WAIT), 2, "C"), _LINE, types.Array(types.boolean, 2, "C"), _table(WAIT),
    types.Array(types.int64, 2, "C"),
)  # fmt: skip


def _compile(sources: int) -> tuple[Callable[..., tuple[int, int, int, int]], Callable[..., int]]:
    @njit(types.UniTuple(types.int64, 4)(*_COMMON, *_ROOMS), cache=True, nogil=True, error_model="numpy")
    def advance(
        nodes: Any, runs: Any, rules: CycleRules, jobs: Any, entries: Any, found: Ints, told: Ints, order: Ints,
        lines: Any, lengths: Ints, parked: Any, preemptors: Any, passed: Ints,
    ) -> tuple[int, int, int, int]:  # fmt: skip
        if sources < 0:
            return DONE, 0, 0, 0
        return _advance(
            nodes, runs, rules, jobs, entries, found, told, order, lines, lengths, parked, preemptors, passed
        )

    @njit(types.int64(*_COMMON), cache=True, nogil=True, error_model="numpy")
    def settle(
        nodes: Any, runs: Any, rules: CycleRules, jobs: Any, entries: Any, found: Ints, told: Ints, order: Ints
    ) -> int:
        if sources < 0:
            return DONE
        return settle_heads(nodes, runs, rules, jobs, entries, found, told, order)

    return advance, settle


_HERE = Path(__file__).parent
advance, settle = _compile(fingerprint([*_HERE.glob("*.py"), _HERE.parent / "flavors.py"]))
"""``settle(nodes, runs, rules, jobs, entries, found, told, order)``, and ``advance`` with what waits after it: (lines,
lengths, parked, preemptors), and the list ``passed`` to fill in."""
