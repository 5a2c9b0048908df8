"""``solve queues``: questions to the cores of queue trees, one case each.

A case names its ``kind``; its answer has the fields of that kind. Amounts are whole numbers, pairs are written
"flavor/resource".
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Annotated, Any, Literal

from pydantic import Field

from dlsched.domain.errors import InputError, validated
from dlsched.policies.queue_tree.cases import (
    Amounts,
    Fungibility,
    JobIn,
    Name,
    Options,
    Part,
    PodSetIn,
    Priority,
    RunningIn,
    Seconds,
    State,
    Used,
    amounts_of,
    pair,
    plain_amounts,
    queue_number,
)
from dlsched.policies.queue_tree.cycle import reserve, run_cycle
from dlsched.policies.queue_tree.divide import Claim, divide
from dlsched.policies.queue_tree.fair import Rivals
from dlsched.policies.queue_tree.flavors import (
    FIT,
    NO_CANDIDATES,
    NO_FIT,
    PREEMPT,
    RECLAIM,
    Assignment,
    Grade,
    assign,
    better,
    most_pods,
)
from dlsched.policies.queue_tree.jobs import Job, PodSet, Policy, Running, may_stop
from dlsched.policies.queue_tree.nominate import victims
from dlsched.policies.queue_tree.order import across_queues, in_order_of_candidates
from dlsched.policies.queue_tree.rooms import Rooms
from dlsched.policies.queue_tree.tree import Tree
from dlsched.policies.queue_tree.usage import PastUse

KINDS_OF_GRADE = {
    "no-fit": NO_FIT,
    "no-candidates": NO_CANDIDATES,
    "preempt": PREEMPT,
    "reclaim": RECLAIM,
    "fit": FIT,
}

Answer = dict[str, Any]


class Case(Part):
    """What every case may have."""

    options: Options = Options()
    state: State = State()

    def answer(self) -> Answer:
        """Return the answer of the case's kind."""
        raise NotImplementedError


class AskedFlavor(Part):
    """The flavor a resource was given; mode preempt: it needs room."""

    flavor: Name
    mode: Literal["fit", "preempt", "no-fit"] = "preempt"


class PreemptCase(Case):
    """Which jobs must stop for one job with the flavors it was given."""

    incoming: JobIn
    asked: dict[Name, dict[Name, AskedFlavor]]

    def answer(self) -> Answer:
        """Return victims with reasons, their number, and those not leaving before."""
        pairs = [f"{each.flavor}/{resource}" for asked in self.asked.values() for resource, each in asked.items()]
        tree = self.state.tree(pairs)
        job = self.state.job(tree, self.incoming)
        usage: dict[int, int] = {}
        need: list[int] = []
        for podset in job.podsets:
            for resource, amount in {**podset.total(podset.count), "pods": podset.count}.items():
                asked = self.asked.get(podset.name, {}).get(resource)
                if asked is not None:
                    f = tree.index[asked.flavor, resource]
                    usage[f] = usage.get(f, 0) + amount
                    need += [f] if asked.mode == "preempt" else []
        found = victims(tree, job, usage, tuple(dict.fromkeys(need)), self.options.rules)
        preempted = sorted([victim.id, reason] for victim, reason in found)
        new = sorted(victim.id for victim, _ in found if not victim.leaving)
        return {"preempted": preempted, "preempted_count": len(preempted), "newly_preempted": new}


