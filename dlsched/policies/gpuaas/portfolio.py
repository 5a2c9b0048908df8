"""Market that looks ahead: at submissions it plays all rules out and lets the cheapest decide until the next one.

Every rule has a shadow, a play of it on the jobs submitted so far. What the jobs have cost there to their end says how
it does in the long run, also with jobs to come; the same rule played out from where the run really is says what it is
worth now. The rule decides with the least sum of the two, the first at the scale of as many jobs as are here.
"""

from __future__ import annotations

import numpy as np

from dlsched.domain.units import HOUR_S
from dlsched.domain.workload import Floats, Ints
from dlsched.policies.gpuaas import lists
from dlsched.policies.gpuaas.hours import Leases, market_by_the_hour
from dlsched.policies.gpuaas.instance import Instance, Schedule
from dlsched.policies.gpuaas.look_ahead import Known, Play, Rule
from dlsched.policies.gpuaas.market import MarketSettings, market
from dlsched.policies.gpuaas.params import MarketParams
from dlsched.policies.gpuaas.repair import start_one
from dlsched.policies.gpuaas.search import SearchSettings, greedy, path_relinking, randomized_greedy
from dlsched.policies.gpuaas.state_adapter import LEAST_S, StateAdapter, or_none

MARKET = "Market"
ITERATIONS = 100
"""Constructions of the searches in a play and where they decide."""
TRIED = 30
"""Jobs after which a rule's past says enough to leave it out."""
MOST_DEARER = 1.1
"""A rule is left out whose shadow has cost this many times the least."""
SETTLED = 300
"""Jobs after which only Market and the rule with the cheapest past besides go on, so that long runs take no longer."""
MOST_NODES_BY_HOUR = 20
"""Most nodes with which rules are played out where leases are billed by the hour: each hour of each is a decision."""


class Portfolio:
    """The rule that decides now, and the shadows."""

    def __init__(self, params: MarketParams) -> None:
        self._params = params
        self._chosen = MARKET
        self._submitted = 0
        self._shadows: dict[str, Play] = {}
        self._rows = np.zeros(0, dtype=np.int64)
        self._counted = 0

    def decides(self, instance: Instance, adapter: StateAdapter, paid_s: Floats) -> tuple[str, Rule]:
        """Return the rule that decides now and its name; at a submission the cheapest is found first."""
        state, free = adapter.state, bool((instance.node_vm < 0).all())
        by_hour = state.bills_hours and free
        few = not by_hour or instance.num_nodes <= MOST_NODES_BY_HOUR
        rules = _rules(self._params, change_s=state.change_s, by_hour=by_hour)
        leases = Leases.of(instance, adapter.held, paid_s) if by_hour else None
        if len(state.jobs) > self._submitted:
            if free and few and 0 < np.isfinite(instance.fastest).sum() <= self._params.look_ahead:
                self._chosen = self._cheapest(instance, adapter, rules, leases)
            else:
                self._chosen, self._shadows = MARKET, {}
            self._submitted = len(state.jobs)
        return self._chosen, rules[self._chosen]

    def _cheapest(
        self, instance: Instance, adapter: StateAdapter, rules: dict[str, Rule], leases: Leases | None
    ) -> str:
        """Return the name of the cheapest rule, on ties the first; shadows are brought up to now."""
        present = self._up_to_now(instance, adapter, rules, leases)
        known = _known(instance, adapter, self._rows)
        more = instance.num_jobs / self._counted
        tried = self._counted >= TRIED
        best, least_usd = MARKET, np.inf
        past_usd: dict[str, float] = {}
        for name, shadow in self._shadows.items():
            limit_usd = MOST_DEARER * min(past_usd.values(), default=np.inf) if tried else np.inf
            past = shadow.usd_at_end(known, rules[name], limit_usd)
            if past == np.inf:
                continue
            past_usd[name] = past
            usd = past * more
            usd += present.usd_at_end(known, rules[name], least_usd - usd)
            if usd < least_usd:
                best, least_usd = name, usd
        goes_on = sorted(past_usd, key=lambda name: (name != MARKET, past_usd[name]))
        goes_on = goes_on[:2] if self._counted >= SETTLED else goes_on
        self._shadows = {name: shadow for name, shadow in self._shadows.items() if name in goes_on}
        return best

    def _up_to_now(
        self, instance: Instance, adapter: StateAdapter, rules: dict[str, Rule], leases: Leases | None
    ) -> Play:
        """Carry the shadows on to now, give them the new jobs, and return a play of the same jobs from what is so.

        Without shadows, or where nodes came or went, they start from what is so. Jobs that are done everywhere are
        dropped.
        """
        now_s, active = adapter.state.now_s, adapter.rows[np.isfinite(instance.fastest)]
        if any(len(shadow.vm) != instance.num_nodes for shadow in self._shadows.values()):
            self._shadows = {}
        rows, known = active, _known(instance, adapter, self._rows)
        for name, shadow in list(self._shadows.items()):
            if shadow.go_on(known, rules[name], now_s):
                rows = np.union1d(rows, self._rows[shadow.left > 0])
            else:
                del self._shadows[name]
        present = _present(instance, adapter, rows, leases)
        if self._shadows:
            places = np.searchsorted(self._rows, rows)
            there = np.append(self._rows, -1)[places] == rows
            for shadow in self._shadows.values():
                shadow.of_jobs(np.where(there, places, -1))
            self._counted += int((active >= self._submitted).sum())
        else:
            self._shadows = {name: present.copy() for name in rules}
            self._counted = len(active)
        self._rows = rows
        return present


