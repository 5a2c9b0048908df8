"""A simulation again with every decision about a job kept, and the prices that it met."""

from __future__ import annotations

import math

import numpy as np

from dlsched.domain.model import FrozenModel
from dlsched.domain.plan import Plan
from dlsched.domain.scenario import Scenario
from dlsched.domain.state import State
from dlsched.domain.workload import RESOURCES, Floats, Ints
from dlsched.policies import registry
from dlsched.policies.primal_dual.cheapest import Candidate
from dlsched.policies.primal_dual.params import PriceParams
from dlsched.policies.primal_dual.policy import BookingPolicy, Judged
from dlsched.policies.primal_dual.state_adapter import AT_BORDER, PLENTY, StateAdapter
from dlsched.sim.prepare import Prepared
from dlsched.studies.inspect.dual_prices.answer import Booked, EndingThen, JobDecision, PricedRun, packed
from dlsched.studies.inspect.dual_prices.spec import DualPricesSpec
from dlsched.studies.inspect.re_execute import re_execute
from dlsched.studies.simulation import Progress

MOST_PACKED = 20_000_000
"""Letters of packed prices that are kept of a run; later decisions are told without theirs."""


def run_dual_prices(spec: DualPricesSpec, scenario: Scenario, progress: Progress | None = None) -> PricedRun:
    """Return all decisions of a run about jobs.

    Raises
    ------
    InputError
        If this is another scenario than the question names, or the policy cannot run it.
    """
    return watched(spec, scenario, progress).priced_run()


def watched(spec: DualPricesSpec, scenario: Scenario, progress: Progress | None = None) -> Watcher:
    """Return the policy that has watched all decisions of a run; errors as :func:`run_dual_prices`."""
    return re_execute(spec, scenario, lambda params, prepared: Watcher(spec.policy, params, prepared, progress))


class Watcher:
    """A policy that plans as the one it watches and notes its decisions; ``judged`` with the slot counted as 0."""

    kernel_rule = None

    def __init__(self, policy: str, params: FrozenModel, prepared: Prepared, progress: Progress | None) -> None:
        watched_policy = registry.find(policy).build(params)
        assert isinstance(params, PriceParams)
        assert isinstance(watched_policy, BookingPolicy)
        self._watched, self._policy, self._progress = watched_policy, policy, progress
        self.prepared, self.horizon = prepared, params.horizon_slots
        self.review = watched_policy.review
        jobs = prepared.scenario.workload
        is_asked_for = (jobs.demand > 0).any(axis=0) | (jobs.server_demand > 0).any(axis=0)
        self._capacity = prepared.scenario.cluster.nodes.capacity
        has = (self._capacity > 0) & (self._capacity < PLENTY)
        self._resources: Ints = np.flatnonzero(is_asked_for & has.any(axis=0))
        self._zero: int | None = None
        self._packed = 0
        self.judged: list[tuple[int, Judged]] = []
        self.decisions: list[JobDecision] = []

    def plan(self, state: State) -> Plan:
        """Return the plan of the watched policy."""
        judged, adapter = self._watched.judge(state)
        slot = math.floor(state.now_s / state.slot_s + AT_BORDER)
        for one in judged:
            self._zero = slot if self._zero is None else self._zero
            self.judged.append((slot - self._zero, one))
            self.decisions.append(self._decided(one, state, adapter, slot - self._zero + 1))
        if self._progress is not None:
            jobs = len(self.prepared.scenario.workload)
            done = len({one.row for one in self.decisions})
            self._progress(done / max(jobs, 1), f"job {done:,} of {jobs:,}")
        return self._watched.plan_of(state, judged, adapter)

    def priced_run(self) -> PricedRun:
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
            decisions=tuple(self.decisions),
        )

    def _decided(self, one: Judged, state: State, adapter: StateAdapter, slot: int) -> JobDecision:
        decision = one.decision
        bookings = [
            Booked(slot + at, *numbers)
            for at, booking in sorted((decision.schedule or {}).items())
            for numbers in zip(
                booking.machine.tolist(), booking.workers.tolist(), booking.servers.tolist(), strict=True
            )
        ]
        return JobDecision(
            number=len(self.decisions) + 1,
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
        prices: Floats = price[adapter.first :, :, self._resources].copy()
        none_there = adapter.capacity[:, self._resources] <= 0
        prices[:, none_there | ~adapter.allowed(one.row)[:, None]] = np.nan
        text = packed(prices)
        self._packed += len(text)
        return text


def _ending(candidate: Candidate | None, slot: int) -> EndingThen | None:
    return None if candidate is None else EndingThen(slot + candidate.last, candidate.worth, candidate.cost)
