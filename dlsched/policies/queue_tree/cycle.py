"""One pass over the first job of every queue, as a cycle of Kueue.

All jobs are looked at in the state before the cycle; then they are handled one after the other, each on top of what
those before it were promised. The tree is as before when the answer is returned: nothing is carried out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from dlsched.policies.queue_tree.flavors import Assignment, Tried
from dlsched.policies.queue_tree.jobs import Job, Reason, Rules, Running
from dlsched.policies.queue_tree.nominate import nominate
from dlsched.policies.queue_tree.order import across_queues
from dlsched.policies.queue_tree.tree import Share, Tree
from dlsched.policies.queue_tree.victims import Victim

Outcome = Literal["admitted", "waits_for_victims", "lost_race", "no_room", "no_fit", "no_victims"]
"""What became of a job in a cycle.

``waits_for_victims``: jobs were told to stop for it, or those told for another one will make room; ``lost_race``: an
earlier job of the cycle took its room or its victims; ``no_room``: it has quota, but ``has_room`` said no;
``no_victims``: it needs jobs to stop, and none may be stopped.
"""

Hint = Literal["over_quota", "quota_lent", "leaving", "too_large"]

HasRoom = Callable[[Job, Assignment], bool]


class Head(NamedTuple):
    """The first job of a queue; ``tried``: where its search was cut; ``preemptor``: its victims are leaving."""

    job: Job
    tried: Tried = ()
    preemptor: bool = False


class Told(NamedTuple):
    """A running job that must stop, the job it is for, and why."""

    victim: str
    reason: Reason
    taker: str


@dataclass(slots=True, eq=False)
class Entry:
    """A head in a cycle: what it would get, and what became of it."""

    head: Head
    assignment: Assignment
    victims: list[Victim]
    outcome: Outcome = "no_fit"

    @property
    def job(self) -> Job:
        """Return the job."""
        return self.head.job


@dataclass(frozen=True, slots=True)
class CycleResult:
    """``admitted``: jobs with what they hold, in order. ``told``: jobs that must stop, those already leaving left out.

    ``entries``: all heads, in the order in which they were handled.
    """

    admitted: list[tuple[Job, Assignment]] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)

    @property
    def outcomes(self) -> dict[str, Outcome]:
        """Return job id -> what became of it."""
        return {entry.job.id: entry.outcome for entry in self.entries}


def run_cycle(tree: Tree, heads: Sequence[Head], rules: Rules, has_room: HasRoom | None = None) -> CycleResult:
    """Return which first jobs are admitted, which jobs must stop, and what became of the others.

    ``has_room``: asked before a job is admitted, whether nodes have room for it; not: it is passed over as after a
    lost race and keeps nothing.
    """
    entries = [Entry(head, *nominate(tree, head.job, rules, head.tried)) for head in heads]
    result = CycleResult()
    promised: list[tuple[int, Mapping[int, int]]] = []
    leaving: dict[str, Running] = {}
    for entry in _in_order(tree, entries, rules, promised):
        result.entries.append(entry)
        _handle(tree, entry, rules, leaving, promised, has_room)
        if entry.outcome == "admitted":
            result.admitted.append((entry.job, entry.assignment))
        elif entry.outcome == "waits_for_victims":
            result.told.extend(
                Told(victim.id, reason, entry.job.id) for victim, reason in entry.victims if not victim.leaving
            )
    for queue, usage in reversed(promised):
        tree.remove(queue, usage)
    return result


def _handle(
    tree: Tree,
    entry: Entry,
    rules: Rules,
    leaving: dict[str, Running],
    promised: list[tuple[int, Mapping[int, int]]],
    has_room: HasRoom | None,
) -> None:
    """Decide about one job on top of what earlier ones were promised; ``leaving``: all victims of the cycle so far."""
    job = entry.job
    if entry.assignment.mode == "no-fit" and not entry.victims:
        return

    def promise(usage: Mapping[int, int]) -> None:
        tree.add(job.queue, usage)
        promised.append((job.queue, usage))

    shared = any(victim.id in leaving for victim, _ in entry.victims)
    if shared and rules.retarget:
        for victim in leaving.values():
            tree.hide(victim)
        entry.assignment, entry.victims = nominate(tree, job, rules, (), entry.assignment.pins)
        for victim in leaving.values():
            tree.unhide(victim)
        shared = False
        if entry.assignment.mode == "fit":
            entry.outcome = "waits_for_victims"
            promise(entry.assignment.usage)
            return
    if entry.assignment.mode == "no-fit":
        entry.outcome = "no_fit"
        return
    if entry.assignment.mode == "preempt" and not entry.victims:
        entry.outcome = "no_victims"
        if tree.rules[job.queue].reclaim != "any":
            promise(reserve(tree, job.queue, entry.assignment))
        return
    if shared or not _fits_without(tree, entry, leaving):
        entry.outcome = "lost_race"
        return
    if entry.assignment.mode == "fit" and has_room is not None and not has_room(job, entry.assignment):
        entry.outcome = "no_room"
        return
    promise(entry.assignment.usage)
    leaving.update((victim.id, victim) for victim, _ in entry.victims)
    entry.outcome = "waits_for_victims" if entry.victims else "admitted"


def _fits_without(tree: Tree, entry: Entry, leaving: Mapping[str, Running]) -> bool:
    """Return whether a job fits when its victims and all earlier ones of the cycle have left."""
    hidden = [*leaving.values(), *(victim for victim, _ in entry.victims)]
    for victim in hidden:
        tree.hide(victim)
    fits = tree.fits(entry.job.queue, entry.assignment.usage)
    for victim in hidden:
        tree.unhide(victim)
    return fits


def reserve(tree: Tree, queue: int, assignment: Assignment) -> dict[int, int]:
    """Return what a job without victims keeps from later ones of the cycle: up to nominal, or to what it may borrow."""
    if assignment.mode != "preempt":
        return dict(assignment.usage)
    kept = {}
    for f, amount in assignment.usage.items():
        left = tree.nominal[f][queue] - tree.used[f][queue]
        borrow = tree.borrow[f][queue]
        if assignment.borrow == 0:
            kept[f] = max(0, min(amount, left))
        else:
            kept[f] = amount if borrow is None else min(amount, left + borrow)
    return kept


def _in_order(
    tree: Tree, entries: Sequence[Entry], rules: Rules, promised: Sequence[tuple[int, Mapping[int, int]]]
) -> Iterator[Entry]:
    """Yield the entries; under fair sharing the next one follows from what was promised up to then."""
    if not rules.fair_sharing:
        yield from sorted(
            entries, key=lambda each: across_queues(each.job, each.assignment.borrow, rules, each.head.preemptor)
        )
        return
    for root in dict.fromkeys(tree.root[each.job.queue] for each in entries):
        left = {each.job.queue: each for each in entries if tree.root[each.job.queue] == root}
        known, contenders = -1, dict[int, Contender]()
        while left:
            if known != len(promised):  # shares hang on what was promised
                contenders = {queue: _contender(tree, each) for queue, each in left.items()}
                known = len(promised)
            winner = _tournament(tree, contenders, rules)
            queue = winner.entry.job.queue
            del left[queue], contenders[queue]
            yield winner.entry


@dataclass(frozen=True, slots=True, eq=False)
class Contender:
    """An entry in the tournament; ``shares``: its queue and the cohorts above -> share with the request of the job."""

    entry: Entry
    shares: Mapping[int, Share]


def _contender(tree: Tree, entry: Entry) -> Contender:
    queue, usage = entry.job.queue, entry.assignment.usage
    tree.add(queue, usage)
    shares = {node: tree.share(node) for node in (queue, *tree.above[queue])}
    tree.remove(queue, usage)
    return Contender(entry, shares)


def _tournament(tree: Tree, contenders: Mapping[int, Contender], rules: Rules) -> Contender:
    """Return the winner: at every cohort, from the lowest up, the winners of its children meet."""
    winners = dict(contenders)
    while True:
        deepest = max(len(tree.above[node]) for node in winners)
        if deepest == 0:
            return next(iter(winners.values()))
        best: dict[int, int] = {}
        for node in sorted(node for node in winners if len(tree.above[node]) == deepest):
            above = tree.parent[node]
            other = best.get(above)
            if other is None or _wins(node, winners[node], other, winners[other], rules):
                best[above] = node
        winners = {node: each for node, each in winners.items() if len(tree.above[node]) < deepest} | {
            above: winners[node] for above, node in best.items()
        }


def _wins(node: int, contender: Contender, other: int, best: Contender, rules: Rules) -> bool:
    """Return whether the winner of one branch comes before that of another."""
    if rules.preemptor_first and contender.entry.head.preemptor is not best.entry.head.preemptor:
        return contender.entry.head.preemptor
    mine, theirs = contender.shares[node], best.shares[other]
    my_usage, their_usage = contender.entry.assignment.usage, best.entry.assignment.usage
    borrows = any(my_usage.get(f, 0) > 0 for f in mine.borrowed)
    they_borrow = any(their_usage.get(f, 0) > 0 for f in theirs.borrowed)
    if borrows is not they_borrow:
        return they_borrow
    if theirs.exceeds(mine) or mine.exceeds(theirs):
        return theirs.exceeds(mine)
    a, b = contender.entry.job, best.entry.job
    if rules.priority_between_queues and a.priority != b.priority:
        return a.priority > b.priority
    return a.order_s < b.order_s


def hint(tree: Tree, queue: int, outcome: Outcome, is_too_large: bool, pairs: Sequence[tuple[int, int]]) -> Hint:
    """Return why a job that was not admitted waits, as far as quota goes.

    ``is_too_large``, ``pairs``: what ``too_large`` and ``pairs_of`` answer for it.
    """
    if outcome == "waits_for_victims":
        return "leaving"
    if is_too_large:
        return "too_large"
    for f, amount in pairs:
        if tree.used[f][queue] + amount <= tree.nominal[f][queue] and amount > tree.available(queue, f):
            return "quota_lent"
    return "over_quota"
