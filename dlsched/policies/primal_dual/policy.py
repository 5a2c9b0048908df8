"""The adapters: PD-ORS and OASiS book slots when a job arrives; FIFO, DRF and Dorm share out each slot at its start."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dlsched.domain.plan import Allocation, Plan, WaitReason, run_on
from dlsched.domain.policy import EventKind, NoParams, ReviewRule
from dlsched.domain.state import State
from dlsched.domain.workload import Floats, Ints
from dlsched.policies.primal_dual import dorm, drf, fifo, oasis
from dlsched.policies.primal_dual.exact_slot import exact
from dlsched.policies.primal_dual.online import Decision, PdOrs, commit
from dlsched.policies.primal_dual.params import DormParams, OasisParams, PdOrsParams
from dlsched.policies.primal_dual.problem import Booking, Job
from dlsched.policies.primal_dual.round_robin import Gang, RoundRobin
from dlsched.policies.primal_dual.rounded_slot import Rounding
from dlsched.policies.primal_dual.slot_by_slot import SlotPlan, SlotState
from dlsched.policies.primal_dual.slot_cost import Spread, greedy, one_or_several
from dlsched.policies.primal_dual.state_adapter import StateAdapter, StateJob, booking_of, shares_of
from dlsched.policies.primal_dual.weightless import not_on_shut_machines
from dlsched.policies.shared.facts import JobFacts
from dlsched.policies.shared.wait_reasons import WaitReasonTracker

Scheduler = Callable[[Floats, int, np.random.Generator], PdOrs]
"""From capacity (H, R), slots and random numbers to what decides about one job after the other."""


@dataclass(frozen=True, eq=False)
class Judged:
    """A job of a decision: its row, as the core saw it, and what was decided; ``again`` = it was admitted before."""

    row: int
    job: StateJob
    decision: Decision
    again: bool


class BookingPolicy:
    """Decides about each job when it arrives, for good, and books its machines slot by slot.

    Prices follow from what is booked, so what a failure, a cancellation or an early end gives back is cheap at once.
    An admitted job that loses its bookings, or is not done at their end, books again whatever that costs; while there
    is no room within the horizon it tries at every slot, as long as somebody else holds or has booked something. Past
    its estimate a job books one worker for one slot, and each time after that twice as much, or what there is room for.

    Parameters
    ----------
    scheduler
        Makes the core that decides; once a run, for it learns the price bounds from the jobs it has seen.
    horizon_slots
        Slots that can be booked, that of now included.
    """

    kernel_rule = None

    def __init__(self, scheduler: Scheduler, horizon_slots: int) -> None:
        self.review = ReviewRule(
            EventKind.ARRIVAL | EventKind.OVERRUN | EventKind.RESERVATION_LOST | EventKind.CAPACITY
        )
        self._scheduler, self._horizon = scheduler, horizon_slots
        self._core: PdOrs | None = None
        self._facts = JobFacts()
        self._admitted: set[int] = set()
        self._past_estimate: dict[int, int] = {}

    def plan(self, state: State) -> Plan:
        """Return the bookings of new jobs and of those that lost theirs, and which are rejected."""
        return self.plan_of(state, *self.judge(state))

    def plan_of(self, state: State, judged: Sequence[Judged], adapter: StateAdapter) -> Plan:
        """Return decisions as the simulator's plan."""
        booked: dict[int, Allocation] = {
            one.row: adapter.steps(one.decision.schedule) for one in judged if one.decision.schedule
        }
        stuck = [one.row for one in judged if one.again and one.row not in booked]
        rejected = tuple(one.row for one in judged if not one.again and one.row not in booked)
        self._admitted.update(booked)
        return Plan(
            booked,
            rejected=rejected,
            wake_at_s=adapter.next_border_s if stuck and _may_change(state, adapter, booked) else None,
            reasons=_reasons(state, stuck, rejected),
            note=_note(judged, len(rejected)),
        )

    def judge(self, state: State) -> tuple[list[Judged], StateAdapter]:
        """Return the decisions about jobs that hold and have booked nothing, in order; nothing is carried out."""
        self._facts.update(state)
        adapter = StateAdapter(state, self._facts, self._horizon)
        rows = [row for row in state.waiting.tolist() if not state.reserved(row)]
        if not rows:
            return [], adapter
        if self._core is None:
            self._core = self._scheduler(adapter.capacity, self._horizon, state.rng)
        committed = adapter.committed()
        judged = []
        for row, job in zip(rows, adapter.jobs(rows), strict=True):
            again = row in self._admitted
            room = _without(committed, adapter, row)
            if again and job.work <= 0:
                decision = self._decide_past_estimate(self._core, row, job, room)
            else:
                decision = self._core.decide(job, room, again=again)
            commit(job, decision.schedule, committed)
            judged.append(Judged(row, job, decision, again))
        return judged, adapter

    def _decide_past_estimate(self, core: PdOrs, row: int, job: StateJob, committed: Floats) -> Decision:
        """Decide about a job whose end is unknown: so many slots of one worker, halved until there is room."""
        slots = self._past_estimate.get(row, 1)
        while True:
            more = replace(job, work=(slots - 0.5) / max(job.near, job.far))
            decision = core.decide(more, committed, again=True)
            if decision.schedule or slots == 1:
                self._past_estimate[row] = 2 * slots if decision.schedule else 1
                return decision
            slots //= 2