def _rules(params: MarketParams, *, change_s: float = 0.0, by_hour: bool = False) -> dict[str, Rule]:
    """Return Market and the other renting policies as rules, each as it decides on its own.

    Without those that solve (P1) exactly, which take too long, and the four by dynamic programming, which cost less
    than all others nowhere on the grid of decision 072 where Market is not far ahead, but for one draw. Decisions by
    period alone are played only where a change costs a restart: else they change little and cost much.
    """
    review_s = params.period_s if change_s > 0 else None

    def priced(*, mixing: bool, keeps: bool = False) -> Rule:
        settings = MarketSettings(mixing, params.wait_h * HOUR_S, params.later_price)

        def rule(point: Instance, held: Schedule, paid_s: Floats) -> tuple[Schedule, float | None]:
            plan = market_by_the_hour(point, held, paid_s, settings) if keeps else market(point, settings)
            waits = [wait_s for wait_s in (plan.wake_in, review_s) if wait_s is not None]
            return plan.schedule, min(waits, default=None)

        return rule

    def relinked(point: Instance, held: Schedule, paid_s: Floats) -> tuple[Schedule, float | None]:
        return path_relinking(point, np.random.default_rng(0), SearchSettings(iterations=ITERATIONS)), review_s

    def randomized(point: Instance, held: Schedule, paid_s: Floats) -> tuple[Schedule, float | None]:
        return randomized_greedy(point, np.random.default_rng(0), SearchSettings(iterations=ITERATIONS)), review_s

    mixing = params.mixing and change_s == 0
    rules: dict[str, Rule] = {MARKET: priced(mixing=mixing, keeps=by_hour)}
    if mixing:
        rules["Market without changes"] = priced(mixing=False, keeps=by_hour)
    if by_hour:
        rules["Market that gives up paid hours"] = priced(mixing=False)
    rules |= {
        "Greedy": lambda point, held, _: (greedy(point), review_s),
        "Path relinking": relinked,
        "Randomized greedy": randomized,
        "FIFO renting": lambda point, held, _: (lists.start_waiting(point, lists.by_submission(point), held), None),
        "EDF renting": lambda point, held, _: (lists.start_waiting(point, lists.by_due_date(point), held), None),
        "Priority renting": lambda point, held, _: (lists.start_waiting(point, lists.by_weight(point), held), None),
    }
    return {name: _starts(rule) for name, rule in rules.items()}


def _starts(rule: Rule) -> Rule:
    """Return the rule, with one job started where it would leave all waiting."""

    def started(point: Instance, held: Schedule, paid_s: Floats) -> tuple[Schedule, float | None]:
        schedule, lasts_s = rule(point, held, paid_s)
        return start_one(point, schedule), lasts_s

    return started


def _known(instance: Instance, adapter: StateAdapter, rows: Ints) -> Known:
    """Return these jobs as they were submitted."""
    state, jobs = adapter.state, adapter.state.jobs
    rates = adapter.table.rates(state, rows)
    times = np.divide(jobs.work[rows, None, None], rates, out=np.full(rates.shape, np.inf), where=rates > 0)
    return Known(
        instance,
        np.maximum(times, LEAST_S),
        or_none(jobs.due_s, rows, np.inf),
        or_none(jobs.weight_usd_per_s, rows, 0.0),
        state.restart_s,
        state.change_s,
    )


def _present(instance: Instance, adapter: StateAdapter, rows: Ints, leases: Leases | None) -> Play:
    """Return the state of the run as a play of these jobs; of those that have left nothing is left."""
    state, can_run = adapter.state, np.isfinite(instance.fastest)
    active = adapter.rows[can_run]
    at = np.searchsorted(rows, active)
    left, restart_s = np.zeros(len(rows)), np.zeros(len(rows))
    node, gpus = np.full(len(rows), -1, dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
    left[at] = state.remaining(active) / state.jobs.work[active]
    restart_s[at] = np.where(instance.running[can_run], state.restart_ahead_s(active), 0.0)
    node[at], gpus[at] = adapter.held.node[can_run], adapter.held.gpus[can_run]
    return Play(state.now_s, left, node, gpus, adapter.held.vm.copy(), restart_s, leases)
