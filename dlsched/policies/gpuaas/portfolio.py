"""Market that looks ahead: at submissions it plays rules out and lets the cheapest decide until the next one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dlsched.domain.policy import EventKind
from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import Floats, Ints
from dlsched.policies.gpuaas import lists
from dlsched.policies.gpuaas.instance import Instance, Schedule
from dlsched.policies.gpuaas.look_ahead import Ahead, Rule, cheapest_rule
from dlsched.policies.gpuaas.market import MarketSettings, market
from dlsched.policies.gpuaas.params import MarketParams
from dlsched.policies.gpuaas.policy import Choice
from dlsched.policies.gpuaas.repair import start_one
from dlsched.policies.gpuaas.search import SearchSettings, greedy, path_relinking
from dlsched.policies.gpuaas.state_adapter import LEAST_S, StateAdapter, or_none

MARKET = "Market"
MARGIN = 0.02
"""Part of the cost by which another rule must be cheaper: a rollout knows the jobs to come only as more of the same."""
FEWEST_GAPS = 3
"""Gaps between submissions from which on more jobs are expected."""
MOST_EXPECTED = 20
ITERATIONS = 100
"""Constructions of path relinking in a rollout and where it decides."""


class Portfolio:
    """The rule that decides now and, where leases are billed by the hour, since when each slot is rented."""

    def __init__(self, params: MarketParams) -> None:
        self._params = params
        self._chosen = ""
        self._since: dict[int, tuple[int, float]] = {}
        self._asked_s = 0.0

    def choose(self, instance: Instance, adapter: StateAdapter, rng: np.random.Generator) -> Choice:
        """Return the plan of the rule that decides; at a submission the cheapest rule is found first."""
        state = adapter.state
        rules = _rules(self._params, mixing_pays=state.change_s == 0 and not state.bills_hours)
        paid_s = self._paid_s(adapter) if state.bills_hours else None
        free = bool((instance.node_vm < 0).all())
        if state.cause & EventKind.ARRIVAL or not self._chosen:
            self._chosen = MARKET
            if free and 0 < instance.num_jobs <= self._params.look_ahead:
                ahead = _ahead(instance, adapter, paid_s, self._params.period_s)
                self._chosen = cheapest_rule(ahead, rules, MARGIN)
        schedule, lasts_s = rules[self._chosen](instance, adapter.held)
        note = "" if self._chosen == MARKET else f"{self._chosen} is cheapest for the jobs known"
        return Choice(schedule, wake_in_s=lasts_s, note=note)

    def _paid_s(self, adapter: StateAdapter) -> Floats:
        """Return the time of each open node that is paid already, (N,): whole hours since it was rented.

        What was not rented when the policy was last asked was rented then.
        """
        now_s, vms = adapter.state.now_s, adapter.held.vm.tolist()
        slots = adapter.slots.tolist()
        self._since = {
            slot: self._since[slot] if self._since.get(slot, (-1, 0.0))[0] == vm else (vm, self._asked_s)
            for slot, vm in zip(slots, vms, strict=True)
            if vm >= 0
        }
        self._asked_s = now_s
        lasted_s = np.array([now_s - self._since[slot][1] if slot in self._since else 0.0 for slot in slots])
        return np.asarray(np.ceil(lasted_s / HOUR_S) * HOUR_S - lasted_s)


def _rules(params: MarketParams, *, mixing_pays: bool) -> dict[str, Rule]:
    def priced(*, mixing: bool) -> Rule:
        settings = MarketSettings(mixing, params.wait_h * HOUR_S, params.later_price)

        def rule(point: Instance, held: Schedule) -> tuple[Schedule, float | None]:
            plan = market(point, settings)
            return plan.schedule, plan.wake_in

        return rule

    def searched(point: Instance, held: Schedule) -> tuple[Schedule, float | None]:
        return path_relinking(point, np.random.default_rng(0), SearchSettings(iterations=ITERATIONS)), None

    def first(point: Instance, held: Schedule) -> tuple[Schedule, float | None]:
        return lists.start_waiting(point, lists.by_submission(point), held), None

    def due(point: Instance, held: Schedule) -> tuple[Schedule, float | None]:
        return lists.start_waiting(point, lists.by_due_date(point), held), None

    mixing = params.mixing and mixing_pays
    rules: dict[str, Rule] = {MARKET: priced(mixing=mixing)}
    if mixing:
        rules["Market without changes"] = priced(mixing=False)
    rules["Greedy"] = lambda point, held: (greedy(point), None)
    rules["Path relinking"] = searched
    rules["FIFO renting"] = first
    rules["EDF renting"] = due
    return {name: _starts(rule) for name, rule in rules.items()}


def _starts(rule: Rule) -> Rule:
    """Return the rule, with one job started where it would leave all waiting."""

    def started(point: Instance, held: Schedule) -> tuple[Schedule, float | None]:
        schedule, lasts_s = rule(point, held)
        return start_one(point, schedule), lasts_s

    return started


def _ahead(instance: Instance, adapter: StateAdapter, paid_s: Floats | None, period_s: float | None) -> Ahead:
    """Return the jobs known and those expected: the latest once more, at the mean gap so far.

    Decisions by period alone are played only where a change costs a restart: else they change little and cost much.
    """
    state, jobs = adapter.state, adapter.state.jobs
    known, submitted = adapter.rows, len(jobs)
    count = min(MOST_EXPECTED, submitted) if submitted > FEWEST_GAPS else 0
    again = np.arange(submitted - count, submitted)
    gap_s = (jobs.submit_s[-1] - jobs.submit_s[0]) / max(1, submitted - 1)
    arrives_s = np.concatenate([np.zeros(len(known)), gap_s * np.arange(1, count + 1)])
    rates = adapter.table.rates(state, np.concatenate([known, again]))
    work = np.concatenate([state.remaining(known), jobs.work[again]])[:, None, None]
    times = np.divide(work, rates, out=np.full(rates.shape, np.inf), where=rates > 0)
    nothing = np.zeros(count, dtype=np.int64)
    return Ahead(
        instance=replace(
            instance,
            times=np.maximum(times, LEAST_S),
            slack=np.concatenate([instance.slack, _slack_s(adapter, again) + arrives_s[len(known) :]]),
            weight=np.concatenate([instance.weight, or_none(jobs.weight_usd_per_s, again, 0.0)]),
            running=np.concatenate([instance.running, nothing > 0]),
        ),
        arrives_s=arrives_s,
        held=Schedule(
            np.concatenate([adapter.held.node, nothing - 1]),
            np.concatenate([adapter.held.gpus, nothing]),
            adapter.held.vm,
        ),
        ahead_s=np.concatenate([np.where(instance.running, state.restart_ahead_s(known), 0.0), nothing]),
        start_s=state.restart_s,
        change_s=state.change_s,
        paid_s=paid_s,
        period_s=(period_s or np.inf) if state.change_s > 0 else np.inf,
    )


def _slack_s(adapter: StateAdapter, rows: Ints) -> Floats:
    """Return the time from submission to the due date."""
    jobs = adapter.state.jobs
    return or_none(jobs.due_s, rows, np.inf) - jobs.submit_s[rows]