class CycleCase(Case):
    """What one or more cycles do."""

    cycles: int = Field(1, ge=1, le=1_000)
    then_delete: list[Name] | None = None
    consumed: dict[Name, dict[Name, float]] = Field({})

    def answer(self) -> Answer:
        """Return what is held at the end; what was admitted, preempted and parked in the cycles before jobs leave."""
        tree, rules = self.state.tree(), self.options.rules
        use = self.options.past_use(self.state.local_queues, self.consumed)
        rooms, apart = self._rooms(tree, use)
        for running in tree.running.values():
            if tree.rules[running.queue].by_usage:
                running.local_usage = use.of(running.local)
        held = {each.name: _held_before(each) for each in self.state.running}
        admitted: list[str] = []
        preempted: dict[str, str] = {}
        skipped = {tree.names[queue]: 0 for queue in tree.queues}
        now_s = max([0.0, *(each.start_s for each in self.state.running)]) + 1.0
        answer: Answer = {}
        for number in range(self.cycles):
            if number == 1 and self.then_delete is not None:
                for name in self.then_delete:
                    if name in tree.running:
                        rooms.freed(tree.end(name).queue)
                        held.pop(name, None)
            result = run_cycle(tree, rooms.heads(), rules)
            for entry in result.entries:
                if entry.outcome == "lost_race" and entry.assignment.mode == "preempt":
                    skipped[tree.names[entry.job.queue]] += 1
                if entry.outcome == "waits_for_victims":
                    preempted.update((victim.id, reason) for victim, reason in entry.victims)
            for job, assignment in result.admitted:
                running = Running.of(job, assignment, now_s + number)
                use.admitted(job.local, _in_units(tree, assignment))
                running.local_usage = use.of(job.local) if tree.rules[job.queue].by_usage else None
                tree.start(running)
                held[job.id] = _held(tree, job, assignment)
                admitted.append(job.id)
            for told in result.told:
                tree.running[told.victim].leaving = True
            rooms.take_back(result)
            if number == 0 or self.then_delete is None:
                answer = {
                    "admitted": sorted(admitted),
                    "preempted": sorted([victim, reason] for victim, reason in preempted.items()),
                    "left": _names(tree, rooms, {}, parked=False),
                    "parked": _names(tree, rooms, apart, parked=True),
                    "skipped_preemptions": dict(skipped),
                }
        return {**answer, "held": held}

    def _rooms(self, tree: Tree, use: PastUse) -> tuple[Rooms, dict[str, list[str]]]:
        """Return the waiting jobs, and apart those from a namespace that their queue does not take."""
        rooms = Rooms(tree, self.options.rules, use.of)
        namespaces = {each.name: each.namespaces for each in self.state.queues}
        apart: dict[str, list[str]] = {}
        for each in self.state.pending:
            if each.queue not in namespaces or each.name in tree.running:
                continue
            if each.name in rooms.jobs:
                raise InputError(
                    f"state, pending job {each.name!r:.80}", "is given twice", "Give each job its own name"
                )
            taken = namespaces[each.queue]
            if taken is not None and each.namespace not in taken:
                apart.setdefault(each.queue, []).append(each.name)
            else:
                rooms.add(self.state.job(tree, each))
        return rooms, apart


def _names(tree: Tree, rooms: Rooms, more: Mapping[str, list[str]], parked: bool) -> dict[str, list[str]]:
    names = {tree.names[queue]: [job.id for job in rooms.waiting(queue, parked)] for queue in tree.queues}
    return {name: sorted([*jobs, *more.get(name, [])]) for name, jobs in names.items() if jobs or name in more}


def _in_units(tree: Tree, assignment: Assignment) -> dict[str, float]:
    """Return resource -> what a job holds, cores in whole ones."""
    units: dict[str, float] = {}
    for f, amount in assignment.usage.items():
        resource = tree.keys[f][1]
        units[resource] = units.get(resource, 0.0) + (amount / 1000 if resource == "cpu" else amount)
    return units


def _held_before(given: RunningIn) -> Answer:
    podsets = {
        each.name: {
            "count": each.count,
            "flavors": given.flavors.get(each.name, {}),
            "usage": {resource: amount * each.count for resource, amount in each.requests.items()},
        }
        for each in given.podsets
    }
    return {"queue": given.queue, "podsets": podsets}


def _held(tree: Tree, job: Job, assignment: Assignment) -> Answer:
    podsets = {}
    for podset, (name, count, chosen) in zip(job.podsets, assignment.podsets, strict=True):
        amounts = {**podset.total(count), "pods": count}
        podsets[name] = {
            "count": count,
            "flavors": {resource: choice.flavor for resource, choice in chosen.items()},
            "usage": {resource: amounts[resource] for resource in chosen},
        }
    return {"queue": tree.names[job.queue], "podsets": podsets}


