"""The adapter: a core that makes schedules from instances becomes a policy of the simulator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dlsched.domain.plan import Plan, Status
from dlsched.domain.policy import ReviewRule
from dlsched.domain.state import State
from dlsched.policies.gpuaas.instance import Instance, Schedule
from dlsched.policies.gpuaas.params import ExactParams, LocalParams, MarketParams, PeriodParams
from dlsched.policies.gpuaas.repair import start_one
from dlsched.policies.gpuaas.state_adapter import RateTable, StateAdapter, slots_are_free


@dataclass(frozen=True, slots=True)
class Choice:
    """What a core answers: the schedule, when to ask again at the latest, and what a solver says of itself."""

    schedule: Schedule
    wake_in_s: float | None = None
    status: Status = ""
    objective: float | None = None
    bound: float | None = None
    note: str = ""


Core = Callable[[Instance, StateAdapter, np.random.Generator], Choice]


class InstancePolicy:
    """Asks its core at submissions, completions, changes of capacity, and ``period_s`` after the last decision."""

    kernel_rule = None

    def __init__(self, core: Core, params: PeriodParams) -> None:
        self.review = ReviewRule()
        self._core, self._params = core, params
        self._table: RateTable | None = None
        self._free = False

    def plan(self, state: State) -> Plan:
        """Return which job runs where from now on, the machine types, and when to look again."""
        if self._table is None:
            self._table, self._free = RateTable(state.nodes.vm_types), slots_are_free(state.nodes)
        adapter = StateAdapter.of(state, self._table, self._params.horizon_s, free=self._free)
        keeps_paid = self._free and state.bills_hours and isinstance(self._params, MarketParams)
        if not len(adapter.rows) and not keeps_paid:
            return Plan(vms=adapter.vms(Schedule.empty(adapter.instance)))
        instance = self._instance(adapter.instance)
        choice = self._core(instance, adapter, state.rng)
        schedule = start_one(instance, choice.schedule)
        nothing = not len(adapter.rows) and bool((schedule.vm < 0).all())
        return Plan(
            allocations=adapter.allocations(schedule),
            vms=adapter.vms(schedule) if self._free else {},
            wake_at_s=None if nothing else self._wake_at_s(state.now_s, choice.wake_in_s),
            reasons=adapter.reasons(schedule),
            note=choice.note,
            status=choice.status,
            objective=choice.objective,
            bound=choice.bound,
        )

    def _instance(self, instance: Instance) -> Instance:
        params = self._params
        if not isinstance(params, LocalParams):
            return instance
        exactly = isinstance(params, ExactParams) and params.open_nodes == "exactly"
        return replace(
            instance,
            postpone_factor=params.postpone_factor,
            idle_penalty=params.idle_penalty_usd,
            exactly=exactly,
        )

    def _wake_at_s(self, now_s: float, wake_in_s: float | None) -> float | None:
        waits = [wait_s for wait_s in (self._params.period_s, wake_in_s) if wait_s is not None]
        return now_s + min(waits) if waits else None
