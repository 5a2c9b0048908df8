"""The event loop: completions, capacity, arrivals, cancellations, reservation steps; then one call of the policy.

For a policy that wants events one by one, arrivals and completions come first, with a call after each (decision 044).
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

from dlsched.domain.errors import PlanError
from dlsched.domain.plan import Step
from dlsched.domain.policy import EventKind, Policy
from dlsched.domain.randomness import stream
from dlsched.sim.apply_plan import apply_plan
from dlsched.sim.capacity import CapacityChange, capacity_changes, node_goes, node_is_back
from dlsched.sim.event_queue import Event, EventQueue, EventType, instant_s
from dlsched.sim.ledger import DecisionRecord
from dlsched.sim.log import JobStatus, PieceEnd, RunLog
from dlsched.sim.meter import Meter, ProgressCall
from dlsched.sim.prepare import Prepared, Underway
from dlsched.sim.rented import RENTAL_EVENTS, RentedNodes
from dlsched.sim.state import PolicyView
from dlsched.sim.world import World, gang_width

_COMPLETION, _ARRIVAL, _TIMER = int(EventKind.COMPLETION), int(EventKind.ARRIVAL), int(EventKind.TIMER)
IDLE_CALLS = 1000
"""After so many calls in a row by timer alone, while nothing runs and nothing changes, timers wait for an event."""

OBJECTS_BETWEEN_COLLECTIONS = 50_000


def run_engine(prepared: Prepared, policy: Policy, run_seed: int = 0, progress: ProgressCall | None = None) -> RunLog:
    """Return the log of a policy on a prepared scenario.

    ``progress`` is called with the share done and a short text, and may raise to stop the run. Raises PlanError
    when the policy asks for something impossible.
    """
    with _rare_collections():
        return _Engine(prepared, policy, run_seed, progress).run()


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Let the collector of cycles look less often: a run makes many small objects that stay, and few cycles."""
    before = gc.get_threshold()
    if before[0] > 0:
        gc.set_threshold(max(before[0], OBJECTS_BETWEEN_COLLECTIONS), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


class _Engine:
    def __init__(self, prepared: Prepared, policy: Policy, run_seed: int, progress: ProgressCall | None) -> None:
        jobs = prepared.scenario.workload
        self.policy = policy
        self.event_queue = EventQueue(jobs.submit_s, policy.review)
        self.world = World(prepared, self.event_queue)
        self.start_s = self.asked_from_s = float(jobs.submit_s[0]) if len(jobs) else 0.0
        if prepared.underway is not None:
            self._join(prepared.underway)
        self.capacity: list[CapacityChange] = capacity_changes(prepared.scenario.cluster)
        for number, change in enumerate(self.capacity):
            self.event_queue.push(change.time_s, EventType.CAPACITY, number)
        self.rented: RentedNodes | None = None
        if prepared.scenario.cluster.rents_nodes:
            self.rented = RentedNodes(self.world, prepared.truth.seed, self.start_s)
        self.rng = stream(prepared.scenario.seed + run_seed, "policy")
        self.meter = Meter(progress, jobs.submit_s)
        self.idle_calls = 0
        self.missed = 0

    def run(self) -> RunLog:
        """Handle instant after instant until all jobs have ended, nothing is due, or the horizon."""
        world, event_queue = self.world, self.event_queue
        horizon_s = world.options.horizon_s or math.inf
        now_s, stalled = 0.0, False
        while world.active or event_queue.arrivals_left:
            next_s = self._next_s()
            if next_s is None and self.rented is not None and self.rented.try_again(now_s):
                continue
            stalled = next_s is None
            if next_s is None:
                break
            if next_s > horizon_s:
                return self._close(horizon_s, stalled=False)
            instant, events = event_queue.pop_instant(next_s)
            now_s = max(now_s, instant)
            rest = self._handle_one_by_one(now_s, events) if self.policy.review.one_by_one else events
            self._handle(now_s, rest)
            if self.rented is not None:
                self.rented.after(now_s, events)
            self.meter.tick(world.num_ended, now_s)
        if stalled:
            return self._close(now_s, stalled=True)
        return self._close(float(world.ledger.end_s.max(initial=self.start_s)), stalled=False)

    def _next_s(self) -> float | None:
        """Return when something is due; timers do not count for a policy that only ever answers nothing to them."""
        patient = self.idle_calls < IDLE_CALLS
        if not patient:
            self.event_queue.drop(EventType.WAKE)
        return self.event_queue.next_s(reviews=patient and bool(self.world.active))

    def _handle_one_by_one(self, now_s: float, events: list[Event]) -> list[Event]:
        """Handle arrivals, then completions in order of their starts, with a call after each; return the other events.

        A job that ends no sooner than believed has given its nodes back before the first call.
        """
        world, queue = self.world, self.event_queue
        arrivals = [event for event in events if event.kind == EventType.ARRIVAL]
        ends = [event for event in events if event.kind == EventType.COMPLETION]
        ends.sort(key=lambda event: world.start_number[event.key])
        expected = {end.key for end in ends if world.truth.work[end.key] >= world.truth.believed_work[end.key]}
        for end in ends:
            if end.key in expected:
                self._complete(end)
        for arrival in arrivals:
            queue.submitted = arrival.key + 1
            world.submit(arrival.key)
            self._ask_after(EventKind.ARRIVAL, now_s)
        for end in ends:
            if end.key in expected or not queue.is_stale(end):
                if end.key not in expected:
                    self._complete(end)
                self._ask_after(EventKind.COMPLETION, now_s)
        return [event for event in events if event.kind not in (EventType.ARRIVAL, EventType.COMPLETION)]

    def _ask_after(self, kind: EventKind, now_s: float) -> None:
        self.idle_calls = 0
        if now_s < self.asked_from_s:
            self.missed |= int(kind) & _ARRIVAL
        elif kind & self.policy.review.events:
            self._decide(now_s, kind)

    def _handle(self, now_s: float, events: list[Event]) -> None:
        """Handle the events of one instant, then ask the policy if it wants to be asked."""
        cause, woken = 0, False
        steps: list[int] = []
        for event in events:
            if event.kind == EventType.COMPLETION:
                self._complete(event)
                cause |= _COMPLETION
            elif event.kind == EventType.ARRIVAL:
                self.world.submit(event.key)
                cause |= _ARRIVAL
            elif event.kind == EventType.CAPACITY:
                cause |= int(self._change_capacity(self.capacity[event.key], event.time_s))
            elif event.kind in RENTAL_EVENTS:
                assert self.rented is not None  # who else would push them
                cause |= int(self.rented.handle(event))
            elif event.kind == EventType.CANCEL:
                cause |= int(self._cancel(event))
            elif event.kind == EventType.STEP:
                steps.append(event.key)
            else:
                woken = True
            if event.kind != EventType.WAKE:
                self.idle_calls = 0
        # a reservation may have gone with its job or node at this very instant
        steps = [row for row in steps if row in self.world.future]
        if steps:
            cause |= int(self._step(steps, now_s))
        if self.event_queue.review_due(now_s) and self.world.active:
            woken = True
        if woken:
            cause |= _TIMER
        cause |= self.missed
        if now_s < self.asked_from_s:
            self.missed = cause & _ARRIVAL
        elif woken or cause & int(self.policy.review.events):
            self.missed = 0
            self._decide(now_s, EventKind(cause))

    def _join(self, underway: Underway) -> None:
        """Let rows take their nodes when they did, by steps without a decision, and ask the policy from then on."""
        self.asked_from_s = underway.at_s
        for row, (start_s, shares) in underway.held.items():
            workers, servers = gang_width(shares)
            self.world.set_future(row, (Step(workers, shares, start_s, servers),))
        self.event_queue.push(underway.at_s, EventType.WAKE)

    # ---- events ---------------------------------------------------------------------------------------

    def _complete(self, event: Event) -> None:
        world, row = self.world, event.key
        failed = bool(world.truth.is_bug[row])
        world.give_back(row)
        world.close_piece(row, event.time_s, PieceEnd.FAILED if failed else PieceEnd.COMPLETED)
        world.finish(row, JobStatus.FAILED if failed else JobStatus.COMPLETED, event.time_s)

    def _change_capacity(self, change: CapacityChange, at_s: float) -> EventKind:
        if change.comes_back:
            node_is_back(self.world, change.absence)
            return EventKind.CAPACITY
        return EventKind.CAPACITY | node_goes(self.world, change.absence, at_s)

    def _cancel(self, event: Event) -> EventKind:
        world, row = self.world, event.key
        if not world.is_active(row):  # it ended at this very instant
            return EventKind.NONE
        if row in world.held:
            world.give_back(row)
            world.close_piece(row, event.time_s, PieceEnd.CANCELLED)
        world.finish(row, JobStatus.CANCELLED, event.time_s)
        return EventKind.CANCEL

    def _step(self, rows: list[int], now_s: float) -> EventKind:
        """Carry out reservation steps that are due: all releases first, then all starts."""
        world, todo = self.world, {}
        for row in rows:
            step, *later = world.future[row]
            world.set_future(row, tuple(later))
            shares = step.shares or ()
            if sorted(shares) != sorted(world.held.get(row, ())):
                todo[row] = (step, bool(later))
        for row in todo:
            if row in world.held:
                world.give_back(row)
        cause = EventKind.NONE
        for row, (step, goes_on) in todo.items():
            cause |= self._take_step(row, step, now_s, goes_on=goes_on)
        return cause

    def _take_step(self, row: int, step: Step, now_s: float, *, goes_on: bool) -> EventKind:
        """Put a row, whose old shares have been given back, on the shares of a step."""
        world, shares = self.world, step.shares or ()
        world.room.now_s = now_s
        world.room.take(row, shares)
        if shares:
            same_width = row in world.held and world.width(row) == (step.workers, step.servers)
            world.change_piece(row, shares, now_s, PieceEnd.MOVED if same_width else PieceEnd.RESIZED)
            return EventKind.NONE
        world.change_piece(row, shares, now_s, PieceEnd.PREEMPTED if goes_on else PieceEnd.OVERRUN)
        if not goes_on:
            return EventKind.OVERRUN
        world.ledger.pause(row, now_s)
        return EventKind.NONE

    # ---- decisions ------------------------------------------------------------------------------------

    def _decide(self, now_s: float, cause: EventKind) -> None:
        world = self.world
        view = PolicyView(world, now_s, cause, self.rng)
        before_s = time.process_time()
        plan = self.policy.plan(view)
        cpu_s = time.process_time() - before_s
        world.ledger.journal.extend((now_s, entry) for entry in plan.journal)
        changed = apply_plan(world, plan, now_s)
        self._set_wake(plan.wake_at_s, now_s)
        world.ledger.explain(now_s, world.is_waiting, plan.reasons)
        world.ledger.decisions.append(DecisionRecord.of(plan, now_s, cause, cpu_s))
        idle = cause == EventKind.TIMER and not changed and not world.held
        self.idle_calls = self.idle_calls + 1 if idle else 0

    def _set_wake(self, wake_at_s: float | None, now_s: float) -> None:
        """Every plan sets the wake-up anew; one that is due by now comes at the next distinguishable instant."""
        if wake_at_s is None:
            self.event_queue.drop(EventType.WAKE)
            return
        tolerance_s = instant_s(now_s)
        if not now_s - tolerance_s <= wake_at_s < math.inf:
            raise PlanError(
                f"At {now_s:g} s: the policy asks to be woken at {wake_at_s:g} s, which is not in the future."
            )
        self.event_queue.push(max(wake_at_s, now_s + 2 * tolerance_s), EventType.WAKE)

    def _close(self, end_s: float, *, stalled: bool) -> RunLog:
        world = self.world
        for row in world.running.array().tolist():
            world.close_piece(row, end_s, PieceEnd.RUN_ENDED)
        for node, start_s in sorted(world.lease_from_s.items()):
            world.ledger.close_lease(node, int(world.nodes.vm[node]), start_s, end_s)
        self.meter.done()
        return world.ledger.finish(min(self.start_s, end_s), end_s, stalled=stalled)
