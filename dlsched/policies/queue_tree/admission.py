"""A run under a tree of quotas: which jobs wait, hold quota or are leaving, instant by instant.

The cores say what a cycle would do; this carries it out, on nodes and over time.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from dlsched.domain.errors import InputError
from dlsched.domain.journal import JournalEntry, Loses, QuotaFreed, QuotaHeld, StopReason, Told
from dlsched.domain.plan import Allocation, Plan, Share, WaitReason, run_on
from dlsched.domain.policy import EventKind
from dlsched.domain.queue_lookup import QuotaClock
from dlsched.domain.queue_tree import QueueTree
from dlsched.domain.state import NodePlacer, State
from dlsched.domain.workload import GPU
from dlsched.policies.queue_tree.cycle import CycleResult, Outcome, run_cycle
from dlsched.policies.queue_tree.fast_cycle import Cycles, FastCycles
from dlsched.policies.queue_tree.flavors import Assignment, too_large
from dlsched.policies.queue_tree.jobs import MOST_STOPS, MOST_STOPS_AT_ONCE, Job, Rules, Running
from dlsched.policies.queue_tree.kai import KaiRules, run_session
from dlsched.policies.queue_tree.quotas_over_time import largest_quotas, set_quotas
from dlsched.policies.queue_tree.rooms import Rooms
from dlsched.policies.queue_tree.rows import Mask, Rows, widened
from dlsched.policies.queue_tree.tree import AMOUNTS_PER_UNIT, Tree
from dlsched.policies.queue_tree.usage import PastUse
from dlsched.policies.queue_tree.wait_reasons import WaitReasons

SAME_INSTANT_S = 1e-9
SAME_TIME = 1e-12
ROOM = 1e-9
_CAPACITY, _ARRIVAL = int(EventKind.CAPACITY), int(EventKind.ARRIVAL)
_CANCEL, _TIMER = int(EventKind.CANCEL), int(EventKind.TIMER)

Placed = tuple[tuple[Share, ...], Mask | None]
"""Shares of a job, and the nodes it may use."""


@dataclass(slots=True)
class Hold:
    """A job that holds quota: since when, with which flavors and workers, on which nodes; ``mask``: nodes it may use.

    ``shares`` are empty while it waits for nodes.
    """

    job: Job
    since_s: float
    workers: int
    mask: Mask | None
    shares: tuple[Share, ...] = ()
    borrowing: bool = False


@dataclass(slots=True, eq=False)
class Instant:
    """What happens in one decision."""

    state: State
    placer: NodePlacer | None = None
    started: dict[int, tuple[Share, ...]] = field(default_factory=dict)
    evicted: dict[int, Loses] = field(default_factory=dict)
    rejected: list[int] = field(default_factory=list)
    journal: list[JournalEntry] = field(default_factory=list)
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    codes: dict[int, WaitReason] = field(default_factory=dict)
    stops: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    shielded: list[Running] = field(default_factory=list)
    seen: set[object] = field(default_factory=set)
    fresh: list[int] = field(default_factory=list)

    @property
    def now_s(self) -> float:
        """Time of the decision."""
        return self.state.now_s

    def nodes(self) -> NodePlacer:
        """Return the trial of what is free, evictions and starts of this decision in it."""
        if self.placer is None:
            self.placer = self.state.placer()
            for row in self.evicted:
                self.placer.release(row, self.state.held(row))
        return self.placer


class Admission:
    """The waiting rooms and quotas of a run; :meth:`plan` is asked at every event."""

    def __init__(self, state: State, spec: QueueTree) -> None:
        self.spec, self.tree = spec, Tree.of(spec)
        self.rules = Rules.of(spec)
        self.fast = FastCycles(self.tree, self.rules) if can_be_fast(spec, self.tree) else None
        self.by_usage = any(rules.by_usage for rules in self.tree.rules)
        self.past = PastUse(
            spec.usage_half_life_s, spec.usage_sampling_s,
            {f"{name}\n{user}": w for name, queue in spec.tree.items() for user, w in queue.local.items()},
            dict(spec.usage_weights.items()),
        )  # fmt: skip
        self.rooms = Rooms(self.tree, self.rules, self.past.of)
        self.clock = QuotaClock.of(spec, state.jobs)
        self.rows = Rows.of(state, spec, self.tree)
        self.kai = KaiRules(self.rules) if spec.rule == "kai" else None
        if self.kai is not None:
            self.tree.capacity = self.rows.capacity(state)
            self.tree.refresh()
        self.ever = largest_quotas(spec, self.tree.capacity, self.clock)
        self.said = WaitReasons(self.rooms, self.rules)
        self.quotas_due_s = self._set_quotas(state.now_s)
        self.sampled_s = state.now_s
        self.known = 0
        self.holds: dict[int, Hold] = {}
        self.waiting: dict[int, Job] = {}
        self.leaving: dict[int, float] = {}
        self.no_room: set[int] = set()
        self.stops: defaultdict[int, int] = defaultdict(int)

    # ---- quotas ------------------------------------------------------------------------------------------------

    def _set_quotas(self, now_s: float) -> float:
        """Let the quotas of this time hold; return when they change next."""
        if self.spec.changes:
            set_quotas(self.tree, self.clock.at(now_s + _instant_s(now_s)))
            self.said.quotas_changed()
            if self.fast is not None:
                self.fast.refresh()
        return self.clock.next_s(now_s + _instant_s(now_s))

    def _change_quotas(self, now_s: float) -> None:
        if self.quotas_due_s == math.inf or now_s + _instant_s(now_s) < self.quotas_due_s:
            return
        self.quotas_due_s = self._set_quotas(now_s)
        self._all_wait_again()

    def _all_wait_again(self) -> None:
        for root in dict.fromkeys(self.tree.root[queue] for queue in self.tree.queues):
            self.rooms.freed(root)
        self.no_room.clear()

    def _sample(self, now_s: float) -> None:
        """Let past use of sub-queues catch up with what they have held since the last decision."""
        every_s = self.spec.usage_sampling_s
        samples = math.floor((now_s - self.sampled_s) / every_s + SAME_TIME)
        if samples < 1:
            return
        used: dict[str, dict[str, float]] = {}
        for running in self.tree.running.values():
            if running.local:
                of = used.setdefault(running.local, {})
                for f, amount in running.usage.items():
                    resource = self.tree.keys[f][1]
                    of[resource] = of.get(resource, 0.0) + amount / AMOUNTS_PER_UNIT
        self.past.sample(used, every_s)
        if samples > 1:
            self.past.sample(used, (samples - 1) * every_s)
        self.sampled_s += samples * every_s
        for running in self.tree.running.values():
            if running.local:
                running.local_usage = self.past.of(running.local)

    # ---- a decision --------------------------------------------------------------------------------------------

    def plan(self, state: State) -> Plan:
        """Return what is to be done now: evictions and starts of this instant."""
        instant = Instant(state)
        if self.by_usage:
            self._sample(state.now_s)
        self._learn(instant)
        self._change_quotas(state.now_s)
        self._cycles(instant)
        if self.spec.nodes == "after-quota":
            self._find_nodes(instant)
        for running in instant.shielded:
            if running.id in self.tree.running:
                self.tree.running_of[running.queue][running.id] = running
                if self.fast is not None:
                    self.fast.unshield(running)
        allocations: dict[int, Allocation] = {row: run_on(shares) for row, shares in instant.started.items()}
        return Plan(
            allocations,
            tuple(instant.rejected),
            wake_at_s=self._wake_s(state.now_s),
            reasons=self.said.of(instant.outcomes, instant.codes, instant.fresh, self.waiting, self.holds),
            journal=tuple(instant.journal),
            evicted=instant.evicted,
        )

    def _learn(self, instant: Instant) -> None:
        """Follow what happened since the last decision: ends, lost nodes, cancellations, arrivals."""
        state, cause = instant.state, int(instant.state.cause)
        running, ended = set[int](), list[int]()
        if self.known == 0 or cause & ~(_ARRIVAL | _TIMER):
            running = set(state.running.tolist())
            gone = self.holds.keys() - running  # few, while those that run are many
            ended = [row for row, hold in self.holds.items() if hold.shares and row in gone] if gone else []
        back: set[int] = set()
        if ended and cause & _CAPACITY:
            back = set(state.waiting.tolist()).intersection(ended)
        first = self.known == 0
        if first or cause & _CANCEL:
            active = set(state.active.tolist())
            ended += [row for row, hold in self.holds.items() if not hold.shares and row not in active]
            for row in [row for row in self.waiting if row not in active]:
                self.rooms.remove(self.waiting.pop(row))
        for row in ended:
            freed = self._free(instant, row)
            if row in back:
                self._wait(instant, freed)
        if cause & _CAPACITY:
            self._all_wait_again()
        jobs = state.jobs
        if len(jobs) > self.known:
            arrived: Iterable[int] = range(self.known, len(jobs))
            if first or cause & _CANCEL:
                arrived = [row for row in arrived if row in active]
            self.known = len(jobs)
            placer = instant.nodes()
            for row in arrived:
                job = self._arrives(instant, row, placer)
                if job is not None and row in running:
                    self._adopt(instant, row, job)
                elif job is not None:
                    self._wait(instant, job)

    def _arrives(self, instant: Instant, row: int, placer: NodePlacer) -> Job | None:
        """Return an arrived row as a job; None if it is too large for what its queue may ever hold and is rejected."""
        state, jobs = instant.state, instant.state.jobs
        job = self.rows.job(state, jobs, row, placer)
        if job is None:
            name = jobs.job_id[row]
            raise InputError(f"job {name!r:.80}", "belongs to no queue", "Add aliases, or set unmapped to a queue")
        if not self._never_fits(job):
            return job
        if state.oversize == "refuse":
            what, queue = f"job {jobs.job_id[row]!r:.80}", self.tree.names[job.queue]
            why = f"asks for more than its queue {queue} may ever hold ({_asked(job)})"
            raise InputError(what, why, "Set the option oversize to drop or cap, or give the queue more quota")
        if state.oversize == "cap":
            least, most = int(state.width_limits(np.array([row]))[0][0]), job.podsets[0].count
            for workers in range(most - 1, max(least, 1) - 1, -1):
                narrow = widened(job, workers)
                legal = float(state.rate(np.array([row]), np.array([workers]))[0]) > 0
                if legal and not self._never_fits(narrow):
                    return narrow
        instant.rejected.append(row)
        return None

    def _never_fits(self, job: Job) -> bool:
        return too_large(self.ever, job, self.rules.ignore_uncovered)

    def _adopt(self, instant: Instant, row: int, job: Job) -> None:
        """Let a job that runs already hold its quota."""
        shares = instant.state.held(row)
        usage = self.rows.held_flavors(job, shares)
        running = Running(
            job.id, job.queue, usage, job.priority, job.order_s, float(instant.state.started_s(np.array([row]))[0]),
            local=job.local,
        )  # fmt: skip
        self.holds[row] = Hold(job, running.start_s, sum(share.workers for share in shares), None, shares)
        self._note_hold(instant, row, job, usage)
        self.tree.start(running)
        if self.fast is not None:
            self.fast.start(running)

    def _wait(self, instant: Instant, job: Job) -> None:
        self.waiting[int(job.id)] = job
        instant.fresh.append(int(job.id))
        self.rooms.add(job)

    def _free(self, instant: Instant, row: int) -> Job:
        """Let the quota of a job be free; parked jobs of its tree wait again."""
        hold = self.holds.pop(row)
        self.leaving.pop(row, None)
        running = self.tree.end(hold.job.id)
        if self.fast is not None:
            self.fast.end(running)
        self.rooms.freed(hold.job.queue)
        for root in self.no_room:  # nodes are shared by all trees
            self.rooms.freed(root)
        self.no_room.clear()
        instant.journal.append(QuotaFreed(row))
        return hold.job

    # ---- cycles ------------------------------------------------------------------------------------------------

    def _cycles(self, instant: Instant) -> None:
        """Run cycles until nothing changes any more."""
        moved = True
        while moved:
            moved = self._let_leave(instant)
            placed: dict[str, Placed] = {}
            has_room = None if self.spec.nodes == "after-quota" else partial(self._place, instant, placed)
            if self.kai is not None:
                if not self.rooms.jobs:
                    continue
                self._all_wait_again()  # targets follow from all jobs, so that any change may let any of them in
                result = run_session(self.tree, self.rooms.jobs.values(), self.kai, instant.now_s, has_room)
            elif self.fast is not None and self.fast.look_at(self.rooms):
                done = self.fast.run(self.rooms, has_room)
                # jobs leave in the first cycle only, and the last of several has nothing more to do
                moved = self._carry_out(instant, done, placed) or (moved and done.cycles == 1)
                continue
            else:
                heads = self.rooms.heads()
                if not heads:
                    continue
                result = run_cycle(self.tree, heads, self.rules, has_room)
            for job, assignment in result.admitted:
                shares, mask = placed.get(job.id, ((), None))
                self._admit(instant, job, assignment, shares, mask)
            for told in result.told:
                self._tell(instant, told.victim, told.taker, told.reason)
            for entry in result.entries:
                instant.outcomes[int(entry.job.id)] = entry.outcome
            self._park_without_room(result)
            parked = self.rooms.take_back(result)
            moved |= bool(result.admitted or result.told or (parked and self.kai is None))
            for entry in result.entries:
                if entry.assignment.cut and entry.outcome != "admitted":
                    row = int(entry.job.id)
                    step = (row, tuple(tuple(tried.items()) for tried in entry.assignment.tried))
                    moved |= step not in instant.seen
                    instant.seen.add(step)

    def _carry_out(self, instant: Instant, done: Cycles, placed: dict[str, Placed]) -> bool:
        """Carry out compiled cycles; return whether the last one changed something."""
        instant.outcomes.update(done.outcomes)
        for row in done.dropped:
            self.rooms.passed_over(self.waiting[row])
        for job, assignment in done.admitted:
            self._admit(instant, job, assignment, *placed[job.id])
        for told in done.told:
            self._tell(instant, told.victim, told.taker, told.reason)
        any_parked = done.any_parked
        for job, outcome in done.left:
            if outcome == "no_room" and not done.admitted and not self.tree.rules[job.queue].strict:
                self.no_room.add(self.tree.root[job.queue])
                outcome = "no_fit"
            any_parked |= self.rooms.put_back(job, outcome)
        return bool(done.admitted or done.told or any_parked)

    def _park_without_room(self, result: CycleResult) -> None:
        """Park jobs with quota and without nodes until something leaves, where no start of this cycle is to blame.

        A strict queue parks nothing.
        """
        if result.admitted:
            return
        for entry in result.entries:
            if entry.outcome == "no_room" and not self.tree.rules[entry.job.queue].strict:
                self.no_room.add(self.tree.root[entry.job.queue])
                entry.outcome = "no_fit"

    def _place(self, instant: Instant, placed: dict[str, Placed], job: Job, assignment: Assignment) -> bool:
        """Whether nodes have room for a job with these flavors; the room is taken."""
        row, workers, mask = int(job.id), assignment.podsets[0][1], self.rows.nodes_for(assignment)
        placer = instant.nodes() if mask is None else instant.nodes().only(mask)
        shares = placer.place(row, workers)
        if shares is None:
            instant.codes[row] = self._why_no_room(instant, row, workers, placer)
            return False
        placed[job.id] = (shares, mask)
        return True

    def _why_no_room(self, instant: Instant, row: int, workers: int, placer: NodePlacer) -> WaitReason:
        state, allowed = instant.state, placer.allowed(row)
        usable = np.asarray(state.nodes.up) if allowed is None else allowed & state.nodes.up
        if not usable.any():
            return WaitReason.NO_NODE
        need = state.jobs.demand[row] * workers
        what = GPU if need[GPU] > 0 else int(np.argmax(need > 0))
        free = float(placer.free[usable, what].sum())
        return WaitReason.SPLIT if free >= need[what] - ROOM else WaitReason.NO_ROOM

    def _admit(
        self, instant: Instant, job: Job, assignment: Assignment, shares: tuple[Share, ...], mask: Mask | None
    ) -> None:
        row = int(job.id)
        self.waiting.pop(row)
        if not shares:
            mask = self.rows.nodes_for(assignment)
        borrowing = self._note_hold(instant, row, job, assignment.usage)
        running = Running.of(job, assignment, instant.now_s)
        if job.local:
            asked = {self.tree.keys[f][1]: amount / AMOUNTS_PER_UNIT for f, amount in assignment.usage.items()}
            self.past.admitted(job.local, asked)
            running.local_usage = self.past.of(job.local)
        self.tree.start(running)
        workers = assignment.podsets[0][1]
        self.holds[row] = Hold(job, instant.now_s, workers, mask, shares, borrowing=borrowing)
        if shares:
            instant.started[row] = shares
        instant.codes.pop(row, None)
        shielded = instant.stops[row] > MOST_STOPS_AT_ONCE or self.stops[row] > MOST_STOPS
        if self.fast is not None:
            self.fast.start(running, shielded=shielded)
        if shielded:
            del self.tree.running_of[job.queue][job.id]
            if self.stops[row] <= MOST_STOPS:
                instant.shielded.append(running)

    def _note_hold(self, instant: Instant, row: int, job: Job, usage: dict[int, int]) -> bool:
        """Note what a job is about to hold, and of whom; return whether it borrows."""
        tree, queue, borrows = self.tree, job.queue, False
        for f, amount in usage.items():
            borrowed = max(0, min(amount, tree.used[f][queue] + amount - tree.nominal[f][queue]))
            lender, level = "", 0
            if borrowed and tree.parent[queue] >= 0:
                level, _ = tree.borrows_from(queue, f, amount)
                lender = next((tree.names[node] for node in tree.above[queue] if tree.height[node] == level), "")
                borrows = True
            units = amount / AMOUNTS_PER_UNIT, borrowed / AMOUNTS_PER_UNIT
            instant.journal.append(QuotaHeld(row, tree.names[queue], *tree.keys[f], *units, lender, level))
        return borrows

    # ---- leaving -----------------------------------------------------------------------------------------------

    def _tell(self, instant: Instant, victim: str, taker: str, reason: StopReason) -> None:
        row, names = int(victim), self.tree.names
        running = self.tree.running[victim]
        running.leaving = True
        if self.fast is not None:
            self.fast.leaves(running)
        self.leaving[row] = instant.now_s + self.spec.stop_s
        instant.stops[row] += 1
        self.stops[row] += 1
        for_queue = names[self.waiting[int(taker)].queue]
        instant.journal.append(Told(row, names[running.queue], int(taker), for_queue, reason))
        if reason.startswith("reclaim") and self.holds[row].borrowing and not self.rules.priority_between_queues:
            hold = self.holds[row]
            hold.job = replace(hold.job, order_s=instant.now_s + 1e-3)

    def _let_leave(self, instant: Instant) -> bool:
        """Stop the jobs whose time to leave has come; return whether there were some."""
        if not self.leaving and self.spec.ready_timeout_s is None:
            return False
        until_s = instant.now_s + _instant_s(instant.now_s)
        due = [row for row, leaves_s in self.leaving.items() if leaves_s <= until_s]
        timeout_s = self.spec.ready_timeout_s
        late: list[int] = []
        if timeout_s is not None:
            late = [row for row, hold in self.holds.items() if not hold.shares and hold.since_s + timeout_s <= until_s]
        for row in due:
            self._stop(instant, row)
        for row in [row for row in late if row in self.holds]:
            hold = self.holds[row]
            hold.job = replace(hold.job, order_s=instant.now_s)
            self._stop(instant, row)
        return bool(due or late)

    def _stop(self, instant: Instant, row: int) -> None:
        """Take quota and nodes of a job, and let it wait again."""
        shares = self.holds[row].shares
        if row in instant.started:  # it started at this very instant and never ran
            instant.nodes().release(row, instant.started.pop(row))
        elif shares:
            if instant.placer is not None:
                instant.placer.release(row, shares)
            instant.evicted[row] = self.spec.eviction_loses
        self._wait(instant, self._free(instant, row))

    # ---- quota first, nodes after ------------------------------------------------------------------------------

    def _find_nodes(self, instant: Instant) -> None:
        """Start jobs that hold quota where nodes have room: higher priority first, then longer admitted."""
        homeless = [(row, hold) for row, hold in self.holds.items() if not hold.shares]
        homeless.sort(key=lambda one: (-one[1].job.priority, one[1].since_s, one[0]))
        failed: set[object] = set()
        for row, hold in homeless:
            kind = (hold.job.alike, hold.workers, None if hold.mask is None else hold.mask.tobytes())
            placer = instant.nodes() if hold.mask is None else instant.nodes().only(hold.mask)
            shares = None if kind in failed else placer.place(row, hold.workers)
            if shares is None:
                failed.add(kind)
                instant.codes[row] = self._why_no_room(instant, row, hold.workers, placer)
            else:
                hold.shares = instant.started[row] = shares
                self.tree.running[hold.job.id].start_s = instant.now_s

    # ---- when to ask again -------------------------------------------------------------------------------------

    def _wake_s(self, now_s: float) -> float | None:
        times = list(self.leaving.values())
        if self.spec.ready_timeout_s is not None:
            times += [hold.since_s + self.spec.ready_timeout_s for hold in self.holds.values() if not hold.shares]
        if self.quotas_due_s < math.inf and (self.holds or self.waiting):
            times.append(self.quotas_due_s)
        return max(min(times), now_s) if times else None


def can_be_fast(spec: QueueTree, tree: Tree) -> bool:
    """Whether compiled cycles may answer: they do not follow jobs that start on their nodes after their quota."""
    return spec.nodes != "after-quota" and spec.rule == "kueue" and FastCycles.can_answer(tree)


def _instant_s(time_s: float) -> float:
    """Return how far apart two times may be and still be one instant."""
    return max(SAME_INSTANT_S, SAME_TIME * abs(time_s))


def _asked(job: Job) -> str:
    total: dict[str, float] = {}
    for podset in job.podsets:
        for resource, amount in podset.total(podset.count).items():
            total[resource] = total.get(resource, 0.0) + amount / AMOUNTS_PER_UNIT
    return ", ".join(f"{amount:g} {resource}" for resource, amount in total.items())
