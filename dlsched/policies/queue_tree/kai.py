"""One session of KAI on a tree of quotas: every waiting job is tried, the queue chosen anew after each.

First jobs are admitted, by the order of queues; then those that got nothing may reclaim from other queues, if that
leaves the queue within its target; then they may stop jobs of lower priority in their own queue. The targets follow
from quotas, weights and what queues hold and wait for (``divide``). The tree is as before when the answer is returned.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf

from dlsched.policies.queue_tree.cycle import CycleResult, Entry, HasRoom, Head, Outcome, Told
from dlsched.policies.queue_tree.divide import Claim, divide
from dlsched.policies.queue_tree.flavors import NO_CANDIDATES, Assignment, Grade, assign
from dlsched.policies.queue_tree.jobs import Job, Reason, Rules, Running
from dlsched.policies.queue_tree.order import in_queue
from dlsched.policies.queue_tree.tree import AMOUNTS_PER_UNIT, Tree
from dlsched.policies.queue_tree.victims import Victim, give_back


@dataclass(frozen=True, slots=True)
class KaiRules:
    """What holds for a session.

    ``not_preemptible``: jobs from this priority on are never stopped and stay within nominal. ``min_runtime_s``: a job
    that runs for less is not stopped. ``multiplier``: of the other side's ratio, where a branch ends above its target.
    ``past_use``: how much past use lowers weights; ``usage``: node -> past use as a part of the whole.
    """

    rules: Rules = field(default_factory=Rules)
    not_preemptible: float = 100
    min_runtime_s: float = 0.0
    multiplier: float = 1.0
    past_use: float = 0.0
    usage: Mapping[int, float] = field(default_factory=dict)
    unit: int = AMOUNTS_PER_UNIT


def targets(tree: Tree, jobs: Iterable[Job], kai: KaiRules) -> list[list[int]]:
    """Return, for each pair and node, what the node should have now, from the top down.

    A queue wants what it holds and what its waiting jobs ask for, of the first flavor they may have.
    """
    wanted = [list(row) for row in tree.used]
    for job in jobs:
        for f, amount in first_choice(tree, job).items():
            for node in (job.queue, *tree.above[job.queue]):
                wanted[f][node] += amount
    target = [[0] * len(tree.names) for _ in tree.keys]
    for f in range(len(tree.keys)):
        level: list[tuple[int, list[int]]] = [(tree.whole(f), tree.roots)]
        while level:
            whole, nodes = level.pop()
            claims = []
            for node in nodes:
                borrow = tree.borrow[f][node]
                claims.append(
                    Claim(
                        tree.names[node],
                        tree.pool[f][node] / kai.unit,
                        wanted[f][node] / kai.unit,
                        float(tree.weights[node]),
                        inf if borrow is None else (tree.pool[f][node] + borrow) / kai.unit,
                        tree.levels[node],
                        kai.usage.get(node, 0.0),
                    )
                )
            shares, _ = divide(whole / kai.unit, claims, kai.past_use)
            for node in nodes:
                target[f][node] = round(shares[tree.names[node]] * kai.unit)
                if tree.children[node]:
                    level.append((target[f][node], tree.children[node]))
    return target


def first_choice(tree: Tree, job: Job) -> dict[int, int]:
    """Return what a job asks for of the first flavors it may have."""
    asked: dict[int, int] = {}
    for podset in job.podsets:
        for resource, amount in podset.all_of_it.items():
            number = tree.group_of[job.queue].get(resource)
            if number is None:
                continue
            flavors, keys = tree.rules[job.queue].groups[number].flavors, tree.groups[job.queue][number]
            for place, flavor in enumerate(flavors):
                if podset.flavors is None or flavor in podset.flavors:
                    f = keys[place][resource]
                    asked[f] = asked.get(f, 0) + amount
                    break
    return asked


def run_session(
    tree: Tree, jobs: Collection[Job], kai: KaiRules, now_s: float = inf, has_room: HasRoom | None = None
) -> CycleResult:
    """Return which waiting jobs are admitted, which jobs must stop, and what became of the others.

    ``has_room``: asked before a job is admitted, whether nodes have room for it. Jobs alike of one queue fail together.
    """
    session = _Session(tree, jobs, kai, now_s, has_room)
    session.allocate()
    session.reclaim()
    session.preempt()
    return session.close()


class _Session:
    def __init__(
        self, tree: Tree, jobs: Collection[Job], kai: KaiRules, now_s: float, has_room: HasRoom | None
    ) -> None:
        self.tree, self.kai, self.now_s, self.has_room = tree, kai, now_s, has_room
        self.target = targets(tree, jobs, kai)
        self.left: dict[int, list[Job]] = {}
        for job in sorted(jobs, key=in_queue):
            self.left.setdefault(job.queue, []).append(job)
        self.fixed = [[0] * len(tree.names) for _ in tree.keys]
        for running in tree.running.values():
            if running.priority >= kai.not_preemptible:
                self._fix(running.queue, running.usage)
        self.result = CycleResult()
        self.promised: list[tuple[int, Mapping[int, int]]] = []
        self.leaving = {job.id: job for job in tree.running.values() if job.leaving}
        self.told: set[str] = set()

    def _fix(self, queue: int, usage: Mapping[int, int]) -> None:
        for f, amount in usage.items():
            for node in (queue, *self.tree.above[queue]):
                self.fixed[f][node] += amount

    # --- the order of queues ----------------------------------------------------------------------------------------

    def _in_order(self) -> Iterator[Job]:
        """Yield the jobs left, the queue chosen anew after each; jobs alike of one that stays are passed over."""
        left = {queue: list(jobs) for queue, jobs in self.left.items() if jobs}
        while left:
            firsts = {queue: jobs[0] for queue, jobs in left.items()}
            job = self._first(self.tree.roots, firsts)
            yield job
            rest = left[job.queue][1:]
            if job in self.left[job.queue]:
                rest = [each for each in rest if each.alike != job.alike]
            if rest:
                left[job.queue] = rest
            else:
                del left[job.queue]

    def _first(self, nodes: Iterable[int], firsts: Mapping[int, Job]) -> Job:
        winners = dict(firsts)
        while True:
            best: dict[int, tuple[tuple[object, ...], Job]] = {}
            deepest = max(len(self.tree.above[node]) for node in winners)
            for node in sorted(each for each in winners if len(self.tree.above[each]) == deepest):
                key = (*self._key(node, winners[node]), node)
                above = self.tree.parent[node]
                if above not in best or key < best[above][0]:
                    best[above] = key, winners[node]
            if deepest == 0:
                return best[-1][1]
            winners = {node: job for node, job in winners.items() if len(self.tree.above[node]) < deepest} | {
                above: job for above, (_, job) in best.items()
            }

    def _key(self, node: int, job: Job | None) -> tuple[bool, bool, int, bool, float, float, int]:
        """Return the key by which queues are ordered: those that should have more come first."""
        tree, asked = self.tree, {} if job is None else first_choice(self.tree, job)
        pairs = asked or range(len(tree.keys))
        used = {f: tree.used[f][node] for f in pairs}
        above = any(amount > self.target[f][node] for f, amount in used.items())
        beyond = any(amount + asked.get(f, 0) > tree.pool[f][node] for f, amount in used.items())
        without = any(
            max(self.target[f][node], tree.pool[f][node]) == 0 and amount + asked.get(f, 0) > 0
            for f, amount in used.items()
        )
        with_job = max((self._ratio(node, f, amount + asked.get(f, 0)) for f, amount in used.items()), default=0.0)
        now = max((self._ratio(node, f, amount) for f, amount in used.items()), default=0.0)
        return above, beyond, -tree.levels[node], without, with_job, now, sum(self.target[f][node] for f in pairs)

    def _ratio(self, node: int, f: int, amount: int) -> float:
        """Return use over target; a node without target ranks above all with one."""
        target = self.target[f][node]
        return amount / target if target > 0 else 1000.0 * amount / max(1, self.tree.whole(f))

    # --- admit ------------------------------------------------------------------------------------------------------

    def allocate(self) -> None:
        """Admit what fits; a job that fits once those leaving have left waits for them and keeps their room."""
        for job in self._in_order():
            assignment = self._assignment(job)
            if assignment.mode == "no-fit" or not self._may_hold(job, assignment.usage):
                continue
            if self.tree.fits(job.queue, assignment.usage):
                if self.has_room is None or self.has_room(job, assignment):
                    self._settle(job, assignment, [], "admitted")
                else:
                    self._note(job, assignment, "no_room")
            elif self._fits_without(job, assignment, self.leaving.values()):
                self._settle(job, assignment, [], "waits_for_victims")

    def _assignment(self, job: Job) -> Assignment:
        def oracle(f: int, amount: int) -> Grade:
            return NO_CANDIDATES, 0

        return assign(self.tree, job, self.kai.rules, oracle)

    def _may_hold(self, job: Job, usage: Mapping[int, int]) -> bool:
        """Return whether jobs that are never stopped stay within nominal on every level."""
        return job.priority < self.kai.not_preemptible or all(
            self.fixed[f][node] + amount <= self.tree.pool[f][node]
            for f, amount in usage.items()
            for node in (job.queue, *self.tree.above[job.queue])
        )

    def _fits_without(self, job: Job, assignment: Assignment, victims: Iterable[Running]) -> bool:
        hidden = list(victims)
        for victim in hidden:
            self.tree.hide(victim)
        fits = self.tree.fits(job.queue, assignment.usage)
        for victim in hidden:
            self.tree.unhide(victim)
        return fits

    def _note(self, job: Job, assignment: Assignment, outcome: Outcome, victims: list[Victim] | None = None) -> None:
        self.result.entries.append(Entry(Head(job), assignment, victims or [], outcome))

    def _settle(self, job: Job, assignment: Assignment, victims: list[Victim], outcome: Outcome) -> None:
        self.left[job.queue].remove(job)
        self.tree.add(job.queue, assignment.usage)
        self.promised.append((job.queue, assignment.usage))
        if job.priority >= self.kai.not_preemptible:
            self._fix(job.queue, assignment.usage)
        self._note(job, assignment, outcome, victims)
        if outcome == "admitted":
            self.result.admitted.append((job, assignment))
        for victim, reason in victims:
            self.leaving[victim.id] = victim
            self.result.told.append(Told(victim.id, reason, job.id))

    # --- stop jobs --------------------------------------------------------------------------------------------------

    def reclaim(self) -> None:
        """Let jobs take from other queues what these hold above their share, if their own queue stays within its."""
        for job in self._in_order():
            assignment = self._assignment(job)
            usage = assignment.usage
            within_target = all(
                self.tree.used[f][job.queue] + amount <= self.target[f][job.queue] for f, amount in usage.items()
            )
            if assignment.mode != "preempt" or not within_target or not self._may_hold(job, usage):
                continue
            found = self._take(job, usage, "reclaim")
            if found:
                self._settle(job, assignment, found, "waits_for_victims")

    def preempt(self) -> None:
        """Let jobs stop jobs of lower priority in their own queue; note what became of all that are left."""
        for job in self._in_order():
            assignment = self._assignment(job)
            may_hold = self._may_hold(job, assignment.usage)
            if assignment.mode == "preempt" and may_hold:
                found = self._take(job, assignment.usage, "in-queue")
                if found:
                    self._settle(job, assignment, found, "waits_for_victims")
                    continue
            if assignment.mode != "fit" or not may_hold:  # else nodes had no room, as noted
                self._note(job, assignment, "no_fit" if assignment.mode == "no-fit" else "no_victims")

    def _take(self, job: Job, usage: Mapping[int, int], reason: Reason) -> list[Victim]:
        """Return jobs that must stop so that ``job`` fits once those already leaving have left; empty if none help."""
        tree, taken = self.tree, list[Victim]()
        already = [victim for victim in self.leaving.values() if victim.id in tree.running]
        for victim in already:
            tree.hide(victim)
        dropped: set[int] = set()
        found: list[Victim] = []
        while (queue := self._next_queue(job, usage, reason, dropped)) is not None:
            victim = self._candidates(queue, job, usage, reason)[0]
            if reason == "reclaim" and not self._may_take(job, usage, queue):
                dropped.add(queue)
                continue
            tree.hide(victim)
            taken.append((victim, reason))
            if tree.fits(job.queue, usage):
                if reason == "in-queue" or self._stays_within(job, usage, taken):
                    found = give_back(tree, job.queue, usage, taken)
                    taken = []
                break
        for victim, _ in taken:
            tree.unhide(victim)
        for victim in already:
            tree.unhide(victim)
        return found

    def _candidates(self, queue: int, job: Job, usage: Mapping[int, int], reason: Reason) -> list[Running]:
        """Return jobs of a queue that may be stopped, the lowest priority and then the latest start first."""
        kai = self.kai
        return sorted(
            (
                each
                for each in self.tree.running_of[queue].values()
                if not each.gone
                and each.priority < kai.not_preemptible
                and self.now_s - each.start_s >= kai.min_runtime_s
                and (reason == "reclaim" or each.priority < job.priority)
                and not each.usage.keys().isdisjoint(usage)
            ),
            key=lambda each: (each.priority, -each.start_s, each.id),
        )

    def _next_queue(self, job: Job, usage: Mapping[int, int], reason: Reason, dropped: set[int]) -> int | None:
        """Return the queue to take from: the last in the order of queues, on every level; None if none is left."""
        tree = self.tree
        if reason == "in-queue":
            return job.queue if self._candidates(job.queue, job, usage, reason) else None
        left = [
            queue
            for queue in tree.queues
            if queue != job.queue and queue not in dropped and self._candidates(queue, job, usage, reason)
        ]
        if not left:
            return None
        return max(left, key=lambda queue: [self._key(node, None) for node in reversed((queue, *tree.above[queue]))])

    def _sides(self, queue: int, other: int) -> tuple[int, int]:
        """Return the nodes of both queues just below what they have in common, which may be the whole."""
        if self.tree.root[queue] == self.tree.root[other]:
            return self.tree.branch(queue, other)
        return self.tree.root[queue], self.tree.root[other]

    def _may_take(self, job: Job, usage: Mapping[int, int], queue: int) -> bool:
        """Return whether the branch of a queue holds more than its share, or than its quota while mine is within it."""
        tree = self.tree
        mine, theirs = self._sides(job.queue, queue)
        if any(tree.used[f][theirs] > max(tree.pool[f][theirs], self.target[f][theirs]) for f in usage):
            return True
        within = all(tree.used[f][mine] + amount <= tree.pool[f][mine] for f, amount in usage.items())
        return within and any(tree.used[f][theirs] > tree.pool[f][theirs] for f in usage)

    def _stays_within(self, job: Job, usage: Mapping[int, int], taken: list[Victim]) -> bool:
        """Return False if a branch of the taker ends above its target, and no less so than one it takes from."""
        tree = self.tree
        for victim, _ in taken:
            mine, theirs = self._sides(job.queue, victim.queue)
            for f, amount in usage.items():
                after = tree.used[f][mine] + amount
                other = self._ratio(theirs, f, tree.used[f][theirs])
                if after > self.target[f][mine] and self._ratio(mine, f, after) >= other * self.kai.multiplier:
                    return False
        return self._may_hold(job, usage)

    def close(self) -> CycleResult:
        """Undo what was promised and return the result; each job has one entry, and jobs alike share that of one."""
        for queue, usage in reversed(self.promised):
            self.tree.remove(queue, usage)
        entries = {entry.job.id: entry for entry in self.result.entries}
        self.result.entries[:] = entries.values()
        return self.result
