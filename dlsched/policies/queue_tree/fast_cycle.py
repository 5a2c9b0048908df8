"""Cycles of trees with one flavor of one resource, as most clusters have: the same answers as ``run_cycle``, compiled.

Running jobs, the first waiting jobs of each kind and what the tree does not change in a cycle are kept as records; the
use of nodes is copied in each time. Cycles that only park jobs follow one another without coming back.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlsched.domain.workload import Ints
from dlsched.policies.queue_tree.cycle import HasRoom, Outcome, Told
from dlsched.policies.queue_tree.flavors import FIT, MODES, Assignment, Choice
from dlsched.policies.queue_tree.jobs import Job, Rules, Running
from dlsched.policies.queue_tree.kernels.cycle import DONE, MORE, advance, settle
from dlsched.policies.queue_tree.kernels.tables import (
    ADMITTED,
    ENTRY,
    NO_LIMIT,
    NO_ROOM,
    NODE,
    OUTCOMES,
    POLICIES,
    REASONS,
    RUN,
    WAIT,
    CycleRules,
)
from dlsched.policies.queue_tree.rooms import Rooms
from dlsched.policies.queue_tree.rows import job_name
from dlsched.policies.queue_tree.tree import Tree

MOST_PRODUCT = 2**62
RUNS_AT_FIRST, KINDS_AT_FIRST = 64, 16
OUTCOMES_AT_ONCE = 32
"""For each queue, how many outcomes are listed before they are told."""

Asked = tuple[int, int, int, int, int, bool, bool, float, float]
"""A waiting job as the fields of ``WAIT``."""


@dataclass(slots=True, eq=False)
class Cycles:
    """What cycles in a row did.

    ``cycles``: how many there were, one without heads at the end among them. ``outcomes``: row -> what became of it the
    last time it was looked at, in order. Jobs that did not get in are parked where they must be; ``dropped`` of them
    were preemptors. The last cycle, if it changed more than that, has jobs ``admitted``, jobs ``told`` to stop, and the
    heads that are ``left`` to take out or put back; ``any_parked``: it parked others.
    """

    cycles: int
    outcomes: dict[int, Outcome]
    dropped: list[int]
    admitted: list[tuple[Job, Assignment]]
    told: list[Told]
    left: list[tuple[Job, Outcome]]
    any_parked: bool = False


class FastCycles:
    """Answers cycles; it must be told of every start, end and order to leave, and of changes of quotas.

    ``run_numbers``, ``job_numbers``, ``entry_numbers``: the same records, see :func:`_numbers`.
    """

    def __init__(self, tree: Tree, rules: Rules) -> None:
        self.tree, self.rules = tree, rules
        self.cycle_rules = CycleRules(
            rules.fair_sharing, rules.strategies[:1] == ("initial-share",), len(rules.strategies) > 1,
            rules.priority_between_queues, rules.retarget, rules.preemptor_first,
        )  # fmt: skip
        self.keys: list[tuple[float, float, int]] = []
        self.runs = np.zeros(RUNS_AT_FIRST, RUN)
        self.run_numbers = _numbers(self.runs)
        self.entries = np.zeros(len(tree.queues), ENTRY)
        self.order = np.zeros(len(tree.queues), np.int64)
        self.entry_numbers = _numbers(self.entries)
        self.found = np.zeros((2, len(tree.queues), 2, RUNS_AT_FIRST), np.int64)
        self.asked: dict[str, tuple[Job, Asked | None]] = {}
        self.assignments: dict[tuple[int, int], Assignment] = {}
        self.jobs = np.zeros(len(tree.queues), WAIT)
        self.job_numbers = _numbers(self.jobs)
        self.lines = np.zeros((len(tree.queues), KINDS_AT_FIRST), WAIT)
        self.lengths = np.zeros(len(tree.queues), np.int64)
        self.preemptors = np.zeros(len(tree.queues), WAIT)
        self.passed = np.zeros((OUTCOMES_AT_ONCE * len(tree.queues), 3), np.int64)
        self.strange: set[int] = set()
        self.nodes = np.zeros(len(tree.names), NODE)
        self.refresh()

    @staticmethod
    def can_answer(tree: Tree) -> bool:
        """Return whether a tree has one pair of flavor and resource, adds up and is small enough for 64 bits."""
        if len(tree.keys) != 1 or not tree.adds_up or tree.keys[0][1] == "pods":
            return False
        if any(own.by_usage for own in tree.rules):
            return False
        amount = max(max(map(abs, row[0])) for row in (tree.nominal, tree.most, tree.pool))
        weight = max(max(each.numerator, each.denominator) for each in tree.weights)
        return (4 * amount * weight) ** 2 < MOST_PRODUCT  # shares are compared by cross-multiplication

    def refresh(self) -> None:
        """Copy the quotas and rules of the tree."""
        tree, nodes = self.tree, self.nodes
        resource = tree.keys[0][1]
        for name in ("pool", "kept", "nominal", "most", "known"):
            nodes[name] = getattr(tree, name)[0]
        nodes["borrow"] = [NO_LIMIT if each is None else each for each in tree.borrow[0]]
        nodes["lendable"] = [each.get(resource, 0) for each in tree.lendable]
        nodes["weight_num"] = [each.numerator for each in tree.weights]
        nodes["weight_den"] = [each.denominator for each in tree.weights]
        nodes["parent"], nodes["root"], nodes["height"] = tree.parent, tree.root, tree.height
        nodes["depth"] = [len(path) for path in tree.above]
        nodes["is_queue"] = tree.is_queue
        nodes["strict"] = self.strict = [own.strict for own in tree.rules]
        nodes["first_child"], nodes["next_child"] = -1, -1
        for node, children in enumerate(tree.children):
            for child, after in zip(children, [*children[1:], -1], strict=False):
                nodes["next_child"][child] = after
            if children:
                nodes["first_child"][node] = children[0]
        for name in ("within", "reclaim"):
            nodes[name] = [POLICIES.index(getattr(own, name)) for own in tree.rules]
        nodes["while_borrowing"] = [own.while_borrowing for own in tree.rules]
        nodes["highest"] = [
            np.inf if own.while_borrowing_below is None else own.while_borrowing_below for own in tree.rules
        ]

    # ---- running jobs ------------------------------------------------------------------------------------------

    def start(self, job: Running, *, shielded: bool = False) -> None:
        """A job starts to hold its quota; ``shielded``: it must not be stopped."""
        key, count = (job.priority, -job.start_s, int(job.id)), len(self.keys)
        place = bisect_left(self.keys, key)
        if count == len(self.runs):
            self.runs = np.concatenate([self.runs, np.zeros_like(self.runs)])
            self.run_numbers = _numbers(self.runs)
            self.found = np.zeros((2, len(self.tree.queues), 2, len(self.runs)), np.int64)
        self.keys.insert(place, key)
        self.run_numbers[place + 1 : count + 1] = self.run_numbers[place:count]
        self.runs[place] = (
            key[2], job.queue, job.usage.get(0, 0), job.leaving, job.gone, shielded, job.priority, job.order_s,
            job.start_s,
        )  # fmt: skip
        self.asked.pop(job.id, None)

    def end(self, job: Running) -> None:
        """A job holds its quota no more."""
        place, count = self._place(job), len(self.keys)
        del self.keys[place]
        self.run_numbers[place : count - 1] = self.run_numbers[place + 1 : count]

    def leaves(self, job: Running) -> None:
        """A job was told to stop."""
        self.runs["leaving"][self._place(job)] = 1

    def unshield(self, job: Running) -> None:
        """A job may be stopped again."""
        self.runs["shielded"][self._place(job)] = 0

    def _place(self, job: Running) -> int:
        return bisect_left(self.keys, (job.priority, -job.start_s, int(job.id)))

    # ---- cycles ------------------------------------------------------------------------------------------------

    def look_at(self, rooms: Rooms) -> bool:
        """Copy the waiting jobs into the tables of the cycles; return whether these can answer for all of them."""
        jobs = rooms.jobs
        while rooms.changed:
            place = rooms.changed.pop()
            room, rules = rooms.in_turn[place]
            while len(room.line) > self.lines.shape[1]:
                self.lines = np.concatenate([self.lines, np.zeros_like(self.lines)], axis=1)
            line, is_strange = self.lines[place], False
            for number, (*_, job_id, kind) in enumerate(room.line):
                answer = self._asked(jobs[job_id], place, kind)
                if answer is None:
                    is_strange = True
                else:
                    line[number] = answer
            first = None
            if room.preemptor is not None:
                preemptor = jobs[room.preemptor]
                first = self._asked(preemptor, place, rooms.kind(preemptor))
                is_strange |= first is None
            if is_strange:
                self.strange.add(place)
                continue
            self.strange.discard(place)
            self.lengths[place] = 0 if rules.stopped else len(room.line)
            if first is None:
                self.preemptors["row"][place] = -1
            else:
                self.preemptors[place] = (*first[:6], True, *first[7:])
        return not self.strange

    def run(self, rooms: Rooms, has_room: HasRoom | None = None) -> Cycles:
        """Run cycles as ``run_cycle`` does, until one changes more than what is parked.

        The tree is as before. Jobs of the last cycle, if it changed something, are still in their rooms.
        """
        self.nodes["used"] = self.tree.used[0]
        runs, found, told = self.runs[: len(self.keys)], self.found[0], self.found[1]
        cycles, todo, heads = 0, MORE, 0
        outcomes, dropped = dict[int, Outcome](), list[int]()
        while todo == MORE:
            todo, heads, noted, more = advance(
                self.nodes, runs, self.cycle_rules, self.jobs, self.entries, found, told, self.order,
                self.lines, self.lengths, rooms.parked, self.preemptors, self.passed,
            )  # fmt: skip
            cycles += more
            for row, outcome, was_preemptor in self.passed[:noted].tolist():
                outcomes[row] = OUTCOMES[outcome]
                if was_preemptor:
                    dropped.append(row)
        rooms.state += 1
        done = Cycles(cycles, outcomes, dropped, [], [], [])
        if todo != DONE:
            self._settle(rooms, has_room, done, todo, heads)
        return done

    def _settle(self, rooms: Rooms, has_room: HasRoom | None, done: Cycles, todo: int, heads: int) -> None:
        """Go on with a cycle that changes something: ask for nodes, note what became of each head, park the others."""
        runs, found, told = self.runs[: len(self.keys)], self.found[0], self.found[1]
        jobs, entries, order = self.jobs[:heads], self.entries[:heads], self.order[:heads]
        asked, assignments = self.job_numbers[:heads].tolist(), dict[int, Assignment]()
        while todo >= 0:
            row, _, kind, *_ = asked[todo]
            job, borrow = rooms.jobs[job_name(row)], int(entries["borrow"][todo])
            assignment = assignments[todo] = self._assignment(job, kind, borrow)
            entries["room"][todo] = has_room is None or has_room(job, assignment)
            todo = settle(self.nodes, runs, self.cycle_rules, jobs, entries, found, told, order)
        ends, leaving = self.entry_numbers[:heads].tolist(), runs["leaving"]
        for head in order.tolist():
            row, place, kind, queue, _, _, is_preemptor, *_ = asked[head]
            _, _, outcome, _, _, victims = ends[head]
            done.outcomes[row] = OUTCOMES[outcome]
            if outcome <= NO_ROOM or is_preemptor:
                job = rooms.jobs[job_name(row)]
                done.left.append((job, OUTCOMES[outcome]))
                if outcome == ADMITTED:
                    done.admitted.append((job, assignments[head]))
            elif not self.strict[queue]:
                rooms.parked[place, kind] = done.any_parked = True
            if victims > 0:
                for run, reason in told[head, :, :victims].T.tolist():
                    if not leaving[run]:
                        done.told.append(Told(job_name(self.keys[run][2]), REASONS[reason], job_name(row)))

    def _asked(self, job: Job, place: int, kind: int) -> Asked | None:
        """Return what a job asks for; None if only the plain rule can tell."""
        known = self.asked.get(job.id)
        if known is None or known[0] is not job:
            known = self.asked[job.id] = job, self._single(job, place, kind)
        return known[1]

    def _single(self, job: Job, place: int, kind: int) -> Asked | None:
        (podset, *others), group_of = job.podsets, self.tree.group_of[job.queue]
        covered = [resource for resource in podset.requests if resource in group_of]
        ignored = len(podset.requests) - len(covered)
        if others or podset.min_count is not None or len(covered) != 1 or (ignored and not self.rules.ignore_uncovered):
            return None
        allowed = podset.flavors is None or self.tree.keys[0][0] in podset.flavors
        amount = podset.all_of_it[covered[0]]
        return int(job.id), place, kind, job.queue, amount, allowed, False, job.priority, job.order_s

    def _assignment(self, job: Job, kind: int, borrow: int) -> Assignment:
        """Return what a job holds that fits; jobs alike share it."""
        known = self.assignments.get((kind, borrow))
        if known is None:
            podset, (flavor, resource) = job.podsets[0], self.tree.keys[0]
            chosen = {resource: Choice(flavor, 0, FIT, borrow, -1)}
            usage = {0: podset.all_of_it[resource]}
            known = Assignment([(podset.name, podset.count, chosen)], usage, borrow, MODES[FIT])
            self.assignments[kind, borrow] = known
        return known


def _numbers(records: NDArray[Any]) -> Ints:
    """Return a view of records of 8-byte fields, shape (records, fields): moved and listed several times faster.

    Fields that are no whole numbers are only moved.
    """
    return records.view(np.int64).reshape(len(records), -1)