def _may_change(state: State, adapter: StateAdapter, booked: Mapping[int, Allocation]) -> bool:
    """Whether a job without room now might find some at the next border, with no new machine: others give up theirs."""
    others = booked or len(state.running) or any(state.reserved(row) for row in state.waiting.tolist())
    return bool(others) or adapter.first > 0


def _reasons(state: State, stuck: Sequence[int], rejected: Sequence[int]) -> tuple[Ints, Ints]:
    waiting = state.waiting[~np.isin(state.waiting, np.array(rejected, dtype=np.int64))]
    is_stuck = np.isin(waiting, np.array(stuck, dtype=np.int64))
    return waiting, np.where(is_stuck, int(WaitReason.NO_ROOM), int(WaitReason.BOOKED))


def _without(committed: Floats, adapter: StateAdapter, row: int) -> Floats:
    """Return what is committed for one row: machines it may not use are full."""
    allowed = adapter.allowed(row)
    if allowed.all():
        return committed
    shut = committed.copy()
    shut[:, ~allowed] = adapter.capacity[~allowed]
    return shut


def _note(judged: Sequence[Judged], rejected: int) -> str:
    if len(judged) != 1:
        return f"{len(judged) - rejected} of {len(judged)} admitted" if judged else ""
    one = judged[0]
    best = one.decision.best
    told = f"worth {best.worth:.4g}, price {best.cost:.4g}" if best else "no schedule"
    return f"{one.job.name}: {told}" + (f", {one.decision.why}" if one.decision.why else "")


MOST_SLOTS_ASLEEP = 1_000_000_000
MOST_REMEMBERED = 16
"""Answers of a rule that are kept: a group of jobs has one for each slot, and most slots are like one just before."""
SlotRule = Callable[[State, SlotState, Floats], Sequence[Booking | None]]
"""From the state, the slot and the capacity of all machines the jobs may use, up or not, to the bookings."""


class SlotPolicy:
    """Shares out the machines anew at the start of every slot; no job starts, grows or moves in between.

    Jobs that may use different machines are served group by group, in order of their first job; what jobs of groups
    still to be served hold is not given away.
    """

    kernel_rule = None

    def __init__(self, rule: SlotRule) -> None:
        self.review = ReviewRule()
        self._rule = rule
        self._facts, self._wait_reasons = JobFacts(), WaitReasonTracker()

    def plan(self, state: State) -> Plan:
        """Return what changes at the start of a slot; at any other time only when to be asked next."""
        if not len(state.active):
            return Plan()
        self._facts.update(state)
        adapter = StateAdapter(state, self._facts, 1)
        if adapter.first:
            return Plan(wake_at_s=adapter.next_border_s)
        jobs = dict(zip(state.active.tolist(), adapter.jobs(state.active.tolist()), strict=True))
        bookings = self._bookings(state, adapter, jobs)
        changes: dict[int, Allocation] = {}
        for row, booking in bookings.items():
            shares = () if booking is None else shares_of(booking)
            if shares != tuple(sorted(state.held(row))):
                changes[row] = run_on(shares) if shares else ()
        wake_s = None  # where nobody runs, time brings nothing: machines and jobs that come are events
        if changes:
            wake_s = adapter.next_border_s
        elif any(bookings.values()):
            wake_s = adapter.time_s(_unchanged_slots(adapter, jobs, bookings))
        idle = np.array([row for row, booking in bookings.items() if booking is None], dtype=np.int64)
        runs = np.array([row for row, booking in bookings.items() if booking is not None], dtype=np.int64)
        reasons = self._wait_reasons.of(idle, np.full(len(idle), int(WaitReason.NO_ROOM)), runs)
        return Plan(changes, wake_at_s=wake_s, reasons=reasons)

    def _bookings(self, state: State, adapter: StateAdapter, jobs: Mapping[int, Job]) -> dict[int, Booking | None]:
        rows = list(jobs)
        held = {row: booking_of(state.held(row)) for row in rows}
        free = adapter.capacity.copy()
        for row in rows:
            _give(free, jobs[row], held[row], -1)
        found: dict[int, Booking | None] = {}
        for group, allowed in self._groups(adapter, rows):
            for row in group:
                _give(free, jobs[row], held[row], 1)
            there = np.flatnonzero(allowed & state.nodes.up)
            before = [_numbered(held[row], np.searchsorted, there) for row in group]
            work = [jobs[row].work for row in group]
            slot = SlotState(np.maximum(free[there], 0.0), group, [jobs[row] for row in group], work, before)
            for row, booking in zip(group, self._rule(state, slot, adapter.capacity[allowed]), strict=True):
                found[row] = _numbered(booking, np.take, there)
                _give(free, jobs[row], found[row], -1)
        return found

    def _groups(self, adapter: StateAdapter, rows: list[int]) -> list[tuple[list[int], np.ndarray]]:
        groups: dict[bytes, tuple[list[int], np.ndarray]] = {}
        for row in rows:
            allowed = adapter.allowed(row)
            groups.setdefault(allowed.tobytes(), ([], allowed))[0].append(row)
        return list(groups.values())


