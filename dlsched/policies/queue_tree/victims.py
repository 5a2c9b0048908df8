"""Which running jobs must stop so that a waiting job fits: Kueue's classic rules.

Candidates are taken one after the other until the job fits; then those that turn out not to be needed are given back.
The tree is as before when an answer is returned.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Literal

from dlsched.policies.queue_tree.jobs import Job, Policy, QueueRules, Reason, Running, may_stop
from dlsched.policies.queue_tree.order import in_order_of_candidates
from dlsched.policies.queue_tree.tree import Tree

Victim = tuple[Running, Reason]

Variant = Literal["own", "near", "no-borrow", "borrow"]
"""A candidate of the queue itself; one over whose cohort the queue has the first claim; one that may only be stopped
while the queue stays within its nominal; one that may be stopped for a job that borrows."""

REASONS: Mapping[Variant, Reason] = {
    "own": "in-queue",
    "near": "reclaim",
    "no-borrow": "reclaim",
    "borrow": "reclaim-while-borrowing",
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A running job that may be stopped; ``found_from``: the cohort below which its queue was found, -1 for own."""

    job: Running
    variant: Variant
    found_from: int


def classic_victims(tree: Tree, job: Job, usage: Mapping[int, int], need: Collection[int]) -> list[Victim]:
    """Return jobs that must stop so that ``job`` gets ``usage``, with reasons; empty if no stop helps.

    ``need``: the pairs that have too little room.
    """
    rules = tree.rules[job.queue]
    if rules.within == rules.reclaim == "never":
        return []
    short = short_of(tree, job, usage)
    if short and not (_may_reach_others(tree, job, usage) and enough_elsewhere(tree, job, short, need)):
        return []  # a quick look at the most that could be freed spares most searches
    own, near, far = _candidates(tree, job, usage, need)
    leaving = [each for part in (near, far, own) for each in part if each.job.leaving]
    ordered = leaving + [each for part in (near, far, own) for each in part if not each.job.leaving]
    while_borrowing = rules.while_borrowing
    under = all(tree.used[f][job.queue] < tree.nominal[f][job.queue] for f in need)
    attempts: tuple[bool, ...] = (True, False)
    if not (near or far) or (not while_borrowing and not under):
        attempts = (True,)
    elif not while_borrowing and not near:
        attempts = (False, True)
    for borrowing in attempts:
        taken: list[Victim] = []
        for each in ordered:
            if not _still_counts(tree, job.queue, each, need, borrowing):
                continue
            tree.hide(each.job)
            taken.append((each.job, REASONS[each.variant]))
            if tree.fits(job.queue, usage, borrowing):
                return give_back(tree, job.queue, usage, taken, borrowing)
        for job_taken, _ in taken:
            tree.unhide(job_taken)
    return []


def short_of(tree: Tree, job: Job, usage: Mapping[int, int]) -> dict[int, int]:
    """Return pair -> what a job would still lack if every job it may stop in its queue stopped; empty if nothing."""
    queue, within = job.queue, tree.rules[job.queue].within
    short = {}
    for f, amount in usage.items():
        available = tree.available(queue, f)
        if amount > max(0, available):
            left = amount - available - tree.held_below(queue, f, within, job.priority)
            if left > 0:
                short[f] = left
    return short


def enough_elsewhere(tree: Tree, job: Job, short: Mapping[int, int], need: Collection[int]) -> bool:
    """Return False if all that could be freed in other queues that borrow is less than what a job lacks."""
    queue, reclaim = job.queue, tree.rules[job.queue].reclaim
    if reclaim == "never":
        return False
    others = [
        each for each in tree.queues_below.get(tree.root[queue], ()) if each != queue and tree.over_any(each, need)
    ]
    return all(
        amount <= sum([tree.held_below(each, f, reclaim, job.priority) for each in others])
        for f, amount in short.items()
    )


def _may_reach_others(tree: Tree, job: Job, usage: Mapping[int, int]) -> bool:
    """Return False if no attempt could stop jobs of other queues: none is near, and the queue would have to borrow."""
    queue, rules = job.queue, tree.rules[job.queue]
    if rules.reclaim == "never":
        return False
    if rules.while_borrowing or all(
        tree.used[f][queue] + amount - tree.held_below(queue, f, rules.within, job.priority) <= tree.nominal[f][queue]
        for f, amount in usage.items()
    ):
        return True
    left: Mapping[int, int] = usage
    for node in (queue, *tree.above[queue][:-1]):
        has_room, left = _room_in_quota(tree, node, left)
        if has_room:
            return True
    return False


