"""Run a simulation again and keep every decision about a job, with the prices that it met."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dlsched.domain.errors import InputError
from dlsched.domain.plan import Plan
from dlsched.domain.scenario import Scenario
from dlsched.domain.state import State
from dlsched.domain.workload import RESOURCES, Floats, Ints
from dlsched.policies.primal_dual.cheapest import Candidate
from dlsched.policies.primal_dual.policy import BookingPolicy, Judged
from dlsched.policies.primal_dual.state_adapter import AT_BORDER, PLENTY, StateAdapter
from dlsched.sim.engine import run_engine
from dlsched.sim.prepare import Prepared, prepare
from dlsched.studies.inspect.dual_prices.answer import Booked, Decided, EndingThen, PricedRun, packed
from dlsched.studies.simulation import resolve_policy

POLICIES = ("pd-ors", "oasis")
MOST_PACKED = 20_000_000
"""Letters of packed prices that are kept of a run; later decisions are told without theirs."""
Progress = Callable[[float, str], None]


def priced_run(
    scenario: Scenario, policy: str, params: Mapping[str, Any], seed: int, progress: Progress | None = None
) -> PricedRun:
    """Return all decisions of a run about jobs.

    Raises
    ------
    InputError
        If the policy is none of ``POLICIES`` or cannot run the scenario.
    """
    watcher = watched(scenario, policy, params, seed, progress)
    return watcher.run()


def watched(
    scenario: Scenario, policy: str, params: Mapping[str, Any], seed: int, progress: Progress | None = None
) -> Watcher:
    """Return the run that was made again; as :func:`priced_run`."""
    if policy not in POLICIES:
        raise InputError(f"policy {policy!r}", "does not book at prices", f"Choose {' or '.join(POLICIES)}")
    spec, values = resolve_policy(scenario, policy, params)
    built = spec.build(spec.parse(values))
    assert isinstance(built, BookingPolicy)
    prepared = prepare(scenario, seed)
    watcher = Watcher(built, prepared, policy, int(values["horizon_slots"]), progress)
    run_engine(prepared, watcher, seed)
    return watcher


class Watcher:
    """A policy that plans as the one it watches, and notes its decisions; ``judged`` with the slot counted as 0."""

    kernel_rule = None

    def __init__(
        self, watches: BookingPolicy, prepared: Prepared, policy: str, horizon: int, progress: Progress | None
    ) -> None:
        self._watches, self._policy, self._progress = watches, policy, progress
        self.prepared, self.horizon = prepared, horizon
        self.review = watches.review
        jobs = prepared.scenario.workload
        asked = (jobs.demand > 0).any(axis=0) | (jobs.server_demand > 0).any(axis=0)
        self._capacity = prepared.scenario.cluster.nodes.capacity
        has = (self._capacity > 0) & (self._capacity < PLENTY)
        self._resources: Ints = np.flatnonzero(asked & has.any(axis=0))
        self._zero: int | None = None
        self._packed = 0
        self.judged: list[tuple[int, Judged]] = []
        self.found: list[Decided] = []

    def plan(self, state: State) -> Plan:
        """Return the plan of the watched policy."""
        judged, adapter = self._watches.judge(state)
        slot = math.floor(state.now_s / state.slot_s + AT_BORDER)
        for one in judged:
            self._zero = slot if self._zero is None else self._zero
            self.judged.append((slot - self._zero, one))
            self.found.append(self._decided(one, state, adapter, slot - self._zero + 1))
        if self._progress is not None:
            jobs = len(self.prepared.scenario.workload)
            done = len({one.row for one in self.found})
            self._progress(done / max(jobs, 1), f"job {done:,} of {jobs:,}")
        return self._watches.plan_of(state, judged, adapter)

    def run(self) -> PricedRun:
        """Return what was noted."""
        scenario = self.prepared.scenario
        capacity = self._capacity[:, self._resources]
        return PricedRun(
            policy=self._policy,
            resources=tuple(RESOURCES[place] for place in self._resources),
            total=tuple(np.minimum(capacity, PLENTY).sum(axis=0).tolist()),
            machines=len(capacity),
            slot_s=float(scenario.options.slot_s),
            horizon=self.horizon,
            decisions=tuple(self.found),
        )

    def _decided(self, one: Judged, state: State, adapter: StateAdapter, slot: int) -> Decided:
        decision = one.decision
        bookings = [
            Booked(slot + at, *numbers)
            for at, booking in sorted((decision.schedule or {}).items())
            for numbers in zip(
                booking.machine.tolist(), booking.workers.tolist(), booking.servers.tolist(), strict=True
            )
        ]
        return Decided(
            number=len(self.found) + 1,
            time_s=float(state.now_s),
            first=slot + adapter.first,
            job=one.job.name,
            row=one.row,
            again=one.again,
            why=decision.why,
            best=_ending(decision.best, slot),
            other=_ending(decision.alternative, slot),
            paid=tuple(decision.paid[self._resources].tolist()),
            bookings=tuple(bookings),
            prices=self._prices(one, adapter),
        )

    def _prices(self, one: Judged, adapter: StateAdapter) -> str:
        price = one.decision.price
        if price is None or self._packed >= MOST_PACKED:
            return ""
        shown: Floats = price[adapter.first :, :, self._resources].copy()
        none_there = adapter.capacity[:, self._resources] <= 0
        shown[:, none_there | ~adapter.allowed(one.row)[:, None]] = np.nan
        text = packed(shown)
        self._packed += len(text)
        return text


def _ending(candidate: Candidate | None, slot: int) -> EndingThen | None:
    return None if candidate is None else EndingThen(slot + candidate.last, candidate.worth, candidate.cost)