def _give(free: Floats, job: Job, booking: Booking | None, sign: int) -> None:
    """Give back to ``free`` (H, R) what a booking holds (sign 1), or take it (sign -1)."""
    if booking is not None:
        free[booking.machine] += sign * job.held(booking)


def _numbered(booking: Booking | None, renumber: Callable[[Ints, Ints], Ints], there: Ints) -> Booking | None:
    """Return a booking with its machines numbered among those of a group, or, back again, among all."""
    return None if booking is None else replace(booking, machine=renumber(there, booking.machine))


def _unchanged_slots(
    adapter: StateAdapter, jobs: Mapping[int, StateJob], bookings: Mapping[int, Booking | None]
) -> int:
    """Return after how many slots, at least 1, a rule might answer otherwise when only time passes.

    The rules look at machines, at the jobs and what they have, and at the workers that would finish a job in a slot, as
    far as its batch goes. The last changes only when little is left of a job, soonest on the fastest machines, and no
    longer once nothing is believed to be left.
    """
    fewest = MOST_SLOTS_ASLEEP
    for row, booking in bookings.items():
        job = jobs[row]
        if booking is not None and job.work > 0:
            enough = job.batch / max(job.near, job.far)  # samples left from which on fewer workers would do
            at_most = job.samples(booking) * adapter.fastest_over_slowest(row)
            fewest = min(fewest, math.floor((job.work - enough) / at_most) - 1)
    return max(1, fewest)


def pd_ors(params: PdOrsParams) -> BookingPolicy:
    """Return PD-ORS."""

    def scheduler(capacity: Floats, slots: int, rng: np.random.Generator) -> PdOrs:
        spreads: dict[str, Callable[[], Spread]] = {
            "greedy": lambda: greedy,
            "exact": lambda: exact,
            "rounded": lambda: Rounding(rng, params.gain),
        }
        method = not_on_shut_machines(one_or_several(spreads[params.slot_method]()))
        return PdOrs(capacity, slots, method=method, chunks=params.chunks, least_worth=params.least_worth)

    return BookingPolicy(scheduler, params.horizon_slots)


def oasis_policy(params: OasisParams) -> BookingPolicy:
    """Return OASiS: workers and servers on separate halves of the machines."""

    def scheduler(capacity: Floats, slots: int, rng: np.random.Generator) -> PdOrs:
        method = not_on_shut_machines(oasis.on_halves)
        return PdOrs(capacity, slots, method=method, chunks=params.chunks, least_worth=params.least_worth)

    return BookingPolicy(scheduler, params.horizon_slots)


def fifo_policy(params: NoParams) -> SlotPolicy:
    """Return FIFO: the workers a job asks for, from its start until it is done."""

    def rule(state: State, slot: SlotState, empty: Floats) -> Sequence[Booking | None]:
        asked = state.requested(np.array(slot.rows, dtype=np.int64)).tolist()
        for row, job, count in zip(slot.rows, slot.jobs, asked, strict=True):
            if row not in fitting or not np.array_equal(fitting[row][0], empty):
                fitting[row] = empty, _fitting(job, count, empty)
        return fifo.slot_plan(slot, [fitting[row][1] for row in slot.rows])

    fitting: dict[int, tuple[Floats, int]] = {}  # by row: for which machines it was counted, and how many they hold
    return SlotPolicy(rule)


def _fitting(job: Job, count: int, capacity: Floats) -> int:
    """Return how many of the workers asked for the empty machines hold."""
    return Gang(job, RoundRobin(capacity)).grow(min(count, job.batch))


def drf_policy(params: NoParams) -> SlotPolicy:
    """Return DRF by slots."""
    return SlotPolicy(_remembering(drf.slot_plan))


def dorm_policy(params: DormParams) -> SlotPolicy:
    """Return Dorm, which may go to and fro between two answers for as long as its jobs run."""
    return SlotPolicy(_remembering(lambda slot: dorm.slot_plan(slot, params.fairness, params.adjustment)))


def _remembering(plan: SlotPlan) -> SlotRule:
    """Return the rule that asks a plan once where room, jobs, their useful workers and what they had are the same."""
    last: dict[bytes, Sequence[Booking | None]] = {}

    def rule(state: State, slot: SlotState, empty: Floats) -> Sequence[Booking | None]:
        held = [
            b"" if one is None else np.stack([one.machine, one.workers, one.servers]).tobytes() for one in slot.held
        ]
        lengths = [len(one) for one in held]
        numbers = np.array([slot.rows, slot.useful_workers(), lengths]).tobytes()
        facts = b"".join([slot.capacity.tobytes(), numbers, *held])
        if facts not in last:
            if len(last) == MOST_REMEMBERED:
                last.clear()
            last[facts] = plan(slot)
        return last[facts]

    return rule
