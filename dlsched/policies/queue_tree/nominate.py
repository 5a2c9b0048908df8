"""What the first job of a queue would need: flavors, pods, and the jobs that must stop."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from dlsched.policies.queue_tree.fair import fair_victims
from dlsched.policies.queue_tree.flavors import (
    NO_CANDIDATES,
    PREEMPT,
    RECLAIM,
    Assignment,
    Grade,
    Pins,
    Tried,
    assign,
    most_pods,
)
from dlsched.policies.queue_tree.jobs import Job, Rules
from dlsched.policies.queue_tree.tree import Tree
from dlsched.policies.queue_tree.victims import Victim, classic_victims


def nominate(
    tree: Tree, job: Job, rules: Rules, tried: Tried = (), pins: Pins | None = None
) -> tuple[Assignment, list[Victim]]:
    """Return the flavors of a job and the jobs that must stop for it.

    A job that neither fits nor finds victims at full size is tried with fewer pods, where it may have fewer.
    """
    known: dict[tuple[object, ...], list[Victim]] = {}

    def search(usage: Mapping[int, int], need: Collection[int]) -> list[Victim]:
        """Return victims; a job of one resource asks the same for its flavor and for itself."""
        question = (*usage.items(), tuple(need))
        if question not in known:
            known[question] = victims(tree, job, usage, need, rules)
        return known[question]

    def oracle(f: int, amount: int) -> Grade:
        found = search({f: amount}, (f,))
        for victim, _ in found:
            tree.hide(victim)
        height, _ = tree.borrows_from(job.queue, f, amount)
        for victim, _ in found:
            tree.unhide(victim)
        if not found:
            return NO_CANDIDATES, height
        return (PREEMPT if any(victim.queue == job.queue for victim, _ in found) else RECLAIM), height

    full = assign(tree, job, rules, oracle, None, tried, pins)
    if full.mode == "fit":
        return full, []
    if full.mode == "preempt" and (found := search(full.usage, full.need)):
        return full, found
    answer = (full, list[Victim]())

    def fits(counts: tuple[int, ...]) -> bool:
        nonlocal answer
        fewer = assign(tree, job, rules, oracle, counts, tried, pins)
        found = search(fewer.usage, fewer.need) if fewer.mode == "preempt" else []
        if fewer.mode == "fit" or found:
            answer = fewer, found
            return True
        return False

    if rules.fewer_pods:
        most_pods(job.podsets, fits)
    return answer


def victims(tree: Tree, job: Job, usage: Mapping[int, int], need: Collection[int], rules: Rules) -> list[Victim]:
    """Return jobs that must stop so that ``job`` gets ``usage``, with reasons; empty if no stop helps.

    ``need``: the pairs that have too little room.
    """
    if rules.fair_sharing:
        return fair_victims(tree, job, usage, need, rules.strategies)
    return classic_victims(tree, job, usage, need)
