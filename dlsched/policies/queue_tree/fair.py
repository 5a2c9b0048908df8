"""Which running jobs must stop so that a waiting job fits: Kueue's fair sharing.

Queues are taken from by their share of what is borrowed, and a job is stopped only where that leaves the shares in
better balance. The tree is as before when an answer is returned.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from dlsched.policies.queue_tree.jobs import Job, Reason, Running, Strategy
from dlsched.policies.queue_tree.order import in_order_of_candidates
from dlsched.policies.queue_tree.tree import NO_SHARE, Share, Tree
from dlsched.policies.queue_tree.victims import Victim, enough_elsewhere, give_back, running_that, short_of


class Rivals:
    """The queues from which jobs may be stopped, the next one by the shares of the moment.

    From the root down, the child with the largest share; a cohort before a queue at a tie, and queues at a tie by
    their first candidates. Queues without candidates and nodes that do not borrow drop out, but for the queue of the
    waiting job and the cohorts above it.
    """

    def __init__(self, tree: Tree, queue: int, candidates: Sequence[Running]) -> None:
        self.tree, self.queue = tree, queue
        self.path = {queue, *tree.above[queue]}
        self.left: dict[int, deque[Running]] = {}
        for job in candidates:
            self.left.setdefault(job.queue, deque()).append(job)
        self.rank = {job.id: place for place, job in enumerate(candidates)}
        self.out: set[int] = set()

    def __iter__(self) -> Iterator[int]:
        """Yield queues; before the next, a candidate of the last must be taken or the queue dropped."""
        if self.tree.parent[self.queue] < 0:
            while self.queue not in self.out and self.left.get(self.queue):
                yield self.queue
            return
        root = self.tree.root[self.queue]
        while root not in self.out:
            chosen = self._next(root)
            if chosen is not None:
                yield chosen

    def take(self, queue: int) -> Running:
        """Return the first candidate of a queue, which is one no more."""
        return self.left[queue].popleft()

    def _next(self, cohort: int) -> int | None:
        """Return the queue below a cohort; None if nodes dropped out instead."""
        tree, node = self.tree, cohort
        while not tree.is_queue[node]:
            best: int | None = None
            best_share = NO_SHARE
            for child in tree.children[node]:
                if child in self.out:
                    continue
                share = tree.share(child)
                borrows = share.borrowed or child in self.path
                if not borrows or (tree.is_queue[child] and not self.left.get(child)):
                    self.out.add(child)
                elif (
                    best is None
                    or share.exceeds(best_share)
                    or (not best_share.exceeds(share) and self._first(child, best))
                ):
                    best, best_share = child, share
            if best is None:
                self.out.add(node)
                return None
            node = best
        return node

    def _first(self, node: int, other: int) -> bool:
        """Return whether a node goes before another one with the same share."""
        if not self.tree.is_queue[node] or not self.tree.is_queue[other]:
            return self.tree.is_queue[other] and not self.tree.is_queue[node]
        return self.rank[self.left[node][0].id] < self.rank[self.left[other][0].id]


def fair_victims(
    tree: Tree, job: Job, usage: Mapping[int, int], need: Collection[int], strategies: Sequence[Strategy]
) -> list[Victim]:
    """Return jobs that must stop so that ``job`` gets ``usage``, with reasons; empty if no stop helps."""
    short = short_of(tree, job, usage)
    if short and not enough_elsewhere(tree, job, short, need):
        return []
    within = tree.rules[job.queue].within
    if not any(tree.held_below(job.queue, f, within, job.priority) for f in need):
        tree.add(job.queue, usage)
        owes = _owes_all(tree, job.queue, need)
        tree.remove(job.queue, usage)
        if owes:
            return []
    candidates = _candidates(tree, job, need)
    if not candidates:
        return []
    taken: list[Victim] = []

    def take(victim: Running, reason: Reason) -> bool:
        """Stop a job; return whether the waiting one fits then, its own use counted once."""
        tree.hide(victim)
        taken.append((victim, reason))
        tree.remove(job.queue, usage)
        fits = tree.fits(job.queue, usage)
        tree.add(job.queue, usage)
        return fits

    tree.add(job.queue, usage)
    fits = _by_strategies(tree, job, need, candidates, strategies, take)
    tree.remove(job.queue, usage)
    if fits:
        return give_back(tree, job.queue, usage, taken)
    for victim, _ in taken:
        tree.unhide(victim)
    return []


def _candidates(tree: Tree, job: Job, need: Collection[int]) -> list[Running]:
    rules = tree.rules[job.queue]
    nodes = [job.queue]
    if tree.parent[job.queue] >= 0 and rules.reclaim != "never":
        root = tree.root[job.queue]
        nodes += [
            node for node in tree.queues if node != job.queue and tree.root[node] == root and tree.over_any(node, need)
        ]
    found: list[Running] = []
    for node in nodes:
        policy = rules.within if node == job.queue else rules.reclaim
        found += running_that(tree, node, policy, job, need)
    return in_order_of_candidates(found, job.queue)


def _owes_all(tree: Tree, queue: int, need: Collection[int]) -> bool:
    """Return whether a queue, with the job, borrows more than every branch that jobs could be taken from.

    No strategy lets it take from any of them then, and without jobs of its own to stop that stays so.
    """
    if not tree.over_any(queue, need):
        return False
    mine = queue
    for cohort in tree.above[queue]:
        share = tree.share(mine)
        if any(not share.exceeds(tree.share(other)) for other in tree.children[cohort] if other != mine):
            return False
        mine = cohort
    return True


def _by_strategies(
    tree: Tree,
    job: Job,
    need: Collection[int],
    candidates: Sequence[Running],
    strategies: Sequence[Strategy],
    take: Callable[[Running, Reason], bool],
) -> bool:
    """Stop jobs until the waiting one fits; return whether it does."""
    within_nominal = not tree.over_any(job.queue, need)
    later: list[Running] = []
    rivals = Rivals(tree, job.queue, candidates)
    for queue in rivals:
        if queue == job.queue or within_nominal:
            if take(rivals.take(queue), "in-queue" if queue == job.queue else "reclaim"):
                return True
            continue
        mine, theirs = tree.branch(job.queue, queue)
        my_share, their_share = tree.share(mine), tree.share(theirs)
        if my_share.exceeds(their_share):  # a branch without one of its jobs has no larger share than before
            later += rivals.left.pop(queue)
            continue
        while rivals.left[queue]:
            victim = rivals.take(queue)
            if _balances(tree, victim, theirs, my_share, their_share, strategies[0]):
                if take(victim, "fair-share"):
                    return True
                break
            later.append(victim)
    if len(strategies) > 1:
        rivals = Rivals(tree, job.queue, later)
        for queue in rivals:
            mine, theirs = tree.branch(job.queue, queue)
            victim = rivals.take(queue)
            if tree.share(theirs).exceeds(tree.share(mine)) and take(victim, "fair-share"):
                return True
            rivals.out.add(queue)
    return False


def _balances(
    tree: Tree, victim: Running, theirs: int, my_share: Share, their_share: Share, strategy: Strategy
) -> bool:
    """Return whether shares allow that a job of another branch stops."""
    if strategy == "initial-share":
        return their_share.exceeds(my_share)
    tree.hide(victim)
    left = tree.share(theirs)
    tree.unhide(victim)
    return not my_share.exceeds(left)
