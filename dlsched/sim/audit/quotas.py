"""Rules of quotas: what jobs hold, of which queue, how much; whose jobs may be stopped; strict queues.

Recomputed from the pieces, the journal and the quotas of the scenario; use of every queue is swept in the order in
which the journal was written. Only of a policy that keeps a journal.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from dlsched.domain.journal import Evicted, QuotaFreed, QuotaHeld, Told
from dlsched.domain.queue_lookup import Amounts, QueueNames, QuotaClock, flavor_nodes, nodes_of
from dlsched.domain.queue_tree import QueueTree
from dlsched.domain.workload import RESOURCES, Floats
from dlsched.sim.audit.facts import Facts, slack_s
from dlsched.sim.audit.findings import Findings
from dlsched.sim.log import PieceEnd

SAME_AMOUNT = 1e-6
NEVER_STOPPED = 100
"""KAI: jobs from this priority on are never stopped, and their queues have quota for all of them."""
Pair = tuple[str, str]
"""Flavor and resource."""


@dataclass(slots=True)
class Hold:
    """Quota that a job holds from ``from_s`` to ``to_s`` (infinite = to the end of the run)."""

    row: int
    queue: str
    from_s: float
    to_s: float = math.inf
    amounts: dict[Pair, float] = field(default_factory=dict)


def check_quotas(facts: Facts, findings: Findings) -> None:
    """Quotas are kept, stops are allowed and carried out, and strict queues keep their order."""
    tree = facts.scenario.queues
    if tree is None or not any(isinstance(entry, QuotaHeld) for _, entry in facts.log.journal):
        return
    holds = _holds(facts)
    _check_holds(facts, tree, holds, findings)
    _Sweep(facts, tree, findings).run()
    _check_leaving(facts, tree, findings)


def _holds(facts: Facts) -> list[Hold]:
    """Return the holds of the journal, by start."""
    found: list[Hold] = []
    current: dict[int, Hold] = {}
    for at_s, entry in facts.log.journal:
        if isinstance(entry, QuotaHeld):
            hold = current.get(entry.row)
            if hold is None:
                hold = current[entry.row] = Hold(entry.row, entry.queue, at_s)
                found.append(hold)
            pair = (entry.flavor, entry.resource)
            hold.amounts[pair] = hold.amounts.get(pair, 0.0) + entry.amount
        elif isinstance(entry, QuotaFreed) and entry.row in current:
            current.pop(entry.row).to_s = at_s
    return found


# ---- what jobs hold ------------------------------------------------------------------------------------------


def _check_holds(facts: Facts, tree: QueueTree, holds: list[Hold], findings: Findings) -> None:
    """Each piece holds the quota of all it uses, of its own queue, in flavors of its nodes, for as long as it runs."""
    log, jobs, names = facts.log, facts.scenario.workload, QueueNames(tree)
    column = getattr(jobs, tree.map)
    of_row: dict[int, list[Hold]] = defaultdict(list)
    for hold in holds:
        of_row[hold.row].append(hold)
        wanted = names.of("" if column is None else str(column[hold.row]))
        if hold.queue != wanted:
            findings.add(hold.from_s, f"{facts.job(hold.row)} holds quota of {hold.queue}, but its queue is {wanted}")
    cluster = facts.scenario.cluster
    masks = flavor_nodes(tree, cluster.vm_types, cluster.nodes.vm, cluster.nodes.partition)
    quotas = {name: {(q.flavor, q.resource) for q in queue.quota} for name, queue in tree.tree.items()}
    held = np.zeros((len(log.piece_row), len(RESOURCES)))
    np.add.at(held, facts.piece_of_share, facts.held())
    for p in range(len(log.piece_row)):
        row, start_s, end_s = int(log.piece_row[p]), float(log.piece_start_s[p]), float(log.piece_end_s[p])
        slack = float(slack_s(end_s))
        # what runs where a run is joined in the middle is first noted then
        held_s = [(min(h.from_s, start_s) if start_s < log.start_s else h.from_s, h) for h in of_row[row]]
        held_then = next((h for from_s, h in held_s if from_s <= start_s + slack and h.to_s >= end_s - slack), None)
        if held_then is None:
            mine = quotas.get(names.of("" if column is None else str(column[row])) or "")
            if of_row[row] or _needs_quota(mine, held[p]):
                findings.add(start_s, f"{facts.piece(p)} holds no quota all the time it runs")
            continue
        hold = held_then
        covered = {resource for _, resource in quotas.get(hold.queue, ())}
        for place, resource in enumerate(RESOURCES):
            amount = sum(amount for (_, of), amount in hold.amounts.items() if of == resource)
            if resource in covered and abs(amount - held[p, place]) > SAME_AMOUNT * max(1.0, amount):
                used = f"{held[p, place]:.10g} {resource}"
                findings.add(start_s, f"{facts.piece(p)} uses {used}, with quota for {amount:.10g}")
        if log.piece_servers[p]:
            continue  # servers may have flavors of their own
        nodes = log.share_node[log.share_first[p] : log.share_first[p + 1]]
        for flavor, _ in hold.amounts:
            mask = masks.get(flavor)
            if mask is not None and not mask[nodes].all():
                findings.add(start_s, f"{facts.piece(p)} holds quota of {flavor}, but runs on other nodes")


def _needs_quota(quotas: Iterable[tuple[str, str]] | None, held: Floats) -> bool:
    """Whether a piece uses something for which its queue has quota."""
    covered = {resource for _, resource in quotas or ()}
    return any(held[place] > 0 and resource in covered for place, resource in enumerate(RESOURCES))


# ---- use over time -------------------------------------------------------------------------------------------


class _Sweep:
    """Use of all queues, entry by entry of the journal."""

    def __init__(self, facts: Facts, tree: QueueTree, findings: Findings) -> None:
        self.facts, self.tree, self.findings = facts, tree, findings
        self.nodes = nodes_of(tree)
        self.children: dict[str, list[str]] = defaultdict(list)
        for name, node in self.nodes.items():
            if node.parent is not None:
                self.children[node.parent].append(name)
        self.clock = QuotaClock.of(tree, facts.scenario.workload)
        self.used: dict[tuple[str, Pair], float] = defaultdict(float)
        self.held: dict[int, Hold] = {}
        self.told: set[int] = set()
        self.told_at: dict[float, set[int]] = defaultdict(set)
        for at_s, entry in facts.log.journal:
            if isinstance(entry, Told):
                self.told_at[at_s].add(entry.row)
        jobs = facts.scenario.workload
        given = np.full(len(jobs), np.nan) if jobs.priority is None else jobs.priority
        self.priority = np.where(np.isnan(given), -math.inf, given)
        self.submit_s = jobs.submit_s
        self.quotas: dict[tuple[str, str, str], Amounts] = {}
        self.changes_s = -math.inf
        self.line = _Line(self)
        self.room = _room(facts, tree) if tree.rule == "kai" else {}

    def run(self) -> None:
        """Check every entry."""
        facts = self.facts
        entries = facts.log.journal
        number = 0
        while number < len(entries):
            at_s, entry = entries[number]
            self._quotas_at(at_s)
            if isinstance(entry, QuotaHeld):
                row, asked = entry.row, dict[Pair, float]()
                while number < len(entries):
                    _, more = entries[number]
                    if not (isinstance(more, QuotaHeld) and more.row == row):
                        break
                    pair = (more.flavor, more.resource)
                    asked[pair] = asked.get(pair, 0.0) + more.amount
                    number += 1
                self._admitted(at_s, row, entry.queue, asked)
                continue
            if isinstance(entry, QuotaFreed):
                hold = self.held.pop(entry.row, None)  # a job that asks for nothing with quota holds none
                if hold is not None:
                    for pair, amount in hold.amounts.items():
                        self.used[hold.queue, pair] -= amount
                self.told.discard(entry.row)
                self.line.freed(entry.row, at_s)
            elif isinstance(entry, Told):
                self._stopped(at_s, entry)
            number += 1

    def _quotas_at(self, at_s: float) -> None:
        if at_s + slack_s(at_s) >= self.changes_s:
            self.quotas = self.clock.at(at_s + float(slack_s(at_s)))
            self.changes_s = self.clock.next_s(at_s + float(slack_s(at_s)))

    def amounts(self, node: str, pair: Pair) -> Amounts:
        """Return nominal, borrow and lend of a node."""
        return self.quotas.get((node, *pair), (0.0, None, None))

    def pool(self, node: str, pair: Pair) -> float:
        """Return what a subtree may use without borrowing; under KAI the quota of a cohort stands by itself."""
        if self.tree.rule == "kai" and (node, *pair) in self.quotas:
            return self.amounts(node, pair)[0]
        return self.amounts(node, pair)[0] + sum(
            self.pool(child, pair) - self.kept(child, pair) for child in self.children[node]
        )

    def kept(self, node: str, pair: Pair) -> float:
        """Return what a node never lends."""
        lend = None if self.tree.rule == "kai" else self.amounts(node, pair)[2]
        return 0.0 if lend is None else max(0.0, self.pool(node, pair) - lend)

    def use(self, node: str, pair: Pair) -> float:
        """Return what a queue uses, or what the children of a cohort use of it and from above."""
        if node in self.tree.tree:
            return self.used[node, pair]
        return sum(max(0.0, self.use(child, pair) - self.kept(child, pair)) for child in self.children[node])

    def available(self, node: str, pair: Pair) -> float:
        """Return what a node can get now."""
        parent, pool, used = self.nodes[node].parent, self.pool(node, pair), self.use(node, pair)
        if parent is None:
            return pool - used
        kept, borrow = self.kept(node, pair), self.amounts(node, pair)[1]
        from_above = self.available(parent, pair)
        if borrow is not None:
            from_above = min(from_above, pool - kept - max(0.0, used - kept) + borrow)
        return max(0.0, kept - used) + from_above

    def available_with_told_gone(self, at_s: float, queue: str, pair: Pair) -> float:
        """Return what a queue can get in a cycle, in which jobs that are told to leave count as gone.

        The rules count only those as gone that leave for a head of the same cycle. The journal has no cycles:
        it names who is admitted at an instant before who is told to leave.
        """
        used = self.used
        self.used = used.copy()
        for hold in [self.held[row] for row in self.told | self.told_at[at_s] if row in self.held]:
            for held_pair, amount in hold.amounts.items():
                self.used[hold.queue, held_pair] -= amount
        free = self.available(queue, pair)
        self.used = used
        return free

    def available_in_kai(self, queue: str, pair: Pair, *, fixed: bool) -> float:
        """Return what a queue can get now under KAI: what the nodes have left and the limits of every level allow.

        ``fixed``: for a job that is never stopped; all of these are within quota on every level.
        """
        roots = [name for name, node in self.nodes.items() if node.parent is None]
        whole = self.room.get(pair, 0.0)
        free = [whole - sum(self.use(root, pair) for root in roots)]
        for node in self.path(queue):
            pool, borrow = self.pool(node, pair), self.amounts(node, pair)[1]
            if borrow is not None:
                free.append(pool + borrow - self.use(node, pair))
            if fixed:
                below = [hold for hold in self.held.values() if node in self.path(hold.queue)]
                held = [hold.amounts.get(pair, 0.0) for hold in below if self.priority[hold.row] >= NEVER_STOPPED]
                free.append(pool - sum(held))
        return min(free)

    def path(self, queue: str) -> list[str]:
        """Return a node and all above it."""
        path = [queue]
        while (parent := self.nodes[path[-1]].parent) is not None:
            path.append(parent)
        return path

    def root(self, queue: str) -> str:
        """Return the top of a queue's tree."""
        return self.path(queue)[-1]

    def _admitted(self, at_s: float, row: int, queue: str, asked: dict[Pair, float]) -> None:
        facts = self.facts
        piece = int(facts.piece_at(np.array([row]), np.array([at_s]))[0])
        joined = piece >= 0 and facts.log.piece_start_s[piece] < at_s - slack_s(at_s)
        for pair, amount in asked.items():
            if self.tree.rule == "kai":
                free = self.available_in_kai(queue, pair, fixed=self.priority[row] >= NEVER_STOPPED)
            else:
                free = self.available_with_told_gone(at_s, queue, pair)
            room = max(0.0, free)
            if amount > room + SAME_AMOUNT * max(1.0, amount) and not joined:
                self.findings.add(
                    at_s,
                    f"{facts.job(row)} is admitted to {queue} with {amount:.10g} {pair[1]} of {pair[0]}, but only "
                    f"{room:.10g} are within quota ({self.used[queue, pair]:.10g} used, nominal "
                    f"{self.amounts(queue, pair)[0]:.10g})",
                )
            self.used[queue, pair] += amount
        self.line.admitted(row, queue, at_s)
        self.held[row] = Hold(row, queue, at_s, amounts=asked)

    def _stopped(self, at_s: float, told: Told) -> None:
        """The rules of the taker's queue allow the pair, and another queue is above its quota."""
        if told.row not in self.held or told.for_row in self.held:
            self._refuse(at_s, told, "it holds no quota, or the other does already")
            return
        if told.row in self.told:
            self._refuse(at_s, told, "it is leaving already")
        if (told.queue == told.for_queue) != (told.reason == "in-queue"):
            self._refuse(at_s, told, f"the queues are {'the same' if told.queue == told.for_queue else 'not the same'}")
        if self.tree.rule == "kai":
            self._check_kai(at_s, told)
        else:
            self._check_policies(at_s, told)
        self.told.add(told.row)

    def _check_kai(self, at_s: float, told: Told) -> None:
        """KAI: a queue takes from others whatever the priority, from itself only what has a lower one."""
        if told.reason not in ("in-queue", "reclaim"):
            self._refuse(at_s, told, "KAI has no such reason")
        if self.priority[told.row] >= NEVER_STOPPED:
            self._refuse(at_s, told, f"jobs of priority {NEVER_STOPPED} and above are never stopped")
        if told.reason == "in-queue" and self.priority[told.row] >= self.priority[told.for_row]:
            self._refuse(at_s, told, "its priority is not lower")

    def _check_policies(self, at_s: float, told: Told) -> None:
        taker = self.tree.tree[told.for_queue]
        same = told.queue == told.for_queue
        policy = taker.within if same else taker.reclaim
        higher = self.priority[told.for_row] > self.priority[told.row]
        earlier = (self.priority[told.for_row], -self.submit_s[told.for_row]) >= (
            self.priority[told.row], -self.submit_s[told.row],
        )  # fmt: skip
        moved = self.tree.ready_timeout_s is not None or not self.tree.priority_between_queues
        allowed = {"never": False, "any": True, "lower": higher, "lower-or-newer-equal": higher or earlier or moved}
        if not allowed[policy]:
            self._refuse(at_s, told, f"{'within' if same else 'reclaim'} = {policy}")
        if not same:
            self._check_other_queue(at_s, told)
        if told.reason == "fair-share" and not self.tree.fair_sharing:
            self._refuse(at_s, told, "there is no fair sharing")
        if told.reason == "reclaim-while-borrowing":
            below = taker.while_borrowing_below
            limit = math.inf if below is None else below
            if taker.while_borrowing != "lower" or not higher or self.priority[told.row] > limit:
                self._refuse(at_s, told, f"while_borrowing = {taker.while_borrowing}")

    def _check_other_queue(self, at_s: float, told: Told) -> None:
        hold = self.held[told.row]
        if self.root(told.queue) != self.root(told.for_queue):
            self._refuse(at_s, told, "their queues have no cohort in common")
        over = any(self.used[told.queue, pair] > self.amounts(told.queue, pair)[0] for pair in hold.amounts)
        if not over and not self._over_with_promised(at_s, told.queue, hold):
            self._refuse(at_s, told, f"{told.queue} uses no more than its quota")

    def _over_with_promised(self, at_s: float, queue: str, hold: Hold) -> bool:
        """Whether a queue may be over its quota with what a waiting job of it was promised earlier in the cycle.

        The journal has no promises: it is the largest request of a waiting job.
        """
        jobs, ends_s = self.facts.scenario.workload, self.facts.log.job_end_s
        rows, until_s = self.line.rows_of.get(queue, ()), at_s + slack_s(at_s)
        waiting = [r for r in rows if self.submit_s[r] <= until_s and r not in self.held and not ends_s[r] < at_s]
        if not waiting:
            return False
        most = jobs.requested[waiting].max(axis=0)
        return any(
            self.used[queue, pair] + most[RESOURCES.index(pair[1])] > self.amounts(queue, pair)[0]
            for pair in hold.amounts
        )

    def _refuse(self, at_s: float, told: Told, why: str) -> None:
        names = f"{self.facts.job(told.row)} of {told.queue}", f"{self.facts.job(told.for_row)} of {told.for_queue}"
        self.findings.add(at_s, f"{names[0]} is stopped for {names[1]} ({told.reason}), but {why}")


