"""Which running jobs must stop for a waiting one, compiled: ``classic_victims`` and ``fair_victims`` for one pair."""

from __future__ import annotations

from typing import Any

import numpy as np

from dlsched.domain.workload import Ints
from dlsched.policies.queue_tree.kernels.numbers import (
    Share,
    available,
    exceeds,
    fits,
    free_kept,
    hide,
    over,
    share_of,
    shift,
    unhide,
)
from dlsched.policies.queue_tree.kernels.tables import (
    ANY,
    FAIR_SHARE,
    IN_QUEUE,
    LOWER_OR_NEWER_EQUAL,
    NEVER,
    RECLAIMS,
    WHILE_BORROWING,
    CycleRules,
    compiled,
)

NEAR, FAR, OWN = range(3)


@compiled
def victims(nodes: Any, runs: Any, rules: CycleRules, job: Any, found: Ints) -> int:
    """Fill in ``found`` (2, runs): places of the running jobs that must stop, and reasons; return how many."""
    if not _may_be_enough(nodes, runs, job):
        return 0
    if rules.fair_sharing:
        return _fair_victims(nodes, runs, rules, job, found)
    return _classic_victims(nodes, runs, job, found)


@compiled
def _may_stop(policy: int, job: Any, run: Any) -> bool:
    if policy == NEVER or run.gone != 0 or run.shielded != 0 or run.amount == 0:
        return False
    if policy == ANY or job.priority > run.priority:
        return True
    return policy == LOWER_OR_NEWER_EQUAL and job.priority == run.priority and job.order_s < run.order_s


@compiled
def _may_be_enough(nodes: Any, runs: Any, job: Any) -> bool:
    """Return False if all that could be freed in the queue and in those that borrow is less than what a job lacks."""
    queue, root = job.queue, nodes[job.queue].root
    within, reclaim = nodes[queue].within, nodes[queue].reclaim
    if within == NEVER and reclaim == NEVER:
        return False
    left = job.amount - available(nodes, queue)
    for run in runs:
        policy = within if run.queue == queue else reclaim
        if _may_stop(policy, job, run):
            if run.queue == queue or (nodes[run.queue].root == root and over(nodes, run.queue)):
                left -= run.amount
            if left <= 0:
                return True
    return False


@compiled
def _give_back(nodes: Any, runs: Any, job: Any, found: Ints, count: int, borrowing: bool) -> int:
    """Keep the victims that are needed, the last one among them, and show all in the tree again."""
    for place in range(count - 2, -1, -1):
        unhide(nodes, runs, found[0, place])
        if fits(nodes, job.queue, job.amount, borrowing):
            found[1, place] = -1
        else:
            hide(nodes, runs, found[0, place])
    kept = 0
    for place in range(count):
        if found[1, place] >= 0:
            unhide(nodes, runs, found[0, place])
            found[0, kept], found[1, kept] = found[0, place], found[1, place]
            kept += 1
    return kept


# ---- classic -------------------------------------------------------------------------------------------------


@compiled
def _classic_victims(nodes: Any, runs: Any, job: Any, found: Ints) -> int:
    queue = job.queue
    while_borrowing = nodes[queue].while_borrowing != 0
    found_from = np.full(len(nodes), -1, np.int64)
    part = np.full(len(nodes), -1, np.int64)
    part[queue] = OWN
    if nodes[queue].reclaim != NEVER:
        _find_queues(nodes, job, found_from, part)
    candidates, parts = np.empty(len(runs), np.int64), np.empty(len(runs), np.int64)
    total = 0
    any_near, any_other = False, False
    for leaving in (1, 0):
        for wanted in (NEAR, FAR, OWN):
            policy = nodes[queue].within if wanted == OWN else nodes[queue].reclaim
            for place in range(len(runs)):
                run = runs[place]
                if run.leaving == leaving and part[run.queue] == wanted and _may_stop(policy, job, run):
                    candidates[total], parts[total] = place, wanted
                    total += 1
                    any_near, any_other = any_near or wanted == NEAR, any_other or wanted != OWN
    under = nodes[queue].used < nodes[queue].nominal
    first, attempts = True, 2
    if not any_other or (not while_borrowing and not under):
        attempts = 1
    elif not while_borrowing and not any_near:
        first = False
    for attempt in range(attempts):
        borrowing = first if attempt == 0 else not first
        count = 0
        for number in range(total):
            place = candidates[number]
            run = runs[place]
            lower = run.priority < job.priority and run.priority <= nodes[queue].highest
            reason = IN_QUEUE if parts[number] == OWN else RECLAIMS
            if parts[number] == FAR and while_borrowing and lower:
                reason = WHILE_BORROWING
            if parts[number] != OWN:
                if borrowing and parts[number] == FAR and reason == RECLAIMS:
                    continue
                if not _borrows_below(nodes, run.queue, found_from[run.queue]):
                    continue
            hide(nodes, runs, place)
            found[0, count], found[1, count] = place, reason
            count += 1
            if fits(nodes, queue, job.amount, borrowing):
                return _give_back(nodes, runs, job, found, count, borrowing)
        for number in range(count):
            unhide(nodes, runs, found[0, number])
    return 0