class FlavorsCase(Case):
    """Which flavors a job gets; ``preemption_brings``: pair -> [kind, height] in place of a search for victims."""

    queue: Name
    podsets: list[PodSetIn] = Field(max_length=100)
    used: Used = Field({})
    reclaimable: dict[Name, Annotated[int, Field(ge=0)]] = Field({})
    preemption_brings: dict[Name, tuple[Literal["no-fit", "no-candidates", "preempt", "reclaim"], int]] = Field({})

    def answer(self) -> Answer:
        """Return mode, height borrowed from, flavors of each set of pods, and what the job would hold."""
        tree = _tree_with(self.state, self.used, self.preemption_brings)
        given = JobIn(name="job", queue=self.queue, podsets=self.podsets, reclaimable=self.reclaimable)
        job = self.state.job(tree, given)
        brings = {
            tree.index[pair(text)]: (KINDS_OF_GRADE[kind], height)
            for text, (kind, height) in self.preemption_brings.items()
        }

        def oracle(f: int, amount: int) -> Grade:
            return brings.get(f, (PREEMPT, 0))

        found = assign(tree, job, self.options.rules, oracle)
        podsets = [
            {
                "name": name,
                "count": count,
                "flavors": {
                    resource: {"flavor": each.flavor, "mode": each.mode, "tried": each.tried}
                    for resource, each in chosen.items()
                },
            }
            for name, count, chosen in found.podsets
        ]
        usage = plain_amounts(tree, found.usage)
        return {"mode": found.mode, "borrow": found.borrow, "podsets": podsets, "usage": usage}


def _tree_with(state: State, used: Used, *more: Mapping[str, Any]) -> Tree:
    """Return the tree of a state in which queues use what a case says."""
    tree = state.tree([text for part in (*used.values(), *more) for text in part])
    for queue, amounts in used.items():
        tree.add(queue_number(tree, queue, "used"), amounts_of(tree, amounts))
    return tree


class PreferredCase(Case):
    """Whether one grade of a flavor is preferred to another."""

    a: tuple[Annotated[int, Field(ge=0, le=4)], int]
    b: tuple[Annotated[int, Field(ge=0, le=4)], int]
    fungibility: Fungibility = Fungibility()

    def answer(self) -> Answer:
        """Return whether a is preferred."""
        return {"preferred": better(self.a, self.b, self.fungibility.prefers_preempting)}


class FewerCase(Case):
    """With how many pods a job starts when ``limit`` pods fit."""

    podsets: list[PodSetIn] = Field(max_length=100)
    limit: int

    def answer(self) -> Answer:
        """Return whether it starts, and the pods."""
        podsets = [PodSet(each.name, each.count, {}, each.min_count) for each in self.podsets]
        found = most_pods(podsets, lambda counts: sum(counts) <= self.limit)
        return {"found": found is not None, "count": sum(found or ())}


class ReserveCase(Case):
    """What a job without victims keeps from later ones of the cycle."""

    queue: Name
    mode: Literal["fit", "preempt", "no-fit"]
    borrow: int = 0
    asked: Amounts
    used: Used = Field({})

    def answer(self) -> Answer:
        """Return the amounts."""
        tree = _tree_with(self.state, self.used, self.asked)
        assignment = Assignment(usage=amounts_of(tree, self.asked), borrow=self.borrow, mode=self.mode)
        reserved = reserve(tree, queue_number(tree, self.queue, "queue"), assignment)
        return {"reserved": plain_amounts(tree, reserved)}


class ShareCase(Case):
    """Shares of all nodes; ``with``: added to the own use of each."""

    used: Used = Field({})
    with_more: Amounts = Field({}, alias="with")

    def answer(self) -> Answer:
        """Return the shares, rounded up."""
        tree = _tree_with(self.state, self.used, self.with_more)
        more = amounts_of(tree, self.with_more)
        shares = []
        for node, name in enumerate(tree.names):
            share = tree.share(node, more)
            shares.append(
                {
                    "node": name,
                    "cohort": not tree.is_queue[node],
                    "share": share.shown,
                    "resource": share.resource,
                    "borrowing": bool(share.borrowed),
                }
            )
        return {"shares": shares}