def _room(facts: Facts, tree: QueueTree) -> dict[Pair, float]:
    """Return what all nodes of each flavor hold of each resource."""
    cluster = facts.scenario.cluster
    masks = flavor_nodes(tree, cluster.vm_types, cluster.nodes.vm, cluster.nodes.partition)
    room: dict[Pair, float] = {}
    for flavor, mask in masks.items():
        for place, resource in enumerate(RESOURCES):
            held = cluster.nodes.capacity[:, place]
            room[flavor, resource] = float((held if mask is None else held[mask]).sum())
    return room


class _Line:
    """Waiting jobs of strict queues in order, where the order is that of priority and submission."""

    def __init__(self, sweep: _Sweep) -> None:
        tree, facts = sweep.tree, sweep.facts
        self.sweep, self.waiting = sweep, defaultdict[str, list[tuple[float, float, int]]](list)
        self.holds: set[int] = set()
        plain = tree.ready_timeout_s is None and tree.priority_between_queues and tree.rule == "kueue"
        by_priority = {name: queue for name, queue in tree.tree.items() if queue.order == "priority"}
        self.strict = {name for name, queue in by_priority.items() if plain and queue.strategy == "strict"}
        jobs = facts.scenario.workload
        column, names = getattr(jobs, tree.map), QueueNames(tree)
        self.queue = [names.of(str(name)) or "" for name in ([""] * len(jobs) if column is None else column)]
        self.rows_of: dict[str, list[int]] = defaultdict(list)
        for row, name in enumerate(self.queue):
            self.rows_of[name].append(row)
        self.to_come = iter(range(len(self.queue))) if self.strict else iter(())
        self.next = next(self.to_come, None)

    def _key(self, row: int) -> tuple[float, float, int]:
        return -float(self.sweep.priority[row]), float(self.sweep.submit_s[row]), row

    def _arrive(self, until_s: float) -> None:
        while self.next is not None and self.sweep.submit_s[self.next] <= until_s + slack_s(until_s):
            if self.queue[self.next] in self.strict:
                heapq.heappush(self.waiting[self.queue[self.next]], self._key(self.next))
            self.next = next(self.to_come, None)

    def admitted(self, row: int, queue: str, at_s: float) -> None:
        """No job of a strict queue is admitted before one that is ahead of it."""
        if queue not in self.strict:
            return
        self._arrive(at_s)
        line, ends_s = self.waiting[queue], self.sweep.facts.log.job_end_s
        self.holds.add(row)
        while line and (line[0][2] in self.holds or ends_s[line[0][2]] <= at_s + slack_s(at_s)):
            heapq.heappop(line)
        if line and line[0] < self._key(row):
            late, ahead = self.sweep.facts.job(row), self.sweep.facts.job(line[0][2])
            text = f"{late} is admitted before {ahead}, which is ahead of it in the strict queue {queue}"
            self.sweep.findings.add(at_s, text)

    def freed(self, row: int, at_s: float) -> None:
        """A job that left and did not end waits again."""
        if row in self.holds:
            self.holds.discard(row)
            heapq.heappush(self.waiting[self.queue[row]], self._key(row))