@compiled
def _borrows_below(nodes: Any, node: int, cohort: int) -> bool:
    """Return whether a queue and all cohorts between it and the given one borrow."""
    while node != cohort:
        if not over(nodes, node):
            return False
        node = nodes[node].parent
    return True


@compiled
def _find_queues(nodes: Any, job: Any, found_from: Ints, part: Ints) -> None:
    """Fill in the queues that may be taken from: the lowest cohort in common, and whether they are near or far."""
    near = np.full(len(nodes), -1, np.int64)
    node, left, has_room = job.queue, job.amount, False
    while nodes[node].parent >= 0:
        has_room = has_room or nodes[node].used + left <= nodes[node].pool
        left = max(0, left - free_kept(nodes, node))
        node = nodes[node].parent
        near[node] = NEAR if has_room else FAR
    for other in range(len(nodes)):
        if other == job.queue or nodes[other].is_queue == 0 or nodes[other].root != nodes[job.queue].root:
            continue
        cohort = nodes[other].parent
        while near[cohort] < 0:
            cohort = nodes[cohort].parent
        if _borrows_below(nodes, other, cohort):
            found_from[other], part[other] = cohort, near[cohort]


# ---- fair sharing --------------------------------------------------------------------------------------------


@compiled
def _fair_victims(nodes: Any, runs: Any, rules: CycleRules, job: Any, found: Ints) -> int:
    queue, root = job.queue, nodes[job.queue].root
    candidates, total = np.empty(len(runs), np.int64), 0
    any_own = False
    for leaving in (1, 0):
        for own in (False, True):
            policy = nodes[queue].within if own else nodes[queue].reclaim
            for place in range(len(runs)):
                run = runs[place]
                if run.leaving != leaving or (run.queue == queue) != own or not _may_stop(policy, job, run):
                    continue
                if own or (nodes[run.queue].root == root and over(nodes, run.queue)):
                    candidates[total] = place
                    total += 1
                    any_own = any_own or own
    if total == 0:
        return 0
    shift(nodes, queue, job.amount)
    count = 0
    enough = False
    if any_own or not _owes_all(nodes, queue):
        count, enough = _by_strategies(nodes, runs, rules, job, candidates[:total], found)
    shift(nodes, queue, -job.amount)
    if enough:
        return _give_back(nodes, runs, job, found, count, True)
    for place in range(count):
        unhide(nodes, runs, found[0, place])
    return 0


@compiled
def _owes_all(nodes: Any, queue: int) -> bool:
    """Return whether a queue, with the job, borrows more than every branch that jobs could be taken from."""
    if not over(nodes, queue):
        return False
    mine = queue
    while nodes[mine].parent >= 0:
        share = share_of(nodes, mine)
        other = nodes[nodes[mine].parent].first_child
        while other >= 0:
            if other != mine and not exceeds(share, share_of(nodes, other)):
                return False
            other = nodes[other].next_child
        mine = nodes[mine].parent
    return True


@compiled
def _take(nodes: Any, runs: Any, job: Any, found: Ints, count: int, place: int, reason: int) -> bool:
    """Stop a job; return whether the waiting one fits then, its own use counted once."""
    hide(nodes, runs, place)
    found[0, count], found[1, count] = place, reason
    shift(nodes, job.queue, -job.amount)
    enough = fits(nodes, job.queue, job.amount, True)
    shift(nodes, job.queue, job.amount)
    return enough