class BorrowingCase(Case):
    """Whether a queue borrows, and on what a job asks for."""

    queue: Name
    used: Used = Field({})
    asked: Amounts = Field({})

    def answer(self) -> Answer:
        """Return both."""
        tree = _tree_with(self.state, self.used, self.asked)
        share, asked = tree.share(queue_number(tree, self.queue, "queue")), amounts_of(tree, self.asked)
        return {"borrowing": bool(share.borrowed), "on_asked": any(asked.get(f, 0) > 0 for f in share.borrowed)}


class AvailableCase(Case):
    """What queues can get now, and with nothing running."""

    used: Used = Field({})

    def answer(self) -> Answer:
        """Return both, for the pairs for which a queue has quota."""
        tree = _tree_with(self.state, self.used)
        own = {queue: [f for f, row in enumerate(tree.has_quota) if row[queue]] for queue in tree.queues}
        return {
            "available": {
                tree.names[queue]: plain_amounts(tree, {f: max(0, tree.available(queue, f)) for f in pairs})
                for queue, pairs in own.items()
            },
            "potential": {
                tree.names[queue]: plain_amounts(tree, {f: tree.most[f][queue] for f in pairs})
                for queue, pairs in own.items()
            },
        }


class UsageCase(Case):
    """What nodes use after jobs are taken out and put back."""

    remove: list[Name] = Field([])
    add: list[Name] = Field([])

    def answer(self) -> Answer:
        """Return the use of every node, for the pairs for which it or one below has quota."""
        tree = self.state.tree()
        before = dict(tree.running)
        for name in (*self.remove, *self.add):
            if name not in before:
                raise InputError(f"instance, job {name!r:.80}", "is to be removed or added, but state.running has none")
        for name in self.remove:
            tree.end(name)
        for name in self.add:
            tree.start(before[name])
        return {
            "used": {
                name: plain_amounts(tree, {f: tree.used[f][node] for f, row in enumerate(tree.known) if row[node]})
                for node, name in enumerate(tree.names)
            }
        }


class RivalsCase(Case):
    """In which order queues are taken from; ``actions``: for each, pop (take a candidate) or drop (the queue)."""

    queue: Name
    candidate_queues: list[Name] = Field([])
    actions: list[Any] = Field([])

    def answer(self) -> Answer:
        """Return the queues."""
        tree = self.state.tree()
        queue = queue_number(tree, self.queue, "queue")
        among = {queue_number(tree, name, "candidate_queues") for name in self.candidate_queues}
        candidates = in_order_of_candidates((each for each in tree.running.values() if each.queue in among), queue)
        rivals, order = Rivals(tree, queue, candidates), []
        for place, chosen in enumerate(rivals):
            order.append(tree.names[chosen])
            if place < len(self.actions) and "drop" in str(self.actions[place]).lower():
                rivals.out.add(chosen)
            else:
                rivals.take(chosen)
        return {"order": order}


class CandidatesCase(Case):
    """In which order running jobs are stopped for a job of ``queue``."""

    queue: Name
    candidates: list[RunningIn] = Field(max_length=10_000)

    def answer(self) -> Answer:
        """Return the names."""
        queues = list(dict.fromkeys([self.queue, *(each.queue for each in self.candidates)]))
        running = [_bare_running(each, queues.index(each.queue)) for each in self.candidates]
        return {"order": [each.id for each in in_order_of_candidates(running, 0)]}


def _bare_running(given: RunningIn | JobIn, queue: int) -> Running:
    """Return a running job of no tree."""
    running = Running(given.name, queue, {}, given.priority, given.order_s, uid=given.uid or given.name)
    running.local = given.local
    if isinstance(given, RunningIn):
        running.start_s, running.leaving, running.local_usage = given.start_s, given.evicted, given.local_usage
    return running


class PolicyCase(Case):
    """Whether a policy lets one job stop another."""

    preemptor: JobIn
    candidate: JobIn
    policy: Policy

    def answer(self) -> Answer:
        """Return whether it does."""
        taker = Job(self.preemptor.name, 0, (), self.preemptor.priority, self.preemptor.order_s)
        return {"allowed": may_stop(self.policy, taker, _bare_running(self.candidate, 1))}


