"""Which flavor each part of a waiting job gets, and with how many pods it can start.

For every set of pods and every group of resources the flavors of the queue are tried in order; the rules of the queue
say when the search stops. A search that was cut goes on at the next flavor in a later cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from dlsched.policies.queue_tree.jobs import Job, PodSet, QueueRules, Rules
from dlsched.policies.queue_tree.tree import Tree

NO_FIT: Final = 0
NO_CANDIDATES: Final = 1
PREEMPT: Final = 2
RECLAIM: Final = 3
FIT: Final = 4
"""How good a flavor is, worst first: too small; no jobs to stop; some of this queue; of others only; free."""

MODES = {NO_FIT: "no-fit", NO_CANDIDATES: "preempt", PREEMPT: "preempt", RECLAIM: "preempt", FIT: "fit"}
"""What a job must do to get a flavor of that kind."""

Grade = tuple[int, int]
"""How good a flavor is, and the height of the cohort it borrows from."""

Oracle = Callable[[int, int], Grade]
"""(pair, amount) -> what stopping jobs for this pair alone would bring, and the height borrowed from then."""

Tried = tuple[Mapping[str, int], ...]
"""For each set of pods, resource -> last flavor tried; -1 = all were tried."""

Pins = Mapping[str, Mapping[str, str]]
"""Set of pods -> resource -> the flavor it must have."""


class Choice(NamedTuple):
    """The flavor of one resource: its pair in the tree, how good it is, the height borrowed from, the last tried."""

    flavor: str
    f: int
    kind: int
    borrow: int
    tried: int

    @property
    def mode(self) -> str:
        """Return fit or preempt."""
        return MODES[self.kind]


@dataclass(slots=True)
class Assignment:
    """Flavors of a job.

    ``podsets``: name, pods, resource -> choice; the last one is empty, and later ones are missing, where no flavor
    fits. ``usage``: what the job would hold. ``borrow``: largest height borrowed from.
    """

    podsets: list[tuple[str, int, dict[str, Choice]]] = field(default_factory=list)
    usage: dict[int, int] = field(default_factory=dict)
    borrow: int = 0
    mode: str = "no-fit"

    @property
    def need(self) -> tuple[int, ...]:
        """Return the pairs for which jobs must stop."""
        return tuple(
            dict.fromkeys(
                choice.f for _, _, chosen in self.podsets for choice in chosen.values() if choice.mode == "preempt"
            )
        )

    @property
    def tried(self) -> Tried:
        """Return where the search stopped."""
        return tuple({resource: choice.tried for resource, choice in chosen.items()} for _, _, chosen in self.podsets)

    @property
    def cut(self) -> bool:
        """Return whether flavors are left to try."""
        for _, _, chosen in self.podsets:
            for choice in chosen.values():
                if choice.tried >= 0:
                    return True
        return False

    @property
    def pins(self) -> Pins:
        """Return the flavors that were chosen."""
        return {name: {resource: each.flavor for resource, each in chosen.items()} for name, _, chosen in self.podsets}


def better(a: Grade, b: Grade, prefer_preempting: bool) -> bool:
    """Return whether a flavor of grade ``a`` is preferred to one of grade ``b``."""
    if a[0] == NO_FIT or b[0] == NO_FIT:
        return a[0] != NO_FIT
    if (a[0] == NO_CANDIDATES) is not (b[0] == NO_CANDIDATES):
        return b[0] == NO_CANDIDATES
    if prefer_preempting:
        return a[1] < b[1] or (a[1] == b[1] and a[0] > b[0])
    return a[0] > b[0] or (a[0] == b[0] and a[1] < b[1])


def goes_on(grade: Grade, rules: QueueRules) -> bool:
    """Return whether the next flavor is looked at after one of this grade."""
    kind, borrow = grade
    if kind in (NO_FIT, NO_CANDIDATES):
        return True
    return (kind in (PREEMPT, RECLAIM) and rules.preempt_next) or (borrow > 0 and rules.borrow_next)


def assign(
    tree: Tree,
    job: Job,
    rules: Rules,
    oracle: Oracle,
    counts: Sequence[int] | None = None,
    tried: Tried = (),
    pins: Pins | None = None,
) -> Assignment:
    """Return the flavors of a job; ``counts``: pods of each set, ``tried``: where an earlier search was cut."""
    group_of = tree.group_of[job.queue]
    found = Assignment()
    if len(job.podsets) == 1 and counts is None and pins is None and not tried and "pods" not in group_of:
        podset = job.podsets[0]
        number = group_of.get(next(iter(podset.requests))) if len(podset.requests) == 1 else None
        if number is not None and len(tree.groups[job.queue][number]) == 1:
            return _only_flavor(tree, job, rules, oracle, number, podset, found)
    worst = FIT
    for place, podset in enumerate(job.podsets):
        count = podset.count if counts is None else counts[place]
        requests = podset.all_of_it if count == podset.count else podset.total(count)
        if "pods" in group_of:
            requests = {**requests, "pods": count}
        last = tried[place] if place < len(tried) else {}
        chosen: dict[str, Choice] = {}
        found.podsets.append((podset.name, count, chosen))
        for resource, amount in requests.items():
            if resource in chosen:
                continue
            number = group_of.get(resource)
            if number is None and (amount == 0 or rules.ignore_uncovered):
                continue
            pinned = None if pins is None else pins.get(podset.name, {}).get(resource)
            best = (
                {}
                if number is None
                else _best_flavor(
                    tree, job, rules, oracle, number, podset, requests, found.usage,
                    last.get(resource, -1) + 1, None if pins is None else pinned or "",
                )
            )  # fmt: skip
            if not best:
                chosen.clear()
                found.mode = "no-fit"
                return found
            chosen.update(best)
        for resource, choice in chosen.items():
            found.usage[choice.f] = found.usage.get(choice.f, 0) + requests[resource]
            found.borrow = max(found.borrow, choice.borrow)
            worst = min(worst, choice.kind)
    found.mode = MODES[worst] if job.podsets else "no-fit"
    return found


def _only_flavor(
    tree: Tree, job: Job, rules: Rules, oracle: Oracle, number: int, podset: PodSet, found: Assignment
) -> Assignment:
    """Fill in the assignment of a job of one resource, where its group has one flavor: most jobs of most clusters."""
    ((resource, amount),) = podset.all_of_it.items()
    (flavor,), (keys,) = tree.rules[job.queue].groups[number].flavors, tree.groups[job.queue][number]
    chosen: dict[str, Choice] = {}
    found.podsets.append((podset.name, podset.count, chosen))
    if podset.flavors is not None and flavor not in podset.flavors:
        return found
    f = keys[resource]
    kind, borrow = _grade(tree, job, rules, oracle, f, amount)
    if kind != NO_FIT:
        chosen[resource] = Choice(flavor, f, kind, borrow, -1)
        found.usage[f], found.borrow, found.mode = amount, borrow, MODES[kind]
    return found


def _best_flavor(
    tree: Tree,
    job: Job,
    rules: Rules,
    oracle: Oracle,
    number: int,
    podset: PodSet,
    requests: Mapping[str, int],
    assumed: Mapping[int, int],
    first: int,
    pinned: str | None,
) -> dict[str, Choice]:
    """Return resource -> choice for the resources of one group; empty where no flavor fits."""
    queue = tree.rules[job.queue]
    group, keys = queue.groups[number], tree.groups[job.queue][number]
    asked = [resource for resource in requests if resource in group.resources]
    best: list[tuple[str, int, Grade]] = []
    best_grade: Grade = (NO_FIT, 1 << 30)
    name, last = "", -1
    for place in range(first, len(group.flavors)):
        last, flavor = place, group.flavors[place]
        if (pinned is not None and flavor != pinned) or (podset.flavors is not None and flavor not in podset.flavors):
            continue
        grade: Grade = (FIT, 0)
        grades: list[tuple[str, int, Grade]] = []
        for resource in asked:
            f = keys[place][resource]
            one = _grade(tree, job, rules, oracle, f, requests[resource] + assumed.get(f, 0))
            if better(grade, one, queue.prefer_preempting):
                grade = one
            if one[0] == NO_FIT:
                break
            grades.append((resource, f, one))
        if not goes_on(grade, queue):
            best, name = grades, flavor
            break
        if better(grade, best_grade, queue.prefer_preempting):
            best, best_grade, name = grades, grade, flavor
    if last == len(group.flavors) - 1:
        last = -1
    return {resource: Choice(name, f, one[0], one[1], last) for resource, f, one in best}


def _grade(tree: Tree, job: Job, rules: Rules, oracle: Oracle, f: int, amount: int) -> Grade:
    """Return how good a flavor is for ``amount`` of one resource."""
    queue = job.queue
    if amount > tree.most[f][queue]:
        return NO_FIT, 0
    if amount <= 0 or amount <= tree.available(queue, f):
        return FIT, tree.borrows_from(queue, f, amount)[0]
    own = tree.rules[queue]
    while_borrowing = own.while_borrowing or (rules.fair_sharing and own.reclaim != "never")
    if while_borrowing or tree.nominal[f][queue] >= amount:
        return oracle(f, amount)
    height, covered_below = tree.borrows_from(queue, f, amount)
    return oracle(f, amount) if covered_below else (NO_FIT, height)


def most_pods(podsets: Sequence[PodSet], fits: Callable[[tuple[int, ...]], bool]) -> tuple[int, ...] | None:
    """Return the pods of each set with which a job fits, as many as possible; None if even the fewest do not.

    All sets shrink in proportion to what they can spare. ``fits`` is asked along a binary search, in which the last
    counts that fit are the answer.
    """
    spare = [0 if each.min_count is None else each.count - each.min_count for each in podsets]
    total = sum(spare)
    if total <= 0:
        return None
    low, high = 0, total + 1
    best = None
    while low < high:
        middle = (low + high) // 2
        counts = tuple(each.count - part * middle // total for each, part in zip(podsets, spare, strict=True))
        if fits(counts):
            high, best = middle, counts
        else:
            low = middle + 1
    return best


def too_large(tree: Tree, job: Job, ignore_uncovered: bool = False) -> bool:
    """Return whether a job would not even fit if nothing ran: no flavor of some group is large enough."""
    groups = tree.rules[job.queue].groups
    for podset in job.podsets:
        fewest = podset.count if podset.min_count is None else podset.min_count
        requests = podset.total(fewest)
        for group, flavor_keys in zip(groups, tree.groups[job.queue], strict=True):
            asked = [resource for resource in requests if resource in group.resources and requests[resource]]
            if asked and not any(
                all(requests[resource] <= tree.most[keys[resource]][job.queue] for resource in asked)
                for flavor, keys in zip(group.flavors, flavor_keys, strict=True)
                if podset.flavors is None or flavor in podset.flavors
            ):
                return True
        covered = {resource for group in groups for resource in group.resources}
        if not ignore_uncovered and any(amount and resource not in covered for resource, amount in requests.items()):
            return True
    return False


def pairs_of(tree: Tree, job: Job) -> Iterable[tuple[int, int]]:
    """Yield (pair, amount) for every flavor that each set of pods of a job may have."""
    for podset in job.podsets:
        for resource, amount in podset.total(podset.count).items():
            for group, flavor_keys in zip(tree.rules[job.queue].groups, tree.groups[job.queue], strict=True):
                if resource in group.resources:
                    for flavor, keys in zip(group.flavors, flavor_keys, strict=True):
                        if podset.flavors is None or flavor in podset.flavors:
                            yield keys[resource], amount
