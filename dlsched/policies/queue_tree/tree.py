"""The tree of quotas and its numbers: pools, use, what is available, shares.

A node is a queue (leaf) or a cohort. Nodes have numbers, and so have the pairs of flavor and resource (``f``) for which
some node has quota; amounts are whole numbers. The numbers of a node n for a pair f, as in Kueue:

- ``pool``: what its subtree may use without borrowing: its nominal and what its children lend;
- ``kept``: the part of the pool that is never visible above it;
- ``used``: what its running jobs hold; of a cohort, what its children use above what they keep;
- ``available``: the most a job can get now; ``most``: with nothing running.

Under KAI's rules the numbers do not add up (``adds_up``): the number of a cohort stands by itself and is that of its
children if it has none, nothing is kept back, and the nodes without parent share one whole.

A change of use walks up from a queue while a node above still feels it, and is undone by the opposite change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Self

from dlsched.domain.queue_tree import Cohort, Queue, QueueTree
from dlsched.policies.queue_tree.jobs import Group, Policy, QueueRules, Running

AMOUNTS_PER_UNIT = 1000
"""A shared GPU and a part of a core count thousandths."""

MOST_SHARES = 10_000
"""Shares of a node that are remembered: the same amounts come again and again."""

Key = tuple[str, str]
"""(flavor, resource)."""


@dataclass(frozen=True, slots=True)
class Quota:
    """Quota of a node for one pair; ``borrow``: most above nominal, ``lend``: most for others; None = no limit."""

    nominal: int
    borrow: int | None = None
    lend: int | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """A queue or cohort as the tree is built from it; ``rules``: of a queue, None for a cohort."""

    name: str
    parent: str | None
    quotas: Mapping[Key, Quota]
    rules: QueueRules | None = None
    weight: float = 1.0
    level: int = 0


@dataclass(frozen=True, slots=True)
class Share:
    """Dominant resource share: 1000 x borrowed / lendable / weight as a fraction, compared without rounding.

    ``endless``: it borrows with weight 0 and ranks above all others; then the fraction is that before the weight.
    """

    num: int
    den: int
    endless: bool = False
    borrowed: tuple[int, ...] = ()
    resource: str = ""

    def exceeds(self, other: Share) -> bool:
        """Return whether this share is larger."""
        if self.endless is not other.endless:
            return self.endless
        return self.num * other.den > other.num * self.den

    @property
    def shown(self) -> int:
        """Return the share rounded up; the largest 64-bit integer where it is endless."""
        return (1 << 63) - 1 if self.endless else ceil(Fraction(self.num, self.den))


NO_SHARE = Share(0, 1)


class Tree:
    """Quotas, use and running jobs of all queues; see the module. Nodes by number: queues first, then cohorts."""

    def __init__(self, nodes: Sequence[Node], more: Iterable[Key] = (), adds_up: bool = True) -> None:
        self.adds_up = adds_up
        self.names = [node.name for node in nodes]
        self.number = {name: place for place, name in enumerate(self.names)}
        self.parent = [-1 if node.parent is None else self.number[node.parent] for node in nodes]
        self.rules = [node.rules or QueueRules() for node in nodes]
        self.is_queue = [node.rules is not None for node in nodes]
        self.queues = [place for place, node in enumerate(nodes) if node.rules is not None]
        self.levels = [node.level for node in nodes]
        self.weights = [Fraction(repr(float(node.weight))) for node in nodes]
        asked = [key for rules in self.rules for group in rules.groups for key in group.keys]
        self.keys = tuple(dict.fromkeys([*asked, *(key for node in nodes for key in node.quotas), *more]))
        self.index = {key: place for place, key in enumerate(self.keys)}
        self.groups = [
            tuple(
                [{resource: self.index[flavor, resource] for resource in group.resources} for flavor in group.flavors]
                for group in rules.groups
            )
            for rules in self.rules
        ]
        self.group_of = [
            {resource: number for number, group in reversed([*enumerate(rules.groups)]) for resource in group.resources}
            for rules in self.rules
        ]
        self.children: list[list[int]] = [[] for _ in nodes]
        for place, above in enumerate(self.parent):
            if above >= 0:
                self.children[above].append(place)
        self.above = [self._path(place) for place in range(len(nodes))]
        self.root = [path[-1] if path else place for place, path in enumerate(self.above)]
        self.queues_below: dict[int, list[int]] = {}
        for queue in self.queues:
            for node in self.above[queue]:
                self.queues_below.setdefault(node, []).append(queue)
        self.height = [0] * len(nodes)
        for place in sorted(range(len(nodes)), key=lambda each: -len(self.above[each])):
            if self.children[place]:
                self.height[place] = 1 + max(self.height[child] for child in self.children[place])
        quotas = [[node.quotas.get(key) for node in nodes] for key in self.keys]
        self.has_quota = [[quota is not None for quota in row] for row in quotas]
        self.nominal = [[quota.nominal if quota else 0 for quota in row] for row in quotas]
        self.borrow = [[quota.borrow if quota else None for quota in row] for row in quotas]
        self.lend = [[quota.lend if quota else None for quota in row] for row in quotas]
        self.used = [[0] * len(nodes) for _ in self.keys]
        self.roots = [place for place, above in enumerate(self.parent) if above < 0]
        self.running: dict[str, Running] = {}
        self.running_of: list[dict[str, Running]] = [{} for _ in nodes]
        self.held: list[list[dict[float, int]]] = [[{} for _ in nodes] for _ in self.keys]
        self.capacity: list[int | None] = [None] * len(self.keys)
        self.refresh()

    @classmethod
    def of(cls, tree: QueueTree, amounts_per_unit: int = AMOUNTS_PER_UNIT) -> Self:
        """Return the tree of a scenario's ``[queues]``; one GPU, core or GiB is ``amounts_per_unit``."""

        def amount(value: float | None) -> int | None:
            return None if value is None else round(value * amounts_per_unit)

        cohorts = {**tree.cohorts}
        for each in (*tree.tree.values(), *tree.cohorts.values()):
            if each.parent is not None and each.parent not in cohorts:
                cohorts[each.parent] = Cohort()
        named = [*tree.tree.items(), *cohorts.items()]
        nodes = []
        for name, each in named:
            quotas: dict[Key, Quota] = {
                (quota.flavor, quota.resource): Quota(
                    round(quota.nominal * amounts_per_unit), amount(quota.borrow), amount(quota.lend)
                )
                for quota in each.quota
            }
            rules = queue_rules(each) if isinstance(each, Queue) else None
            nodes.append(Node(name, each.parent, quotas, rules, each.weight, each.level))
        return cls(nodes, adds_up=tree.rule != "kai")

    def _path(self, place: int) -> tuple[int, ...]:
        path = []
        while (place := self.parent[place]) >= 0:
            path.append(place)
        return tuple(path)

    # --- quotas ---------------------------------------------------------------------------------------------------

    def set_quota(self, node: int, f: int, quota: Quota) -> None:
        """Change a quota while jobs run; ``refresh`` must follow, once after all changes of an instant."""
        self.nominal[f][node], self.borrow[f][node], self.lend[f][node] = quota.nominal, quota.borrow, quota.lend
        self.has_quota[f][node] = True

    def refresh(self) -> None:
        """Compute what follows from the quotas, and what cohorts use from what their queues use."""
        upward = sorted(range(len(self.names)), key=lambda each: -len(self.above[each]))
        self.pool = [list(row) for row in self.nominal]
        self.kept = [[0] * len(self.names) for _ in self.keys]
        self.known = [list(row) for row in self.has_quota]
        for f in range(len(self.keys)):
            pool, kept, used, known = self.pool[f], self.kept[f], self.used[f], self.known[f]
            for node in upward:
                if not self.is_queue[node]:
                    used[node] = 0
            for node in upward:
                lend = self.lend[f][node] if self.adds_up else None
                kept[node] = 0 if lend is None else max(0, pool[node] - lend)
                above = self.parent[node]
                if above >= 0:
                    if self.adds_up or not self.has_quota[f][above]:
                        pool[above] += pool[node] - kept[node]
                    used[above] += max(0, used[node] - kept[node])
                    known[above] = known[above] or known[node]
        self.most = [[0] * len(self.names) for _ in self.keys]
        for f, row in enumerate(self.most):
            for node in reversed(upward):
                above = self.parent[node]
                borrow = self.borrow[f][node]
                if above >= 0:
                    row[node] = self.kept[f][node] + row[above]
                elif self.adds_up:
                    row[node], borrow = self.pool[f][node], None
                else:
                    row[node] = self.whole(f)
                if borrow is not None:
                    row[node] = min(row[node], self.pool[f][node] + borrow)
        self.lendable = [self._lendable(node) for node in range(len(self.names))]
        self.shares: list[dict[tuple[int, ...], Share]] = [{} for _ in self.names]

    def _lendable(self, node: int) -> dict[str, int]:
        """Return resource -> the most that the cohort above a node could get of it, over all flavors."""
        lendable: dict[str, int] = {}
        above = self.parent[node]
        if above >= 0:
            for f, (_, resource) in enumerate(self.keys):
                if self.known[f][self.root[node]]:
                    lendable[resource] = lendable.get(resource, 0) + self.most[f][above]
        return lendable

    def whole(self, f: int) -> int:
        """Return what nodes without parent share under KAI's rules: ``capacity``, else the sum of their quotas."""
        capacity = self.capacity[f]
        return sum(self.pool[f][node] for node in self.roots) if capacity is None else capacity

    # --- use ------------------------------------------------------------------------------------------------------

    def add(self, queue: int, usage: Mapping[int, int]) -> None:
        """Let a queue use more."""
        for f, amount in usage.items():
            self._shift(queue, f, amount)

    def remove(self, queue: int, usage: Mapping[int, int]) -> None:
        """Let a queue use less: undoes ``add``."""
        for f, amount in usage.items():
            self._shift(queue, f, -amount)

    def _shift(self, node: int, f: int, amount: int) -> None:
        used, kept, parent = self.used[f], self.kept[f], self.parent
        while amount and node >= 0:
            before, limit = used[node], kept[node]
            after = used[node] = before + amount
            amount = (after - limit if after > limit else 0) - (before - limit if before > limit else 0)
            node = parent[node]

    def start(self, job: Running) -> None:
        """Let a job hold its quota from now on."""
        self.running[job.id] = self.running_of[job.queue][job.id] = job
        self.add(job.queue, job.usage)
        for f, amount in job.usage.items():
            held = self.held[f][job.queue]
            held[job.priority] = held.get(job.priority, 0) + amount

    def end(self, job_id: str) -> Running:
        """Take a job that ended or has left out of the tree."""
        job = self.running.pop(job_id)
        self.running_of[job.queue].pop(job_id, None)  # a job that must not be stopped is not listed there
        self.remove(job.queue, job.usage)
        for f, amount in job.usage.items():
            self.held[f][job.queue][job.priority] -= amount
        return job

    def hide(self, job: Running) -> None:
        """Look at the tree as if a running job had left; ``unhide`` undoes it."""
        job.gone = True
        self.remove(job.queue, job.usage)

    def unhide(self, job: Running) -> None:
        """Undo ``hide``."""
        job.gone = False
        self.add(job.queue, job.usage)

    # --- questions ------------------------------------------------------------------------------------------------

    def free_kept(self, node: int, f: int) -> int:
        """Return what a node keeps and does not use."""
        return max(0, self.kept[f][node] - self.used[f][node])

    def available(self, node: int, f: int) -> int:
        """Return the largest amount that a node can get now; below 0 after quota was taken away."""
        pool, kept, used, parent, borrow = self.pool[f], self.kept[f], self.used[f], self.parent, self.borrow[f]
        if not self.adds_up:
            path = [each for each in (node, *self.above[node]) if borrow[each] is not None]
            free = self.whole(f) - sum(used[root] for root in self.roots)
            return min([free, *(pool[each] + (borrow[each] or 0) - used[each] for each in path)])
        free, most = 0, None
        while parent[node] >= 0:
            own, use, limit = kept[node], used[node], borrow[node]
            if own > use:
                free += own - use
                use = own
            if limit is not None and (most is None or free + pool[node] - use + limit < most):
                most = free + pool[node] - use + limit
            node = parent[node]
        top = free + pool[node] - used[node]
        return top if most is None else min(top, most)

    def over(self, node: int, f: int, amount: int = 0) -> bool:
        """Return whether a node borrows, with ``amount`` more."""
        return self.used[f][node] + amount > self.pool[f][node]

    def over_any(self, node: int, pairs: Iterable[int]) -> bool:
        """Return whether a node borrows on one of the pairs."""
        used, pool = self.used, self.pool
        for f in pairs:  # noqa: SIM110 - any() is three times slower here, and fair sharing asks this most
            if used[f][node] > pool[f][node]:
                return True
        return False

    def fits(self, queue: int, usage: Mapping[int, int], borrowing: bool = True) -> bool:
        """Return whether a queue can get all of ``usage`` now; not ``borrowing``: and stay within its nominal."""
        for f, amount in usage.items():
            if not borrowing and self.used[f][queue] + amount > self.nominal[f][queue]:
                return False
            if amount > max(0, self.available(queue, f)):
                return False
        return True

    def borrows_from(self, queue: int, f: int, amount: int) -> tuple[int, bool]:
        """Return the height of the lowest cohort whose quota covers ``amount`` more, and whether one is above it.

        The height is 0 where the queue need not borrow or has no cohort, and that of the root where none covers it.
        """
        if self.used[f][queue] + amount <= self.pool[f][queue] or self.parent[queue] < 0:
            return 0, self.parent[queue] >= 0
        left = amount - self.free_kept(queue, f)
        node = queue
        for node in self.above[queue]:
            if not self.over(node, f, left):
                break
            left -= self.free_kept(node, f)
        return self.height[node], self.parent[node] >= 0

    def share(self, node: int, with_more: Mapping[int, int] | None = None) -> Share:
        """Return the share of a node, with ``with_more`` added to its own use."""
        if self.parent[node] < 0:
            return NO_SHARE
        if with_more is None:
            state = tuple([row[node] for row in self.used])
            known = self.shares[node].get(state)
            if known is None:
                if len(self.shares[node]) >= MOST_SHARES:
                    self.shares[node].clear()
                known = self.shares[node][state] = self._share(node, {})
            return known
        return self._share(node, with_more)

    def _share(self, node: int, with_more: Mapping[int, int]) -> Share:
        borrowed: dict[str, int] = {}
        pairs = []
        for f, (_, resource) in enumerate(self.keys):
            above = self.used[f][node] + with_more.get(f, 0) - self.pool[f][node]
            if above > 0 and self.known[f][node]:
                borrowed[resource] = borrowed.get(resource, 0) + above
                pairs.append(f)
        if not borrowed:
            return NO_SHARE
        num, den, named = 0, 1, ""
        for resource in sorted(borrowed):
            lendable = self.lendable[node].get(resource, 0)
            if lendable > 0 and borrowed[resource] * den > num * lendable:
                num, den, named = borrowed[resource], lendable, resource
        weight = self.weights[node]
        if weight == 0:
            return Share(1000 * num, den, True, tuple(pairs), named)
        return Share(1000 * num * weight.denominator, den * weight.numerator, False, tuple(pairs), named)

    def held_below(self, queue: int, f: int, policy: Policy, priority: float) -> int:
        """Return the most that a policy lets a job of this priority free in a queue by stopping jobs."""
        if policy == "never":
            return 0
        if policy == "any":
            return sum(self.held[f][queue].values())
        equal = policy == "lower-or-newer-equal"
        return sum(
            amount for each, amount in self.held[f][queue].items() if each < priority or (equal and each == priority)
        )

    def branch(self, queue: int, other: int) -> tuple[int, int]:
        """Return the nodes just below the lowest cohort above both queues, on the side of each."""
        path = self.above[queue]
        mine = queue
        below_other = {
            above: below for below, above in zip((other, *self.above[other]), self.above[other], strict=False)
        }
        for above in path:
            if above in below_other:
                return mine, below_other[above]
            mine = above
        raise ValueError(f"{self.names[queue]} and {self.names[other]} have no cohort in common")


def queue_rules(queue: Queue) -> QueueRules:
    """Return the rules of a queue of a scenario."""
    groups = []
    for number in sorted({quota.group for quota in queue.quota}):
        quotas = [quota for quota in queue.quota if quota.group == number]
        resources = tuple(dict.fromkeys(quota.resource for quota in quotas))
        groups.append(Group(resources, tuple(dict.fromkeys(quota.flavor for quota in quotas))))
    return QueueRules(
        strict=queue.strategy == "strict",
        within=queue.within,
        reclaim=queue.reclaim,
        while_borrowing=queue.while_borrowing == "lower",
        while_borrowing_below=queue.while_borrowing_below,
        borrow_next=queue.when_can_borrow == "next",
        preempt_next=queue.when_can_preempt == "next",
        prefer_preempting=queue.preference == "preempt",
        by_usage=queue.order == "usage",
        groups=tuple(groups),
    )