class EntryIn(Part):
    """The first job of a queue in a cycle."""

    name: Name
    priority: Priority = 0
    submit_s: Seconds | None = None
    queue_s: Seconds | None = None
    borrow: int = 0
    preemptor: bool = False


class EntriesCase(Case):
    """In which order the first jobs are handled."""

    entries: list[EntryIn] = Field(max_length=10_000)

    def answer(self) -> Answer:
        """Return the names."""

        def key(each: EntryIn) -> tuple[bool, int, float, float]:
            submit_s = -inf if each.submit_s is None else each.submit_s
            job = Job(each.name, 0, (), each.priority, submit_s if each.queue_s is None else each.queue_s)
            return across_queues(job, each.borrow, self.options.rules, each.preemptor)

        return {"order": [each.name for each in sorted(self.entries, key=key)]}


class HeadCase(Case):
    """Which job of a queue is first."""

    queue: Name
    consumed: dict[Name, dict[Name, float]] = Field({})

    def answer(self) -> Answer:
        """Return its name; None if no job waits."""
        tree = self.state.tree()
        use = self.options.past_use(self.state.local_queues, self.consumed)
        rooms = Rooms(tree, self.options.rules, use.of)
        for each in self.state.pending:
            if each.name in rooms.jobs:
                raise InputError(
                    f"state, pending job {each.name!r:.80}", "is given twice", "Give each job its own name"
                )
            rooms.add(self.state.job(tree, each))
        head = rooms.first(queue_number(tree, self.queue, "queue"))
        return {"head": None if head is None else head.id}


class ClaimIn(Part):
    """What a queue may claim; nominal None or -1 = all, limit None = no limit."""

    name: Name
    nominal: float | None = Field(0.0, ge=-1, le=1e15)
    weight: float = Field(1.0, ge=0, le=1e15)
    limit: float | None = Field(None, ge=-1, le=1e15)
    request: float = Field(0.0, ge=0, le=1e15)
    priority: int = 0
    usage: float = Field(0.0, ge=0, le=1e15)
    created: float = 0.0


class DivideCase(Case):
    """What each queue should have of a whole, under KAI's rules; ``k``: how much past use lowers weights."""

    total: float = Field(ge=0, le=1e15)
    k: float = Field(0.0, ge=0, le=1e6)
    claims: list[ClaimIn] = Field(max_length=10_000)

    def answer(self) -> Answer:
        """Return the targets and what is left over."""
        claims = [
            Claim(
                each.name,
                self.total if each.nominal is None or each.nominal == -1 else each.nominal,
                each.request,
                each.weight,
                inf if each.limit is None or each.limit == -1 else each.limit,
                each.priority,
                each.usage,
                each.created,
            )
            for each in self.claims
        ]
        if len({each.name for each in claims}) < len(claims):
            raise InputError("instance, claims", "name a queue twice", "Give each queue one claim")
        shares, left = divide(self.total, claims, self.k)
        return {"shares": shares, "left": left}


KINDS: dict[str, type[Case]] = {
    "available": AvailableCase,
    "borrowing": BorrowingCase,
    "candidates": CandidatesCase,
    "cycle": CycleCase,
    "divide": DivideCase,
    "entries": EntriesCase,
    "fewer": FewerCase,
    "flavors": FlavorsCase,
    "head": HeadCase,
    "policy": PolicyCase,
    "preempt": PreemptCase,
    "preferred": PreferredCase,
    "reserve": ReserveCase,
    "rivals": RivalsCase,
    "share": ShareCase,
    "usage": UsageCase,
}


def read(given: Mapping[str, Any]) -> Case:
    """Return the case that plain values describe.

    Raises
    ------
    InputError
        If the kind is not known, a field is missing or outside its range; names the place.
    """
    kind = given.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError("instance, kind", f"must be one of {', '.join(KINDS)}, got {kind!r:.80}")
    return validated(KINDS[kind], given, "instance")


def solve(case: Case) -> Answer:
    """Return the answer to a case, in the fields of its kind."""
    return case.answer()