def give_back(
    tree: Tree, queue: int, usage: Mapping[int, int], taken: list[Victim], borrowing: bool = True
) -> list[Victim]:
    """Return the victims that are needed, and show all of them in the tree again; the last one always is."""
    needed = taken[-1:]
    for victim in reversed(taken[:-1]):
        tree.unhide(victim[0])
        if not tree.fits(queue, usage, borrowing):
            tree.hide(victim[0])
            needed.append(victim)
    for job, _ in needed:
        tree.unhide(job)
    return needed[::-1]


def _candidates(
    tree: Tree, job: Job, usage: Mapping[int, int], need: Collection[int]
) -> tuple[list[Candidate], list[Candidate], list[Candidate]]:
    """Return candidates of the queue itself, near and far ones, each in order."""
    rules, queue = tree.rules[job.queue], job.queue

    own = [
        Candidate(each, "own", -1)
        for each in in_order_of_candidates(running_that(tree, queue, rules.within, job, need), queue)
    ]
    near: dict[str, Candidate] = {}
    far: dict[str, Candidate] = {}
    if rules.reclaim == "never":
        return own, [], []
    has_room, left = _room_in_quota(tree, queue, usage)
    below = queue
    for cohort in tree.above[queue]:
        for node in _queues_over(tree, cohort, below, need):
            for each in running_that(tree, node, rules.reclaim, job, need):
                if has_room:
                    near[each.id] = Candidate(each, "near", cohort)
                else:
                    far[each.id] = Candidate(each, _variant(rules, job, each), cohort)
        fits, left = _room_in_quota(tree, cohort, left)
        has_room, below = has_room or fits, cohort
    return (
        own,
        [near[each.id] for each in in_order_of_candidates((one.job for one in near.values()), queue)],
        [far[each.id] for each in in_order_of_candidates((one.job for one in far.values()), queue)],
    )


def running_that(tree: Tree, queue: int, policy: Policy, job: Job, need: Collection[int]) -> list[Running]:
    """Return the running jobs of a queue that hold something needed and that a policy lets ``job`` stop."""
    if policy == "never":
        return []
    return [
        each
        for each in tree.running_of[queue].values()
        if not each.gone and (policy == "any" or may_stop(policy, job, each)) and not each.usage.keys().isdisjoint(need)
    ]


def _variant(rules: QueueRules, job: Job, other: Running) -> Variant:
    highest = inf if rules.while_borrowing_below is None else rules.while_borrowing_below
    below = other.priority < job.priority and other.priority <= highest
    return "borrow" if rules.while_borrowing and below else "no-borrow"


def _room_in_quota(tree: Tree, node: int, usage: Mapping[int, int]) -> tuple[bool, dict[int, int]]:
    """Return whether a node has room in its quota for what lower levels could not keep, and what it cannot keep."""
    fits = all(not tree.over(node, f, amount) for f, amount in usage.items())
    return fits, {f: max(0, amount - tree.free_kept(node, f)) for f, amount in usage.items()}


def _queues_over(tree: Tree, cohort: int, skipped: int, need: Collection[int]) -> Iterable[int]:
    """Yield the queues below a cohort that borrow, as every cohort on the way down to them does."""
    left = [cohort]
    while left:
        for child in tree.children[left.pop()]:
            if child == skipped or not tree.over_any(child, need):
                continue
            if tree.is_queue[child]:
                yield child
            else:
                left.append(child)


def _still_counts(tree: Tree, queue: int, each: Candidate, need: Collection[int], borrowing: bool) -> bool:
    """Return whether a candidate may still be taken after those before it."""
    if each.variant == "own":
        return True
    if borrowing and each.variant == "no-borrow":
        return False
    if not tree.over_any(each.job.queue, need):
        return False
    for cohort in tree.above[each.job.queue]:
        if cohort == each.found_from:
            return True
        if not tree.over_any(cohort, need):
            return False
    return True
