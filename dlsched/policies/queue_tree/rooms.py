"""Which jobs of a queue wait, which are parked until something changes, and which one is first.

A cycle takes the first waiting job of every queue. One that does not get in waits again or is parked, with all jobs
alike; parked jobs of a whole tree wait again when one of its jobs has left or a quota changed. As jobs alike are always
parked together, a queue holds one ordered list for each kind of job, and parking marks the kind. Compiled cycles mark
kinds in the same table.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from dlsched.policies.queue_tree.cycle import CycleResult, Head, Outcome
from dlsched.policies.queue_tree.flavors import Tried
from dlsched.policies.queue_tree.jobs import Job, QueueRules, Rules
from dlsched.policies.queue_tree.order import in_queue
from dlsched.policies.queue_tree.tree import Tree

PastUseOf = Callable[[str], float]
"""Sub-queue -> its past use."""

Place = tuple[float, str]
"""(order time, id) of a job among jobs alike."""
KINDS_AT_FIRST = 64


@dataclass(slots=True)
class Scan:
    """Where the search of a job was cut: in which cycle, and how often the tree had been freed by then."""

    tried: Tried
    cycle: int
    freed: int


@dataclass(slots=True)
class Room:
    """Jobs of one queue by (kind, sub-queue); ``place``: of the queue in the tree's list of queues.

    ``preemptor``: the job for which others are leaving. ``head``: the first job, if ``known`` is the state of the
    rooms. ``line``: the first job of each kind in order, where past use does not count, with its kind.
    """

    place: int
    places: dict[tuple[int, str], list[Place]] = field(default_factory=dict)
    preemptor: str | None = None
    head: Head | None = None
    known: int = -1
    line: list[tuple[float, bool, float, float, str, int]] = field(default_factory=list)


class Rooms:
    """The waiting and parked jobs of all queues, over time. ``past_use``: for queues with order = usage.

    ``parked``: (queues, kinds). ``changed``: places of queues that have another line or preemptor than before.
    ``state``: goes up where more than one queue may have another first job than before.
    """

    def __init__(self, tree: Tree, rules: Rules, past_use: PastUseOf | None = None) -> None:
        self.tree, self.rules, self.past_use = tree, rules, past_use
        self.rooms = {queue: Room(place) for place, queue in enumerate(tree.queues)}
        self.parked = np.zeros((len(tree.queues), KINDS_AT_FIRST), dtype=bool)
        self.changed: set[int] = set()
        self.state = 0
        self.jobs: dict[str, Job] = {}
        self.kinds: dict[tuple[object, ...], int] = {}
        self.kind_of: dict[str, int] = {}
        self.in_turn = [(self.rooms[queue], tree.rules[queue]) for queue in tree.queues]
        self.places_below: dict[int, list[int]] = {}
        for queue, room in self.rooms.items():
            self.places_below.setdefault(tree.root[queue], []).append(room.place)
        self.one_root = len(self.places_below) == 1
        self.scans: dict[str, Scan] = {}
        self.cycle = 0
        self.freed_times = [0] * len(tree.names)

    def kind(self, job: Job) -> int:
        """Return the number of a job's kind."""
        known = self.kind_of.get(job.id)
        if known is not None:
            return known
        kind = self.kinds.setdefault(job.alike, len(self.kinds))
        if kind >= self.parked.shape[1]:
            self.parked = np.concatenate([self.parked, np.zeros_like(self.parked)], axis=1)
        return kind

    def is_parked(self, job: Job) -> bool:
        """Return whether jobs of this queue and kind are parked."""
        return bool(self.parked[self.rooms[job.queue].place, self.kind(job)])

    def add(self, job: Job) -> bool:
        """Let a job wait; return whether it is parked at once, because one alike could not be admitted."""
        kind, room = self.kind(job), self.rooms[job.queue]
        self.jobs[job.id] = job
        self.kind_of[job.id] = kind
        room.known = -1
        places, place = room.places.setdefault((kind, job.local), []), (job.order_s, job.id)
        if not places or place < places[0]:
            if places:
                self._leave_line(room, self.jobs[places[0][1]], kind)
            self._join_line(room, job, kind)
        insort(places, place)
        return bool(self.parked[room.place, kind])

    def remove(self, job: Job) -> None:
        """Take out a job that was admitted or cancelled."""
        kind, room = self.kind(job), self.rooms[job.queue]
        places = room.places[kind, job.local]
        number = bisect_left(places, (job.order_s, job.id))
        del places[number]
        if number == 0:
            self._leave_line(room, job, kind)
            if places:
                self._join_line(room, self.jobs[places[0][1]], kind)
            else:
                del room.places[kind, job.local]
        del self.jobs[job.id], self.kind_of[job.id]
        room.known = -1
        self.scans.pop(job.id, None)
        if room.preemptor == job.id:
            self._set_preemptor(room, None)

    def _join_line(self, room: Room, job: Job, kind: int) -> None:
        insort(room.line, (*in_queue(job), kind))
        self.changed.add(room.place)

    def _leave_line(self, room: Room, job: Job, kind: int) -> None:
        del room.line[bisect_left(room.line, (*in_queue(job), kind))]
        self.changed.add(room.place)

    def _set_preemptor(self, room: Room, job_id: str | None) -> None:
        room.preemptor, room.known = job_id, -1
        self.changed.add(room.place)

    def first(self, queue: int) -> Job | None:
        """Return the first waiting job of a queue."""
        return self._first(self.rooms[queue], self.tree.rules[queue])

    def _first(self, room: Room, rules: QueueRules) -> Job | None:
        if rules.stopped or not room.places:
            return None
        parked = self.parked[room.place]
        preemptor = None if rules.strict or room.preemptor is None else self.jobs[room.preemptor]
        if preemptor is not None and parked[self.kind(preemptor)]:
            preemptor = None
        if rules.by_usage and self.past_use is not None:
            past_use = self.past_use
            firsts = [self.jobs[places[0][1]] for (kind, _), places in room.places.items() if not parked[kind]]
            firsts += [] if preemptor is None else [preemptor]
            return min(firsts, key=lambda job: in_queue(job, past_use(job.local), job is preemptor), default=None)
        if preemptor is not None:
            return preemptor
        for *_, job_id, kind in room.line:
            if not parked[kind]:
                return self.jobs[job_id]
        return None

    def heads(self) -> list[Head]:
        """Return the first waiting job of every queue for a new cycle; they stay where they are."""
        self.cycle += 1
        heads = []
        for room, rules in self.in_turn:
            if room.known != self.state or rules.by_usage:
                job = self._first(room, rules)
                room.head = None if job is None else Head(job, preemptor=room.preemptor == job.id)
                room.known = self.state
            head = room.head
            if head is not None:
                heads.append(head._replace(tried=self._tried(head.job)) if head.job.id in self.scans else head)
        return heads

    def _tried(self, job: Job) -> Tried:
        """Return where the search of a job goes on: in the next cycle, and later while nothing was freed."""
        scan = self.scans[job.id]
        next_cycle = self.rules.keep_scan and scan.cycle == self.cycle - 1
        return scan.tried if next_cycle or scan.freed == self.freed_times[self.tree.root[job.queue]] else ()

    def take_back(self, result: CycleResult) -> bool:
        """Take admitted jobs out and park those that must be; return whether some job was parked."""
        any_parked = False
        for entry in result.entries:
            job, outcome, cut = entry.job, entry.outcome, False
            if outcome not in ("admitted", "waits_for_victims") and entry.assignment.cut:
                cut = self.rules.keep_scan or outcome not in ("lost_race", "no_room")
            if cut:
                freed = self.freed_times[self.tree.root[job.queue]]
                self.scans[job.id] = Scan(entry.assignment.tried, self.cycle, freed)
            elif self.scans:
                self.scans.pop(job.id, None)
            any_parked |= self.put_back(job, outcome, cut=cut)
        return any_parked

    def put_back(self, job: Job, outcome: Outcome, *, cut: bool = False) -> bool:
        """Take a job out, let it wait again or park it; return whether it is parked. ``cut``: it has flavors left."""
        if outcome == "admitted":
            self.remove(job)
            return False
        room = self.rooms[job.queue]
        if outcome == "waits_for_victims":
            if room.preemptor != job.id:
                self._set_preemptor(room, job.id)
        elif room.preemptor == job.id:
            self._set_preemptor(room, None)
        if goes_back(outcome, self.tree.rules[job.queue].strict, cut):
            return False
        self.parked[room.place, self.kind_of[job.id]] = True
        room.known = -1
        return True

    def passed_over(self, job: Job) -> None:
        """A compiled cycle did not let a preemptor in: it is none any more."""
        self.rooms[job.queue].preemptor = None

    def freed(self, node: int) -> None:
        """Let the parked jobs of a whole tree wait again: one of its jobs has left, or a quota changed."""
        root = self.tree.root[node]
        self.freed_times[root] += 1
        self.state += 1
        if self.one_root:
            self.parked.fill(False)
        else:
            self.parked[self.places_below[root]] = False

    def alike(self, job: Job) -> Iterator[Job]:
        """Yield the jobs of the queue that are of the kind of a waiting job, itself among them."""
        wanted = self.kind(job)
        for (kind, _), places in self.rooms[job.queue].places.items():
            if kind == wanted:
                yield from (self.jobs[job_id] for _, job_id in places)

    def waiting(self, queue: int, parked: bool = False) -> Iterator[Job]:
        """Yield the waiting jobs of a queue, or its parked ones; kind by kind."""
        room = self.rooms[queue]
        for (kind, _), places in room.places.items():
            if self.parked[room.place, kind] == parked:
                yield from (self.jobs[job_id] for _, job_id in places)


def goes_back(outcome: Outcome, strict: bool, cut: bool = False) -> bool:
    """Return whether a job that did not get in waits again, instead of being parked. ``cut``: it has flavors left."""
    return strict or cut or outcome in ("waits_for_victims", "lost_race", "no_room")