@compiled
def _by_strategies(
    nodes: Any, runs: Any, rules: CycleRules, job: Any, candidates: Ints, found: Ints
) -> tuple[int, bool]:
    """Stop jobs until the waiting one fits; return how many were taken, and whether it does."""
    queue, count = job.queue, 0
    within_nominal = not over(nodes, queue)
    later, put_off = np.empty(len(candidates), np.int64), 0
    first, after = _lines(nodes, runs, candidates)
    out = _start(nodes, queue)
    while True:
        chosen = _next(nodes, queue, first, out)
        if chosen < 0:
            break
        if chosen == queue or within_nominal:
            place = candidates[first[chosen]]
            first[chosen] = after[first[chosen]]
            reason = IN_QUEUE if chosen == queue else RECLAIMS
            enough = _take(nodes, runs, job, found, count, place, reason)
            count += 1
            if enough:
                return count, True
            continue
        mine, theirs = _branch(nodes, queue, chosen)
        my_share, their_share = share_of(nodes, mine), share_of(nodes, theirs)
        too_much = exceeds(my_share, their_share)  # a branch without one of its jobs has no larger share than before
        while first[chosen] >= 0:
            place = candidates[first[chosen]]
            first[chosen] = after[first[chosen]]
            if not too_much and _balances(nodes, runs, rules, place, theirs, my_share, their_share):
                enough = _take(nodes, runs, job, found, count, place, FAIR_SHARE)
                count += 1
                if enough:
                    return count, True
                break
            later[put_off] = place
            put_off += 1
    if rules.two_strategies and put_off > 0:
        first, after = _lines(nodes, runs, later[:put_off])
        out = _start(nodes, queue)
        while True:
            chosen = _next(nodes, queue, first, out)
            if chosen < 0:
                break
            mine, theirs = _branch(nodes, queue, chosen)
            place = later[first[chosen]]
            first[chosen] = after[first[chosen]]
            if exceeds(share_of(nodes, theirs), share_of(nodes, mine)):
                enough = _take(nodes, runs, job, found, count, place, FAIR_SHARE)
                count += 1
                if enough:
                    return count, True
            out[chosen] = 1
    return count, False


@compiled
def _balances(
    nodes: Any, runs: Any, rules: CycleRules, place: int, theirs: int, my_share: Share, their_share: Share
) -> bool:
    """Return whether shares allow that a job of another branch stops."""
    if rules.initial:
        return exceeds(their_share, my_share)
    hide(nodes, runs, place)
    left = share_of(nodes, theirs)
    unhide(nodes, runs, place)
    return not exceeds(my_share, left)


@compiled
def _branch(nodes: Any, queue: int, other: int) -> tuple[int, int]:
    """Return the nodes just below the lowest cohort above both queues, on the side of each."""
    mine, theirs = queue, other
    while nodes[mine].parent != nodes[theirs].parent:
        if nodes[mine].depth > nodes[theirs].depth:
            mine = nodes[mine].parent
        elif nodes[mine].depth < nodes[theirs].depth:
            theirs = nodes[theirs].parent
        else:
            mine, theirs = nodes[mine].parent, nodes[theirs].parent
    return mine, theirs


@compiled
def _lines(nodes: Any, runs: Any, candidates: Ints) -> tuple[Ints, Ints]:
    """Return the place of each queue's first candidate, and of the one after each in its queue; -1 = none."""
    first, after = np.full(len(nodes), -1, np.int64), np.empty(len(candidates), np.int64)
    for place in range(len(candidates) - 1, -1, -1):
        queue = runs[candidates[place]].queue
        after[place], first[queue] = first[queue], place
    return first, after


@compiled
def _start(nodes: Any, queue: int) -> Ints:
    """Return the state of each node: 2 for the queue of the job and the cohorts above it; 1: it has dropped out."""
    out = np.zeros(len(nodes), np.int64)
    node = queue
    while node >= 0:
        out[node] = 2
        node = nodes[node].parent
    return out


@compiled
def _next(nodes: Any, queue: int, first: Ints, out: Ints) -> int:
    """Return the queue to take from next: from the root down the child with the largest share; -1 if none is left.

    A cohort before a queue at a tie, and queues at a tie by their first candidates.
    """
    root = nodes[queue].root
    if root == queue:
        return queue if first[queue] >= 0 and out[queue] != 1 else -1
    while out[root] != 1:
        node = root
        while node >= 0 and nodes[node].is_queue == 0:
            best, best_share = -1, share_of(nodes, root)
            child = nodes[node].first_child
            while child >= 0:
                if out[child] != 1:
                    share = share_of(nodes, child)
                    if (not share[3] and out[child] != 2) or (nodes[child].is_queue != 0 and first[child] < 0):
                        out[child] = 1
                    elif (
                        best < 0
                        or exceeds(share, best_share)
                        or (not exceeds(best_share, share) and _before(nodes, child, best, first))
                    ):
                        best, best_share = child, share
                child = nodes[child].next_child
            if best < 0:
                out[node] = 1
            node = best
        if node >= 0:
            return node
    return -1


@compiled
def _before(nodes: Any, node: int, other: int, first: Ints) -> bool:
    """Return whether a node goes before another one with the same share."""
    if nodes[node].is_queue == 0 or nodes[other].is_queue == 0:
        return nodes[other].is_queue != 0 and nodes[node].is_queue == 0
    return first[node] < first[other]