# ---- leaving -------------------------------------------------------------------------------------------------


def _check_leaving(facts: Facts, tree: QueueTree, findings: Findings) -> None:
    """A job that is told to leave has left after stop_s, and loses what the scenario says; no other job is stopped."""
    log = facts.log
    told_s: dict[int, float] = {}
    waits_for_nodes = tree.ready_timeout_s is not None
    for at_s, entry in log.journal:
        slack = float(slack_s(at_s))
        if isinstance(entry, Told):
            told_s[entry.row] = at_s
        elif isinstance(entry, QuotaFreed):
            since_s = told_s.pop(entry.row, None)
            if since_s is not None and at_s > since_s + tree.stop_s + slack:
                text = f"is told to leave at {since_s:.10g} s, but leaves {at_s - since_s:.10g} s later"
                findings.add(at_s, f"{facts.job(entry.row)} {text}, not after {tree.stop_s:g} s")
        elif isinstance(entry, Evicted) and entry.loses != tree.eviction_loses:
            findings.add(at_s, f"{facts.job(entry.row)} loses {entry.loses}, but the rule is {tree.eviction_loses}")
    for row, since_s in told_s.items():
        if since_s + tree.stop_s < log.end_s - slack_s(log.end_s):
            findings.add(since_s, f"{facts.job(row)} is told to leave, and never does")
    _check_only_told_are_stopped(facts, tree, findings, waits_for_nodes=waits_for_nodes)


def _check_only_told_are_stopped(facts: Facts, tree: QueueTree, findings: Findings, *, waits_for_nodes: bool) -> None:
    log = facts.log
    leaves = {(entry.row, round(at_s + tree.stop_s, 6)) for at_s, entry in log.journal if isinstance(entry, Told)}
    for p in np.flatnonzero(log.piece_end == PieceEnd.PREEMPTED):
        row, end_s = int(log.piece_row[p]), float(log.piece_end_s[p])
        near = {(row, round(end_s + shift, 6)) for shift in (0.0, 1e-6, -1e-6)}
        if not waits_for_nodes and not near & leaves:
            why = f"but its job was not told to leave {tree.stop_s:g} s before"
            findings.add(end_s, f"{facts.piece(int(p))} ends as preempted, {why}")
