"""The event loop: completions, capacity, arrivals, cancellations, reservation steps; then one call of the policy."""

from __future__ import annotations

import math
import time

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
from dlsched.sim.prepare import Prepared
from dlsched.sim.state import PolicyView
from dlsched.sim.world import World

IDLE_CALLS = 1000
"""After so many calls in a row by timer alone, while nothing runs and nothing changes, timers wait for an event."""


def run_engine(prepared: Prepared, policy: Policy, run_seed: int = 0, progress: ProgressCall | None = None) -> RunLog:
    """Return the log of a policy on a prepared scenario.

    ``progress`` is called with the share done and a short text, and may raise to stop the run. Raises PlanError
    when the policy asks for something impossible.
    """
    return _Engine(prepared, policy, run_seed, progress).run()


class _Engine:
    def __init__(self, prepared: Prepared, policy: Policy, run_seed: int, progress: ProgressCall | None) -> None:
        jobs = prepared.scenario.workload
        self.policy = policy
        self.event_queue = EventQueue(jobs.submit_s, policy.review)
        self.world = World(prepared, self.event_queue)
        self.start_s = float(jobs.submit_s[0]) if len(jobs) else 0.0
        self.capacity: list[CapacityChange] = capacity_changes(prepared.scenario.cluster)
        for number, change in enumerate(self.capacity):
            self.event_queue.push(change.time_s, EventType.CAPACITY, number)
        self.rng = stream(prepared.scenario.seed + run_seed, "policy")
        self.meter = Meter(progress, jobs.submit_s)
        self.idle_calls = 0

    def run(self) -> RunLog:
        """Handle instant after instant until all jobs have ended, nothing is due, or the horizon."""
        world, event_queue = self.world, self.event_queue
        horizon_s = world.options.horizon_s or math.inf
        now_s, stalled = 0.0, False
        while world.active or event_queue.arrivals_left:
            next_s = self._next_s()
            stalled = next_s is None
            if next_s is None:
                break
            if next_s > horizon_s:
                return self._close(horizon_s, stalled=False)
            instant, events = event_queue.pop_instant(next_s)
            now_s = max(now_s, instant)
            self._handle(now_s, events)
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

    def _handle(self, now_s: float, events: list[Event]) -> None:
        """Handle the events of one instant, then ask the policy if it wants to be asked."""
        cause, woken = EventKind.NONE, False
        steps: list[int] = []
        for event in events:
            if event.kind == EventType.COMPLETION:
                cause |= self._complete(event)
            elif event.kind == EventType.ARRIVAL:
                self.world.submit(event.key)
                cause |= EventKind.ARRIVAL
            elif event.kind == EventType.CAPACITY:
                cause |= self._change_capacity(self.capacity[event.key], event.time_s)
            elif event.kind == EventType.CANCEL:
                cause |= self._cancel(event)
            elif event.kind == EventType.STEP:
                steps.append(event.key)
            else:
                woken = True
            if event.kind != EventType.WAKE:
                self.idle_calls = 0
        # a reservation may have gone with its job or node at this very instant
        steps = [row for row in steps if row in self.world.future]
        if steps:
            cause |= self._step(steps, now_s)
        if self.event_queue.review_due(now_s) and self.world.active:
            woken = True
        if woken:
            cause |= EventKind.TIMER
        if now_s >= self.start_s and (woken or cause & self.policy.review.events):
            self._decide(now_s, cause)

    # ---- events ---------------------------------------------------------------------------------------

    def _complete(self, event: Event) -> EventKind:
        world, row = self.world, event.key
        failed = bool(world.truth.is_bug[row])
        world.give_back(row)
        world.close_piece(row, event.time_s, PieceEnd.FAILED if failed else PieceEnd.COMPLETED)
        world.finish(row, JobStatus.FAILED if failed else JobStatus.COMPLETED, event.time_s)
        return EventKind.COMPLETION

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
